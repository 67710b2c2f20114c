//! What the labels of rows ask for: one binary, multiclass, transductive or multilabel problem, or
//! one binary problem for each class; and what each row weighs.

use super::options::{CLASS_WEIGHT, GAMMA, MULTICLASS, Multiclass};
use super::{BALANCE_MEAN, TargetKind, loss_of, regression};
use crate::family::classes::{UNLABELLED, check_costs, labelled_classes, one_class_a_row};
use crate::family::data::label_kind;
use crate::family::{Settings, TrainError, mean, refuse};
use crate::options::OptionError;
use crate::options::common::{INTERCEPT, LABEL_LOSS};
use crate::risk::ExampleWeights;
use crate::risk::residual::Targets as Numbers;
use minorant_data::{Label, LabelKind, LabelRows, Labels};

/// The labels of rows, as the losses take them.
#[derive(Debug, Clone)]
pub(crate) struct Targets {
    /// What they are.
    pub(super) kind: TargetKind,
    /// Number of classes.
    pub(crate) classes: usize,
    /// Linear outputs of one problem.
    pub(crate) outputs: usize,
    /// What is true of each row.
    pub(super) truths: Truths,
}

/// What is true of rows.
#[derive(Debug, Clone)]
pub(super) enum Truths {
    /// The class of each row; of two the second (larger) is +1.
    Classes(Vec<u32>),
    /// The class of each row that has a label.
    SomeClasses(Vec<Option<u32>>),
    /// Whether each row has each class, row by row.
    Sets(Vec<bool>),
    /// The number that each row is to meet.
    Numbers(Numbers),
}

impl Targets {
    /// The targets that these labels are, if the settings allow it.
    pub(crate) fn new(labels: &Labels, settings: &Settings) -> Result<Targets, TrainError> {
        let targets = if settings.model() == "tsvm" {
            Targets::transductive(labels, settings)?
        } else if settings.entry().model.takes_targets {
            regression::targets(labels, settings)?
        } else {
            Targets::supervised(labels, settings)?
        };
        targets.check(settings)?;
        Ok(targets)
    }

    /// Targets of classes.
    fn of(kind: TargetKind, classes: usize, truths: Truths) -> Self {
        Targets { kind, classes, outputs: kind.outputs(classes, 0), truths }
    }

    fn supervised(labels: &Labels, settings: &Settings) -> Result<Targets, TrainError> {
        let classes = labels.classes.len();
        let too_few = "expected labels of two or more classes, found one class only";
        match &labels.rows {
            LabelRows::Sets { .. } if classes < 2 => refuse(too_few),
            LabelRows::Sets { starts, items } => {
                let mut member = vec![false; classes * labels.len()];
                for (i, span) in starts.windows(2).enumerate() {
                    for &z in &items[span[0] as usize..span[1] as usize] {
                        member[i * classes + z as usize] = true;
                    }
                }
                Ok(Targets::of(TargetKind::Multilabel, classes, Truths::Sets(member)))
            }
            _ => {
                let labels = one_class_a_row(labels, settings.model(), "")?;
                if classes < 2 {
                    return refuse(too_few);
                }
                let binary = match label_kind(settings) {
                    Some(LabelKind::Binary) => true,
                    Some(_) => false,
                    None => classes == 2 && !settings.is_given("label-loss"),
                };
                if binary && classes > 2 {
                    return refuse(format!("expected two classes, found {classes}"));
                }
                let kind = match settings.get(&MULTICLASS) {
                    _ if binary => TargetKind::Binary,
                    Multiclass::Joint => TargetKind::Multiclass,
                    Multiclass::OneVsRest => TargetKind::OneVsRest,
                };
                Ok(Targets::of(kind, classes, Truths::Classes(labels.to_vec())))
            }
        }
    }

    /// Rows labelled 0 have no label; the others say which classes there are.
    fn transductive(labels: &Labels, settings: &Settings) -> Result<Targets, TrainError> {
        let (classes, labels) = labelled_classes(labels, settings.model())?;
        let classes = classes.len();
        if labels.iter().all(Option::is_some) {
            return refuse(
                "expected rows without a label (labelled 0, or from --unlabeled FILE), found none; with labels on all rows train svm",
            );
        }
        let binary = match label_kind(settings) {
            Some(LabelKind::Multiclass) => false,
            Some(LabelKind::Binary) if classes > 2 => {
                return refuse(format!("expected two classes, found {classes}"));
            }
            _ => classes == 2,
        };
        if !binary && settings.get(&BALANCE_MEAN).is_some() {
            return refuse("a balance mean goes with two classes");
        }
        let kind = if binary { TargetKind::Binary } else { TargetKind::Multiclass };
        Ok(Targets::of(kind, classes, Truths::SomeClasses(labels)))
    }

    fn check(&self, settings: &Settings) -> Result<(), TrainError> {
        let (model, loss) = (settings.model(), loss_of(settings));
        let name = crate::options::Named::name(loss);
        let has_sets = self.kind == TargetKind::Multilabel;
        match self.kind {
            TargetKind::Multiclass if loss.is_binary() => {
                let what = "is for two classes; more of them go with multiclass ovr, not with multiclass joint";
                return Err(OptionError::new("loss", format!("{name} {what}")).into());
            }
            TargetKind::Multilabel if loss.is_binary() => {
                return refuse(format!("the {name} is for two classes, not for multilabel data"));
            }
            TargetKind::Multilabel if settings.get(&MULTICLASS) == Multiclass::OneVsRest => {
                return refuse("one-vs-rest takes one label a row, not multilabel data");
            }
            TargetKind::Multilabel if model != "svm" => {
                return refuse(format!(
                    "{model} takes one label a row; for multilabel data train svm"
                ));
            }
            _ => {}
        }
        if has_sets && settings.is_given("label-loss") && settings.get(&INTERCEPT).is_some() {
            return refuse("a free intercept does not go with a label loss of multilabel data");
        }
        let Some(delta) = settings.get(&LABEL_LOSS) else { return Ok(()) };
        if !has_sets && (self.kind != TargetKind::Multiclass || self.is_transductive()) {
            return refuse(
                "a label loss goes with the joint multiclass or the multilabel svm only",
            );
        }
        check_costs(&delta, self.classes)
    }

    /// Number of problems that are solved one after the other.
    pub(crate) fn problems(&self) -> usize {
        if self.kind == TargetKind::OneVsRest { self.classes } else { 1 }
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        match &self.truths {
            Truths::Classes(labels) => labels.len(),
            Truths::SomeClasses(labels) => labels.len(),
            Truths::Sets(member) => member.len() / self.classes,
            Truths::Numbers(numbers) => numbers.len(),
        }
    }

    /// Whether some rows have no label.
    pub(super) fn is_transductive(&self) -> bool {
        matches!(self.truths, Truths::SomeClasses(_))
    }

    /// Whether a row has a label.
    pub(crate) fn is_labelled(&self, row: usize) -> bool {
        if let Truths::SomeClasses(labels) = &self.truths { labels[row].is_some() } else { true }
    }

    /// The classes in order.
    pub(crate) fn class_labels(&self, labels: &Labels) -> Vec<Label> {
        let is_class = |label: &&Label| !self.is_transductive() || **label != UNLABELLED;
        labels.classes.iter().filter(is_class).cloned().collect()
    }

    /// +1 for the rows of the positive class of a binary problem, −1 for the others.
    pub(crate) fn signs(labels: &[u32], positive: u32) -> Vec<f64> {
        labels.iter().map(|&label| if label == positive { 1.0 } else { -1.0 }).collect()
    }

    /// The weights sᵢ c(yᵢ) / Σ sᵢ; with rows that have no label the sums of both kinds are apart,
    /// and the weights of those without are γ sᵢ / Σ sᵢ.
    pub(crate) fn shares(
        &self,
        labels: &Labels,
        settings: &Settings,
    ) -> Result<ExampleWeights, TrainError> {
        let rows = labels.len();
        let class_weights = settings.get(&CLASS_WEIGHT);
        let example_weights = settings.example_weights();
        if example_weights.is_none() && class_weights.is_empty() && !self.is_transductive() {
            return Ok(ExampleWeights::mean(rows));
        }
        let examples = example_weights.unwrap_or_else(|| vec![1.0; rows]);
        mean::check(&examples, rows, "row")?;
        let of_class = self.weights_of_classes(labels, &class_weights)?;
        let classes: Vec<f64> = match &labels.rows {
            LabelRows::Single(rows) => rows.iter().map(|&z| of_class[z as usize]).collect(),
            _ if class_weights.is_empty() => vec![1.0; rows],
            _ => return refuse("class weights go with one label a row, not with multilabel data"),
        };
        if !self.is_transductive() {
            return Ok(ExampleWeights::new(&examples, &classes));
        }
        let sum = |labelled: bool| -> f64 {
            (0..rows).filter(|&i| self.is_labelled(i) == labelled).map(|i| examples[i]).sum()
        };
        let (labelled, unlabelled) = (sum(true), sum(false));
        if labelled == 0.0 {
            return refuse(
                "expected some example weight above 0 among the labelled rows, found none",
            );
        }
        let gamma = settings.get(&GAMMA) / if unlabelled > 0.0 { unlabelled } else { 1.0 };
        let share = |i: usize| match self.is_labelled(i) {
            true => examples[i] * classes[i] / labelled,
            false => examples[i] * gamma,
        };
        Ok(ExampleWeights::Each((0..rows).map(share).collect()))
    }

    fn weights_of_classes(
        &self,
        labels: &Labels,
        given: &[(Label, f64)],
    ) -> Result<Vec<f64>, TrainError> {
        let mut of_class = vec![1.0; labels.classes.len()];
        for (at, (label, weight)) in given.iter().enumerate() {
            if given[..at].iter().any(|(other, _)| other == label) {
                return refuse(format!("two class weights are given for label {label}"));
            }
            let class = labels.classes.iter().position(|class| class == label);
            let Some(class) = class.filter(|_| !self.is_transductive() || *label != UNLABELLED)
            else {
                return refuse(format!(
                    "a class weight is given for label {label}, which no row has"
                ));
            };
            of_class[class] = *weight;
        }
        Ok(of_class)
    }

    /// Σ sᵢ over the rows that have a label.
    pub(crate) fn total(&self, settings: &Settings) -> f64 {
        let weights = settings.example_weights();
        let weight = |i: usize| weights.as_ref().map_or(1.0, |weights| weights[i]);
        (0..self.rows()).filter(|&i| self.is_labelled(i)).map(weight).sum()
    }
}
