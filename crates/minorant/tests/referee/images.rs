//! Random problems over tiny images: `segment-svm` and `tree-svm`, stated by all their outputs.

use super::draw::{self, Random};
use super::number::{BITS, Number, sum};
use super::problem::{Owned, Problem, common_settings};
use super::stated::{Affine, Example, Shape, Stated, Weight};
use minorant::data::{Images, PartsImage, Plate, TreeShape};
use minorant::family::Settings;
use minorant::family::image::LOSS;
use minorant::options::common::WEIGHTS;
use minorant::structured::segment::SegmentLoss;

pub(crate) fn draw(random: &mut Random) -> Problem {
    let (data, mut settings) = if random.chance(0.5) { plates(random) } else { parts(random) };
    let mut files = Vec::new();
    common_settings(&mut settings, random, data.len(), &mut files);
    files.insert(0, ("data.npz".into(), format!("{data:?}")));
    let stated = vec![state(&data, &settings)];
    let kind = settings.model().to_string();
    let data = Owned::Images(data);
    Problem { kind, data, settings, memory: None, parts: None, stated, files }
}

/// The problem of images under some settings, by its formulas.
pub(crate) fn state(data: &Images, settings: &Settings) -> Stated {
    let examples = settings.get(&WEIGHTS).unwrap_or_else(|| vec![1.0; data.len()]);
    let examples: Vec<Number> = examples.into_iter().map(Number::new).collect();
    let total = sum(examples.iter());
    let (dim, lines) = match data {
        Images::Plates { height, widths, plates, .. } => {
            let by_label = settings.get(&LOSS) == SegmentLoss::Label;
            let of = |plate: &Plate| lines_of_plate(*height, widths, plate, by_label);
            let dim = height * widths.iter().sum::<usize>();
            (dim, plates.iter().map(of).collect::<Vec<_>>())
        }
        Images::Parts { shape, images, .. } => {
            let of = |image: &PartsImage| lines_of_parts(shape, image);
            let dim = (shape.parents.len() + 1) * shape.channels + 4 * shape.parents.len();
            (dim, images.iter().map(of).collect())
        }
    };
    let examples = examples.into_iter().zip(lines);
    Stated {
        shape: Shape::Maximum,
        weights: vec![Weight::of(settings, &total); dim],
        total,
        examples: examples.map(|(weight, lines)| Example { weight, lines }).collect(),
    }
}

fn plates(random: &mut Random) -> (Images, Settings) {
    let mut settings = Settings::new("segment-svm").expect("a model");
    if random.chance(0.5) {
        settings.put(&LOSS, SegmentLoss::Label);
    }
    let height = random.between(1, 2);
    let widths: Vec<usize> = (0..random.between(2, 3)).map(|_| random.between(1, 3)).collect();
    let plates = (0..random.between(1, 5)).map(|_| {
        let count = random.between(1, 3);
        let characters: Box<[u16]> =
            (0..count).map(|_| random.between(0, widths.len() - 1) as u16).collect();
        let columns: usize = characters.iter().map(|&a| widths[a as usize]).sum();
        Plate { pixels: draw::rows(random, columns, height).concat(), characters }
    });
    let plates = plates.collect();
    (Images::Plates { height, widths, plates, labelled: true }, settings)
}

fn parts(random: &mut Random) -> (Images, Settings) {
    let settings = Settings::new("tree-svm").expect("a model");
    let parts = random.between(1, 3);
    let shape = TreeShape {
        width: random.between(1, if parts == 3 { 2 } else { 3 }),
        height: random.between(1, 2),
        channels: random.between(1, 2),
        parents: (1..parts).map(|part| random.between(0, part - 1)).collect(),
        scale: random.pick(&[1.0, 2.0, 3.0, 0.1]),
    };
    let places = shape.width * shape.height;
    let images = (0..random.between(1, 4)).map(|_| PartsImage {
        pixels: draw::rows(random, places, shape.channels).concat(),
        places: (0..parts).map(|_| random.between(0, places - 1) as u32).collect(),
    });
    let images = images.collect();
    (Images::Parts { shape, images, labelled: true }, settings)
}

/// All ways to cover so many columns.
fn coverings(widths: &[usize], columns: usize) -> Vec<Vec<u16>> {
    if columns == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (a, &width) in widths.iter().enumerate().filter(|(_, width)| **width <= columns) {
        for mut rest in coverings(widths, columns - width) {
            rest.insert(0, a as u16);
            all.push(rest);
        }
    }
    all
}

fn lines_of_plate(height: usize, widths: &[usize], plate: &Plate, by_label: bool) -> Vec<Affine> {
    // The character and the start of the segment that covers each column.
    let cover = |output: &[u16]| {
        let mut covered = Vec::new();
        for &a in output {
            let start = covered.len();
            covered.extend(vec![(a, start); widths[a as usize]]);
        }
        covered
    };
    let truth = cover(&plate.characters);
    let add_score = |line: &mut Affine, covered: &[(u16, usize)], sign: i64| {
        for (column, &(a, start)) in covered.iter().enumerate() {
            let template = widths[..a as usize].iter().sum::<usize>() + column - start;
            for row in 0..height {
                let x = Number::new(plate.pixels[column * height + row]);
                line.add(template * height + row, &(&x * &Number::whole(sign)));
            }
        }
    };
    let columns = plate.pixels.len() / height;
    let line = |output: Vec<u16>| {
        let covered = cover(&output);
        let differs = |(own, its): &(&(u16, usize), &(u16, usize))| match by_label {
            true => own.0 != its.0,
            false => own != its,
        };
        let wrong = covered.iter().zip(&truth).filter(differs).count();
        let mut line = Affine::constant(Number::whole(wrong as i64));
        add_score(&mut line, &covered, 1);
        add_score(&mut line, &truth, -1);
        line.terms.retain(|(_, factor)| !factor.is_zero());
        line
    };
    coverings(widths, columns).into_iter().map(line).collect()
}

fn lines_of_parts(shape: &TreeShape, image: &PartsImage) -> Vec<Affine> {
    let parts = shape.parents.len() + 1;
    let places = (shape.width * shape.height) as u32;
    let scale = Number::new(shape.scale);
    let at = |place: u32| {
        let height = shape.height as u32;
        (i64::from(place / height), i64::from(place % height))
    };
    let add_score = |line: &mut Affine, output: &[u32], sign: i64| {
        for (part, &place) in output.iter().enumerate() {
            for c in 0..shape.channels {
                let x = Number::new(image.pixels[place as usize * shape.channels + c]);
                line.add(part * shape.channels + c, &(&x * &Number::whole(sign)));
            }
        }
        for (edge, &parent) in shape.parents.iter().enumerate() {
            let (from, to) = (at(output[parent]), at(output[edge + 1]));
            let (dx, dy) = (to.0 - from.0, to.1 - from.1);
            let first = parts * shape.channels + 4 * edge;
            let square = &scale * &scale;
            for (j, (displacement, unit)) in
                [(dx, &scale), (dy, &scale), (dx * dx, &square), (dy * dy, &square)]
                    .into_iter()
                    .enumerate()
            {
                line.add(first + j, &Number::whole(sign * displacement).over(unit, BITS));
            }
        }
    };
    let distance = |a: u32, b: u32| {
        let (a, b) = (at(a), at(b));
        Number::whole((a.0 - b.0).pow(2) + (a.1 - b.1).pow(2)).root(BITS)
    };
    let line = |number: u32| {
        let output: Vec<u32> =
            (0..parts as u32).map(|part| number / places.pow(part) % places).collect();
        let each = image.places.iter().zip(&output).map(|(&a, &b)| distance(a, b));
        let mean = sum(each.collect::<Vec<_>>().iter()).over(&Number::whole(parts as i64), BITS);
        let mut line = Affine::constant(mean);
        add_score(&mut line, &output, 1);
        add_score(&mut line, &image.places, -1);
        line.terms.retain(|(_, factor)| !factor.is_zero());
        line
    };
    (0..places.pow(parts as u32)).map(line).collect()
}
