//! Random problems of `regression`: every loss, targets of all sizes, some of which can be met by all
//! rows, by none, or are the same everywhere.

use super::draw::{self, Random};
use super::number::{Number, sum};
use super::problem::{Owned, Problem, common_settings, matrix, storage_in_words};
use super::stated::{Affine, Example, Shape, Stated};
use super::{penalties, rows};
use minorant::data::{Dataset, LabelRows, Labels};
use minorant::family::Settings;
use minorant::family::linear::LossName;
use minorant::family::linear::regression::{EPSILON, HUBER, HUBER_SCALE, LOSS, TAU};
use minorant::options::Named;
use minorant::options::common::{BIAS, INTERCEPT, WEIGHTS};

pub(crate) fn draw(random: &mut Random) -> Problem {
    use LossName::{
        Absolute, EpsilonInsensitive, Huber, Quantile, SquaredEpsilonInsensitive, Squares,
    };
    let all = [Squares, Absolute, Quantile, EpsilonInsensitive, SquaredEpsilonInsensitive, Huber];
    let loss = random.pick(&all);
    let mut settings = Settings::new("regression").expect("a model").with(&LOSS, loss);
    let mut kind = format!("regression {}", loss.name());
    let n = if random.chance(0.3) { random.between(1, 3) } else { random.between(2, 12) };
    let d = random.between(1, 5);
    let mut files = Vec::new();
    let features = draw::rows(random, n, d);
    let size = if random.chance(0.5) { 1.0 } else { random.scale(1e-8, 1e8) };
    let targets = targets(random, &features, size);
    match loss {
        Quantile => {
            let levels = random.pick(&[vec![0.5], vec![0.1], vec![0.2, 0.8], vec![0.1, 0.5, 0.9]]);
            if levels.len() > 1 {
                kind += "s";
            }
            settings.put(&TAU, levels);
        }
        EpsilonInsensitive | SquaredEpsilonInsensitive => {
            settings.put(&EPSILON, random.pick(&[0.0, 0.1, 1.0, 3.0]) * size);
        }
        Huber => {
            let fits_scale = random.chance(0.4);
            let delta = random.pick(&[1.35, 1.35, 1.0, 0.3, 5.0]);
            settings.put(&HUBER, if fits_scale { delta } else { delta * size });
            settings.put(&HUBER_SCALE, fits_scale);
            if fits_scale {
                kind += " scale";
            }
        }
        _ => {}
    }
    let may_be_free = !settings.get(&HUBER_SCALE);
    kind += &penalties::draw(random, &mut settings, d, may_be_free, &mut files);
    let features = matrix(random, &features, d);
    common_settings(&mut settings, random, n, &mut files);
    let data = Dataset { features, labels: Labels::of_targets(&targets) };
    let name = format!("data.svm ({})", storage_in_words(&data.features));
    files.insert(0, ("data.svm".into(), format!("# {name}\n{}", rows::text(&data))));
    let stated = vec![state(&data, &settings)];
    let data = Owned::Rows(data);
    Problem { kind, data, settings, memory: None, parts: None, stated, files }
}

fn targets(random: &mut Random, rows: &[Vec<f64>], size: f64) -> Vec<f64> {
    let truth = random.normals(rows[0].len());
    let noise = random.pick(&[0.0, 0.0, 0.5, 2.0]);
    let kind = random.between(0, 5);
    let of_row = |row: &Vec<f64>| {
        let signal: f64 = row.iter().zip(&truth).map(|(x, w)| x * w).sum();
        let y = match kind {
            0 => 0.0,
            1 => 1.0,
            2 => random.between(0, 4) as f64 - 2.0,
            3 => random.normal() * random.pick(&[1.0, 1.0, 1.0, 1e4]),
            _ => signal + noise * random.normal(),
        };
        size * y
    };
    rows.iter().map(of_row).collect()
}

/// The problem of rows with targets under some settings, by its formulas.
pub(crate) fn state(data: &Dataset<'_>, settings: &Settings) -> Stated {
    let LabelRows::Numbers { values: targets, .. } = &data.labels.rows else {
        unreachable!("regression has targets");
    };
    let (n, d) = (data.features.rows(), data.features.cols());
    let loss = settings.get(&LOSS);
    let levels = settings.get(&TAU);
    let outputs = if loss == LossName::Quantile { levels.len() } else { 1 };
    let examples = settings.get(&WEIGHTS).unwrap_or_else(|| vec![1.0; n]);
    let examples: Vec<Number> = examples.into_iter().map(Number::new).collect();
    let total = sum(examples.iter());
    let constant = settings.get(&INTERCEPT).map(|_| 1.0).or(settings.get(&BIAS));

    // `offset` + `factor` · (f_z − y, or f_z − f_other)
    let line = |i: usize, z: usize, other: Option<usize>, factor: &Number, offset: &Number| {
        let mut line = Affine::constant(offset.clone());
        if other.is_none() {
            line.constant = offset - &(factor * &Number::new(targets[i]));
        }
        for (j, x) in data.features.row(i).chain(constant.map(|b| (d, b))) {
            let term = &Number::new(x) * factor;
            line.add(j * outputs + z, &term);
            if let Some(other) = other {
                line.add(j * outputs + other, &-&term);
            }
        }
        line
    };
    let (one, zero) = (Number::whole(1), Number::zero());
    let minus = -&one;
    let both = |i: usize, offset: &Number| {
        vec![line(i, 0, None, &one, offset), line(i, 0, None, &minus, offset)]
    };
    let flat = || Affine::constant(Number::zero());
    let epsilon = -&Number::new(settings.get(&EPSILON));
    let losses = |i: usize| -> Vec<Vec<Affine>> {
        match loss {
            LossName::Absolute => vec![both(i, &zero)],
            LossName::EpsilonInsensitive => {
                let mut lines = both(i, &epsilon);
                lines.push(flat());
                vec![lines]
            }
            LossName::SquaredEpsilonInsensitive => vec![both(i, &epsilon)],
            LossName::Quantile => {
                let mut all = Vec::new();
                for (z, tau) in levels.iter().enumerate() {
                    let below = -&Number::new(*tau);
                    let above = &one + &below;
                    all.push(vec![
                        line(i, z, None, &below, &zero),
                        line(i, z, None, &above, &zero),
                    ]);
                    if z + 1 < outputs {
                        all.push(vec![flat(), line(i, z, Some(z + 1), &one, &zero)]);
                    }
                }
                all
            }
            _ => vec![vec![line(i, 0, None, &one, &zero)]],
        }
    };
    let delta = || Number::new(settings.get(&HUBER));
    let shape = match loss {
        LossName::Squares => Shape::HalfSquare,
        LossName::SquaredEpsilonInsensitive => Shape::Square,
        LossName::Huber if settings.get(&HUBER_SCALE) => Shape::Scaled(delta()),
        LossName::Huber => Shape::Huber(delta()),
        _ => Shape::Maximum,
    };
    let of_row = |i: usize| {
        let weight = examples[i].clone();
        losses(i).into_iter().map(move |lines| Example { weight: weight.clone(), lines })
    };
    Stated {
        shape,
        weights: penalties::weights(settings, &total, d, outputs),
        examples: (0..n).flat_map(of_row).collect(),
        total,
    }
}
