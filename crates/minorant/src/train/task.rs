//! What the labels ask for: a binary, multiclass or multilabel risk, or one binary risk for each
//! class.

use super::options::{LossName, ModelName, Multiclass, Penalty, TrainError, TrainOptions};
use crate::risk::hinge::Hinge;
use crate::risk::logistic::Logistic;
use crate::risk::multiclass_hinge::{MulticlassHinge, uniform_margins};
use crate::risk::multilabel_hinge::MultilabelHinge;
use crate::risk::softmax::Softmax;
use crate::risk::squared_hinge::SquaredHinge;
use crate::risk::{ExampleWeights, LinearRisk, Risk};
use minorant_data::{LabelKind, LabelRows, Labels};
use minorant_linalg::Design;

/// A learning task with its labels.
#[derive(Debug, Clone)]
pub(crate) enum Task {
    /// Two classes; the second (larger) is +1.
    Binary { labels: Vec<u32> },
    /// Several classes, all together.
    Multiclass { classes: usize, labels: Vec<u32> },
    /// Several classes, each against the rest.
    OneVsRest { classes: usize, labels: Vec<u32> },
    /// Sets of classes.
    Multilabel { classes: usize, member: Vec<bool> },
}

fn refuse<T>(sentence: impl Into<String>) -> Result<T, TrainError> {
    Err(TrainError::Setting(sentence.into()))
}

impl Task {
    /// The task that these labels are, if the options allow it.
    pub(crate) fn new(labels: &Labels, options: &TrainOptions) -> Result<Task, TrainError> {
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
            Task::Multilabel { .. } if options.model == ModelName::Logistic => {
                return refuse("logistic takes one label a row; for multilabel data train svm");
            }
            _ => {}
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
            Task::Multiclass { classes, .. } | Task::Multilabel { classes, .. } => *classes,
        }
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
            (ModelName::Svm, LossName::Hinge) => {
                Box::new(LinearRisk::new(design, Hinge::new(signs), weights))
            }
            (ModelName::Svm, LossName::SquaredHinge) => {
                Box::new(LinearRisk::new(design, SquaredHinge::new(signs), weights))
            }
        }
    }
}

/// The weights sᵢ c(yᵢ) / Σ sᵢ.
pub(crate) fn weights_of(
    labels: &Labels,
    options: &TrainOptions,
) -> Result<ExampleWeights, TrainError> {
    let rows = labels.len();
    if options.example_weights.is_none() && options.class_weights.is_empty() {
        return Ok(ExampleWeights::mean(rows));
    }
    let examples = options.example_weights.clone().unwrap_or_else(|| vec![1.0; rows]);
    if examples.len() != rows {
        return refuse(format!(
            "expected {rows} example weights, one a row, found {}",
            examples.len()
        ));
    }
    if let Some(at) = examples.iter().position(|s| !(*s >= 0.0 && s.is_finite())) {
        return refuse(format!(
            "expected weights of 0 or more, found {} for row {}",
            examples[at],
            at + 1
        ));
    }
    if !examples.iter().any(|s| *s > 0.0) {
        return refuse("expected some example weight above 0, found none");
    }
    let mut of_class = vec![1.0; labels.classes.len()];
    for (at, (label, weight)) in options.class_weights.iter().enumerate() {
        if options.class_weights[..at].iter().any(|(other, _)| other == label) {
            return refuse(format!("two class weights are given for label {label}"));
        }
        let Some(class) = labels.classes.iter().position(|class| class == label) else {
            return refuse(format!("a class weight is given for label {label}, which no row has"));
        };
        if !(*weight >= 0.0 && weight.is_finite()) {
            return refuse(format!(
                "expected a class weight of 0 or more for label {label}, found {weight}"
            ));
        }
        of_class[class] = *weight;
    }
    let classes = match &labels.rows {
        LabelRows::Single(rows) => rows.iter().map(|&z| of_class[z as usize]).collect(),
        _ if options.class_weights.is_empty() => vec![1.0; rows],
        _ => return refuse("class weights go with one label a row, not with multilabel data"),
    };
    Ok(ExampleWeights::new(&examples, &classes))
}
