//! Certificates: objective, lower bound, gap. The bound comes from a feasible dual point by weak
//! duality, with compensated sums and less a rounding allowance, so that it stays below the
//! optimum whatever the inner solver did. Nothing here looks at data; `audit` does.

use crate::regularizer::L2;
use minorant_linalg::dense::axpy;
use minorant_linalg::sum::{Sum, compensated_dot};
use std::sync::Arc;

/// How close an answer provably is to the best one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// J at the returned weights.
    pub objective: f64,
    /// A number that no weights can go below, if one is proven.
    pub lower_bound: Option<f64>,
}

impl Certificate {
    /// Objective less lower bound.
    pub fn gap(&self) -> Option<f64> {
        // A comparison, not `max`: a gap that is not a number must not turn into 0.
        let gap = |bound| if self.objective <= bound { 0.0 } else { self.objective - bound };
        self.lower_bound.map(gap)
    }

    /// The gap relative to the objective's magnitude; 0 where both are 0.
    pub fn relative_gap(&self) -> Option<f64> {
        let relative = |gap: f64| if gap == 0.0 { 0.0 } else { gap / self.objective.abs() };
        self.gap().map(relative)
    }

    /// Whether a global bound proves a relative gap of at most `tol`.
    pub fn certifies(&self, tol: f64) -> bool {
        self.relative_gap().is_some_and(|gap| gap <= tol)
    }
}

/// A dual point Σ α_j plane_j as it is summed up, with what its rounding errors depend on.
#[derive(Debug, Clone)]
pub struct DualPoint {
    normal: Vec<f64>,
    offset: Sum,
    terms: usize,
    length: f64,
    normal_error: f64,
    offset_error: f64,
}

/// One plane of a dual point: all of it but its normal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// Its weight α ≥ 0.
    pub weight: f64,
    /// Its offset.
    pub offset: f64,
    /// The length of its normal.
    pub length: f64,
    /// How far rounding may have moved its normal.
    pub normal_error: f64,
    /// How far rounding may have moved its offset.
    pub offset_error: f64,
}

impl DualPoint {
    /// The empty sum of planes with `dim` coordinates (in the regularizer's metric).
    pub fn new(dim: usize) -> Self {
        DualPoint {
            normal: vec![0.0; dim],
            offset: Sum::new(),
            terms: 0,
            length: 0.0,
            normal_error: 0.0,
            offset_error: 0.0,
        }
    }

    /// Adds a plane; `add_normal` adds its weighted normal.
    pub fn add(&mut self, term: Term, add_normal: impl FnOnce(&mut [f64])) {
        add_normal(&mut self.normal);
        self.offset.add_product(term.weight, term.offset);
        self.terms += 1;
        self.length += term.weight * term.length;
        self.normal_error += term.weight * term.normal_error;
        self.offset_error += term.weight * (term.offset_error + f64::EPSILON * term.offset.abs());
    }

    /// Adds normals, together, of planes that were added without.
    pub(crate) fn add_normal(&mut self, normal: &[f64]) {
        axpy(1.0, normal, &mut self.normal);
    }

    /// The sum Σ α ã of the normals.
    pub fn normal(&self) -> &[f64] {
        &self.normal
    }

    /// The sum Σ α b of the offsets.
    pub fn offset(&self) -> f64 {
        self.offset.value()
    }

    /// How far rounding may have moved the sum of the normals: the planes' own errors, and one
    /// rounding a term of terms whose lengths add up to `length`.
    pub fn normal_error(&self) -> f64 {
        self.normal_error + f64::EPSILON * (2.0 + self.terms as f64) * self.length
    }

    /// How far rounding may have moved the sum of the offsets.
    pub fn offset_error(&self) -> f64 {
        self.offset_error
    }

    /// The bound Σ α b − ‖Σ α ã‖² / (2λ), less what rounding could have added to it. It holds if
    /// the weights are on their simplexes.
    pub fn bound(&self, lambda: f64) -> f64 {
        self.over_lambda().at(lambda)
    }

    /// The bound Σ α b − Ω*(−Σ α ã) that the point proves with a regularizer, less what rounding could
    /// have added to it. A regularizer without a quadratic has a conjugate that is not finite everywhere:
    /// of a risk that is nowhere negative, planes may be scaled down until it is.
    pub fn bound_under(&self, regularizer: &L2, is_nonnegative: bool) -> DualBound {
        if regularizer.is_quadratic() {
            let over_lambda = self.over_lambda();
            let value = over_lambda.at(regularizer.lambda());
            return DualBound { value, over_lambda: Some(over_lambda) };
        }
        let (lambda, error) = (regularizer.lambda(), self.normal_error());
        let scale = if lambda > 0.0 { 1.0 } else { regularizer.finite_scale(&self.normal, error) };
        if scale < 1.0 && !is_nonnegative {
            return DualBound { value: f64::NEG_INFINITY, over_lambda: None };
        }
        let value = self.bound_of_shape(regularizer, scale);
        let over_lambda = (lambda > 0.0).then(|| BoundOverLambda {
            shape: Some(Arc::new((self.clone(), regularizer.clone()))),
            ..self.over_lambda()
        });
        DualBound { value, over_lambda }
    }

    /// The same where the regularizer is more than a quadratic, and the planes are scaled.
    fn bound_of_shape(&self, regularizer: &L2, scale: f64) -> f64 {
        let (lambda, error) = (regularizer.lambda(), self.normal_error());
        let (mut conjugate, mut size, mut square) = (Sum::new(), 0.0, 0.0);
        for (i, a) in self.normal.iter().enumerate() {
            let (term, u) = regularizer.conjugate_at(i, lambda, -scale * a);
            conjugate.add(term);
            // A term is a difference of a product with the slope and what the regularizer has, which is
            // all there is where a bound keeps a weight from 0.
            size += 2.0 * (u * a).abs() + term.abs();
            square += u * u;
        }
        let (offset, conjugate) = (scale * self.offset.value(), conjugate.value());
        // The conjugate changes as its minimiser says, which itself moves by 1/λ at most.
        let of_normal = if lambda > 0.0 {
            error * (square.sqrt() + 0.5 * error / lambda)
        } else {
            error * regularizer.farthest()
        };
        let of_sum = 4.0 * f64::EPSILON * (offset.abs() + size);
        offset - conjugate - (self.offset_error + of_normal + of_sum)
    }

    /// The bound for every λ.
    pub fn over_lambda(&self) -> BoundOverLambda {
        BoundOverLambda {
            offset: self.offset.value(),
            square: compensated_dot(&self.normal, &self.normal),
            offset_error: self.offset_error,
            normal_error: self.normal_error(),
            shape: None,
        }
    }
}

/// The bound that one dual point gives, and that for every other λ where it is known in closed form.
#[derive(Debug, Clone)]
pub struct DualBound {
    /// The bound.
    pub value: f64,
    /// The bound as a function of λ.
    pub over_lambda: Option<BoundOverLambda>,
}

/// The bound that one dual point gives, as a function of λ: planes of the risk lie below it
/// whatever λ is. It grows with λ and is concave in it. λ is that of the quadratic; absolute weights grow
/// with it in proportion.
#[derive(Debug, Clone)]
pub struct BoundOverLambda {
    /// Σ α b.
    offset: f64,
    /// ‖Σ α ã‖².
    square: f64,
    /// How far rounding may have moved the offset.
    offset_error: f64,
    /// How far rounding may have moved Σ α ã.
    normal_error: f64,
    /// The dual point and a regularizer that is more than a quadratic.
    shape: Option<Arc<(DualPoint, L2)>>,
}

impl BoundOverLambda {
    /// Whether the regularizer is the quadratic alone.
    pub fn is_quadratic(&self) -> bool {
        self.shape.is_none()
    }

    /// The bound at this λ, less what rounding could have added to it.
    pub fn at(&self, lambda: f64) -> f64 {
        if let Some((point, regularizer)) = self.shape.as_deref() {
            return point.bound_of_shape(&regularizer.at_lambda(lambda), 1.0);
        }
        let bound = self.offset - self.square / (2.0 * lambda);
        // ‖v + e‖² ≤ ‖v‖² + 2 ‖v‖ ‖e‖ + ‖e‖².
        let error = self.normal_error;
        let of_square = error * (self.square.sqrt() + 0.5 * error) / lambda;
        let of_sum = 4.0 * f64::EPSILON * (self.offset.abs() + self.square / lambda);
        bound - (self.offset_error + of_square + of_sum)
    }

    /// The λ at which two bounds are equal, if there is one: between λ's on one side of it the
    /// same of the two is the higher one.
    pub fn crossing(&self, other: &BoundOverLambda) -> Option<f64> {
        // Both are constant − rate/λ, roundings included.
        let constant = |b: &Self| b.offset - b.offset_error - 4.0 * f64::EPSILON * b.offset.abs();
        let rate = |b: &Self| {
            let of_error = b.normal_error * (b.square.sqrt() + 0.5 * b.normal_error);
            (0.5 + 4.0 * f64::EPSILON) * b.square + of_error
        };
        let lambda = (rate(self) - rate(other)) / (constant(self) - constant(other));
        Some(lambda).filter(|lambda| *lambda > 0.0 && lambda.is_finite())
    }

    pub(crate) fn numbers(&self) -> Option<[f64; 4]> {
        let numbers = [self.offset, self.square, self.offset_error, self.normal_error];
        self.is_quadratic().then_some(numbers)
    }

    pub(crate) fn from_numbers(numbers: &[f64]) -> Option<Self> {
        let [offset, square, offset_error, normal_error] = *numbers else { return None };
        Some(BoundOverLambda { offset, square, offset_error, normal_error, shape: None })
    }
}

/// The bound on λ‖w‖₁ + R(w) from a minorant of R: its offset, if no entry of its normal exceeds λ
/// (λ‖w‖₁ + a·w ≥ 0 for every w then). `steepest` is the largest entry, rounding errors included.
/// Nothing where some entry is too large.
pub fn l1_bound(offset: f64, offset_error: f64, steepest: f64, lambda: f64) -> Option<f64> {
    (steepest <= lambda).then(|| offset - offset_error - 2.0 * f64::EPSILON * offset.abs())
}
