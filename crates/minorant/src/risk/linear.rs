//! Risks of linear models: the weighted sum over examples of a loss of K linear outputs. Written
//! once for all losses: fused passes over fixed chunks of rows, planes by parts, points that
//! combine along a line, lines, steepest subgradients, single examples. Whatever the number of
//! threads, the chunks and the order in which they are added up are the same.

use super::chunk::{self, BlockSums, ChunkPlane};
use super::convexified::Convexified;
use super::cut::{Cut, Shape};
use super::loss::Tangent;
use super::sizes::Sizes;
use super::{
    Cancel, Curvature, Descent, DifferenceOfConvex, DualCoordinates, Duals, ExampleWeights,
    Examples, Lines, Loss, Plane, Point, Risk, RiskError, RowMetric, ScaledTangents,
    Subdifferential,
};
use crate::line::{Line, LineData, PiecewiseLine, SmoothLine};
use minorant_linalg::dense::{axpy, between};
use minorant_linalg::parallel::{Spare, map_chunks, map_chunks_mut, split_evenly, stretches};
use minorant_linalg::sum::Sum;
use minorant_linalg::tree::{TreeSum, sum_chunks};
use minorant_linalg::{Columns, Design, PackedWeights};
use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Rows that a loss is asked for at a time.
const ROWS: usize = 64;

/// The risk of a linear model on a data set.
pub struct LinearRisk<'a> {
    pub(super) design: Design<'a>,
    pub(super) loss: Box<dyn Loss + 'a>,
    pub(super) weights: ExampleWeights,
    pub(super) cut: Cut,
    pub(super) chunks: Vec<Range<usize>>,
    /// ‖x_i‖, for the bounds on rounding errors.
    pub(super) lengths: Vec<f64>,
    /// The features column by column, once somebody has asked for them.
    pub(super) columns: OnceLock<Columns>,
    /// Gradients of chunks, to be used again.
    pub(super) spare: Spare,
    /// Sizes of the features, once an objective is claimed.
    sizes: OnceLock<Sizes>,
}

impl<'a> LinearRisk<'a> {
    /// The risk of `loss` over the rows of `design`.
    pub fn new(design: Design<'a>, loss: impl Loss + 'a, weights: ExampleWeights) -> Self {
        LinearRisk::boxed(design, Box::new(loss), weights)
    }

    /// The same for a loss that is chosen at run time.
    pub fn boxed(design: Design<'a>, loss: Box<dyn Loss + 'a>, weights: ExampleWeights) -> Self {
        design.matrix().prepare_for_passes();
        let cut = Cut::of_rows(Shape::of(&design));
        let chunks = cut.ranges(cut.chunks());
        let lengths =
            map_chunks(&chunks, |_, rows| rows.map(|i| design.row_length(i)).collect::<Vec<f64>>());
        let (lengths, columns, spare) = (lengths.concat(), OnceLock::new(), Spare::default());
        let sizes = OnceLock::new();
        LinearRisk { design, loss, weights, cut, chunks, lengths, columns, spare, sizes }
    }

    pub(super) fn blocks(&self, rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let step = self.cut.block();
        rows.clone().step_by(step).map(move |at| at..(at + step).min(rows.end))
    }

    /// Weighted loss of the rows of a block, given their outputs.
    fn block_value(&self, rows: Range<usize>, outputs: &[f64]) -> f64 {
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
            for (i, (tangent, c)) in block.zip(tangents.iter().zip(c.chunks_exact_mut(k))) {
                let weight = self.weights.of(i);
                let mut size = 0.0;
                for c in c {
                    *c *= weight;
                    size += c.abs();
                }
                sums.value += weight * tangent.value;
                sums.offset += weight * tangent.offset;
                // A smooth loss has its offset as a difference of numbers that may be larger.
                let of_offset = if is_smooth {
                    tangent.value.abs() + (tangent.value - tangent.offset).abs()
                } else {
                    tangent.offset.abs()
                };
                sums.offset_size += weight * of_offset;
                sums.normal_size += size * self.lengths[i];
            }
        }
        if let Some(kinks) = self.loss.kinks() {
            kinks.add_ties(rows.clone(), outputs, &mut plane.ties);
        }
        plane.add_block(rows.len(), sums);
    }

    /// Whether planes tell the slopes of their examples' minorants: where there are fewer examples than
    /// features, these are shorter than the point where the plane touches, and prove the same.
    fn tells_slopes(&self) -> bool {
        let knows = self.loss.is_convex() && self.loss.conjugate().is_some();
        knows && self.cut.examples() < self.design.features()
    }

    /// Sums up the planes of parts: `outputs` gives those of a block of rows, or says that the work is
    /// to stop.
    fn sum_planes<'o>(
        &self,
        parts: usize,
        outputs: Vec<Outputs<'o>>,
        cancel: &Cancel,
    ) -> Result<TreeSum<ChunkPlane<'_>>, RiskError> {
        let k = self.loss.outputs();
        let chunks = self.cut.ranges(outputs.len());
        let outputs: Vec<Mutex<Outputs<'o>>> = outputs.into_iter().map(Mutex::new).collect();
        let tells_slopes = self.tells_slopes();
        sum_chunks(0..chunks.len(), self.cut.level_of_parts(parts), |chunk| {
            cancel.check()?;
            let rows = chunks[chunk].clone();
            // Every chunk has one task, so that no lock is ever waited for.
            let mut outputs = outputs[chunk].lock().unwrap_or_else(PoisonError::into_inner);
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
            Ok(plane)
        })
    }

    /// The planes of parts, touching at weights `w`.
    fn planes_at(&self, w: &[f64], parts: Vec<ChunkPlane<'_>>) -> Vec<Plane> {
        let mut planes = chunk::planes(parts);
        // At the origin all outputs are exactly zero, however they are computed.
        if w.iter().all(|w| *w == 0.0) {
            planes.iter_mut().for_each(|plane| plane.ties.clear());
        }
        planes
    }

    fn finish(&self, w: Vec<f64>, outputs: Vec<f64>, value: f64) -> Result<Point, RiskError> {
        if value.is_finite() {
            Ok(Point { w, outputs, value, error: 0.0 })
        } else {
            Err(RiskError::NotFinite(format!("its value is {value}")))
        }
    }
}

impl fmt::Debug for LinearRisk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LinearRisk { design, weights, .. } = self;
        f.debug_struct("LinearRisk")
            .field("rows", &design.rows())
            .field("weights", weights)
            .finish_non_exhaustive()
    }
}

/// The outputs of a chunk while its planes are made.
enum Outputs<'o> {
    /// They are known.
    Known(&'o [f64]),
    /// They are computed on the way.
    New(&'o PackedWeights<'o>, &'o mut [f64]),
}

impl Outputs<'_> {
    /// Those of a block of rows, which lie at `span` of the chunk's.
    fn of_block(&mut self, design: &Design<'_>, block: Range<usize>, span: Range<usize>) -> &[f64] {
        match self {
            Outputs::Known(outputs) => &outputs[span],
            Outputs::New(w, outputs) => {
                design.forward(block, w, &mut outputs[span.clone()]);
                &outputs[span]
            }
        }
    }
}

impl Risk for LinearRisk<'_> {
    fn dim(&self) -> usize {
        self.design.features() * self.loss.outputs()
    }

    fn is_convex(&self) -> bool {
        self.loss.is_convex()
    }

    fn at(&self, w: Vec<f64>, cancel: &Cancel) -> Result<Point, RiskError> {
        let k = self.loss.outputs();
        let packed = PackedWeights::pack(&w, k);
        let is_origin = w.iter().all(|w| *w == 0.0);
        let mut outputs = vec![0.0; self.design.rows() * k];
        let sums = map_chunks_mut(&self.chunks, &mut outputs, k, |_, rows, outputs| {
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
        let sum = sums.into_iter().collect::<Result<Sum, RiskError>>()?;
        drop(packed);
        self.finish(w, outputs, sum.value())
    }

    fn value_error(&self, point: &Point) -> f64 {
        let sizes = self.sizes.get_or_init(|| Sizes::new(&self.design, &self.weights, &*self.loss));
        // Losses of a block are added up plainly, and shares and losses are rounded themselves: a
        // logistic loss, the worst of them, by `ERROR_OF_COMPOSED`, which is 2 ε.
        let added = 0.5 * self.cut.block().min(self.design.rows()) as f64 + 8.0;
        sizes.error(&point.w, point.value) + f64::EPSILON * added * point.value.abs()
    }

    fn planes(
        &self,
        point: &Point,
        parts: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Plane>, RiskError> {
        let chunks = self.cut.chunks_of_parts(parts);
        let (k, ranges) = (self.loss.outputs(), self.cut.ranges(chunks));
        let known =
            |rows: &Range<usize>| Outputs::Known(&point.outputs[rows.start * k..rows.end * k]);
        let tree = self.sum_planes(parts, ranges.iter().map(known).collect(), cancel)?;
        Ok(self.planes_at(&point.w, chunk::whole(tree, chunks)?))
    }

    fn at_with_planes(
        &self,
        w: Vec<f64>,
        parts: usize,
        cancel: &Cancel,
    ) -> Result<(Point, Vec<Plane>), RiskError> {
        let k = self.loss.outputs();
        let packed = PackedWeights::pack(&w, k);
        let chunks = self.cut.chunks_of_parts(parts);
        let mut outputs = vec![0.0; self.design.rows() * k];
        let each = stretches(&self.cut.ranges(chunks), &mut outputs, k).into_iter();
        let new = each.map(|stretch| Outputs::New(&packed, stretch)).collect();
        let sums = chunk::whole(self.sum_planes(parts, new, cancel)?, chunks)?;
        drop(packed);
        let point = self.finish(w, outputs, chunk::total_value(&sums).0)?;
        let planes = self.planes_at(&point.w, sums);
        Ok((point, planes))
    }

    fn max_parts(&self) -> usize {
        self.cut.max_parts()
    }

    fn lines(&self) -> Option<&dyn Lines> {
        Some(self)
    }

    fn subdifferential(&self) -> Option<&dyn Subdifferential> {
        self.loss.is_convex().then_some(self)
    }

    fn difference(&self) -> Option<&dyn DifferenceOfConvex> {
        self.loss.difference().is_some().then_some(self)
    }

    fn is_smooth(&self) -> bool {
        self.loss.is_smooth()
    }

    fn duals(&self) -> Option<&dyn Duals> {
        self.loss.conjugate().is_some().then_some(self)
    }

    fn curvature(&self) -> Option<&dyn Curvature> {
        // 32 bits must be able to number the rows.
        let numbered = u32::try_from(self.design.rows()).is_ok();
        (numbered && self.loss.curvature().is_some()).then_some(self)
    }

    fn dual_coordinates(&self) -> Option<&dyn DualCoordinates> {
        self.loss.ascent().is_some().then_some(self)
    }

    fn examples(&self) -> Option<&dyn Examples> {
        Some(self)
    }
}

impl Lines for LinearRisk<'_> {
    fn line<'r>(&'r self, from: &'r Point, to: &'r Point) -> Box<dyn Line + 'r> {
        let direction = to.outputs.iter().zip(&from.outputs).map(|(to, from)| to - from).collect();
        let (loss, weights, start) = (&*self.loss, &self.weights, &from.outputs);
        let data = LineData { loss, weights, start, direction };
        match loss.pieces() {
            Some(pieces) => Box::new(PiecewiseLine::new(data, pieces, &self.chunks)),
            None => Box::new(SmoothLine::new(data, &self.chunks)),
        }
    }

    fn between(&self, from: &Point, to: &Point, t: f64) -> Point {
        let k = self.loss.outputs();
        let mut outputs = vec![0.0; from.outputs.len()];
        let sums = map_chunks_mut(&self.chunks, &mut outputs, k, |_, rows, outputs| {
            let span = rows.start * k..rows.end * k;
            let ends = from.outputs[span.clone()].iter().zip(&to.outputs[span]);
            for (out, (from, to)) in outputs.iter_mut().zip(ends) {
                *out = from + t * (to - from);
            }
            self.block_value(rows, outputs)
        });
        Point {
            w: between(&from.w, &to.w, t),
            outputs,
            value: sums.into_iter().collect::<Sum>().value(),
            error: 0.0,
        }
    }
}

impl Subdifferential for LinearRisk<'_> {
    fn kinks(&self, point: &Point) -> Vec<u32> {
        let k = self.loss.outputs();
        let Some(kinks) = self.loss.kinks() else { return Vec::new() };
        let at_kink = |i: &usize| kinks.at_kink(*i, &point.outputs[i * k..(i + 1) * k]);
        let found = map_chunks(&self.chunks, |_, rows| {
            rows.filter(at_kink).map(|i| i as u32).collect::<Vec<u32>>()
        });
        found.concat()
    }

    fn steepen(
        &self,
        point: &Point,
        kinks: &[u32],
        direction: &[f64],
        subgradient: &mut [f64],
        cancel: &Cancel,
    ) -> Result<(), RiskError> {
        /// Rows that are worth a gradient of their own.
        const ROWS: usize = 256;
        let Some(loss) = self.loss.kinks() else { return Ok(()) };
        let k = loss.outputs();
        let packed = PackedWeights::pack(direction, k);
        let groups = split_evenly(kinks.len(), kinks.len().div_ceil(ROWS).min(self.chunks.len()));
        let changes = map_chunks(&groups, |_, group| {
            cancel.check()?;
            let mut gradient = self.design.gradient(k, &self.spare);
            let (mut c, mut d, mut before) = (vec![0.0; k], vec![0.0; k], vec![0.0; k]);
            for i in kinks[group].iter().map(|&i| i as usize) {
                let f = &point.outputs[i * k..(i + 1) * k];
                self.design.forward(i..i + 1, &packed, &mut d);
                loss.steepest_tangent(i, f, &d, &mut c);
                loss.tangent(i, f, &mut before);
                for (c, before) in c.iter_mut().zip(&before) {
                    *c = self.weights.of(i) * (*c - before);
                }
                if c.iter().any(|c| *c != 0.0) {
                    self.design.backward(i..i + 1, &c, &mut gradient);
                }
            }
            Ok(gradient.unpack())
        });
        for change in changes {
            axpy(1.0, &change?, subgradient);
        }
        Ok(())
    }
}

impl DifferenceOfConvex for LinearRisk<'_> {
    fn convexified<'r>(&'r self, point: &Point) -> Box<dyn Risk + 'r> {
        Box::new(LinearRisk {
            design: self.design,
            loss: match self.loss.difference() {
                Some(loss) => Box::new(Convexified::new(loss, &point.outputs)),
                None => unreachable!("only a loss that is known as a difference offers this"),
            },
            weights: self.weights.clone(),
            cut: self.cut,
            chunks: self.chunks.clone(),
            lengths: self.lengths.clone(),
            columns: OnceLock::new(),
            spare: Spare::default(),
            sizes: OnceLock::new(),
        })
    }

    fn has_dual_coordinates(&self) -> bool {
        self.loss.difference().is_some_and(|loss| loss.convex_term().ascent().is_some())
    }

    fn restored(&self, point: Point) -> Point {
        self.between(&point, &point, 0.0)
    }
}

impl Duals for LinearRisk<'_> {
    fn slopes(&self) -> usize {
        self.design.rows() * self.loss.outputs()
    }

    fn plane_with_slopes(
        &self,
        slopes: &mut [f64],
        cancel: &Cancel,
    ) -> Result<Option<Plane>, RiskError> {
        let k = self.loss.outputs();
        let Some(conjugate) = self.loss.conjugate() else { return Ok(None) };
        let each = stretches(&self.chunks, slopes, k).into_iter();
        let slopes: Vec<Mutex<&mut [f64]>> = each.map(Mutex::new).collect();
        let top = self.cut.level_of_parts(1);
        let sum = sum_chunks(0..self.chunks.len(), top, |chunk| {
            cancel.check().map_err(Some)?;
            let rows = self.chunks[chunk].clone();
            // Every chunk has one task, so that no lock is ever waited for.
            let mut slopes = slopes[chunk].lock().unwrap_or_else(PoisonError::into_inner);
            let mut gradient = self.design.gradient(k, &self.spare);
            let mut coefficients = vec![0.0; self.cut.block().min(rows.len()) * k];
            let mut plane = ChunkPlane::new(&self.spare);
            for block in self.blocks(rows.clone()) {
                let mut sums = BlockSums::default();
                let c = &mut coefficients[..block.len() * k];
                for i in block.clone() {
                    let slopes = &mut slopes[(i - rows.start) * k..(i - rows.start + 1) * k];
                    let offset = conjugate.highest_offset(i, slopes).ok_or(None)?;
                    let weight = self.weights.of(i);
                    let at = (i - block.start) * k;
                    for (c, slope) in c[at..at + k].iter_mut().zip(slopes) {
                        *c = weight * *slope;
                        sums.normal_size += c.abs() * self.lengths[i];
                    }
                    sums.offset += weight * offset;
                    sums.offset_size += weight * offset.abs();
                }
                plane.add_block(block.len(), sums);
                self.design.backward(block, c, &mut gradient);
            }
            plane.normal = gradient.unpack();
            Ok(plane)
        });
        match sum {
            Ok(tree) => Ok(chunk::planes(chunk::whole(tree, self.chunks.len())?).pop()),
            Err(None) => Ok(None),
            Err(Some(error)) => Err(error),
        }
    }

    fn scaled_tangents(&self, point: &Point, factor: f64) -> Option<ScaledTangents> {
        self.highest_with_tangents_slopes(point, factor)
    }
}

impl Examples for LinearRisk<'_> {
    fn len(&self) -> usize {
        self.design.rows()
    }

    fn add_subgradient(&self, example: usize, w: &[f64], step: f64, gradient: &mut [f64]) -> f64 {
        let k = self.loss.outputs();
        let row = self.design.matrix().row(example);
        let bias = self.design.bias().map(|b| (self.design.matrix().cols(), b));
        let entries: Vec<(usize, f64)> = row.chain(bias).collect();
        let (mut f, mut c) = (vec![0.0; k], vec![0.0; k]);
        for &(j, x) in &entries {
            for (f, w) in f.iter_mut().zip(&w[j * k..]) {
                *f += x * w;
            }
        }
        let tangent = self.loss.tangent(example, &f, &mut c);
        let weight = self.weights.of(example);
        for &(j, x) in &entries {
            for (g, c) in gradient[j * k..].iter_mut().zip(&c) {
                *g += step * weight * c * x;
            }
        }
        weight * tangent.value
    }

    fn metric(&self, lambda: f64, theta: Option<&[f64]>) -> Option<RowMetric> {
        self.row_metric(lambda, theta)
    }

    fn descend(&self, metric: &RowMetric, order: &[u32], descent: &mut Descent) {
        self.descend_along(metric, order, descent);
    }
}
