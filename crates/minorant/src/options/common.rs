//! The options that models of every family take, and those that all models take which are solved by
//! the methods of [`crate::solver`]. What only one family knows stands in the family's own room.

use super::{Effect, Group, Key, Kind, Need, OPTION, OptionSpec, Probe, Range, Taken, named};
use crate::bundle::Locality;
use crate::solver::ConvexProblems;

/// The norm of the weights that is penalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Norm {
    /// λ/2 ‖w‖².
    L2,
    /// λ ‖w‖₁.
    L1,
}

named!(Norm { L2 = "l2", L1 = "l1" });
named!(Locality { Path = "path", Squares = "squares", Off = "off" });
named!(ConvexProblems { Primal = "primal", Dual = "dual" });

/// λ.
pub static LAMBDA: Key<Option<f64>> = Key::new(OptionSpec {
    name: "lambda",
    value_name: "L",
    kind: Kind::Number(Range::Finite),
    otherwise: "1 / sum of the example weights",
    help: "Regularization λ of λ/2 ‖w‖² + mean loss",
    // The facts of a model hold the λ that this comes to.
    effect: Effect::Iterates,
    probe: Probe::value("0.037"),
    ..OPTION
});

/// The same as LIBLINEAR says it.
pub static C: Key<Option<f64>> = Key::new(OptionSpec {
    name: "c",
    value_name: "C",
    kind: Kind::Number(Range::Finite),
    help: "The same as LIBLINEAR's C = 1/(λ · sum of the example weights)",
    needs: &[Need::NotGiven("lambda")],
    effect: Effect::Iterates,
    probe: Probe::value("0.37"),
    ..OPTION
});

/// One weight for each example.
pub static WEIGHTS: Key<Option<Vec<f64>>> = Key::new(OptionSpec {
    name: "weights",
    value_name: "FILE",
    kind: Kind::NumbersOfFile,
    otherwise: "1 each",
    help: "Example weights, one a line; a weight equals so many repetitions",
    effect: Effect::Data,
    probe: Probe::value("{FILE}"),
    ..OPTION
});

/// How weights are penalised.
pub static PENALTY: Key<Norm> = Key::new(OptionSpec {
    name: "penalty",
    value_name: "PENALTY",
    kind: Kind::Choice(&[("l2", "λ/2 ‖w‖²"), ("l1", "λ ‖w‖₁")]),
    default: Some("l2"),
    help: "How weights are penalised",
    probe: Probe::value("l1"),
    ..OPTION
});

/// A constant feature of every row or token.
pub static BIAS: Key<Option<f64>> = Key::new(OptionSpec {
    name: "bias",
    value_name: "B",
    kind: Kind::Number(Range::Finite),
    otherwise: "none",
    help: "Add a constant feature B, regularized like the others",
    probe: Probe::value("1"),
    ..OPTION
});

/// What wrong labels cost.
pub static LABEL_LOSS: Key<Option<Vec<f64>>> = Key::new(OptionSpec {
    name: "label-loss",
    value_name: "FILE",
    kind: Kind::NumbersOfFile,
    otherwise: "1 for every wrong one",
    help: "Δ: a line for each true class, a number for each other one, in class order",
    probe: Probe::value("{FILE}"),
    ..OPTION
});

/// The name of the solver.
pub static SOLVER: Key<String> = Key::new(OptionSpec {
    name: "solver",
    value_name: "S",
    kind: Kind::Solver,
    default: Some("auto"),
    help: "Solver; a name that the model does not have lists those that it has",
    group: Group::Method,
    effect: Effect::Iterates,
    probe: Probe::with("gd", &["--max-evals", "5"]),
    ..OPTION
});

/// Planes, or steps, to remember.
pub static MEMORY: Key<Option<usize>> = Key::new(OptionSpec {
    name: "memory",
    value_name: "M",
    kind: Kind::Whole(1, u64::MAX),
    otherwise: "by the solver: lm-bmrm 200, nrbm 100, lbfgs 15",
    help: "Planes to keep, the aggregate included; steps that quasi-Newton methods remember",
    group: Group::Method,
    effect: Effect::Iterates,
    probe: Probe::with("3", &["--solver", "nrbm", "--lambda", "0.0001", "--max-evals", "30"]),
    ..OPTION
});

/// Plane models.
pub static PARTS: Key<Option<usize>> = Key::new(OptionSpec {
    name: "parts",
    value_name: "P",
    kind: Kind::Whole(1, u64::MAX),
    otherwise: "16 below 10000 weights, else 1",
    help: "Plane models of p-bmrm, prox-p-bmrm and ls-p-bmrm, one for each block of rows",
    group: Group::Method,
    effect: Effect::Iterates,
    probe: Probe::with("3", &["--solver", "p-bmrm"]),
    ..OPTION
});

/// The seed of whatever is drawn at random.
pub static SEED: Key<u64> = Key::new(OptionSpec {
    name: "seed",
    value_name: "N",
    kind: Kind::Whole(0, u64::MAX),
    default: Some("0"),
    help: "Seed of solvers and starts that draw random numbers",
    group: Group::Method,
    effect: Effect::Iterates,
    probe: Probe::with("7", &["--solver", "sgd", "--max-evals", "12"]),
    ..OPTION
});

/// The seed of starts that are drawn at random, whatever the solver.
pub static SEED_OF_STARTS: Key<u64> = Key::new(OptionSpec {
    help: "Seed of starts that are drawn at random, and of solvers that draw numbers",
    ..SEED.spec
});

/// How localities of planes grow.
pub static LOCALITY: Key<Locality> = Key::new(OptionSpec {
    name: "locality",
    value_name: "HOW",
    kind: Kind::Choice(&[
        ("path", "with the squared length of the path of the best point"),
        ("squares", "with the sum of its squared steps, as in the paper"),
    ]),
    default: Some("path"),
    help: "The nrbm family: how localities of planes grow with the steps of the best point",
    group: Group::Method,
    needs: &[Need::Is("solver", &["auto", "nrbm", "nrbm-ls", "nrbm-ls-full", "prox-nrbm"])],
    effect: Effect::Iterates,
    probe: Probe::with("squares", &["--solver", "nrbm", "--max-evals", "40"]),
    ..OPTION
});

/// How `cccp` solves its convex problems.
pub static CONVEX_PROBLEMS: Key<ConvexProblems> = Key::new(OptionSpec {
    name: "convex-problems",
    value_name: "WHERE",
    kind: Kind::Choice(&[
        ("primal", "by the convex bundle method"),
        ("dual", "by dual coordinate ascent, for two classes"),
    ]),
    default: Some("primal"),
    help: "cccp: where its convex problems are solved",
    group: Group::Method,
    needs: &[Need::Is("solver", &["cccp"])],
    effect: Effect::Iterates,
    probe: Probe::with("dual", &["--solver", "cccp"]),
    ..OPTION
});

/// The share of examples that is held out.
pub static VALIDATION_FRACTION: Key<f64> = Key::new(OptionSpec {
    name: "validation-fraction",
    value_name: "F",
    kind: Kind::Number(Range::Share),
    default: Some("0"),
    help: "Hold out this share of the sequences, and keep the weights that do best on them",
    probe: Probe::value("0.3"),
    ..OPTION
});

/// Bytes that planes and kernels may take.
pub static MAX_MEMORY: Key<Option<u64>> = Key::new(OptionSpec {
    name: "max-memory",
    value_name: "BYTES",
    kind: Kind::Bytes,
    otherwise: "a quarter of the machine's",
    help: "Memory for planes or kernels, such as 500M or 4G",
    group: Group::Method,
    effect: Effect::Resources,
    probe: Probe::value("8"),
    ..OPTION
});

/// The relative gap to stop at.
pub static TOL: Key<f64> = Key::new(OptionSpec {
    name: "tol",
    value_name: "TOL",
    kind: Kind::Number(Range::NotNegativeOrInfinite),
    default: Some("1e-3"),
    help: "Stop at this relative gap, certified where the problem is convex",
    group: Group::Stopping,
    effect: Effect::Extent,
    probe: Probe::value("0.9"),
    ..OPTION
});

/// The absolute gap to stop at.
pub static ABS_TOL: Key<f64> = Key::new(OptionSpec {
    name: "abs-tol",
    value_name: "TOL",
    kind: Kind::Number(Range::NotNegativeOrInfinite),
    default: Some("1e-12"),
    help: "Stop at this absolute gap",
    group: Group::Stopping,
    effect: Effect::Extent,
    probe: Probe::value("1e9"),
    ..OPTION
});

/// Most evaluations.
pub static MAX_EVALS: Key<Option<u64>> = Key::new(OptionSpec {
    name: "max-evals",
    value_name: "N",
    kind: Kind::Whole(1, u64::MAX),
    help: "Stop after this many evaluations (passes over the data; inner optimisations)",
    group: Group::Stopping,
    effect: Effect::Extent,
    probe: Probe::value("2"),
    ..OPTION
});

/// Most seconds.
pub static MAX_SECONDS: Key<Option<f64>> = Key::new(OptionSpec {
    name: "max-seconds",
    value_name: "S",
    kind: Kind::Number(Range::NotNegativeOrInfinite),
    help: "Stop after this many seconds of optimisation",
    group: Group::Stopping,
    effect: Effect::Extent,
    probe: Probe::value("0"),
    ..OPTION
});

/// Threads.
pub static THREADS: Key<Option<usize>> = Key::new(OptionSpec {
    name: "threads",
    value_name: "N",
    kind: Kind::Whole(1, 1024),
    otherwise: "all cores",
    help: "Threads; the result does not depend on it",
    group: Group::Method,
    effect: Effect::Resources,
    probe: Probe::value("1"),
    ..OPTION
});

const fn file(name: &'static str, value_name: &'static str, help: &'static str) -> OptionSpec {
    OptionSpec {
        name,
        value_name,
        kind: Kind::File,
        help,
        group: Group::Output,
        effect: Effect::Files,
        probe: Probe::value("{FILE}"),
        ..OPTION
    }
}

const fn flag(name: &'static str, help: &'static str) -> OptionSpec {
    OptionSpec { name, help, group: Group::Output, effect: Effect::Files, ..OPTION }
}

/// Where the model goes.
pub static OUT: OptionSpec = file("out", "FILE", "Save the model here");
/// Where the proof goes.
pub static PROOF: OptionSpec =
    file("proof", "FILE", "Save the proof of the bound in a file of its own, whatever its size");
/// Where the trace goes.
pub static TRACE: OptionSpec =
    file("trace", "FILE.jsonl", "Write one JSON object per iteration here");
/// Where the report goes.
pub static REPORT: OptionSpec =
    file("report", "FILE.html", "Write an HTML report with the convergence plot here");
/// Where to start.
pub static START: OptionSpec = file("start", "FILE", "Start from the weights of this model");
/// Where checkpoints go.
pub static CHECKPOINT: OptionSpec =
    file("checkpoint", "FILE", "Save the state of the run here now and then");
/// Where to go on from.
pub static RESUME: OptionSpec = file("resume", "FILE", "Go on from a checkpoint of the same run");
/// JSON instead of words.
pub static JSON: OptionSpec =
    flag("json", "Print one JSON object on standard output, and nothing else there");
/// No progress.
pub static QUIET: OptionSpec = flag("quiet", "Show no progress");

/// What models of every family take.
pub static EVERY_RUN: &[Taken] = &[
    Taken::by_all(&MAX_EVALS.spec),
    Taken::by_all(&MAX_SECONDS.spec),
    Taken::by_all(&MAX_MEMORY.spec),
    Taken::by_all(&THREADS.spec),
    Taken::by_all(&OUT),
    Taken::by_all(&TRACE),
    Taken::by_all(&REPORT),
    Taken::by_all(&CHECKPOINT),
    Taken::by_all(&RESUME),
    Taken::by_all(&JSON),
    Taken::by_all(&QUIET),
];

/// What models take besides that which minimise λ/2 ‖w‖² plus a mean loss.
pub static REGULARIZED: &[Taken] = &[
    Taken::by_all(&LAMBDA.spec),
    Taken::by_all(&C.spec),
    Taken::by_all(&WEIGHTS.spec),
    Taken::by_all(&SOLVER.spec),
    Taken::by_all(&TOL.spec),
    Taken::by_all(&ABS_TOL.spec),
    Taken::by_all(&MEMORY.spec),
];
