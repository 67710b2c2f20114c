//! The options that models of every family take, those that all models take which are solved by the
//! methods of [`crate::solver`], and further ones that several families take. An option that only one
//! family has is declared in that family's own room.

use super::{Effect, Group, Key, Kind, Need, OptionSpec, Probe, Range, Taken, named, option};
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

/// The weight λ of the regularizer.
pub static LAMBDA: Key<Option<f64>> =
    option("lambda", "L", Kind::Number(Range::Finite), "Regularization λ of λ/2 ‖w‖² + mean loss")
        .otherwise("1 / sum of the example weights")
        // A model file keeps the λ that was used among the model's facts.
        .effect(Effect::Iterates)
        .probe(Probe::value("0.037"))
        .key();

/// The weight of the regularizer as LIBLINEAR gives it, by its C.
pub static C: Key<Option<f64>> = option(
    "c",
    "C",
    Kind::Number(Range::Finite),
    "LIBLINEAR's C = 1/(λ · sum of the example weights), instead of λ",
)
.needs(&[Need::NotGiven("lambda")])
.effect(Effect::Iterates)
.probe(Probe::value("0.37"))
.key();

/// One weight for each example.
pub static WEIGHTS: Key<Option<Vec<f64>>> = option(
    "weights",
    "FILE",
    Kind::NumbersOfFile,
    "Example weights, one a line; a weight equals so many repetitions",
)
.otherwise("1 each")
.effect(Effect::Data)
.probe(Probe::value("{FILE}"))
.key();

/// How weights are penalised.
pub static PENALTY: Key<Norm> = option(
    "penalty",
    "PENALTY",
    Kind::Choice(&[("l2", "λ/2 ‖w‖²"), ("l1", "λ ‖w‖₁")]),
    "How weights are penalised",
)
.default("l2")
.probe(Probe::value("l1"))
.key();

/// A constant feature of every row or token.
pub static BIAS: Key<Option<f64>> = option(
    "bias",
    "B",
    Kind::Number(Range::Finite),
    "Add a constant feature B, regularized like the others",
)
.otherwise("none")
.probe(Probe::value("1"))
.key();

/// What wrong labels cost.
pub static LABEL_LOSS: Key<Option<Vec<f64>>> = option(
    "label-loss",
    "FILE",
    Kind::NumbersOfFile,
    "Δ: a line for each true class, a number for each other one, in class order",
)
.otherwise("1 for every wrong one")
.probe(Probe::value("{FILE}"))
.key();

/// The name of the solver.
pub static SOLVER: Key<String> = option(
    "solver",
    "S",
    Kind::Solver,
    "Solver; a name that the model does not have lists those that it has",
)
.default("auto")
.group(Group::Method)
.effect(Effect::Iterates)
.probe(Probe::with("gd", &["--max-evals", "5"]))
.key();

/// How many planes or steps a method remembers.
pub static MEMORY: Key<Option<usize>> = option(
    "memory",
    "M",
    Kind::Whole(1, u64::MAX),
    "Planes to keep, the aggregate included; steps that quasi-Newton methods remember",
)
.otherwise("by the solver: lm-bmrm 200, nrbm 100, lbfgs 15")
.group(Group::Method)
.effect(Effect::Iterates)
.probe(Probe::with("3", &["--solver", "nrbm", "--lambda", "0.0001", "--max-evals", "30"]))
.key();

/// The number of parts, each with a plane model of its own.
pub static PARTS: Key<Option<usize>> = option(
    "parts",
    "P",
    Kind::Whole(1, u64::MAX),
    "Plane models of p-bmrm, prox-p-bmrm and ls-p-bmrm, one for each block of rows",
)
.otherwise("16 below 10000 weights, else 1")
.group(Group::Method)
.effect(Effect::Iterates)
.probe(Probe::with("3", &["--solver", "p-bmrm"]))
.key();

/// The seed of whatever is drawn at random.
pub static SEED: Key<u64> = option(
    "seed",
    "N",
    Kind::Whole(0, u64::MAX),
    "Seed of solvers and starts that draw random numbers",
)
.default("0")
.group(Group::Method)
.effect(Effect::Iterates)
.probe(Probe::with("7", &["--solver", "sgd", "--max-evals", "12"]))
.key();

/// The seed of starts that are drawn at random, whatever the solver.
pub static SEED_OF_STARTS: Key<u64> = SEED
    .spec
    .help("Seed of starts that are drawn at random, and of solvers that draw numbers")
    .key();

/// How localities of planes grow.
pub static LOCALITY: Key<Locality> = option(
    "locality",
    "HOW",
    Kind::Choice(&[
        ("path", "with the squared length of the path of the best point"),
        ("squares", "with the sum of its squared steps, as in the paper"),
    ]),
    "The nrbm family: how localities of planes grow with the steps of the best point",
)
.default("path")
.group(Group::Method)
.needs(&[Need::Is("solver", &["auto", "nrbm", "nrbm-ls", "nrbm-ls-full", "prox-nrbm"])])
.effect(Effect::Iterates)
.probe(Probe::with("squares", &["--solver", "nrbm", "--max-evals", "40"]))
.key();

/// How `cccp` solves its convex problems.
pub static CONVEX_PROBLEMS: Key<ConvexProblems> = option(
    "convex-problems",
    "WHERE",
    Kind::Choice(&[
        ("primal", "by the convex bundle method"),
        ("dual", "by dual coordinate ascent, for two classes"),
    ]),
    "cccp: where its convex problems are solved",
)
.default("primal")
.group(Group::Method)
.needs(&[Need::Is("solver", &["cccp"])])
.effect(Effect::Iterates)
.probe(Probe::with("dual", &["--solver", "cccp"]))
.key();

/// The share of examples that is held out.
pub static VALIDATION_FRACTION: Key<f64> = option(
    "validation-fraction",
    "F",
    Kind::Number(Range::Share),
    "Hold out this share of the sequences, and keep the weights that do best on them",
)
.default("0")
.probe(Probe::value("0.3"))
.key();

/// Bytes that planes and kernels may take.
pub static MAX_MEMORY: Key<Option<u64>> =
    option("max-memory", "BYTES", Kind::Bytes, "Memory for planes or kernels, such as 500M or 4G")
        .otherwise("a quarter of the machine's")
        .group(Group::Method)
        .effect(Effect::Resources)
        .probe(Probe::value("8"))
        .key();

/// The relative gap to stop at.
pub static TOL: Key<f64> = option(
    "tol",
    "TOL",
    Kind::Number(Range::NotNegativeOrInfinite),
    "Stop at this relative gap, certified where the problem is convex",
)
.default("1e-3")
.group(Group::Stopping)
.effect(Effect::Extent)
.probe(Probe::value("0.9"))
.key();

/// The absolute gap to stop at.
pub static ABS_TOL: Key<f64> = option(
    "abs-tol",
    "TOL",
    Kind::Number(Range::NotNegativeOrInfinite),
    "Stop at this absolute gap",
)
.default("1e-12")
.group(Group::Stopping)
.effect(Effect::Extent)
.probe(Probe::value("1e9"))
.key();

/// The number of evaluations after which a run stops.
pub static MAX_EVALS: Key<Option<u64>> = option(
    "max-evals",
    "N",
    Kind::Whole(1, u64::MAX),
    "Stop after this many evaluations (passes over the data; inner optimisations)",
)
.group(Group::Stopping)
.effect(Effect::Extent)
.probe(Probe::value("2"))
.key();

/// The number of seconds after which a run stops.
pub static MAX_SECONDS: Key<Option<f64>> = option(
    "max-seconds",
    "S",
    Kind::Number(Range::NotNegativeOrInfinite),
    "Stop after this many seconds of optimisation",
)
.group(Group::Stopping)
.effect(Effect::Extent)
.probe(Probe::value("0"))
.key();

/// The number of threads.
pub static THREADS: Key<Option<usize>> =
    option("threads", "N", Kind::Whole(1, 1024), "Threads; the result does not depend on it")
        .otherwise("all cores")
        .group(Group::Method)
        .effect(Effect::Resources)
        .probe(Probe::value("1"))
        .key();

const fn file(name: &'static str, value_name: &'static str, help: &'static str) -> OptionSpec {
    option(name, value_name, Kind::File, help)
        .group(Group::Output)
        .effect(Effect::Files)
        .probe(Probe::value("{FILE}"))
}

const fn flag(name: &'static str, help: &'static str) -> OptionSpec {
    option(name, "", Kind::Flag, help).group(Group::Output).effect(Effect::Files)
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
/// The model file whose weights a run starts from.
pub static START: OptionSpec = file("start", "FILE", "Start from the weights of this model");
/// Where checkpoints go.
pub static CHECKPOINT: OptionSpec =
    file("checkpoint", "FILE", "Save the state of the run here now and then");
/// The checkpoint that a run goes on from.
pub static RESUME: OptionSpec = file("resume", "FILE", "Go on from a checkpoint of the same run");
/// Whether the answer is printed as JSON instead of words.
pub static JSON: OptionSpec =
    flag("json", "Print one JSON object on standard output, and nothing else there");
/// Whether no progress is shown.
pub static QUIET: OptionSpec = flag("quiet", "Show no progress");

/// The options that models of every family take.
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

/// The options that models take besides [`EVERY_RUN`] where they minimise λ/2 ‖w‖² plus a mean loss.
pub static REGULARIZED: &[Taken] = &[
    Taken::by_all(&LAMBDA.spec),
    Taken::by_all(&C.spec),
    Taken::by_all(&WEIGHTS.spec),
    Taken::by_all(&SOLVER.spec),
    Taken::by_all(&TOL.spec),
    Taken::by_all(&ABS_TOL.spec),
    Taken::by_all(&MEMORY.spec),
];
