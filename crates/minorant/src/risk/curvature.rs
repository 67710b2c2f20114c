//! Linear risks of twice differentiable losses: second derivatives in the examples' outputs, products with
//! the Hessian and the Hessian itself, and the features column by column.

use super::cut::power_of_two;
use super::{Cancel, Curvature, LinearRisk, Point, RiskError, SecondDerivatives, chunk};
use minorant_linalg::parallel::{map_chunks_mut, stretches};
use minorant_linalg::tree::{level_of_parts, sum_chunks_in};
use minorant_linalg::{Columns, PackedWeights};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Outputs whose second derivatives are computed at once: they stay in the cache until they are stored.
const AT_ONCE: usize = 1 << 12;

impl LinearRisk<'_> {
    /// Adds up what each of `count` runs of chunks contributes.
    pub(super) fn sum_runs(
        &self,
        count: usize,
        of_run: impl Fn(&[Range<usize>]) -> Result<Vec<f64>, RiskError> + Sync,
    ) -> Result<Vec<f64>, RiskError> {
        let chunks = &self.rows.chunks;
        let each = chunks.len() / count;
        let sums = sum_chunks_in(self.rows.order(), 0..count, level_of_parts(count, 1), |run| {
            of_run(&chunks[run * each..(run + 1) * each])
        })?;
        self.rows.intact()?;
        Ok(chunk::whole([sums], count)?.swap_remove(0))
    }
}

impl Curvature for LinearRisk<'_> {
    fn outputs(&self) -> usize {
        self.rows.loss.outputs()
    }

    fn columns(&self) -> &Columns {
        self.columns.get_or_init(|| Columns::new(&self.rows.design))
    }

    fn second_derivatives(
        &self,
        point: &Point,
        cancel: &Cancel,
    ) -> Result<SecondDerivatives, RiskError> {
        let (rows, k) = (&self.rows, self.rows.loss.outputs());
        let loss = rows.loss.curvature();
        let outputs = point.outputs.here();
        let numbers = rows.design.rows() * k;
        let mut diagonal = vec![0.0; numbers];
        let mut rank_one = vec![0.0; if k == 1 { 0 } else { numbers }];
        let vectors = stretches(&rows.chunks, &mut rank_one, if k == 1 { 0 } else { k });
        let vectors: Vec<Mutex<&mut [f64]>> = vectors.into_iter().map(Mutex::new).collect();
        let done = map_chunks_mut(&rows.chunks, &mut diagonal, k, |chunk, of_chunk, diagonal| {
            let Some(loss) = loss else { return Ok(()) };
            if k == 1 {
                loss.second_derivatives(of_chunk.clone(), &outputs[of_chunk.clone()], diagonal);
                let each = of_chunk.zip(diagonal);
                each.for_each(|(i, a)| *a *= rows.weights.of(i));
                return cancel.check();
            }
            // Each chunk's vectors are locked by nobody else.
            let mut vectors = vectors[chunk].lock().unwrap_or_else(PoisonError::into_inner);
            let at_once = (AT_ONCE / k).max(1);
            let mut both = vec![0.0; at_once * 2 * k];
            for start in of_chunk.clone().step_by(at_once) {
                cancel.check()?;
                let few = start..(start + at_once).min(of_chunk.end);
                // Diagonal and vector of an example side by side, so that one sweep writes both.
                let both = &mut both[..few.len() * 2 * k];
                let f = &outputs[few.start * k..few.end * k];
                loss.second_derivatives(few.clone(), f, both);
                for (i, both) in few.zip(both.chunks_exact(2 * k)) {
                    let (weight, at) = (rows.weights.of(i), (i - of_chunk.start) * k);
                    let (a, b) = both.split_at(k);
                    let to = diagonal[at..at + k].iter_mut().zip(a);
                    to.for_each(|(to, a)| *to = weight * a);
                    let to = vectors[at..at + k].iter_mut().zip(b);
                    to.for_each(|(to, b)| *to = weight.sqrt() * b);
                }
            }
            Ok(())
        });
        drop(vectors);
        done.into_iter().collect::<Result<(), RiskError>>()?;
        Ok(SecondDerivatives { diagonal, rank_one })
    }

    fn parabolas(&self, point: &Point) -> Option<SecondDerivatives> {
        let loss = self.rows.loss.curvature().filter(|loss| loss.outputs() == 1)?;
        let outputs = point.outputs.here();
        let mut second = self.second_derivatives(point, &Cancel::new()).ok()?;
        let found = map_chunks_mut(&self.rows.chunks, &mut second.diagonal, 1, |_, rows, all| {
            let mut any = false;
            for (i, a) in rows.zip(all).filter(|(_, a)| **a == 0.0) {
                if let Some(curvature) = loss.parabola(i, outputs[i]) {
                    *a = self.rows.weights.of(i) * curvature;
                    any = true;
                }
            }
            any
        });
        found.contains(&true).then_some(second)
    }

    fn hessian_times(
        &self,
        second: &SecondDerivatives,
        v: &[f64],
        cancel: &Cancel,
    ) -> Result<Vec<f64>, RiskError> {
        let (rows, k) = (&self.rows, self.rows.loss.outputs());
        let packed = PackedWeights::pack(v, k);
        self.sum_runs(rows.chunks.len(), |chunks| {
            cancel.check()?;
            let mut product = rows.design.gradient(k, &rows.spare);
            let mut change = vec![0.0; rows.cut.block() * k];
            for block in chunks.iter().flat_map(|chunk| rows.blocks(chunk.clone())) {
                let change = &mut change[..block.len() * k];
                change.fill(0.0);
                let mut rest = block.clone();
                // Rows without curvature are not read.
                while let Some(from) = rest.find(|&i| !second.is_flat(i, k)) {
                    let end = rest.find(|&i| second.is_flat(i, k)).unwrap_or(block.end);
                    let span = (from - block.start) * k..(end - block.start) * k;
                    rows.design.forward(from..end, &packed, &mut change[span.clone()]);
                    second.apply(from * k, k, &mut change[span]);
                }
                rows.design.backward(block, change, &mut product);
            }
            Ok(product.unpack())
        })
    }

    fn hessian(
        &self,
        second: &SecondDerivatives,
        cancel: &Cancel,
    ) -> Result<Option<Vec<f64>>, RiskError> {
        let rows = &self.rows;
        if rows.loss.outputs() > 1 {
            return Ok(None);
        }
        // All sums together take no more numbers than the data, so there may be fewer than chunks.
        let features = rows.design.features();
        let worth = rows.design.matrix().entries() / (features * features).max(1);
        let count = power_of_two(worth.clamp(1, rows.chunks.len()));
        let sums = self.sum_runs(count, |chunks| {
            let mut sums = rows.design.gram();
            for block in chunks.iter().flat_map(|chunk| rows.blocks(chunk.clone())) {
                cancel.check()?;
                rows.design.add_gram(block.clone(), &second.diagonal[block], &mut sums);
            }
            Ok(sums)
        })?;
        Ok(Some(rows.design.full_gram(sums)))
    }

    fn mean_squares(&self, cancel: &Cancel) -> Result<Vec<f64>, RiskError> {
        let rows = &self.rows;
        self.sum_runs(rows.chunks.len(), |chunks| {
            cancel.check()?;
            let mut squares = vec![0.0; rows.design.features()];
            let mut share = 0.0;
            for i in chunks.iter().cloned().flatten() {
                let weight = rows.weights.of(i);
                rows.design.matrix().for_each_in_row(i, |j, x| squares[j] += weight * x * x);
                share += weight;
            }
            if let (Some(bias), Some(last)) = (rows.design.bias(), squares.last_mut()) {
                *last = share * bias * bias;
            }
            Ok(squares)
        })
    }

    fn hessian_cost(&self) -> Option<u64> {
        (self.rows.loss.outputs() == 1).then(|| self.rows.design.gram_cost())
    }

    fn product_cost(&self) -> u64 {
        self.rows.design.product_cost(self.rows.loss.outputs())
    }
}
