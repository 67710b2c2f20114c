//! Models that are not convex and for which w = 0 is no place to start: they are minimised from the
//! support vector machine of the rows that have a label, and from further seeded starts around it,
//! of which the best is kept. The transductive machine is one; another is the ramp loss that is
//! constant around margins of 0, where w = 0 is as stationary as a point can be. Evaluations of all
//! runs add up; a pass over the labelled rows alone counts by their share of all rows.

use super::targets::Truths;
use super::{BALANCE_MEAN, GAMMA, LossName, RAMP, Rows, STARTS, Targets, WeightedRows, loss_of};
use crate::family::{Asked, Settings, TrainError, Walk};
use crate::options::common::{BIAS, SEED};
use crate::regularizer::L2;
use crate::risk::transductive::Transductive;
use crate::risk::{Cancel, ExampleWeights};
use crate::solver::{
    self, Checkpoints, Method, MethodOptions, Outcome, Problem, RunError, Status, StopRules,
};
use crate::trace::{Behind, TraceRecord};
use minorant_linalg::Design;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;

/// The relative gap to which the first support vector machine is solved.
const FIRST_TOL: f64 = 1e-4;
/// Evaluations that a run takes at least: its start, and the last pass over its answer.
const LEAST: u64 = 2;
/// How far further starts lie from the first, in lengths of it; one after the other.
const DISTANCES: [f64; 3] = [1.0, 2.0, 0.5];

/// Makes all runs; the outcome is the best one's, with the effort of all.
pub(super) fn solve(
    rows: &Rows<'_>,
    regularizer: &L2,
    walk: &mut Walk<'_>,
) -> Result<(Vec<Outcome>, Method), TrainError> {
    let all = walk.settings.rules();
    let starts = if rows.settings.model() == "tsvm" { rows.settings.get(&STARTS) } else { 1 };
    let asked = walk.asked;
    let mut state = Outcome::resume(&mut *walk.checkpoints)?;
    // The runs before those on the risk itself: none where the start is given.
    let first = usize::from(asked.start.is_none());
    if state.carried.len() < first {
        let outcome = labelled_only(rows, regularizer, asked.cancel, &mut state)?;
        state.carried.push(outcome);
    }
    let begin = asked.start.unwrap_or_else(|| &state.carried[0].point.w).to_vec();
    let given = rows.settings.example_weights();
    let weight = |i: usize| given.as_ref().map_or(1.0, |weights| weights[i]);
    let unlabelled = |i: usize| (!rows.targets.is_labelled(i)).then(|| weight(i));
    let mean_row = |_| {
        let (matrix, gamma) = (&rows.data.features, rows.settings.get(&GAMMA));
        Transductive::with_mean_row(matrix, &rows.shares, unlabelled, gamma)
    };
    let balanced = rows.settings.get(&BALANCE_MEAN).map(mean_row).transpose();
    let balanced = balanced.map_err(|error| error.to_string())?;
    let (matrix, weights) = match &balanced {
        Some((matrix, weights)) => (matrix, weights),
        None => (&rows.data.features, &rows.shares),
    };
    let design = Design::new(matrix, rows.settings.get(&BIAS));
    let weighted = WeightedRows { design, weights: weights.clone(), settings: rows.settings };
    let risk = loss_of(rows.settings).risk(&rows.targets, 0, weighted);
    let mut method = Method::Auto;
    // Who says stop while a run ends by itself is heard by the next one.
    let asked_to_stop = || asked.cancel.is_cancelled().then_some(Status::Interrupted);
    let mut cut = stopped(state.carried.iter().take(first)).or_else(asked_to_stop);
    while state.carried.len() - first < starts {
        let run = state.carried.len() - first;
        let before = effort(&state.carried, first, &rows.targets);
        let left = all.max_evaluations.map(|most| most.saturating_sub(before.evaluations));
        if run > 0 && left.is_some_and(|left| left < LEAST) {
            cut = cut.or(Some(Status::MaxEvals));
        }
        cut = cut.or_else(asked_to_stop);
        if run > 0 && cut.is_some() {
            break;
        }
        let start = start_of(run, &begin, rows.settings.get(&SEED));
        let problem = Problem::new(&*risk, regularizer).starting_at(Some(&start));
        // Where time ran out or the user said stop before the first start, that is the answer.
        let token = if cut.is_some() { Cancel::new() } else { asked.cancel.clone() };
        let rules = StopRules {
            max_evaluations: if cut.is_some() { Some(1) } else { left.map(|left| left.max(1)) },
            max_seconds: all.max_seconds.map(|most| most - before.seconds),
            ..all
        };
        let mut watching = Behind { observer: &mut *walk.observer, before };
        let outcome;
        let own = Asked { cancel: &token, to_rounding: false, ..asked };
        (outcome, method) = Walk { asked: own, observer: &mut watching, checkpoints: &mut state }
            .minimise(problem, rules)?;
        cut = cut.or(stopped([&outcome]));
        state.carried.push(outcome);
    }
    let sums = effort(&state.carried, first, &rows.targets);
    let runs = state.carried.drain(first..);
    let direction_steps = runs.as_slice().iter().map(|run| run.direction_steps).sum();
    let best = runs.min_by(|a, b| a.certificate.objective.total_cmp(&b.certificate.objective));
    let mut best = best.ok_or(RunError::NoPoint)?;
    best.status = cut.unwrap_or(best.status);
    best.direction_steps = direction_steps;
    (best.evaluations, best.iterations) = (sums.evaluations, sums.iteration);
    (best.seconds, best.master_seconds) = (sums.seconds, sums.master_seconds);
    Ok((vec![best], method))
}

/// How a run ended that a limit or the user cut short.
fn stopped<'o>(outcomes: impl IntoIterator<Item = &'o Outcome>) -> Option<Status> {
    let is_cut =
        |s: &Status| matches!(s, Status::MaxEvals | Status::MaxSeconds | Status::Interrupted);
    outcomes.into_iter().map(|outcome| outcome.status).find(is_cut)
}

/// Whether a model starts at a support vector machine.
pub(super) fn is_start_of(targets: &Targets, settings: &Settings) -> bool {
    let is_flat_at_zero = loss_of(settings) == LossName::Ramp && settings.get(&RAMP) >= 0.0;
    targets.is_transductive() || is_flat_at_zero
}

/// The rows that have a label.
fn labelled(targets: &Targets) -> impl Iterator<Item = usize> {
    (0..targets.rows()).filter(|&i| targets.is_labelled(i))
}

/// The support vector machine of the labelled rows.
fn labelled_only(
    rows: &Rows<'_>,
    regularizer: &L2,
    cancel: &Cancel,
    checkpoints: &mut dyn Checkpoints,
) -> Result<Outcome, TrainError> {
    let chosen: Vec<usize> = labelled(&rows.targets).collect();
    let matrix;
    let all = rows.weighted();
    let risk = if let Truths::SomeClasses(labels) = &rows.targets.truths {
        matrix = rows.data.features.select_rows(&chosen);
        let design = Design::new(&matrix, rows.settings.get(&BIAS));
        let weights = ExampleWeights::Each(chosen.iter().map(|&i| rows.shares.of(i)).collect());
        let truths = Truths::Classes(labels.iter().flatten().copied().collect());
        let targets = Targets { truths, ..rows.targets };
        LossName::Hinge.risk(&targets, 0, WeightedRows { design, weights, ..all })
    } else {
        LossName::Hinge.risk(&rows.targets, 0, all)
    };
    let all = rows.settings.rules();
    // As many passes over these rows as leave evaluations for the first run on the risk itself.
    let (count, some) = (rows.targets.rows() as u64, chosen.len() as u64);
    let passes = |most: u64| most.saturating_sub(LEAST).saturating_mul(count) / some;
    if all.max_evaluations.is_some_and(|most| passes(most) < LEAST) {
        // The first run on the risk itself takes the evaluations that are left.
        return Ok(Outcome::not_begun(regularizer.center(risk.dim()), f64::NAN, Status::MaxEvals));
    }
    let rules = StopRules {
        tol: FIRST_TOL,
        abs_tol: all.abs_tol,
        max_evaluations: all.max_evaluations.map(passes),
        max_seconds: all.max_seconds,
        ..StopRules::default()
    };
    let settings =
        MethodOptions { max_bytes: rows.settings.max_bytes(), ..MethodOptions::default() };
    let problem = Problem::new(&*risk, regularizer);
    let mut solver = Method::pick_bundle(problem).build(problem, &settings)?;
    Ok(solver::run(&mut *solver, problem, rules, cancel, &mut (), checkpoints)?)
}

/// The start of a run: the first at `begin`, the others at seeded random points around it.
fn start_of(run: usize, begin: &[f64], seed: u64) -> Vec<f64> {
    if run == 0 {
        return begin.to_vec();
    }
    let mut random =
        Pcg64Mcg::seed_from_u64(seed ^ (run as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let draws: Vec<f64> = begin.iter().map(|_| StandardNormal.sample(&mut random)).collect();
    let length = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let scale = DISTANCES[(run - 1) % DISTANCES.len()] * length(begin) / length(&draws).max(1e-300);
    begin.iter().zip(draws).map(|(w, draw)| w + scale * draw).collect()
}

/// What the runs so far took, of which the `first` were on the labelled rows alone, and the least
/// objective of the others.
fn effort(outcomes: &[Outcome], first: usize, targets: &Targets) -> TraceRecord {
    let (known, own) = outcomes.split_at(first);
    let (all, own) = (targets.rows() as u64, Outcome::together(own));
    let of_known = Outcome::together(known).evaluations * labelled(targets).count() as u64;
    let objectives = outcomes[first..].iter().map(|outcome| outcome.certificate.objective);
    TraceRecord {
        iteration: own.iteration,
        evaluations: (of_known + own.evaluations * all).div_ceil(all.max(1)),
        best_objective: objectives.fold(f64::INFINITY, f64::min),
        ..Outcome::together(outcomes)
    }
}
