//! The losses of linear models by their names: what users type, what model files hold, the options
//! that they have, and the risk that each makes of targets. A loss itself is a file in the ground
//! floor's `risk/`.

use super::TargetKind;
use super::builders::Svm;
use super::options::RAMP;
use super::regression;
use super::targets::{Targets, Truths};
use crate::audit::linear::PlainMargin;
use crate::family::Settings;
use crate::family::builder::taken;
use crate::intercept::InterceptRisk;
use crate::options::Kind::{self, Choice, Number};
use crate::options::Range::Positive;
use crate::options::common::{INTERCEPT, LABEL_LOSS};
use crate::options::{Named, Need, named, options};
use crate::risk::hinge::Hinge;
use crate::risk::huber_hinge::HuberHinge;
use crate::risk::logistic::Logistic;
use crate::risk::multiclass_hinge::{MulticlassHinge, uniform_margins};
use crate::risk::multiclass_ramp::MulticlassRamp;
use crate::risk::multiclass_transductive::MulticlassTransductive;
use crate::risk::multilabel_hinge::MultilabelHinge;
use crate::risk::ramp::Ramp;
use crate::risk::softmax::Softmax;
use crate::risk::squared_hinge::SquaredHinge;
use crate::risk::transductive::Transductive;
use crate::risk::{ExampleWeights, LinearRisk, Loss, Risk};
use minorant_linalg::Design;

options! {
    /// The loss of a margin m
    pub LOSS: LossName = ("loss", "LOSS", OF_CLASSES)
        .default("hinge").probe("squared-hinge");
    /// huber-hinge: the loss is quadratic within H of the margin 1
    pub HUBER: f64 = ("huber", "H", Number(Positive))
        .default("0.5").needs(&[Need::Is("loss", &["huber-hinge"])])
        .probe_with("1.5", &["--loss", "huber-hinge"]);
}

taken! {
    /// The options that choose the loss of the svm.
    pub(super) OWN;
    (Svm) word loss: LOSS;
    (Svm) f64 huber: HUBER;
}

/// A loss by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossName {
    /// max(0, 1 − m); of several classes the worst margin, of sets the worst pair.
    Hinge,
    /// max(0, 1 − m)².
    SquaredHinge,
    /// The hinge with a quadratic piece around its kink.
    HuberHinge,
    /// The logistic or softmax loss.
    Logistic,
    /// The hinge, cut off at a height, so that outliers cost no more than that.
    Ramp,
    /// The hinge where there is a label, the distance from any label's margin elsewhere.
    Transductive,
    /// Half the square of how far a target is missed.
    Squares,
    /// How far it is missed.
    Absolute,
    /// The same, weighed by a level τ below the target and by 1 − τ above it.
    Quantile,
    /// How far a target is missed by more than ε.
    EpsilonInsensitive,
    /// The square of that.
    SquaredEpsilonInsensitive,
    /// Half the square, straight from a distance on.
    Huber,
}

// Those with a meaning are choices, first the svm's and then those of a regression; the others belong to
// models of their own.
named!(LossName {
    Hinge = "hinge" "max(0, 1 − m)",
    SquaredHinge = "squared-hinge" "its square",
    HuberHinge = "huber-hinge" "the hinge with a quadratic piece around its kink",
    Squares = "squares" "½(y − f)²",
    Absolute = "absolute" "|y − f|",
    Quantile = "quantile" "τ for each unit below the target, 1 − τ for each above it",
    EpsilonInsensitive = "epsilon-insensitive" "max(0, |y − f| − ε)",
    SquaredEpsilonInsensitive = "squared-epsilon-insensitive" "its square",
    Huber = "huber" "½(y − f)² as far as D, straight beyond",
    Logistic = "logistic",
    Ramp = "ramp",
    Transductive = "transductive",
});

/// How many of the choices are the svm's.
const OF_SVM: usize = 3;
const OF_CLASSES: Kind = Choice(LossName::CHOICES.split_at(OF_SVM).0);
/// The losses of targets.
pub(super) const OF_TARGETS: Kind = Choice(LossName::CHOICES.split_at(OF_SVM).1);

impl LossName {
    /// The loss of classes as the audit has it, which checks convex ones only.
    pub(super) fn plain(self, settings: &Settings) -> Option<PlainMargin> {
        match self {
            LossName::Hinge => Some(PlainMargin::Hinge),
            LossName::SquaredHinge => Some(PlainMargin::SquaredHinge),
            LossName::HuberHinge => Some(PlainMargin::HuberHinge(settings.get(&HUBER))),
            LossName::Logistic => Some(PlainMargin::Logistic),
            _ => None,
        }
    }

    /// Whether the loss is for two classes only, so that more are trained one against the rest.
    pub(super) fn is_binary(self) -> bool {
        matches!(self, LossName::SquaredHinge | LossName::HuberHinge)
    }

    /// The risk of targets under this loss; of one class against the rest, that of class `problem`.
    pub(super) fn risk<'a>(
        self,
        targets: &Targets,
        problem: usize,
        rows: WeightedRows<'a>,
    ) -> Box<dyn Risk + 'a> {
        let (classes, settings) = (targets.classes, rows.settings);
        let margins = settings.get(&LABEL_LOSS);
        let signs = match (&targets.truths, targets.kind) {
            (Truths::Numbers(numbers), _) => return regression::risk(self, numbers, rows),
            (Truths::Sets(member), _) => {
                return rows.risk(MultilabelHinge::new(classes, member.clone(), margins));
            }
            (Truths::SomeClasses(labels), TargetKind::Multiclass) => {
                return rows.risk(MulticlassTransductive::new(classes, labels));
            }
            (Truths::SomeClasses(labels), _) => {
                let sign = |label: &Option<u32>| label.map_or(0.0, |z| [-1.0, 1.0][z as usize]);
                let signs = labels.iter().map(sign).collect();
                return rows.risk(Transductive::new(signs, settings.get(&super::BALANCE_MEAN)));
            }
            (Truths::Classes(labels), TargetKind::Multiclass) => {
                if self == LossName::Logistic {
                    return rows.risk(Softmax::new(classes, labels.clone()));
                }
                let margins = margins.unwrap_or_else(|| uniform_margins(classes));
                let loss = MulticlassHinge::new(classes, labels.clone(), margins);
                if self == LossName::Ramp {
                    return rows.risk(MulticlassRamp::new(loss, settings.get(&RAMP)));
                }
                return rows.risk(loss);
            }
            (Truths::Classes(labels), TargetKind::OneVsRest) => {
                Targets::signs(labels, problem as u32)
            }
            (Truths::Classes(labels), _) => Targets::signs(labels, 1),
        };
        match self {
            LossName::SquaredHinge => rows.risk(SquaredHinge::new(signs)),
            LossName::HuberHinge => rows.risk(HuberHinge::new(signs, settings.get(&HUBER))),
            LossName::Logistic => rows.risk(Logistic::new(signs)),
            LossName::Ramp => rows.risk(Ramp::new(signs, settings.get(&RAMP))),
            _ => rows.risk(Hinge::new(signs)),
        }
    }
}

/// Rows with what each of them weighs, of which a loss makes a risk.
pub(super) struct WeightedRows<'a> {
    pub(super) design: Design<'a>,
    pub(super) weights: ExampleWeights,
    pub(super) settings: &'a Settings,
}

impl<'a> WeightedRows<'a> {
    /// The mean loss, with an intercept where one is free.
    pub(super) fn risk<L: Loss + 'a>(self, loss: L) -> Box<dyn Risk + 'a> {
        let WeightedRows { design, weights, settings } = self;
        if settings.get(&INTERCEPT).is_none() {
            return Box::new(LinearRisk::new(design, loss, weights));
        }
        let risk = InterceptRisk::new(design, Box::new(loss), weights);
        Box::new(
            risk.unwrap_or_else(|| unreachable!("losses without a free intercept are refused")),
        )
    }
}
