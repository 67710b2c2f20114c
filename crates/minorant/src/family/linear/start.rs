//! Start weights from a model that was fitted before, for targets of the same shape.

use super::{LinearForm, Targets};
use crate::family::{FittedModel, Settings, TrainError, refuse};
use crate::options::common::BIAS;
use minorant_data::{Dataset, Label};

/// The weights of `model` as a start for training on `data` under `settings`; refused where they
/// belong to targets of another shape.
pub fn start_from(
    model: &FittedModel,
    data: &Dataset<'_>,
    settings: &Settings,
) -> Result<Vec<f64>, TrainError> {
    let refuse = |expected: String, found: String| {
        refuse(format!("expected start weights for {expected}, found {found}"))
    };
    let Some(form) = model.form_as::<LinearForm>() else {
        return refuse("a linear model".into(), format!("those of {}", model.name()));
    };
    let targets = Targets::new(&data.labels, settings)?;
    let columns = data.features.cols();
    if form.features != columns {
        return refuse(format!("{columns} features"), format!("some for {}", form.features));
    }
    let has_bias = [settings.get(&BIAS).is_some(), form.bias.is_some()];
    let [wanted, given] = has_bias.map(|has| if has { "a bias" } else { "no bias" });
    if wanted != given {
        return refuse(format!("a model with {wanted}"), format!("one with {given}"));
    }
    let classes = targets.class_labels(&data.labels);
    if form.classes != classes {
        let list = |labels: &[Label]| {
            let shown: Vec<String> = labels.iter().take(5).map(ToString::to_string).collect();
            let more = if labels.len() > 5 { ", ..." } else { "" };
            format!("{} classes ({}{more})", labels.len(), shown.join(", "))
        };
        let mut pairs = classes.iter().zip(&form.classes);
        return match pairs.position(|(wanted, given)| wanted != given) {
            // Long lists may look the same at their beginnings.
            Some(at) if classes.len() == form.classes.len() => {
                let one = |labels: &[Label]| format!("class {} to be {}", at + 1, labels[at]);
                refuse(one(&classes), one(&form.classes))
            }
            _ => refuse(list(&classes), list(&form.classes)),
        };
    }
    let shape = |problems: usize, outputs: usize| match (problems, outputs) {
        (1, 1) => "one output".to_string(),
        (1, outputs) => format!("{outputs} outputs trained together"),
        (problems, _) => format!("{problems} classes, each against the rest"),
    };
    let wanted = (targets.problems(), targets.outputs);
    let given = (form.problems.len(), form.outputs());
    if wanted != given {
        return refuse(shape(wanted.0, wanted.1), shape(given.0, given.1));
    }
    Ok(form.problems.iter().flat_map(|problem| problem.weights.iter().copied()).collect())
}
