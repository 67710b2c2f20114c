//! All blocks of the dual at once: proximal steps on the outputs already seen. Where examples pull
//! at the same weights, steps that move one block at a time are short; here
//!
//! max over α of D(α) − τ/2 Σᵢ sᵢ ‖αᵢ − cᵢ‖², c being the best α of a while ago,
//!
//! is solved by its own dual, min over w of λ/2 ‖w‖² + Σᵢ sᵢ maxₐ (a · vᵢ(w) − τ/2 ‖a − cᵢ‖²), which
//! is smooth: L-BFGS walks on it. The maximiser a is the projection of cᵢ + vᵢ/τ onto the simplex.
//! Values vᵢ are linear in w, so that a trial on a line costs projections only. Every point on the
//! walk gives a feasible α; the best one between all of them and c is kept, so the dual never falls.

use super::super::quasi_newton::{
    InverseHessian, LimitedMemory, bends, difference, pairs_that_fit,
};
use crate::archive::{Archive, ArchiveError};
use crate::risk::{Cancel, WorkingSets};
use minorant_linalg::dense::{axpy, dot, norm2};
use minorant_linalg::parallel::{map_stretches, split_evenly};
use minorant_linalg::sum::Sum;
use std::ops::Range;

/// Pairs that L-BFGS remembers.
const MEMORY: usize = 20;
/// Where weights are many, those that fit 128 MiB, but never fewer than this.
const LEAST_MEMORY: usize = 5;
/// A line search ends where the slope is this share of the first one.
const FLAT: f64 = 0.3;
/// Or after so many trials.
const TRIALS: usize = 20;
/// A step is at most so many times as long as the one tried before it.
const LONGER: f64 = 10.0;
/// After so many points c moves to the best α.
const RECENTRE: usize = 10;
/// Runs of examples that are projected side by side, whatever the number of threads.
const CHUNKS: usize = 64;

/// The walk, from one climb to the next.
#[derive(Debug)]
pub(super) struct Joint {
    /// Where it stands.
    pub(super) w: Vec<f64>,
    memory: LimitedMemory,
}

/// What a climb works with.
pub(super) struct Climb<'c> {
    pub(super) sets: &'c dyn WorkingSets,
    pub(super) lambda: f64,
    /// τ.
    pub(super) stiffness: f64,
    /// The gap over the outputs already seen that is good enough.
    pub(super) goal: f64,
    /// After this many points of the walk, this gap is good enough: where the argmax is cheap, another pass
    /// costs less than more points.
    pub(super) late_goal: (usize, f64),
    /// Most points of the walk.
    pub(super) most: usize,
    pub(super) cancel: &'c Cancel,
}

/// The simplexes of all examples, one behind the other, with the centre c and the stiffness τ of the proximal
/// term.
struct Blocks {
    starts: Vec<usize>,
    weights: Vec<f64>,
    chunks: Vec<Range<usize>>,
    center: Vec<f64>,
    stiffness: f64,
}

impl Blocks {
    /// Projects c + v/τ of each example onto its simplex, into `alpha`, and adds up
    /// sᵢ · `share`(range of the example's outputs, its α).
    fn project(
        &self,
        values: &[f64],
        alpha: &mut [f64],
        share: impl Fn(Range<usize>, &[f64]) -> f64 + Sync,
    ) -> f64 {
        let mut stretches = Vec::with_capacity(self.chunks.len());
        let mut rest = alpha;
        for chunk in &self.chunks {
            let length = self.starts[chunk.end] - self.starts[chunk.start];
            let (stretch, tail) = rest.split_at_mut(length);
            stretches.push(stretch);
            rest = tail;
        }
        let one = |at: usize, stretch: &mut [f64]| {
            let chunk = self.chunks[at].clone();
            let first = self.starts[chunk.start];
            let mut sum = 0.0;
            for example in chunk {
                let span = self.starts[example]..self.starts[example + 1];
                let alpha = &mut stretch[span.start - first..span.end - first];
                let centers = &self.center[span.clone()];
                for ((a, v), c) in alpha.iter_mut().zip(&values[span.clone()]).zip(centers) {
                    *a = c + v / self.stiffness;
                }
                onto_simplex(alpha);
                sum += self.weights[example] * share(span, alpha);
            }
            sum
        };
        let sums = map_stretches(stretches, one);
        sums.into_iter().collect::<Sum>().value()
    }
}

/// Projects onto the simplex: all entries less a threshold, negative ones become 0.
fn onto_simplex(x: &mut [f64]) {
    let mut threshold = (x.iter().sum::<f64>() - 1.0) / x.len() as f64;
    loop {
        let (mut sum, mut count) = (0.0, 0);
        for x in x.iter().filter(|x| **x > threshold) {
            sum += x;
            count += 1;
        }
        // Those above only become fewer; at least the largest stays.
        let next = if count == 0 { threshold } else { (sum - 1.0) / f64::from(count) };
        // A comparison with NaN is false: numbers that are not finite end the loop.
        let rises = next > threshold;
        if !rises {
            break;
        }
        threshold = next;
    }
    x.iter_mut().for_each(|x| *x = (*x - threshold).max(0.0));
}

/// A dual point: its α, and the plane that they make.
struct Dual {
    alpha: Vec<f64>,
    normal: Vec<f64>,
    offset: f64,
}

impl Dual {
    fn new(sets: &dyn WorkingSets, alpha: Vec<f64>) -> Self {
        let plane = sets.plane(&alpha);
        Dual { alpha, normal: plane.normal, offset: plane.offset }
    }

    fn value(&self, lambda: f64) -> f64 {
        self.offset - norm2(&self.normal) / (2.0 * lambda)
    }

    /// Moves to the best point on the way to another one.
    fn towards(&mut self, other: &Dual, lambda: f64) {
        let way = difference(&other.normal, &self.normal);
        let slope = other.offset - self.offset - dot(&self.normal, &way) / lambda;
        if slope <= 0.0 {
            return;
        }
        let step = (slope * lambda / norm2(&way)).min(1.0);
        axpy(step, &way, &mut self.normal);
        self.offset += step * (other.offset - self.offset);
        for (a, b) in self.alpha.iter_mut().zip(&other.alpha) {
            *a += step * (b - *a);
        }
    }
}

impl Joint {
    pub(super) fn new(dim: usize) -> Self {
        let room = pairs_that_fit(dim, LEAST_MEMORY);
        Joint { w: vec![0.0; dim], memory: LimitedMemory::new(MEMORY.min(room)) }
    }

    /// Proximal steps from `alpha`, the weights of all outputs, example by example.
    pub(super) fn climb(&mut self, with: &Climb<'_>, alpha: &mut Vec<f64>) {
        let (sets, lambda) = (with.sets, with.lambda);
        let examples = sets.examples();
        let mut starts = vec![0];
        let mut losses = Vec::with_capacity(alpha.len());
        for example in 0..examples {
            losses.extend((0..sets.outputs(example)).map(|output| sets.loss(example, output)));
            starts.push(losses.len());
        }
        let mut blocks = Blocks {
            starts,
            weights: (0..examples).map(|example| sets.weight(example)).collect(),
            chunks: split_evenly(examples, CHUNKS.min(examples)),
            center: alpha.clone(),
            stiffness: with.stiffness,
        };
        let mut best = Dual::new(sets, std::mem::take(alpha));
        let mut values = sets.rises(&self.w);
        values.iter_mut().zip(&losses).for_each(|(value, loss)| *value += loss);
        let mut before: Option<(Vec<f64>, Vec<f64>)> = None;
        for point in 0..with.most {
            if point > 0 && point % RECENTRE == 0 {
                blocks.center.copy_from_slice(&best.alpha);
                // Gradients of two functions tell nothing of either's curvature.
                before = None;
            }
            let mut maximisers = vec![0.0; values.len()];
            let worst = blocks.project(&values, &mut maximisers, |span, _| {
                values[span].iter().copied().fold(f64::NEG_INFINITY, f64::max)
            });
            let dual = Dual::new(sets, maximisers);
            best.towards(&dual, lambda);
            let objective = 0.5 * lambda * norm2(&self.w) + worst;
            let left = objective - best.value(lambda);
            let (late, lax) = with.late_goal;
            let goal = if point < late { with.goal } else { lax };
            if left <= goal || with.cancel.is_cancelled() {
                break;
            }
            let mut gradient = dual.normal;
            axpy(lambda, &self.w, &mut gradient);
            if let Some((step, old)) = before.take() {
                let change = difference(&gradient, &old);
                if bends(&step, &change) {
                    self.memory.update(&step, &change);
                }
            }
            let mut direction = self.memory.times(&gradient);
            direction.iter_mut().for_each(|d| *d = -*d);
            if dot(&direction, &gradient) >= 0.0 {
                self.memory.reset();
                direction = gradient.iter().map(|g| -g).collect();
            }
            let rises = sets.rises(&direction);
            let slope = dot(&direction, &gradient);
            let (at, square) = (dot(&self.w, &direction), norm2(&direction));
            let step = search(slope, |t| {
                if with.cancel.is_cancelled() {
                    return 0.0;
                }
                let moved: Vec<f64> =
                    values.iter().zip(&rises).map(|(value, rise)| value + t * rise).collect();
                let mut alpha = vec![0.0; moved.len()];
                let of_risk = blocks.project(&moved, &mut alpha, |span, alpha| {
                    alpha.iter().zip(&rises[span]).map(|(a, r)| a * r).sum()
                });
                lambda * (at + t * square) + of_risk
            });
            if step == 0.0 {
                break;
            }
            direction.iter_mut().for_each(|d| *d *= step);
            axpy(1.0, &direction, &mut self.w);
            axpy(step, &rises, &mut values);
            before = Some((direction, gradient));
        }
        *alpha = best.alpha;
    }

    pub(super) fn save(&self, archive: &mut Archive) {
        archive.put_reals("joint.w", self.w.clone());
        self.memory.save(archive);
    }

    pub(super) fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        let w = archive.take_reals("joint.w")?;
        if w.len() != self.w.len() {
            return Err(ArchiveError("joint.w".into()));
        }
        self.w = w;
        self.memory.load(archive)
    }
}

/// Where a convex function with this slope at 0 is nearly flat, by secants of its slopes.
fn search(first: f64, mut slope_at: impl FnMut(f64) -> f64) -> f64 {
    let (mut left, mut right) = ((0.0, first), None::<(f64, f64)>);
    let mut t = 1.0;
    for _ in 0..TRIALS {
        let slope = slope_at(t);
        if slope.abs() <= -FLAT * first {
            return t;
        }
        // A slope that is not finite counts as rising: the step was too long.
        let secant = if slope < 0.0 {
            let next = t - slope * (t - left.0) / (slope - left.1);
            left = (t, slope);
            next
        } else {
            right = Some((t, slope));
            left.0 - left.1 * (t - left.0) / (slope - left.1)
        };
        t = match right {
            // Not too near the ends, so that the interval shrinks.
            Some((end, _)) => {
                let margin = 0.1 * (end - left.0);
                let inside = if secant.is_finite() { secant } else { 0.5 * (left.0 + end) };
                inside.clamp(left.0 + margin, end - margin)
            }
            None if secant > t => secant.min(LONGER * t),
            None => LONGER * t,
        };
    }
    left.0
}
