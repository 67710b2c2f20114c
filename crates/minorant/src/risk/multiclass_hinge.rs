//! The joint multiclass hinge loss max_z [Δ(z, z_i) + f_z − f_{z_i}] (Eq. 42 of Yu et al.);
//! with Δ = 1 off the diagonal it is Crammer and Singer's.

use super::Piece;
use super::loss::{
    Ascent, Climb, Conjugate, DualSweep, Foothold, Kinks, Loss, Piecewise, TIE, Tangent,
    allowed_slopes, steepest_maximum,
};
use super::simplex;
use crate::line::Pieces;

/// The multiclass hinge loss of a class label.
#[derive(Debug, Clone)]
pub struct MulticlassHinge {
    classes: usize,
    labels: Vec<u32>,
    /// Δ(z, z_i) at `[z_i * classes + z]`; zero on the diagonal.
    margins: Vec<f64>,
}

/// Δ = 1 for every pair of different classes.
pub fn uniform_margins(classes: usize) -> Vec<f64> {
    (0..classes * classes).map(|at| f64::from(u8::from(at / classes != at % classes))).collect()
}

impl MulticlassHinge {
    /// `labels[i]` is below `classes`; `margins[truth * classes + z]` is Δ(z, truth).
    pub fn new(classes: usize, labels: Vec<u32>, margins: Vec<f64>) -> Self {
        MulticlassHinge { classes, labels, margins }
    }

    fn margins(&self, label: usize) -> &[f64] {
        &self.margins[label * self.classes..(label + 1) * self.classes]
    }

    /// The class of the largest loss; ties go to the label itself, then to the first.
    fn worst(&self, label: usize, f: &[f64]) -> usize {
        let margins = self.margins(label);
        let (mut worst, mut top) = (label, f[label]);
        for z in 0..self.classes {
            let score = margins[z] + f[z];
            if score > top {
                (worst, top) = (z, score);
            }
        }
        worst
    }

    /// The loss along `f + η d` as a maximum of lines (offset, slope), one for each class (Eq. 48).
    pub(super) fn lines(
        &self,
        example: usize,
        f: &[f64],
        d: &[f64],
    ) -> impl Iterator<Item = (f64, f64)> {
        let label = self.labels[example] as usize;
        let margins = self.margins(label);
        (0..self.classes).map(move |z| (margins[z] + (f[z] - f[label]), d[z] - d[label]))
    }

    fn piece(&self, label: usize, worst: usize) -> Piece {
        if worst == label {
            return Piece::Flat;
        }
        Piece::Slope { up: worst as u32, down: label as u32 }
    }

    fn tangent_of(&self, label: usize, worst: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        c.fill(0.0);
        let offset = self.margins(label)[worst];
        let value = (offset + (f[worst] - f[label])).max(0.0);
        if worst != label {
            c[worst] = 1.0;
            c[label] = -1.0;
        }
        Tangent { value, offset }
    }
}

impl Loss for MulticlassHinge {
    fn outputs(&self) -> usize {
        self.classes
    }

    fn value(&self, example: usize, f: &[f64]) -> f64 {
        let label = self.labels[example] as usize;
        let worst = self.worst(label, f);
        (self.margins(label)[worst] + (f[worst] - f[label])).max(0.0)
    }

    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        let label = self.labels[example] as usize;
        self.tangent_of(label, self.worst(label, f), f, c)
    }

    fn pieces(&self) -> Option<&dyn Piecewise> {
        Some(self)
    }

    fn kinks(&self) -> Option<&dyn Kinks> {
        Some(self)
    }

    fn conjugate(&self) -> Option<&dyn Conjugate> {
        Some(self)
    }

    fn ascent(&self) -> Option<&dyn Ascent> {
        Some(self)
    }
}

impl Piecewise for MulticlassHinge {
    fn add_pieces(&self, example: usize, f: &[f64], d: &[f64], pieces: &mut Pieces<'_>) {
        pieces.maximum(self.lines(example, f, d));
    }
}

impl Kinks for MulticlassHinge {
    fn at_kink(&self, example: usize, f: &[f64]) -> bool {
        let margins = self.margins(self.labels[example] as usize);
        steepest_maximum(margins.iter().zip(f).map(|(m, f)| m + f).enumerate(), f).1
    }

    fn steepest_tangent(&self, example: usize, f: &[f64], d: &[f64], c: &mut [f64]) -> Tangent {
        let label = self.labels[example] as usize;
        let scores = self.margins(label).iter().zip(f).map(|(m, f)| m + f).enumerate();
        self.tangent_of(label, steepest_maximum(scores, d).0, f, c)
    }

    fn near_tie(&self, example: usize, f: &[f64]) -> Option<Piece> {
        let label = self.labels[example] as usize;
        let (margins, worst) = (self.margins(label), self.worst(label, f));
        let top = margins[worst] + f[worst];
        let near = top - TIE * (1.0 + top.abs() + f[label].abs());
        let rivals = (0..self.classes).filter(|&z| margins[z] + f[z] >= near).count();
        (rivals > 1).then(|| self.piece(label, worst))
    }
}

impl Conjugate for MulticlassHinge {
    fn highest_offset(&self, example: usize, c: &mut [f64]) -> Option<f64> {
        let label = self.labels[example] as usize;
        allowed_slopes(label, c)?;
        // The label's own margin is 0.
        Some(self.margins(label).iter().zip(c).map(|(margin, c)| margin * *c).sum())
    }
}

impl Ascent for MulticlassHinge {
    #[inline(always)]
    fn climb(&self, example: usize, from: Foothold<'_>) -> Climb {
        let label = self.labels[example] as usize;
        simplex::climb(label, self.margins(label), from)
    }

    fn pull(&self, example: usize, f: &[f64], c: &[f64]) -> f64 {
        let label = self.labels[example] as usize;
        simplex::pull(label, self.margins(label), f, c)
    }

    fn sweep(&self, sweep: DualSweep<'_, '_>) {
        sweep.run(self);
    }
}
