//! Linear risks of twice differentiable losses: second derivatives in the examples' outputs, and
//! the features column by column.

use super::{Curvature, LinearRisk, Point, SecondDerivatives};
use minorant_linalg::Columns;
use minorant_linalg::parallel::map_chunks_mut;

impl Curvature for LinearRisk<'_> {
    fn outputs(&self) -> usize {
        self.loss.outputs()
    }

    fn columns(&self) -> &Columns {
        self.columns.get_or_init(|| Columns::new(&self.design))
    }

    fn second_derivatives(&self, point: &Point) -> SecondDerivatives {
        let k = self.loss.outputs();
        // Diagonal and vector of an example side by side, so that one sweep writes both.
        let width = if k == 1 { 1 } else { 2 * k };
        let mut both = vec![0.0; self.design.rows() * width];
        let loss = self.loss.curvature();
        map_chunks_mut(&self.chunks, &mut both, width, |_, rows, both| {
            let Some(loss) = loss else { return };
            let f = &point.outputs[rows.start * k..rows.end * k];
            loss.second_derivatives(rows.clone(), f, both);
            for (i, both) in rows.zip(both.chunks_exact_mut(width)) {
                let (a, b) = both.split_at_mut(k);
                let weight = self.weights.of(i);
                a.iter_mut().for_each(|a| *a *= weight);
                b.iter_mut().for_each(|b| *b *= weight.sqrt());
            }
        });
        if k == 1 {
            return SecondDerivatives { diagonal: both, rank_one: Vec::new() };
        }
        let half = |at: usize| {
            both.chunks_exact(width).flat_map(|both| &both[at..at + k]).copied().collect()
        };
        SecondDerivatives { diagonal: half(0), rank_one: half(k) }
    }
}
