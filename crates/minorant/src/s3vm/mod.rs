//! Semi-supervised support vector machines with kernels (S³VM): Zhou, Kang & Spanos, "Parametric
//! Dual Maximization for Non-Convex Learning Problems" (AAAI 2017), its rivals, and an exact branch
//! and bound. For fixed labels the problem is a support vector machine, whose dual is the inner
//! problem ([`inner`]); over soft labels its value is convex, and the least objective is its
//! maximum at a vertex. [`fit`] is the door; data sets and files are dealt with elsewhere.
//!
//! ```
//! use minorant::kernel::{Gram, Kernel, Points};
//! use minorant::linalg::Matrix;
//! use minorant::risk::Cancel;
//! use minorant::s3vm::{Balance, Options, S3vmProblem, fit};
//!
//! let rows = Matrix::dense(6, 1, vec![-2.0, -1.9, -1.8, 1.8, 1.9, 2.0].into())?;
//! let points = Points::new(&rows);
//! let gram = Gram::new(Kernel::Rbf { sigma: 0.5 }, &points, 1 << 20)?;
//! let signs = vec![-1, 0, 0, 0, 0, 1];
//! let balance = Balance::Count(2).interval(1, 2, 4)?;
//! let problem = S3vmProblem::new(&gram, signs, 10.0, 1.0, balance);
//! let fit = fit(&problem, &Options::default(), &Cancel::new(), &mut (), &mut ())?;
//! assert_eq!(fit.solution.labels, [false, false, true, true]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod account;
mod ao;
mod balance;
mod bb;
mod candidates;
mod cccp;
mod da;
mod gd;
mod graph;
mod ia;
pub mod inner;
pub mod large;
mod lcs;
mod newton;
mod pairs;
mod pdm;
mod proxy;
mod ramp;
pub mod region;
mod rounds;
mod soft;
mod strict;
mod work;

use account::MOST_COUNTED;
pub(crate) use account::{Account, Answer, Stop};
pub use balance::{Balance, best_labels, soft_labels};
pub(crate) use candidates::generator;
pub(crate) use graph::nearest;
pub use inner::Inner;
pub use ramp::{RAMP_SOLVERS, RampProblem, fit_ramp};
pub(crate) use rounds::{BETTER, Rounds};
pub(crate) use work::bound_of;
pub use work::{S3vmProblem, Solution};

use crate::archive::{Archive, ArchiveError};
use crate::risk::Cancel;
use crate::solver::{Checkpoints, Finished, RunError, Status, StopRules};
use crate::trace::Observer;
use work::Worker;

/// The methods, by the names that users type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Solver {
    /// Parametric dual maximisation.
    #[default]
    Pdm,
    /// Gradient descent on a smoothed objective.
    Gd,
    /// The concave-convex procedure.
    Cccp,
    /// Alternating optimisation.
    Ao,
    /// Local combinatorial search: label switching.
    Lcs,
    /// Annealing of the unlabelled rows' weight.
    Ia,
    /// Deterministic annealing.
    Da,
    /// Branch and bound.
    Bb,
}

impl Solver {
    /// All solvers.
    pub const ALL: [Solver; 8] = [
        Solver::Pdm,
        Solver::Gd,
        Solver::Cccp,
        Solver::Ao,
        Solver::Lcs,
        Solver::Ia,
        Solver::Da,
        Solver::Bb,
    ];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Solver::Pdm => "pdm",
            Solver::Gd => "gd",
            Solver::Cccp => "cccp",
            Solver::Ao => "ao",
            Solver::Lcs => "lcs",
            Solver::Ia => "ia",
            Solver::Da => "da",
            Solver::Bb => "bb",
        }
    }

    /// The method with this name; `auto` is the default one.
    pub fn from_name(name: &str) -> Option<Self> {
        let named = Solver::ALL.into_iter().find(|solver| solver.name() == name);
        named.or_else(|| (name == "auto").then(Solver::default))
    }
}

/// How `pdm` goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Every candidate is polished.
    #[default]
    Search,
    /// Algorithm 1 as printed.
    Strict,
}

/// Everything that a run depends on besides the problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// The method.
    pub solver: Solver,
    /// How `pdm` goes about it.
    pub mode: Mode,
    /// Candidates of a round, as a fraction of the unlabelled rows: the paper's m.
    pub degree: f64,
    /// `cccp`: decisions nearer to 0 than |s| leave a row without label.
    pub ramp: f64,
    /// Seed of the candidates.
    pub seed: u64,
    /// When to stop.
    pub rules: StopRules,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            solver: Solver::Pdm,
            mode: Mode::Search,
            degree: 0.1,
            ramp: -0.2,
            seed: 0,
            rules: StopRules { tol: 1e-6, ..StopRules::default() },
        }
    }
}

impl Options {
    /// By how much inner problems may violate optimality while the search goes on.
    pub(crate) fn search_tol(&self) -> f64 {
        self.rules.tol.clamp(1e-6, 1e-5)
    }

    /// By how much the last one may.
    pub(crate) fn final_tol(&self) -> f64 {
        (1e-3 * self.rules.tol).clamp(1e-11, 1e-7)
    }

    pub(crate) fn check(&self) -> Result<(), S3vmError> {
        if !(self.degree > 0.0 && self.degree <= 1.0) {
            return Err(S3vmError::Degree(self.degree));
        }
        if !(self.ramp > -1.0 && self.ramp <= 0.0) {
            return Err(S3vmError::Ramp(self.ramp));
        }
        Ok(())
    }
}

/// What is wrong with a semi-supervised problem.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum S3vmError {
    /// The balance cannot be met.
    #[error(
        "the balance {asked} cannot be met: expected a number of positive labels from 0 to {unlabelled}, the number of unlabelled rows"
    )]
    Balance {
        /// What was asked for.
        asked: String,
        /// How many rows there are to be labelled.
        unlabelled: usize,
    },
    /// A weight of losses is no positive number.
    #[error("{name} must be a positive number, not {value}")]
    Weight {
        /// C1 or C2.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// The degree is no fraction.
    #[error("the degree must be above 0 and at most 1, not {0}")]
    Degree(f64),
    /// The bend of the ramp loss is out of range.
    #[error("the ramp of cccp must be above -1 and at most 0, not {0}")]
    Ramp(f64),
    /// The ramp loss bends nowhere.
    #[error("the ramp must be a number below 1, not {0}")]
    Bend(f64),
    /// The kernel matrix and the labels have different lengths.
    #[error("expected a label for each of {rows} rows, found {labels}")]
    Lengths {
        /// Rows of the kernel matrix.
        rows: usize,
        /// Labels.
        labels: usize,
    },
    /// Rows with both labels are needed.
    #[error("expected labelled rows of both classes (0 means unlabelled), found one class only")]
    OneClass,
    /// The kernel cannot be taken of the rows.
    #[error("{0}")]
    Kernel(String),
    /// The run was stopped before it had an answer.
    #[error("the run was stopped before its first inner problem was solved")]
    NoAnswer,
    /// The checkpoint cannot be gone on from.
    #[error(transparent)]
    Resume(#[from] RunError),
}

impl From<ArchiveError> for S3vmError {
    fn from(error: ArchiveError) -> Self {
        S3vmError::Resume(error.into())
    }
}

/// What a run found.
#[derive(Debug, Clone)]
pub struct S3vmFit {
    /// The best decision function.
    pub solution: Solution,
    /// A proven bound on the objective of all decision functions, where there is one.
    pub lower_bound: Option<f64>,
    /// The paper's Δ at the end: what the best point of the approximate level set promises before
    /// it is polished. At most 0 where the paper calls a solution optimal.
    pub delta: Option<f64>,
    /// How the run ended.
    pub status: Status,
    /// Inner problems solved.
    pub evaluations: u64,
    /// Solutions that were read off known critical regions instead (Theorem 1), where the method looks
    /// for them.
    pub regions_reused: Option<u64>,
    /// Decision functions compared.
    pub iterations: u64,
    /// Seconds.
    pub seconds: f64,
}

impl Finished for S3vmFit {
    fn status(&self) -> Status {
        self.status
    }

    fn save(&self, archive: &mut Archive) {
        self.solution.save(archive);
        let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
        archive.put_reals("fit", vec![or_nan(self.lower_bound), or_nan(self.delta), self.seconds]);
        archive.put_integers("counts", [self.evaluations, self.iterations, self.status.number()]);
        archive.put_integers("reused", self.regions_reused);
    }
}

impl S3vmFit {
    /// What [`Finished::save`] stored, for data of so many rows, so many of them unlabelled.
    pub(crate) fn load(
        archive: &mut Archive,
        rows: usize,
        unlabelled: usize,
    ) -> Result<Self, ArchiveError> {
        let solution = Solution::load(archive, rows, unlabelled)?;
        let numbers = archive.take_reals("fit")?;
        let counts = archive.take_up_to("counts", 3, MOST_COUNTED)?;
        let (&[lower_bound, delta, seconds], &[evaluations, iterations, status]) =
            (&numbers[..], &counts[..])
        else {
            return Err(ArchiveError("fit".into()));
        };
        let status = Status::of_number(status).filter(|_| seconds.is_finite());
        Ok(S3vmFit {
            solution,
            lower_bound: Some(lower_bound).filter(|bound| !bound.is_nan()),
            delta: Some(delta).filter(|delta| !delta.is_nan()),
            status: status.ok_or_else(|| ArchiveError("counts".into()))?,
            evaluations,
            regions_reused: match archive.take_integers("reused")?[..] {
                [] => None,
                [reused] if reused <= MOST_COUNTED => Some(reused),
                _ => return Err(ArchiveError("reused".into())),
            },
            iterations,
            seconds,
        })
    }
}

/// Minimises the objective of a semi-supervised problem. Searches are resumed where they were, down
/// to the last bit; the short methods begin again.
pub fn fit(
    problem: &S3vmProblem<'_>,
    options: &Options,
    cancel: &Cancel,
    observer: &mut dyn Observer,
    checkpoints: &mut dyn Checkpoints,
) -> Result<S3vmFit, S3vmError> {
    options.check()?;
    check(problem.c1, problem.c2, &problem.signs)?;
    let (rows, labels) = (problem.gram.order(), problem.signs.len());
    if rows != labels {
        return Err(S3vmError::Lengths { rows, labels });
    }
    let most = options.rules.max_evaluations.unwrap_or(u64::MAX);
    // One inner problem is kept for the last solve, to a finer tolerance.
    let mut account = Account::new(observer, checkpoints, most.saturating_sub(1));
    account.truth.clone_from(&problem.truth);
    let unknown = problem.unlabelled.len();
    let saved = account.resume(most, |archive| Solution::load(archive, rows, unknown))?;
    let clock = account.clock;
    let stop = Stop::new(cancel, clock, options.rules.max_seconds);
    let ended = if most <= 1 || problem.unlabelled.is_empty() {
        account.keep(|_| ());
        Ok(())
    } else {
        match (options.solver, options.mode) {
            (Solver::Pdm, Mode::Search) => {
                let state = pdm::State::resume(saved)?;
                pdm::run(problem, options, &stop, &mut account, state)
            }
            (Solver::Pdm, Mode::Strict) => {
                let state = strict::State::resume(saved, problem, options)?;
                strict::run(problem, options, &stop, &mut account, state)
            }
            (Solver::Bb, _) => {
                let state = bb::State::resume(saved, problem)?;
                bb::run(problem, options, &stop, &mut account, state)
            }
            // These take seconds: they are not gone on with, but made again.
            (solver, _) => {
                account.keep(|_| ());
                let tol = options.search_tol();
                let mut worker = Worker::new(problem, &stop, account.left(), tol);
                let ended = run_local(solver, &mut worker, options);
                account.absorb(&mut worker);
                ended
            }
        }
    };
    let ended = ended.and(stop.was_heeded());
    account.close(ended);
    let mut status = ended.err().unwrap_or(Status::Converged);
    account.limit = most;
    let (solution, cut) = finish(problem, options, &stop, &mut account)?;
    if status == Status::Converged {
        status = cut.err().unwrap_or(status);
    }
    let mut lower_bound = account.lower_bound;
    if problem.unlabelled.is_empty() {
        // Without a choice of labels the problem is convex, and its inner bound is the bound.
        lower_bound = Some(solution.objective() - solution.local_gap).filter(|b| b.is_finite());
    } else if most <= 1 {
        status = Status::MaxEvals;
    }
    Ok(S3vmFit {
        solution,
        lower_bound,
        delta: account.delta,
        status,
        evaluations: account.evaluations,
        regions_reused: (options.solver == Solver::Pdm).then_some(account.reused),
        iterations: account.iterations,
        seconds: clock.seconds(),
    })
}

/// Refuses weights and labels that make no problem.
fn check(c1: f64, c2: f64, signs: &[i8]) -> Result<(), S3vmError> {
    for (name, value) in [("C1", c1), ("C2", c2)] {
        if !(value > 0.0 && value.is_finite()) {
            return Err(S3vmError::Weight { name, value });
        }
    }
    if signs.contains(&1) && signs.contains(&-1) { Ok(()) } else { Err(S3vmError::OneClass) }
}

/// Runs a local method.
fn run_local(solver: Solver, worker: &mut Worker<'_>, options: &Options) -> Result<(), Status> {
    match solver {
        Solver::Gd => gd::run(worker),
        Solver::Cccp => cccp::run(worker, options.ramp),
        Solver::Lcs => lcs::run(worker),
        Solver::Ia => ia::run(worker),
        Solver::Da => da::run(worker),
        Solver::Ao | Solver::Pdm | Solver::Bb => ao::run(worker),
    }
}

/// Solves the inner problem of the best labels to a fine tolerance, and measures its answer at
/// exactly the coefficients that it has; with what has cut that short, if anything.
fn finish(
    problem: &S3vmProblem<'_>,
    options: &Options,
    stop: &Stop,
    account: &mut Account<'_, Solution>,
) -> Result<(Solution, Result<(), Status>), S3vmError> {
    let before = account.best.clone();
    let last = stop.for_the_last();
    let mut inner = Inner::new(problem.gram).stopped_by(&last);
    let share = |is: bool| if is { 1.0 } else { 0.0 };
    let (plus, minus) = match &before {
        Some(best) => problem.weights(|j| share(best.labels[j]), |j| share(!best.labels[j])),
        None => problem.weights(|_| 0.0, |_| 0.0),
    };
    if account.left() > 0 {
        account.evaluations += 1;
        inner.set_weights(&plus, &minus);
        if let Some(best) = &before {
            inner.start_at(&best.beta);
        }
        if inner.is_cut()
            && let Some(best) = before
        {
            let bound = bound_of(&best.beta, best.regularizer, &plus, &minus);
            let local_gap =
                bound.map_or(f64::INFINITY, |bound| (best.objective() - bound).max(0.0));
            return Ok((Solution { local_gap, ..best }, last.check()));
        }
        inner.solve(options.final_tol());
        let cut = if inner.is_cut() { last.check() } else { Ok(()) };
        inner.refresh();
        let solution = measure(problem, &inner);
        account.tell(solution.objective(), true);
        // A coarser solve may have come out a rounding error lower.
        let solution = match before {
            Some(best) if best.objective() < solution.objective() => {
                Solution { local_gap: (best.objective() + inner.dual()).max(0.0), ..best }
            }
            _ => solution,
        };
        return Ok((solution, cut));
    }
    before.map(|best| (best, Ok(()))).ok_or(S3vmError::NoAnswer)
}

/// The objective of an inner solution, and what the bound of its labels leaves.
fn measure(problem: &S3vmProblem<'_>, inner: &Inner<'_>) -> Solution {
    let (risk, labels) = problem.loss(|i| inner.decision(i));
    let regularizer = 0.5 * inner.square();
    Solution {
        beta: inner.beta().to_vec(),
        bias: inner.bias(),
        regularizer,
        risk,
        labels,
        local_gap: (regularizer + risk + inner.dual()).max(0.0),
    }
}
