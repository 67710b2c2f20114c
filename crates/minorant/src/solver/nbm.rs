//! `nbm`: the classical proximal bundle method for functions that need not be convex, after Kiwiel
//! and after Schramm and Zowe: subgradient locality measures γ s^ω, a line search that ends in a
//! serious or in a null step, one aggregate subgradient, and a proximity weight that adapts. It
//! knows nothing of the regularizer: the objective as a whole is its function.
//!
//! Everything is in the coordinates u = θ ∘ (w − w_reg) of the regularizer. The method's own stop
//! rule is ‖p‖²/(2λ) + β̃ of the aggregate subgradient p and its error β̃, the gap that the other
//! methods have; being a local one, it proves nothing. Where the risk is convex, the planes at all
//! points give a bound, and the run has converged once that is near enough: where the method's own
//! rule holds before, it goes on with the minimisers of the planes' model.

use super::nrbm::evaluate_if_finite;
use super::quasi_newton::Companion;
use super::{Halt, Problem, Run, Solver, Status, Step, load_point, save_point};
use crate::archive::{Archive, ArchiveError};
use crate::bundle::{load_master, save_master};
use crate::master::{Gram, Master};
use crate::risk::{Plane, Point};
use minorant_linalg::dense::{axpy, dot, norm2};

/// γ and ω of the locality measure; γ is 0 where the risk is convex, whose cuts hold everywhere.
const GAMMA: f64 = 0.25;
const OMEGA: i32 = 2;
/// A serious step has this share of the foreseen decrease; a null step's subgradient must change
/// the foreseen decrease by that share.
const SERIOUS: f64 = 1e-2;
const NULL: f64 = 0.5;
/// The shortest serious step.
const SHORTEST: f64 = 1e-3;
/// The most points that one line search visits.
const TRIALS: usize = 12;
/// The proximity weight changes by this factor at most, and with a quadratic term never falls below this
/// share of its first value.
const CHANGE: f64 = 10.0;
const LEAST_WEIGHT: f64 = 1e-10;
/// How exactly the master is solved, as a share of the target.
const MASTER_ACCURACY: f64 = 1e-3;

/// A subgradient of the objective from elsewhere, as seen from the best point.
#[derive(Debug, Clone)]
struct Cut {
    gradient: Vec<f64>,
    /// The linearisation error at the best point; negative where the cut lies above it.
    error: f64,
    /// The length of the way from where it was taken to the best point.
    distance: f64,
}

impl Cut {
    /// β = max(|α|, γ s^ω).
    fn locality(&self, gamma: f64) -> f64 {
        self.error.abs().max(gamma * self.distance.powi(OMEGA))
    }
}

/// The classical non-convex bundle method.
#[derive(Debug)]
pub struct Nbm {
    dim: usize,
    lambda: f64,
    gamma: f64,
    most: usize,
    best: Option<Point>,
    /// A lower point that was not low enough for a serious step, if it is the lowest of all.
    lowest: Option<Point>,
    companion: Companion,
    cuts: Vec<Cut>,
    gram: Gram,
    master: Master,
    /// The proximity weight, its least value, and the serious (+) or null (−) steps since it last
    /// changed.
    weight: f64,
    least_weight: f64,
    steps: i64,
}

/// The direction that the master finds.
struct Direction {
    /// d = −p / weight.
    d: Vec<f64>,
    /// The foreseen change of the objective, negative.
    foreseen: f64,
    /// ‖p‖ and β̃.
    length: f64,
    error: f64,
    /// Inner products of the cuts' subgradients with d.
    slopes: Vec<f64>,
}

/// Where a line search ended.
struct Found {
    step: f64,
    point: Point,
    objective: f64,
    gradient: Vec<f64>,
    is_serious: bool,
}

impl Nbm {
    /// A run on a problem with at most `most` subgradients, the aggregate included.
    pub(super) fn new(problem: Problem<'_>, most: usize, companion: Companion) -> Self {
        Nbm {
            dim: problem.risk.dim(),
            lambda: problem.regularizer.lambda(),
            gamma: if problem.risk.is_convex() { 0.0 } else { GAMMA },
            most: most.max(3),
            best: None,
            lowest: None,
            companion,
            cuts: Vec::new(),
            gram: Gram::new(),
            master: Master::new(1),
            weight: 1.0,
            least_weight: 0.0,
            steps: 0,
        }
    }

    /// A subgradient of the objective in the regularizer's coordinates.
    fn gradient(&self, run: &Run<'_>, point: &Point, plane: Plane) -> Vec<f64> {
        let regularizer = run.problem.regularizer;
        let mut gradient = regularizer.plane_in_metric(plane).normal;
        if self.lambda > 0.0 {
            axpy(self.lambda, &regularizer.to_metric(&point.w), &mut gradient);
        }
        gradient
    }

    fn push(&mut self, cut: Cut) {
        let own = norm2(&cut.gradient);
        let products = self.cuts.iter().map(|other| dot(&other.gradient, &cut.gradient));
        let row: Vec<f64> = products.chain([own]).collect();
        self.gram.push(&row);
        self.master.push(0);
        self.cuts.push(cut);
    }

    /// min over the simplex of ‖Σ α g‖²/(2 weight) + Σ α β.
    fn direction(&mut self, accuracy: f64) -> Direction {
        let offsets: Vec<f64> = self.cuts.iter().map(|cut| -cut.locality(self.gamma)).collect();
        let curvature = 1.0 / self.weight;
        self.master.solve(&self.gram, &offsets, curvature, accuracy);
        let mut d = vec![0.0; self.dim];
        let mut slopes = vec![0.0; self.cuts.len()];
        let mut error = 0.0;
        for (j, &alpha) in self.master.weights().iter().enumerate().filter(|(_, a)| **a > 0.0) {
            axpy(alpha, &self.cuts[j].gradient, &mut d);
            axpy(alpha, self.gram.row(j), &mut slopes);
            error -= alpha * offsets[j];
        }
        let square = norm2(&d);
        d.iter_mut().for_each(|d| *d *= -curvature);
        slopes.iter_mut().for_each(|slope| *slope *= -curvature);
        let foreseen = -(curvature * square + error);
        Direction { d, foreseen, length: square.sqrt(), error, slopes }
    }

    /// Steps along the direction until one is serious, or its subgradient tells the master enough.
    fn search(
        &mut self,
        run: &mut Run<'_>,
        best: &Point,
        direction: &Direction,
    ) -> Result<Option<Found>, Halt> {
        let regularizer = run.problem.regularizer;
        let (from, objective) = (regularizer.to_metric(&best.w), run.problem.objective(best));
        let span = norm2(&direction.d).sqrt();
        let (mut low, mut high, mut step) = (0.0, 1.0, 1.0);
        let mut last = None;
        for _ in 0..TRIALS {
            let u = from.iter().zip(&direction.d).map(|(u, d)| u + step * d).collect();
            let Some((point, plane)) = evaluate_if_finite(run, regularizer.from_metric(u))? else {
                high = step;
                step = low + 0.1 * (high - low);
                continue;
            };
            self.companion.add(run, &point.w, vec![plane.clone()]);
            let gradient = self.gradient(run, &point, plane);
            let value = run.problem.objective(&point);
            let slope = dot(&gradient, &direction.d);
            let found = |is_serious| Found {
                step,
                objective: value,
                gradient: gradient.clone(),
                is_serious,
                point: point.clone(),
            };
            let is_lower = value <= objective + SERIOUS * step * direction.foreseen;
            if is_lower && step >= SHORTEST {
                return Ok(Some(found(true)));
            }
            let cut = Cut {
                gradient: Vec::new(),
                error: objective - value + step * slope,
                distance: step * span,
            };
            if slope - cut.locality(self.gamma) >= NULL * direction.foreseen {
                return Ok(Some(found(false)));
            }
            last = Some(found(is_lower && value < objective));
            if is_lower {
                low = step
            } else {
                high = step
            }
            // The minimiser of the parabola through both values with the foreseen slope.
            let bend = 2.0 * (value - objective - step * direction.foreseen);
            let parabola = -direction.foreseen * step * step / bend;
            let margin = 0.1 * (high - low);
            step = if parabola.is_finite() && !is_lower {
                parabola.clamp(low + margin, high - margin)
            } else {
                0.5 * (low + high)
            };
        }
        Ok(last)
    }

    /// Stops the run where it has converged. Where only the method's own rule says so, the point to
    /// go on with.
    fn minimiser(
        &mut self,
        run: &mut Run<'_>,
        direction: &Direction,
    ) -> Result<Option<Vec<f64>>, Halt> {
        // Without a quadratic term there is only the decrease that the master foresees.
        let square = direction.length * direction.length;
        let gap = match self.lambda {
            0.0 => -direction.foreseen,
            lambda => square / (2.0 * lambda) + direction.error,
        };
        let converged = run.check_local_gap(gap);
        if !self.companion.is_bounding() {
            return converged.map(|()| None);
        }
        if converged.is_ok() && !self.companion.is_due(run) {
            return Ok(None);
        }
        let to = self.companion.solve(run)?;
        match converged {
            Ok(()) => Ok(None),
            Err(_) => to.map_or(Err(Halt::Stop(Status::Stalled)), |to| Ok(Some(to))),
        }
    }

    /// The whole step to a given point.
    fn go_to(
        &mut self,
        run: &mut Run<'_>,
        best: &Point,
        to: &[f64],
    ) -> Result<(Direction, Option<Found>), Halt> {
        let regularizer = run.problem.regularizer;
        let mut d = regularizer.to_metric(to);
        axpy(-1.0, &regularizer.to_metric(&best.w), &mut d);
        let slopes = self.cuts.iter().map(|cut| dot(&cut.gradient, &d)).collect();
        let visited = evaluate_if_finite(run, to.to_vec())?;
        let found = visited.map(|(point, plane)| {
            self.companion.add(run, &point.w, vec![plane.clone()]);
            let gradient = self.gradient(run, &point, plane);
            let objective = run.problem.objective(&point);
            let is_serious = objective < run.problem.objective(best);
            Found { step: 1.0, point, objective, gradient, is_serious }
        });
        Ok((Direction { d, foreseen: 0.0, length: 0.0, error: 0.0, slopes }, found))
    }

    /// Kiwiel's rule: the curvature that the step has met, within limits.
    fn adapt(&mut self, before: f64, found: &Found, direction: &Direction) {
        let seen = (found.objective - before) / (found.step * direction.foreseen);
        let asked = 2.0 * self.weight * (1.0 - seen);
        if found.is_serious {
            self.steps = self.steps.max(0) + 1;
            let lower = if self.steps > 3 { 0.5 * self.weight } else { self.weight };
            let asked = if seen >= NULL && found.step == 1.0 { asked.min(lower) } else { lower };
            let new = asked.max(self.weight / CHANGE).max(self.least_weight);
            if new < self.weight {
                (self.weight, self.steps) = (new, 0);
            }
        } else {
            self.steps = self.steps.min(0) - 1;
            let error = before - found.objective + found.step * dot(&found.gradient, &direction.d);
            let is_far = error.abs()
                > (direction.length + direction.error).max(-CHANGE * direction.foreseen);
            if is_far && self.steps < -3 {
                (self.weight, self.steps) = (asked.clamp(self.weight, CHANGE * self.weight), 0);
            }
        }
    }

    /// Leaves room for one more: cuts without weight go; where all have some, the aggregate
    /// subgradient takes the place of the two oldest.
    fn make_room(&mut self) {
        if self.cuts.len() < self.most {
            return;
        }
        let weights = self.master.weights().to_vec();
        let keep: Vec<bool> = weights.iter().map(|weight| *weight > 0.0).collect();
        let kept = keep.iter().filter(|keep| **keep).count();
        if kept + 1 < self.most {
            self.retain(&keep);
            return;
        }
        let mut sum = Cut { gradient: vec![0.0; self.dim], error: 0.0, distance: 0.0 };
        for (cut, &weight) in self.cuts.iter().zip(&weights) {
            axpy(weight, &cut.gradient, &mut sum.gradient);
            sum.error += weight * cut.locality(self.gamma);
            sum.distance += weight * cut.distance;
        }
        let mut keep = vec![true; self.cuts.len()];
        keep[..2].fill(false);
        self.retain(&keep);
        self.push(sum);
    }

    fn retain(&mut self, keep: &[bool]) {
        let mut kept = keep.iter();
        self.cuts.retain(|_| kept.next().copied().unwrap_or(true));
        self.gram.retain(keep);
        self.master.retain(keep);
    }
}

impl Solver for Nbm {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let (point, mut planes) = run.evaluate_with_planes(run.problem.start_point(), 1)?;
        let objective = run.objective(&point)?;
        run.offer_objective(objective);
        self.companion.add(run, &point.w, planes.clone());
        let gradient = self.gradient(run, &point, planes.remove(0));
        self.weight = norm2(&gradient).sqrt().max(f64::MIN_POSITIVE);
        // Without a quadratic term steps may have to become ever longer.
        self.least_weight = if self.lambda > 0.0 { LEAST_WEIGHT * self.weight } else { 0.0 };
        self.push(Cut { gradient, error: 0.0, distance: 0.0 });
        self.best = Some(point);
        Ok(Step { kind: "start", objective, length: None })
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let accuracy = MASTER_ACCURACY * run.target();
        let direction = run.master(|| self.direction(accuracy));
        let Some(best) = self.best.clone() else { return Err(Halt::Stop(Status::Stalled)) };
        let before = run.problem.objective(&best);
        let (direction, found) = match self.minimiser(run, &direction)? {
            Some(to) => self.go_to(run, &best, &to)?,
            None => {
                let found = self.search(run, &best, &direction)?;
                (direction, found)
            }
        };
        let Some(found) = found else { return Err(Halt::Stop(Status::Stalled)) };
        let length = found.step * norm2(&direction.d).sqrt();
        if found.is_serious {
            let fall = found.objective - before;
            for (cut, slope) in self.cuts.iter_mut().zip(&direction.slopes) {
                cut.error += fall - found.step * slope;
                cut.distance += length;
            }
        }
        let error = before - found.objective + found.step * dot(&found.gradient, &direction.d);
        if direction.foreseen < 0.0 {
            self.adapt(before, &found, &direction);
        }
        let Found { point, objective, gradient, is_serious, .. } = found;
        let (error, distance) = if is_serious { (0.0, 0.0) } else { (error, length) };
        self.make_room();
        self.push(Cut { gradient, error, distance });
        if is_serious {
            self.best = Some(point);
        } else if objective < run.best_objective() {
            self.lowest = Some(point);
        }
        run.offer_objective(objective);
        let kind = if is_serious { "descent" } else { "null" };
        Ok(Step { kind, objective, length: Some(length) })
    }

    fn conclude(&mut self, run: &mut Run<'_>) -> Result<(), Halt> {
        let concluded = self.companion.solve(run);
        let objective = |point: &Option<Point>| {
            point.as_ref().map_or(f64::INFINITY, |point| run.problem.objective(point))
        };
        if objective(&self.lowest) < objective(&self.best) {
            self.best = self.lowest.take();
        }
        concluded.map(|_| ())
    }

    fn best(&self) -> Option<&Point> {
        self.best.as_ref()
    }

    fn planes(&self) -> usize {
        self.cuts.len()
    }

    fn save(&self, archive: &mut Archive) {
        let gradients = self.cuts.iter().flat_map(|cut| cut.gradient.iter().copied());
        archive.put_reals("cuts.gradients", gradients.collect());
        let numbers = self.cuts.iter().flat_map(|cut| [cut.error, cut.distance]);
        archive.put_reals("cuts.numbers", numbers.collect());
        if let Some(best) = &self.best {
            save_point("best", best, archive);
        }
        if let Some(lowest) = &self.lowest {
            save_point("lowest", lowest, archive);
        }
        archive.put_all("companion", |archive| self.companion.save(archive));
        archive.put_reals("weight", vec![self.weight, self.least_weight]);
        archive.put_reals("steps", vec![self.steps as f64]);
        save_master(&self.gram, &self.master, archive);
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        let gradients = archive.take_reals("cuts.gradients")?;
        let numbers = archive.take_reals("cuts.numbers")?;
        let numbers = numbers.as_chunks::<2>().0;
        if gradients.len() != numbers.len() * self.dim {
            return Err(ArchiveError("cuts".into()));
        }
        let cut = |(j, numbers): (usize, &[f64; 2])| Cut {
            gradient: gradients[j * self.dim..(j + 1) * self.dim].to_vec(),
            error: numbers[0],
            distance: numbers[1],
        };
        self.cuts = numbers.iter().enumerate().map(cut).collect();
        self.best = Some(load_point("best", self.dim, archive)?);
        self.lowest = load_point("lowest", self.dim, archive).ok();
        self.companion.load(&mut archive.take_all("companion"))?;
        let [weight, least_weight] = archive.take_reals("weight")?[..] else {
            return Err(ArchiveError("weight".into()));
        };
        (self.weight, self.least_weight) = (weight, least_weight);
        self.steps = archive.take_real("steps")? as i64;
        (self.gram, self.master) = load_master(self.cuts.len(), 1, archive)?;
        Ok(())
    }
}
