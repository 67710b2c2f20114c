//! The regularizer Ω(w) = λ/2 ‖θ ∘ (w − w_reg)‖² and its metric. In the coordinates
//! u = θ ∘ (w − w_reg) it is λ/2 ‖u‖², so bundles, masters and bounds work on u alone; planes are
//! carried over when they enter the bundle, and minimisers when they leave it. It may have λ₁‖w‖₁ and
//! bounds on single weights besides (`kinked.rs`), and then its quadratic may be missing.

mod kinked;

pub use kinked::Ranges;

use crate::line::Quadratic;
use crate::risk::Plane;
use minorant_linalg::dense::norm2;
use minorant_linalg::sum::{Sum, compensated_dot};

/// λ/2 ‖θ ∘ (w − w_reg)‖², with λ₁‖w‖₁ and bounds on single weights where they are given.
#[derive(Debug, Clone, PartialEq)]
pub struct L2 {
    lambda: f64,
    center: Option<Vec<f64>>,
    weights: Option<Vec<f64>>,
    l1: f64,
    ranges: Option<Ranges>,
}

/// What is wrong with a regularizer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RegularizerError {
    /// λ must be positive and finite.
    #[error("lambda must be a positive number, not {0}")]
    Lambda(f64),
    /// A weight θ must be positive and finite.
    #[error("the regularization weight of coordinate {0} must be a positive number, not {1}")]
    Weight(usize, f64),
    /// Centre or weights of the wrong length, or a centre that is not finite.
    #[error("the regularization {0} must have one finite number for each of the {1} weights")]
    Length(&'static str, usize),
    /// The factor of ‖w‖₁ must not be negative.
    #[error("the factor of the sum of absolute weights must be a number of 0 or more, not {0}")]
    L1(f64),
    /// Bounds between which no number lies.
    #[error("the bounds of coordinate {0} must be in order, not {1} and {2}")]
    Range(usize, f64, f64),
    /// Sums of absolute weights and bounds are centred at 0.
    #[error("the sum of absolute weights and bounds go with a regularization centre of 0")]
    Center,
}

impl L2 {
    /// λ/2 ‖w‖².
    pub fn new(lambda: f64) -> Result<Self, RegularizerError> {
        if !(lambda > 0.0 && lambda.is_finite()) {
            return Err(RegularizerError::Lambda(lambda));
        }
        Ok(L2 { lambda, ..L2::none() })
    }

    /// No quadratic term at all: λ = 0. Bundle methods cannot work without one.
    pub fn none() -> Self {
        L2 { lambda: 0.0, center: None, weights: None, l1: 0.0, ranges: None }
    }

    /// The same with `l1` ‖w‖₁ added.
    pub fn with_l1(self, l1: f64) -> Result<Self, RegularizerError> {
        if !(l1 >= 0.0 && l1.is_finite()) {
            return Err(RegularizerError::L1(l1));
        }
        L2 { l1, ..self }.checked()
    }

    /// The same with bounds on single weights.
    pub fn with_ranges(self, ranges: Ranges) -> Result<Self, RegularizerError> {
        L2 { ranges: Some(ranges), ..self }.checked()
    }

    fn checked(self) -> Result<Self, RegularizerError> {
        if self.is_quadratic() || self.is_centered() {
            Ok(self)
        } else {
            Err(RegularizerError::Center)
        }
    }

    /// Whether it is the quadratic alone.
    pub fn is_quadratic(&self) -> bool {
        self.l1 == 0.0 && self.ranges.is_none()
    }

    /// The factor of ‖w‖₁; 0 where there is no such term.
    pub fn l1(&self) -> f64 {
        self.l1
    }

    /// The bounds on single weights.
    pub fn ranges(&self) -> Option<&Ranges> {
        self.ranges.as_ref()
    }

    /// The same, centred at `center`.
    pub fn with_center(mut self, center: Vec<f64>) -> Result<Self, RegularizerError> {
        if !center.iter().all(|c| c.is_finite()) {
            return Err(RegularizerError::Length("center", center.len()));
        }
        self.center = Some(center);
        self.checked()
    }

    /// The same, with a weight θ for each coordinate.
    pub fn with_weights(mut self, weights: Vec<f64>) -> Result<Self, RegularizerError> {
        if let Some(at) = weights.iter().position(|t| !(*t > 0.0 && t.is_finite())) {
            return Err(RegularizerError::Weight(at, weights[at]));
        }
        self.weights = Some(weights);
        Ok(self)
    }

    /// Checks that centre and weights have `dim` entries.
    pub fn check(&self, dim: usize) -> Result<(), RegularizerError> {
        let fits = |v: &Option<Vec<f64>>| v.as_ref().is_none_or(|v| v.len() == dim);
        if !fits(&self.center) {
            return Err(RegularizerError::Length("center", dim));
        }
        if !fits(&self.weights) {
            return Err(RegularizerError::Length("weights", dim));
        }
        if self.ranges.as_ref().is_some_and(|ranges| ranges.least.len() != dim) {
            return Err(RegularizerError::Length("bounds", dim));
        }
        Ok(())
    }

    /// λ.
    pub fn lambda(&self) -> f64 {
        self.lambda
    }

    /// The same with another λ, and absolute weights in proportion to it.
    pub(crate) fn at_lambda(&self, lambda: f64) -> L2 {
        L2 { lambda, l1: self.l1 * (lambda / self.lambda), ..self.clone() }
    }

    /// Whether it is λ/2 ‖w‖², without weights and centre and anything besides.
    pub fn is_plain(&self) -> bool {
        self.center.is_none() && self.weights.is_none() && self.is_quadratic()
    }

    /// The minimiser w_reg of the regularizer alone.
    pub fn center(&self, dim: usize) -> Vec<f64> {
        self.center.clone().unwrap_or_else(|| vec![0.0; dim])
    }

    /// Whether w_reg is 0.
    pub fn is_centered(&self) -> bool {
        self.center.as_ref().is_none_or(|center| center.iter().all(|c| *c == 0.0))
    }

    /// The coordinate weights, where they are not all 1.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    fn theta(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[i])
    }

    fn reg(&self, i: usize) -> f64 {
        self.center.as_ref().map_or(0.0, |center| center[i])
    }

    /// Ω(w), for weights within the bounds.
    pub fn value(&self, w: &[f64]) -> f64 {
        let mut sum = Sum::new();
        for (i, w) in w.iter().enumerate() {
            let u = self.theta(i) * (w - self.reg(i));
            sum.add_product(u, u);
        }
        let quadratic = 0.5 * self.lambda * sum.value();
        if self.l1 == 0.0 {
            return quadratic;
        }
        quadratic + self.l1 * w.iter().map(|w| w.abs()).collect::<Sum>().value()
    }

    /// Adds the gradient λ θ² ∘ (w − w_reg) of the quadratic at `w` to `gradient`.
    pub fn add_gradient(&self, w: &[f64], gradient: &mut [f64]) {
        for (i, (w, g)) in w.iter().zip(gradient).enumerate() {
            let theta = self.theta(i);
            *g += self.lambda * theta * theta * (w - self.reg(i));
        }
    }

    /// The second derivative λ θ² in one weight.
    pub(crate) fn second_derivative(&self, i: usize) -> f64 {
        self.lambda * self.theta(i) * self.theta(i)
    }

    /// The second derivative λ θ² in each of `dim` weights.
    pub fn second_derivatives(&self, dim: usize) -> Vec<f64> {
        (0..dim).map(|i| self.second_derivative(i)).collect()
    }

    /// ‖g ⊘ θ‖²: a gradient of the objective proves that 1/(2λ) times this is left, at most.
    pub fn square_in_metric(&self, g: &[f64]) -> f64 {
        match &self.weights {
            None => norm2(g),
            Some(weights) => g.iter().zip(weights).map(|(g, t)| (g / t) * (g / t)).sum(),
        }
    }

    /// The quadratic along w + η (to − w), up to a constant.
    pub fn along(&self, w: &[f64], to: &[f64]) -> Quadratic {
        let (mut slope, mut curvature) = (Sum::new(), Sum::new());
        for (i, (w, to)) in w.iter().zip(to).enumerate() {
            let theta = self.theta(i);
            let (u, p) = (theta * (w - self.reg(i)), theta * (to - w));
            slope.add_product(u, p);
            curvature.add_product(p, p);
        }
        Quadratic { slope: self.lambda * slope.value(), curvature: self.lambda * curvature.value() }
    }

    /// A plane in the coordinates u: normal a ⊘ θ, offset b + a · w_reg.
    pub fn plane_in_metric(&self, mut plane: Plane) -> Plane {
        if let Some(center) = &self.center {
            plane.offset += compensated_dot(&plane.normal, center);
            let size = norm2(center).sqrt();
            let rounding = f64::EPSILON * norm2(&plane.normal).sqrt();
            plane.offset_error += (plane.normal_error + rounding) * size;
        }
        if let Some(weights) = &self.weights {
            for (a, theta) in plane.normal.iter_mut().zip(weights) {
                *a /= theta;
            }
            plane.normal_error /= weights.iter().copied().fold(f64::INFINITY, f64::min);
        }
        plane
    }

    /// The coordinates u = θ ∘ (w − w_reg).
    pub fn to_metric(&self, w: &[f64]) -> Vec<f64> {
        w.iter().enumerate().map(|(i, w)| self.theta(i) * (w - self.reg(i))).collect()
    }

    /// The weights w = w_reg + u ⊘ θ.
    pub fn from_metric(&self, mut u: Vec<f64>) -> Vec<f64> {
        if let Some(weights) = &self.weights {
            u.iter_mut().zip(weights).for_each(|(u, theta)| *u /= theta);
        }
        if let Some(center) = &self.center {
            u.iter_mut().zip(center).for_each(|(u, c)| *u += c);
        }
        self.snap(&mut u);
        u
    }
}
