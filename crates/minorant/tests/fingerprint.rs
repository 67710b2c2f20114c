//! Fingerprints of data: the same on any number of threads, and whether the data is hashed whole or run
//! by run; changed by any change.

mod common;

use common::{Random, Values, dense, rows, sparse};
use minorant::fingerprint::{Fingerprint, Runs, Version};
use minorant_data::{
    Attributes, Dataset, Images, Label, LabelRows, Labels, PartsImage, Plate, Recordings,
    Sequences, TreeShape,
};
use minorant_linalg::{Matrix, Storage};
use rayon::ThreadPoolBuilder;
use std::collections::BTreeSet;
use std::ops::Range;

const ROWS: usize = 2 * <Dataset<'_> as Runs>::RUN + 77;

fn numbers(count: usize) -> Vec<Label> {
    (0..count).map(|class| Label::Number(class as f64)).collect()
}

fn table(seed: u64) -> (Vec<Vec<f64>>, Vec<u32>, Vec<f64>) {
    let mut random = Random::new(seed);
    let rows = rows(&mut random, ROWS, 5, Values::Normal);
    let rows = rows.into_iter().map(|row| row.iter().map(|x| f64::from(*x as f32)).collect());
    let labels = (0..ROWS).map(|_| random.between(0, 2) as u32).collect();
    (rows.collect(), labels, (0..ROWS).map(|_| random.unit()).collect())
}

fn dataset(features: Matrix<'static>, labels: Vec<u32>) -> Dataset<'static> {
    Dataset { features, labels: Labels { classes: numbers(3), rows: LabelRows::Single(labels) } }
}

/// Sequences over rows of two columns, each of which may be empty.
fn starts(random: &mut Random, count: usize) -> Vec<usize> {
    let mut starts = vec![0];
    (0..count).for_each(|at| starts.push(starts[at] + random.between(1, 3)));
    starts
}

fn sequences(count: usize) -> Sequences {
    let mut random = Random::new(5);
    let starts = starts(&mut random, count);
    let tokens = starts[count];
    let rows = rows(&mut random, tokens, 2, Values::Normal);
    Sequences {
        tokens: sparse(&rows, 2, Storage::F64),
        labels: (0..tokens).map(|_| random.between(0, 2) as u16).collect(),
        starts,
        classes: ["a", "b", "c"].map(String::from).to_vec(),
        attributes: Attributes::Columns(2),
        template: None,
        lines: Vec::new(),
        unknown: 0,
    }
}

fn recordings(count: usize, by_frame: bool) -> Recordings {
    let mut random = Random::new(6);
    let starts = starts(&mut random, count);
    let frames = rows(&mut random, starts[count], 2, Values::Normal);
    let labels = if by_frame { starts[count] } else { count };
    let labels = (0..labels).map(|_| random.between(0, 2) as u32).collect();
    let labels = Labels { classes: numbers(3), rows: LabelRows::Single(labels) };
    Recordings { frames: dense(&frames, 2, Storage::F64), starts, labels }
}

fn plates(count: usize) -> Images {
    let mut random = Random::new(7);
    let plates = (0..count).map(|_| {
        let columns = random.between(1, 3);
        Plate { pixels: random.normals(2 * columns), characters: vec![0; columns].into() }
    });
    let plates = plates.collect();
    Images::Plates { height: 2, widths: vec![1, 1], plates, labelled: true }
}

fn parts(count: usize) -> Images {
    let mut random = Random::new(8);
    let shape = TreeShape { width: 2, height: 2, channels: 1, parents: vec![0], scale: 1.0 };
    let images = (0..count)
        .map(|_| PartsImage { pixels: random.normals(4), places: vec![0, 3].into() })
        .collect();
    Images::Parts { shape, images, labelled: true }
}

/// Hashes data in two threads, in one, and run by run, each run from nothing but its own examples.
fn check_runs<D: Runs + Fingerprint>(
    data: &D,
    weights: Option<&[f64]>,
    cut: impl Fn(Range<usize>) -> D,
) {
    let on = |threads: usize| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| data.sha256_with(weights))
    };
    let whole = on(1);
    assert_eq!(whole.len(), 64);
    assert_eq!((&on(2), &on(8)), (&whole, &whole));
    let examples = data.examples();
    assert!(examples > 2 * D::RUN, "more than two runs");
    let mut runs = Vec::new();
    for first in (0..examples).step_by(D::RUN) {
        let range = first..examples.min(first + D::RUN);
        let weights = weights.map(|weights| &weights[range.clone()]);
        runs.extend(cut(range).hash_runs(first, weights));
    }
    let all = weights.map_or(0, <[f64]>::len);
    assert_eq!(data.hash_hashes(examples, all, &runs), whole);
    runs.swap(0, 1);
    assert_ne!(data.hash_hashes(examples, all, &runs), whole);
}

#[test]
fn whole_or_run_by_run_on_any_number_of_threads() {
    let (rows, labels, weights) = table(1);
    let data = dataset(dense(&rows, 5, Storage::F64), labels);
    let cut = |range: Range<usize>| data.select_rows(&range.collect::<Vec<_>>());
    check_runs(&data, Some(&weights), cut);
    check_runs(&data, None, cut);
    let count = 2 * Sequences::RUN + 9;
    let data = sequences(count);
    check_runs(&data, Some(&weights[..count]), |range| {
        let tokens = data.starts[range.start]..data.starts[range.end];
        let starts = &data.starts[range.start..=range.end];
        Sequences {
            tokens: data.tokens.select_rows(&tokens.clone().collect::<Vec<_>>()),
            labels: data.labels[tokens.clone()].to_vec(),
            starts: starts.iter().map(|start| start - tokens.start).collect(),
            ..data.clone()
        }
    });
    for by_frame in [false, true] {
        let data = recordings(count, by_frame);
        check_runs(&data, None, |range| {
            let frames = data.starts[range.start]..data.starts[range.end];
            let starts = &data.starts[range.start..=range.end];
            let of = if by_frame { frames.clone() } else { range.clone() };
            let LabelRows::Single(labels) = &data.labels.rows else { panic!("no labels") };
            let rows = LabelRows::Single(labels[of].to_vec());
            Recordings {
                frames: data.frames.select_rows(&frames.clone().collect::<Vec<_>>()),
                starts: starts.iter().map(|start| start - frames.start).collect(),
                labels: Labels { classes: data.labels.classes.clone(), rows },
            }
        });
    }
    for data in [plates(count), parts(count)] {
        check_runs(&data, None, |range| match data.clone() {
            Images::Plates { height, widths, plates, labelled } => {
                Images::Plates { height, widths, plates: plates[range].to_vec(), labelled }
            }
            Images::Parts { shape, images, labelled } => {
                Images::Parts { shape, images: images[range].to_vec(), labelled }
            }
        });
    }
}

#[test]
fn storage_does_not_show() {
    let (rows, labels, _) = table(1);
    let all = [dense, sparse]
        .into_iter()
        .flat_map(|layout| [Storage::F32, Storage::F64].map(|storage| layout(&rows, 5, storage)));
    let prints: BTreeSet<String> =
        all.map(|features| dataset(features, labels.clone()).sha256()).collect();
    assert_eq!(prints.len(), 1);
}

#[test]
fn any_change_shows() {
    let (rows, labels, weights) = table(1);
    let print = |rows: &[Vec<f64>], labels: &[u32], weights: Option<&[f64]>| {
        dataset(dense(rows, 5, Storage::F64), labels.to_vec()).sha256_with(weights)
    };
    let mut prints = vec![print(&rows, &labels, None), print(&rows, &labels, Some(&weights))];
    for at in [0, 1, ROWS / 2, ROWS - 1] {
        for column in [0, 4] {
            let mut other = rows.clone();
            other[at][column] = if column == 0 { other[at][0].next_up() } else { 9.0 };
            prints.push(print(&other, &labels, None));
        }
        let mut other = labels.clone();
        other[at] = (other[at] + 1) % 3;
        prints.push(print(&rows, &other, None));
        let mut other = weights.clone();
        other[at] = other[at].next_up();
        prints.push(print(&rows, &labels, Some(&other)));
        let to = (at + ROWS / 3) % ROWS;
        let (mut other, mut others) = (rows.clone(), labels.clone());
        other.swap(at, to);
        others.swap(at, to);
        prints.push(print(&other, &others, None));
    }
    // One row more or less, a column more, other classes, sets instead of classes, no labels.
    prints.push(print(&rows[1..], &labels[1..], None));
    prints.push(print(&rows[..ROWS - 1], &labels[..ROWS - 1], None));
    let usual = dataset(dense(&rows, 5, Storage::F64), labels.clone());
    let mut wider = usual.clone();
    wider.features = sparse(&rows, 6, Storage::F64);
    let mut other_classes = usual.clone();
    other_classes.labels.classes[2] = Label::Number(7.0);
    let mut sets = usual.clone();
    sets.labels.rows = LabelRows::Sets { starts: (0..=ROWS as u64).collect(), items: labels };
    let mut none = usual.clone();
    none.labels.rows = LabelRows::None;
    prints.extend([wider, other_classes, sets, none].map(|data| data.sha256()));
    let distinct: BTreeSet<&String> = prints.iter().collect();
    assert_eq!(distinct.len(), prints.len());
}

#[test]
fn sequences_and_images_show_every_change() {
    let usual = sequences(20);
    let mut moved = usual.clone();
    moved.starts[3] += 1;
    let mut labelled = usual.clone();
    labelled.labels[7] = (labelled.labels[7] + 1) % 3;
    let mut renamed = usual.clone();
    renamed.classes[1] = "d".into();
    let mut unlabelled = usual.clone();
    unlabelled.labels.clear();
    let weights = vec![1.0; 20];
    let mut prints = vec![usual.sha256_with(Some(&weights))];
    prints.extend([usual, moved, labelled, renamed, unlabelled].map(|data| data.sha256()));
    let usual = recordings(20, false);
    let mut moved = usual.clone();
    moved.starts[3] += 1;
    prints.extend([usual, moved, recordings(20, true)].map(|data| data.sha256()));
    for usual in [plates(9), parts(9)] {
        let (mut pixel, mut output, mut fewer) = (usual.clone(), usual.clone(), usual.clone());
        match (&mut pixel, &mut output, &mut fewer) {
            (
                Images::Plates { plates: a, .. },
                Images::Plates { plates: b, .. },
                Images::Plates { plates: c, .. },
            ) => {
                a[4].pixels[1] += 1.0;
                b[4].characters[0] = 1;
                c.pop();
            }
            (
                Images::Parts { images: a, .. },
                Images::Parts { images: b, .. },
                Images::Parts { images: c, .. },
            ) => {
                a[4].pixels[1] += 1.0;
                b[4].places[0] = 1;
                c.pop();
            }
            _ => panic!("images of the same kind"),
        }
        prints.extend([usual, pixel, output, fewer].map(|data| data.sha256()));
    }
    let distinct: BTreeSet<&String> = prints.iter().collect();
    assert_eq!(distinct.len(), prints.len());
}

/// Fingerprints in files that are there never change. The digits were computed from the definition by
/// another program.
#[test]
fn fingerprints_of_files_stay() {
    let features = Matrix::dense(2, 2, vec![1.0, 0.0, -0.5, 2.0].into()).expect("a matrix");
    let classes = vec![Label::Number(-1.0), Label::Text("b".into())];
    let labels = Labels { classes, rows: LabelRows::Single(vec![1, 0]) };
    let data = Dataset { features, labels };
    let print = |version| data.sha256_of(version, Some(&[1.0, 2.0]));
    assert_eq!(
        print(Version::InOneStream),
        "a7f9e899180b987339e1fa5151dcc404dba8e77754350a48819b7d98405820ac"
    );
    assert_eq!(
        print(Version::OfRuns),
        "639fa36760272b46f8054a92d02e5925adb9730b41cb53f34498a63640f2d42f"
    );
}
