//! The rows of a linear model that somebody holds, a run of the chunks of all rows, and what they
//! contribute to sums over all: values chunk by chunk, planes as nodes of the tree of sums. Whoever drives
//! a risk puts the contributions of all holders together ([`LinearRisk`](super::LinearRisk) of the only one,
//! [`DealtRisk`](super::DealtRisk) of several); the bits of a sum do not depend on who held what.

use super::chunk::{BlockSums, ChunkPlane};
use super::cut::Cut;
use super::loss::Tangent;
use super::sizes::Sizes;
use super::{Cancel, ExampleWeights, Loss, RiskError};
use crate::line::{LineData, LineShare, PiecewiseLine, PiecewiseRows, SmoothLine};
use minorant_linalg::parallel::{Spare, map_chunks, map_chunks_mut, map_chunks_mut_in, stretches};
use minorant_linalg::sum::Sum;
use minorant_linalg::tree::{Order, TreeError, TreeSum, sum_chunks, sum_chunks_in};
use minorant_linalg::{Design, Matrix, PackedWeights};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Rows that a loss is asked for at a time.
const ROWS: usize = 64;

/// The rows of some chunks.
pub(crate) struct HeldRows<'a> {
    pub(super) design: Design<'a>,
    pub(crate) loss: Box<dyn Loss + 'a>,
    pub(crate) weights: ExampleWeights,
    /// The cut of all rows, whoever holds them.
    pub(super) cut: Cut,
    /// The chunks of that cut whose rows are here.
    held: Range<usize>,
    /// The rows of each of them, counted from the first row that is here.
    pub(crate) chunks: Vec<Range<usize>>,
    /// ‖x_i‖, for the bounds on rounding errors.
    pub(crate) lengths: Vec<f64>,
    /// Gradients of chunks, to be used again.
    pub(super) spare: Spare,
    /// Passes over the rows so far.
    passes: AtomicUsize,
}

/// The outputs of a chunk while its planes are made.
pub(super) enum ChunkOutputs<'o> {
    /// They are known.
    Known(&'o [f64]),
    /// They are computed on the way.
    New(&'o PackedWeights<'o>, &'o mut [f64]),
}

impl ChunkOutputs<'_> {
    /// Those of a block of rows, which lie at `span` of the chunk's.
    fn of_block(&mut self, design: &Design<'_>, block: Range<usize>, span: Range<usize>) -> &[f64] {
        match self {
            ChunkOutputs::Known(outputs) => &outputs[span],
            ChunkOutputs::New(w, outputs) => {
                design.forward(block, w, &mut outputs[span.clone()]);
                &outputs[span]
            }
        }
    }
}

impl<'a> HeldRows<'a> {
    /// The rows of the chunks `held` of a cut; loss and weights count these rows from 0.
    pub(super) fn new(
        design: Design<'a>,
        loss: Box<dyn Loss + 'a>,
        weights: ExampleWeights,
        cut: Cut,
        held: Range<usize>,
    ) -> Self {
        design.matrix().prepare_for_passes();
        let chunks = cut.ranges_of(held.clone(), cut.chunks());
        let lengths =
            map_chunks(&chunks, |_, rows| rows.map(|i| design.row_length(i)).collect::<Vec<f64>>());
        let (lengths, spare) = (lengths.concat(), Spare::default());
        let passes = AtomicUsize::new(0);
        HeldRows { design, loss, weights, cut, held, chunks, lengths, spare, passes }
    }

    /// The features without a constant one.
    pub(crate) fn matrix(&self) -> &'a Matrix<'a> {
        self.design.matrix()
    }

    /// Whether the rows are fetched whenever they are needed.
    pub(crate) fn are_streamed(&self) -> bool {
        self.design.matrix().blocks().is_some()
    }

    /// Refuses what was computed where some rows could not be fetched.
    pub(crate) fn intact(&self) -> Result<(), RiskError> {
        self.design.matrix().failure().map_or(Ok(()), |why| Err(RiskError::Failed(why)))
    }

    /// The same rows with another loss over them.
    pub(super) fn with_loss<'b>(&'b self, loss: Box<dyn Loss + 'b>) -> HeldRows<'b> {
        HeldRows {
            design: self.design,
            loss,
            weights: self.weights.clone(),
            cut: self.cut,
            held: self.held.clone(),
            chunks: self.chunks.clone(),
            lengths: self.lengths.clone(),
            spare: Spare::default(),
            passes: AtomicUsize::new(0),
        }
    }

    /// At which end the next pass begins. Rows on disk are gone through up and down in turn: what was read
    /// last is what the system still has in memory.
    pub(super) fn order(&self) -> Order {
        let is_back = self.are_streamed() && self.passes.fetch_add(1, Ordering::Relaxed) % 2 == 1;
        if is_back { Order::Down } else { Order::Up }
    }

    /// The rows of each chunk where all rows are cut into `chunks`.
    pub(super) fn ranges(&self, chunks: usize) -> Vec<Range<usize>> {
        self.cut.ranges_of(self.held.clone(), chunks)
    }

    pub(super) fn blocks(&self, rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let step = self.cut.block();
        rows.clone().step_by(step).map(move |at| at..(at + step).min(rows.end))
    }

    /// Weighted loss of the rows of a block, given their outputs.
    pub(super) fn block_value(&self, rows: Range<usize>, outputs: &[f64]) -> f64 {
        let k = self.loss.outputs();
        let mut values = [0.0; ROWS];
        let mut sum = -0.0;
        for first in rows.clone().step_by(ROWS) {
            let block = first..(first + ROWS).min(rows.end);
            let f = &outputs[(block.start - rows.start) * k..(block.end - rows.start) * k];
            self.loss.values(block.clone(), f, &mut values[..block.len()]);
            for (i, value) in block.zip(values) {
                sum += self.weights.of(i) * value;
            }
        }
        sum
    }

    /// Weighted tangents of the rows of a block: coefficients out, the rest added to `plane`.
    fn block_tangents(
        &self,
        rows: Range<usize>,
        outputs: &[f64],
        coefficients: &mut [f64],
        plane: &mut ChunkPlane<'_>,
    ) {
        let k = self.loss.outputs();
        let (is_smooth, tells_slopes) = (self.loss.is_smooth(), self.tells_slopes());
        let mut tangents = [Tangent::default(); ROWS];
        let mut sums = BlockSums::default();
        for first in rows.clone().step_by(ROWS) {
            let block = first..(first + ROWS).min(rows.end);
            let span = (block.start - rows.start) * k..(block.end - rows.start) * k;
            let (f, c) = (&outputs[span.clone()], &mut coefficients[span]);
            let tangents = &mut tangents[..block.len()];
            self.loss.tangents(block.clone(), f, c, tangents);
            if tells_slopes {
                plane.slopes.extend_from_slice(c);
            }
            let each = block.zip(&*tangents);
            if k == 1 {
                // The compiler does better where it knows that rows are numbers.
                for ((i, tangent), c) in each.zip(c) {
                    let weight = self.weights.of(i);
                    *c *= weight;
                    sums.add_tangent(tangent, weight, c.abs() * self.lengths[i], is_smooth);
                }
                continue;
            }
            for ((i, tangent), c) in each.zip(c.chunks_exact_mut(k)) {
                let weight = self.weights.of(i);
                let mut size = 0.0;
                for c in c {
                    *c *= weight;
                    size += c.abs();
                }
                sums.add_tangent(tangent, weight, size * self.lengths[i], is_smooth);
            }
        }
        if let Some(kinks) = self.loss.kinks() {
            kinks.add_ties(rows.clone(), outputs, &mut plane.ties);
        }
        plane.add_block(rows.len(), sums);
    }

    /// Whether all losses are known to be nowhere negative: so the highest minorants without slopes are.
    pub(crate) fn is_nonnegative(&self) -> bool {
        let Some(conjugate) = self.loss.conjugate() else { return false };
        let is_nonnegative = |i: usize| {
            let mut flat = vec![0.0; self.loss.outputs()];
            conjugate.highest_offset(i, &mut flat).is_some_and(|offset| offset >= 0.0)
        };
        (0..self.design.rows()).all(is_nonnegative)
    }

    /// Whether planes tell the slopes of their examples' minorants: where there are fewer examples than
    /// features, these are shorter than the point where the plane touches, and prove the same.
    fn tells_slopes(&self) -> bool {
        let knows = self.loss.is_convex() && self.loss.conjugate().is_some();
        knows && self.cut.examples() < self.design.features()
    }

    /// The outputs of all rows at `w`, and the sum of the losses of each chunk.
    pub(crate) fn values(
        &self,
        w: &[f64],
        cancel: &Cancel,
    ) -> Result<(Vec<f64>, Vec<f64>), RiskError> {
        let k = self.loss.outputs();
        let packed = PackedWeights::pack(w, k);
        let is_origin = w.iter().all(|w| *w == 0.0);
        let mut outputs = vec![0.0; self.design.rows() * k];
        let sums =
            map_chunks_mut_in(self.order(), &self.chunks, &mut outputs, k, |_, rows, outputs| {
                cancel.check()?;
                let mut sum = Sum::new();
                for block in self.blocks(rows.clone()) {
                    let out =
                        &mut outputs[(block.start - rows.start) * k..(block.end - rows.start) * k];
                    // At the origin the outputs are known without a look at the data.
                    if !is_origin {
                        self.design.forward(block.clone(), &packed, out);
                    }
                    sum.add(self.block_value(block, out));
                }
                Ok(sum.value())
            });
        let sums = sums.into_iter().collect::<Result<_, RiskError>>()?;
        self.intact()?;
        Ok((outputs, sums))
    }

    /// The outputs of all rows at the share `t` of the way between two points, and the sum of the losses
    /// of each chunk.
    pub(super) fn between(&self, from: &[f64], to: &[f64], t: f64) -> (Vec<f64>, Vec<f64>) {
        let k = self.loss.outputs();
        let mut outputs = vec![0.0; from.len()];
        let sums = map_chunks_mut(&self.chunks, &mut outputs, k, |_, rows, outputs| {
            let span = rows.start * k..rows.end * k;
            let ends = from[span.clone()].iter().zip(&to[span]);
            for (out, (from, to)) in outputs.iter_mut().zip(ends) {
                *out = from + t * (to - from);
            }
            self.block_value(rows, outputs)
        });
        (outputs, sums)
    }

    /// The rows along the line from some outputs to others.
    pub(super) fn line<'r>(
        &'r self,
        start: Cow<'r, [f64]>,
        end: &[f64],
    ) -> Box<dyn LineShare + 'r> {
        let direction = end.iter().zip(&*start).map(|(to, from)| to - from).collect();
        self.line_along(start, direction)
    }

    /// The rows along a direction of the intercept.
    pub(crate) fn line_of_intercept<'r>(
        &'r self,
        outputs: &'r [f64],
        way: &[f64],
    ) -> Box<dyn LineShare + 'r> {
        let direction = way.repeat(self.design.rows());
        self.line_along(Cow::Borrowed(outputs), direction)
    }

    fn line_along<'r>(
        &'r self,
        start: Cow<'r, [f64]>,
        direction: Vec<f64>,
    ) -> Box<dyn LineShare + 'r> {
        let (loss, weights, chunks) = (&*self.loss, &self.weights, &self.chunks);
        let data = LineData { loss, weights, start, direction };
        match loss.pieces() {
            Some(loss) => Box::new(PiecewiseLine::new(PiecewiseRows { data, loss, chunks })),
            None => Box::new(SmoothLine::new(data, chunks)),
        }
    }

    /// The mean of the losses where the outputs are known.
    pub(crate) fn value_of(&self, outputs: &[f64]) -> f64 {
        let k = self.loss.outputs();
        let sums = map_chunks(&self.chunks, |_, rows| {
            let mut sum = Sum::new();
            for block in self.blocks(rows) {
                let span = block.start * k..block.end * k;
                sum.add(self.block_value(block, &outputs[span]));
            }
            sum.value()
        });
        sums.into_iter().collect::<Sum>().value()
    }

    /// The outputs of all rows at `w`.
    pub(crate) fn forward(&self, w: &[f64], cancel: &Cancel) -> Result<Vec<f64>, RiskError> {
        let k = self.loss.outputs();
        let packed = PackedWeights::pack(w, k);
        let mut outputs = vec![0.0; self.design.rows() * k];
        let done =
            map_chunks_mut_in(self.order(), &self.chunks, &mut outputs, k, |_, rows, outputs| {
                for block in self.blocks(rows.clone()) {
                    cancel.check()?;
                    let span = (block.start - rows.start) * k..(block.end - rows.start) * k;
                    self.design.forward(block, &packed, &mut outputs[span]);
                }
                Ok(())
            });
        done.into_iter().collect::<Result<(), RiskError>>()?;
        drop(packed);
        self.intact()?;
        Ok(outputs)
    }

    /// The sums of planes touching where the outputs of the rows are known.
    pub(super) fn planes(
        &self,
        outputs: &[f64],
        parts: usize,
        cancel: &Cancel,
    ) -> Result<TreeSum<ChunkPlane<'_>>, RiskError> {
        let k = self.loss.outputs();
        let ranges = self.ranges(self.cut.chunks_of_parts(parts));
        let known =
            |rows: &Range<usize>| ChunkOutputs::Known(&outputs[rows.start * k..rows.end * k]);
        self.sum_planes(parts, ranges.iter().map(known).collect(), cancel)
    }

    /// The outputs of all rows at `w`, and the sums of planes touching there, in one pass.
    pub(super) fn values_and_planes(
        &self,
        w: &[f64],
        parts: usize,
        cancel: &Cancel,
    ) -> Result<(Vec<f64>, TreeSum<ChunkPlane<'_>>), RiskError> {
        let k = self.loss.outputs();
        let packed = PackedWeights::pack(w, k);
        let mut outputs = vec![0.0; self.design.rows() * k];
        let ranges = self.ranges(self.cut.chunks_of_parts(parts));
        let each = stretches(&ranges, &mut outputs, k).into_iter();
        let new = each.map(|stretch| ChunkOutputs::New(&packed, stretch)).collect();
        let sums = self.sum_planes(parts, new, cancel)?;
        drop(packed);
        Ok((outputs, sums))
    }

    /// Sums up the planes of parts over the chunks that are here, from the outputs of each.
    fn sum_planes(
        &self,
        parts: usize,
        outputs: Vec<ChunkOutputs<'_>>,
        cancel: &Cancel,
    ) -> Result<TreeSum<ChunkPlane<'_>>, RiskError> {
        let k = self.loss.outputs();
        let count = self.cut.chunks_of_parts(parts);
        let (ranges, held) = (self.ranges(count), self.cut.finer(self.held.clone(), count));
        let outputs: Vec<Mutex<ChunkOutputs<'_>>> = outputs.into_iter().map(Mutex::new).collect();
        let tells_slopes = self.tells_slopes();
        let first = held.start;
        let sums = sum_chunks_in(self.order(), held, self.cut.level_of_parts(parts), |chunk| {
            cancel.check()?;
            let rows = ranges[chunk - first].clone();
            // Every chunk has one task, so that no lock is ever waited for.
            let mut outputs = outputs[chunk - first].lock().unwrap_or_else(PoisonError::into_inner);
            let mut gradient = self.design.gradient(k, &self.spare);
            let mut coefficients = vec![0.0; self.cut.block().min(rows.len()) * k];
            let mut plane = ChunkPlane::new(&self.spare);
            plane.slopes.reserve_exact(if tells_slopes { rows.len() * k } else { 0 });
            for block in self.blocks(rows.clone()) {
                let span = (block.start - rows.start) * k..(block.end - rows.start) * k;
                let f = outputs.of_block(&self.design, block.clone(), span);
                let coefficients = &mut coefficients[..block.len() * k];
                self.block_tangents(block.clone(), f, coefficients, &mut plane);
                self.design.backward(block, coefficients, &mut gradient);
            }
            plane.normal = gradient.unpack();
            // Holders count their rows from 0, proofs those of all.
            let before = self.cut.first_row(self.held.start) as u32;
            plane.ties.iter_mut().for_each(|tie| tie.example += before);
            Ok(plane)
        });
        self.intact()?;
        sums
    }

    /// What the slopes of the rows that are here are multiplied with in a normal's product with a vector.
    pub(crate) fn products(&self, vector: &[f64]) -> Vec<f64> {
        let k = self.loss.outputs();
        let packed = PackedWeights::pack(vector, k);
        let mut products = vec![0.0; self.design.rows() * k];
        map_chunks_mut(&self.chunks, &mut products, k, |_, chunk, products| {
            for block in self.blocks(chunk.clone()) {
                let span = (block.start - chunk.start) * k..(block.end - chunk.start) * k;
                self.design.forward(block, &packed, &mut products[span]);
            }
            for (i, of_row) in chunk.zip(products.chunks_exact_mut(k)) {
                of_row.iter_mut().for_each(|x| *x *= self.weights.of(i));
            }
        });
        products
    }

    /// The normal of the plane with these slopes of the rows that are here.
    pub(crate) fn normal(&self, slopes: &[f64]) -> TreeSum<Vec<f64>> {
        let k = self.loss.outputs();
        let of_chunk = |chunk: usize| {
            let rows = self.chunks[chunk - self.held.start].clone();
            let mut gradient = self.design.gradient(k, &self.spare);
            let mut coefficients = vec![0.0; self.cut.block().min(rows.len()) * k];
            for block in self.blocks(rows) {
                let c = &mut coefficients[..block.len() * k];
                c.copy_from_slice(&slopes[block.start * k..block.end * k]);
                for (i, of_row) in block.clone().zip(c.chunks_exact_mut(k)) {
                    of_row.iter_mut().for_each(|c| *c *= self.weights.of(i));
                }
                self.design.backward(block, c, &mut gradient);
            }
            let mut normal = gradient.unpack();
            // Rows that could not be had prove nothing, and the next pass says why.
            if self.design.matrix().failure().is_some() {
                normal.fill(f64::NAN);
            }
            Ok::<_, TreeError>(normal)
        };
        let sums = sum_chunks(self.held.clone(), self.cut.level_of_parts(1), of_chunk);
        sums.unwrap_or_else(|_| unreachable!("sums of slopes cannot fail"))
    }

    /// The sizes of the features of the rows that are here.
    pub(super) fn sizes(&self) -> TreeSum<Sizes> {
        let of_chunk = |chunk: usize| {
            let rows = self.chunks[chunk - self.held.start].clone();
            Ok::<_, TreeError>(Sizes::of_rows(&self.design, rows, &self.weights, &*self.loss))
        };
        let sums = sum_chunks(self.held.clone(), self.cut.level_of_parts(1), of_chunk);
        sums.unwrap_or_else(|_| unreachable!("sizes of rows cannot fail"))
    }
}
