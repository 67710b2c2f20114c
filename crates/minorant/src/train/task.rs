//! What the labels ask for: a binary, multiclass or multilabel risk, or one binary risk for each
//! class.

use super::example_weights;
use super::options::{LossName, ModelName, Multiclass, Penalty, TrainError, TrainOptions};
use crate::risk::hinge::Hinge;
use crate::risk::logistic::Logistic;
use crate::risk::multiclass_hinge::{MulticlassHinge, uniform_margins};
use crate::risk::multiclass_ramp::MulticlassRamp;
use crate::risk::multiclass_transductive::MulticlassTransductive;
use crate::risk::multilabel_hinge::MultilabelHinge;
use crate::risk::ramp::Ramp;
use crate::risk::softmax::Softmax;
use crate::risk::squared_hinge::SquaredHinge;
use crate::risk::transductive::Transductive;
use crate::risk::{ExampleWeights, LinearRisk, Risk};
use minorant_data::{Label, LabelKind, LabelRows, Labels};
use minorant_linalg::Design;

/// The label of rows that have none.
const UNLABELLED: Label = Label::Number(0.0);

/// A learning task with its labels.
#[derive(Debug, Clone)]
pub(crate) enum Task {
    /// Two classes; the second (larger) is +1.
    Binary { labels: Vec<u32> },
    /// Several classes, all together.
    Multiclass { classes: usize, labels: Vec<u32> },
    /// Several classes, each against the rest.
    OneVsRest { classes: usize, labels: Vec<u32> },
    /// Several classes, and rows without a label; one output for two classes, else one a class.
    Transductive { classes: usize, outputs: usize, labels: Vec<Option<u32>> },
    /// Sets of classes.
    Multilabel { classes: usize, member: Vec<bool> },
}

fn refuse<T>(sentence: impl Into<String>) -> Result<T, TrainError> {
    Err(TrainError::Setting(sentence.into()))
}

impl Task {
    /// The task that these labels are, if the options allow it.
    pub(crate) fn new(labels: &Labels, options: &TrainOptions) -> Result<Task, TrainError> {
        options.check()?;
        if options.model == ModelName::Tsvm {
            return Task::transductive(labels, options);
        }
        let classes = labels.classes.len();
        if classes < 2 && labels.rows != LabelRows::None {
            return refuse("expected labels of two or more classes, found one class only");
        }
        let task = match &labels.rows {
            LabelRows::None => return refuse("the data has no labels to train on"),
            LabelRows::Sets { starts, items } => {
                let mut member = vec![false; classes * labels.len()];
                for (i, span) in starts.windows(2).enumerate() {
                    for &z in &items[span[0] as usize..span[1] as usize] {
                        member[i * classes + z as usize] = true;
                    }
                }
                Task::Multilabel { classes, member }
            }
            LabelRows::Single(labels) => {
                let labels = labels.clone();
                let binary = match options.label_kind {
                    Some(LabelKind::Binary) => true,
                    Some(_) => false,
                    None => classes == 2 && options.label_loss.is_none(),
                };
                if binary && classes > 2 {
                    return refuse(format!("expected two classes, found {classes}"));
                }
                match options.multiclass {
                    _ if binary => Task::Binary { labels },
                    Multiclass::Joint => Task::Multiclass { classes, labels },
                    Multiclass::OneVsRest => Task::OneVsRest { classes, labels },
                }
            }
        };
        task.check(options)?;
        Ok(task)
    }

    /// Rows labelled 0 have no label; the others say which classes there are.
    fn transductive(labels: &Labels, options: &TrainOptions) -> Result<Task, TrainError> {
        let LabelRows::Single(rows) = &labels.rows else {
            return refuse("tsvm takes one label a row, and 0 for rows without one");
        };
        let mut numbers = vec![None; labels.classes.len()];
        let mut classes = 0;
        for (number, label) in numbers.iter_mut().zip(&labels.classes) {
            if *label != UNLABELLED {
                *number = Some(classes as u32);
                classes += 1;
            }
        }
        let labels: Vec<Option<u32>> = rows.iter().map(|&z| numbers[z as usize]).collect();
        match classes {
            0 => return refuse("expected some rows with a label other than 0, found none"),
            1 => {
                return refuse(
                    "expected labelled rows of two or more classes (0 means unlabelled), found one class only",
                );
            }
            _ => {}
        }
        if labels.iter().all(Option::is_some) {
            return refuse(
                "expected rows without a label (labelled 0, or from --unlabeled FILE), found none; with labels on all rows train svm",
            );
        }
        let binary = match options.label_kind {
            Some(LabelKind::Multiclass) => false,
            Some(LabelKind::Binary) if classes > 2 => {
                return refuse(format!("expected two classes, found {classes}"));
            }
            _ => classes == 2,
        };
        if !binary && options.transduction.balance_mean.is_some() {
            return refuse("a balance mean goes with two classes");
        }
        let task =
            Task::Transductive { classes, outputs: if binary { 1 } else { classes }, labels };
        task.check(options)?;
        Ok(task)
    }

    fn check(&self, options: &TrainOptions) -> Result<(), TrainError> {
        let squared = options.model == ModelName::Svm && options.loss == LossName::SquaredHinge;
        match self {
            Task::Multiclass { .. } if squared => {
                return refuse(
                    "the squared hinge is for two classes; for more add --multiclass ovr",
                );
            }
            Task::Multilabel { .. } if squared => {
                return refuse("the squared hinge is for two classes, not for multilabel data");
            }
            Task::Multilabel { .. } if options.multiclass == Multiclass::OneVsRest => {
                return refuse("one-vs-rest takes one label a row, not multilabel data");
            }
            Task::Multilabel { .. } if options.model != ModelName::Svm => {
                return refuse(format!(
                    "{} takes one label a row; for multilabel data train svm",
                    options.model.as_str()
                ));
            }
            _ => {}
        }
        let is_convex = matches!(options.model, ModelName::Svm | ModelName::Logistic);
        if options.multiclass == Multiclass::OneVsRest && !is_convex {
            return refuse(format!(
                "{} trains all classes together; one-vs-rest goes with svm and logistic",
                options.model.as_str()
            ));
        }
        if options.penalty == Penalty::L1 && options.model != ModelName::Logistic {
            return refuse("the penalty l1 goes with logistic; svm has the penalty l2");
        }
        let joint = matches!(self, Task::Multiclass { .. } | Task::Multilabel { .. });
        let Some(delta) = &options.label_loss else { return Ok(()) };
        if !joint || options.model != ModelName::Svm {
            return refuse(
                "a label loss goes with the joint multiclass or the multilabel svm only",
            );
        }
        let classes = self.classes();
        if delta.len() != classes * classes {
            return refuse(format!(
                "expected a label loss of {classes} x {classes} numbers, found {}",
                delta.len()
            ));
        }
        for (at, &loss) in delta.iter().enumerate() {
            let (truth, other) = (at / classes, at % classes);
            if !(loss >= 0.0 && loss.is_finite()) || (truth == other && loss != 0.0) {
                return refuse(format!(
                    "expected a label loss that is 0 on the diagonal and nowhere negative, found {loss} in row {}, column {}",
                    truth + 1,
                    other + 1
                ));
            }
        }
        Ok(())
    }

    /// Number of classes.
    pub(crate) fn classes(&self) -> usize {
        match self {
            Task::Binary { .. } => 2,
            Task::Multiclass { classes, .. }
            | Task::Transductive { classes, .. }
            | Task::OneVsRest { classes, .. }
            | Task::Multilabel { classes, .. } => *classes,
        }
    }

    /// Number of problems that are solved one after the other.
    pub(crate) fn problems(&self) -> usize {
        if let Task::OneVsRest { classes, .. } = self { *classes } else { 1 }
    }

    /// Linear outputs of one risk of the task.
    pub(crate) fn outputs_per_problem(&self) -> usize {
        match self {
            Task::Binary { .. } | Task::OneVsRest { .. } => 1,
            Task::Transductive { outputs, .. } => *outputs,
            Task::Multiclass { classes, .. } | Task::Multilabel { classes, .. } => *classes,
        }
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Task::Binary { labels }
            | Task::Multiclass { labels, .. }
            | Task::OneVsRest { labels, .. } => labels.len(),
            Task::Transductive { labels, .. } => labels.len(),
            Task::Multilabel { classes, member } => member.len() / classes,
        }
    }

    /// Whether a row has a label.
    pub(crate) fn is_labelled(&self, row: usize) -> bool {
        match self {
            Task::Transductive { labels, .. } => labels[row].is_some(),
            _ => true,
        }
    }

    /// The classes in order.
    pub(crate) fn class_labels(&self, labels: &Labels) -> Vec<Label> {
        let is_class =
            |label: &&Label| !matches!(self, Task::Transductive { .. }) || **label != UNLABELLED;
        labels.classes.iter().filter(is_class).cloned().collect()
    }

    /// +1 for the rows of the positive class of a binary problem, −1 for the others.
    pub(crate) fn signs(labels: &[u32], positive: u32) -> Vec<f64> {
        labels.iter().map(|&label| if label == positive { 1.0 } else { -1.0 }).collect()
    }

    /// The risk; of one class against the rest, that of class `problem`.
    pub(crate) fn risk<'a>(
        &self,
        problem: usize,
        design: Design<'a>,
        weights: ExampleWeights,
        options: &TrainOptions,
    ) -> Box<dyn Risk + 'a> {
        let signs = match self {
            Task::Binary { labels } => Task::signs(labels, 1),
            Task::OneVsRest { labels, .. } => Task::signs(labels, problem as u32),
            Task::Multiclass { classes, labels } => {
                let labels = labels.clone();
                if options.model == ModelName::Logistic {
                    return Box::new(LinearRisk::new(
                        design,
                        Softmax::new(*classes, labels),
                        weights,
                    ));
                }
                let margins = options.label_loss.clone();
                let margins = margins.unwrap_or_else(|| uniform_margins(*classes));
                let loss = MulticlassHinge::new(*classes, labels, margins);
                if options.model == ModelName::RampSvm {
                    let loss = MulticlassRamp::new(loss, options.ramp);
                    return Box::new(LinearRisk::new(design, loss, weights));
                }
                return Box::new(LinearRisk::new(design, loss, weights));
            }
            Task::Transductive { classes, outputs, labels } => {
                if *outputs > 1 {
                    let loss = MulticlassTransductive::new(*classes, labels);
                    return Box::new(LinearRisk::new(design, loss, weights));
                }
                let sign = |label: &Option<u32>| label.map_or(0.0, |z| [-1.0, 1.0][z as usize]);
                let signs = labels.iter().map(sign).collect();
                let loss = Transductive::new(signs, options.transduction.balance_mean);
                return Box::new(LinearRisk::new(design, loss, weights));
            }
            Task::Multilabel { classes, member } => {
                let margins = options.label_loss.clone();
                let loss = MultilabelHinge::new(*classes, member.clone(), margins);
                return Box::new(LinearRisk::new(design, loss, weights));
            }
        };
        match (options.model, options.loss) {
            (ModelName::Logistic, _) => {
                Box::new(LinearRisk::new(design, Logistic::new(signs), weights))
            }
            (ModelName::RampSvm, _) => {
                Box::new(LinearRisk::new(design, Ramp::new(signs, options.ramp), weights))
            }
            (ModelName::Svm | ModelName::Tsvm, LossName::Hinge) => {
                Box::new(LinearRisk::new(design, Hinge::new(signs), weights))
            }
            (ModelName::Svm | ModelName::Tsvm, LossName::SquaredHinge) => {
                Box::new(LinearRisk::new(design, SquaredHinge::new(signs), weights))
            }
        }
    }
}

/// The weights sᵢ c(yᵢ) / Σ sᵢ; with rows that have no label the sums of both kinds are apart, and
/// the weights of those without are γ sᵢ / Σ sᵢ.
pub(crate) fn weights_of(
    labels: &Labels,
    task: &Task,
    options: &TrainOptions,
) -> Result<ExampleWeights, TrainError> {
    let rows = labels.len();
    let is_transductive = matches!(task, Task::Transductive { .. });
    if options.example_weights.is_none() && options.class_weights.is_empty() && !is_transductive {
        return Ok(ExampleWeights::mean(rows));
    }
    let examples = options.example_weights.clone().unwrap_or_else(|| vec![1.0; rows]);
    example_weights::check(&examples, rows, "row")?;
    let mut of_class = vec![1.0; labels.classes.len()];
    for (at, (label, weight)) in options.class_weights.iter().enumerate() {
        if options.class_weights[..at].iter().any(|(other, _)| other == label) {
            return refuse(format!("two class weights are given for label {label}"));
        }
        let class = labels.classes.iter().position(|class| class == label);
        let Some(class) = class.filter(|_| !is_transductive || *label != UNLABELLED) else {
            return refuse(format!("a class weight is given for label {label}, which no row has"));
        };
        if !(*weight >= 0.0 && weight.is_finite()) {
            return refuse(format!(
                "expected a class weight of 0 or more for label {label}, found {weight}"
            ));
        }
        of_class[class] = *weight;
    }
    let classes: Vec<f64> = match &labels.rows {
        LabelRows::Single(rows) => rows.iter().map(|&z| of_class[z as usize]).collect(),
        _ if options.class_weights.is_empty() => vec![1.0; rows],
        _ => return refuse("class weights go with one label a row, not with multilabel data"),
    };
    if !is_transductive {
        return Ok(ExampleWeights::new(&examples, &classes));
    }
    let sum = |labelled: bool| -> f64 {
        (0..rows).filter(|&i| task.is_labelled(i) == labelled).map(|i| examples[i]).sum()
    };
    let (labelled, unlabelled) = (sum(true), sum(false));
    if labelled == 0.0 {
        return refuse("expected some example weight above 0 among the labelled rows, found none");
    }
    let gamma = options.transduction.gamma / if unlabelled > 0.0 { unlabelled } else { 1.0 };
    let share = |i: usize| match task.is_labelled(i) {
        true => examples[i] * classes[i] / labelled,
        false => examples[i] * gamma,
    };
    Ok(ExampleWeights::Each((0..rows).map(share).collect()))
}
