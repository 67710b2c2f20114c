//! What a risk over examples may know of its dual: minorants by their slopes, and steps along single
//! examples.

use super::{Cancel, ExampleWeights, Plane, Point, RiskError};
use minorant_linalg::Follow;

/// A risk over examples that knows how high a minorant with given slopes may lie.
pub trait Duals {
    /// Number of slopes: one for each output of each example.
    fn slopes(&self) -> usize;

    /// The highest plane whose examples' minorants have these slopes in their outputs. Slopes that
    /// rounding has carried out of what the losses allow are moved back; nothing where some are no
    /// minorant's at all. One backward product.
    fn plane_with_slopes(
        &self,
        slopes: &mut [f64],
        cancel: &Cancel,
    ) -> Result<Option<Plane>, RiskError>;

    /// The highest minorant whose slopes are `factor`, between 0 and 1, times those of the tangents
    /// at `point`. Reads the point's outputs, not the data.
    fn scaled_tangents(&self, point: &Point, factor: f64) -> Option<ScaledTangents>;
}

/// A minorant of a risk whose slopes are those of tangents, scaled down; its normal is the
/// tangents' one scaled alike, but for rounding.
#[derive(Debug, Clone)]
pub struct ScaledTangents {
    /// The slopes, one for each output of each example.
    pub slopes: Vec<f64>,
    /// The offset.
    pub offset: f64,
    /// How far rounding may have moved the offset.
    pub offset_error: f64,
    /// How far (in length) the normal may lie from the scaled normal of the tangents.
    pub moved: f64,
}

/// A risk over examples whose dual can be climbed one example at a time. The dual variables are the
/// slopes of a minorant for each example; to each choice of them belong the weights
/// w = w_reg − a ⊘ (λ θ²), with a the normal of the plane that the minorants add up to.
pub trait DualCoordinates {
    /// The examples that have any weight.
    fn examples(&self) -> Vec<u32>;

    /// What steps along examples cost; nothing where θ differs between the outputs of a feature.
    fn metric(&self, lambda: f64, theta: Option<&[f64]>) -> Option<RowMetric>;

    /// Whether steps along examples are cheap beside those of Newton's method: examples are stored by their
    /// entries alone, and no Newton step finds the minimum at once.
    fn has_cheap_steps(&self) -> bool;

    /// Intercepts that stand behind the weights in a state because they are free: sweeps bring them to
    /// where the slopes add up to zero.
    fn intercepts(&self) -> usize {
        0
    }

    /// Moves the slopes of each example in `order` to the best place for it, the others' staying
    /// where they are, and the weights with them. Examples whose slopes are held at a bound by
    /// more than `held` are taken out of `order`. A sweep that is cancelled ends where it is, with slopes and
    /// weights that belong to each other.
    fn sweep(
        &self,
        metric: &RowMetric,
        state: &mut DualState,
        order: &mut Vec<u32>,
        held: f64,
        cancel: &Cancel,
    ) -> Sweep;

    /// The examples whose slopes are not held at a bound by more than `held`, by the outputs at
    /// the state's weights.
    fn still_open(&self, state: &DualState, outputs: &[f64], held: f64) -> Vec<u32>;

    /// The plane of the state's slopes, without a look at the data: its normal follows from the
    /// weights. Nothing where some slopes are no minorant's, or the weights do not tell.
    fn plane(&self, metric: &RowMetric, state: &DualState, center: &[f64]) -> Option<Plane>;
}

/// What steps along examples cost under a regularizer λ/2 ‖θ ∘ (w − w_reg)‖².
#[derive(Debug, Clone)]
pub struct RowMetric {
    /// λ.
    pub(super) lambda: f64,
    /// For each example its weight times ‖x ⊘ θ‖² / λ.
    pub(super) curvatures: Vec<f64>,
    /// 1/θ² of each column, where they are not all 1.
    pub(super) columns: Option<Vec<f64>>,
    /// 1/θ² of the constant feature.
    pub(super) bias: f64,
    /// No row is longer, in any metric that it is added to the weights in.
    pub(super) longest: f64,
    /// What the regularizer has besides its quadratic.
    pub(super) rests: Option<Rests>,
}

/// Where weights come to rest whose regularizer has more than a quadratic: they are shrunk towards zero and
/// held in a range. The dual then has the slopes of the weights at rest, and is no more curved than
/// without, so that steps along examples are taken as if they were free.
#[derive(Debug, Clone, PartialEq)]
pub struct Rests {
    /// λ₁/λ.
    pub threshold: f64,
    /// The least and the greatest weights, where there are such.
    pub ranges: Option<(Vec<f64>, Vec<f64>)>,
    /// How many weights there are; intercepts behind them are not held.
    pub weights: usize,
}

impl Rests {
    pub(super) fn follow(&self) -> Follow<'_> {
        let ranges = self.ranges.as_ref().map(|(least, greatest)| (&least[..], &greatest[..]));
        Follow { threshold: self.threshold, ranges, weights: self.weights }
    }
}

impl RowMetric {
    /// The curvatures of the dual along each example.
    pub fn curvatures(&self) -> &[f64] {
        &self.curvatures
    }

    /// The same where weights come to rest elsewhere than a quadratic says.
    pub fn with_rests(self, rests: Rests) -> Self {
        RowMetric { rests: Some(rests), ..self }
    }

    /// The same with an intercept, a feature that is 1 in every row. It is penalised as a feature of usual
    /// size is, for the while of a sweep.
    pub(crate) fn with_intercept(mut self, weights: &ExampleWeights) -> Self {
        let total: f64 = (0..self.curvatures.len()).map(|i| weights.of(i)).sum();
        let usual = self.lambda * self.curvatures.iter().sum::<f64>() / total;
        self.bias = if usual > 0.0 && usual.is_finite() { usual } else { 1.0 };
        for (i, curvature) in self.curvatures.iter_mut().enumerate() {
            *curvature += weights.of(i) * self.bias / self.lambda;
        }
        self
    }

    /// By how much an intercept moves for each unit of slopes that do not add up to zero.
    pub(crate) fn of_intercept(&self) -> f64 {
        self.bias / self.lambda
    }

    /// The weights at rest.
    pub fn at_rest(&self, mut w: Vec<f64>) -> Vec<f64> {
        if let Some(rests) = &self.rests {
            let follow = rests.follow();
            w.iter_mut().enumerate().for_each(|(at, w)| *w = follow.of(at, *w));
        }
        w
    }
}

/// Where a climb in the dual stands.
#[derive(Debug, Clone, Default)]
pub struct DualState {
    /// The slopes, one for each output of each example.
    pub slopes: Vec<f64>,
    /// The weights that belong to them, before they come to rest.
    pub w: Vec<f64>,
    /// How far (in length) rounding may have carried the weights away from there.
    pub drift: f64,
}

/// What a sweep over examples did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sweep {
    /// How much the dual value rose.
    pub rise: f64,
    /// The largest slope of the dual that was met and could be followed.
    pub pull: f64,
}
