//! A loss that is a convex function plus a concave one, with the concave one replaced by its
//! linearisation at given outputs: convex, above the loss, and touching it there.

use super::Piece;
use super::loss::{
    Ascent, Climb, Conjugate, Difference, DualSweep, Foothold, Kinks, Loss, Piecewise, Tangent,
};
use crate::line::Pieces;

pub(super) struct Convexified<'a> {
    convex: Box<dyn Loss + 'a>,
    /// The linearisations: for each example one slope an output, and an offset.
    slopes: Vec<f64>,
    offsets: Vec<f64>,
}

impl<'a> Convexified<'a> {
    /// The loss linearised at the outputs of all examples.
    pub(super) fn new(loss: &'a dyn Difference, outputs: &[f64]) -> Self {
        let k = loss.outputs();
        let mut slopes = vec![0.0; outputs.len()];
        let each = outputs.chunks_exact(k).zip(slopes.chunks_exact_mut(k)).enumerate();
        let offsets = each.map(|(i, (f, c))| loss.concave_tangent(i, f, c)).collect();
        Convexified { convex: loss.convex_term(), slopes, offsets }
    }

    fn slopes(&self, example: usize) -> &[f64] {
        let k = self.convex.outputs();
        &self.slopes[example * k..(example + 1) * k]
    }

    /// Does something with what the slopes `c` of a minorant leave to the convex function.
    fn shifted<T>(&self, example: usize, c: &mut [f64], then: impl FnOnce(&mut [f64]) -> T) -> T {
        c.iter_mut().zip(self.slopes(example)).for_each(|(c, slope)| *c -= slope);
        let found = then(c);
        c.iter_mut().zip(self.slopes(example)).for_each(|(c, slope)| *c += slope);
        found
    }

    fn linear(&self, example: usize, f: &[f64]) -> f64 {
        let products = self.slopes(example).iter().zip(f).map(|(c, f)| c * f);
        self.offsets[example] + products.sum::<f64>()
    }
}

impl Loss for Convexified<'_> {
    fn outputs(&self) -> usize {
        self.convex.outputs()
    }

    fn value(&self, example: usize, f: &[f64]) -> f64 {
        self.convex.value(example, f) + self.linear(example, f)
    }

    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        let Tangent { value, offset } = self.convex.tangent(example, f, c);
        c.iter_mut().zip(self.slopes(example)).for_each(|(c, slope)| *c += slope);
        Tangent { value: value + self.linear(example, f), offset: offset + self.offsets[example] }
    }

    fn pieces(&self) -> Option<&dyn Piecewise> {
        self.convex.pieces().is_some().then_some(self)
    }

    fn kinks(&self) -> Option<&dyn Kinks> {
        self.convex.kinks().is_some().then_some(self)
    }

    fn conjugate(&self) -> Option<&dyn Conjugate> {
        self.convex.conjugate().is_some().then_some(self)
    }

    fn ascent(&self) -> Option<&dyn Ascent> {
        self.convex.ascent().is_some().then_some(self)
    }
}

impl Piecewise for Convexified<'_> {
    fn add_pieces(&self, example: usize, f: &[f64], d: &[f64], pieces: &mut Pieces<'_>) {
        if let Some(convex) = self.convex.pieces() {
            convex.add_pieces(example, f, d, pieces);
        }
        let slope = self.slopes(example).iter().zip(d).map(|(c, d)| c * d).sum();
        pieces.start(slope, 0.0);
    }
}

impl Kinks for Convexified<'_> {
    fn at_kink(&self, example: usize, f: &[f64]) -> bool {
        self.convex.kinks().is_some_and(|convex| convex.at_kink(example, f))
    }

    fn steepest_tangent(&self, example: usize, f: &[f64], d: &[f64], c: &mut [f64]) -> Tangent {
        let Some(convex) = self.convex.kinks() else { return self.tangent(example, f, c) };
        let Tangent { value, offset } = convex.steepest_tangent(example, f, d, c);
        c.iter_mut().zip(self.slopes(example)).for_each(|(c, slope)| *c += slope);
        Tangent { value: value + self.linear(example, f), offset: offset + self.offsets[example] }
    }

    fn near_tie(&self, example: usize, f: &[f64]) -> Option<Piece> {
        self.convex.kinks()?.near_tie(example, f)
    }
}

impl Conjugate for Convexified<'_> {
    fn highest_offset(&self, example: usize, c: &mut [f64]) -> Option<f64> {
        let convex = self.convex.conjugate()?;
        let offset = self.shifted(example, c, |c| convex.highest_offset(example, c))?;
        Some(offset + self.offsets[example])
    }
}

impl Ascent for Convexified<'_> {
    fn climb(&self, example: usize, from: Foothold<'_>) -> Climb {
        let Some(convex) = self.convex.ascent() else { return Climb::default() };
        let Foothold { f, curvature, c, change, room } = from;
        self.shifted(example, c, |c| {
            convex.climb(example, Foothold { f, curvature, c, change, room })
        })
    }

    fn pull(&self, example: usize, f: &[f64], c: &[f64]) -> f64 {
        let Some(convex) = self.convex.ascent() else { return 0.0 };
        self.shifted(example, &mut c.to_vec(), |c| convex.pull(example, f, c))
    }

    fn sweep(&self, sweep: DualSweep<'_, '_>) {
        sweep.run(self);
    }
}
