//! A risk from a function of one's own: whatever returns a value and a subgradient, and may fail.
//! It is called by one thread at a time and offers neither lines nor a subdifferential.

use super::{Cancel, Plane, Point, Risk, RiskError};
use minorant_linalg::sum::compensated_dot;
use std::sync::Mutex;

/// A function that returns its value and a subgradient at the weights, or says why it cannot.
pub struct FunctionRisk<F> {
    dim: usize,
    convex: bool,
    smooth: bool,
    function: Mutex<F>,
}

impl<F> std::fmt::Debug for FunctionRisk<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FunctionRisk").field("dim", &self.dim).finish_non_exhaustive()
    }
}

impl<F> FunctionRisk<F>
where
    F: FnMut(&[f64]) -> Result<(f64, Vec<f64>), String> + Send,
{
    /// A function of `dim` weights. A bound is told only if it is `convex`.
    pub fn new(dim: usize, convex: bool, function: F) -> Self {
        FunctionRisk { dim, convex, smooth: false, function: Mutex::new(function) }
    }

    /// The same function, said to be differentiable everywhere.
    pub fn smooth(self) -> Self {
        FunctionRisk { smooth: true, ..self }
    }

    fn call(&self, w: &[f64], cancel: &Cancel) -> Result<(f64, Vec<f64>), RiskError> {
        cancel.check()?;
        // A function that panicked before has nothing more to say.
        let mut function =
            self.function.lock().map_err(|_| RiskError::Function("it panicked".into()))?;
        let (value, subgradient) = (*function)(w).map_err(RiskError::Function)?;
        if subgradient.len() != self.dim {
            let found = subgradient.len();
            let why = format!("expected a subgradient of {} numbers, found {found}", self.dim);
            return Err(RiskError::Function(why));
        }
        if !value.is_finite() {
            return Err(RiskError::NotFinite(format!("its value is {value}")));
        }
        if let Some(at) = subgradient.iter().position(|g| !g.is_finite()) {
            let why = format!("its subgradient is {} at coordinate {at}", subgradient[at]);
            return Err(RiskError::NotFinite(why));
        }
        Ok((value, subgradient))
    }

    /// The plane with this subgradient. The function's numbers are taken as they are.
    fn plane(w: &[f64], value: f64, normal: Vec<f64>) -> Plane {
        let size: f64 = normal.iter().zip(w).map(|(g, w)| (g * w).abs()).sum();
        let offset = value - compensated_dot(&normal, w);
        let offset_error = 4.0 * f64::EPSILON * (value.abs() + size);
        Plane { normal, offset, offset_error, ..Plane::default() }
    }
}

impl<F> Risk for FunctionRisk<F>
where
    F: FnMut(&[f64]) -> Result<(f64, Vec<f64>), String> + Send,
{
    fn dim(&self) -> usize {
        self.dim
    }

    fn is_convex(&self) -> bool {
        self.convex
    }

    fn is_smooth(&self) -> bool {
        self.smooth
    }

    fn at(&self, w: Vec<f64>, cancel: &Cancel) -> Result<Point, RiskError> {
        let (value, _) = self.call(&w, cancel)?;
        Ok(Point { w, outputs: Vec::new(), value })
    }

    fn planes(
        &self,
        point: &Point,
        _parts: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Plane>, RiskError> {
        let (value, normal) = self.call(&point.w, cancel)?;
        Ok(vec![Self::plane(&point.w, value, normal)])
    }

    fn at_with_planes(
        &self,
        w: Vec<f64>,
        _parts: usize,
        cancel: &Cancel,
    ) -> Result<(Point, Vec<Plane>), RiskError> {
        let (value, normal) = self.call(&w, cancel)?;
        let plane = Self::plane(&w, value, normal);
        Ok((Point { w, outputs: Vec::new(), value }, vec![plane]))
    }
}
