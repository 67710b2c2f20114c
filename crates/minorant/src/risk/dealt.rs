//! The risk of a linear model whose rows are dealt among several holders, each of which has a run of
//! chunks. The holders keep the outputs of points; between them and the driver travel weights, sums over
//! chunks, and numbers that stand for points. Values, planes and lines have the bits of the risk whose rows
//! are in one place ([`LinearRisk`](super::LinearRisk)). What needs single rows (coordinates of the dual,
//! columns, steepest subgradients) is not offered.

use super::chunk;
use super::cut::Cut;
use super::held::HeldRows;
use super::kept::Kept;
use super::linear::{error_of_sum, finish, planes_at, sizes_of_all, whole_normal};
use super::sizes::Sizes;
use super::{
    BySlopes, Cancel, ExampleWeights, Lines, Loss, Outputs, Plane, Point, Risk, RiskError, Shape,
};
use crate::line::Line;
use minorant_linalg::Design;
use minorant_linalg::dense::between;
use minorant_linalg::sum::Sum;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// What one holder has: its rows, the loss over them and their weights in the mean over all rows, both
/// counted from its first row.
pub type Hand<'a> = (Design<'a>, Box<dyn Loss + 'a>, ExampleWeights);

/// The risk of a linear model whose rows are dealt among holders.
pub struct DealtRisk<'a> {
    cut: Cut,
    holders: Vec<HeldRows<'a>>,
    kept: Arc<Kept>,
    sizes: OnceLock<Sizes>,
}

impl<'a> DealtRisk<'a> {
    /// The risk over all rows, whose shape is `shape`; each holder has the rows that [`Shape::deal`] says.
    pub fn new(shape: Shape, each: Vec<Hand<'a>>) -> Self {
        assert!(!each.is_empty(), "rows are dealt to one holder at least");
        let cut = Cut::of_rows(shape);
        let chunks = cut.hands(each.len());
        let deal = |((design, loss, weights), held): (Hand<'a>, Range<usize>)| {
            let rows = cut.first_row(held.end) - cut.first_row(held.start);
            assert_eq!(design.rows(), rows, "a holder has other rows than it was dealt");
            HeldRows::new(design, loss, weights, cut, held)
        };
        let holders: Vec<HeldRows<'a>> = each.into_iter().zip(chunks).map(deal).collect();
        let kept = Kept::new(holders.len());
        DealtRisk { cut, holders, kept, sizes: OnceLock::new() }
    }

    fn loss(&self) -> &dyn Loss {
        &*self.holders[0].loss
    }

    /// The outputs of a point at each holder. Those that came back from a file are dealt out again.
    fn outputs_of(&self, point: &Point) -> Vec<Arc<[f64]>> {
        let k = self.loss().outputs();
        match &point.outputs {
            Outputs::Held(held) => self.kept.of(held.number()),
            outputs => {
                let mut rest = outputs.here();
                let each = self.holders.iter().map(|holder| {
                    let (own, others) = rest.split_at(holder.design.rows() * k);
                    rest = others;
                    own.into()
                });
                each.collect()
            }
        }
    }

    /// The point at `w` whose outputs the holders keep from now on.
    fn keep(&self, w: Vec<f64>, outputs: Vec<Vec<f64>>, value: f64) -> Result<Point, RiskError> {
        finish(w, Outputs::Held(Kept::keep(&self.kept, outputs)), value)
    }
}

impl fmt::Debug for DealtRisk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DealtRisk { cut, holders, .. } = self;
        f.debug_struct("DealtRisk")
            .field("cut", cut)
            .field("holders", &holders.len())
            .finish_non_exhaustive()
    }
}

impl Risk for DealtRisk<'_> {
    fn dim(&self) -> usize {
        self.holders[0].design.features() * self.loss().outputs()
    }

    fn is_convex(&self) -> bool {
        self.loss().is_convex()
    }

    fn is_smooth(&self) -> bool {
        self.loss().is_smooth()
    }

    fn at(&self, w: Vec<f64>, cancel: &Cancel) -> Result<Point, RiskError> {
        let each = self.holders.iter().map(|holder| holder.values(&w, cancel));
        let (outputs, sums): (Vec<_>, Vec<_>) =
            each.collect::<Result<Vec<_>, RiskError>>()?.into_iter().unzip();
        self.keep(w, outputs, sums.into_iter().flatten().collect::<Sum>().value())
    }

    fn value_error(&self, point: &Point) -> f64 {
        let of_holders = || self.holders.iter().map(HeldRows::sizes);
        let sizes = self.sizes.get_or_init(|| sizes_of_all(of_holders(), &self.cut));
        sizes.error(&point.w, point.value) + error_of_sum(&self.cut, point.value)
    }

    fn planes(
        &self,
        point: &Point,
        parts: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Plane>, RiskError> {
        let outputs = self.outputs_of(point);
        let each = self.holders.iter().zip(&outputs);
        let sums = each.map(|(holder, outputs)| holder.planes(outputs, parts, cancel));
        let sums = sums.collect::<Result<Vec<_>, RiskError>>()?;
        Ok(planes_at(&point.w, chunk::whole(sums, self.cut.chunks_of_parts(parts))?))
    }

    fn at_with_planes(
        &self,
        w: Vec<f64>,
        parts: usize,
        cancel: &Cancel,
    ) -> Result<(Point, Vec<Plane>), RiskError> {
        let each = self.holders.iter().map(|holder| holder.values_and_planes(&w, parts, cancel));
        let (outputs, sums): (Vec<_>, Vec<_>) =
            each.collect::<Result<Vec<_>, RiskError>>()?.into_iter().unzip();
        let sums = chunk::whole(sums, self.cut.chunks_of_parts(parts))?;
        let point = self.keep(w, outputs, chunk::total_value(&sums).0)?;
        let planes = planes_at(&point.w, sums);
        Ok((point, planes))
    }

    fn is_nonnegative(&self) -> bool {
        self.holders.iter().all(HeldRows::is_nonnegative)
    }

    fn max_parts(&self) -> usize {
        self.cut.max_parts()
    }

    fn lines(&self) -> Option<&dyn Lines> {
        Some(self)
    }

    fn by_slopes(&self) -> Option<&dyn BySlopes> {
        Some(self)
    }
}

impl BySlopes for DealtRisk<'_> {
    fn products(&self, vector: &[f64]) -> Vec<f64> {
        self.holders.iter().flat_map(|holder| holder.products(vector)).collect()
    }

    fn normal(&self, slopes: &[f64]) -> Vec<f64> {
        let mut rest = slopes;
        let each = self.holders.iter().map(|holder| {
            let (own, others) = rest.split_at(holder.design.rows() * self.loss().outputs());
            rest = others;
            holder.normal(own)
        });
        whole_normal(each, &self.cut)
    }
}

impl Lines for DealtRisk<'_> {
    fn line<'r>(&'r self, from: &'r Point, to: &'r Point) -> Line<'r> {
        let (starts, ends) = (self.outputs_of(from), self.outputs_of(to));
        let each = self.holders.iter().zip(starts.iter().zip(&ends));
        Line::new(
            each.map(|(rows, (start, end))| rows.line(Cow::Owned(start.to_vec()), end)).collect(),
        )
    }

    fn between(&self, from: &Point, to: &Point, t: f64) -> Point {
        let (starts, ends) = (self.outputs_of(from), self.outputs_of(to));
        let each = self.holders.iter().zip(starts.iter().zip(&ends));
        let (outputs, sums): (Vec<_>, Vec<_>) =
            each.map(|(rows, (start, end))| rows.between(start, end, t)).unzip();
        let value = sums.into_iter().flatten().collect::<Sum>().value();
        let outputs = Outputs::Held(Kept::keep(&self.kept, outputs));
        Point { outputs, ..Point::bare(between(&from.w, &to.w, t), value) }
    }
}
