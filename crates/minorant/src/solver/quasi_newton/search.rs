//! Line searches of the walking methods: the exact one and a Wolfe search along lines that cost no
//! pass over the data, and a Wolfe search whose every probe is an evaluation. All obey the
//! subgradient Wolfe conditions (23) and (24) of Yu et al.

use super::direction::Direction;
use super::walk::Site;
use crate::line::{self, Line, Quadratic, Side};
use crate::risk::{Lines, Plane, Point, RiskError};
use crate::solver::{Halt, LineSearch, MethodError, Run, Tuning};
use minorant_linalg::dense::{axpy, dot, norm2};

/// How lines are searched: c₁ of the sufficient decrease (23), c₂ of the curvature condition (24).
#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct SearchRules {
    pub(super) kind: LineSearch,
    decrease: f64,
    curvature: f64,
}

impl Default for SearchRules {
    fn default() -> Self {
        SearchRules { kind: LineSearch::Auto, decrease: 1e-4, curvature: 0.9 }
    }
}

impl SearchRules {
    /// The rules that are asked for, or a sentence on what is wrong with them.
    pub(in crate::solver) fn new(tuning: Tuning) -> Result<Self, MethodError> {
        let usual = SearchRules::default();
        let decrease = tuning.wolfe_decrease.unwrap_or(usual.decrease);
        let curvature = tuning.wolfe_curvature.unwrap_or(usual.curvature);
        if 0.0 < decrease && decrease < curvature && curvature < 1.0 {
            return Ok(SearchRules { kind: tuning.search, decrease, curvature });
        }
        Err(MethodError::Setting(format!(
            "the Wolfe conditions need 0 < wolfe-decrease < wolfe-curvature < 1, not {decrease} and \
             {curvature}"
        )))
    }
}

/// Probes after which a search gives up.
const PROBES: u32 = 60;
/// The least and the most of a step that is left where it was too long.
const SHORTEN: (f64, f64) = (0.1, 0.5);
/// How far ahead of a direction of the right length points are computed.
const FAR: f64 = 4.0;
/// Where a line that falls for ever is left.
const ENDLESS: f64 = 1e15;

/// The end of a line search.
#[derive(Debug)]
pub(in crate::solver) struct Reached {
    pub(super) point: Point,
    pub(super) planes: Vec<Plane>,
    pub(super) length: f64,
    /// Whether the point's outputs were combined from others.
    pub(super) combined: bool,
    /// Whether the objective falls for ever along the line.
    pub(super) endless: bool,
}

/// The longest step in units of the way to a computed point. Points on a line are combined: errors
/// in the outputs at its start come back |1 − step|-fold, which must not exceed 1, for they would
/// grow from line to line.
pub(super) fn longest_step(start: &Point) -> f64 {
    if start.outputs.is_none() { f64::INFINITY } else { 2.0 }
}

/// w + η p.
pub(super) fn ahead(w: &[f64], p: &[f64], eta: f64) -> Vec<f64> {
    let mut to = w.to_vec();
    axpy(eta, p, &mut to);
    to
}

/// A step that the minimum along p does not lie beyond, or, where none is known, one that is not
/// out of all proportion. Ω bends the line by λ‖θ ∘ p‖² at least.
pub(super) fn reach(run: &Run<'_>, site: &Site, direction: &Direction, fresh: bool) -> f64 {
    let w = &site.point.w;
    let quadratic = run.problem.regularizer.along(w, &ahead(w, &direction.p, 1.0));
    let bound = -direction.slope / quadratic.curvature;
    let lines = run.problem.risk.lines().is_some();
    match (fresh, lines && bound.is_finite()) {
        (false, _) => bound.min(if lines { FAR } else { 1.0 }),
        (true, true) => bound,
        (true, false) => {
            bound.min((1.0 + norm2(w).sqrt()) / norm2(&direction.p).sqrt()).min(f64::MAX)
        }
    }
}

/// The exact minimiser along a line: one evaluation, forward at the far end of the stretch and
/// backward at the minimiser. Nothing where the objective does not fall.
pub(super) fn exact(
    run: &mut Run<'_>,
    lines: &dyn Lines,
    site: &Site,
    direction: &Direction,
    reach: f64,
    parts: usize,
) -> Result<Option<Reached>, Halt> {
    let trial = run.evaluate(ahead(&site.point.w, &direction.p, reach))?;
    let quadratic = run.problem.regularizer.along(&site.point.w, &trial.w);
    let step = line::minimise(&mut lines.line(&site.point, &trial), quadratic);
    let endless = step == f64::INFINITY;
    let step = if endless { ENDLESS / reach } else { step.min(longest_step(&site.point)) };
    finish(run, lines, site, &trial, (step, reach, endless), parts)
}

/// A step along a smooth line that obeys the Wolfe conditions, for one evaluation.
pub(super) fn wolfe_on_line(
    run: &mut Run<'_>,
    lines: &dyn Lines,
    site: &Site,
    direction: &Direction,
    (reach, rules): (f64, SearchRules),
    parts: usize,
) -> Result<Option<Reached>, Halt> {
    let trial = run.evaluate(ahead(&site.point.w, &direction.p, reach))?;
    let quadratic = run.problem.regularizer.along(&site.point.w, &trial.w);
    let line = lines.line(&site.point, &trial);
    let start = Probe { value: line.value(0.0), slope: reach * direction.slope };
    let first = reach.recip().min(1.0);
    let probe = |eta| Ok((probe(&line, quadratic, eta), ()));
    let found = weak_wolfe::<(), Halt>(rules, start, first, probe);
    let Some((step, ())) = found? else { return Ok(None) };
    drop(line);
    finish(run, lines, site, &trial, (step.min(longest_step(&site.point)), reach, false), parts)
}

fn probe(line: &Line<'_>, quadratic: Quadratic, eta: f64) -> Probe {
    let bend = quadratic.curvature * eta;
    let value = line.value(eta) + eta * (quadratic.slope + 0.5 * bend);
    Probe { value, slope: line.slope(eta, Side::After) + quadratic.slope + bend }
}

fn finish(
    run: &mut Run<'_>,
    lines: &dyn Lines,
    site: &Site,
    trial: &Point,
    (step, reach, endless): (f64, f64, bool),
    parts: usize,
) -> Result<Option<Reached>, Halt> {
    let point = lines.between(&site.point, trial, step);
    // A step down that rounding hides is none.
    if step == 0.0 || run.problem.objective(&point) >= site.objective {
        return Ok(None);
    }
    let planes = run.planes(&point, parts)?;
    Ok(Some(Reached { point, planes, length: step * reach, combined: true, endless }))
}

/// A step that obeys the Wolfe conditions where each probe is an evaluation. `see` is shown every
/// point with its planes, whether it is taken or not.
pub(super) fn wolfe(
    run: &mut Run<'_>,
    site: &Site,
    direction: &Direction,
    (first, rules): (f64, SearchRules),
    parts: usize,
    mut see: impl FnMut(&mut Run<'_>, &Point, &[Plane]),
) -> Result<Option<Reached>, Halt> {
    let p = &direction.p;
    let start = Probe { value: site.objective, slope: direction.slope };
    let found = weak_wolfe(rules, start, first, |eta| {
        let (point, planes) = match run.evaluate_with_planes(ahead(&site.point.w, p, eta), parts) {
            Ok(found) => found,
            // Where the risk is not finite the step was too long.
            Err(Halt::Failed(RiskError::NotFinite(_))) => {
                return Ok((Probe { value: f64::NAN, slope: 0.0 }, None));
            }
            Err(halt) => return Err(halt),
        };
        see(run, &point, &planes);
        let here = Site::new(run, point, &planes)?;
        let slope = dot(&here.steepest(run, p)?, p);
        Ok::<_, Halt>((Probe { value: here.objective, slope }, Some((here.point, planes))))
    })?;
    let reached = |length: f64, (point, planes): (Point, Vec<Plane>)| {
        let endless = length >= ENDLESS;
        Reached { point, planes, length, combined: false, endless }
    };
    Ok(found.and_then(|(length, found)| found.map(|found| reached(length, found))))
}

/// The objective and the slope just after a step.
#[derive(Debug, Clone, Copy)]
struct Probe {
    value: f64,
    slope: f64,
}

/// A step that obeys (23) and (24): too long steps and too short ones close in on it. Where there is
/// none, as before a place from which on the objective is not finite, the longest that was too short.
/// Nothing where rounding leaves no room for a decrease.
fn weak_wolfe<T, E>(
    rules: SearchRules,
    start: Probe,
    first: f64,
    mut probe: impl FnMut(f64) -> Result<(Probe, T), E>,
) -> Result<Option<(f64, T)>, E> {
    let (mut short, mut long) = (0.0, f64::INFINITY);
    let mut longest_short = None;
    let mut eta = first;
    for _ in 0..PROBES {
        let ask = rules.decrease * eta * start.slope;
        if ask.is_nan() || ask > -f64::EPSILON * f64::EPSILON * start.value.abs() {
            return Ok(longest_short);
        }
        let (here, found) = probe(eta)?;
        if here.value.is_nan() || here.value > start.value + ask || here.value >= start.value {
            long = eta;
        } else if here.slope < rules.curvature * start.slope && eta < ENDLESS {
            short = eta;
            longest_short = Some((eta, found));
        } else {
            return Ok(Some((eta, found)));
        }
        eta = match (short > 0.0, long.is_finite()) {
            (_, false) => 4.0 * eta,
            (true, true) => 0.5 * (short + long),
            // On the way back to the start: to the minimum of the parabola through what is known.
            (false, true) => {
                let rise = here.value - start.value - eta * start.slope;
                let share = -0.5 * eta * start.slope / rise;
                eta * if share > SHORTEN.0 { share.min(SHORTEN.1) } else { SHORTEN.0 }
            }
        };
        if eta <= short || eta >= long {
            break;
        }
    }
    Ok(longest_short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// Convex functions of one variable: kinks, a parabola, and both.
    #[test]
    fn accepted_steps_obey_both_conditions() {
        let number = |at: usize| ((at * 2_654_435_761) % 1_000_003) as f64 / 1_000_003.0;
        for case in 0..400 {
            let bend = if case % 3 == 0 { 0.0 } else { 3.0 * number(case) };
            let kinks: Vec<(f64, f64)> = (0..case % 5)
                .map(|k| (4.0 * number(31 * case + k), 5.0 * number(700 + 17 * case + k)))
                .collect();
            let fall = 0.5 + 2.0 * number(90_000 + case);
            let at = |x: f64| {
                let value = kinks.iter().map(|(at, size)| size * (x - at).max(0.0)).sum::<f64>();
                let slope = kinks.iter().filter(|k| k.0 <= x).map(|k| k.1).sum::<f64>();
                Probe {
                    value: 10.0 - fall * x + 0.5 * bend * x * x + value,
                    slope: -fall + bend * x + slope,
                }
            };
            let start = at(0.0);
            let first = 10f64.powf(6.0 * number(5_000 + case) - 3.0);
            let rules = SearchRules::default();
            let Ok(found) =
                weak_wolfe(rules, start, first, |eta| Ok::<_, Infallible>((at(eta), ())));
            let (eta, ()) = found.expect("a step");
            let end = at(eta);
            assert!(end.value <= start.value + rules.decrease * eta * start.slope, "{case}");
            assert!(end.slope >= rules.curvature * start.slope || eta >= ENDLESS, "{case}");
        }
    }

    #[test]
    fn a_line_that_only_rises_has_no_step() {
        let rising = |eta: f64| Ok::<_, Infallible>((Probe { value: 1.0 + eta, slope: 1.0 }, ()));
        let start = Probe { value: 1.0, slope: -1.0 };
        let Ok(found) = weak_wolfe(SearchRules::default(), start, 1.0, rising);
        assert!(found.is_none());
    }
}
