//! A sum of absolute weights along a line: a share that has one chunk and a kink for each weight that
//! passes through 0.

use super::piecewise::PieceSource;
use super::{Envelope, LinePieces, PiecewiseLine};

/// The weights along the line.
pub(crate) struct AbsoluteWeights<'r> {
    factor: f64,
    start: &'r [f64],
    way: Vec<f64>,
}

impl<'r> AbsoluteWeights<'r> {
    /// `factor` ‖w‖₁ from `start` to `to`.
    pub(crate) fn line(factor: f64, start: &'r [f64], to: &[f64]) -> PiecewiseLine<Self> {
        let way = to.iter().zip(start).map(|(to, start)| to - start).collect();
        PiecewiseLine::new(AbsoluteWeights { factor, start, way })
    }
}

impl PieceSource for AbsoluteWeights<'_> {
    fn chunks(&self) -> usize {
        1
    }

    fn pieces(&self, _chunk: usize, interval: (f64, f64), sense: f64) -> LinePieces {
        let mut all = LinePieces::default();
        let mut envelope = Envelope::default();
        let mut pieces = all.of_example(interval, self.factor, &mut envelope);
        for (w, way) in self.start.iter().zip(&self.way) {
            pieces.kinks(*w, sense * way, -1.0, &[(0.0, 2.0)]);
        }
        all
    }

    fn values(&self, eta: f64) -> Vec<f64> {
        let each = self.start.iter().zip(&self.way);
        vec![self.factor * each.map(|(w, way)| (w + eta * way).abs()).sum::<f64>()]
    }
}
