//! The verdicts on the runs of a problem, all by exact comparisons with the best weights known.

use super::number::Number;
use super::problem::{self, Problem};
use super::runs::{self, Ended, Fitted, Ran};
use super::stated::{Shape, Stated, exact};
use super::tamper::{self, Elsewhere};
use super::{piecewise, smooth};
use minorant::certificate::Certificate;
use minorant::family::FittedModel;
use minorant::solver::Status;
use std::collections::BTreeMap;

/// What is wrong with a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// The bound lies above an objective that is reached.
    Lie,
    /// The bound that the audit confirms does.
    AuditLie,
    /// The bound that the audit tells does, though it refuses the model.
    RefusedLie,
    /// The reported objective lies below that of the weights.
    Objective,
    /// A weight lies outside of its bounds.
    Infeasible,
    /// A gap is called certified that is wider than was asked for.
    Certified,
    /// A run has converged that has not.
    Converged,
    /// The audit refuses an honest model.
    Refused,
    /// The audit confirms a model that was tampered with.
    Accepted,
    /// The run took much longer than it was given.
    Slow,
    /// The library panicked.
    Panic,
    /// The run ended with an error.
    Error,
    /// An objective, bound or weight is not a number.
    NotFinite,
}

/// A defect that was found.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    pub(crate) verdict: Verdict,
    pub(crate) seed: u64,
    pub(crate) kind: String,
    pub(crate) solver: &'static str,
    /// How bad it is, relative to the objective where it is about numbers.
    pub(crate) amount: f64,
    pub(crate) detail: String,
    /// Characters of the data, by which small examples are found.
    pub(crate) size: usize,
}

/// What a problem has shown.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub(crate) findings: Vec<Finding>,
    /// Runs by how they ended, for tables: kind, solver, status.
    pub(crate) ends: Vec<(String, &'static str, String)>,
    /// How far above the exact objective reported ones lie, relative to it.
    pub(crate) above: Vec<(String, f64)>,
    /// The kind, the problems whose optimum is known to 1e-40, and all.
    pub(crate) solved: (String, usize, usize),
    /// Models that were tampered with, and raised bounds that were confirmed but are true.
    pub(crate) tampered: usize,
    pub(crate) cautious: usize,
    /// Models whose bound nobody can check.
    pub(crate) without_proof: usize,
}

/// The best objective known of one problem, times its total.
pub(crate) struct Best {
    pub(crate) objective: Number,
    pub(crate) is_proven: bool,
}

/// Trains, compares and judges one problem.
pub(crate) fn judge(seed: u64) -> Judged {
    let problem = problem::draw(seed);
    let ran = runs::all(&problem);
    let elsewhere = Elsewhere::new(&problem);
    let mut judge = Judge { problem: &problem, elsewhere, seed, judged: Judged::default() };
    for run in &ran {
        judge.how_it_ended(run);
    }
    let fitted: Vec<(&Ran, &Fitted)> = ran
        .iter()
        .filter_map(|run| match &run.ended {
            Ended::Fitted(fitted) if is_finite(&fitted.model) => Some((run, &**fitted)),
            _ => None,
        })
        .collect();
    let objectives: Vec<Vec<Number>> =
        fitted.iter().map(|(_, fitted)| objectives(&problem, &fitted.model)).collect();
    let best: Vec<Best> = (0..problem.stated.len())
        .map(|k| {
            let stated = &problem.stated[k];
            let weights = fitted.iter().map(|(_, fitted)| runs::weights(&fitted.model)[k].clone());
            let known = weights.zip(objectives.iter().map(|all| &all[k]));
            let known = known.filter(|(w, _)| stated.is_feasible(&exact(w)));
            best(stated, known.min_by(|a, b| a.1.cmp(b.1)).map(|known| known.0))
        })
        .collect();
    let proven = best.iter().filter(|best| best.is_proven).count();
    judge.judged.solved = (problem.kind.clone(), proven, best.len());
    for ((run, fitted), objectives) in fitted.iter().zip(&objectives) {
        judge.numbers(run, fitted, objectives, &best);
    }
    judge.judged
}

/// Whether all weights of a model are numbers.
fn is_finite(model: &FittedModel) -> bool {
    runs::weights(model).iter().flatten().all(|w| w.is_finite())
}

/// The exact objectives of a model's problems, times their totals.
pub(crate) fn objectives(problem: &Problem, model: &FittedModel) -> Vec<Number> {
    let weights = runs::weights(model);
    let each = problem.stated.iter().zip(&weights);
    each.map(|(stated, w)| stated.objective(&exact(w))).collect()
}

/// The best objective known: of the best weights that a solver found, of 0, and of what becomes of
/// these by the referee's own methods.
fn best(stated: &Stated, known: Option<Vec<f64>>) -> Best {
    let zero: Vec<Number> =
        stated.weights.iter().map(|weight| weight.within(&Number::zero())).collect();
    let mut start = (stated.objective(&zero), zero);
    if let Some(w) = known.map(|w| exact(&w)) {
        let objective = stated.objective(&w);
        if objective < start.0 {
            start = (objective, w);
        }
    }
    let (w, is_proven) = match stated.shape {
        Shape::Maximum => piecewise::optimum(stated, &start.1),
        _ => smooth::optimum(stated, &start.1),
    };
    let refined = stated.objective(&w);
    Best { objective: refined.min(start.0), is_proven }
}

/// x / |y|, for tables.
pub(crate) fn relative(x: &Number, y: &Number) -> f64 {
    match (x.is_zero(), y.is_zero()) {
        (true, _) => 0.0,
        (_, true) => f64::INFINITY,
        _ => x.over(&y.abs(), 64).to_f64(),
    }
}

/// Whether x > y, by more than logarithms and roots may be wrong.
pub(crate) fn exceeds(x: &Number, y: &Number) -> bool {
    let by = x - y;
    by.is_positive() && by.magnitude() > y.magnitude() - 200
}

/// What a model claims of one of its problems or of all, and what is true.
struct Claim<'n> {
    name: String,
    certificate: Certificate,
    best: &'n Number,
    exact: &'n Number,
}

struct Judge<'p> {
    problem: &'p Problem,
    elsewhere: Elsewhere,
    seed: u64,
    judged: Judged,
}

impl Judge<'_> {
    fn find(&mut self, verdict: Verdict, run: &Ran, amount: f64, detail: String) {
        let finding = Finding {
            verdict,
            seed: self.seed,
            kind: self.problem.kind.clone(),
            solver: run.solver,
            amount,
            detail,
            size: self.problem.files.iter().map(|(_, text)| text.len()).sum(),
        };
        self.judged.findings.push(finding);
    }

    fn how_it_ended(&mut self, run: &Ran) {
        let status = match &run.ended {
            Ended::Fitted(fitted) => fitted.report.status.as_str().to_string(),
            Ended::NotFor => return,
            Ended::Refused(_) => "error".into(),
            Ended::Panicked(_) => "panic".into(),
        };
        self.judged.ends.push((self.problem.kind.clone(), run.solver, status));
        match &run.ended {
            Ended::Refused(why) => self.find(Verdict::Error, run, 0.0, why.clone()),
            Ended::Panicked(why) => self.find(Verdict::Panic, run, 0.0, why.clone()),
            _ => {}
        }
        if run.seconds > 10.0 {
            let told = format!("{:.1} s with a limit of 2 s", run.seconds);
            self.find(Verdict::Slow, run, run.seconds, told);
        }
        if let Ended::Fitted(fitted) = &run.ended {
            let certificate = fitted.report.certificate;
            let numbers = [Some(certificate.objective), certificate.lower_bound];
            let bound_is_wild = numbers.into_iter().flatten().any(|x| !x.is_finite());
            if bound_is_wild || !is_finite(&fitted.model) {
                self.find(Verdict::NotFinite, run, 0.0, format!("{certificate:?}"));
            }
        }
    }

    /// Judges the numbers of a run.
    fn numbers(&mut self, run: &Ran, fitted: &Fitted, objectives: &[Number], best: &[Best]) {
        let problem = self.problem;
        let stated = &problem.stated;
        // The problems of all classes have the same total.
        let total = |numbers: &[Number]| super::number::sum(numbers.iter());
        let all_best: Vec<Number> = best.iter().map(|best| best.objective.clone()).collect();
        let (all_best, exact_objective) = (total(&all_best), total(objectives));
        let claims = runs::claims(&fitted.model).into_iter().zip(best).zip(objectives).enumerate();
        let mut claims: Vec<Claim<'_>> = claims
            .map(|(k, ((certificate, best), exact))| {
                let name = if is_single(stated) { String::new() } else { format!("class {k}: ") };
                Claim { name, certificate, best: &best.objective, exact }
            })
            .collect();
        let facts = fitted.model.facts.certificate;
        if !is_single(stated) {
            let name = "all classes: ".to_string();
            let (best, exact) = (&all_best, &exact_objective);
            claims.push(Claim { name, certificate: facts, best, exact });
        }
        let proven = best.iter().all(|best| best.is_proven);
        let mut found = Vec::new();
        let weights = runs::weights(&fitted.model);
        if !stated.iter().zip(&weights).all(|(stated, w)| stated.is_feasible(&exact(w))) {
            found.push((Verdict::Infeasible, 0.0, format!("weights {weights:?}")));
        }
        for Claim { name, certificate, best, exact } in claims {
            let objective = Some(certificate.objective);
            if let Some(bound) = certificate.lower_bound.filter(|bound| bound.is_finite()) {
                let bound_times = stated[0].claimed(bound);
                if exceeds(&bound_times, best) {
                    let by = relative(&(&bound_times - best), best);
                    let told = format!(
                        "{name}bound {bound:?}, but {:?} is reached (optimum proven: {proven}), {by:e} below",
                        stated[0].plain(best).to_f64()
                    );
                    found.push((Verdict::Lie, by, told));
                }
            }
            if let Some(objective) = objective.filter(|objective| objective.is_finite()) {
                let off = &stated[0].claimed(objective) - exact;
                // Beside what no normal number is, nothing is off.
                let is_nothing = stated[0].plain(&off).to_f64().abs() < f64::MIN_POSITIVE;
                let off = if is_nothing { 0.0 } else { relative(&off, exact) };
                self.judged.above.push((problem.kind.clone(), off));
                if off < -1e-13 {
                    let told = format!(
                        "{name}objective {objective:?}, but the weights have {:?}",
                        stated[0].plain(exact).to_f64()
                    );
                    found.push((Verdict::Objective, -off, told));
                }
            }
        }
        if let Some(bound) = fitted.audit.lower_bound.filter(|bound| bound.is_finite()) {
            let bound_times = stated[0].claimed(bound);
            if exceeds(&bound_times, &all_best) {
                let by = relative(&(&bound_times - &all_best), &all_best);
                let told = format!(
                    "the audit's bound is {bound:?}, but {:?} is reached, {by:e} below",
                    stated[0].plain(&all_best).to_f64()
                );
                let verdict = match fitted.audit.holds {
                    Some(true) => Verdict::AuditLie,
                    _ => Verdict::RefusedLie,
                };
                found.push((verdict, by, told));
            }
        }
        self.gaps(fitted, &exact_objective, &mut found);
        if let Some(false) = fitted.audit.holds {
            found.push((Verdict::Refused, 0.0, format!("audit: {}", fitted.audit.why)));
        }
        if fitted.audit.holds.is_none() && facts.lower_bound.is_some_and(f64::is_finite) {
            self.judged.without_proof += 1;
        }
        if fitted.audit.holds == Some(true) {
            let tampered = tamper::accepted(
                problem,
                &fitted.model,
                &exact_objective,
                &all_best,
                fitted.audit.lower_bound,
                &self.elsewhere,
            );
            self.judged.tampered += tampered.tried;
            self.judged.cautious += tampered.cautious;
            found.extend(tampered.accepted.into_iter().map(|told| (Verdict::Accepted, 0.0, told)));
        }
        for (verdict, amount, detail) in found {
            self.find(verdict, run, amount, detail);
        }
    }

    /// Whether gaps that are called narrow are.
    fn gaps(&self, fitted: &Fitted, objective: &Number, found: &mut Vec<(Verdict, f64, String)>) {
        let (facts, tol) = (&fitted.model.facts, self.problem.tol());
        let stated = &self.problem.stated[0];
        let Some(bound) = facts.certificate.lower_bound.filter(|bound| bound.is_finite()) else {
            if facts.is_certified() {
                found.push((Verdict::Certified, 0.0, "certified without a bound".into()));
            }
            return;
        };
        let gap = objective - &stated.claimed(bound);
        let is_gap = stated.plain(&gap).to_f64() >= f64::MIN_POSITIVE;
        let relative_gap = if is_gap { relative(&gap, objective) } else { 0.0 };
        let told = |word: &str| {
            format!(
                "{word} to {tol:e} with a gap of {relative_gap:e}: objective {:?} (exact {:?}), bound {bound:?}",
                facts.certificate.objective,
                stated.plain(objective).to_f64()
            )
        };
        let most = tol * (1.0 + 1e-9);
        if facts.is_certified() && relative_gap > most {
            found.push((Verdict::Certified, relative_gap, told("certified")));
        }
        let rules = self.problem.settings.rules();
        // The tolerance is one for each class.
        let mut absolute = rules.abs_tol * self.problem.stated.len() as f64 * (1.0 + 1e-9);
        if self.problem.has_targets() && !self.problem.settings.is_given("abs-tol") {
            // Targets have a scale, which it counts in, unless none of them is missed at w = 0; where the
            // intercept is free, it may be that which meets them.
            let at_zero = stated.objective(&vec![Number::zero(); stated.dim()]);
            let scale = stated.plain(&at_zero).to_f64();
            let is_free = self.problem.settings.is_given("intercept");
            absolute *= if scale > 0.0 && !is_free { scale } else { scale.max(1.0) };
        }
        let narrow = relative_gap <= most || stated.plain(&gap).to_f64() <= absolute;
        if fitted.report.status == Status::Converged && !narrow && is_single(&self.problem.stated) {
            found.push((Verdict::Converged, relative_gap, told("converged")));
        }
    }
}

/// Whether there is one problem only, not one for each class.
fn is_single(stated: &[Stated]) -> bool {
    stated.len() == 1
}

/// Findings by verdict, kind and solver, counted.
pub(crate) fn counted(findings: &[Finding]) -> BTreeMap<(Verdict, String, &'static str), usize> {
    let mut counts = BTreeMap::new();
    for finding in findings {
        let key = (finding.verdict, finding.kind.clone(), finding.solver);
        *counts.entry(key).or_insert(0) += 1;
    }
    counts
}
