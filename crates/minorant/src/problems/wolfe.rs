//! Wolfe's counterexample for steepest descent with exact line search ((112) of Yu et al.):
//! 5 √(9x² + 16y²) where x ≥ |y|, 9x + 16|y| elsewhere. Its only kink is x ≤ 0, y = 0.

use crate::line::{Line, LineShare, Side};
use crate::risk::{Cancel, Lines, Plane, Point, Risk, RiskError, Subdifferential};
use minorant_linalg::elementary::hypot;

/// How near to y = 0 counts as on it, relative to x.
const KINK: f64 = 1e-12;

/// The function.
#[derive(Debug)]
pub(super) struct Wolfe;

fn value(x: f64, y: f64) -> f64 {
    if x >= y.abs() { 5.0 * hypot(3.0 * x, 4.0 * y) } else { 9.0 * x + 16.0 * y.abs() }
}

/// The gradient; on the kink that of the side y > 0, at the origin (9, 16) for the same reason.
fn gradient(x: f64, y: f64) -> [f64; 2] {
    let length = hypot(3.0 * x, 4.0 * y);
    if x >= y.abs() && length > 0.0 {
        [45.0 * x / length, 80.0 * y / length]
    } else {
        [9.0, if y < 0.0 { -16.0 } else { 16.0 }]
    }
}

/// On the kink, the subgradient that rises fastest along a direction. At the origin the function
/// rises along d by its value at d, with its gradient there as subgradient.
fn steepest(x: f64, d: &[f64]) -> [f64; 2] {
    if x < -KINK {
        return [9.0, if d[1] < 0.0 { -16.0 } else { 16.0 }];
    }
    gradient(d[0], d[1])
}

fn point(w: Vec<f64>) -> Point {
    let value = value(w[0], w[1]);
    Point::bare(w, value)
}

impl Risk for Wolfe {
    fn dim(&self) -> usize {
        2
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn at(&self, w: Vec<f64>, _cancel: &Cancel) -> Result<Point, RiskError> {
        Ok(point(w))
    }

    /// The function is positively homogeneous: all its planes go through the origin.
    fn planes(
        &self,
        point: &Point,
        _parts: usize,
        _cancel: &Cancel,
    ) -> Result<Vec<Plane>, RiskError> {
        let normal = gradient(point.w[0], point.w[1]).to_vec();
        Ok(vec![Plane { normal, normal_error: 32.0 * f64::EPSILON, ..Plane::default() }])
    }

    fn lines(&self) -> Option<&dyn Lines> {
        Some(self)
    }

    fn subdifferential(&self) -> Option<&dyn Subdifferential> {
        Some(self)
    }
}

impl Subdifferential for Wolfe {
    fn kinks(&self, point: &Point) -> Vec<u32> {
        let (x, y) = (point.w[0], point.w[1]);
        if x <= KINK && y.abs() <= KINK * (1.0 + x.abs()) { vec![0] } else { Vec::new() }
    }

    fn steepen(
        &self,
        point: &Point,
        kinks: &[u32],
        direction: &[f64],
        subgradient: &mut [f64],
        _cancel: &Cancel,
    ) -> Result<(), RiskError> {
        if !kinks.is_empty() {
            let (from, to) = (gradient(point.w[0], point.w[1]), steepest(point.w[0], direction));
            for (g, (from, to)) in subgradient.iter_mut().zip(from.into_iter().zip(to)) {
                *g += to - from;
            }
        }
        Ok(())
    }
}

impl Lines for Wolfe {
    fn line<'r>(&'r self, from: &'r Point, to: &'r Point) -> Line<'r> {
        let (x, y) = (from.w[0], from.w[1]);
        Line::whole(Ray { start: [x, y], step: [to.w[0] - x, to.w[1] - y] })
    }

    fn between(&self, from: &Point, to: &Point, t: f64) -> Point {
        point(minorant_linalg::dense::between(&from.w, &to.w, t))
    }
}

struct Ray {
    start: [f64; 2],
    step: [f64; 2],
}

impl Ray {
    fn at(&self, eta: f64) -> [f64; 2] {
        [self.start[0] + eta * self.step[0], self.start[1] + eta * self.step[1]]
    }

    /// Where the ray meets y = 0.
    fn crossing(&self) -> Option<f64> {
        let eta = -self.start[1] / self.step[1];
        Some(eta).filter(|eta| eta.is_finite())
    }
}

impl LineShare for Ray {
    fn value(&self, eta: f64) -> Vec<f64> {
        let [x, y] = self.at(eta);
        vec![value(x, y)]
    }

    fn slope(&self, eta: f64, side: Side) -> Vec<f64> {
        let [x, y] = self.at(eta);
        let sense = if side == Side::After { 1.0 } else { -1.0 };
        let step = self.step.map(|step| sense * step);
        let on_kink = self.crossing() == Some(eta) || y == 0.0;
        let g = if on_kink && x <= 0.0 { steepest(x, &step) } else { gradient(x, y) };
        vec![sense * (g[0] * step[0] + g[1] * step[1])]
    }

    fn kink(&self) -> Option<f64> {
        self.crossing().filter(|eta| self.at(*eta)[0] <= 0.0)
    }
}
