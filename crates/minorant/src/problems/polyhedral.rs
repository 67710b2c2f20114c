//! The largest of a few affine functions of two variables, with exact lines and the whole
//! subdifferential: the toy of §2.1.1 of Yu et al. and the counterexamples (113) and (114).

use crate::line::{Envelope, Line, LinePieces, PieceSource, PiecewiseLine};
use crate::risk::{Cancel, Lines, Plane, Point, Risk, RiskError, Subdifferential};

/// How near to the largest a function counts as largest, relative to the numbers compared.
const KINK: f64 = 1e-12;

/// max (a · w + b).
#[derive(Debug)]
pub(super) struct Polyhedral {
    pieces: Vec<([f64; 2], f64)>,
}

/// 10|x| + |y| (8).
pub(super) fn abs_toy() -> Polyhedral {
    let signs = [(1.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)];
    Polyhedral { pieces: signs.map(|(x, y)| ([10.0 * x, y], 0.0)).to_vec() }
}

/// max {−100, ±2x + 3y, ±5x + 2y} (113).
pub(super) fn hul() -> Polyhedral {
    let slopes = [[2.0, 3.0], [-2.0, 3.0], [5.0, 2.0], [-5.0, 2.0]];
    let pieces = slopes.into_iter().map(|slope| (slope, 0.0)).chain([([0.0; 2], -100.0)]);
    Polyhedral { pieces: pieces.collect() }
}

/// max {2|x| + y, 3y} (114).
pub(super) fn lewis_overton() -> Polyhedral {
    Polyhedral { pieces: [[2.0, 1.0], [-2.0, 1.0], [0.0, 3.0]].map(|a| (a, 0.0)).to_vec() }
}

fn dot(a: &[f64], w: &[f64]) -> f64 {
    a[0] * w[0] + a[1] * w[1]
}

impl Polyhedral {
    fn value(&self, piece: usize, w: &[f64]) -> f64 {
        dot(&self.pieces[piece].0, w) + self.pieces[piece].1
    }

    /// The largest piece, the first of those that are equal.
    fn largest(&self, w: &[f64]) -> usize {
        let better = |best: usize, j: usize| self.value(j, w) > self.value(best, w);
        (1..self.pieces.len()).fold(0, |best, j| if better(best, j) { j } else { best })
    }

    /// The pieces within rounding of the largest.
    fn active(&self, w: &[f64]) -> Vec<usize> {
        let top = self.value(self.largest(w), w);
        let size = |j: usize| {
            let (a, b) = self.pieces[j];
            (a[0] * w[0]).abs() + (a[1] * w[1]).abs() + b.abs()
        };
        let near = |j: &usize| self.value(*j, w) >= top - KINK * (size(*j) + top.abs());
        (0..self.pieces.len()).filter(near).collect()
    }

    fn point(&self, w: Vec<f64>) -> Point {
        let value = self.value(self.largest(&w), &w);
        Point::bare(w, value)
    }
}

impl Risk for Polyhedral {
    fn dim(&self) -> usize {
        2
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn at(&self, w: Vec<f64>, _cancel: &Cancel) -> Result<Point, RiskError> {
        Ok(self.point(w))
    }

    fn planes(
        &self,
        point: &Point,
        _parts: usize,
        _cancel: &Cancel,
    ) -> Result<Vec<Plane>, RiskError> {
        let (normal, offset) = self.pieces[self.largest(&point.w)];
        Ok(vec![Plane { normal: normal.to_vec(), offset, ..Plane::default() }])
    }

    fn lines(&self) -> Option<&dyn Lines> {
        Some(self)
    }

    fn subdifferential(&self) -> Option<&dyn Subdifferential> {
        Some(self)
    }
}

impl Subdifferential for Polyhedral {
    fn kinks(&self, point: &Point) -> Vec<u32> {
        if self.active(&point.w).len() > 1 { vec![0] } else { Vec::new() }
    }

    fn steepen(
        &self,
        point: &Point,
        kinks: &[u32],
        direction: &[f64],
        subgradient: &mut [f64],
        _cancel: &Cancel,
    ) -> Result<(), RiskError> {
        let rise = |j: usize| dot(&self.pieces[j].0, direction);
        let steeper = |best: usize, j: usize| if rise(j) > rise(best) { j } else { best };
        let first = self.largest(&point.w);
        if !kinks.is_empty() {
            let steepest = self.active(&point.w).into_iter().fold(first, steeper);
            for (i, g) in subgradient.iter_mut().enumerate() {
                *g += self.pieces[steepest].0[i] - self.pieces[first].0[i];
            }
        }
        Ok(())
    }
}

impl Lines for Polyhedral {
    fn line<'r>(&'r self, from: &'r Point, to: &'r Point) -> Line<'r> {
        let step = [to.w[0] - from.w[0], to.w[1] - from.w[1]];
        let line = |j: usize| (self.value(j, &from.w), dot(&self.pieces[j].0, &step));
        let lines = (0..self.pieces.len()).map(line).collect();
        Line::whole(PiecewiseLine::new(Maximum { lines }))
    }

    fn between(&self, from: &Point, to: &Point, t: f64) -> Point {
        self.point(minorant_linalg::dense::between(&from.w, &to.w, t))
    }
}

/// A maximum of lines offset + η slope.
struct Maximum {
    lines: Vec<(f64, f64)>,
}

impl PieceSource for Maximum {
    fn chunks(&self) -> usize {
        1
    }

    fn pieces(&self, _chunk: usize, interval: (f64, f64), sense: f64) -> LinePieces {
        let (mut pieces, mut envelope) = (LinePieces::default(), Envelope::default());
        let lines = self.lines.iter().map(|(offset, slope)| (*offset, sense * slope));
        pieces.of_example(interval, 1.0, &mut envelope).maximum(lines);
        pieces
    }

    fn values(&self, eta: f64) -> Vec<f64> {
        let heights = self.lines.iter().map(|(offset, slope)| offset + slope * eta);
        vec![heights.fold(f64::NEG_INFINITY, f64::max)]
    }
}
