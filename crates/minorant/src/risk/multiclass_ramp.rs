//! The multiclass ramp loss min(1 − S, max_z [Δ(z, z_i) + f_z − f_{z_i}]), S < 1: the joint hinge
//! loss, cut off where an example counts as an outlier. The loss is not convex: it is the
//! hinge loss less the excess of the hinge loss over 1 − S.

use super::loss::{Difference, Loss, Piecewise, Tangent};
use super::multiclass_hinge::MulticlassHinge;
use crate::line::Pieces;

/// The ramp loss of a class label.
#[derive(Debug, Clone)]
pub struct MulticlassRamp {
    hinge: MulticlassHinge,
    /// 1 − S.
    top: f64,
}

impl MulticlassRamp {
    /// The hinge loss, cut off at 1 − `bend`.
    pub fn new(hinge: MulticlassHinge, bend: f64) -> Self {
        MulticlassRamp { hinge, top: 1.0 - bend }
    }
}

impl Loss for MulticlassRamp {
    fn outputs(&self) -> usize {
        self.hinge.outputs()
    }

    fn value(&self, example: usize, f: &[f64]) -> f64 {
        self.hinge.value(example, f).min(self.top)
    }

    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        let tangent = self.hinge.tangent(example, f, c);
        if tangent.value < self.top {
            return tangent;
        }
        c.fill(0.0);
        Tangent { value: self.top, offset: self.top }
    }

    fn is_convex(&self) -> bool {
        false
    }

    fn pieces(&self) -> Option<&dyn Piecewise> {
        Some(self)
    }

    fn difference(&self) -> Option<&dyn Difference> {
        Some(self)
    }
}

impl Piecewise for MulticlassRamp {
    fn add_pieces(&self, example: usize, f: &[f64], d: &[f64], pieces: &mut Pieces<'_>) {
        self.hinge.add_pieces(example, f, d, pieces);
        let excess = |(offset, slope): (f64, f64)| (offset - self.top, slope);
        let lines = self.hinge.lines(example, f, d).map(excess);
        pieces.scaled_maximum(-1.0, lines.chain([(0.0, 0.0)]));
    }
}

impl Difference for MulticlassRamp {
    fn convex_term(&self) -> Box<dyn Loss + '_> {
        Box::new(self.hinge.clone())
    }

    /// −max(0, hinge − (1 − S)).
    fn concave_tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> f64 {
        let tangent = self.hinge.tangent(example, f, c);
        if tangent.value <= self.top {
            c.fill(0.0);
            return 0.0;
        }
        c.iter_mut().for_each(|c| *c = -*c);
        self.top - tangent.offset
    }
}
