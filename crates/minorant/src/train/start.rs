//! Start weights from a model that was fitted before, for a task of the same shape.

use super::options::{TrainError, TrainOptions};
use super::task::Task;
use crate::model::FittedModel;
use minorant_data::Dataset;

/// The weights of `model` as a start for training on `data` with `options`; refused where they
/// belong to a task of another shape.
pub fn start_from(
    model: &FittedModel,
    data: &Dataset,
    options: &TrainOptions,
) -> Result<Vec<f64>, TrainError> {
    let task = Task::new(&data.labels, options)?;
    let refuse = |expected: String, found: String| {
        Err(TrainError::Setting(format!("expected start weights for {expected}, found {found}")))
    };
    let columns = data.features.cols();
    if model.features != columns {
        return refuse(format!("{columns} features"), format!("some for {}", model.features));
    }
    let bias = |has: bool| if has { "a bias" } else { "no bias" };
    let (wanted, given) = (options.bias.is_some(), model.bias.is_some());
    if wanted != given {
        return refuse(
            format!("a model with {}", bias(wanted)),
            format!("one with {}", bias(given)),
        );
    }
    let classes = task.class_labels(&data.labels);
    if model.classes != classes {
        let list = |labels: &[minorant_data::Label]| {
            let shown: Vec<String> = labels.iter().take(5).map(ToString::to_string).collect();
            let more = if labels.len() > 5 { ", ..." } else { "" };
            format!("{} classes ({}{more})", labels.len(), shown.join(", "))
        };
        return refuse(list(&classes), list(&model.classes));
    }
    let shape = |problems: usize, outputs: usize| match (problems, outputs) {
        (1, 1) => "one output".to_string(),
        (1, outputs) => format!("{outputs} outputs trained together"),
        (problems, _) => format!("{problems} classes, each against the rest"),
    };
    let wanted = (task.problems(), task.outputs_per_problem());
    let given = (model.problems.len(), model.outputs_per_problem());
    if wanted != given {
        return refuse(shape(wanted.0, wanted.1), shape(given.0, given.1));
    }
    Ok(model.problems.iter().flat_map(|problem| problem.weights.iter().copied()).collect())
}
