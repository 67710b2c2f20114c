//! Sets with numbers as targets, made from those at hand: a column of measured rows, the words of a text,
//! and made-up rows with outliers. Targets have mean 0 and deviation 1, so that the widths of losses mean
//! the same in all sets.

use crate::data::{Form, Numbers, Set, Store, Target};
use anyhow::{Result, bail};
use minorant::intercept::huber_scale::HuberScale;
use minorant::risk::residual::{Residual, Shape, Targets};
use minorant::risk::{ExampleWeights, LinearRisk, Risk};
use minorant_linalg::{Design, Matrix, Storage};

/// The sets by their names in the tables.
pub(crate) const SETS: [&str; 6] = [
    "covtype elevation",
    "wall following",
    "news20 words",
    "MNIST ink",
    "targets 100 000 x 100",
    "targets 50 000 x 100 000",
];

/// A loss of targets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TargetLoss {
    Of(Shape),
    /// Huber's with the scale fitted along, which is quadratic as far as this.
    HuberScale(f64),
}

/// The mean loss of targets.
pub(crate) fn risk<'a>(
    design: Design<'a>,
    targets: &[f64],
    loss: TargetLoss,
) -> Box<dyn Risk + 'a> {
    let mean = ExampleWeights::mean(targets.len());
    let targets = Targets::new(targets.to_vec());
    match loss {
        TargetLoss::Of(shape) => {
            Box::new(LinearRisk::new(design, Residual::new(targets, shape), mean))
        }
        TargetLoss::HuberScale(delta) => {
            Box::new(HuberScale::new(design, targets, mean, delta, false))
        }
    }
}

/// A set by its name.
pub(crate) fn load(store: &Store, name: &str) -> Result<Set> {
    let set = match name {
        "covtype elevation" => {
            column(store, "covtype_sample/covtype-sample-20000.data.gz", 0)?.scaled()?
        }
        "wall following" => column(store, "wall_following/sensor_readings_24.data.gz", 0)?,
        "news20 words" => words(store)?,
        "MNIST ink" => ink(store)?,
        "targets 100 000 x 100" => dense(100_000, 100)?,
        "targets 50 000 x 100 000" => sparse(50_000, 100_000)?,
        _ => bail!("there is no benchmark set '{name}'"),
    };
    Ok(standardised(set))
}

/// Targets of mean 0 and deviation 1.
fn standardised(set: Set) -> Set {
    let Target::Numbers(mut targets) = set.target else { return set };
    let n = targets.len() as f64;
    let mean = targets.iter().sum::<f64>() / n;
    targets.iter_mut().for_each(|y| *y -= mean);
    let deviation = (targets.iter().map(|y| y * y).sum::<f64>() / n).sqrt();
    targets.iter_mut().for_each(|y| *y /= deviation);
    Set { target: Target::Numbers(targets), matrix: set.matrix }
}

/// One column of a table as the target of the others.
fn column(store: &Store, file: &str, target: usize) -> Result<Set> {
    let data = store.read(&[file])?;
    let (rows, cols) = (data.features.rows(), data.features.cols());
    let (mut values, mut targets) = (Vec::with_capacity(rows * cols), vec![0.0; rows]);
    for (i, y) in targets.iter_mut().enumerate() {
        let mut row = vec![0.0; cols];
        data.features.for_each_in_row(i, |j, x| row[j] = x);
        *y = row.remove(target);
        // A constant, for the rest has no intercept.
        values.extend(row.into_iter().chain([1.0]));
    }
    let matrix = Matrix::dense(rows, cols, Storage::F64.store(values))?;
    Ok(Set { matrix, target: Target::Numbers(targets) })
}

/// Texts, and the logarithm of how many words they have.
fn words(store: &Store) -> Result<Set> {
    let counts = store.read(&["news20/news20.bydate.counts.gz"])?.features;
    let of_row = |i: usize| (1.0 + counts.row(i).map(|(_, count)| count).sum::<f64>()).ln();
    let targets = (0..counts.rows()).map(of_row).collect();
    let matrix = store.news20(Storage::F64)?.matrix;
    Ok(Set { matrix, target: Target::Numbers(targets) })
}

/// The upper halves of digits, and how much ink the lower ones have.
fn ink(store: &Store) -> Result<Set> {
    let whole = store.mnist_rows("t10k", Form::Dense, Storage::F64)?.matrix;
    let half = whole.cols() / 2;
    let (mut values, mut targets) = (Vec::new(), Vec::new());
    for i in 0..whole.rows() {
        let (mut row, mut ink) = (vec![0.0; half], 0.0);
        whole.for_each_in_row(i, |j, x| match row.get_mut(j) {
            Some(upper) => *upper = x,
            None => ink += x,
        });
        values.extend(row);
        targets.push(ink);
    }
    let matrix = Matrix::dense(whole.rows(), half, Storage::F64.store(values))?;
    Ok(Set { matrix, target: Target::Numbers(targets) })
}

/// What is added to a target: noise, and now and then an outlier.
fn noise(numbers: &mut Numbers) -> f64 {
    let outlier = if numbers.uniform() < 0.05 { 10.0 } else { 0.5 };
    outlier * numbers.normal()
}

/// Dense rows of nearly normal entries.
fn dense(rows: usize, cols: usize) -> Result<Set> {
    let mut numbers = Numbers(3);
    let plane: Vec<f64> = (0..cols).map(|_| numbers.normal() / (cols as f64).sqrt()).collect();
    let (mut values, mut targets) = (Vec::with_capacity(rows * cols), Vec::with_capacity(rows));
    for _ in 0..rows {
        let mut f = noise(&mut numbers);
        for weight in &plane {
            let x = numbers.normal();
            f += weight * x;
            values.push(x);
        }
        targets.push(f);
    }
    let matrix = Matrix::dense(rows, cols, Storage::F64.store(values))?;
    Ok(Set { matrix, target: Target::Numbers(targets) })
}

/// Sparse rows of length 1, few columns of which are frequent.
fn sparse(rows: usize, cols: usize) -> Result<Set> {
    const WORDS: usize = 40;
    let mut numbers = Numbers(4);
    let plane: Vec<f64> = (0..cols).map(|_| numbers.normal()).collect();
    let (mut starts, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
    let mut targets = Vec::with_capacity(rows);
    for _ in 0..rows {
        let word = |numbers: &mut Numbers| {
            ((cols as f64).powf(numbers.uniform()) as usize - 1).min(cols - 1) as u32
        };
        let mut words: Vec<u32> = (0..WORDS).map(|_| word(&mut numbers)).collect();
        words.sort_unstable();
        words.dedup();
        let x = (words.len() as f64).sqrt().recip();
        let f: f64 = words.iter().map(|&j| plane[j as usize] * x).sum();
        columns.extend(&words);
        values.extend(words.iter().map(|_| x));
        starts.push(values.len() as u64);
        targets.push(f + noise(&mut numbers));
    }
    let matrix = Matrix::csr(cols, starts, columns, Storage::F64.store(values))?;
    Ok(Set { matrix, target: Target::Numbers(targets) })
}
