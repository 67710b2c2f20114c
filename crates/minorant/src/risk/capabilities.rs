//! What a risk may offer beyond points and planes: lines, subdifferentials, second derivatives, a
//! difference of convex functions, working sets of outputs, single examples. What a risk may
//! know of its dual stands in `duals.rs`.

use super::{Cancel, Plane, Point, Risk, RiskError, RowMetric, SecondDerivatives};
use crate::line::Line;
use minorant_linalg::Columns;

/// A risk whose restriction to a line costs no pass over the data.
pub trait Lines {
    /// The restriction to `from + η (to − from)`; both points belong to this risk.
    fn line<'r>(&'r self, from: &'r Point, to: &'r Point) -> Line<'r>;

    /// The point at `from + t (to − from)`, in time proportional to the examples.
    fn between(&self, from: &Point, to: &Point, t: f64) -> Point;

    /// Whether lines lie above the risk between their ends, so that a point between may be better than its
    /// line says.
    fn lie_above(&self) -> bool {
        false
    }
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

/// A risk over examples whose slopes stand for the normals of planes that tell them.
pub trait BySlopes {
    /// What slopes are multiplied with and added up, to give the inner product of their plane's normal
    /// with a vector. One forward product.
    fn products(&self, vector: &[f64]) -> Vec<f64>;

    /// The normal of the plane with these slopes. One backward product.
    fn normal(&self, slopes: &[f64]) -> Vec<f64>;
}

/// A risk that is the sum of a convex and a concave function.
pub trait DifferenceOfConvex {
    /// The convex risk that touches this one at `point` and lies above it elsewhere: the convex
    /// term plus the linearisation of the concave term there.
    fn convexified<'r>(&'r self, point: &Point) -> Box<dyn Risk + 'r>;

    /// Whether the duals of such convex risks can be climbed by examples.
    fn has_dual_coordinates(&self) -> bool;

    /// A point of such a convex risk as a point of this one, without a pass over the data.
    fn restored(&self, point: Point) -> Point;
}

/// A twice differentiable risk of linear outputs whose features can be read one by one.
pub trait Curvature {
    /// Linear outputs of an example.
    fn outputs(&self) -> usize;

    /// The features column by column, from a copy that is made when it is first asked for: one
    /// pass over the data.
    fn columns(&self) -> &Columns;

    /// The second derivatives at `point` in the outputs of each example, with its weight.
    fn second_derivatives(
        &self,
        point: &Point,
        cancel: &Cancel,
    ) -> Result<SecondDerivatives, RiskError>;

    /// The same for parabolas that lie above the losses and touch them at `point`, where some losses have a
    /// slope there but no curvature.
    fn parabolas(&self, _point: &Point) -> Option<SecondDerivatives> {
        None
    }

    /// The Hessian with these second derivatives, times `v`: a forward and a backward product in one pass.
    fn hessian_times(
        &self,
        second: &SecondDerivatives,
        v: &[f64],
        cancel: &Cancel,
    ) -> Result<Vec<f64>, RiskError>;

    /// The Hessian itself, row by row: one pass. Nothing where examples have several outputs.
    fn hessian(
        &self,
        second: &SecondDerivatives,
        cancel: &Cancel,
    ) -> Result<Option<Vec<f64>>, RiskError>;

    /// Vectors r with which the Hessian is that of the examples by themselves less Σ r rᵀ, where examples
    /// depend on each other as by a free intercept: one pass for each output.
    fn reduction(
        &self,
        _second: &SecondDerivatives,
        _cancel: &Cancel,
    ) -> Result<Vec<Vec<f64>>, RiskError> {
        Ok(Vec::new())
    }

    /// The weighted mean of the squares of each feature: one pass.
    fn mean_squares(&self, cancel: &Cancel) -> Result<Vec<f64>, RiskError>;

    /// Multiplications that the Hessian takes, those of a vector unit counted once; nothing where it
    /// cannot be had.
    fn hessian_cost(&self) -> Option<u64>;

    /// The same for a product with the Hessian.
    fn product_cost(&self) -> u64;
}

/// What the oracle answers for an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Asked {
    /// Where its worst output is to be found in its working set.
    pub output: usize,
    /// The value of the maximum.
    pub value: f64,
    /// How far rounding may have moved the value, where the risk does not tell it of all values.
    pub error: f64,
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
    /// puts it into their working sets.
    fn ask(
        &mut self,
        w: &[f64],
        examples: std::ops::Range<usize>,
        cancel: &Cancel,
    ) -> Result<Vec<Asked>, RiskError>;

    /// Δᵢ of an output.
    fn loss(&self, example: usize, output: usize) -> f64;

    /// The value of an output at `w`: Δᵢ(y) − w · δᵢ(y).
    fn value(&self, example: usize, output: usize, w: &[f64]) -> f64;

    /// What all values owe to the weights, at `w`, without the losses Δ: those of one example's outputs
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
