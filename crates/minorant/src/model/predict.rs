//! Decision values and labels from a fitted model.

use super::{FittedModel, TaskName};
use minorant_linalg::parallel::{map_chunks_mut, split_evenly};
use minorant_linalg::{Design, Matrix, PackedWeights};

/// Decision values: `width` for each row, in class order (binary: one, for the second class).
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    /// Values of a row.
    pub width: usize,
    /// Row by row.
    pub values: Vec<f64>,
    /// Non-zero entries in columns that the model does not know, which were ignored.
    pub ignored: usize,
}

impl Scores {
    /// The decision values of a row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.width..(row + 1) * self.width]
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.width
    }
}

/// Predicted classes, as numbers in class order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Predictions {
    /// One class a row.
    Single(Vec<u32>),
    /// A set of classes a row.
    Sets(Vec<Vec<u32>>),
}

impl FittedModel {
    /// Decision values of all rows.
    pub fn scores(&self, matrix: &Matrix<'_>) -> Scores {
        let (fitted, ignored);
        let matrix = if matrix.cols() == self.features {
            ignored = 0;
            matrix
        } else {
            (fitted, ignored) = matrix.with_cols(self.features);
            &fitted
        };
        let design = Design::new(matrix, self.bias);
        let chunks = split_evenly(matrix.rows(), (matrix.rows() / 1024).clamp(1, 64));
        let outputs = self.outputs_per_problem();
        let width = outputs * self.problems.len();
        let mut values = vec![0.0; matrix.rows() * width];
        for (k, problem) in self.problems.iter().enumerate() {
            let packed = PackedWeights::pack(&problem.weights, outputs);
            map_chunks_mut(&chunks, &mut values, width, |_, rows, out| {
                let mut scores = vec![0.0; rows.len() * outputs];
                design.forward(rows, &packed, &mut scores);
                for (out, scores) in out.chunks_exact_mut(width).zip(scores.chunks_exact(outputs)) {
                    out[k * outputs..(k + 1) * outputs].copy_from_slice(scores);
                }
            });
        }
        Scores { width, values, ignored }
    }

    /// Labels for decision values; ties go to the first class.
    pub fn classify(&self, scores: &Scores) -> Predictions {
        let rows = (0..scores.rows()).map(|i| scores.row(i));
        match self.task {
            TaskName::Binary => Predictions::Single(rows.map(|f| u32::from(f[0] > 0.0)).collect()),
            TaskName::Multiclass | TaskName::OneVsRest => {
                let argmax = |f: &[f64]| {
                    let best =
                        (1..f.len()).fold(0, |best, z| if f[z] > f[best] { z } else { best });
                    best as u32
                };
                Predictions::Single(rows.map(argmax).collect())
            }
            TaskName::Multilabel => {
                let threshold = self.threshold.unwrap_or(0.0);
                let above = |f: &[f64]| {
                    (0..f.len()).filter(|&z| f[z] > threshold).map(|z| z as u32).collect()
                };
                Predictions::Sets(rows.map(above).collect())
            }
        }
    }
}

/// The threshold on the scores that gets the fewest memberships wrong, halfway between two
/// neighbouring scores; the lowest of several equally good ones.
pub(super) fn best_threshold(scores: &[f64], member: &[bool]) -> f64 {
    let mut order: Vec<(f64, bool)> = scores.iter().copied().zip(member.iter().copied()).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let Some(&(lowest, _)) = order.first() else { return 0.0 };
    let mut errors = member.iter().filter(|has| !**has).count() as i64;
    let mut best = (errors, lowest - 1.0);
    for at in 0..order.len() {
        errors += if order[at].1 { 1 } else { -1 };
        let next = order.get(at + 1).map_or(order[at].0 + 2.0, |next| next.0);
        if next > order[at].0 && errors < best.0 {
            let middle = order[at].0 + 0.5 * (next - order[at].0);
            // Between neighbouring doubles the middle may be the upper one, which has to be above.
            best = (errors, if middle < next { middle } else { order[at].0 });
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::best_threshold;

    #[test]
    fn threshold_splits_where_errors_are_fewest() {
        assert_eq!(best_threshold(&[1.0, 2.0, 3.0], &[false, true, true]), 1.5);
        assert_eq!(best_threshold(&[1.0, 2.0], &[true, true]), 0.0);
        assert_eq!(best_threshold(&[1.0, 1.0, 4.0], &[true, false, false]), 5.0);
        let odd = 1f64.next_up();
        assert_eq!(best_threshold(&[odd, odd.next_up()], &[false, true]), odd);
    }
}
