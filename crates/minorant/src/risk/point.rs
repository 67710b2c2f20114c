//! Evaluated points: the weights, the value of the risk there, and whatever the risk keeps for them so
//! that planes and lines through the point cost no further product with the data.

use super::RiskError;
use std::fmt;
use std::sync::Arc;

/// An evaluated point: the weights, what the risk cached there, and its value.
#[derive(Debug, Clone)]
pub struct Point {
    /// The weights.
    pub w: Vec<f64>,
    /// Quantities linear in the weights that the risk keeps (margins, scores).
    pub outputs: Outputs,
    /// The risk at `w`.
    pub value: f64,
    /// The intercept of each output that is best at `w`, where the risk has a free one.
    pub intercept: Vec<f64>,
    /// How far rounding may have moved the value, as far as that shows while it is computed; what the
    /// weights alone tell of it, [`Risk::value_error`](super::Risk::value_error) adds.
    pub error: f64,
}

impl Point {
    /// A point at which a risk has this value, whatever it is, and keeps nothing.
    pub fn bare(w: Vec<f64>, value: f64) -> Point {
        Point { w, outputs: Outputs::None, value, intercept: Vec::new(), error: 0.0 }
    }

    /// A point at which a risk has this value and keeps nothing; one that is not finite is refused.
    pub fn new(w: Vec<f64>, value: f64) -> Result<Point, RiskError> {
        if value.is_finite() {
            return Ok(Point::bare(w, value));
        }
        Err(RiskError::NotFinite(format!("its value is {value}")))
    }
}

/// What a risk keeps for a point, and where.
#[derive(Debug, Clone, Default)]
pub enum Outputs {
    /// The risk keeps nothing.
    #[default]
    None,
    /// The numbers are here, those of one row after those of the other.
    Here(Arc<Vec<f64>>),
    /// Whoever holds the rows keeps the numbers, until the last clone of this is gone.
    Held(Arc<dyn HeldOutputs>),
}

/// Outputs that are kept where the rows are.
pub trait HeldOutputs: fmt::Debug + Send + Sync {
    /// The number by which the holders of the rows know the point.
    fn number(&self) -> u64;

    /// A copy of the outputs of all rows.
    fn gather(&self) -> Vec<f64>;
}

impl Outputs {
    /// Numbers that are kept here; clones of a point share them.
    pub fn of(numbers: Vec<f64>) -> Self {
        Outputs::Here(Arc::new(numbers))
    }

    /// Whether the risk keeps nothing.
    pub fn is_none(&self) -> bool {
        matches!(self, Outputs::None)
    }

    /// The numbers, where they are here; of a point that keeps nothing, none. What reads them one by one
    /// is a capability that a risk with outputs elsewhere does not offer.
    pub fn here(&self) -> &[f64] {
        match self {
            Outputs::Here(outputs) => outputs,
            Outputs::None => &[],
            Outputs::Held(_) => unreachable!("single outputs were asked of rows held elsewhere"),
        }
    }

    /// A copy of the numbers, wherever they are.
    pub fn gather(&self) -> Vec<f64> {
        match self {
            Outputs::Held(held) => held.gather(),
            _ => self.here().to_vec(),
        }
    }
}
