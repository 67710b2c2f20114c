//! Certificates: objective, lower bound, gap. The bound comes from a feasible dual point by weak
//! duality, with compensated sums and less a rounding allowance, so that it stays below the
//! optimum whatever the inner solver did. Nothing here looks at data; `audit` does.

use minorant_linalg::sum::{Sum, compensated_dot};

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
    magnitude: f64,
    length: f64,
}

impl DualPoint {
    /// The empty sum of planes with `dim` coordinates (in the regularizer's metric).
    pub fn new(dim: usize) -> Self {
        DualPoint {
            normal: vec![0.0; dim],
            offset: Sum::new(),
            terms: 0,
            magnitude: 0.0,
            length: 0.0,
        }
    }

    /// Adds `weight` times a plane whose normal has the length `length`; `add_normal` adds the
    /// weighted normal.
    pub fn add(
        &mut self,
        weight: f64,
        offset: f64,
        length: f64,
        add_normal: impl FnOnce(&mut [f64]),
    ) {
        add_normal(&mut self.normal);
        self.offset.add_product(weight, offset);
        self.terms += 1;
        self.magnitude += weight * offset.abs();
        self.length += weight * length;
    }

    /// The sum Σ α ã of the normals.
    pub fn normal(&self) -> &[f64] {
        &self.normal
    }

    /// The bound Σ α b − ‖Σ α ã‖² / (2λ), less what rounding could have added to it. It holds if
    /// the weights are on their simplexes.
    pub fn bound(&self, lambda: f64) -> f64 {
        let square = compensated_dot(&self.normal, &self.normal);
        let bound = self.offset.value() - square / (2.0 * lambda);
        // An entry of the sum carries one rounding a term, of terms whose lengths add up to
        // `length`; the planes themselves carry the roundings of their sums over rows.
        let roundings = 16.0 + self.terms as f64;
        let spread = self.length * square.sqrt() / lambda;
        bound - f64::EPSILON * (roundings * spread + 16.0 * (self.magnitude + square / lambda))
    }
}
