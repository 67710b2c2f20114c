//! `newton-cd`: Newton's method for a smooth risk under λ₁‖w‖₁ or bounds on single weights, with a
//! quadratic or without (ours; of the family of GLMNET by Friedman et al. and newGLMNET by Yuan et al.).
//! Each iteration minimises the second-order model of the risk plus the regularizer over a working set of
//! weights by coordinate descent, and searches the line to that minimiser. Weights outside the working set
//! stay where they are, at zero or at a bound, and coordinate steps put weights back to exactly there.
//!
//! Where a working set is small its Hessian is formed once an iteration (`models::WithHessian`), and
//! coordinate steps read no data. Every evaluation gives a bound (`l1::visit`), and as Newton steps
//! drive the slopes of all weights in use to λ, the scaled dual point becomes exact.
//!
//! Losses that have a slope but no curvature (Huber's, far from their bottom) tell a second-order model
//! nothing of how far to go. Where steps get short, parabolas above such losses take the place of their
//! second derivatives, as in iteratively reweighted least squares.

mod descent;
mod models;

use super::{Halt, Run, Solver, Status, Step, l1, load_point, save_point};
use crate::archive::{Archive, ArchiveError};
use crate::regularizer::L2;
use crate::risk::{Curvature, Lines, Point, SecondDerivatives};
use descent::{Kinks, Meter, minimise};
use models::{ManyOutputs, OneOutput, WithHessian, WorkingColumns};

/// Zero weights that may enter the working set at once, at least; else as many as are in use.
const LEAST_ENTERING: usize = 256;
/// The model is minimised until its slopes are this share of the objective's ...
const FORCING: f64 = 0.05;
/// ... or this share of what the gap that is asked for allows.
const ENOUGH: f64 = 0.2;
/// The share of the slope that a step's decrease must reach.
const SUFFICIENT: f64 = 0.01;
/// Halvings of a step before rounding counts as the reason.
const HALVINGS: u32 = 40;
/// A step that is shortened to less than this says that the model was not curved enough.
const SHORT: f64 = 0.25;
/// The Hessian of a working set may cost as much as this many sweeps over its columns.
const HESSIAN_SWEEPS: u64 = 60;

/// Newton's method with coordinate descent.
#[derive(Debug)]
pub struct NewtonCd {
    dim: usize,
    /// The point, and the gradient of risk and quadratic there.
    current: Option<(Point, Vec<f64>)>,
    /// Entries of the data that coordinate steps have read and that are not yet counted as part
    /// of an evaluation.
    entries_read: u64,
    /// Whether the last step had to be short, so that losses which are straight are to be held by parabolas
    /// above them.
    needs_parabolas: bool,
}

impl NewtonCd {
    /// A run on a problem with `dim` weights. The risk must offer its curvature and lines.
    pub fn new(dim: usize) -> Self {
        NewtonCd { dim, current: None, entries_read: 0, needs_parabolas: false }
    }
}

/// The slope of least length in a weight of the objective.
fn slope_at(regularizer: &L2, w: &[f64], gradient: &[f64], at: usize) -> f64 {
    l1::slope_within(w[at], gradient[at], regularizer.l1(), regularizer.range(at))
}

/// The weights to work on: those in use, and the weights at 0 or at a bound with the largest slopes.
fn working_set(regularizer: &L2, w: &[f64], gradient: &[f64]) -> Vec<usize> {
    let is_in_use = |at: &usize| {
        let (least, greatest) = regularizer.range(*at);
        w[*at] != 0.0 && least < w[*at] && w[*at] < greatest
    };
    let used = (0..w.len()).filter(is_in_use).count();
    let size = |at: usize| (slope_at(regularizer, w, gradient, at).abs(), at);
    let others = (0..w.len()).filter(|at| !is_in_use(at));
    let mut entering: Vec<(f64, usize)> =
        others.map(size).filter(|(size, _)| *size > 0.0).collect();
    // Without absolute weights nothing holds weights at 0.
    let most = if regularizer.l1() > 0.0 { used.max(LEAST_ENTERING) } else { usize::MAX };
    if entering.len() > most {
        let size = |at: usize| gradient[at].abs();
        let order = |a: &(f64, usize), b: &(f64, usize)| {
            size(b.1).total_cmp(&size(a.1)).then(a.1.cmp(&b.1))
        };
        entering.select_nth_unstable_by(most, order);
        entering.truncate(most);
    }
    let in_use = (0..w.len()).filter(is_in_use);
    let mut set: Vec<usize> = in_use.chain(entering.into_iter().map(|(_, at)| at)).collect();
    set.sort_unstable();
    set
}

/// The model's minimiser over the working set.
fn model_minimiser(
    curvature: &dyn Curvature,
    regularizer: &L2,
    (point, gradient): (&Point, &[f64]),
    second: SecondDerivatives,
    accuracy: f64,
    meter: &mut Meter<'_, '_>,
) -> Result<Vec<f64>, Halt> {
    let set = working_set(regularizer, &point.w, gradient);
    let kinks = Kinks {
        lambda: regularizer.l1(),
        ranges: regularizer.ranges().map(|_| set.iter().map(|&at| regularizer.range(at)).collect()),
        floors: Vec::new(),
    };
    let ridges: Vec<f64> = match regularizer.lambda() > 0.0 {
        true => set.iter().map(|&at| regularizer.second_derivative(at)).collect(),
        false => vec![0.0; set.len()],
    };
    let slopes: Vec<f64> = set.iter().map(|&at| gradient[at]).collect();
    let mut z: Vec<f64> = set.iter().map(|&at| point.w[at]).collect();
    let columns = WorkingColumns::new(curvature.columns(), &set, curvature.outputs());
    meter.read(columns.entries())?;
    let kinks = Kinks { floors: columns.floors(&second), ..kinks };
    // The Hessian may take as much memory as the data.
    let fits = set.len() * set.len() <= 2 * curvature.columns().entries() + (1 << 16);
    if fits && columns.hessian_cost() <= HESSIAN_SWEEPS * columns.sweep_cost() {
        let data = curvature.columns().entries() as u64;
        let mut reduction = curvature.reduction(&second, meter.cancel())?;
        meter.read(data * reduction.len() as u64)?;
        for r in &mut reduction {
            *r = set.iter().map(|&at| r[at]).collect();
        }
        let cancel = meter.cancel();
        let mut model = WithHessian::new(&columns, &second, slopes, &ridges, &reduction, cancel)?;
        minimise(&mut model, &mut z, &kinks, accuracy, meter)?;
    } else if curvature.outputs() == 1 {
        let mut model = OneOutput::new(&columns, second.diagonal, slopes, ridges);
        minimise(&mut model, &mut z, &kinks, accuracy, meter)?;
    } else {
        let mut model = ManyOutputs::new(&columns, second, slopes, ridges);
        minimise(&mut model, &mut z, &kinks, accuracy, meter)?;
    }
    let mut w = point.w.clone();
    set.iter().zip(z).for_each(|(&at, z)| w[at] = z);
    Ok(w)
}

/// The first of the steps 1/2, 1/4, … from `from` to `to` that decreases J enough.
fn backtrack(
    run: &Run<'_>,
    lines: &dyn Lines,
    from: &Point,
    to: &Point,
    slope: f64,
) -> Option<(Vec<f64>, f64)> {
    let before = run.problem.objective(from);
    let mut step = 1.0;
    for _ in 0..HALVINGS {
        step *= 0.5;
        let point = lines.between(from, to, step);
        if run.problem.objective(&point) <= before + SUFFICIENT * step * slope {
            return Some((point.w, step));
        }
    }
    None
}

impl Solver for NewtonCd {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let (point, gradient) = l1::visit(run, run.problem.start_point())?;
        let objective = run.objective(&point)?;
        run.offer_objective(objective);
        self.current = Some((point, gradient));
        Ok(Step { kind: "start", objective, length: None })
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        run.check_gap()?;
        let risk = run.problem.risk;
        let (Some((point, gradient)), Some(curvature), Some(lines)) =
            (&self.current, risk.curvature(), risk.lines())
        else {
            return Err(Halt::Stop(Status::Stalled));
        };
        let regularizer = run.problem.regularizer;
        let lambda = regularizer.l1();
        let before = run.problem.objective(point);
        let slope = |at: usize| slope_at(regularizer, &point.w, gradient, at);
        let slopes: Vec<f64> = (0..self.dim).map(slope).collect();
        let steepest = l1::largest(&slopes);
        // Slopes that differ from λ by v put about v ‖w‖₁ between the objective and the bound.
        let size: f64 = point.w.iter().map(|w| w.abs()).sum();
        let mut enough = ENOUGH * run.target() / size.max(f64::MIN_POSITIVE);
        if regularizer.lambda() > 0.0 {
            // With a quadratic slopes leave a gap of their square over 2 λ.
            let count = slopes.iter().filter(|slope| **slope != 0.0).count().max(1) as f64;
            enough =
                enough.max((2.0 * regularizer.lambda() * ENOUGH * run.target() / count).sqrt());
        }
        let accuracy = (FORCING * steepest).max(enough.min(0.5 * steepest));
        let data = curvature.columns().entries();
        let mut meter = Meter::new(run, data, self.entries_read);
        // Where many losses are straight, those that are curved tell little of how far to go.
        let above = if self.needs_parabolas { curvature.parabolas(point) } else { None };
        let mut has_parabolas = above.is_some();
        let second = match above {
            Some(above) => above,
            None => curvature.second_derivatives(point, meter.cancel())?,
        };
        let from = (point, gradient.as_slice());
        let mut to = model_minimiser(curvature, regularizer, from, second, accuracy, &mut meter)?;
        let mut slope = l1::slope_towards(&point.w, &to, gradient, lambda);
        if slope >= 0.0
            && !has_parabolas
            && let Some(second) = curvature.parabolas(point)
        {
            has_parabolas = true;
            to = model_minimiser(curvature, regularizer, from, second, accuracy, &mut meter)?;
            slope = l1::slope_towards(&point.w, &to, gradient, lambda);
        }
        let entries_read = meter.rest();
        if slope >= 0.0 {
            // The model's minimiser is where we are, as far as numbers can tell.
            return Err(Halt::Stop(Status::Stalled));
        }
        let (mut trial, mut there) = l1::visit(run, to)?;
        let mut length = 1.0;
        let rounding = 4.0 * f64::EPSILON * before.abs();
        let mut objective = run.problem.objective(&trial);
        // An objective that is no number is none that is low enough.
        let is_low = objective <= before + SUFFICIENT * slope + rounding;
        if !is_low {
            let Some((mut w, step)) = backtrack(run, lines, point, &trial, slope) else {
                if !has_parabolas && !self.needs_parabolas && curvature.parabolas(point).is_some() {
                    self.needs_parabolas = true;
                    self.entries_read = entries_read;
                    return Ok(Step { kind: "null", objective: before, length: Some(0.0) });
                }
                return Err(Halt::Stop(Status::Stalled));
            };
            regularizer.snap(&mut w);
            length = step;
            (trial, there) = l1::visit(run, w)?;
            objective = run.objective(&trial)?;
        }
        run.offer_objective(objective);
        self.current = Some((trial, there));
        self.entries_read = entries_read;
        self.needs_parabolas = if has_parabolas { length < 1.0 } else { length < SHORT };
        Ok(Step { kind: "descent", objective, length: Some(length) })
    }

    fn best(&self) -> Option<&Point> {
        self.current.as_ref().map(|(point, _)| point)
    }

    fn planes(&self) -> usize {
        0
    }

    fn save(&self, archive: &mut Archive) {
        if let Some((point, gradient)) = &self.current {
            save_point("current", point, archive);
            archive.put_reals("current.gradient", gradient.clone());
        }
        archive.put_integers("entries_read", [self.entries_read, u64::from(self.needs_parabolas)]);
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        let point = load_point("current", self.dim, archive)?;
        let gradient = archive.take_reals("current.gradient")?;
        if gradient.len() != self.dim {
            return Err(ArchiveError("current.gradient".into()));
        }
        self.current = Some((point, gradient));
        let [entries_read, needs_parabolas] = archive.take_integers("entries_read")?[..] else {
            return Err(ArchiveError("entries_read".into()));
        };
        (self.entries_read, self.needs_parabolas) = (entries_read, needs_parabolas != 0);
        Ok(())
    }
}
