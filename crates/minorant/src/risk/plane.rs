//! Planes below a risk, and the ties among the examples of a plane: examples so near to a kink of their
//! loss that the plane could as well have taken another piece there.

use super::Point;
use minorant_linalg::dense::norm2;
use minorant_linalg::sum::compensated_dot;

/// A plane below a convex risk: `risk(v) ≥ normal · v + offset` for every `v`, up to the rounding
/// errors that are stated with it.
#[derive(Debug, Clone, Default)]
pub struct Plane {
    /// The normal, a subgradient where the plane touches.
    pub normal: Vec<f64>,
    /// The offset, computed without cancellation where the loss allows it.
    pub offset: f64,
    /// How far (in length) rounding may have moved the normal.
    pub normal_error: f64,
    /// How far rounding may have moved the offset.
    pub offset_error: f64,
    /// Examples so near to a kink that another order of summation could choose another piece.
    pub ties: Vec<Tie>,
    /// The slopes of the examples' minorants that add up to the plane, in the order of the examples and
    /// one an output, where the risk tells them: they prove the plane without the point where it
    /// touches. Empty where it does not.
    pub slopes: Vec<f64>,
}

impl Plane {
    /// Whether the plane tells the slopes of its examples' minorants.
    pub(crate) fn tells_slopes(&self) -> bool {
        !self.slopes.is_empty()
    }

    /// The plane that touches a risk at a point, where the slope is taken at its word and only the
    /// offset's own rounding counts.
    pub fn touching(point: &Point, normal: Vec<f64>) -> Plane {
        let magnitude = point.value.abs() + norm2(&normal).sqrt() * norm2(&point.w).sqrt();
        Plane {
            offset: point.value - compensated_dot(&normal, &point.w),
            normal,
            normal_error: 0.0,
            offset_error: 4.0 * f64::EPSILON * magnitude,
            ties: Vec::new(),
            slopes: Vec::new(),
        }
    }
}

/// An example that lies on a kink of its loss, within rounding, and the piece that was chosen for
/// the plane there. Every piece of a maximum lies below it, so any choice gives a valid plane; but
/// only the same choice gives the same plane again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tie {
    /// The example.
    pub example: u32,
    /// The piece.
    pub piece: Piece,
}

/// A piece of a loss that is a maximum: 0, or a margin plus the output `up` less the output `down`
/// (a binary hinge has only one such, whatever the two say).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// The loss is 0.
    Flat,
    /// The loss rises with one output and falls with another.
    Slope {
        /// The output that it rises with.
        up: u32,
        /// The output that it falls with.
        down: u32,
    },
}

impl Tie {
    /// The tie as two numbers.
    pub fn pack(self) -> [u64; 2] {
        let piece = match self.piece {
            Piece::Flat => u64::MAX,
            Piece::Slope { up, down } => u64::from(up) << 32 | u64::from(down),
        };
        [u64::from(self.example), piece]
    }

    /// The tie that two numbers are; nothing if they are none.
    pub fn unpack([example, piece]: [u64; 2]) -> Option<Tie> {
        let piece = match piece {
            u64::MAX => Piece::Flat,
            slope => Piece::Slope { up: (slope >> 32) as u32, down: slope as u32 },
        };
        Some(Tie { example: u32::try_from(example).ok()?, piece })
    }
}
