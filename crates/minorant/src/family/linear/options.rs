//! The options that linear models have of their own.

use crate::options::common::{
    BIAS, CONVEX_PROBLEMS, LABEL_LOSS, LOCALITY, PARTS, PENALTY, PROOF, SEED, SEED_OF_STARTS, START,
};
use crate::options::reading::{LABEL_XML, LABELS, UNLABELED};
use crate::options::{
    Effect, Group, Key, Kind, Need, OPTION, OptionSpec, Probe, Range, Taken, named,
};
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
pub static MULTICLASS: Key<Multiclass> = Key::new(OptionSpec {
    name: "multiclass",
    value_name: "HOW",
    kind: Kind::Choice(&[("joint", "all together"), ("ovr", "each against the rest")]),
    default: Some("joint"),
    help: "How more than two classes are trained",
    probe: Probe::on("classes.svm", "ovr"),
    ..OPTION
});

/// Where the ramp loss bends.
pub static RAMP: Key<f64> = Key::new(OptionSpec {
    name: "ramp",
    value_name: "S",
    kind: Kind::Number(Range::BelowOne),
    default: Some("-1"),
    help: "S of the loss min(1 − S, hinge)",
    probe: Probe::value("0.2"),
    ..OPTION
});

/// The weight of rows without a label.
pub static GAMMA: Key<f64> = Key::new(OptionSpec {
    name: "gamma",
    value_name: "G",
    kind: Kind::Number(Range::NotNegative),
    default: Some("1"),
    help: "Weight γ of the mean loss of the unlabelled rows",
    probe: Probe::value("3"),
    ..OPTION
});

/// Where the mean decision over rows without a label is to lie.
pub static BALANCE_MEAN: Key<Option<f64>> = Key::new(OptionSpec {
    name: "balance-mean",
    value_name: "M",
    kind: Kind::Number(Range::Finite),
    help: "Keep the mean decision over the unlabelled rows near M, by a penalty of 5 (1 + γ) (mean − M)²",
    probe: Probe::value("0.7"),
    ..OPTION
});

/// Runs from different starts.
pub static STARTS: Key<usize> = Key::new(OptionSpec {
    name: "starts",
    value_name: "N",
    kind: Kind::Whole(1, u64::MAX),
    default: Some("1"),
    help: "Runs, from the labelled rows' svm and from seeded random points around it; the best is kept",
    group: Group::Method,
    effect: Effect::Iterates,
    probe: Probe::value("3"),
    ..OPTION
});

/// The constant feature's θ.
pub static BIAS_WEIGHT: Key<Option<f64>> = Key::new(OptionSpec {
    name: "bias-weight",
    value_name: "T",
    kind: Kind::Number(Range::Positive),
    otherwise: "1",
    help: "Regularize the constant feature with this weight θ",
    needs: &[Need::Given("bias")],
    probe: Probe::with("0.1", &["--bias", "1"]),
    ..OPTION
});

/// Weights of classes.
pub static CLASS_WEIGHT: Key<Vec<(Label, f64)>> = Key::new(OptionSpec {
    name: "class-weight",
    value_name: "LABEL=W",
    kind: Kind::Pairs(Range::NotNegative),
    otherwise: "1",
    help: "Weight of a class; may be given several times",
    stored_as: "class_weights",
    probe: Probe::value("1=3"),
    ..OPTION
});

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
