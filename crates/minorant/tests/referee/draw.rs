//! What random weights, costs and features of the referee's problems look like.

pub(crate) use super::common::Random;

impl Random {
    /// Example weights: whole ones with zeros among them, or of all sizes; not all 0.
    pub(crate) fn weights(&mut self, n: usize) -> Vec<f64> {
        let whole = self.chance(0.5);
        let mut weights: Vec<f64> = (0..n)
            .map(|_| match whole {
                true => self.between(0, 3) as f64,
                false => self.scale(1e-3, 1e3),
            })
            .collect();
        let at = self.between(0, n - 1);
        weights[at] += 1.0;
        weights
    }

    /// A matrix of costs with a diagonal of 0.
    pub(crate) fn costs(&mut self, classes: usize) -> Vec<f64> {
        let whole = self.chance(0.5);
        let mut cost = |at: usize| match (at / classes == at % classes, whole) {
            (true, _) => 0.0,
            (_, true) => self.between(0, 3) as f64,
            _ => 2.0 * self.unit(),
        };
        (0..classes * classes).map(&mut cost).collect()
    }
}

/// How scales are spread over features.
#[derive(Clone, Copy, PartialEq)]
enum Spread {
    None,
    Problem,
    Column,
    Entry,
}

/// Random rows, degenerate in ways that are common in practice and hard on solvers.
pub(crate) fn rows(random: &mut Random, n: usize, d: usize) -> Vec<Vec<f64>> {
    use Spread::{Column, Entry, None, Problem};
    let spread = random.pick(&[None, None, None, Problem, Problem, Column, Column, Entry]);
    let (low, high) =
        random.pick(&[(1e-8, 1e8), (1e-8, 1e8), (1e-3, 1e3), (1.0, 1e8), (1e-8, 1.0)]);
    let kind = random.between(0, 2);
    let density = random.pick(&[1.0, 1.0, 0.7, 0.3]);
    let of_problem = random.scale(low, high);
    let of_columns: Vec<f64> = (0..d).map(|_| random.scale(low, high)).collect();
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for i in 0..n {
        let row = match random.between(0, 11) {
            0 => vec![0.0; d],
            1 | 2 if i > 0 => rows[random.between(0, i - 1)].clone(),
            _ => (0..d)
                .map(|j| {
                    if !random.chance(density) {
                        return 0.0;
                    }
                    let x = match kind {
                        0 => random.between(0, 4) as f64 - 2.0,
                        1 => (random.between(0, 40) as f64 - 20.0) / 10.0,
                        _ => random.normal(),
                    };
                    x * match spread {
                        None => 1.0,
                        Problem => of_problem,
                        Column => of_columns[j],
                        Entry => random.scale(low, high),
                    }
                })
                .collect(),
        };
        rows.push(row);
    }
    if d > 1 && random.chance(0.25) {
        // One column depends on another, or is the same everywhere.
        let (from, to) = (random.between(0, d - 1), random.between(0, d - 1));
        let factor = random.pick(&[1.0, -1.0, 2.0, 0.1, 1.0 + 1e-9, 1e6]);
        let is_constant = random.chance(0.3);
        rows.iter_mut()
            .for_each(|row| row[to] = if is_constant { factor } else { factor * row[from] });
    }
    rows
}
