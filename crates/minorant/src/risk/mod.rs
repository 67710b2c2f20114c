//! The seam between models and methods: what a solver may ask of a risk. A risk evaluates points,
//! gives planes there, and offers more where it can (parts, lines, subdifferential, examples).
//! Solvers know risks only through these traits; data and losses stay behind them.

mod ascent;
mod cancel;
mod capabilities;
pub(crate) mod chunk;
mod convexified;
mod curvature;
pub(crate) mod cut;
mod dealt;
mod descent;
mod duals;
mod function;
mod held;
pub mod hinge;
pub mod huber_hinge;
mod kept;
mod linear;
pub(crate) mod local;
pub mod logistic;
pub mod loss;
pub mod multiclass_hinge;
pub mod multiclass_ramp;
pub mod multiclass_transductive;
pub mod multilabel_hinge;
mod plane;
mod point;
pub mod quantiles;
pub mod ramp;
pub mod residual;
mod scaled_tangents;
mod second_derivatives;
mod shape;
mod simplex;
mod sizes;
pub mod softmax;
pub mod squared_hinge;
pub mod transductive;

pub use cancel::{Cancel, RiskError};
pub use capabilities::{
    Asked, BySlopes, Curvature, Descent, DifferenceOfConvex, Examples, Lines, Subdifferential,
    WorkingSets,
};
pub use dealt::{DealtRisk, Hand};
pub use duals::{DualCoordinates, DualState, Duals, Rests, RowMetric, ScaledTangents, Sweep};
pub use function::{ArgSup, FunctionRisk};
pub use linear::LinearRisk;
pub use loss::{ExampleWeights, Loss};
pub use plane::{Piece, Plane, Tie};
pub use point::{HeldOutputs, Outputs, Point};
pub use second_derivatives::SecondDerivatives;
pub use shape::Shape;

/// The data term of the objective.
pub trait Risk: Sync {
    /// Number of weights.
    fn dim(&self) -> usize;

    /// Whether the risk is convex (a global bound exists only then).
    fn is_convex(&self) -> bool;

    /// The point at `w`: one forward product over all rows.
    fn at(&self, w: Vec<f64>, cancel: &Cancel) -> Result<Point, RiskError>;

    /// How far rounding may have moved the value of a point: what is claimed of an objective is
    /// rounded up by it, as bounds are rounded down. It depends on the magnitudes that were summed,
    /// and is 0 where values are taken at their word.
    fn value_error(&self, point: &Point) -> f64 {
        point.error
    }

    /// One plane for each of `parts` contiguous blocks, touching at `point`: one backward product
    /// at outputs already known. Their sum touches the risk. `parts` is a power of two and at most
    /// [`Risk::max_parts`].
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

    /// Whether examples are fetched anew whenever they are needed, so that whole passes are what methods can
    /// afford, and not single examples or features.
    fn is_streamed(&self) -> bool {
        false
    }

    /// Whether the risk is known to be nowhere negative, so that planes scaled down stay below it.
    fn is_nonnegative(&self) -> bool {
        false
    }

    /// Into how many partial risks, a power of two, the risk can be split; 1 where it cannot.
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

    /// Normals by the slopes of planes that tell them, where the risk knows these.
    fn by_slopes(&self) -> Option<&dyn BySlopes> {
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
