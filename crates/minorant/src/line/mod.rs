//! The objective along a line: what the holders of a risk's chunks tell of its restriction to w + η p
//! ([`LineShare`]), their sum ([`Line`]), and the one exact search that serves every convex risk
//! ([`search`]); beside it stands one for risks that are not convex ([`global`]).

mod absolute;
mod curved;
mod envelope;
pub mod global;
mod line_rows;
mod pieces;
mod piecewise;
pub mod search;
mod select;
mod share;
mod smooth;
mod sum;
#[cfg(test)]
mod tests;

pub(crate) use absolute::AbsoluteWeights;
pub use envelope::{Envelope, Segment};
pub use global::minimise_globally;
pub(crate) use line_rows::{LineData, PiecewiseRows};
pub use line_rows::{LinePieces, LineRows};
pub use pieces::{Breakpoint, Pieces};
pub(crate) use piecewise::{PieceSource, PiecewiseLine};
pub use search::{Quadratic, minimise};
pub use share::{LineShare, PiecewiseShare, Samples, Side, SlopeRow};
pub(crate) use smooth::SmoothLine;
pub use sum::{Line, Slopes};
