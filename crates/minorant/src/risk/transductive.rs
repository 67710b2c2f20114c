//! The loss of the transductive support vector machine (§5.4 of Do and Artières): the hinge
//! max(0, 1 − z f) for rows with a label, max(0, 1 − |f|) for rows without. A last row may stand for
//! the mean of those without; its loss (f − M)²/2 keeps their mean decision near M. The loss is not
//! convex: that of a row without a label is the convex max(1, |f|) less the convex |f|.

use super::hinge::reach;
use super::loss::{
    Ascent, Climb, Conjugate, Difference, DualSweep, Foothold, KINK, Kinks, Loss, Piecewise,
    Tangent, allowed_size,
};
use super::{ExampleWeights, Piece};
use crate::line::Pieces;
use minorant_linalg::{Matrix, MatrixError, Storage};

/// The loss of rows of which some have a binary label.
#[derive(Debug, Clone)]
pub struct Transductive {
    signs: Vec<f64>,
    /// M, if there is a last row for the mean.
    mean: Option<f64>,
}

impl Transductive {
    /// `signs[i]` is +1, −1, or 0 for a row without a label; with `mean` one more row follows.
    pub fn new(signs: Vec<f64>, mean: Option<f64>) -> Self {
        Transductive { signs, mean }
    }

    /// All rows with one more, the mean over those without a label, which `weight` gives theirs. It counts
    /// κ = 10 (1 + γ) in κ/2 (mean decision − M)²: wherever all decisions can be shifted freely, that keeps
    /// the mean within 0.1 of what was asked for, for a shift by t changes the losses by (1 + γ) t at most.
    pub(crate) fn with_mean_row(
        matrix: &Matrix<'_>,
        shares: &ExampleWeights,
        weight: impl Fn(usize) -> Option<f64>,
        gamma: f64,
    ) -> Result<(Matrix<'static>, ExampleWeights), MatrixError> {
        let (mut mean, mut total) = (vec![0.0; matrix.cols()], 0.0);
        for (i, weight) in (0..matrix.rows()).filter_map(|i| Some((i, weight(i)?))) {
            total += weight;
            matrix.row(i).for_each(|(j, x)| mean[j] += weight * x);
        }
        mean.iter_mut().for_each(|x| *x /= if total > 0.0 { total } else { 1.0 });
        let row = Matrix::dense(1, mean.len(), Storage::F64.store(mean))?;
        let mut weights: Vec<f64> = (0..matrix.rows()).map(|i| shares.of(i)).collect();
        weights.push(10.0 * (1.0 + gamma));
        Ok((matrix.stack(&row)?, ExampleWeights::Each(weights)))
    }

    fn row(&self, example: usize) -> Row {
        match self.signs.get(example) {
            Some(&sign) if sign != 0.0 => Row::Labelled(sign),
            Some(_) => Row::Unlabelled,
            None => Row::Mean(self.mean.unwrap_or(0.0)),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Row {
    Labelled(f64),
    Unlabelled,
    Mean(f64),
}

fn hinge(sign: f64, f: f64, c: &mut f64) -> Tangent {
    let loss = 1.0 - sign * f;
    let active = f64::from(u8::from(loss > 0.0));
    *c = -sign * active;
    Tangent { value: loss.max(0.0), offset: active }
}

fn square(distance: f64, f: f64, c: &mut f64) -> Tangent {
    *c = distance;
    let value = 0.5 * distance * distance;
    Tangent { value, offset: value - distance * f }
}

fn square_pieces(distance: f64, d: f64, pieces: &mut Pieces<'_>) {
    pieces.start(d * distance, d * d);
}

fn hinge_pieces(sign: f64, f: f64, d: f64, pieces: &mut Pieces<'_>) {
    pieces.kinks(f, d, if sign > 0.0 { -1.0 } else { 0.0 }, &[(sign, 1.0)]);
}

impl Loss for Transductive {
    fn outputs(&self) -> usize {
        1
    }

    #[inline]
    fn value(&self, example: usize, f: &[f64]) -> f64 {
        match self.row(example) {
            Row::Labelled(sign) => (1.0 - sign * f[0]).max(0.0),
            Row::Unlabelled => (1.0 - f[0].abs()).max(0.0),
            Row::Mean(mean) => 0.5 * (f[0] - mean) * (f[0] - mean),
        }
    }

    #[inline]
    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        match self.row(example) {
            Row::Labelled(sign) => hinge(sign, f[0], &mut c[0]),
            Row::Unlabelled => hinge(if f[0] < 0.0 { -1.0 } else { 1.0 }, f[0], &mut c[0]),
            Row::Mean(mean) => square(f[0] - mean, f[0], &mut c[0]),
        }
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

impl Piecewise for Transductive {
    #[inline]
    fn add_pieces(&self, example: usize, f: &[f64], d: &[f64], pieces: &mut Pieces<'_>) {
        match self.row(example) {
            Row::Labelled(sign) => hinge_pieces(sign, f[0], d[0], pieces),
            Row::Unlabelled => {
                pieces.kinks(f[0], d[0], 0.0, &[(-1.0, 1.0), (0.0, -2.0), (1.0, 1.0)]);
            }
            Row::Mean(mean) => square_pieces(f[0] - mean, d[0], pieces),
        }
    }
}

impl Difference for Transductive {
    fn convex_term(&self) -> Box<dyn Loss + '_> {
        Box::new(ConvexTerm(self))
    }

    /// −|f| for rows without a label.
    fn concave_tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> f64 {
        c[0] = match self.row(example) {
            Row::Unlabelled if f[0] < 0.0 => 1.0,
            Row::Unlabelled => -1.0,
            _ => 0.0,
        };
        0.0
    }
}

/// The same with max(1, |f|) for rows without a label.
#[derive(Debug)]
struct ConvexTerm<'a>(&'a Transductive);

impl Loss for ConvexTerm<'_> {
    fn outputs(&self) -> usize {
        1
    }

    fn value(&self, example: usize, f: &[f64]) -> f64 {
        match self.0.row(example) {
            Row::Unlabelled => f[0].abs().max(1.0),
            _ => self.0.value(example, f),
        }
    }

    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        match self.0.row(example) {
            Row::Unlabelled if f[0].abs() > 1.0 => {
                c[0] = f[0].signum();
                Tangent { value: f[0].abs(), offset: 0.0 }
            }
            Row::Unlabelled => {
                c[0] = 0.0;
                Tangent { value: 1.0, offset: 1.0 }
            }
            _ => self.0.tangent(example, f, c),
        }
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

impl Piecewise for ConvexTerm<'_> {
    fn add_pieces(&self, example: usize, f: &[f64], d: &[f64], pieces: &mut Pieces<'_>) {
        match self.0.row(example) {
            Row::Unlabelled => pieces.kinks(f[0], d[0], -1.0, &[(-1.0, 1.0), (1.0, 1.0)]),
            _ => self.0.add_pieces(example, f, d, pieces),
        }
    }
}

impl Kinks for ConvexTerm<'_> {
    fn at_kink(&self, example: usize, f: &[f64]) -> bool {
        match self.0.row(example) {
            Row::Labelled(sign) => (1.0 - sign * f[0]).abs() <= KINK,
            Row::Unlabelled => (1.0 - f[0].abs()).abs() <= KINK,
            Row::Mean(_) => false,
        }
    }

    fn steepest_tangent(&self, example: usize, f: &[f64], d: &[f64], c: &mut [f64]) -> Tangent {
        // The side of the kink that the direction leads to, just far enough.
        self.tangent(example, &[f[0] + d[0].signum() * 2.0 * KINK], c)
    }

    fn near_tie(&self, _example: usize, _f: &[f64]) -> Option<Piece> {
        // What touches here is no proof's.
        None
    }
}

impl Conjugate for ConvexTerm<'_> {
    fn highest_offset(&self, example: usize, c: &mut [f64]) -> Option<f64> {
        match self.0.row(example) {
            Row::Labelled(sign) => super::hinge::highest_offset(sign, &mut c[0]),
            Row::Unlabelled => {
                let size = allowed_size(c[0].abs(), 1.0)?;
                c[0] = size.copysign(c[0]);
                Some(1.0 - size)
            }
            Row::Mean(mean) => Some(-c[0] * (0.5 * c[0] + mean)),
        }
    }
}

impl Ascent for ConvexTerm<'_> {
    fn climb(&self, example: usize, from: Foothold<'_>) -> Climb {
        let (f, before, curvature) = (from.f[0], from.c[0], from.curvature);
        let rise_of_offset = match self.0.row(example) {
            Row::Labelled(sign) => return super::hinge::climb(sign, from),
            Row::Unlabelled => {
                // The offset 1 − |c| bends at c = 0.
                let reach = reach(curvature);
                let (up, down) = (before + (f - 1.0) * reach, before + (f + 1.0) * reach);
                from.c[0] = if up > 0.0 { up.min(1.0) } else { down.clamp(-1.0, 0.0) };
                before.abs() - from.c[0].abs()
            }
            Row::Mean(mean) => {
                from.c[0] = (f - mean + curvature * before) / (1.0 + curvature);
                (before - from.c[0]) * (0.5 * (before + from.c[0]) + mean)
            }
        };
        let pull = self.pull(example, &[f], &[before]);
        let step = from.c[0] - before;
        from.change[0] = step;
        let rise = rise_of_offset + step * (f - 0.5 * curvature * step);
        Climb { rise, pull, way: step.abs() }
    }

    fn pull(&self, example: usize, f: &[f64], c: &[f64]) -> f64 {
        let (f, c) = (f[0], c[0]);
        match self.0.row(example) {
            Row::Labelled(sign) => super::hinge::pull(sign, f, c),
            Row::Unlabelled => {
                let up = if c < 0.0 { f + 1.0 } else { f - 1.0 };
                let down = if c > 0.0 { 1.0 - f } else { -1.0 - f };
                let (up_is_open, down_is_open) = (c < 1.0, c > -1.0);
                match (up_is_open, down_is_open) {
                    (true, true) => up.max(down),
                    (true, false) => up,
                    _ => down,
                }
            }
            Row::Mean(mean) => (f - mean - c).abs(),
        }
    }

    fn sweep(&self, sweep: DualSweep<'_, '_>) {
        sweep.run(self);
    }
}
