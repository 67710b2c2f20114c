//! Pictures of a regression: its residuals against its predictions, and for several quantiles the band between
//! them with the targets in it. Where rows are many, an evenly spread sample is drawn.

use super::Section;
use super::axis::{Axis, drawable, extremes};
use super::chart::{Chart, Line, heights};
use crate::number::{percent, significant};
use minorant::data::LabelRows;
use minorant::family::linear::middle_of;
use minorant::family::{Data, FittedModel, Numbers, Outputs, Wanted};

/// Rows beyond which a picture shows no more than a page can hold.
const MOST_ROWS: usize = 1500;
/// What is written beside lines has so many digits.
const DIGITS: usize = 4;

/// How the predictions of a model lie to the targets of these rows.
pub(crate) fn section(model: &FittedModel, data: Data<'_>) -> anyhow::Result<Section> {
    let found = model.predict_with(data, Wanted::Labels).map_err(anyhow::Error::msg)?;
    let targets = match &data.rows().map_err(anyhow::Error::msg)?.labels.rows {
        LabelRows::Numbers { values, .. } => values,
        _ => anyhow::bail!("the data has no targets"),
    };
    let Outputs::Values(predicted) = found.outputs else {
        anyhow::bail!("{} predicts no numbers", model.name())
    };
    let evaluation = model.evaluate(data).map_err(anyhow::Error::msg)?;
    let told = evaluation.measures.iter().filter_map(|measure| {
        Some(format!("{} {}", measure.words, significant(measure.value?, DIGITS)))
    });
    let mut paragraphs =
        vec![format!("On the training data: {}.", told.collect::<Vec<_>>().join(", "))];
    let list = |key: &str| {
        let found = evaluation.lists.iter().find(|(name, ..)| *name == key);
        found.map_or(&[][..], |(_, _, numbers)| numbers)
    };
    let levels = list("quantiles");
    if !levels.is_empty() {
        let each = levels.iter().zip(list("coverage")).map(|(level, share)| {
            format!("{} of the targets lie not above quantile {level}", percent(*share))
        });
        paragraphs.push(format!("{}.", each.collect::<Vec<_>>().join("; ")));
    }
    let middle = middle_of(levels);
    let mut figures = vec![residuals(targets, &predicted, middle).to_html()];
    if levels.len() > 1 {
        figures.push(bands(targets, &predicted, middle, levels).to_html());
    }
    Ok(Section { heading: "Predictions and targets", paragraphs, figures, ..Section::default() })
}

/// An axis that shows all of these values, with some room around.
fn around(values: impl Iterator<Item = f64>) -> Axis {
    let (low, high) = extremes(values).unwrap_or((0.0, 1.0));
    Axis::linear_with_room(low, high, 0.05)
}

/// Every so many rows, so that no more are drawn than a page can hold.
fn sample(order: &[usize]) -> impl Iterator<Item = usize> + '_ {
    order.iter().copied().step_by(order.len().div_ceil(MOST_ROWS).max(1))
}

fn residuals(targets: &[f64], predicted: &Numbers, middle: usize) -> Chart {
    let rows: Vec<usize> = (0..targets.len()).collect();
    let place = |i: usize| (predicted.row(i)[middle], targets[i] - predicted.row(i)[middle]);
    let is_seen = |(x, y): &(f64, f64)| drawable(x) && drawable(y);
    let dots: Vec<(f64, f64)> = sample(&rows).map(place).filter(is_seen).collect();
    let x = around(dots.iter().map(|(x, _)| *x));
    let y = around(dots.iter().map(|(_, y)| *y).chain([0.0]));
    let chart = Chart::new("Residuals".into(), "prediction", x, y);
    let note = "Each dot is a row: how far its target lies above what is predicted.".into();
    Chart { rule: Some((0.0, "")), dots, note, ..chart }
}

/// The quantiles of rows in the order of the middle one.
fn bands(targets: &[f64], predicted: &Numbers, middle: usize, levels: &[f64]) -> Chart {
    let mut order: Vec<usize> = (0..targets.len()).collect();
    order.sort_by(|&a, &b| predicted.row(a)[middle].total_cmp(&predicted.row(b)[middle]));
    let rows: Vec<usize> = sample(&order).collect();
    let over = |value: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
        let all = rows.iter().enumerate().map(|(rank, &i)| (rank as f64, value(i)));
        all.filter(|(_, y)| drawable(y)).collect()
    };
    let line = |(k, level): (usize, &f64)| {
        let points = over(&|i| predicted.row(i)[k]);
        let last = points.last().map_or(0.0, |(_, y)| *y);
        let summary = significant(last, DIGITS);
        Line { name: format!("quantile {level}"), style: k, points, summary, ..Line::default() }
    };
    let lines: Vec<Line> = levels.iter().enumerate().map(line).collect();
    let dots = over(&|i| targets[i]);
    let values = heights(&lines).chain(dots.iter().map(|(_, y)| *y));
    let x = Axis::linear(0.0, rows.len().max(2) as f64 - 1.0, 5);
    let chart = Chart::new("Quantile bands".into(), "rows by prediction", x, around(values));
    let note = "Rows in the order of the quantile in the middle; each dot is a target.".into();
    Chart { lines, dots, is_joined: true, note, ..chart }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_stand_in_the_order_of_the_middle_quantile() {
        let predicted = Numbers { width: 3, values: vec![2.0, 3.0, 4.0, 0.0, 1.0, 5.0] };
        let chart = bands(&[2.5, 7.0], &predicted, 1, &[0.1, 0.5, 0.9]);
        assert_eq!(chart.lines[1].points, [(0.0, 1.0), (1.0, 3.0)]);
        assert_eq!(chart.lines[2].points, [(0.0, 5.0), (1.0, 4.0)]);
        assert_eq!(chart.dots, [(0.0, 7.0), (1.0, 2.5)]);
        let html = chart.to_html();
        assert_eq!(html.matches("<circle class=\"dot c5\"").count(), 2, "{html}");
        assert!(html.contains("quantile 0.9"));
    }

    #[test]
    fn residuals_are_drawn_around_zero_and_of_many_rows_a_sample() {
        let rows = 4 * MOST_ROWS + 1;
        let values: Vec<f64> = (0..rows).map(|i| i as f64).collect();
        let targets: Vec<f64> = values.iter().map(|x| x + 1.0).collect();
        let chart = residuals(&targets, &Numbers { width: 1, values }, 0);
        assert!(chart.dots.len() <= MOST_ROWS && chart.dots.len() > MOST_ROWS / 2);
        assert!(chart.dots.iter().all(|(_, residual)| *residual == 1.0));
        assert!(chart.to_html().contains("<circle"));
        let none = residuals(&[], &Numbers { width: 1, values: Vec::new() }, 0).to_html();
        assert!(!none.contains("NaN"), "{none}");
    }

    #[test]
    fn the_middle_is_nearest_to_the_median() {
        assert_eq!(middle_of(&[0.1, 0.4, 0.6]), 1);
        assert_eq!(middle_of(&[0.9]), 0);
        assert_eq!(middle_of(&[]), 0);
    }
}
