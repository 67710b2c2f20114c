//! Curves of Yu et al.: objectives against evaluations (Figures 4, 5, 9, 15, 19 and 21, which the paper
//! draws against iterations or seconds), and the orthant-wise methods with chosen and with random
//! subgradients (Figures 17 and 18, with the direction counts of Table 2) as a table.

use crate::clock::on_one_thread;
use crate::curves::{Curves, excess};
use crate::data::{LossKind, Store};
use crate::page::{Section, Table};
use crate::solve::{self, Budget};
use anyhow::Result;
use minorant::regularizer::L2;
use minorant::risk::{Cancel, Risk};
use minorant::solver::{
    self, LineSearch, Method, MethodOptions, Problem, StopRules, Subgradients, Tuning,
};
use minorant::trace::TraceRecord;

/// A line of a figure: its name, the method and its settings.
type Line = (&'static str, Method, fn() -> MethodOptions);

fn usual() -> MethodOptions {
    MethodOptions::default()
}

fn search(search: LineSearch) -> MethodOptions {
    let tuning = Tuning { search, ..Tuning::default() };
    MethodOptions { despite_kinks: true, tuning, ..MethodOptions::default() }
}

#[rustfmt::skip]
const SMOOTH: [Line; 3] = [
    ("sublbfgs", Method::SubLbfgs, usual),
    ("lbfgs, exact", Method::Lbfgs, || search(LineSearch::Exact)),
    ("lbfgs, inexact", Method::Lbfgs, || search(LineSearch::Wolfe)),
];
#[rustfmt::skip]
const DESCENT: [Line; 3] = [
    ("sublbfgs", Method::SubLbfgs, usual),
    ("gd", Method::Gd, usual),
    ("subgd", Method::SubGd, usual),
];
const LONG: [Line; 1] = [("sublbfgs", Method::SubLbfgs, usual)];
#[rustfmt::skip]
const BUNDLES: [Line; 3] = [
    ("sublbfgs", Method::SubLbfgs, usual),
    ("bmrm", Method::Bmrm, usual),
    ("ls-bmrm", Method::LsBmrm, usual),
];

/// A figure, its sets with their λ, its lines, and the most evaluations.
type Figure = (&'static str, &'static [(&'static str, f64)], &'static [Line], u64);

const FIGURES: [Figure; 6] = [
    ("Figure 4", &[("leukemia", 1e-1), ("a9a", 1e-4), ("letter", 1e-4)], &SMOOTH, 256),
    ("Figure 5", &[("a9a", 1e-4), ("letter", 1e-4), ("scene", 1e-2)], &DESCENT, 256),
    ("Figure 9", &[("a9a", 1e-4), ("letter", 1e-4)], &LONG, 2048),
    ("Figure 15", &[("covtype", 1e-5), ("a9a", 1e-5), ("MNIST even/odd", 1e-4)], &BUNDLES, 256),
    ("Figure 19", &[("letter", 1e-4), ("satimage", 1e-4)], &BUNDLES, 256),
    ("Figure 21", &[("scene", 1e-2)], &BUNDLES, 256),
];

const L1_SETS: [&str; 3] = ["a9a", "w8a", "covtype"];
const L1_LAMBDAS: [f64; 3] = [1e-3, 1e-4, 1e-5];
const ORTHANT: [(&str, Method, Subgradients); 4] = [
    ("owlqn", Method::Owlqn, Subgradients::Least),
    ("owlqn, random", Method::Owlqn, Subgradients::Random),
    ("owlqn-star", Method::OwlqnStar, Subgradients::Least),
    ("owlqn-star, random", Method::OwlqnStar, Subgradients::Random),
];
/// The paper's threshold.
const CLOSE: f64 = 0.02;
/// Seconds that a run and the search for an optimum may take.
const SECONDS: f64 = 20.0;

/// The figures.
pub(crate) fn section(store: &Store, only: &str, quick: bool) -> Result<Section> {
    on_one_thread(|| {
        let mut section = Section::new(
            "Figures of Yu et al.",
            "From w = 0 on one thread. A curve is the objective's distance to the optimum, relative \
             to it, after so many evaluations; the optimum is that of ls-p-bmrm, or the lowest \
             objective of the figure where that is lower. Sets and λ are ours where the paper's sets \
             are not at hand.",
        );
        for (figure, sets, lines, most) in FIGURES {
            for &(name, lambda) in sets {
                let title = format!("{figure}: {name}, λ = {lambda:e}");
                if title.contains(only) {
                    let most = if quick { most / 8 } else { most };
                    section.curves.push(figure_of(store, &title, (name, lambda), lines, most)?);
                }
            }
        }
        section.tables.push(orthant(store, only, quick)?);
        Ok(section)
    })
}

fn figure_of(
    store: &Store,
    title: &str,
    (name, lambda): (&str, f64),
    lines: &[Line],
    most: u64,
) -> Result<Curves> {
    let set = store.load(name)?;
    let risk = set.risk(LossKind::Hinge)?;
    let budget = Budget { evaluations: None, seconds: Some(SECONDS) };
    let best = solve::run(&*risk, lambda, Method::LsPBmrm, 1e-7, budget, &mut ())?;
    let mut optimum = best.certificate.objective;
    let mut traces = Vec::new();
    for (line, method, options) in lines {
        let mut trace: Vec<TraceRecord> = Vec::new();
        let budget = Budget { evaluations: Some(most), seconds: Some(SECONDS) };
        let outcome =
            solve::run_with(&options(), &*risk, lambda, *method, 0.0, budget, &mut trace)?;
        optimum = optimum.min(outcome.certificate.objective);
        traces.push((*line, trace));
    }
    let mut curves = Curves::new(title, "", "evaluations");
    for (line, trace) in traces {
        curves.add(line, excess(&trace, optimum, true));
    }
    let (_, rows) = curves.table();
    rows.iter().for_each(|row| eprintln!("{title}: {}", row.join(" | ")));
    Ok(curves)
}

/// Figures 17 and 18: evaluations until within 2 % of the optimum, and the rounds of Algorithm 2.
fn orthant(store: &Store, only: &str, quick: bool) -> Result<Table> {
    let head: Vec<&str> =
        ["set, λ", "optimum"].into_iter().chain(ORTHANT.map(|(name, ..)| name)).collect();
    let note = "Absolute weights and the logistic loss. Evaluations until within 2 % of the optimum / \
                rounds of direction finding until then (owlqn has none). A dash: not within 20 s; \
                in brackets how far above the optimum it ended.";
    let mut table = Table::new("Orthant-wise methods (Figures 17 and 18, Table 2)", note, &head);
    for name in
        L1_SETS.into_iter().filter(|name| "Figures 17 and 18".contains(only) || name.contains(only))
    {
        let set = store.load(name)?;
        for lambda in L1_LAMBDAS.into_iter().take(if quick { 1 } else { 3 }) {
            let risk = set.risk(LossKind::Logistic)?;
            let budget = Budget { evaluations: None, seconds: Some(SECONDS) };
            let best = solve::run_l1(&*risk, lambda, Method::Auto, 1e-5, budget)?;
            let optimum = best.certificate.objective;
            let mut cells = vec![format!("{name}, {lambda:e}"), format!("{optimum:.6}")];
            for (_, method, subgradients) in ORTHANT {
                cells.push(walk(&*risk, lambda, method, subgradients, optimum)?);
            }
            eprintln!("figures: {}", cells.join(" | "));
            table.rows.push(cells);
        }
    }
    Ok(table)
}

fn walk(
    risk: &dyn Risk,
    lambda: f64,
    method: Method,
    subgradients: Subgradients,
    optimum: f64,
) -> Result<String> {
    let regularizer = L2::none().with_l1(lambda)?;
    let problem = Problem::new(risk, &regularizer);
    let tuning = Tuning { subgradients, ..Tuning::default() };
    let options = MethodOptions { tuning, ..MethodOptions::default() };
    let mut solver = method.build(problem, &options)?;
    let seconds = Some(SECONDS);
    let rules = StopRules { tol: 0.0, abs_tol: 0.0, max_seconds: seconds, ..StopRules::default() };
    let goal = optimum + CLOSE * optimum.abs();
    let cancel = Cancel::new();
    let mut until = solve::Until::new(goal, cancel.clone());
    let outcome = solver::run(&mut *solver, problem, rules, &cancel, &mut until, &mut ())?;
    Ok(match until.reached {
        Some(evaluations) if method.tells_direction_steps() => {
            format!("{evaluations} / {}", outcome.direction_steps)
        }
        Some(evaluations) => evaluations.to_string(),
        None => format!("– ({:.0e})", outcome.certificate.objective / optimum - 1.0),
    })
}
