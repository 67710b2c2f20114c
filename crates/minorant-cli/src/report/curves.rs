//! What of the runs gets drawn: cleans traces of what cannot be shown, and chooses each chart's
//! scales so that what is interesting fills it. Drawing itself is `chart`'s work.

use super::axis::{Axis, LEAST_GAP, drawable, extremes, rule};
use super::chart::{Chart, Line, heights};
use super::runs::Run;
use crate::number::{count, significant};
use minorant::certificate::Certificate;
use minorant::trace::TraceRecord;

/// Runs whose lengths differ by more share a chart on a log scale only.
const UNLIKE_LENGTHS: f64 = 6.0;
/// Objectives that fall by more than this factor are drawn on a log scale.
const LONG_FALL: f64 = 100.0;

/// What stands on a horizontal axis.
struct Effort {
    name: &'static str,
    of: fn(&TraceRecord) -> f64,
    shown: fn(f64) -> String,
}

const EFFORTS: [Effort; 2] = [
    Effort { name: "evaluations", of: |m| m.evaluations as f64, shown: |x| count(x as u64) },
    Effort { name: "seconds", of: |m| m.seconds, shown: |x| significant(x, 3) },
];

/// The page's charts, as figures.
pub(super) fn figures(runs: &[Run<'_>], tol: f64) -> Vec<String> {
    let runs: Vec<(&str, Vec<TraceRecord>)> =
        runs.iter().map(|run| (run.solver, moments(run))).collect();
    let objectives = EFFORTS.map(|effort| objective_chart(&runs, &effort));
    let gaps = EFFORTS.map(|effort| gap_chart(&runs, &effort, tol));
    // Where no run has a gap, one empty chart says so for both efforts.
    let shown = if gaps[0].lines.is_empty() { 1 } else { gaps.len() };
    objectives.iter().chain(&gaps[..shown]).map(Chart::to_html).collect()
}

/// The records of a run and its end, with the best values so far; all numbers can be drawn.
fn moments(run: &Run<'_>) -> Vec<TraceRecord> {
    let certificate = run.certificate;
    // The last bound comes after the last record.
    let end = TraceRecord {
        evaluations: run.evaluations,
        seconds: run.seconds,
        best_objective: certificate.objective,
        lower_bound: certificate.lower_bound,
        ..TraceRecord::default()
    };
    let mut moments: Vec<TraceRecord> = Vec::new();
    for mut moment in run.trace.iter().cloned().chain([end]) {
        if !(drawable(&moment.best_objective) && drawable(&moment.seconds)) {
            continue;
        }
        moment.lower_bound = certificate.lower_bound.and(moment.lower_bound).filter(drawable);
        if let Some(before) = moments.last() {
            moment.evaluations = moment.evaluations.max(before.evaluations);
            moment.seconds = moment.seconds.max(before.seconds);
            moment.best_objective = moment.best_objective.min(before.best_objective);
            let bounds = [moment.lower_bound, before.lower_bound].into_iter().flatten();
            moment.lower_bound = bounds.reduce(f64::max);
        }
        moments.push(moment);
    }
    moments
}

/// The gap relative to the objective, where it exists.
fn gap(moment: &TraceRecord) -> Option<f64> {
    let (objective, lower_bound) = (moment.best_objective, moment.lower_bound);
    let gap = Certificate { objective, lower_bound }.relative_gap()?;
    Some(gap.max(LEAST_GAP)).filter(drawable)
}

/// A line for each run that has values, and the names of those that have none.
fn lines<'r>(
    runs: &[(&'r str, Vec<TraceRecord>)],
    effort: &Effort,
    digits: usize,
    value: impl Fn(&TraceRecord) -> Option<f64>,
) -> (Vec<Line>, Vec<&'r str>) {
    let (mut lines, mut without) = (Vec::new(), Vec::new());
    for (style, (solver, moments)) in runs.iter().enumerate() {
        let points = moments.iter().filter_map(|m| Some(((effort.of)(m), value(m)?)));
        let points: Vec<(f64, f64)> = points.collect();
        let (Some(end), Some(&(_, last))) = (moments.last(), points.last()) else {
            without.push(*solver);
            continue;
        };
        let amount = (effort.shown)((effort.of)(end));
        let summary = format!("{} after {amount} {}", significant(last, digits), effort.name);
        let name = solver.to_string();
        lines.push(Line { name, style, points, floor: Vec::new(), summary });
    }
    (lines, without)
}

fn objective_chart(runs: &[(&str, Vec<TraceRecord>)], effort: &Effort) -> Chart {
    let (mut lines, _) = lines(runs, effort, 6, |moment| Some(moment.best_objective));
    for line in &mut lines {
        let bounds =
            runs[line.style].1.iter().filter_map(|m| Some(((effort.of)(m), m.lower_bound?)));
        line.floor = bounds.collect();
    }
    let note = match lines.iter().any(|line| !line.floor.is_empty()) {
        _ if lines.is_empty() => "No run here has a finite objective to draw.",
        true => "Thin lines: the proven lower bound.",
        false => "",
    };
    let title = format!("Objective by {}", effort.name);
    let chart = Chart::new(title, effort.name, effort_axis(&lines), objective_axis(&lines));
    Chart { lines, note: note.into(), ..chart }
}

fn gap_chart(runs: &[(&str, Vec<TraceRecord>)], effort: &Effort, tol: f64) -> Chart {
    let (lines, without) = lines(runs, effort, 2, gap);
    let note = match without.join(", ") {
        _ if lines.is_empty() => {
            "No run here has a proven lower bound, so there is no gap to draw.".into()
        }
        names if names.is_empty() => names,
        names => format!("Without a proven bound, and so without a gap: {names}."),
    };
    let tol = rule(tol);
    let title = format!("Relative gap by {}", effort.name);
    let chart = Chart::new(title, effort.name, effort_axis(&lines), gap_axis(&lines, tol));
    Chart { lines, rule: tol.map(|tol| (tol, "tolerance")), note, ..chart }
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
    let mut objectives: Vec<f64> = heights(lines).collect();
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
    Axis::linear_with_room(lowest_bound.max(best - 0.6 * spread), high, 0.05)
}

fn gap_axis(lines: &[Line], tol: Option<f64>) -> Axis {
    let Some((least, largest)) = extremes(heights(lines)) else { return Axis::log(1e-3, 1.0) };
    let least = tol.map_or(least, |tol| tol.min(least));
    let decade = |value: f64| 10f64.powf(value.log10().round());
    let low = decade(least / 10f64.sqrt());
    // The first bounds may be arbitrarily bad.
    let high = decade(largest.min((10.0 * least).max(10.0)) * 10f64.sqrt() * (1.0 - 1e-9));
    Axis::log(low, high.max(10.0 * low))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{record, run};
    use super::*;

    #[test]
    fn only_what_can_be_drawn_is_left() {
        let trace = [
            record(1, f64::INFINITY, None),
            record(2, 1.0, Some(f64::NEG_INFINITY)),
            record(3, f64::NAN, Some(0.1)),
            record(4, 0.7, Some(0.2)),
        ];
        let moments = moments(&Run { report: &run("bmrm", 0.5, Some(0.4)), trace: &trace });
        let seen: Vec<_> =
            moments.iter().map(|m| (m.evaluations, m.best_objective, m.lower_bound)).collect();
        assert_eq!(seen, [(2, 1.0, None), (4, 0.7, Some(0.2)), (20, 0.5, Some(0.4))]);
        assert!(gap(&moments[2]).is_some_and(|gap| (gap - 0.2).abs() < 1e-12));
    }

    #[test]
    fn bounds_of_a_local_model_are_not_drawn() {
        let run = Run { report: &run("nrbm", 0.5, None), trace: &[record(1, 1.0, Some(0.2))] };
        assert!(moments(&run).iter().all(|moment| moment.lower_bound.is_none()));
    }

    #[test]
    fn scales_fit_the_values() {
        let line = |points: &[(f64, f64)], floor: &[(f64, f64)]| Line {
            points: points.into(),
            floor: floor.into(),
            ..Line::default()
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
