//! The options that linear models have of their own, and which of the common ones they take.

use super::builders::{Logistic, RampSvm, Regression, Svm, Tsvm};
use crate::family::builder::taken;
use crate::options::Kind::{Choice, Number, Pairs, Whole};
use crate::options::Range::{BelowOne, Finite, NotNegative, Positive};
use crate::options::common::{
    BIAS, BOUNDS, CONVEX_PROBLEMS, CURVATURE_FLOOR, DESPITE_KINKS, DIRECTION_LIMIT, DIRECTION_TOL,
    INTERCEPT, L1_RATIO, LABEL_LOSS, LOCALITY, NONNEGATIVE, PARTS, PENALTY, PROOF, PROX_DISTANCE,
    PROX_ITERATIONS, SEARCH, SEED, SEED_OF_STARTS, START, STOP_GRADIENT, SUBGRADIENTS,
    WOLFE_CURVATURE, WOLFE_DECREASE,
};
use crate::options::reading::{LABEL_XML, LABELS, UNLABELED};
use crate::options::{Named, Need, Probe, named, options};
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

named!(Multiclass { Joint = "joint" "all together", OneVsRest = "ovr" "each against the rest" });

options! {
    /// How more than two classes are trained
    pub MULTICLASS: Multiclass = ("multiclass", "HOW", Choice(Multiclass::CHOICES))
        .default("joint").probe_on("classes.svm", "ovr");
    /// S of the loss min(1 − S, hinge)
    pub RAMP: f64 = ("ramp", "S", Number(BelowOne)).default("-1").probe("0.2");
    /// Weight γ of the mean loss of the unlabelled rows
    pub GAMMA: f64 = ("gamma", "G", Number(NotNegative)).default("1").probe("3");
    /// Keep the mean decision over the unlabelled rows near M, by a penalty of 5 (1 + γ) (mean − M)²
    pub BALANCE_MEAN: Option<f64> = ("balance-mean", "M", Number(Finite)).probe("0.7");
    /// Runs, from the labelled rows' svm and from seeded random points around it; the best is kept
    pub STARTS: usize = ("starts", "N", Whole(1, u64::MAX)).default("1").of_method().probe("3");
    /// Regularize the constant feature with this weight θ
    pub BIAS_WEIGHT: Option<f64> = ("bias-weight", "T", Number(Positive))
        .otherwise("1").needs(&[Need::Given("bias")]).probe_with("0.1", &["--bias", "1"]);
    /// Weight of a class; may be given several times
    pub CLASS_WEIGHT: Vec<(Label, f64)> = ("class-weight", "LABEL=W", Pairs(NotNegative))
        .otherwise("1").stored_as("class_weights").probe("1=3");
}

/// A situation in which the ways of lbfgs matter.
const LBFGS: &[&str] = &["--solver", "lbfgs", "--tol", "1e-6"];

taken! {
    /// What linear models take besides the common options.
    pub(super) OWN;
    (Logistic) word penalty: PENALTY, Probe::with("l1", &["--lambda", "0.01"]);
    (Svm Logistic) word multiclass: MULTICLASS;
    (Svm) numbers label_loss: LABEL_LOSS, Probe::on("classes.svm", "{FILE}");
    (RampSvm) f64 ramp: RAMP;
    (Tsvm) f64 gamma: GAMMA;
    (Tsvm) file unlabeled: UNLABELED;
    (Tsvm) f64 balance_mean: BALANCE_MEAN;
    (Tsvm) whole starts: STARTS;
    (Svm Logistic Regression RampSvm Tsvm) f64 l1_ratio: L1_RATIO;
    (Svm Logistic Regression RampSvm Tsvm) flag nonnegative: NONNEGATIVE;
    (Svm Logistic Regression RampSvm Tsvm) numbers bounds: BOUNDS;
    (Svm Logistic Regression RampSvm Tsvm) word intercept: INTERCEPT;
    (Svm Logistic Regression RampSvm Tsvm) f64 bias: BIAS;
    (Svm Logistic Regression RampSvm Tsvm) f64 bias_weight: BIAS_WEIGHT;
    (Svm Logistic RampSvm Tsvm) pair class_weight: CLASS_WEIGHT;
    (Svm Logistic RampSvm Tsvm) word labels: LABELS;
    (Svm) file label_xml: LABEL_XML;
    (Svm Logistic Regression) whole parts: PARTS;
    (Svm Logistic Regression) whole seed: SEED;
    (Tsvm) whole seed: SEED_OF_STARTS, Probe::with("7", &["--starts", "3"]);
    (RampSvm Tsvm) word locality: LOCALITY;
    (Svm) f64 direction_tol: DIRECTION_TOL;
    (Svm) whole direction_limit: DIRECTION_LIMIT, Probe { data: "classes.svm", ..DIRECTION_LIMIT.spec.probe };
    (Svm) f64 curvature_floor: CURVATURE_FLOOR;
    (Svm) word search: SEARCH;
    (Logistic) word search: SEARCH, Probe::with("exact", LBFGS);
    (Svm) f64 wolfe_decrease: WOLFE_DECREASE;
    (Logistic) f64 wolfe_decrease: WOLFE_DECREASE, Probe::with("0.8", LBFGS);
    (Svm) f64 wolfe_curvature: WOLFE_CURVATURE;
    (Logistic) f64 wolfe_curvature: WOLFE_CURVATURE, Probe::with("0.001", LBFGS);
    (Svm) flag despite_kinks: DESPITE_KINKS, Probe::with("", LBFGS);
    (Svm) f64 stop_gradient: STOP_GRADIENT;
    (Logistic) f64 stop_gradient: STOP_GRADIENT, Probe::with("1e9", LBFGS);
    (Logistic) word subgradients: SUBGRADIENTS;
    (Svm Logistic) f64 prox_distance: PROX_DISTANCE;
    (Svm Logistic) f64 prox_iterations: PROX_ITERATIONS;
    (RampSvm Tsvm) word convex_problems: CONVEX_PROBLEMS;
    (Svm Logistic Regression RampSvm Tsvm) file start: START;
    (Svm Logistic Regression) file proof: PROOF;
}
