//! Chained Mifflin 2 and Chained Crescent 2 (§5.1 of Do and Artières): sums over neighbouring
//! coordinates of a maximum of two quadratics. Mifflin's is convex, though the paper calls both
//! non-convex: 2r + 1.75|r| is the larger of 3.75r and 0.25r, and r is convex.

use crate::risk::{Cancel, Plane, Point, Risk, RiskError, Subdifferential};
use minorant_linalg::sum::{Sum, compensated_dot};

/// How near two pieces count as equal, relative to the numbers compared.
const KINK: f64 = 1e-12;

/// A term of Mifflin's is the larger of these times r = a² + b² − 1, less a.
const MIFFLIN: [f64; 2] = [3.75, 0.25];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Mifflin,
    Crescent,
}

/// A piece of a term at (a, b): its value and its slopes in a and b.
type Quadratic = (f64, [f64; 2]);

/// Σ max of two quadratics of (w_i, w_{i+1}).
#[derive(Debug)]
pub(super) struct Chained {
    dim: usize,
    kind: Kind,
    convex: bool,
}

impl Chained {
    /// Chained Mifflin 2; `convex` says whether to admit that it is convex.
    pub(super) fn mifflin(dim: usize, convex: bool) -> Self {
        Chained { dim, kind: Kind::Mifflin, convex }
    }

    /// Chained Crescent 2.
    pub(super) fn crescent(dim: usize) -> Self {
        Chained { dim, kind: Kind::Crescent, convex: false }
    }

    fn pieces(&self, a: f64, b: f64) -> [Quadratic; 2] {
        match self.kind {
            Kind::Mifflin => {
                let r = a * a + b * b - 1.0;
                MIFFLIN.map(|c| (c * r - a, [2.0 * c * a - 1.0, 2.0 * c * b]))
            }
            Kind::Crescent => {
                let (square, c) = (a * a + (b - 1.0) * (b - 1.0), b - 1.0);
                [
                    (square + c, [2.0 * a, 2.0 * c + 1.0]),
                    (-square + b + 1.0, [-2.0 * a, -2.0 * c + 1.0]),
                ]
            }
        }
    }

    /// Which piece of a term is the larger one.
    fn larger(&self, a: f64, b: f64) -> usize {
        let [first, second] = self.pieces(a, b);
        usize::from(second.0 > first.0)
    }

    /// The larger piece of a term and the other one.
    fn ordered(&self, a: f64, b: f64) -> [Quadratic; 2] {
        let (pieces, larger) = (self.pieces(a, b), self.larger(a, b));
        [pieces[larger], pieces[1 - larger]]
    }

    fn normal(&self, w: &[f64]) -> Vec<f64> {
        let mut normal = vec![0.0; self.dim];
        for (i, pair) in w.windows(2).enumerate() {
            let slopes = self.ordered(pair[0], pair[1])[0].1;
            normal[i] += slopes[0];
            normal[i + 1] += slopes[1];
        }
        normal
    }
}

impl Risk for Chained {
    fn dim(&self) -> usize {
        self.dim
    }

    fn is_convex(&self) -> bool {
        self.convex
    }

    fn at(&self, w: Vec<f64>, cancel: &Cancel) -> Result<Point, RiskError> {
        cancel.check()?;
        let value = w.windows(2).map(|pair| self.ordered(pair[0], pair[1])[0].0);
        let value = value.collect::<Sum>().value();
        Point::new(w, value)
    }

    fn planes(
        &self,
        point: &Point,
        _parts: usize,
        _cancel: &Cancel,
    ) -> Result<Vec<Plane>, RiskError> {
        let (w, normal) = (&point.w, self.normal(&point.w));
        let offset = match self.kind {
            // The tangent of c r − a at (a, b) has the offset −c (a² + b² + 1): no cancellation.
            Kind::Mifflin => {
                let term = |pair: &[f64]| {
                    let square = pair[0] * pair[0] + pair[1] * pair[1];
                    -MIFFLIN[self.larger(pair[0], pair[1])] * (square + 1.0)
                };
                w.windows(2).map(term).collect::<Sum>().value()
            }
            Kind::Crescent => point.value - compensated_dot(&normal, w),
        };
        let size = w.iter().map(|w| (2.0 + 15.0 * w.abs()).powi(2)).sum::<f64>().sqrt();
        let normal_error = 8.0 * f64::EPSILON * size;
        let offset_error = 8.0 * f64::EPSILON * offset.abs();
        Ok(vec![Plane { normal, offset, normal_error, offset_error, ..Plane::default() }])
    }

    fn subdifferential(&self) -> Option<&dyn Subdifferential> {
        Some(self)
    }
}

impl Subdifferential for Chained {
    fn kinks(&self, point: &Point) -> Vec<u32> {
        let near = |pair: &[f64]| {
            let [high, low] = self.ordered(pair[0], pair[1]);
            let size = 1.0 + pair[0] * pair[0] + pair[1] * pair[1];
            high.0 - low.0 <= KINK * size
        };
        let terms = point.w.windows(2).enumerate().filter(|(_, pair)| near(pair));
        terms.map(|(i, _)| i as u32).collect()
    }

    fn steepen(
        &self,
        point: &Point,
        kinks: &[u32],
        direction: &[f64],
        subgradient: &mut [f64],
        _cancel: &Cancel,
    ) -> Result<(), RiskError> {
        for i in kinks.iter().map(|&i| i as usize) {
            let [high, low] = self.ordered(point.w[i], point.w[i + 1]);
            let rise = |g: [f64; 2]| g[0] * direction[i] + g[1] * direction[i + 1];
            if rise(low.1) > rise(high.1) {
                subgradient[i] += low.1[0] - high.1[0];
                subgradient[i + 1] += low.1[1] - high.1[1];
            }
        }
        Ok(())
    }
}

/// The minimum of λ/2 ‖w + 1‖² + Chained Mifflin 2 where it has a closed form: where no term
/// touches its kink, each coordinate is the minimiser of a parabola of its own.
pub(super) fn mifflin_minimum(dim: usize, lambda: f64) -> Option<f64> {
    let first = (1.0 - lambda) / (lambda + 0.5);
    let inner = (1.0 - lambda) / (lambda + 1.0);
    let last = -lambda / (lambda + 0.5);
    let at = |i: usize| match i {
        0 => first,
        i if i + 1 == dim => last,
        _ => inner,
    };
    let inside = |i: usize| at(i).powi(2) + at(i + 1).powi(2) < 1.0;
    if lambda <= 0.0 || !(0..dim - 1).all(inside) {
        return None;
    }
    let term = |i: usize| -at(i) + 0.25 * (at(i).powi(2) + at(i + 1).powi(2) - 1.0);
    let terms = (0..dim - 1).map(term).collect::<Sum>().value();
    let pull = (0..dim).map(|i| (at(i) + 1.0).powi(2)).collect::<Sum>().value();
    Some(0.5 * lambda * pull + terms)
}
