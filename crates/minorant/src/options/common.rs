//! The options that models of every family take, those that all models take which are solved by the
//! methods of [`crate::solver`], and further ones that several families take. An option that only one
//! family has is declared in that family's own room.

use super::Kind::{BoundsOfFile, Bytes, Choice, File, Flag, Number, NumbersOfFile, Solver, Whole};
use super::Need::{Is, NotGiven};
use super::Range::{Finite, NotNegative, NotNegativeOrInfinite, Positive, Ratio, Share};
use super::{Effect, Group, Key, Named, Taken, named, options};
use crate::bundle::Locality;
use crate::solver::{ConvexProblems, LineSearch, Subgradients};
use std::path::PathBuf;

/// The norm of the weights that is penalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Norm {
    /// λ/2 ‖w‖².
    L2,
    /// λ ‖w‖₁.
    L1,
}

named!(Norm { L2 = "l2" "λ/2 ‖w‖²", L1 = "l1" "λ ‖w‖₁" });

/// An intercept that is not a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intercept {
    /// It is not penalised, and not bounded.
    Free,
}

named!(Intercept { Free = "free" "added to each output, neither penalised nor bounded" });
named!(Locality {
    Path = "path" "with the squared length of the path of the best point",
    Squares = "squares" "with the sum of its squared steps, as in the paper",
    Off = "off",
});
named!(LineSearch {
    Auto = "auto" "exact on kinks where lines are free, else by the Wolfe conditions",
    Exact = "exact" "at the lowest point",
    Wolfe = "wolfe" "by the Wolfe conditions",
});
named!(Subgradients {
    Least = "least" "those of least length",
    Random = "random" "drawn at zero weights",
});
named!(ConvexProblems {
    Primal = "primal" "by the convex bundle method",
    Dual = "dual" "by dual coordinate ascent, for two classes",
});

/// Situations in which parameters of methods matter.
const SUBBFGS: &[&str] = &["--solver", "subbfgs", "--max-evals", "25"];
const WOLFE: &[&str] = &["--solver", "subbfgs", "--search", "wolfe", "--max-evals", "25"];
const PROX: &[&str] = &["--solver", "prox-bmrm", "--lambda", "0.0001", "--tol", "1e-6"];
const NRBM: &[&str] = &["--solver", "nrbm", "--lambda", "0.0001", "--max-evals", "30"];

options! {
    /// Regularization λ of λ/2 ‖w‖² + mean loss
    // A model file keeps the λ that was used among the model's facts.
    pub LAMBDA: Option<f64> = ("lambda", "L", Number(Finite))
        .otherwise("1 / sum of the example weights").effect(Effect::Iterates).probe("0.037");
    /// LIBLINEAR's C = 1/(λ · sum of the example weights), instead of λ
    pub C: Option<f64> = ("c", "C", Number(Finite))
        .needs(&[NotGiven("lambda")]).effect(Effect::Iterates).probe("0.37");
    /// Example weights, one a line; a weight equals so many repetitions
    pub WEIGHTS: Option<Vec<f64>> = ("weights", "FILE", NumbersOfFile)
        .otherwise("1 each").effect(Effect::Data).probe("{FILE}");
    /// How weights are penalised
    pub PENALTY: Norm = ("penalty", "PENALTY", Choice(Norm::CHOICES)).default("l2").probe("l1");
    /// Share r of ‖w‖₁ in the penalty λ (r ‖w‖₁ + (1 − r)/2 ‖w‖²)
    pub L1_RATIO: Option<f64> = ("l1-ratio", "R", Number(Ratio))
        .otherwise("0").needs(&[NotGiven("penalty")])
        .probe_with("0.5", &["--lambda", "0.1"]);
    /// Weights of 0 or more; that of the constant feature may be anything
    pub NONNEGATIVE: bool = ("nonnegative", "", Flag).default("false").probe("");
    /// Bounds on weights, a line a column: its number from 1, the least and the greatest value, with
    /// commas between; nothing where there is no bound
    pub BOUNDS: Option<Vec<f64>> = ("bounds", "FILE", BoundsOfFile)
        .otherwise("none").probe("{FILE}");
    /// Add a constant feature B, regularized like the others
    pub BIAS: Option<f64> = ("bias", "B", Number(Finite)).otherwise("none").probe("1");
    /// An intercept besides the weights
    pub INTERCEPT: Option<Intercept> = ("intercept", "HOW", Choice(Intercept::CHOICES))
        .otherwise("none").needs(&[NotGiven("bias")]).probe("free");
    /// Δ: a line for each true class, a number for each other one, in class order
    pub LABEL_LOSS: Option<Vec<f64>> = ("label-loss", "FILE", NumbersOfFile)
        .otherwise("1 for every wrong one").probe("{FILE}");
    /// Hold out this share of the sequences, and keep the weights that do best on them
    pub VALIDATION_FRACTION: f64 = ("validation-fraction", "F", Number(Share))
        .default("0").probe("0.3");

    /// Solver; a name that the model does not have lists those that it has
    pub SOLVER: String = ("solver", "S", Solver)
        .default("auto").of_method().probe_with("gd", &["--max-evals", "5"]);
    /// Planes to keep, the aggregate included; steps that quasi-Newton methods remember
    pub MEMORY: Option<usize> = ("memory", "M", Whole(1, u64::MAX))
        .otherwise("by the solver: lm-bmrm 200, nrbm 100, lbfgs 15").of_method()
        .probe_with("3", &["--solver", "nrbm", "--lambda", "0.0001", "--max-evals", "30"]);
    /// Plane models of p-bmrm, prox-p-bmrm and ls-p-bmrm, one for each block of rows; rounded down to a
    /// power of two
    pub PARTS: Option<usize> = ("parts", "P", Whole(1, u64::MAX))
        .otherwise("16 below 10000 weights, else 1").of_method()
        .probe_with("3", &["--solver", "p-bmrm"]);
    /// Seed of solvers and starts that draw random numbers
    pub SEED: u64 = ("seed", "N", Whole(0, u64::MAX))
        .default("0").of_method().probe_with("7", &["--solver", "sgd", "--max-evals", "12"]);
    /// The nrbm family: how localities of planes grow with the steps of the best point
    pub LOCALITY: Locality = ("locality", "HOW", Choice(Locality::CHOICES))
        .default("path").of_method()
        .needs(&[Is("solver", &["auto", "nrbm", "nrbm-ls", "nrbm-ls-full", "prox-nrbm"])])
        .probe_with("squares", &["--solver", "nrbm", "--max-evals", "40"]);
    /// subbfgs, sublbfgs, hybrid, subgd: ε of the search for a direction, relative to the objective
    pub DIRECTION_TOL: Option<f64> = ("direction-tol", "EPS", Number(NotNegative))
        .otherwise("1e-5").of_method().probe_with("1", SUBBFGS);
    /// subbfgs, sublbfgs, hybrid, subgd: the most rounds of the search for a direction (k_max)
    pub DIRECTION_LIMIT: Option<u64> = ("direction-limit", "K", Whole(1, u64::MAX))
        .otherwise("1000").of_method().probe_with("1", SUBBFGS);
    /// subbfgs, sublbfgs, hybrid: h, the least curvature that an update of the inverse Hessian is given
    pub CURVATURE_FLOOR: Option<f64> = ("curvature-floor", "H", Number(NotNegative))
        .otherwise("1e-8").of_method().probe_with("1000", SUBBFGS);
    /// The walking methods (subbfgs, lbfgs, gd, ...): how lines are searched
    pub SEARCH: LineSearch = ("search", "HOW", Choice(LineSearch::CHOICES))
        .default("auto").of_method().probe_with("wolfe", SUBBFGS);
    /// The walking methods: c1 of the Wolfe conditions, the share of the slope that a step falls by
    pub WOLFE_DECREASE: Option<f64> = ("wolfe-decrease", "C1", Number(Positive))
        .otherwise("1e-4").of_method().probe_with("0.8", WOLFE);
    /// The walking methods: c2 of the Wolfe conditions, the share of the slope that a step leaves
    pub WOLFE_CURVATURE: Option<f64> = ("wolfe-curvature", "C2", Number(Positive))
        .otherwise("0.9").of_method().probe_with("0.001", WOLFE);
    /// lbfgs: run on a risk with kinks all the same, where it may come to a halt anywhere
    pub DESPITE_KINKS: bool = ("despite-kinks", "", Flag).default("false")
        .of_method().needs(&[Is("solver", &["lbfgs"])]);
    /// owlqn, owlqn-star: which subgradients directions are sought from
    pub SUBGRADIENTS: Subgradients = ("subgradients", "WHICH", Choice(Subgradients::CHOICES))
        .default("least").of_method().needs(&[Is("solver", &["auto", "owlqn", "owlqn-star"])])
        .probe_with("random", &["--solver", "owlqn", "--penalty", "l1", "--lambda", "0.01"]);
    /// prox-bmrm, prox-p-bmrm: K, the step that is always allowed, as a share of the start's length
    pub PROX_DISTANCE: Option<f64> = ("prox-distance", "K", Number(Positive))
        .otherwise("0.01").of_method().probe_with("0.3", PROX);
    /// prox-bmrm, prox-p-bmrm: T, the improvements that are to lead to the tolerance
    pub PROX_ITERATIONS: Option<f64> = ("prox-iterations", "T", Number(Positive))
        .otherwise("100").of_method().probe_with("2", PROX);
    /// cccp: where its convex problems are solved
    pub CONVEX_PROBLEMS: ConvexProblems =
        ("convex-problems", "WHERE", Choice(ConvexProblems::CHOICES))
        .default("primal").of_method().needs(&[Is("solver", &["cccp"])])
        .probe_with("dual", &["--solver", "cccp"]);
    /// Memory for rows, their outputs and planes, or for kernels, such as 500M or 4G; rows of a cache that
    /// do not fit are read from disk at every pass
    pub MAX_MEMORY: Option<u64> = ("max-memory", "BYTES", Bytes)
        .otherwise("half of the machine's")
        .group(Group::Method).effect(Effect::Resources).probe("8");
    /// Threads; the result does not depend on it
    pub THREADS: Option<usize> = ("threads", "N", Whole(1, 1024))
        .otherwise("all cores").group(Group::Method).effect(Effect::Resources).probe("1");

    /// Stop at this relative gap, certified where the problem is convex
    pub TOL: f64 = ("tol", "TOL", Number(NotNegativeOrInfinite))
        .default("1e-3").of_stopping()
        .probe_with("0.9", &["--solver", "nrbm", "--lambda", "0.1"]);
    /// Stop at this absolute gap
    pub ABS_TOL: f64 = ("abs-tol", "TOL", Number(NotNegativeOrInfinite))
        .default("1e-12").of_stopping().probe("1e9");
    /// Stop after this many evaluations (passes over the data; inner optimisations)
    pub MAX_EVALS: Option<u64> = ("max-evals", "N", Whole(1, u64::MAX)).of_stopping().probe("2");
    /// Stop after this many seconds of optimisation
    pub MAX_SECONDS: Option<f64> = ("max-seconds", "S", Number(NotNegativeOrInfinite))
        .of_stopping().probe("0");

    /// lbfgs: stop where the gradient's length is at most this share of the weights'
    pub STOP_GRADIENT: Option<f64> = ("stop-gradient", "R", Number(NotNegative))
        .of_stopping().effect(Effect::Iterates)
        .probe_with("1e9", &["--solver", "lbfgs", "--despite-kinks"]);
    /// Stop where an iteration changes the objective by at most this share of it
    pub STOP_CHANGE: Option<f64> = ("stop-change", "R", Number(NotNegative))
        .of_stopping().probe_with("1e9", &["--solver", "gd", "--max-evals", "12"]);
    /// Stop after this many iterations without a lower objective
    pub STOP_IDLE: Option<u64> = ("stop-idle", "N", Whole(1, u64::MAX))
        .of_stopping().probe_with("1", NRBM);

    /// Save the model here
    pub OUT: Option<PathBuf> = ("out", "FILE", File).of_output().probe("{FILE}");
    /// Save the proof of the bound in a file of its own, whatever its size
    pub PROOF: Option<PathBuf> = ("proof", "FILE", File).of_output().probe("{FILE}");
    /// Write one JSON object per iteration here
    pub TRACE: Option<PathBuf> = ("trace", "FILE.jsonl", File).of_output().probe("{FILE}");
    /// Write an HTML report with the convergence plot here
    pub REPORT: Option<PathBuf> = ("report", "FILE.html", File).of_output().probe("{FILE}");
    /// Start from the weights of this model
    pub START: Option<PathBuf> = ("start", "FILE", File).of_output().probe("{FILE}");
    /// Save the state of the run here now and then
    pub CHECKPOINT: Option<PathBuf> = ("checkpoint", "FILE", File).of_output().probe("{FILE}");
    /// Go on from a checkpoint of the same run
    pub RESUME: Option<PathBuf> = ("resume", "FILE", File).of_output().probe("{FILE}");
    /// Print one JSON object on standard output, and nothing else there
    pub JSON: bool = ("json", "", Flag).of_output();
    /// Show no progress
    pub QUIET: bool = ("quiet", "", Flag).of_output();
}

/// Seed of starts that are drawn at random, whatever the solver.
pub static SEED_OF_STARTS: Key<u64> = SEED
    .spec
    .help("Seed of starts that are drawn at random, and of solvers that draw numbers")
    .key();

macro_rules! taken_by_all {
    (; $($kind:ident $name:ident: $key:ident;)+) => { &[$(Taken::by_all(&$key.spec)),+] };
}

/// The options that models of every family take, for a macro that makes a list or setters of them.
macro_rules! every_run {
    ([$($make:tt)+] $($of:ident)?) => {
        $($make)+! {
            $($of)?;
            whole max_evals: MAX_EVALS;
            f64 max_seconds: MAX_SECONDS;
            whole max_memory: MAX_MEMORY;
            whole threads: THREADS;
            file out: OUT;
            file trace: TRACE;
            file report: REPORT;
            file checkpoint: CHECKPOINT;
            file resume: RESUME;
            file json: JSON;
            file quiet: QUIET;
        }
    };
}
pub(crate) use every_run;

/// The options that models of every family take.
pub static EVERY_RUN: &[Taken] = every_run!([taken_by_all]);

/// The options of regularized models, for a macro that makes a list or setters of them.
macro_rules! regularized {
    ([$($make:tt)+] $($of:ident)?) => {
        $($make)+! {
            $($of)?;
            f64 lambda: LAMBDA;
            f64 c: C;
            numbers weights: WEIGHTS;
            word solver: SOLVER;
            f64 tol: TOL;
            f64 abs_tol: ABS_TOL;
            f64 stop_change: STOP_CHANGE;
            whole stop_idle: STOP_IDLE;
            whole memory: MEMORY;
        }
    };
}
pub(crate) use regularized;

/// Models that weigh losses by constants of their own share no further options.
macro_rules! unregularized {
    ([$($make:tt)+] $of:ident) => {};
}
pub(crate) use unregularized;

/// The options that models take besides [`EVERY_RUN`] where they minimise λ/2 ‖w‖² plus a mean loss.
pub static REGULARIZED: &[Taken] = regularized!([taken_by_all]);
