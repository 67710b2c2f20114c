//! A risk from a user's function that gives value and subgradient at a point, and may fail. It is
//! called one point at a time, on the thread that runs the method. Besides, it offers the whole
//! subdifferential where the user gives an oracle for it: no parts, no lines, no examples.

use super::{Cancel, Plane, Point, Risk, RiskError, Subdifferential};
use minorant_linalg::dense::axpy;
use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// arg sup gᵀp over the subgradients g at w, for w and p.
pub type ArgSup<E> = Box<dyn Fn(&[f64], &[f64]) -> Result<Vec<f64>, E> + Send + Sync>;

/// A risk given by a function.
pub struct FunctionRisk<F, E> {
    dim: usize,
    is_convex: bool,
    is_smooth: bool,
    function: F,
    argsup: Option<ArgSup<E>>,
    calls: AtomicU64,
    /// The last point and the subgradient there: methods ask for the point first, then for its
    /// plane.
    last: Mutex<Option<(Vec<f64>, Vec<f64>)>>,
    failure: Mutex<Option<E>>,
}

impl<F, E> std::fmt::Debug for FunctionRisk<F, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FunctionRisk").field("dim", &self.dim).finish_non_exhaustive()
    }
}

impl<F, E> FunctionRisk<F, E>
where
    F: Fn(&[f64]) -> Result<(f64, Vec<f64>), E> + Sync,
    E: Display + Send,
{
    /// The risk `function` of `dim` weights. Whether it is convex, only the user knows: bounds are
    /// reported where he says so.
    pub fn new(dim: usize, is_convex: bool, function: F) -> Self {
        let (last, failure) = (Mutex::new(None), Mutex::new(None));
        let calls = AtomicU64::new(0);
        let argsup = None;
        FunctionRisk { dim, is_convex, is_smooth: false, function, argsup, calls, last, failure }
    }

    /// The same function, said to be differentiable everywhere.
    pub fn smooth(self) -> Self {
        FunctionRisk { is_smooth: true, ..self }
    }

    /// The same function with an oracle for the subgradient that is steepest in a direction, for the
    /// methods that search for directions of descent.
    pub fn with_argsup(self, argsup: ArgSup<E>) -> Self {
        FunctionRisk { argsup: Some(argsup), ..self }
    }

    /// How often the function was called.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// The function's own error, where it failed.
    pub fn failure(self) -> Option<E> {
        self.failure.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn call(&self, w: &[f64], cancel: &Cancel) -> Result<(f64, Vec<f64>), RiskError> {
        cancel.check()?;
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let (value, gradient) = (self.function)(w).map_err(|error| self.failed(error))?;
        if gradient.len() != self.dim {
            return Err(RiskError::Failed(format!(
                "at evaluation {call} expected a subgradient of {} numbers, found {}",
                self.dim,
                gradient.len()
            )));
        }
        if !value.is_finite() {
            return Err(RiskError::NotFinite(format!("at evaluation {call} its value is {value}")));
        }
        if let Some(at) = gradient.iter().position(|g| !g.is_finite()) {
            return Err(RiskError::NotFinite(format!(
                "at evaluation {call} coordinate {at} of its subgradient is {}",
                gradient[at]
            )));
        }
        Ok((value, gradient))
    }

    fn failed(&self, error: E) -> RiskError {
        let why = error.to_string();
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        RiskError::Failed(why)
    }

    fn remember(&self, w: &[f64], gradient: Vec<f64>) {
        let last = Some((w.to_vec(), gradient));
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = last;
    }

    fn recall(&self, w: &[f64]) -> Option<Vec<f64>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().filter(|(point, _)| point == w).map(|(_, gradient)| gradient.clone())
    }
}

impl<F, E> Risk for FunctionRisk<F, E>
where
    F: Fn(&[f64]) -> Result<(f64, Vec<f64>), E> + Sync,
    E: Display + Send,
{
    fn dim(&self) -> usize {
        self.dim
    }

    fn is_convex(&self) -> bool {
        self.is_convex
    }

    fn is_smooth(&self) -> bool {
        self.is_smooth
    }

    fn at(&self, w: Vec<f64>, cancel: &Cancel) -> Result<Point, RiskError> {
        let (value, gradient) = self.call(&w, cancel)?;
        self.remember(&w, gradient);
        Point::new(w, value)
    }

    fn planes(
        &self,
        point: &Point,
        _parts: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Plane>, RiskError> {
        let gradient = match self.recall(&point.w) {
            Some(gradient) => gradient,
            None => self.call(&point.w, cancel)?.1,
        };
        Ok(vec![Plane::touching(point, gradient)])
    }

    fn subdifferential(&self) -> Option<&dyn Subdifferential> {
        self.argsup.as_ref().map(|_| self as &dyn Subdifferential)
    }
}

impl<F, E> Subdifferential for FunctionRisk<F, E>
where
    F: Fn(&[f64]) -> Result<(f64, Vec<f64>), E> + Sync,
    E: Display + Send,
{
    /// Where its kinks are, only the oracle knows: it is asked at every point.
    fn kinks(&self, _point: &Point) -> Vec<u32> {
        vec![0]
    }

    fn steepen(
        &self,
        point: &Point,
        _kinks: &[u32],
        direction: &[f64],
        subgradient: &mut [f64],
        cancel: &Cancel,
    ) -> Result<(), RiskError> {
        let Some(argsup) = &self.argsup else { return Ok(()) };
        cancel.check()?;
        let steepest = argsup(&point.w, direction).map_err(|error| self.failed(error))?;
        if steepest.len() != self.dim || steepest.iter().any(|g| !g.is_finite()) {
            return Err(RiskError::Failed(format!(
                "argsup must give a subgradient of {} finite numbers",
                self.dim
            )));
        }
        let own = match self.recall(&point.w) {
            Some(gradient) => gradient,
            None => {
                let (_, gradient) = self.call(&point.w, cancel)?;
                self.remember(&point.w, gradient.clone());
                gradient
            }
        };
        axpy(1.0, &steepest, subgradient);
        axpy(-1.0, &own, subgradient);
        Ok(())
    }
}
