//! `bcfw`: block-coordinate Frank–Wolfe for structured SVMs (Lacoste-Julien et al. 2013) with a
//! working set of outputs for each example, pairwise steps and gap-proportional sweeps (Osokin et
//! al. 2016). The dual is max Σᵢ sᵢ Σ_y αᵢ(y) Δᵢ(y) − ‖Σᵢ sᵢ Σ_y αᵢ(y) δᵢ(y)‖² / (2λ) over one simplex
//! an example, and w = Σᵢ sᵢ Σ_y αᵢ(y) δᵢ(y) / λ.
//!
//! Departures from the papers: the oracle is asked for all examples at one point, in parallel, so
//! that every pass gives the objective there and with it an honest gap. Passes at the beginning go
//! through the examples in many groups, w moving after each by steps on single blocks: w = 0 has
//! nothing to say about which outputs are near the truth. Later the dual over the outputs already
//! seen, which costs no oracle call, climbs by proximal steps on all blocks together (`joint.rs`):
//! where λ is small, examples pull at the same weights and steps on single blocks are short. What
//! few outputs have made is a corner, so the next pass is not made there but at a point between it
//! and the best one (an in-out separation); how far between, the passes' success decides.

mod joint;

use self::joint::{Climb, Joint};
use super::{Halt, Problem, Run, Solver, Status, Step, load_point, save_point};
use crate::archive::{Archive, ArchiveError};
use crate::certificate::{DualPoint, Term};
use crate::proof::{OutputProof, Proof, WeightedOutput};
use crate::risk::{Asked, Cancel, Plane, Point, WorkingSets};
use minorant_linalg::dense::{between, norm2};
use minorant_linalg::parallel::split_evenly;
use minorant_linalg::sum::Sum;

/// Between passes the dual is maximised until this share of the gap is left to gain.
const INNER_SHARE: f64 = 0.1;
/// Or, once the walk has had so many points, that one.
const MANY_POINTS: usize = 40;
const LATE_SHARE: f64 = 0.3;
/// But with no more points than this.
const MOST_POINTS: usize = 200;
/// How stiff the proximal term is, in units of the gap.
const STIFFNESS: f64 = 10.0;
/// Sweeps over the outputs already seen after a pass in groups.
const SWEEPS: usize = 10;
/// Examples of a sweep between two looks at whether to stop.
const VISITS: usize = 64;
/// An output that has had no weight for this many passes is forgotten.
const IDLE: u32 = 10;
/// How many times the examples must double for one more pass that w moves in.
const EXAMPLES_A_PASS: u32 = 3;
/// Groups of the pass that w moves in.
const GROUPS: usize = 1024;
/// In a sweep only examples are visited whose last gap is at least this share of the mean.
const WORTH_A_VISIT: f64 = 0.2;
/// Every so many sweeps all examples are visited.
const FULL_SWEEP: usize = 4;
/// Steps that a visit makes at most.
const STEPS: usize = 2;
/// A rise below this, relative to the numbers compared, is rounding.
const ROUNDING: f64 = 1e-13;
/// How far from the best point towards the dual's w a pass is made: at first, at least, and by
/// which factors the share grows and shrinks with success and failure.
const FIRST_SHARE: f64 = 0.6;
const LEAST_SHARE: f64 = 0.1;
const GROWTH: f64 = 1.5;
const SHRINKAGE: f64 = 0.7;

/// Block-coordinate Frank–Wolfe on a risk that offers working sets.
pub struct Bcfw<'p> {
    sets: Box<dyn WorkingSets + 'p>,
    lambda: f64,
    proof_bytes: u64,
    /// −1/λ of the dual point's normal.
    w: Vec<f64>,
    dual: Vec<Block>,
    passes: u64,
    /// How far from the best point towards w the next pass is made.
    share: f64,
    best: Option<Point>,
    direction: Direction,
    joint: Joint,
}

impl std::fmt::Debug for Bcfw<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bcfw").field("dim", &self.w.len()).finish_non_exhaustive()
    }
}

/// The dual variables of an example.
#[derive(Debug, Clone)]
struct Block {
    /// α of each output of its working set; the first is the truth's.
    alpha: Vec<f64>,
    /// For how many passes each output has had no weight.
    idle: Vec<u32>,
    /// What was left to gain here when it was last visited.
    gap: f64,
}

/// A sparse vector in the making: coordinates may come several times.
#[derive(Debug, Default)]
struct Direction {
    dense: Vec<f64>,
    touched: Vec<usize>,
}

impl Direction {
    /// ‖d‖², once all coordinates are there.
    fn square(&self) -> f64 {
        self.touched.iter().map(|&at| self.dense[at] * self.dense[at]).sum()
    }

    /// Adds `factor` d to `w` and forgets d.
    fn apply(&mut self, factor: f64, w: &mut [f64]) {
        for at in self.touched.drain(..) {
            w[at] += factor * self.dense[at];
            self.dense[at] = 0.0;
        }
    }

    fn add(&mut self, at: usize, x: f64) {
        if self.dense[at] == 0.0 {
            self.touched.push(at);
        }
        self.dense[at] += x;
        // A coordinate that cancels stays among those touched: it must not come in twice.
        if self.dense[at] == 0.0 {
            self.dense[at] = f64::MIN_POSITIVE;
        }
    }
}

impl<'p> Bcfw<'p> {
    /// A run on a problem whose risk offers these working sets; a proof may take `proof_bytes`.
    pub fn new(problem: Problem<'p>, sets: Box<dyn WorkingSets + 'p>, proof_bytes: u64) -> Self {
        let dim = problem.risk.dim();
        let truth = Block { alpha: vec![1.0], idle: vec![0], gap: 0.0 };
        Bcfw {
            dual: vec![truth; sets.examples()],
            sets,
            lambda: problem.regularizer.lambda(),
            proof_bytes,
            w: vec![0.0; dim],
            passes: 0,
            share: FIRST_SHARE,
            best: None,
            direction: Direction { dense: vec![0.0; dim], touched: Vec::new() },
            joint: Joint::new(dim),
        }
    }

    /// Asks the oracle for all examples at `w`: objective, and outputs to work on.
    fn pass(&mut self, run: &mut Run<'_>, w: Vec<f64>) -> Result<f64, Halt> {
        run.charge()?;
        let found = self.sets.ask(&w, 0..self.sets.examples(), run.cancel())?;
        let weighted = |(i, found): (usize, &Asked)| self.sets.weight(i) * found.value;
        let value = found.iter().enumerate().map(weighted).collect::<Sum>().value();
        let errors = found.iter().enumerate().map(|(i, found)| self.sets.weight(i) * found.error);
        let error = errors.sum();
        if self.enter(0, &found) {
            run.note_better_model();
        }
        self.forget_idle();
        self.passes += 1;
        let point = Point { error, ..Point::bare(w, value) };
        let objective = run.objective(&point)?;
        let best = self.best.as_ref().map_or(f64::INFINITY, |best| run.problem.objective(best));
        if objective < best {
            run.offer_objective(objective);
            self.best = Some(point);
        }
        Ok(objective)
    }

    /// One pass in groups, w moving after each: no objective, but a good start. Returns the mean
    /// of the points on the way, later ones weighing more.
    fn moving_pass(&mut self, run: &mut Run<'_>) -> Result<Vec<f64>, Halt> {
        run.charge()?;
        let examples = self.sets.examples();
        let mut mean = vec![0.0; self.w.len()];
        for (at, group) in split_evenly(examples, GROUPS.min(examples)).into_iter().enumerate() {
            let found = self.sets.ask(&self.w, group.clone(), run.cancel())?;
            self.enter(group.start, &found);
            group.for_each(|example| self.visit(example));
            let share = 2.0 / (at as f64 + 3.0);
            mean.iter_mut().zip(&self.w).for_each(|(mean, w)| *mean += share * (w - *mean));
        }
        self.sweep(run.cancel());
        self.passes += 1;
        Ok(mean)
    }

    /// Makes room for outputs that the oracle named, from example `first` on; whether any is new.
    fn enter(&mut self, first: usize, found: &[Asked]) -> bool {
        let mut any = false;
        for (at, &Asked { output, value, .. }) in found.iter().enumerate() {
            let block = &mut self.dual[first + at];
            if output == block.alpha.len() {
                block.alpha.push(0.0);
                block.idle.push(0);
                any = true;
            }
            block.idle[output] = 0;
            block.gap = block.gap.max(self.sets.weight(first + at) * value);
        }
        any
    }

    fn forget_idle(&mut self) {
        for (example, block) in self.dual.iter_mut().enumerate() {
            for output in (1..block.alpha.len()).rev() {
                block.idle[output] =
                    if block.alpha[output] > 0.0 { 0 } else { block.idle[output] + 1 };
                if block.idle[output] > IDLE {
                    self.sets.remove(example, output);
                    block.alpha.swap_remove(output);
                    block.idle.swap_remove(output);
                }
            }
        }
    }

    /// Pairwise steps at one example: weight moves from its worst output that has some to its
    /// best one, as far as the dual rises.
    fn visit(&mut self, example: usize) {
        let weight = self.sets.weight(example);
        let block = &mut self.dual[example];
        if block.alpha.len() == 1 || weight == 0.0 {
            block.gap = 0.0;
            return;
        }
        for step in 0..STEPS {
            let (mut up, mut down) = ((0, f64::NEG_INFINITY), (0, f64::INFINITY));
            let mut mean = 0.0;
            for (output, &alpha) in block.alpha.iter().enumerate() {
                let value =
                    if output == 0 { 0.0 } else { self.sets.value(example, output, &self.w) };
                if value > up.1 {
                    up = (output, value);
                }
                if alpha > 0.0 && value < down.1 {
                    down = (output, value);
                }
                mean += alpha * value;
            }
            let gap = weight * (up.1 - mean);
            if step == 0 {
                block.gap = gap.max(0.0);
            }
            let rise = up.1 - down.1;
            if rise <= ROUNDING * (1.0 + up.1.abs()) {
                return;
            }
            let direction = &mut self.direction;
            self.sets.difference(example, up.0, down.0, &mut |at, x| direction.add(at, x));
            let square = direction.square();
            // Outputs may have the same features: then nothing limits the step. (A sum of no
            // squares may be −0, too.)
            let wanted =
                if square > 0.0 { self.lambda * rise / (weight * square) } else { f64::INFINITY };
            let most = block.alpha[down.0];
            let moved = if wanted < most { wanted } else { most };
            direction.apply(-weight * moved / self.lambda, &mut self.w);
            block.alpha[up.0] += moved;
            block.alpha[down.0] = if moved < most { most - moved } else { 0.0 };
        }
    }

    /// Goes through the outputs already seen a few times, mostly where there is something to gain.
    fn sweep(&mut self, cancel: &Cancel) {
        for sweep in 0..SWEEPS {
            let total: f64 = self.dual.iter().map(|block| block.gap).sum();
            let least = WORTH_A_VISIT * total / self.dual.len() as f64;
            let full = sweep % FULL_SWEEP == 0;
            for example in 0..self.dual.len() {
                if example.is_multiple_of(VISITS) && cancel.is_cancelled() {
                    return;
                }
                if full || self.dual[example].gap >= least {
                    self.visit(example);
                }
            }
        }
    }

    /// The plane of the dual point, summed up afresh; also w, so that no drift stays in it.
    fn plane(&mut self) -> Plane {
        for block in &mut self.dual {
            // The truth's share adds nothing; the others' must not exceed 1 together.
            let others: f64 = block.alpha[1..].iter().sum();
            if others > 1.0 {
                block.alpha[1..].iter_mut().for_each(|alpha| *alpha /= others);
            }
            block.alpha[0] = if others < 1.0 { 1.0 - others } else { 0.0 };
        }
        let plane = self.sets.plane(&self.alpha());
        for (w, a) in self.w.iter_mut().zip(&plane.normal) {
            *w = -a / self.lambda;
        }
        plane
    }

    /// The weights of all outputs, example by example.
    fn alpha(&self) -> Vec<f64> {
        self.dual.iter().flat_map(|block| block.alpha.iter().copied()).collect()
    }

    /// Proximal steps over the outputs already seen, until what is left to gain there is small
    /// against the gap.
    fn climb(&mut self, run: &Run<'_>) {
        let gap = run.gap().max(run.target());
        let with = Climb {
            sets: &*self.sets,
            lambda: self.lambda,
            stiffness: STIFFNESS * gap,
            goal: INNER_SHARE * gap,
            late_goal: (MANY_POINTS, LATE_SHARE * gap),
            most: MOST_POINTS,
            cancel: run.cancel(),
        };
        let mut alpha = self.alpha();
        self.joint.climb(&with, &mut alpha);
        let mut rest = alpha.into_iter();
        for to in self.dual.iter_mut().flat_map(|block| &mut block.alpha) {
            *to = rest.next().unwrap_or(0.0);
        }
    }

    /// The bound of the dual point.
    fn bound(&mut self) -> f64 {
        let plane = self.plane();
        let mut dual = DualPoint::new(self.w.len());
        let term = Term {
            weight: 1.0,
            offset: plane.offset,
            length: norm2(&plane.normal).sqrt(),
            normal_error: plane.normal_error,
            offset_error: plane.offset_error,
        };
        dual.add(term, |sum| sum.copy_from_slice(&plane.normal));
        dual.bound(self.lambda)
    }

    /// The dual point itself, where outputs can be written down and it is not too long.
    fn proof(&self) -> Option<Proof> {
        let mut numbers = 0;
        let mut examples = Vec::with_capacity(self.dual.len());
        for (example, block) in self.dual.iter().enumerate() {
            let mut outputs = Vec::new();
            for (output, &weight) in block.alpha.iter().enumerate().skip(1) {
                if weight > 0.0 {
                    let code = self.sets.encode(example, output)?;
                    numbers += code.len() as u64 + 2;
                    outputs.push(WeightedOutput { weight, code });
                }
            }
            examples.push(outputs);
        }
        (8 * numbers <= self.proof_bytes).then_some(Proof::Outputs(OutputProof { examples }))
    }
}

impl Solver for Bcfw<'_> {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let objective = self.pass(run, run.problem.start_point())?;
        // All weight on the truths is a dual point, too.
        let bound = self.bound();
        run.offer_bound(bound, || self.proof());
        Ok(Step { kind: "start", objective, length: None })
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        if self.dual.is_empty() {
            return Err(Halt::Stop(Status::Stalled));
        }
        let next = if self.passes == 1 {
            let examples = self.sets.examples();
            let mut mean = self.moving_pass(run)?;
            for _ in 1..examples.ilog2() / EXAMPLES_A_PASS {
                mean = self.moving_pass(run)?;
            }
            self.joint.w.copy_from_slice(&mean);
            Some(mean)
        } else {
            self.climb(run);
            None
        };
        let bound = self.bound();
        run.offer_bound(bound, || self.proof());
        run.check_gap()?;
        let Some(best) = &self.best else { return Err(Halt::Stop(Status::Stalled)) };
        let before = run.problem.objective(best);
        let next = next.unwrap_or_else(|| between(&best.w, &self.joint.w, self.share));
        let objective = self.pass(run, next)?;
        let length = self.share;
        self.share = if objective < before {
            (self.share * GROWTH).min(1.0)
        } else {
            (self.share * SHRINKAGE).max(LEAST_SHARE)
        };
        run.check_gap()?;
        let kind = if objective < before { "descent" } else { "null" };
        Ok(Step { kind, objective, length: Some(length) })
    }

    fn best(&self) -> Option<&Point> {
        self.best.as_ref()
    }

    fn planes(&self) -> usize {
        self.dual.iter().map(|block| block.alpha.len()).sum()
    }

    fn save(&self, archive: &mut Archive) {
        let (mut alpha, mut gaps) = (Vec::new(), Vec::new());
        let (mut counts, mut idle) = (Vec::new(), Vec::new());
        let (mut lengths, mut codes) = (Vec::new(), Vec::new());
        for (example, block) in self.dual.iter().enumerate() {
            gaps.push(block.gap);
            counts.push(block.alpha.len() as u64);
            alpha.extend_from_slice(&block.alpha);
            idle.extend(block.idle.iter().map(|&idle| u64::from(idle)));
            for output in 1..block.alpha.len() {
                let code = self.sets.encode(example, output).unwrap_or_default();
                lengths.push(code.len() as u64);
                codes.extend(code.into_iter().map(u64::from));
            }
        }
        archive.put_reals("bcfw.w", self.w.clone());
        archive.put_reals("bcfw.alpha", alpha);
        archive.put_reals("bcfw.gaps", gaps);
        archive.put_integers("bcfw.counts", counts);
        archive.put_integers("bcfw.idle", idle);
        archive.put_integers("bcfw.lengths", lengths);
        archive.put_integers("bcfw.codes", codes);
        archive.put_integers("bcfw.passes", [self.passes]);
        archive.put_reals("bcfw.share", vec![self.share]);
        self.joint.save(archive);
        if let Some(best) = &self.best {
            save_point("best", best, archive);
        }
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        let wrong = |name: &str| ArchiveError(format!("bcfw.{name}"));
        let w = archive.take_reals("bcfw.w")?;
        let (alpha, gaps) = (archive.take_reals("bcfw.alpha")?, archive.take_reals("bcfw.gaps")?);
        let counts = archive.take_integers("bcfw.counts")?;
        let idle = archive.take_integers("bcfw.idle")?;
        let lengths = archive.take_integers("bcfw.lengths")?;
        let codes = archive.take_integers("bcfw.codes")?;
        let fits = w.len() == self.w.len()
            && gaps.len() == self.dual.len()
            && counts.len() == self.dual.len()
            && idle.len() == alpha.len();
        if !fits {
            return Err(wrong("counts"));
        }
        let (mut alpha, mut idle) = (alpha.into_iter(), idle.into_iter());
        let (mut lengths, mut codes) = (lengths.into_iter(), codes.into_iter());
        for (example, (&count, &gap)) in counts.iter().zip(&gaps).enumerate() {
            let count = count as usize;
            for output in 1..count {
                let length = lengths.next().ok_or_else(|| wrong("lengths"))? as usize;
                let code: Vec<u32> = codes.by_ref().take(length).map(|code| code as u32).collect();
                // Each must be new: the places of outputs are what the weights refer to.
                if !self.sets.restore(example, &code) || self.sets.outputs(example) != output + 1 {
                    return Err(wrong("codes"));
                }
            }
            self.dual[example] = Block {
                alpha: alpha.by_ref().take(count).collect(),
                idle: idle.by_ref().take(count).map(|idle| idle as u32).collect(),
                gap,
            };
            if count == 0 || self.dual[example].alpha.len() != count {
                return Err(wrong("alpha"));
            }
        }
        self.w = w;
        self.passes = archive.take_integer("bcfw.passes")?;
        self.share = archive.take_real("bcfw.share")?;
        self.joint.load(archive)?;
        self.best = Some(load_point("best", self.w.len(), archive)?);
        Ok(())
    }
}
