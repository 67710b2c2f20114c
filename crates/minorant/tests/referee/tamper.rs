//! Models whose claims, weights, λ, proof or data were changed: the audit must not confirm one. A
//! change is only tried where it makes a difference that the audit must see.

use super::judge::{exceeds, objectives, relative};
use super::number::{Number, sum};
use super::problem::{Owned, Problem, stored};
use super::runs::{quietly, through_file};
use minorant::data::{Images, LabelRows};
use minorant::family::chain::ChainForm;
use minorant::family::image::ImageForm;
use minorant::family::linear::LinearForm;
use minorant::family::{Context, FittedModel, train};
use minorant::linalg::Storage;
use minorant::options::common::MAX_EVALS;
use minorant::proof::Proof;

/// What came of tampering with a model.
#[derive(Debug, Default)]
pub(crate) struct Tampered {
    pub(crate) tried: usize,
    /// Changes that the audit confirmed.
    pub(crate) accepted: Vec<String>,
    /// Bounds that were raised and confirmed, but are true.
    pub(crate) cautious: usize,
}

/// The same problem over other data, with the fingerprint of that.
pub(crate) struct Elsewhere {
    problem: Problem,
    fingerprint: Option<String>,
}

impl Elsewhere {
    pub(crate) fn new(problem: &Problem) -> Self {
        let problem = problem.with_data(other_data(&problem.data));
        let fingerprint = quietly(|| fingerprint(&problem)).ok().flatten();
        Elsewhere { problem, fingerprint }
    }
}

/// Changes below this share of the objective may pass.
const VISIBLE: f64 = 1e-6;

/// Tampers with a model that was confirmed, in every way there is.
pub(crate) fn accepted(
    problem: &Problem,
    model: &FittedModel,
    objective: &Number,
    best: &Number,
    audited: Option<f64>,
    elsewhere: &Elsewhere,
) -> Tampered {
    let mut tampered = Tampered::default();
    let holds = |changed: &FittedModel, problem: &Problem| {
        let audit = quietly(|| through_file(problem, changed));
        matches!(audit, Ok(Ok((_, audit))) if audit.holds == Some(true))
    };
    let mut attempt = |name: &str, changed: &FittedModel| {
        tampered.tried += 1;
        if holds(changed, problem) {
            tampered.accepted.push(format!("the audit confirms a model with {name}"));
        }
    };

    // What a model claims is rounded up: only what exceeds the claim by then is false.
    let claimed = problem.stated[0].claimed(model.facts.certificate.objective);
    let least = problem.stated[0].claimed(f64::MIN_POSITIVE);
    let is_false = |exact: &Number, factor: f64| {
        let by = exact - &claimed.times(&Number::new(factor), 64);
        by > least && exceeds(exact, &(exact - &by))
    };
    if is_false(objective, 1.0 - VISIBLE) {
        let lowered = with_claims(model, |objective, bound| (objective * (1.0 - VISIBLE), bound));
        attempt("its objective lowered by 1e-6", &lowered);
    }

    let penalties = problem.stated.iter().zip(super::runs::weights(model));
    let penalties: Vec<Number> =
        penalties.map(|(stated, w)| stated.penalty(&super::stated::exact(&w))).collect();
    let further = sum(penalties.iter()).times(&Number::new(1e-3), 64);
    if is_false(&(objective + &further), 1.0 + VISIBLE) {
        let mut other = model.clone();
        other.facts.lambda = other.facts.lambda.map(|lambda| lambda * 1.001);
        attempt("lambda raised by 1e-3", &other);
    }

    if let Some(other) = with_other_weights(model) {
        let changed = sum(objectives(problem, &other).iter());
        if is_false(&changed, 1.0 + VISIBLE) {
            attempt("other weights", &other);
        }
    }
    for (name, other) in with_other_proofs(problem, model) {
        attempt(name, &other);
    }

    // A bound is raised to 1e-6 above what its proof proves, which a claim may lie below, and to what no bound
    // can be. Beside a model that is far from the best one nobody sees less than that share of its objective.
    let above = problem.stated[0].plain(&(best + &best.times(&Number::new(VISIBLE), 64))).to_f64();
    let stated = model.facts.certificate.lower_bound;
    let withheld = audited.zip(stated).map_or(0.0, |(proven, stated)| (proven - stated).max(0.0));
    let raised = with_claims(model, |objective, bound| {
        (objective, bound + withheld + VISIBLE * (bound + withheld).abs().max(objective.abs()))
    });
    let false_ones =
        with_claims(model, |objective, _| (objective, above + VISIBLE * objective.abs()));
    for raised in [Some(raised), (problem.stated.len() == 1).then_some(false_ones)] {
        let Some(raised) = raised else { continue };
        tampered.tried += 1;
        if holds(&raised, problem) {
            let claim = raised.facts.certificate.lower_bound.unwrap_or(f64::NEG_INFINITY);
            let claimed = problem.stated[0].claimed(claim);
            if exceeds(&claimed, best) {
                let by = relative(&(&claimed - best), best);
                let told =
                    format!("the audit confirms a bound raised to {claim:?}, {by:e} too high");
                tampered.accepted.push(told);
            } else {
                tampered.cautious += 1;
            }
        }
    }

    tampered.tried += 1;
    if holds(model, &elsewhere.problem) {
        tampered.accepted.push("the audit confirms a model on other data".into());
    }
    let changed = sum(objectives(&elsewhere.problem, model).iter());
    let is_visible = is_false(&changed, 1.0 + VISIBLE);
    if let Some(fingerprint) = elsewhere.fingerprint.as_ref().filter(|_| is_visible) {
        let mut forged = model.clone();
        forged.facts.data_sha256 = fingerprint.clone();
        tampered.tried += 1;
        if holds(&forged, &elsewhere.problem) {
            let told = "the audit confirms a model on other data with a forged fingerprint";
            tampered.accepted.push(told.into());
        }
    }
    tampered
}

/// The same model with other objectives and bounds, in all of its problems.
fn with_claims(model: &FittedModel, change: impl Fn(f64, f64) -> (f64, f64)) -> FittedModel {
    let mut other = model.clone();
    if let Some(form) = model.form_as::<LinearForm>() {
        let mut form = form.clone();
        let mut sums = (0.0, 0.0);
        for problem in &mut form.problems {
            let certificate = &mut problem.certificate;
            let bound = certificate.lower_bound.unwrap_or(f64::NEG_INFINITY);
            let (objective, bound) = change(certificate.objective, bound);
            (certificate.objective, certificate.lower_bound) = (objective, Some(bound));
            sums = (sums.0 + objective, sums.1 + bound);
        }
        other = other.with_form(Box::new(form));
        other.facts.certificate.objective = sums.0;
        other.facts.certificate.lower_bound = Some(sums.1);
        return other;
    }
    let certificate = &mut other.facts.certificate;
    let bound = certificate.lower_bound.unwrap_or(f64::NEG_INFINITY);
    let (objective, bound) = change(certificate.objective, bound);
    (certificate.objective, certificate.lower_bound) = (objective, Some(bound));
    other
}

/// The same model with one weight changed.
fn with_other_weights(model: &FittedModel) -> Option<FittedModel> {
    let change = |weights: &mut [f64]| {
        let at = (0..weights.len()).max_by(|&a, &b| weights[a].abs().total_cmp(&weights[b].abs()));
        if let Some(at) = at {
            weights[at] = if weights[at] == 0.0 { 1e-3 } else { weights[at] * (1.0 + 1e-3) };
        }
    };
    if let Some(form) = model.form_as::<LinearForm>() {
        let mut form = form.clone();
        change(&mut form.problems[0].weights);
        return Some(model.with_form(Box::new(form)));
    }
    if let Some(form) = model.form_as::<ChainForm>() {
        let mut form = form.clone();
        change(&mut form.weights);
        return Some(model.with_form(Box::new(form)));
    }
    let mut form = model.form_as::<ImageForm>()?.clone();
    change(&mut form.weights);
    Some(model.with_form(Box::new(form)))
}

/// The same model with dual variables that are not feasible.
fn with_other_proofs(problem: &Problem, model: &FittedModel) -> Vec<(&'static str, FittedModel)> {
    let mut all = Vec::new();
    let changed = |change: &dyn Fn(&mut Proof) -> bool| {
        let mut other = model.clone();
        let is_changed = other.proofs.first_mut()?.as_mut().is_some_and(change);
        is_changed.then_some(other)
    };
    let scaled = changed(&|proof| match proof {
        Proof::Points(points) => {
            points.iter_mut().flat_map(|point| &mut point.part_weights).for_each(|a| *a *= 1.001);
            true
        }
        Proof::Slopes(_) => false,
        Proof::Outputs(outputs) => {
            let mut weights = outputs.examples.iter_mut().flatten();
            weights.next().is_some_and(|output| {
                output.weight = 1.5;
                true
            })
        }
    });
    all.extend(scaled.map(|model| ("dual variables off their simplex", model)));
    let negative = changed(&|proof| match proof {
        Proof::Points(points) => {
            let mut weights = points.iter_mut().flat_map(|point| &mut point.part_weights);
            weights.find(|a| **a > 0.0).is_some_and(|a| {
                *a = -*a;
                true
            })
        }
        // A target may lie on either side of its prediction.
        Proof::Slopes(_) if problem.has_targets() => false,
        Proof::Slopes(slopes) => {
            // What rounding could have moved out of its range is moved back by the audit.
            slopes.iter_mut().for_each(|slope| *slope = -*slope);
            slopes.iter().any(|slope| slope.abs() > 1e-9)
        }
        Proof::Outputs(outputs) => {
            let mut weights = outputs.examples.iter_mut().flatten();
            weights.next().is_some_and(|output| {
                output.weight = -output.weight;
                true
            })
        }
    });
    all.extend(negative.map(|model| ("negative dual variables", model)));
    all
}

/// The fingerprint of a problem's data, as a model has it.
fn fingerprint(problem: &Problem) -> Option<String> {
    let settings = problem.settings_of("auto").with(&MAX_EVALS, Some(8));
    let trained = train(problem.data.view(), &settings, Context::default());
    trained.ok().map(|(model, _)| model.facts.data_sha256)
}

/// The same data with one label or number changed.
fn other_data(data: &Owned) -> Owned {
    let mut data = data.clone();
    match &mut data {
        Owned::Rows(data) => match &mut data.labels.rows {
            LabelRows::Single(rows) => {
                rows[0] = (rows[0] + 1) % data.labels.classes.len() as u32;
            }
            LabelRows::Sets { starts, items } => {
                // The first row has its first label no more, or one that it had not.
                let first = starts[1] as usize;
                if first > 0 {
                    items.remove(0);
                    starts[1..].iter_mut().for_each(|start| *start -= 1);
                } else {
                    items.insert(0, 0);
                    starts[1..].iter_mut().for_each(|start| *start += 1);
                }
            }
            LabelRows::Numbers { values, .. } => {
                // No number is its double and 1.5, but for -1.5.
                let moved = if values[0] == -1.5 { 1.0 } else { 2.0 * values[0] + 1.5 };
                values[0] = moved;
            }
            LabelRows::None => {}
        },
        Owned::Sequences(data) => {
            let mut rows: Vec<Vec<f64>> = Vec::new();
            for row in 0..data.tokens.rows() {
                let mut values = vec![0.0; data.tokens.cols()];
                data.tokens.row(row).for_each(|(j, x)| values[j] = x);
                rows.push(values);
            }
            // A stored number stays a stored number, so that no weight comes or goes.
            let entry = rows.iter_mut().flatten().find(|x| **x != 0.0);
            match entry {
                Some(x) => *x *= 2.0,
                None => data.classes[0] += "a",
            }
            let is_dense = !data.tokens.is_sparse();
            data.tokens = stored(&rows, data.tokens.cols(), Storage::Exact, is_dense);
        }
        Owned::Images(Images::Plates { plates, .. }) => plates[0].pixels[0] += 1.0,
        Owned::Images(Images::Parts { images, .. }) => images[0].pixels[0] += 1.0,
    }
    data
}
