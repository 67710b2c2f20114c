//! Coordinate descent on a quadratic model plus λ‖z‖₁, within bounds where there are some: each step
//! minimises exactly over one weight.
//! Sweeps over all weights alternate with sweeps over those that are in use or moved, which cost
//! less and do most of the work; a model that can then moves all weights in use at once.

use crate::risk::Cancel;
use crate::solver::{Halt, Run, l1};

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

    /// Moves all weights that are not zero at once, towards the minimiser of the model plus λ‖z‖₁
    /// in their orthant, where the model can.
    fn leap(&mut self, _z: &mut [f64], _lambda: f64) {}
}

/// What holds weights beside the model.
#[derive(Debug)]
pub(super) struct Kinks {
    /// The factor of ‖z‖₁.
    pub(super) lambda: f64,
    /// The least and the greatest value of each weight, where they are bounded.
    pub(super) ranges: Option<Vec<(f64, f64)>>,
    /// Curvatures below these count as that much: a flat direction must not turn rounding errors into a
    /// step.
    pub(super) floors: Vec<f64>,
}

impl Kinks {
    fn range(&self, at: usize) -> (f64, f64) {
        let all = (f64::NEG_INFINITY, f64::INFINITY);
        self.ranges.as_ref().map_or(all, |ranges| ranges[at])
    }
}

/// Counts what coordinate steps read of the data: as many entries as it has are an evaluation.
#[derive(Debug)]
pub(super) struct Meter<'m, 'r> {
    run: &'m mut Run<'r>,
    data: u64,
    read: u64,
}

impl<'m, 'r> Meter<'m, 'r> {
    /// `read` entries of the data's are not yet counted.
    pub(super) fn new(run: &'m mut Run<'r>, data: usize, read: u64) -> Self {
        Meter { run, data: data.max(1) as u64, read }
    }

    /// Counts more entries; stops the run where its limits are reached.
    pub(super) fn read(&mut self, entries: u64) -> Result<(), Halt> {
        self.read += entries;
        while self.read >= self.data {
            self.run.charge()?;
            self.read -= self.data;
        }
        self.run.check_limits()
    }

    /// The token that asks running work to stop.
    pub(super) fn cancel(&self) -> &Cancel {
        self.run.cancel()
    }

    /// The entries that are not yet counted.
    pub(super) fn rest(&self) -> u64 {
        self.read
    }
}

/// Sweeps over the weights in use between two sweeps over all of them.
const SWEEPS_IN_USE: usize = 50;
/// Sweeps over all weights.
const SWEEPS: usize = 50;

/// Minimises `model + λ‖z‖₁` from `z` on, until no slope (of least length) exceeds `accuracy` or
/// sweeps run out.
pub(super) fn minimise(
    model: &mut impl Quadratic,
    z: &mut [f64],
    kinks: &Kinks,
    accuracy: f64,
    meter: &mut Meter<'_, '_>,
) -> Result<(), Halt> {
    let mut in_use = Vec::with_capacity(z.len());
    for _ in 0..SWEEPS {
        in_use.clear();
        let (mut steepest, mut entries) = (0.0f64, 0);
        for at in 0..z.len() {
            let (slope, moved) = relax(model, z, at, kinks);
            steepest = steepest.max(slope);
            entries += model.entries(at);
            if moved || z[at] != 0.0 {
                in_use.push(at);
            }
        }
        meter.read(entries)?;
        if steepest <= accuracy {
            break;
        }
        let entries = in_use.iter().map(|&at| model.entries(at)).sum();
        let mut converged = false;
        for _ in 0..SWEEPS_IN_USE {
            let mut steepest = 0.0f64;
            for &at in &in_use {
                steepest = steepest.max(relax(model, z, at, kinks).0);
            }
            meter.read(entries)?;
            converged = steepest <= 0.5 * accuracy;
            if converged {
                break;
            }
        }
        if !converged && kinks.ranges.is_none() {
            // One weight at a time gets nowhere: they depend too much on each other.
            model.leap(z, kinks.lambda);
        }
    }
    Ok(())
}

/// The exact minimum over one weight; the size of the slope that it found, and whether it moved.
#[inline]
fn relax(model: &mut impl Quadratic, z: &mut [f64], at: usize, kinks: &Kinks) -> (f64, bool) {
    let (slope, lambda, (least, greatest)) = (model.slope(at), kinks.lambda, kinks.range(at));
    let steepness = l1::slope_within(z[at], slope, lambda, (least, greatest)).abs();
    if steepness == 0.0 {
        return (0.0, false);
    }
    let curvature = model.curvature(at).max(kinks.floors[at]);
    if curvature <= 0.0 {
        return (steepness, false);
    }
    // The soft threshold: λ brings the weight back to exactly zero where it can.
    let free = curvature * z[at] - slope;
    let to = if free.abs() <= lambda { 0.0 } else { (free - lambda.copysign(free)) / curvature };
    let to = to.clamp(least, greatest);
    let by = to - z[at];
    if by == 0.0 || !to.is_finite() {
        return (steepness, false);
    }
    model.step(at, by);
    z[at] = to;
    (steepness, true)
}
