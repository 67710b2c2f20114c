//! A risk from a user's function that gives value and subgradient at a point, and may fail. It is
//! called one point at a time, on the thread that runs the method. It offers nothing besides: no
//! parts, no lines, no examples.

use super::{Cancel, Plane, Point, Risk, RiskError};
use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A risk given by a function.
pub struct FunctionRisk<F, E> {
    dim: usize,
    is_convex: bool,
    is_smooth: bool,
    function: F,
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
        FunctionRisk { dim, is_convex, is_smooth: false, function, calls, last, failure }
    }

    /// The same function, said to be differentiable everywhere.
    pub fn smooth(self) -> Self {
        FunctionRisk { is_smooth: true, ..self }
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
        let (value, gradient) = (self.function)(w).map_err(|error| {
            let why = error.to_string();
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            RiskError::Failed(why)
        })?;
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
}
