//! The seam between models and methods: what a solver may ask of a risk. A risk evaluates points,
//! gives planes there, and offers more where it can (parts, lines, subdifferential, examples).
//! Solvers know risks only through these traits; data and losses stay behind them.

mod ascent;
pub(crate) mod chunk;
mod convexified;
mod curvature;
mod descent;
mod function;
pub mod hinge;
mod linear;
pub(crate) mod local;
pub mod logistic;
pub mod loss;
pub mod multiclass_hinge;
pub mod multiclass_ramp;
pub mod multiclass_transductive;
pub mod multilabel_hinge;
pub mod ramp;
mod scaled_tangents;
mod simplex;
pub mod softmax;
pub mod squared_hinge;
pub mod transductive;

pub use function::FunctionRisk;
pub use linear::LinearRisk;
pub use loss::{ExampleWeights, Loss};

use crate::line::Line;
use minorant_linalg::Columns;
use minorant_linalg::dense::norm2;
use minorant_linalg::sum::compensated_dot;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// A flag that asks running work to stop; polled once per chunk of rows.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicU8>);

const CANCELLED: u8 = 1;
const HURRIED: u8 = 2;

impl Cancel {
    /// A token that nobody has cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.0.fetch_max(CANCELLED, Ordering::Relaxed);
    }

    /// Asks the work to stop at once: a cancelled run still takes the passes over the data that
    /// make its answer exact and auditable, a hurried one leaves them out.
    pub fn hurry(&self) {
        self.0.fetch_max(HURRIED, Ordering::Relaxed);
    }

    /// Whether somebody asked the work to stop at once.
    pub fn is_hurried(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= HURRIED
    }

    /// Whether somebody asked the work to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= CANCELLED
    }

    /// An error if somebody asked the work to stop.
    pub fn check(&self) -> Result<(), RiskError> {
        if self.is_cancelled() { Err(RiskError::Cancelled) } else { Ok(()) }
    }
}

/// Why an evaluation gave no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RiskError {
    /// The work was cancelled.
    #[error("the evaluation was cancelled")]
    Cancelled,
    /// The risk's value or slope is NaN or infinite.
    #[error("the risk is not finite: {0}")]
    NotFinite(String),
    /// The risk could not be evaluated.
    #[error("the risk could not be evaluated: {0}")]
    Failed(String),
}

/// An evaluated point: the weights, what the risk cached there, and its value.
#[derive(Debug, Clone)]
pub struct Point {
    /// The weights.
    pub w: Vec<f64>,
    /// Quantities linear in the weights that the risk keeps (margins, scores); may be empty.
    pub outputs: Vec<f64>,
    /// The risk at `w`.
    pub value: f64,
}

impl Point {
    /// A point at which a risk has this value and keeps nothing; one that is not finite is refused.
    pub fn new(w: Vec<f64>, value: f64) -> Result<Point, RiskError> {
        if value.is_finite() {
            return Ok(Point { w, outputs: Vec::new(), value });
        }
        Err(RiskError::NotFinite(format!("its value is {value}")))
    }
}

/// A plane below a convex risk: `risk(v) ≥ normal · v + offset` for every `v`, up to the rounding
/// errors that are stated with it.
#[derive(Debug, Clone, Default)]
pub struct Plane {
    /// The normal, a subgradient where the plane touches.
    pub normal: Vec<f64>,
    /// The offset, computed without cancellation where the loss allows it.
    pub offset: f64,
    /// How far (in length) rounding may have moved the normal.
    pub normal_error: f64,
    /// How far rounding may have moved the offset.
    pub offset_error: f64,
    /// Examples so near to a kink that another order of summation could choose another piece.
    pub ties: Vec<Tie>,
}

impl Plane {
    /// The plane that touches a risk at a point, where the slope is taken at its word and only the
    /// offset's own rounding counts.
    pub fn touching(point: &Point, normal: Vec<f64>) -> Plane {
        let magnitude = point.value.abs() + norm2(&normal).sqrt() * norm2(&point.w).sqrt();
        Plane {
            offset: point.value - compensated_dot(&normal, &point.w),
            normal,
            normal_error: 0.0,
            offset_error: 4.0 * f64::EPSILON * magnitude,
            ties: Vec::new(),
        }
    }
}

/// An example that lies on a kink of its loss, within rounding, and the piece that was chosen for
/// the plane there. Every piece of a maximum lies below it, so any choice gives a valid plane; but
/// only the same choice gives the same plane again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tie {
    /// The example.
    pub example: u32,
    /// The piece.
    pub piece: Piece,
}

/// A piece of a loss that is a maximum: 0, or a margin plus the output `up` less the output `down`
/// (a binary hinge has only one such, whatever the two say).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// The loss is 0.
    Flat,
    /// The loss rises with one output and falls with another.
    Slope {
        /// The output that it rises with.
        up: u32,
        /// The output that it falls with.
        down: u32,
    },
}

impl Tie {
    /// The tie as two numbers.
    pub fn pack(self) -> [u64; 2] {
        let piece = match self.piece {
            Piece::Flat => u64::MAX,
            Piece::Slope { up, down } => u64::from(up) << 32 | u64::from(down),
        };
        [u64::from(self.example), piece]
    }

    /// The tie that two numbers are; nothing if they are none.
    pub fn unpack([example, piece]: [u64; 2]) -> Option<Tie> {
        let piece = match piece {
            u64::MAX => Piece::Flat,
            slope => Piece::Slope { up: (slope >> 32) as u32, down: slope as u32 },
        };
        Some(Tie { example: u32::try_from(example).ok()?, piece })
    }
}

/// The data term of the objective.
pub trait Risk: Sync {
    /// Number of weights.
    fn dim(&self) -> usize;

    /// Whether the risk is convex (a global bound exists only then).
    fn is_convex(&self) -> bool;

    /// The point at `w`: one forward product over all rows.
    fn at(&self, w: Vec<f64>, cancel: &Cancel) -> Result<Point, RiskError>;

    /// One plane for each of `parts` contiguous blocks, touching at `point`: one backward product
    /// at outputs already known. Their sum touches the risk. `parts` is at most [`Risk::max_parts`].
    fn planes(&self, point: &Point, parts: usize, cancel: &Cancel)
    -> Result<Vec<Plane>, RiskError>;

    /// Point and planes together, in one pass over the data where the risk can.
    fn at_with_planes(
        &self,
        w: Vec<f64>,
        parts: usize,
        cancel: &Cancel,
    ) -> Result<(Point, Vec<Plane>), RiskError> {
        let point = self.at(w, cancel)?;
        let planes = self.planes(&point, parts, cancel)?;
        Ok((point, planes))
    }

    /// Whether the risk is differentiable everywhere.
    fn is_smooth(&self) -> bool {
        false
    }

    /// Whether the risk is known to be nowhere negative, so that planes scaled down stay below it.
    fn is_nonnegative(&self) -> bool {
        false
    }

    /// Into how many partial risks the risk can be split; 1 where it cannot.
    fn max_parts(&self) -> usize {
        1
    }

    /// The risk restricted to lines, where it offers that.
    fn lines(&self) -> Option<&dyn Lines> {
        None
    }

    /// The steepest subgradients, where the risk offers them.
    fn subdifferential(&self) -> Option<&dyn Subdifferential> {
        None
    }

    /// Minorants by their slopes, where the risk knows them.
    fn duals(&self) -> Option<&dyn Duals> {
        None
    }

    /// Second derivatives and single features, where the risk offers them.
    fn curvature(&self) -> Option<&dyn Curvature> {
        None
    }

    /// The dual, one example at a time, where the risk can be climbed that way.
    fn dual_coordinates(&self) -> Option<&dyn DualCoordinates> {
        None
    }

    /// The risk as a difference of convex ones, where it is known as such.
    fn difference(&self) -> Option<&dyn DifferenceOfConvex> {
        None
    }

    /// A working set of outputs for each example, where the risk is a maximum over outputs.
    fn working_sets(&self) -> Option<Box<dyn WorkingSets + '_>> {
        None
    }

    /// One example at a time, where the risk has examples.
    fn examples(&self) -> Option<&dyn Examples> {
        None
    }
}

/// A risk whose restriction to a line costs no pass over the data.
pub trait Lines {
    /// The restriction to `from + η (to − from)`; both points belong to this risk.
    fn line<'r>(&'r self, from: &'r Point, to: &'r Point) -> Box<dyn Line + 'r>;

    /// The point at `from + t (to − from)`, in time proportional to the examples.
    fn between(&self, from: &Point, to: &Point, t: f64) -> Point;
}

/// A risk that knows its whole subdifferential. It is spanned by what the terms at kinks (of a risk
/// over examples: rows) may contribute; all other terms contribute the same to every subgradient.
pub trait Subdifferential {
    /// The terms at kinks at `point`, within rounding, in ascending order.
    fn kinks(&self, point: &Point) -> Vec<u32>;

    /// Turns the normal of the plane at `point`, which `subgradient` holds (plus whatever does not
    /// depend on the choice of a subgradient), into the subgradient that maximises the inner
    /// product with `direction`. Only the terms in `kinks` are read.
    fn steepen(
        &self,
        point: &Point,
        kinks: &[u32],
        direction: &[f64],
        subgradient: &mut [f64],
        cancel: &Cancel,
    ) -> Result<(), RiskError>;
}

/// A risk that is the sum of a convex and a concave function.
pub trait DifferenceOfConvex {
    /// The convex risk that touches this one at `point` and lies above it elsewhere: the convex
    /// part plus the linearisation of the concave part there.
    fn convexified<'r>(&'r self, point: &Point) -> Box<dyn Risk + 'r>;

    /// Whether the duals of such convex risks can be climbed by examples.
    fn has_dual_coordinates(&self) -> bool;

    /// A point of such a convex risk as a point of this one, without a pass over the data.
    fn restored(&self, point: Point) -> Point;
}

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

/// A twice differentiable risk of linear outputs whose features can be read one by one.
pub trait Curvature {
    /// Linear outputs of an example.
    fn outputs(&self) -> usize;

    /// The features column by column, from a copy that is made when it is first asked for: one
    /// pass over the data.
    fn columns(&self) -> &Columns;

    /// The second derivatives at `point` in the outputs of each example, with its weight.
    fn second_derivatives(&self, point: &Point) -> SecondDerivatives;
}

/// For every example diag(a) − b bᵀ over its outputs, the example's weight included.
#[derive(Debug, Clone)]
pub struct SecondDerivatives {
    /// The diagonal, one entry for each output of each example.
    pub diagonal: Vec<f64>,
    /// The vectors b, laid out alike; empty where there is one output.
    pub rank_one: Vec<f64>,
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
    lambda: f64,
    /// For each example its weight times ‖x ⊘ θ‖² / λ.
    curvatures: Vec<f64>,
    /// 1/θ² of each column, where they are not all 1.
    columns: Option<Vec<f64>>,
    /// 1/θ² of the constant feature.
    bias: f64,
    /// No row is longer, in any metric that it is added to the weights in.
    longest: f64,
}

impl RowMetric {
    /// The curvatures of the dual along each example.
    pub fn curvatures(&self) -> &[f64] {
        &self.curvatures
    }
}

/// Where stochastic descent stands: `steps` subgradients, each of one example's share of the risk
/// times the number of examples, add up to `sum` (over θ²).
#[derive(Debug, Clone, Default)]
pub struct Descent {
    /// The sum of the subgradients.
    pub sum: Vec<f64>,
    /// How many they are.
    pub steps: u64,
    /// For each example the slopes of the tangent that it was met with last.
    pub slopes: Vec<f64>,
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

/// Outputs already seen, example by example, of a risk Σ sᵢ max over outputs y of
/// Δᵢ(y) − w · δᵢ(y), with δᵢ(y) the features of the truth less those of y. The first output of an
/// example is its truth. The dual of the risk has a simplex for each example over its outputs.
pub trait WorkingSets {
    /// Number of examples.
    fn examples(&self) -> usize;

    /// sᵢ.
    fn weight(&self, example: usize) -> f64;

    /// Number of outputs of an example.
    fn outputs(&self, example: usize) -> usize;

    /// Asks the oracle for the worst output of each of these examples at `w`, in parallel, and
    /// puts it into their working sets. Returns where each is to be found there, and the value of
    /// the maximum.
    fn ask(
        &mut self,
        w: &[f64],
        examples: std::ops::Range<usize>,
        cancel: &Cancel,
    ) -> Result<Vec<(usize, f64)>, RiskError>;

    /// Δᵢ of an output.
    fn loss(&self, example: usize, output: usize) -> f64;

    /// The value of an output at `w`: Δᵢ(y) − w · δᵢ(y).
    fn value(&self, example: usize, output: usize, w: &[f64]) -> f64;

    /// The part of all values that is linear in the weights, at `w`: those of one example's outputs
    /// after those of the other.
    fn rises(&self, w: &[f64]) -> Vec<f64>;

    /// The plane Σᵢ sᵢ Σ_y αᵢ(y) (Δᵢ(y) − w · δᵢ(y)), the weights α in the same order.
    fn plane(&self, alpha: &[f64]) -> Plane;

    /// Features of `plus` less those of `minus`, coordinate by coordinate; a coordinate may come
    /// several times.
    fn difference(
        &self,
        example: usize,
        plus: usize,
        minus: usize,
        each: &mut dyn FnMut(usize, f64),
    );

    /// Takes an output out; the last one takes its place.
    fn remove(&mut self, example: usize, output: usize);

    /// An output as numbers, where the model can write it so.
    fn encode(&self, example: usize, output: usize) -> Option<Vec<u32>>;

    /// Puts an output into an example's set by its numbers; false where they are none of its
    /// outputs.
    fn restore(&mut self, example: usize, code: &[u32]) -> bool;
}

/// A risk that is a weighted sum over examples.
pub trait Examples {
    /// Number of examples.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds `step` times a subgradient of the example's share of the risk at `w` to `gradient`,
    /// and returns that share's value.
    fn add_subgradient(&self, example: usize, w: &[f64], step: f64, gradient: &mut [f64]) -> f64;

    /// What steps along examples cost; nothing where θ differs between the outputs of a feature.
    fn metric(&self, _lambda: f64, _theta: Option<&[f64]>) -> Option<RowMetric> {
        None
    }

    /// Visits the examples in `order`, each at the weights −sum / (λ steps) of that moment, and adds
    /// its subgradient. Asked only of a risk that gave a metric.
    fn descend(&self, _metric: &RowMetric, _order: &[u32], _descent: &mut Descent) {}
}
