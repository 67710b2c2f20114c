//! The methods, one file each, and what they share: the problem they solve, when they stop, how
//! they end. The loop itself is in `driver`.

mod auto;
mod bcfw;
mod bmrm;
mod build;
mod carried;
mod cccp;
mod checkpoints;
mod driver;
mod dual_cd;
mod finish;
mod gd;
mod hybrid;
mod l1;
mod lbfgs;
mod lmbm;
mod ls_bmrm;
mod method;
mod nbm;
mod needs;
mod newton;
mod newton_cd;
mod nrbm;
mod options;
mod orthant;
mod outcome;
mod owlqn;
mod owlqn_star;
mod planes_after;
mod prox_bmrm;
mod prox_nrbm;
mod quasi_newton;
mod ray_search;
mod run;
mod sgd;
mod sgd_anywhere;
mod sgd_pass;
mod sub_bfgs;
mod subgradient;
mod to_rounding;
mod track;

pub use auto::{DEFAULT_PARTS, MANY_WEIGHTS};
pub use bcfw::Bcfw;
pub use bmrm::Bmrm;
pub(crate) use carried::{Carried, Carrying, Finished, finished};
pub use cccp::Cccp;
pub use checkpoints::Checkpoints;
pub use driver::run;
pub use dual_cd::DualCd;
pub use finish::finish;
pub use gd::Gd;
pub use hybrid::Hybrid;
pub use lbfgs::Lbfgs;
pub use lmbm::Lmbm;
pub use ls_bmrm::LsBmrm;
pub use method::Method;
pub use nbm::Nbm;
pub use newton::Newton;
pub use newton_cd::NewtonCd;
pub use nrbm::{Nrbm, Strategy};
pub use options::{ConvexProblems, LineSearch, MethodError, MethodOptions, Tuning};
pub use orthant::Subgradients;
pub use outcome::{Ending, Outcome, RunError};
pub use owlqn::Owlqn;
pub use owlqn_star::OwlqnStar;
pub use planes_after::PlanesAfter;
pub use prox_bmrm::ProxBmrm;
pub use prox_nrbm::ProxNrbm;
pub use run::Run;
pub use sgd::Sgd;
pub use sgd_anywhere::SgdAnywhere;
pub use sub_bfgs::SubBfgs;
pub use subgradient::Subgradient;
pub use to_rounding::run_to_rounding;
pub(crate) use track::Track;

use crate::archive::{Archive, ArchiveError};
use crate::bundle::Ground;
use crate::certificate::{DualPoint, Term};
use crate::line;
use crate::regularizer::L2;
use crate::risk::{Lines, Outputs, Plane, Point, Risk, RiskError};
use minorant_linalg::dense::norm2;

/// The objective Ω(w) + R(w).
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// The data term.
    pub risk: &'a dyn Risk,
    /// Ω; its λ is 0 where there is no quadratic term.
    pub regularizer: &'a L2,
    /// Where methods start; the regularizer's centre if not given.
    pub start: Option<&'a [f64]>,
}

impl std::fmt::Debug for Problem<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Problem").field("dim", &self.risk.dim()).finish_non_exhaustive()
    }
}

impl<'a> From<Problem<'a>> for Ground<'a> {
    fn from(problem: Problem<'a>) -> Self {
        Ground { regularizer: problem.regularizer, examples: problem.risk.by_slopes() }
    }
}

impl<'a> Problem<'a> {
    /// Ω(w) + R(w).
    pub fn new(risk: &'a dyn Risk, regularizer: &'a L2) -> Self {
        Problem { risk, regularizer, start: None }
    }

    /// The same, started at `w`.
    pub fn starting_at(self, w: Option<&'a [f64]>) -> Self {
        Problem { start: w, ..self }
    }

    /// Where methods start.
    pub fn start_point(&self) -> Vec<f64> {
        let center = || self.regularizer.center(self.risk.dim());
        let mut start = self.start.map_or_else(center, <[f64]>::to_vec);
        self.regularizer.snap(&mut start);
        start
    }

    /// Whether the regularizer is the sum of absolute weights alone.
    pub(crate) fn is_l1(&self) -> bool {
        let regularizer = self.regularizer;
        regularizer.l1() > 0.0 && regularizer.lambda() == 0.0 && regularizer.ranges().is_none()
    }

    /// The minimiser of the objective on the line from one point through another, as far as the bounds of
    /// weights and `longest` allow, and the step to it.
    pub(crate) fn least_between(
        &self,
        lines: &dyn Lines,
        from: &Point,
        through: &Point,
        longest: f64,
    ) -> (Point, f64) {
        let regularizer = self.regularizer;
        let quadratic = regularizer.along(&from.w, &through.w);
        let mut line = lines.line(from, through);
        if regularizer.l1() > 0.0 {
            line.add(regularizer.kinks_along(&from.w, &through.w));
        }
        let longest = regularizer.longest_step(&from.w, &through.w).min(longest);
        let step = line::minimise(&mut line, quadratic).min(longest);
        let mut found = lines.between(from, through, step);
        regularizer.snap(&mut found.w);
        (found, step)
    }

    /// Ω(w).
    pub fn penalty(&self, w: &[f64]) -> f64 {
        self.regularizer.value(w)
    }

    /// J at an evaluated point, rounded up: the exact value is no higher.
    pub fn objective(&self, point: &Point) -> f64 {
        // The penalty is a compensated sum of squares, times λ.
        let penalty = self.penalty(&point.w) * (1.0 + 4.0 * f64::EPSILON);
        let risk = point.value + self.risk.value_error(point);
        (penalty + risk) * (1.0 + f64::EPSILON)
    }
}

/// When a run stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopRules {
    /// Relative gap that is good enough.
    pub tol: f64,
    /// Absolute gap that is good enough.
    pub abs_tol: f64,
    /// Most evaluations.
    pub max_evaluations: Option<u64>,
    /// Most seconds of optimisation.
    pub max_seconds: Option<f64>,
    /// The relative change of the objective in one iteration that ends the run.
    pub least_change: Option<f64>,
    /// Iterations without a lower objective that end the run.
    pub most_idle: Option<u64>,
}

impl Default for StopRules {
    fn default() -> Self {
        StopRules {
            tol: 1e-3,
            abs_tol: 1e-12,
            max_evaluations: None,
            max_seconds: None,
            least_change: None,
            most_idle: None,
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The method's own stop rule held.
    Converged,
    /// The evaluations ran out.
    MaxEvals,
    /// The time ran out.
    MaxSeconds,
    /// Somebody asked it to stop.
    Interrupted,
    /// Rounding allows no more progress, or it is too slow to get anywhere.
    Stalled,
    /// The objective falls for ever.
    Unbounded,
}

impl Status {
    /// All of them, in the order of the numbers that checkpoints hold.
    pub const ALL: [Status; 6] = [
        Status::Converged,
        Status::MaxEvals,
        Status::MaxSeconds,
        Status::Interrupted,
        Status::Stalled,
        Status::Unbounded,
    ];

    /// The number that stands for it in checkpoints.
    pub(crate) fn number(self) -> u64 {
        self as u64
    }

    /// The one that a number in a checkpoint stands for.
    pub(crate) fn of_number(number: u64) -> Option<Status> {
        Status::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// The word for it in reports and files.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Converged => "converged",
            Status::MaxEvals => "max-evals",
            Status::MaxSeconds => "max-seconds",
            Status::Interrupted => "interrupted",
            Status::Stalled => "stalled",
            Status::Unbounded => "unbounded",
        }
    }
}

/// Why a solver's step did not end in a new iterate.
#[derive(Debug, Clone, PartialEq)]
pub enum Halt {
    /// The run ends with this status.
    Stop(Status),
    /// The risk could not be evaluated.
    Failed(RiskError),
}

impl From<RiskError> for Halt {
    fn from(error: RiskError) -> Self {
        match error {
            RiskError::Cancelled => Halt::Stop(Status::Interrupted),
            error => Halt::Failed(error),
        }
    }
}

/// What one iteration did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The kind of step.
    pub kind: &'static str,
    /// The objective at the iteration's point.
    pub objective: f64,
    /// The step's length, where the method has one.
    pub length: Option<f64>,
}

/// A method at work.
pub trait Solver {
    /// Evaluates the start point, unless [`Solver::restart_at`] gave an evaluated one.
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt>;

    /// Gets ready for a run on the same risk with another λ, which is to start at an evaluated
    /// point: planes of the risk stay planes of the risk. Returns whether the method can.
    fn restart_at(&mut self, _point: Point) -> bool {
        false
    }

    /// One iteration.
    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt>;

    /// Tells the bound that the method's planes prove, where a run ends before it would have been
    /// told; most methods tell it in every iteration.
    fn conclude(&mut self, _run: &mut Run<'_>) -> Result<(), Halt> {
        Ok(())
    }

    /// The best point so far, once there is one.
    fn best(&self) -> Option<&Point>;

    /// Whether the best point's outputs were combined from others, so that its objective must be
    /// computed afresh in the end.
    fn best_is_combined(&self) -> bool {
        false
    }

    /// Number of planes held.
    fn planes(&self) -> usize;

    /// The locality of the aggregate plane, where the method keeps localities.
    fn locality(&self) -> Option<f64> {
        None
    }

    /// Writes everything that later iterations depend on.
    fn save(&self, archive: &mut Archive);

    /// Goes back to a saved state.
    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError>;
}

/// The bound that one plane of the whole risk proves by itself. Whether the risk is nowhere negative
/// counts where the regularizer has no quadratic.
fn bound_of_plane(plane: Plane, regularizer: &L2, is_nonnegative: bool) -> f64 {
    let plane = regularizer.plane_in_metric(plane);
    let term = Term {
        weight: 1.0,
        offset: plane.offset,
        length: norm2(&plane.normal).sqrt(),
        normal_error: plane.normal_error,
        offset_error: plane.offset_error,
    };
    let mut point = DualPoint::new(plane.normal.len());
    point.add(term, |sum| sum.copy_from_slice(&plane.normal));
    point.bound_under(regularizer, is_nonnegative).value
}

pub(crate) fn save_point(name: &str, point: &Point, archive: &mut Archive) {
    archive.put_reals(&format!("{name}.w"), point.w.clone());
    archive.put_reals(&format!("{name}.outputs"), point.outputs.gather());
    archive.put_reals(&format!("{name}.value"), vec![point.value, point.error]);
    if !point.intercept.is_empty() {
        archive.put_reals(&format!("{name}.intercept"), point.intercept.clone());
    }
}

pub(crate) fn load_point(
    name: &str,
    dim: usize,
    archive: &mut Archive,
) -> Result<Point, ArchiveError> {
    let w = archive.take_reals(&format!("{name}.w"))?;
    if w.len() != dim {
        return Err(ArchiveError(format!("{name}.w")));
    }
    let outputs = match archive.take_reals(&format!("{name}.outputs"))? {
        none if none.is_empty() => Outputs::None,
        outputs => Outputs::of(outputs),
    };
    let [value, error] = archive.take_reals(&format!("{name}.value"))?[..] else {
        return Err(ArchiveError(format!("{name}.value")));
    };
    let intercept = archive.take_reals(&format!("{name}.intercept")).unwrap_or_default();
    Ok(Point { w, outputs, value, intercept, error })
}
