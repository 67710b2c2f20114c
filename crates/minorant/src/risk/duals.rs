//! What a risk over examples may know of its dual: minorants by their slopes, and steps along single
//! examples.

use super::{Cancel, Plane, Point, RiskError};

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

    /// Moves the slopes of each example in `order` to the best place for it, the others' staying
    /// where they are, and the weights with them. Examples whose slopes are held at a bound by
    /// more than `held` are taken out of `order`.
    fn sweep(
        &self,
        metric: &RowMetric,
        state: &mut DualState,
        order: &mut Vec<u32>,
        held: f64,
    ) -> Sweep;

    /// The examples whose slopes are not held at a bound by more than `held`, by the outputs at
    /// the state's weights.
    fn still_open(&self, state: &DualState, outputs: &[f64], held: f64) -> Vec<u32>;

    /// The plane of the state's slopes, without a look at the data: its normal follows from the
    /// weights. Nothing where some slopes are no minorant's.
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
}

impl RowMetric {
    /// The curvatures of the dual along each example.
    pub fn curvatures(&self) -> &[f64] {
        &self.curvatures
    }
}

/// Where a climb in the dual stands.
#[derive(Debug, Clone, Default)]
pub struct DualState {
    /// The slopes, one for each output of each example.
    pub slopes: Vec<f64>,
    /// The weights that belong to them.
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
