//! Risks of linear models: the weighted sum over examples of a loss of K linear outputs. Written
//! once for all losses: fused passes over fixed chunks of rows, planes by parts, points that
//! combine along a line, lines, steepest subgradients, single examples. Whatever the number of
//! threads, the chunks and the order in which they are added up are the same. What rows contribute stands
//! in `held.rs`; here is the risk whose rows are all in one place.

use super::chunk::{self, BlockSums, ChunkPlane};
use super::convexified::Convexified;
use super::cut::Cut;
use super::held::HeldRows;
use super::sizes::Sizes;
use super::{
    BySlopes, Cancel, Curvature, Descent, DifferenceOfConvex, DualCoordinates, Duals,
    ExampleWeights, Examples, Lines, Loss, Outputs, Plane, Point, Risk, RiskError, RowMetric,
    ScaledTangents, Shape, Subdifferential,
};
use crate::line::Line;
use minorant_linalg::dense::{axpy, between};
use minorant_linalg::parallel::{map_chunks, split_evenly, stretches};
use minorant_linalg::sum::Sum;
use minorant_linalg::tree::{TreeSum, sum_chunks};
use minorant_linalg::{Columns, Design, PackedWeights};
use std::borrow::Cow;
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The risk of a linear model on a data set.
pub struct LinearRisk<'a> {
    pub(crate) rows: HeldRows<'a>,
    /// The features column by column, once somebody has asked for them.
    pub(super) columns: OnceLock<Columns>,
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
        let cut = Cut::of_rows(Shape::of(&design));
        LinearRisk::of(HeldRows::new(design, loss, weights, cut, 0..cut.chunks()))
    }

    /// How far rounding may have moved the value of a point where so large a number was added to all
    /// outputs.
    pub(crate) fn error_of_intercept(&self, size: f64, value: f64) -> f64 {
        let sizes = self.sizes.get_or_init(|| sizes_of_all([self.rows.sizes()], &self.rows.cut));
        sizes.error_of_shift(size, value)
    }

    /// The sum of the rows, each output's coefficients given.
    pub(crate) fn backward(
        &self,
        coefficients: &[f64],
        cancel: &Cancel,
    ) -> Result<Vec<f64>, RiskError> {
        let (rows, k) = (&self.rows, self.rows.loss.outputs());
        self.sum_runs(rows.chunks.len(), |chunks| {
            let mut gradient = rows.design.gradient(k, &rows.spare);
            for block in chunks.iter().flat_map(|chunk| rows.blocks(chunk.clone())) {
                cancel.check()?;
                let c = &coefficients[block.start * k..block.end * k];
                rows.design.backward(block, c, &mut gradient);
            }
            Ok(gradient.unpack())
        })
    }

    /// The convex risk that touches this one at the outputs and lies above it elsewhere, of a loss that is a
    /// difference of convex ones.
    pub(crate) fn convexified_at(&self, outputs: &[f64]) -> LinearRisk<'_> {
        let Some(loss) = self.rows.loss.difference() else {
            unreachable!("only a loss that is known as a difference offers this")
        };
        LinearRisk::of(self.rows.with_loss(Box::new(Convexified::new(loss, outputs))))
    }

    /// The convex term of such a loss alone.
    pub(crate) fn convex_term(&self) -> Option<LinearRisk<'_>> {
        let loss = self.rows.loss.difference()?;
        Some(LinearRisk::of(self.rows.with_loss(loss.convex_term())))
    }

    fn of(rows: HeldRows<'a>) -> Self {
        LinearRisk { rows, columns: OnceLock::new(), sizes: OnceLock::new() }
    }
}

/// The planes of parts, touching at weights `w`.
pub(super) fn planes_at(w: &[f64], parts: Vec<ChunkPlane<'_>>) -> Vec<Plane> {
    let mut planes = chunk::planes(parts);
    // At the origin all outputs are exactly zero, however they are computed.
    if w.iter().all(|w| *w == 0.0) {
        planes.iter_mut().for_each(|plane| plane.ties.clear());
    }
    planes
}

/// The point at `w`, unless its value is not finite.
pub(super) fn finish(w: Vec<f64>, outputs: Outputs, value: f64) -> Result<Point, RiskError> {
    Ok(Point { outputs, ..Point::new(w, value)? })
}

/// The sizes of the features of all rows.
pub(super) fn sizes_of_all(holders: impl IntoIterator<Item = TreeSum<Sizes>>, cut: &Cut) -> Sizes {
    match chunk::whole(holders, cut.chunks()).map(|mut sums| sums.pop()) {
        Ok(Some(sizes)) => sizes,
        _ => unreachable!("the holders have all chunks, each once"),
    }
}

/// The normal of a plane of the whole risk.
pub(super) fn whole_normal(
    holders: impl IntoIterator<Item = TreeSum<Vec<f64>>>,
    cut: &Cut,
) -> Vec<f64> {
    match chunk::whole(holders, cut.chunks()).map(|mut sums| sums.pop()) {
        Ok(Some(normal)) => normal,
        _ => unreachable!("the holders have all chunks, each once"),
    }
}

/// How far rounding may have moved the value of a point besides what the sizes of the features tell:
/// losses of a block are added up plainly, and shares and losses are rounded themselves: a logistic loss,
/// the worst of them, by `ERROR_OF_COMPOSED`, which is 2 ε.
pub(super) fn error_of_sum(cut: &Cut, value: f64) -> f64 {
    let added = 0.5 * cut.block().min(cut.examples()) as f64 + 8.0;
    f64::EPSILON * added * value.abs()
}

impl fmt::Debug for LinearRisk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HeldRows { design, weights, .. } = &self.rows;
        f.debug_struct("LinearRisk")
            .field("rows", &design.rows())
            .field("weights", weights)
            .finish_non_exhaustive()
    }
}

impl Risk for LinearRisk<'_> {
    fn dim(&self) -> usize {
        self.rows.design.features() * self.rows.loss.outputs()
    }

    fn is_convex(&self) -> bool {
        self.rows.loss.is_convex()
    }

    fn at(&self, w: Vec<f64>, cancel: &Cancel) -> Result<Point, RiskError> {
        let (outputs, sums) = self.rows.values(&w, cancel)?;
        finish(w, Outputs::of(outputs), sums.into_iter().collect::<Sum>().value())
    }

    fn value_error(&self, point: &Point) -> f64 {
        let sizes = self.sizes.get_or_init(|| sizes_of_all([self.rows.sizes()], &self.rows.cut));
        sizes.error(&point.w, point.value) + error_of_sum(&self.rows.cut, point.value)
    }

    fn planes(
        &self,
        point: &Point,
        parts: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Plane>, RiskError> {
        let sums = self.rows.planes(point.outputs.here(), parts, cancel)?;
        Ok(planes_at(&point.w, chunk::whole([sums], self.rows.cut.chunks_of_parts(parts))?))
    }

    fn at_with_planes(
        &self,
        w: Vec<f64>,
        parts: usize,
        cancel: &Cancel,
    ) -> Result<(Point, Vec<Plane>), RiskError> {
        let (outputs, sums) = self.rows.values_and_planes(&w, parts, cancel)?;
        let sums = chunk::whole([sums], self.rows.cut.chunks_of_parts(parts))?;
        let point = finish(w, Outputs::of(outputs), chunk::total_value(&sums).0)?;
        let planes = planes_at(&point.w, sums);
        Ok((point, planes))
    }

    fn is_nonnegative(&self) -> bool {
        self.rows.is_nonnegative()
    }

    fn max_parts(&self) -> usize {
        self.rows.cut.max_parts()
    }

    fn lines(&self) -> Option<&dyn Lines> {
        Some(self)
    }

    fn subdifferential(&self) -> Option<&dyn Subdifferential> {
        self.rows.loss.is_convex().then_some(self)
    }

    fn difference(&self) -> Option<&dyn DifferenceOfConvex> {
        self.rows.loss.difference().is_some().then_some(self)
    }

    fn is_smooth(&self) -> bool {
        self.rows.loss.is_smooth()
    }

    fn is_streamed(&self) -> bool {
        self.rows.are_streamed()
    }

    fn duals(&self) -> Option<&dyn Duals> {
        self.rows.loss.conjugate().is_some().then_some(self)
    }

    fn curvature(&self) -> Option<&dyn Curvature> {
        // 32 bits must be able to number the rows.
        let numbered = u32::try_from(self.rows.design.rows()).is_ok();
        (numbered && self.rows.loss.curvature().is_some()).then_some(self)
    }

    fn by_slopes(&self) -> Option<&dyn BySlopes> {
        Some(self)
    }

    fn dual_coordinates(&self) -> Option<&dyn DualCoordinates> {
        let can_climb = self.rows.loss.ascent().is_some() && !self.is_streamed();
        can_climb.then_some(self)
    }

    fn examples(&self) -> Option<&dyn Examples> {
        (!self.is_streamed()).then_some(self)
    }
}

impl Lines for LinearRisk<'_> {
    fn line<'r>(&'r self, from: &'r Point, to: &'r Point) -> Line<'r> {
        Line::new(vec![self.rows.line(Cow::Borrowed(from.outputs.here()), to.outputs.here())])
    }

    fn between(&self, from: &Point, to: &Point, t: f64) -> Point {
        let (outputs, sums) = self.rows.between(from.outputs.here(), to.outputs.here(), t);
        let value = sums.into_iter().collect::<Sum>().value();
        Point { outputs: Outputs::of(outputs), ..Point::bare(between(&from.w, &to.w, t), value) }
    }
}

impl Subdifferential for LinearRisk<'_> {
    fn kinks(&self, point: &Point) -> Vec<u32> {
        let k = self.rows.loss.outputs();
        let Some(kinks) = self.rows.loss.kinks() else { return Vec::new() };
        let at_kink = |i: &usize| kinks.at_kink(*i, &point.outputs.here()[i * k..(i + 1) * k]);
        let found = map_chunks(&self.rows.chunks, |_, rows| {
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
        let Some(loss) = self.rows.loss.kinks() else { return Ok(()) };
        let k = loss.outputs();
        let packed = PackedWeights::pack(direction, k);
        let groups =
            split_evenly(kinks.len(), kinks.len().div_ceil(ROWS).min(self.rows.chunks.len()));
        let changes = map_chunks(&groups, |_, group| {
            cancel.check()?;
            let mut gradient = self.rows.design.gradient(k, &self.rows.spare);
            let (mut c, mut d, mut before) = (vec![0.0; k], vec![0.0; k], vec![0.0; k]);
            for i in kinks[group].iter().map(|&i| i as usize) {
                let f = &point.outputs.here()[i * k..(i + 1) * k];
                self.rows.design.forward(i..i + 1, &packed, &mut d);
                loss.steepest_tangent(i, f, &d, &mut c);
                loss.tangent(i, f, &mut before);
                for (c, before) in c.iter_mut().zip(&before) {
                    *c = self.rows.weights.of(i) * (*c - before);
                }
                if c.iter().any(|c| *c != 0.0) {
                    self.rows.design.backward(i..i + 1, &c, &mut gradient);
                }
            }
            Ok(gradient.unpack())
        });
        for change in changes {
            axpy(1.0, &change?, subgradient);
        }
        self.rows.intact()
    }
}

impl DifferenceOfConvex for LinearRisk<'_> {
    fn convexified<'r>(&'r self, point: &Point) -> Box<dyn Risk + 'r> {
        Box::new(self.convexified_at(point.outputs.here()))
    }

    fn has_dual_coordinates(&self) -> bool {
        let loss = self.rows.loss.difference();
        loss.is_some_and(|loss| loss.convex_term().ascent().is_some()) && !self.is_streamed()
    }

    fn restored(&self, point: Point) -> Point {
        self.between(&point, &point, 0.0)
    }
}

impl Duals for LinearRisk<'_> {
    fn slopes(&self) -> usize {
        self.rows.design.rows() * self.rows.loss.outputs()
    }

    fn plane_with_slopes(
        &self,
        slopes: &mut [f64],
        cancel: &Cancel,
    ) -> Result<Option<Plane>, RiskError> {
        let k = self.rows.loss.outputs();
        let Some(conjugate) = self.rows.loss.conjugate() else { return Ok(None) };
        let each = stretches(&self.rows.chunks, slopes, k).into_iter();
        let slopes: Vec<Mutex<&mut [f64]>> = each.map(Mutex::new).collect();
        let top = self.rows.cut.level_of_parts(1);
        let sum = sum_chunks(0..self.rows.chunks.len(), top, |chunk| {
            cancel.check().map_err(Some)?;
            let rows = self.rows.chunks[chunk].clone();
            // Every chunk has one task, so that no lock is ever waited for.
            let mut slopes = slopes[chunk].lock().unwrap_or_else(PoisonError::into_inner);
            let mut gradient = self.rows.design.gradient(k, &self.rows.spare);
            let mut coefficients = vec![0.0; self.rows.cut.block().min(rows.len()) * k];
            let mut plane = ChunkPlane::new(&self.rows.spare);
            for block in self.rows.blocks(rows.clone()) {
                let mut sums = BlockSums::default();
                let c = &mut coefficients[..block.len() * k];
                for i in block.clone() {
                    let slopes = &mut slopes[(i - rows.start) * k..(i - rows.start + 1) * k];
                    let offset = conjugate.highest_offset(i, slopes).ok_or(None)?;
                    let weight = self.rows.weights.of(i);
                    let at = (i - block.start) * k;
                    for (c, slope) in c[at..at + k].iter_mut().zip(slopes) {
                        *c = weight * *slope;
                        sums.normal_size += c.abs() * self.rows.lengths[i];
                    }
                    sums.offset += weight * offset;
                    sums.offset_size += weight * offset.abs();
                }
                plane.add_block(block.len(), sums);
                self.rows.design.backward(block, c, &mut gradient);
            }
            plane.normal = gradient.unpack();
            Ok(plane)
        });
        self.rows.intact()?;
        match sum {
            Ok(tree) => Ok(chunk::planes(chunk::whole([tree], self.rows.chunks.len())?).pop()),
            Err(None) => Ok(None),
            Err(Some(error)) => Err(error),
        }
    }

    fn scaled_tangents(&self, point: &Point, factor: f64) -> Option<ScaledTangents> {
        self.highest_with_tangents_slopes(point, factor)
    }
}

impl BySlopes for LinearRisk<'_> {
    fn products(&self, vector: &[f64]) -> Vec<f64> {
        self.rows.products(vector)
    }

    fn normal(&self, slopes: &[f64]) -> Vec<f64> {
        whole_normal([self.rows.normal(slopes)], &self.rows.cut)
    }
}

impl Examples for LinearRisk<'_> {
    fn len(&self) -> usize {
        self.rows.design.rows()
    }

    fn add_subgradient(&self, example: usize, w: &[f64], step: f64, gradient: &mut [f64]) -> f64 {
        let k = self.rows.loss.outputs();
        let row = self.rows.design.matrix().row(example);
        let bias = self.rows.design.bias().map(|b| (self.rows.design.matrix().cols(), b));
        let entries: Vec<(usize, f64)> = row.chain(bias).collect();
        let (mut f, mut c) = (vec![0.0; k], vec![0.0; k]);
        for &(j, x) in &entries {
            for (f, w) in f.iter_mut().zip(&w[j * k..]) {
                *f += x * w;
            }
        }
        let tangent = self.rows.loss.tangent(example, &f, &mut c);
        let weight = self.rows.weights.of(example);
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
