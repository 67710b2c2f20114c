//! Evaluated points: the weights, the value of the risk there, and whatever the risk keeps for them so
//! that planes and lines through the point cost no further product with the data.

use super::RiskError;

/// An evaluated point: the weights, what the risk cached there, and its value.
#[derive(Debug, Clone)]
pub struct Point {
    /// The weights.
    pub w: Vec<f64>,
    /// Quantities linear in the weights that the risk keeps (margins, scores); may be empty.
    pub outputs: Vec<f64>,
    /// The risk at `w`.
    pub value: f64,
    /// How far rounding may have moved the value, as far as that shows while it is computed; what the
    /// weights alone tell of it, [`Risk::value_error`](super::Risk::value_error) adds.
    pub error: f64,
}

impl Point {
    /// A point at which a risk has this value and keeps nothing; one that is not finite is refused.
    pub fn new(w: Vec<f64>, value: f64) -> Result<Point, RiskError> {
        if value.is_finite() {
            return Ok(Point { w, outputs: Vec::new(), value, error: 0.0 });
        }
        Err(RiskError::NotFinite(format!("its value is {value}")))
    }
}
