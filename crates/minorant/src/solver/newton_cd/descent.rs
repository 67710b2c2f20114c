//! Coordinate descent on a quadratic model plus λ‖z‖₁: each step minimises exactly over one weight.
//! Sweeps over all weights alternate with sweeps over those that are in use or moved, which cost
//! less and do most of the work.

/// A quadratic function of the weights of a working set.
pub(super) trait Quadratic {
    /// The slope in one weight where the weights are now.
    fn slope(&self, at: usize) -> f64;

    /// The second derivative in one weight.
    fn curvature(&self, at: usize) -> f64;

    /// Moves one weight.
    fn step(&mut self, at: usize, by: f64);

    /// Entries of the data that one look at the slope of a weight reads.
    fn entries(&self, at: usize) -> u64;
}

/// How exactly the model is minimised.
#[derive(Debug, Clone, Copy)]
pub(super) struct Accuracy {
    /// The largest slope (of least length) that may remain.
    pub(super) slope: f64,
}

/// What a minimisation took.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Work {
    /// Entries of the data that were read.
    pub(super) entries: u64,
}

impl Work {
    /// The work with `entries` more read.
    pub(super) fn and_read(self, entries: u64) -> Work {
        Work { entries: self.entries + entries }
    }
}

/// Sweeps over the weights in use between two sweeps over all of them.
const SWEEPS_IN_USE: usize = 50;
/// Sweeps over all weights.
const SWEEPS: usize = 50;
/// Curvatures below this share of the largest count as that much: a flat direction must not turn
/// rounding errors into a step.
const FLAT: f64 = 1e-12;

/// Minimises `model + λ‖z‖₁` from `z` on, until no slope exceeds the accuracy or sweeps run out.
pub(super) fn minimise(
    model: &mut impl Quadratic,
    z: &mut [f64],
    lambda: f64,
    accuracy: Accuracy,
) -> Work {
    let largest = (0..z.len()).map(|at| model.curvature(at)).fold(0.0, f64::max);
    let floor = FLAT * largest;
    let mut work = Work::default();
    let mut in_use = Vec::with_capacity(z.len());
    for _ in 0..SWEEPS {
        in_use.clear();
        let mut steepest = 0.0f64;
        for at in 0..z.len() {
            let (slope, moved) = relax(model, z, at, lambda, floor, &mut work);
            steepest = steepest.max(slope);
            if moved || z[at] != 0.0 {
                in_use.push(at);
            }
        }
        if steepest <= accuracy.slope {
            break;
        }
        for _ in 0..SWEEPS_IN_USE {
            let mut steepest = 0.0f64;
            for &at in &in_use {
                steepest = steepest.max(relax(model, z, at, lambda, floor, &mut work).0);
            }
            if steepest <= 0.5 * accuracy.slope {
                break;
            }
        }
    }
    work
}

/// The exact minimum over one weight; the size of the slope that it found, and whether it moved.
#[inline]
fn relax(
    model: &mut impl Quadratic,
    z: &mut [f64],
    at: usize,
    lambda: f64,
    floor: f64,
    work: &mut Work,
) -> (f64, bool) {
    let slope = model.slope(at);
    work.entries += model.entries(at);
    let steepness = super::l1::pseudo_slope(z[at], slope, lambda).abs();
    if steepness == 0.0 {
        return (0.0, false);
    }
    let curvature = model.curvature(at).max(floor);
    if curvature <= 0.0 {
        return (steepness, false);
    }
    // The soft threshold: λ brings the weight back to exactly zero where it can.
    let free = curvature * z[at] - slope;
    let to = if free.abs() <= lambda { 0.0 } else { (free - lambda.copysign(free)) / curvature };
    let by = to - z[at];
    if by == 0.0 || !to.is_finite() {
        return (steepness, false);
    }
    model.step(at, by);
    z[at] = to;
    (steepness, true)
}
