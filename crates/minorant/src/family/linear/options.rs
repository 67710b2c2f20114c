//! The options that linear models have of their own.

use crate::options::common::{
    BIAS, CONVEX_PROBLEMS, LABEL_LOSS, LOCALITY, PARTS, PENALTY, PROOF, SEED, SEED_OF_STARTS, START,
};
use crate::options::reading::{LABEL_XML, LABELS, UNLABELED};
use crate::options::{Effect, Group, Key, Kind, Need, Probe, Range, Taken, named, option};
use minorant_data::Label;

/// How more than two classes are trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Multiclass {
    /// All together.
    #[default]
    Joint,
    /// Each class against the rest.
    OneVsRest,
}

named!(Multiclass { Joint = "joint", OneVsRest = "ovr" });

/// How more than two classes are trained.
pub static MULTICLASS: Key<Multiclass> = option(
    "multiclass",
    "HOW",
    Kind::Choice(&[("joint", "all together"), ("ovr", "each against the rest")]),
    "How more than two classes are trained",
)
.default("joint")
.probe(Probe::on("classes.svm", "ovr"))
.key();

/// Where the ramp loss bends.
pub static RAMP: Key<f64> =
    option("ramp", "S", Kind::Number(Range::BelowOne), "S of the loss min(1 − S, hinge)")
        .default("-1")
        .probe(Probe::value("0.2"))
        .key();

/// The weight of rows without a label.
pub static GAMMA: Key<f64> = option(
    "gamma",
    "G",
    Kind::Number(Range::NotNegative),
    "Weight γ of the mean loss of the unlabelled rows",
)
.default("1")
.probe(Probe::value("3"))
.key();

/// Where the mean decision over rows without a label is to lie.
pub static BALANCE_MEAN: Key<Option<f64>> = option(
    "balance-mean",
    "M",
    Kind::Number(Range::Finite),
    "Keep the mean decision over the unlabelled rows near M, by a penalty of 5 (1 + γ) (mean − M)²",
)
.probe(Probe::value("0.7"))
.key();

/// Runs from different starts.
pub static STARTS: Key<usize> = option(
    "starts",
    "N",
    Kind::Whole(1, u64::MAX),
    "Runs, from the labelled rows' svm and from seeded random points around it; the best is kept",
)
.default("1")
.group(Group::Method)
.effect(Effect::Iterates)
.probe(Probe::value("3"))
.key();

/// The constant feature's θ.
pub static BIAS_WEIGHT: Key<Option<f64>> = option(
    "bias-weight",
    "T",
    Kind::Number(Range::Positive),
    "Regularize the constant feature with this weight θ",
)
.otherwise("1")
.needs(&[Need::Given("bias")])
.probe(Probe::with("0.1", &["--bias", "1"]))
.key();

/// Weights of classes.
pub static CLASS_WEIGHT: Key<Vec<(Label, f64)>> = option(
    "class-weight",
    "LABEL=W",
    Kind::Pairs(Range::NotNegative),
    "Weight of a class; may be given several times",
)
.otherwise("1")
.stored_as("class_weights")
.probe(Probe::value("1=3"))
.key();

const CONVEX: &[&str] = &["svm", "logistic"];
const LOCAL: &[&str] = &["ramp-svm", "tsvm"];

/// What linear models take besides the common options.
pub(super) static OWN: &[Taken] = &[
    Taken::by(&["logistic"], &PENALTY.spec).probed(Probe::with("l1", &["--lambda", "0.01"])),
    Taken::by(CONVEX, &MULTICLASS.spec),
    Taken::by(&["svm"], &LABEL_LOSS.spec).probed(Probe::on("classes.svm", "{FILE}")),
    Taken::by(&["ramp-svm"], &RAMP.spec),
    Taken::by(&["tsvm"], &GAMMA.spec),
    Taken::by(&["tsvm"], &UNLABELED.spec),
    Taken::by(&["tsvm"], &BALANCE_MEAN.spec),
    Taken::by(&["tsvm"], &STARTS.spec),
    Taken::by_all(&BIAS.spec),
    Taken::by_all(&BIAS_WEIGHT.spec),
    Taken::by_all(&CLASS_WEIGHT.spec),
    Taken::by_all(&LABELS.spec),
    Taken::by(&["svm"], &LABEL_XML.spec),
    Taken::by(CONVEX, &PARTS.spec),
    Taken::by(CONVEX, &SEED.spec),
    Taken::by(&["tsvm"], &SEED_OF_STARTS.spec).probed(Probe::with("7", &["--starts", "3"])),
    Taken::by(LOCAL, &LOCALITY.spec),
    Taken::by(LOCAL, &CONVEX_PROBLEMS.spec),
    Taken::by_all(&START),
    Taken::by(CONVEX, &PROOF),
];
