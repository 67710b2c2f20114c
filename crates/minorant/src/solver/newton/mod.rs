//! `newton`: Newton's method for smooth convex risks (ours, of the known kind: a truncated Newton method
//! with an exact line search). Each iteration minimises the second-order model of the objective at the best
//! point, J(w) + g·p + p·H p/2, and goes to the minimum of J on the line through the model's minimiser.
//!
//! The linear system H p = −g is solved by a Cholesky factor of H where H costs less than the products of
//! the last iteration did, and else by conjugate gradients (Dembo and Steihaug's rule: as exactly as the
//! distance to the answer deserves). The bound comes from the planes at the iterates: the one at w alone
//! proves ‖∇J(w)‖²/(2λ), which Newton's steps shrink quadratically.

mod model;

use super::{Halt, Run, Solver, Status, Step, load_point, save_point};
use crate::archive::{Archive, ArchiveError};
use crate::bundle::{Bundle, Limits};
use crate::line::{self, Side};
use crate::risk::{Plane, Point};
use minorant_linalg::dense::{axpy, dot};
use model::Model;

/// Conjugate gradients shorten the residual at least so much ...
const FORCING: f64 = 0.1;
/// ... and no further than the gap that it leaves is this share of the gap that is asked for.
const ENOUGH: f64 = 0.2;
/// Products that the first iteration is expected to take.
const EXPECTED: u64 = 8;
/// Most weights whose Hessian is formed.
const MOST_WEIGHTS: usize = 2000;
/// The whole step is taken without a search where the slope at its end is this share of that at its
/// beginning, at most.
const FLAT: f64 = 0.25;
/// Points on a line are combined; longer steps would let their rounding errors grow.
const LONGEST_STEP: f64 = 2.0;

/// Newton's method.
#[derive(Debug)]
pub struct Newton {
    dim: usize,
    limits: Limits,
    bundle: Bundle,
    best: Option<Point>,
    combined: bool,
    /// The gradient of the objective at the best point.
    gradient: Vec<f64>,
    /// Products with the Hessian in the last iteration that was solved by them.
    products: u64,
    /// The weighted mean of the squares of each feature, once it is known.
    squares: Vec<f64>,
}

impl Newton {
    /// A run on a problem with `dim` weights. The risk must be smooth and offer its curvature and lines.
    pub(super) fn new(dim: usize, limits: Limits) -> Self {
        Newton {
            dim,
            limits,
            bundle: Bundle::new(dim, 1, limits),
            best: None,
            combined: false,
            gradient: Vec::new(),
            products: EXPECTED,
            squares: Vec::new(),
        }
    }

    /// Goes to an evaluated point with its plane, and tells objective and bound.
    fn arrive(&mut self, run: &mut Run<'_>, point: Point, planes: Vec<Plane>) -> Result<f64, Halt> {
        let objective = run.objective(&point)?;
        let problem = run.problem;
        self.gradient = vec![0.0; self.dim];
        planes.iter().for_each(|plane| axpy(1.0, &plane.normal, &mut self.gradient));
        problem.regularizer.add_gradient(&point.w, &mut self.gradient);
        run.offer_objective(objective);
        run.master(|| self.bundle.add(&point.w, planes, problem));
        self.best = Some(point);
        let accuracy = run.master_gap();
        let minimum = run.master(|| self.bundle.minimise(problem, accuracy));
        run.offer_bounds(&minimum.bounds, || self.bundle.proof());
        Ok(objective)
    }

    /// The minimiser of the model at the best point, less that point.
    fn direction(&mut self, run: &mut Run<'_>, point: &Point) -> Result<Vec<f64>, Halt> {
        let Some(curvature) = run.problem.risk.curvature() else {
            return Err(Halt::Stop(Status::Stalled));
        };
        let regularizer = run.problem.regularizer;
        let model = Model::new(curvature, point, regularizer, run.cancel())?;
        let d = self.dim as u64;
        let of_factor = curvature.hessian_cost().map(|cost| cost + d * d * d / 48);
        let of_products = self.products * curvature.product_cost();
        let is_small =
            self.dim <= MOST_WEIGHTS && of_factor.is_some_and(|cost| cost <= of_products);
        if is_small && let Some(p) = model.by_factor(run, &self.gradient)? {
            return Ok(p);
        }
        if self.squares.is_empty() {
            run.charge()?;
            self.squares = curvature.mean_squares(run.cancel())?;
        }
        let scales = model.scales(&self.squares);
        // What is left of the gradient leaves a gap of its square over 2 λ.
        let square = regularizer.square_in_metric(&self.gradient);
        let of_target = 2.0 * regularizer.lambda() * ENOUGH * run.target();
        let enough = (FORCING * FORCING * square).max(of_target.min(0.25 * square));
        let (p, products) = model.by_products(run, &self.gradient, &scales, enough)?;
        self.products = products.max(1);
        Ok(p)
    }
}

impl Solver for Newton {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let (point, planes) = run.evaluate_with_planes(run.problem.start_point(), 1)?;
        let objective = self.arrive(run, point, planes)?;
        Ok(Step { kind: "start", objective, length: None })
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        run.check_gap()?;
        run.reserve_final_pass();
        let (Some(best), Some(lines)) = (self.best.take(), run.problem.risk.lines()) else {
            return Err(Halt::Stop(Status::Stalled));
        };
        let direction = self.direction(run, &best);
        self.best = Some(best);
        let (p, best) = (direction?, self.best.as_ref().ok_or(Halt::Stop(Status::Stalled))?);
        let slope = dot(&self.gradient, &p);
        if slope >= 0.0 || !slope.is_finite() {
            return Err(Halt::Stop(Status::Stalled));
        }
        let mut w = best.w.clone();
        axpy(1.0, &p, &mut w);
        // One evaluation: forward at the model's minimiser, backward at a point of the line.
        let trial = run.evaluate(w)?;
        let quadratic = run.problem.regularizer.along(&best.w, &trial.w);
        let mut along = lines.line(best, &trial);
        let at_end = along.slope(1.0, Side::After) + quadratic.slope + quadratic.curvature;
        let is_whole = at_end.abs() <= FLAT * slope.abs();
        let length = if is_whole { 1.0 } else { line::minimise(&mut along, quadratic) };
        drop(along);
        let length = length.min(LONGEST_STEP);
        let next = if is_whole { trial } else { lines.between(best, &trial, length) };
        self.combined = !is_whole;
        let planes = run.planes(&next, 1)?;
        let objective = self.arrive(run, next, planes)?;
        Ok(Step { kind: "descent", objective, length: Some(length) })
    }

    fn best(&self) -> Option<&Point> {
        self.best.as_ref()
    }

    fn best_is_combined(&self) -> bool {
        self.combined
    }

    fn planes(&self) -> usize {
        self.bundle.len()
    }

    fn save(&self, archive: &mut Archive) {
        self.bundle.save(archive);
        if let Some(best) = &self.best {
            save_point("best", best, archive);
        }
        archive.put_reals("gradient", self.gradient.clone());
        archive.put_reals("squares", self.squares.clone());
        archive.put_integers("newton", [u64::from(self.combined), self.products]);
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        self.bundle = Bundle::load(self.dim, 1, self.limits, archive)?;
        self.best = Some(load_point("best", self.dim, archive)?);
        self.gradient = archive.take_reals("gradient")?;
        self.squares = archive.take_reals("squares")?;
        let [combined, products] = archive.take_integers("newton")?[..] else {
            return Err(ArchiveError("newton".into()));
        };
        (self.combined, self.products) = (combined != 0, products);
        if self.gradient.len() != self.dim {
            return Err(ArchiveError("gradient".into()));
        }
        Ok(())
    }
}
