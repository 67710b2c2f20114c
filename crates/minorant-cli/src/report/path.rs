//! The page of a path: errors, objectives and gaps over λ, and what is proven between neighbours.
//! It only shows what it is given.

use super::axis::{Axis, LARGEST};
use super::chart::{Chart, Line};
use super::words::{Strength, Verdict};
use super::{Section, page};
use crate::number::{NONE, count, percent_above, scientific, setting, significant};
use minorant::path::Between;

/// What the page tells.
#[derive(Debug, Clone, Default)]
pub(crate) struct PathReport {
    /// The page's title.
    pub title: String,
    /// Facts about the problem, as name and value.
    pub facts: Vec<(String, String)>,
    /// The relative gap that was asked for.
    pub tol: f64,
    /// What is proven and found, in words.
    pub sentences: Vec<String>,
    /// The points.
    pub rows: Vec<PathRow>,
    /// What is proven in between.
    pub between: Vec<Between>,
}

/// One λ, with the numbers that `path --json` has.
#[derive(Debug, Clone)]
pub(crate) struct PathRow {
    pub lambda: f64,
    pub objective: f64,
    pub lower_bound: Option<f64>,
    pub relative_gap: Option<f64>,
    pub train_error: f64,
    pub validation_error: Option<f64>,
    pub evaluations: u64,
    pub status: &'static str,
}

/// A gap of 0 has no place on a log scale; it is drawn here, at the rounding of doubles.
const LEAST_GAP: f64 = 1e-16;
/// Objectives that differ by more than this factor are drawn on a log scale.
const LONG_WAY: f64 = 30.0;

impl PathReport {
    /// The whole page.
    pub(crate) fn to_html(&self) -> String {
        let mut html = page::verdict_box(&self.verdict());
        html += &page::facts(&self.facts);
        if !self.rows.is_empty() {
            html +=
                &page::charts("Along the path", &[self.errors(), self.objectives(), self.gaps()]);
            html += &page::extra(&self.table());
        }
        html += HOW_TO_READ;
        page::frame(&self.title, &html)
    }

    fn verdict(&self) -> Verdict {
        let certified = |row: &PathRow| row.relative_gap.is_some_and(|gap| gap <= self.tol);
        let count = self.rows.iter().filter(|row| certified(row)).count();
        let gaps: Option<Vec<f64>> =
            self.between.iter().map(|between| between.relative_gap).collect();
        let largest = gaps.and_then(|gaps| gaps.into_iter().reduce(f64::max));
        let everywhere = largest.is_some_and(|gap| gap <= 3.0 * self.tol);
        let (strength, headline) = match largest {
            _ if self.rows.is_empty() => (Strength::Nothing, "No answer".to_string()),
            Some(gap) if count == self.rows.len() && everywhere => {
                let gap = percent_above(gap);
                (
                    Strength::Certified,
                    format!("Certified: a gap of at most {gap} at every λ of the path"),
                )
            }
            _ => {
                (Strength::Bounded, format!("{count} of {} models are certified", self.rows.len()))
            }
        };
        let sentence = |text: &String| {
            let mut letters = text.chars();
            let first = letters.next().map(|first| first.to_uppercase().to_string());
            format!("{}{}.", first.unwrap_or_default(), letters.as_str())
        };
        Verdict { strength, headline, sentences: self.sentences.iter().map(sentence).collect() }
    }

    /// A value over λ, ascending.
    fn over_lambda(&self, value: impl Fn(&PathRow) -> Option<f64>) -> Vec<(f64, f64)> {
        let drawable = |value: &f64| value.abs() <= LARGEST;
        let points =
            self.rows.iter().filter_map(|row| Some((row.lambda, value(row).filter(drawable)?)));
        let mut points: Vec<(f64, f64)> = points.collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }

    fn chart(&self, id: &str, title: &str, y: Axis, lines: Vec<Line>) -> Chart {
        let lambdas = || self.rows.iter().map(|row| row.lambda);
        let (low, high) = (lambdas().fold(LARGEST, f64::min), lambdas().fold(0.0, f64::max));
        Chart {
            id: id.into(),
            title: title.into(),
            x_name: "λ",
            x: Axis::log(low, high),
            y,
            lines,
            rule: None,
            is_joined: true,
            notes: Vec::new(),
            if_empty: "There is nothing here that could be drawn.",
        }
    }

    fn errors(&self) -> Chart {
        let training = line("training", 0, self.over_lambda(|row| Some(row.train_error)));
        let validation = line("validation", 1, self.over_lambda(|row| row.validation_error));
        let lines: Vec<Line> = [training, validation].into_iter().flatten().collect();
        let (low, high) = range(&lines);
        let margin = 0.08 * (high - low);
        let y = Axis::linear((low - margin).max(0.0), high + margin, 5);
        self.chart("errors", "Error", y, lines)
    }

    fn objectives(&self) -> Chart {
        let mut lines: Vec<Line> =
            line("objective", 0, self.over_lambda(|row| Some(row.objective))).into_iter().collect();
        let (low, high) = range(&lines);
        let margin = 0.05 * (high - low);
        let y = if low > 0.0 && high > LONG_WAY * low {
            Axis::log(0.8 * low, 1.2 * high)
        } else {
            Axis::linear(low - margin, high + margin, 5)
        };
        let bounds = self.over_lambda(|row| row.lower_bound);
        let mut notes = Vec::new();
        if let Some(line) = lines.first_mut().filter(|_| !bounds.is_empty()) {
            line.floor = bounds;
            notes.push("Thin line: the proven lower bound.".into());
        }
        Chart { notes, ..self.chart("objectives", "Objective", y, lines) }
    }

    fn gaps(&self) -> Chart {
        let seen = |gap: f64| gap.max(LEAST_GAP);
        let at_points = self.over_lambda(|row| row.relative_gap.map(seen));
        let mut between: Vec<(f64, f64)> = Vec::new();
        for stretch in self.between.iter().rev() {
            let gap = stretch.relative_gap.filter(|gap| *gap <= LARGEST);
            between.extend(
                gap.into_iter().flat_map(|gap| [stretch.lo, stretch.hi].map(|x| (x, seen(gap)))),
            );
        }
        let lines: Vec<Line> = [
            line("of the models, each at its λ", 0, at_points),
            line("in between, of the better neighbour", 3, between),
        ]
        .into_iter()
        .flatten()
        .collect();
        let (low, high) = range(&lines);
        let rule = Some(3.0 * self.tol).filter(|rule| (LEAST_GAP..=10.0).contains(rule));
        let (low, high) = rule.map_or((low, high), |rule| (low.min(rule), high.max(rule)));
        let chart =
            self.chart("gaps", "Proven relative gap", Axis::log(low / 1.6, high * 1.6), lines);
        Chart { rule: rule.map(|rule| (rule, "3 × tolerance".into())), ..chart }
    }

    fn table(&self) -> Section {
        let head = [
            "λ",
            "Objective",
            "Lower bound",
            "Relative gap",
            "Gap until the next λ",
            "Training error",
            "Validation error",
            "Evaluations",
            "Status",
        ];
        let optional =
            |value: Option<f64>, digits| value.map_or(NONE.into(), |v| significant(v, digits));
        let gap = |gap: Option<f64>| gap.map_or(NONE.into(), scientific);
        let mut table = vec![head.map(String::from).to_vec()];
        for (at, row) in self.rows.iter().enumerate() {
            table.push(vec![
                setting(row.lambda),
                significant(row.objective, 7),
                optional(row.lower_bound, 7),
                gap(row.relative_gap),
                gap(self.between.get(at).and_then(|between| between.relative_gap)),
                significant(row.train_error, 4),
                optional(row.validation_error, 4),
                count(row.evaluations),
                row.status.into(),
            ]);
        }
        Section { heading: "The models".into(), table, ..Section::default() }
    }
}

/// A line, where there is something to draw.
fn line(name: &str, style: usize, points: Vec<(f64, f64)>) -> Option<Line> {
    // The path is walked downwards: its end is at the smallest λ.
    let &(x, y) = points.first()?;
    let summary = format!("{} at λ = {}", significant(y, 4), setting(x));
    Some(Line { name: name.into(), style, points, floor: Vec::new(), summary })
}

/// The least and the largest value of all lines.
fn range(lines: &[Line]) -> (f64, f64) {
    let values = || lines.iter().flat_map(|line| &line.points).map(|&(_, y)| y);
    let (low, high) = (values().fold(LARGEST, f64::min), values().fold(-LARGEST, f64::max));
    if low <= high { (low, high) } else { (0.0, 1.0) }
}

const HOW_TO_READ: &str = "<section>\n<h2>How to read this page</h2>\n<p>The objective is the \
regularizer, which λ multiplies, plus the mean loss over the examples. Every model of the path has a \
lower bound that no weights can go below at its λ; the relative gap is the distance between \
objective and bound, divided by the objective. A model's objective is known at every other λ too, \
and so is the bound that its proof gives there: between two neighbours, the better of the two \
models has at most the gap that stands in the table, whatever λ is. An evaluation is one pass over \
the data; a model starts where its neighbour ended, so that only the first one pays for the start.\
</p>\n</section>\n";
