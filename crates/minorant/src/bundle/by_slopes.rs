//! Planes that are kept by the slopes of their examples' minorants. Where there are many features for each
//! example, the slopes are far shorter than the normal, and the examples tell what the normal is good for:
//! inner products with a vector cost one forward product, whatever the number of planes, and a combination
//! of normals one backward product. Which planes have slopes, the risk says.

use super::Held;
use super::normal::Normal;
use super::origin::Origin;
use crate::certificate::DualPoint;
use crate::regularizer::L2;
use crate::risk::{BySlopes, Plane};
use minorant_linalg::dense::axpy;

/// What a bundle's planes lie on: the regularizer, and the examples where the risk knows these.
#[derive(Clone, Copy)]
pub struct Ground<'g> {
    pub(crate) regularizer: &'g L2,
    pub(crate) examples: Option<&'g dyn BySlopes>,
}

impl std::fmt::Debug for Ground<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ground").field("knows_examples", &self.examples.is_some()).finish()
    }
}

impl<'g> From<&'g L2> for Ground<'g> {
    fn from(regularizer: &'g L2) -> Self {
        Ground { regularizer, examples: None }
    }
}

/// A normal is this many times as long as the slopes that it is given up for, at least: passes over the
/// examples have to be made up for.
const LONGER: usize = 4;

impl<'g> Ground<'g> {
    /// The examples, where planes like this one are kept by their slopes: that of the whole risk, in
    /// coordinates that are those of the weights.
    pub(super) fn keeping(&self, planes: &[Plane]) -> Option<&'g dyn BySlopes> {
        let [plane] = planes else { return None };
        let is_short = LONGER * plane.slopes.len() <= plane.normal.len();
        let keeps = plane.tells_slopes() && is_short && self.regularizer.is_plain();
        self.examples.filter(|_| keeps)
    }
}

/// The examples that planes without normals cannot do without.
pub(super) fn known(examples: Option<&dyn BySlopes>) -> &dyn BySlopes {
    let Some(examples) = examples else {
        unreachable!("planes are kept by slopes only for those who know the examples")
    };
    examples
}

impl Held {
    /// The slopes, of a plane that is kept by them.
    pub(super) fn slopes_alone(&self) -> Option<&[f64]> {
        match (&self.normal, &self.origin) {
            (Normal::Absent, Origin::Slopes(slopes)) => Some(slopes),
            _ => None,
        }
    }

    /// What rounding is off by in a combination of so many planes by their slopes, relative to what it
    /// is off by in each: a slope is added up once for every plane, a normal from at least as many sums.
    pub(super) fn roundings(&self, combined: usize) -> f64 {
        if self.slopes_alone().is_some() { 1.0 + combined as f64 } else { 1.0 }
    }
}

/// Adds the normals of planes that are kept by their slopes to those of the others in a dual point.
pub(super) fn add_normals<'h>(
    planes: impl Iterator<Item = (&'h Held, f64)>,
    examples: Option<&dyn BySlopes>,
    dual: &mut DualPoint,
) {
    let mut sum: Vec<f64> = Vec::new();
    for (plane, weight) in planes {
        if let Some(slopes) = plane.slopes_alone() {
            sum.resize(slopes.len(), 0.0);
            axpy(weight, slopes, &mut sum);
        }
    }
    if !sum.is_empty() {
        dual.add_normal(&known(examples).normal(&sum));
    }
}
