//! What of the runs gets drawn: cleans traces of what cannot be shown, and chooses each chart's
//! scales so that what is interesting fills it. Drawing itself is `chart`'s work.

use super::axis::{Axis, LARGEST};
use super::chart::{Chart, Line};
use super::{Report, ReportRun};
use crate::number::{count, significant};

/// The state of a run at one moment; all numbers can be drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Moment {
    evaluations: f64,
    seconds: f64,
    objective: f64,
    bound: Option<f64>,
}

/// A gap of 0 has no place on a log scale; it is drawn here, at the rounding of doubles.
const LEAST_GAP: f64 = 1e-16;
/// Runs whose lengths differ by more share a chart on a log scale only.
const UNLIKE_LENGTHS: f64 = 6.0;
/// Objectives that fall by more than this factor are drawn on a log scale.
const LONG_FALL: f64 = 100.0;

/// What stands on a horizontal axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effort {
    Evaluations,
    Seconds,
}

impl Effort {
    fn of(self, moment: &Moment) -> f64 {
        match self {
            Effort::Evaluations => moment.evaluations,
            Effort::Seconds => moment.seconds,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Effort::Evaluations => "evaluations",
            Effort::Seconds => "seconds",
        }
    }
}

/// The page's charts.
pub(super) fn charts(report: &Report<'_>) -> Vec<Chart> {
    let runs: Vec<(&ReportRun<'_>, Vec<Moment>)> =
        report.runs.iter().map(|run| (run, moments(run))).collect();
    let both = [Effort::Evaluations, Effort::Seconds];
    let objectives = both.map(|effort| objective_chart(&runs, effort));
    let gaps = both.map(|effort| gap_chart(&runs, effort, report.tol));
    // That there is nothing to draw is said once.
    let shown = if gaps[0].lines.is_empty() { 1 } else { gaps.len() };
    objectives.into_iter().chain(gaps.into_iter().take(shown)).collect()
}

fn drawable(value: f64) -> bool {
    value.abs() <= LARGEST
}

/// The moments of a run, best values so far, the end included.
fn moments(run: &ReportRun<'_>) -> Vec<Moment> {
    let global = run.lower_bound.is_some();
    let trace = run.trace.iter().map(|record| Moment {
        evaluations: record.evaluations as f64,
        seconds: record.seconds,
        objective: record.best_objective,
        bound: record.lower_bound.filter(|_| global),
    });
    // The last bound comes after the last record.
    let end = Moment {
        evaluations: run.evaluations as f64,
        seconds: run.seconds,
        objective: run.objective,
        bound: run.lower_bound,
    };
    let mut moments: Vec<Moment> = Vec::new();
    for mut moment in trace.chain([end]) {
        moment.bound = moment.bound.filter(|&bound| drawable(bound));
        if !(drawable(moment.objective) && drawable(moment.seconds)) {
            continue;
        }
        if let Some(before) = moments.last() {
            moment.evaluations = moment.evaluations.max(before.evaluations);
            moment.seconds = moment.seconds.max(before.seconds);
            moment.objective = moment.objective.min(before.objective);
            moment.bound = match (moment.bound, before.bound) {
                (Some(bound), Some(earlier)) => Some(bound.max(earlier)),
                (bound, earlier) => bound.or(earlier),
            };
        }
        moments.push(moment);
    }
    moments
}

/// The gap relative to the objective, where it exists.
fn gap(moment: &Moment) -> Option<f64> {
    let gap = (moment.objective - moment.bound?).max(0.0);
    let relative = if gap == 0.0 { 0.0 } else { gap / moment.objective.abs() };
    drawable(relative).then_some(relative.max(LEAST_GAP))
}

fn amount(effort: Effort, moment: &Moment) -> String {
    match effort {
        Effort::Evaluations => format!("{} evaluations", count(moment.evaluations as u64)),
        Effort::Seconds => format!("{} seconds", significant(moment.seconds, 3)),
    }
}

fn objective_chart(runs: &[(&ReportRun<'_>, Vec<Moment>)], effort: Effort) -> Chart {
    let mut lines = Vec::new();
    for (style, (run, moments)) in runs.iter().enumerate() {
        let Some(end) = moments.last() else { continue };
        let bounds = moments.iter().filter_map(|m| Some((effort.of(m), m.bound?)));
        lines.push(Line {
            name: run.solver.clone(),
            style,
            points: moments.iter().map(|m| (effort.of(m), m.objective)).collect(),
            floor: bounds.collect(),
            summary: format!("{} after {}", significant(end.objective, 6), amount(effort, end)),
        });
    }
    let mut notes = Vec::new();
    if lines.iter().any(|line| !line.floor.is_empty()) {
        notes.push("Thin lines: the proven lower bound.".into());
    }
    Chart {
        id: format!("objective-{}", effort.name()),
        title: format!("Objective by {}", effort.name()),
        x_name: effort.name(),
        x: effort_axis(&lines),
        y: objective_axis(&lines),
        lines,
        rule: None,
        is_joined: false,
        notes,
        if_empty: "No run here has a finite objective to draw.",
    }
}

fn gap_chart(runs: &[(&ReportRun<'_>, Vec<Moment>)], effort: Effort, tol: f64) -> Chart {
    let (mut lines, mut without) = (Vec::new(), Vec::new());
    for (style, (run, moments)) in runs.iter().enumerate() {
        let points = moments.iter().filter_map(|m| Some((effort.of(m), gap(m)?)));
        let points: Vec<(f64, f64)> = points.collect();
        let (Some(end), Some(&(_, last))) = (moments.last(), points.last()) else {
            without.push(run.solver.as_str());
            continue;
        };
        let summary = format!("{} after {}", significant(last, 2), amount(effort, end));
        lines.push(Line { name: run.solver.clone(), style, points, floor: Vec::new(), summary });
    }
    let mut notes = Vec::new();
    if !without.is_empty() && !lines.is_empty() {
        notes
            .push(format!("Without a proven bound, and so without a gap: {}.", without.join(", ")));
    }
    let tol = Some(tol).filter(|tol| (LEAST_GAP..=10.0).contains(tol));
    Chart {
        id: format!("gap-{}", effort.name()),
        title: format!("Relative gap by {}", effort.name()),
        x_name: effort.name(),
        x: effort_axis(&lines),
        y: gap_axis(&lines, tol),
        lines,
        rule: tol.map(|tol| (tol, "tolerance".into())),
        is_joined: false,
        notes,
        if_empty: "No run here has a proven lower bound, so there is no gap to draw.",
    }
}

fn effort_axis(lines: &[Line]) -> Axis {
    let ends = lines.iter().filter_map(|line| line.points.last()).map(|&(x, _)| x);
    let longest = ends.clone().fold(0.0, f64::max);
    let shortest = ends.filter(|&x| x > 0.0).fold(longest, f64::min);
    if longest <= UNLIKE_LENGTHS * shortest {
        return Axis::linear(0.0, longest, 5);
    }
    let all = lines.iter().flat_map(|line| &line.points).map(|&(x, _)| x);
    let first = all.filter(|&x| x > 0.0).fold(shortest, f64::min);
    // The first microseconds are nobody's concern.
    Axis::log(first.max(shortest / LONG_FALL), longest)
}

fn objective_axis(lines: &[Line]) -> Axis {
    let mut objectives: Vec<f64> =
        lines.iter().flat_map(|line| &line.points).map(|&(_, y)| y).collect();
    objectives.sort_by(f64::total_cmp);
    let (Some(&best), Some(&start)) = (objectives.first(), objectives.last()) else {
        return Axis::linear(0.0, 1.0, 4);
    };
    let bounds = || lines.iter().flat_map(|line| &line.floor).map(|&(_, y)| y);
    let best_bound = bounds().fold(f64::NEG_INFINITY, f64::max);
    if best > 0.0 && start / best > LONG_FALL {
        let room = if best_bound > 0.0 { 0.3 } else { 0.8 };
        return Axis::log(room * best, 1.2 * start);
    }
    // A log scale is not to be had at 0 and below: a fall from far above is cut off instead.
    let usual = objectives[objectives.len() * 3 / 4];
    let high = if best <= 0.0 && start - best > LONG_FALL * (usual - best) && usual > best {
        best + 4.0 * (usual - best)
    } else {
        start
    };
    // Early bounds lie far below; enough of them is shown to see them rise.
    let lowest_bound = bounds().fold(best, f64::min);
    let spread = (high - best).max((best - best_bound.max(lowest_bound)).max(0.0));
    let low = lowest_bound.max(best - 0.6 * spread);
    let margin = 0.05 * (high - low);
    Axis::linear(low - margin, high + margin, 5)
}

fn gap_axis(lines: &[Line], tol: Option<f64>) -> Axis {
    let gaps = || lines.iter().flat_map(|line| &line.points).map(|&(_, y)| y);
    let least = gaps().fold(f64::INFINITY, f64::min).min(tol.unwrap_or(f64::INFINITY));
    if !least.is_finite() {
        return Axis::log(1e-3, 1.0);
    }
    let largest = gaps().fold(least, f64::max);
    let decade = |value: f64| 10f64.powf(value.log10().round());
    let low = decade(least / 10f64.sqrt());
    // The first bounds may be arbitrarily bad.
    let high = decade(largest.min((10.0 * least).max(10.0)) * 10f64.sqrt() * (1.0 - 1e-9));
    Axis::log(low, high.max(10.0 * low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use minorant::trace::TraceRecord;

    fn record(evaluations: u64, objective: f64, lower_bound: Option<f64>) -> TraceRecord {
        TraceRecord {
            iteration: evaluations,
            evaluations,
            seconds: evaluations as f64,
            objective,
            best_objective: objective,
            lower_bound,
            local_gap: None,
            step: "descent",
            step_length: None,
            locality: None,
            planes: 1,
            master_seconds: 0.0,
        }
    }

    fn run(trace: &[TraceRecord], lower_bound: Option<f64>) -> ReportRun<'_> {
        ReportRun {
            solver: "bmrm".into(),
            status: "converged",
            objective: 0.5,
            lower_bound,
            relative_gap: None,
            local_gap: None,
            certified: false,
            evaluations: 9,
            iterations: 9,
            seconds: 9.0,
            trace,
        }
    }

    #[test]
    fn only_what_can_be_drawn_is_left() {
        let trace = [
            record(1, f64::INFINITY, None),
            record(2, 1.0, Some(f64::NEG_INFINITY)),
            record(3, f64::NAN, Some(0.1)),
            record(4, 0.7, Some(0.2)),
        ];
        let moments = moments(&run(&trace, Some(0.4)));
        let seen: Vec<_> = moments.iter().map(|m| (m.evaluations, m.objective, m.bound)).collect();
        assert_eq!(seen, [(2.0, 1.0, None), (4.0, 0.7, Some(0.2)), (9.0, 0.5, Some(0.4))]);
        assert!(gap(&moments[2]).is_some_and(|gap| (gap - 0.2).abs() < 1e-12));
    }

    #[test]
    fn bounds_of_a_local_model_are_not_drawn() {
        let trace = [record(1, 1.0, Some(0.2))];
        assert!(moments(&run(&trace, None)).iter().all(|moment| moment.bound.is_none()));
    }

    #[test]
    fn scales_fit_the_values() {
        let line = |points: &[(f64, f64)], floor: &[(f64, f64)]| Line {
            name: "a".into(),
            style: 0,
            points: points.into(),
            floor: floor.into(),
            summary: String::new(),
        };
        let fall = [line(&[(1.0, 1000.0), (2.0, 1.0)], &[(2.0, 0.9)])];
        assert!(objective_axis(&fall).is_log);
        let svm = [line(&[(1.0, 1.0), (20.0, 0.35)], &[(2.0, -40.0), (20.0, 0.34)])];
        let axis = objective_axis(&svm);
        assert!(!axis.is_log && axis.shows(0.34) && axis.shows(1.0) && !axis.shows(-1.0));
        let unlike = [line(&[(1.0, 1.0), (9.0, 0.5)], &[]), line(&[(1.0, 1.0), (900.0, 0.5)], &[])];
        assert!(effort_axis(&unlike).is_log && !effort_axis(&svm).is_log);
        let gaps = gap_axis(&[line(&[(1.0, 1e4), (2.0, 8e-4)], &[])], Some(1e-3));
        assert!(gaps.shows(1e-4) && gaps.shows(10.0) && !gaps.shows(20.0) && !gaps.shows(9e-5));
    }
}
