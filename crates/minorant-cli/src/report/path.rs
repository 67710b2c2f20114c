//! The page of a path: errors, objectives and gaps over λ, and what is proven between neighbours.

use super::axis::{Axis, LARGEST, LEAST_GAP, drawable, extremes, rule};
use super::chart::{Chart, Line, heights};
use super::words::Verdict;
use super::{Column, Page, Section};
use crate::number::{count, optional, percent_above, scientific, setting, significant};
use minorant::path::{Path, PathPoint};

/// Objectives that differ by more than this factor are drawn on a log scale.
const LONG_WAY: f64 = 30.0;

/// λ of a point.
pub(crate) fn lambda_of(point: &PathPoint) -> f64 {
    point.report.lambda.unwrap_or_default()
}

/// The largest gap in between, if all of them are known.
pub(crate) fn largest_gap(found: &Path) -> Option<f64> {
    let gaps = found.between.iter().map(|between| between.relative_gap);
    gaps.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
}

/// The page of a path whose models were asked for a relative gap of `tol`; `sentences` tell what is
/// proven and found.
pub(crate) fn page(
    title: String,
    facts: Vec<(&'static str, String)>,
    tol: f64,
    found: &Path,
    sentences: &[String],
) -> Page {
    let mut sections = Vec::new();
    if !found.points.is_empty() {
        let figures = [errors(found), objectives(found), gaps(found, tol)];
        let figures = figures.iter().map(Chart::to_html).collect();
        sections.push(Section { heading: "Along the path", figures, ..Section::default() });
        let table = columns(found);
        sections.push(Section { heading: "The models", table, ..Section::default() });
    }
    Page { title, verdict: verdict(found, tol, sentences), facts, sections, reading: &HOW_TO_READ }
}

fn verdict(found: &Path, tol: f64, sentences: &[String]) -> Verdict {
    let all = found.points.len();
    let certified = found.points.iter().filter(|p| p.report.certificate.certifies(tol)).count();
    let everywhere = largest_gap(found).filter(|gap| *gap <= 3.0 * tol);
    let (class, headline) = match everywhere.filter(|_| certified == all).map(percent_above) {
        _ if all == 0 => ("", "No answer".to_string()),
        Some(gap) => {
            ("certified", format!("Certified: a gap of at most {gap} at every λ of the path"))
        }
        None => ("bounded", format!("{certified} of {all} models are certified")),
    };
    let sentence = |text: &String| {
        let mut letters = text.chars();
        let first = letters.next().map(|first| first.to_uppercase().to_string());
        format!("{}{}.", first.unwrap_or_default(), letters.as_str())
    };
    Verdict { class, headline, sentences: sentences.iter().map(sentence).collect() }
}

/// A value over λ, ascending.
fn over_lambda(found: &Path, value: impl Fn(&PathPoint) -> Option<f64>) -> Vec<(f64, f64)> {
    let points = found.points.iter();
    let points = points.filter_map(|p| Some((lambda_of(p), value(p).filter(drawable)?)));
    let mut points: Vec<(f64, f64)> = points.collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// A line, where there is something to draw.
fn line(name: &str, style: usize, points: Vec<(f64, f64)>) -> Option<Line> {
    // The path is walked downwards: its end is at the smallest λ.
    let &(x, y) = points.first()?;
    let summary = format!("{} at λ = {}", significant(y, 4), setting(x));
    Some(Line { name: name.into(), style, points, summary, ..Line::default() })
}

fn chart(found: &Path, title: &str, y: Axis, lines: Vec<Line>) -> Chart {
    let lambdas = found.points.iter().map(lambda_of);
    let (low, high) = extremes(lambdas).unwrap_or_default();
    let note = if lines.is_empty() { "There is nothing here that could be drawn." } else { "" };
    let chart = Chart::new(title.into(), "λ", Axis::log(low, high), y);
    Chart { lines, is_joined: true, note: note.into(), ..chart }
}

fn errors(found: &Path) -> Chart {
    let training = line("training", 0, over_lambda(found, |point| Some(point.train_error)));
    let validation = line("validation", 1, over_lambda(found, |point| point.validation_error));
    let lines: Vec<Line> = training.into_iter().chain(validation).collect();
    let (low, high) = extremes(heights(&lines)).unwrap_or((0.0, 1.0));
    let margin = 0.08 * (high - low);
    let y = Axis::linear((low - margin).max(0.0), high + margin, 5);
    chart(found, "Error", y, lines)
}

fn objectives(found: &Path) -> Chart {
    let objectives = over_lambda(found, |point| Some(point.report.certificate.objective));
    let mut lines: Vec<Line> = line("objective", 0, objectives).into_iter().collect();
    let (low, high) = extremes(heights(&lines)).unwrap_or((0.0, 1.0));
    let y = if low > 0.0 && high > LONG_WAY * low {
        Axis::log(0.8 * low, 1.2 * high)
    } else {
        Axis::linear_with_room(low, high, 0.05)
    };
    let bounds = over_lambda(found, |point| point.report.certificate.lower_bound);
    let Some(line) = lines.first_mut().filter(|_| !bounds.is_empty()) else {
        return chart(found, "Objective", y, lines);
    };
    line.floor = bounds;
    let note = "Thin line: the proven lower bound.".into();
    Chart { note, ..chart(found, "Objective", y, lines) }
}

fn gaps(found: &Path, tol: f64) -> Chart {
    let seen = |gap: f64| gap.max(LEAST_GAP);
    let of_models = over_lambda(found, |p| p.report.certificate.relative_gap().map(seen));
    let between = found.between.iter().rev().flat_map(|stretch| {
        let gap = stretch.relative_gap.filter(|gap| *gap <= LARGEST).map(seen);
        gap.into_iter().flat_map(|gap| [(stretch.lo, gap), (stretch.hi, gap)])
    });
    let of_models = line("of the models, each at its λ", 0, of_models);
    let between = line("in between, of the better neighbour", 3, between.collect());
    let lines: Vec<Line> = of_models.into_iter().chain(between).collect();
    let (low, high) = extremes(heights(&lines)).unwrap_or((0.0, 1.0));
    let rule = rule(3.0 * tol);
    let (low, high) = rule.map_or((low, high), |rule| (low.min(rule), high.max(rule)));
    let chart = chart(found, "Proven relative gap", Axis::log(low / 1.6, high * 1.6), lines);
    Chart { rule: rule.map(|rule| (rule, "3 × tolerance")), ..chart }
}

fn columns(found: &Path) -> Vec<Column> {
    let column = |name, cell: &dyn Fn(&PathPoint) -> String| {
        Column::plain(name, found.points.iter().map(cell))
    };
    let next = |at: usize| found.between.get(at).and_then(|between| between.relative_gap);
    let until_next = (0..found.points.len()).map(|at| optional(next(at), scientific));
    vec![
        column("λ", &|p| setting(lambda_of(p))),
        column("Objective", &|p| significant(p.report.certificate.objective, 7)),
        column("Lower bound", &|p| {
            optional(p.report.certificate.lower_bound, |x| significant(x, 7))
        }),
        column("Relative gap", &|p| optional(p.report.certificate.relative_gap(), scientific)),
        Column::plain("Gap until the next λ", until_next),
        column("Training error", &|p| significant(p.train_error, 4)),
        column("Validation error", &|p| optional(p.validation_error, |x| significant(x, 4))),
        column("Evaluations", &|p| count(p.report.evaluations)),
        column("Status", &|p| p.report.status.as_str().into()),
    ]
}

const HOW_TO_READ: [&str; 1] = [
    "The objective is the regularizer, which λ multiplies, plus the mean \
    loss over the examples. Every model of the path has a lower bound that no weights can go below at \
    its λ; the relative gap is the distance between objective and bound, divided by the objective. A \
    model's objective is known at every other λ too, and so is the bound that its proof gives there: \
    between two neighbours, the better of the two models has at most the gap that stands in the table, \
    whatever λ is. An evaluation is one pass over the data; a model starts where its neighbour ended, \
    so that only the first one pays for the start.",
];
