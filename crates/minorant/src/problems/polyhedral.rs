//! The largest of a few affine functions of two variables, with exact lines and the whole
//! subdifferential: the toy of §2.1.1 of Yu et al. and the counterexamples (113) and (114).

use crate::line::{Envelope, Line, Pivot, Segment, Slopes};
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
    fn line<'r>(&'r self, from: &'r Point, to: &'r Point) -> Box<dyn Line + 'r> {
        let step = [to.w[0] - from.w[0], to.w[1] - from.w[1]];
        let line = |j: usize| (self.value(j, &from.w), dot(&self.pieces[j].0, &step));
        let mut envelope = Envelope::default();
        envelope.segment((0..self.pieces.len()).map(line), 0.0, f64::INFINITY);
        Box::new(Segments { segments: envelope.segments().to_vec(), window: (0.0, f64::INFINITY) })
    }

    fn between(&self, from: &Point, to: &Point, t: f64) -> Point {
        self.point(minorant_linalg::dense::between(&from.w, &to.w, t))
    }
}

/// A maximum of lines from η = 0 on.
struct Segments {
    segments: Vec<Segment>,
    window: (f64, f64),
}

impl Segments {
    /// The segment just before or just after η.
    fn at(&self, eta: f64, after: bool) -> &Segment {
        let begun = |s: &&Segment| if after { s.from <= eta } else { s.from < eta };
        self.segments.iter().take_while(begun).last().unwrap_or(&self.segments[0])
    }
}

impl Line for Segments {
    fn value(&self, eta: f64) -> f64 {
        let segment = self.at(eta, true);
        segment.height + segment.slope * eta
    }

    fn slopes(&mut self, eta: f64) -> Slopes {
        Slopes { left: self.at(eta, false).slope, right: self.at(eta, true).slope }
    }

    fn ends(&self) -> Option<(f64, f64)> {
        let (lo, hi) = self.window;
        Some((self.at(lo, true).slope, self.at(hi, false).slope))
    }

    fn pivot(&mut self, lo: f64, hi: f64) -> Option<Pivot> {
        self.window = (lo, hi);
        let inside: Vec<f64> =
            self.segments.iter().map(|s| s.from).filter(|at| lo < *at && *at < hi).collect();
        Some(Pivot { at: *inside.get(inside.len() / 2)?, count: inside.len() })
    }
}
