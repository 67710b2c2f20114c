//! `newton-cd`: Newton's method for λ‖w‖₁ + R(w) with a smooth risk (ours; of the family of GLMNET
//! by Friedman et al. and newGLMNET by Yuan et al.). Each iteration minimises the second-order
//! model of the risk plus λ‖w‖₁ over a working set of weights by coordinate descent, and searches
//! the line to that minimiser. Weights outside the working set stay zero, and coordinate steps put
//! weights back to exactly zero.
//!
//! Where a working set is small its Hessian is formed once an iteration (`models::WithHessian`), and
//! coordinate steps read no data. Every evaluation gives a bound (`l1::visit`), and as Newton steps
//! drive the slopes of all weights in use to λ, the scaled dual point becomes exact.

mod descent;
mod models;

use super::{Halt, Run, Solver, Status, Step, l1, load_point, save_point};
use crate::archive::{Archive, ArchiveError};
use crate::risk::{Curvature, Lines, Point};
use descent::{Meter, minimise};
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
/// The Hessian of a working set may cost as much as this many sweeps over its columns.
const HESSIAN_SWEEPS: u64 = 60;

/// Newton's method with coordinate descent.
#[derive(Debug)]
pub struct NewtonCd {
    dim: usize,
    /// The point, and the risk's gradient there.
    current: Option<(Point, Vec<f64>)>,
    /// Entries of the data that coordinate steps have read and that are not yet counted as part
    /// of an evaluation.
    entries_read: u64,
}

impl NewtonCd {
    /// A run on a problem with `dim` weights. The risk must offer its curvature and lines.
    pub fn new(dim: usize) -> Self {
        NewtonCd { dim, current: None, entries_read: 0 }
    }
}

/// The weights to work on: those in use, and the zero weights with the largest slopes.
fn working_set(w: &[f64], gradient: &[f64], lambda: f64) -> Vec<usize> {
    let used = w.iter().filter(|w| **w != 0.0).count();
    let mut entering: Vec<(f64, usize)> = (0..w.len())
        .filter(|&at| w[at] == 0.0 && gradient[at].abs() > lambda)
        .map(|at| (gradient[at].abs(), at))
        .collect();
    let most = used.max(LEAST_ENTERING);
    if entering.len() > most {
        entering.select_nth_unstable_by(most, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        entering.truncate(most);
    }
    let in_use = (0..w.len()).filter(|&at| w[at] != 0.0);
    let mut set: Vec<usize> = in_use.chain(entering.into_iter().map(|(_, at)| at)).collect();
    set.sort_unstable();
    set
}

/// The model's minimiser over the working set.
fn model_minimiser(
    curvature: &dyn Curvature,
    point: &Point,
    gradient: &[f64],
    lambda: f64,
    accuracy: f64,
    meter: &mut Meter<'_, '_>,
) -> Result<Vec<f64>, Halt> {
    let set = working_set(&point.w, gradient, lambda);
    let second = curvature.second_derivatives(point);
    let slopes: Vec<f64> = set.iter().map(|&at| gradient[at]).collect();
    let mut z: Vec<f64> = set.iter().map(|&at| point.w[at]).collect();
    let columns = WorkingColumns::new(curvature.columns(), &set, curvature.outputs());
    meter.read(columns.entries())?;
    let floors = columns.floors(&second);
    // The Hessian may take as much memory as the data.
    let fits = set.len() * set.len() <= 2 * curvature.columns().entries() + (1 << 16);
    if fits && columns.hessian_cost() <= HESSIAN_SWEEPS * columns.sweep_cost() {
        let mut model = WithHessian::new(&columns, &second, slopes, meter.cancel())?;
        minimise(&mut model, &mut z, &floors, lambda, accuracy, meter)?;
    } else if curvature.outputs() == 1 {
        let mut model = OneOutput::new(&columns, second.diagonal, slopes);
        minimise(&mut model, &mut z, &floors, lambda, accuracy, meter)?;
    } else {
        let mut model = ManyOutputs::new(&columns, second, slopes);
        minimise(&mut model, &mut z, &floors, lambda, accuracy, meter)?;
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
        let (point, plane) = l1::visit(run, run.problem.start_point())?;
        let objective = run.objective(&point)?;
        run.offer_objective(objective);
        self.current = Some((point, plane.normal));
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
        let lambda = run.problem.l1;
        let before = run.problem.objective(point);
        let steepest = l1::largest(&l1::pseudo_gradient(&point.w, gradient, lambda));
        // Slopes that differ from λ by v put about v ‖w‖₁ between the objective and the bound.
        let size: f64 = point.w.iter().map(|w| w.abs()).sum();
        let enough = ENOUGH * run.target() / size.max(f64::MIN_POSITIVE);
        let accuracy = (FORCING * steepest).max(enough.min(0.5 * steepest));
        let data = curvature.columns().entries();
        let mut meter = Meter::new(run, data, self.entries_read);
        let to = model_minimiser(curvature, point, gradient, lambda, accuracy, &mut meter)?;
        let entries_read = meter.rest();
        let slope = l1::slope_towards(&point.w, &to, gradient, lambda);
        if slope >= 0.0 {
            // The model's minimiser is where we are, as far as numbers can tell.
            return Err(Halt::Stop(Status::Stalled));
        }
        let (mut trial, mut plane) = l1::visit(run, to)?;
        let mut length = 1.0;
        let rounding = 4.0 * f64::EPSILON * before.abs();
        let mut objective = run.problem.objective(&trial);
        if objective > before + SUFFICIENT * slope + rounding {
            let Some((w, step)) = backtrack(run, lines, point, &trial, slope) else {
                return Err(Halt::Stop(Status::Stalled));
            };
            length = step;
            (trial, plane) = l1::visit(run, w)?;
            objective = run.objective(&trial)?;
        }
        run.offer_objective(objective);
        self.current = Some((trial, plane.normal));
        self.entries_read = entries_read;
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
        archive.put_integers("entries_read", [self.entries_read]);
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        let point = load_point("current", self.dim, archive)?;
        let gradient = archive.take_reals("current.gradient")?;
        if gradient.len() != self.dim {
            return Err(ArchiveError("current.gradient".into()));
        }
        self.current = Some((point, gradient));
        self.entries_read = archive.take_integer("entries_read")?;
        Ok(())
    }
}
