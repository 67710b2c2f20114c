//! The hybrid beside the two methods that it joins, by evaluations to a true gap. Optima are bounds
//! proven by `auto`.

use crate::data::{LossKind, Store};
use crate::page::{Section, Table};
use crate::solve::{self, Budget};
use anyhow::Result;
use minorant::solver::Method;
use minorant::trace::TraceRecord;

const CASES: [(&str, &[f64]); 9] = [
    ("a9a", &[1e-3, 1e-4, 1e-5]),
    ("w8a", &[1e-3, 1e-4, 1e-5]),
    ("MNIST even/odd", &[1e-3, 1e-4, 1e-5]),
    ("covtype", &[1e-3, 1e-4, 1e-5, 1e-6]),
    ("satimage", &[1e-2, 1e-4, 1e-6]),
    ("news20", &[1e-3, 1e-4, 1e-5]),
    ("letter", &[1e-2, 1e-4]),
    ("usps", &[1e-2, 1e-3]),
    ("scene", &[1e-2, 1e-3]),
];
const METHODS: [Method; 3] = [Method::SubLbfgs, Method::LsPBmrm, Method::Hybrid];
const GAPS: [f64; 3] = [1e-2, 1e-3, 1e-4];
/// What the hand-over may cost: a share of the better method's evaluations, and some more.
const SHARE: f64 = 1.25;
const MORE: f64 = 4.0;

/// The table.
pub(crate) fn section(store: &Store, only: &str, quick: bool) -> Result<Section> {
    let mut section = Section::new(
        "The hybrid",
        "Hinge losses from w = 0: evaluations until the objective is within 1e-2 / 1e-3 / 1e-4 of \
         the optimum. A dash: not within the cap. The hybrid should need at most 1.25 times the \
         better one's, plus 4.",
    );
    let mut head = vec!["set, λ"];
    head.extend(METHODS.map(Method::name));
    head.extend(["within 1.25 × + 4", "beats both"]);
    let mut table = Table::new("Evaluations", "", &head);
    for (name, lambdas) in CASES {
        let wanted = |lambda: &&f64| format!("{name}, {lambda:e}").contains(only);
        let lambdas: Vec<f64> = lambdas.iter().filter(wanted).copied().collect();
        if lambdas.is_empty() {
            continue;
        }
        let set = store.load(name)?;
        let risk = set.risk(LossKind::Hinge)?;
        for lambda in lambdas {
            let budget = |seconds: f64| Budget { evaluations: Some(1500), seconds: Some(seconds) };
            let reference = Budget { evaluations: None, seconds: Some(60.0) };
            let best = solve::run(&*risk, lambda, Method::Auto, 1e-6, reference, &mut ())?;
            let optimum = best.certificate.lower_bound.unwrap_or(f64::NEG_INFINITY);
            let mut counts = Vec::new();
            for method in METHODS {
                let mut trace: Vec<TraceRecord> = Vec::new();
                let most = budget(if quick { 5.0 } else { 60.0 });
                solve::run(&*risk, lambda, method, 5e-5, most, &mut trace)?;
                counts.push(GAPS.map(|gap| evaluations_to(&trace, optimum, gap)));
            }
            let row = row(format!("{name}, {lambda:e}"), &counts);
            eprintln!("hybrid: {}", row.join(" | "));
            table.rows.push(row);
        }
    }
    section.tables.push(table);
    Ok(section)
}

fn evaluations_to(trace: &[TraceRecord], optimum: f64, gap: f64) -> Option<u64> {
    let goal = optimum + gap * optimum.abs();
    trace.iter().find(|record| record.best_objective <= goal).map(|record| record.evaluations)
}

fn row(name: String, counts: &[[Option<u64>; GAPS.len()]]) -> Vec<String> {
    let [walk, bundle, hybrid] = counts else { return vec![name] };
    let told = |counts: &[Option<u64>]| {
        let each = counts.iter().map(|count| count.map_or("–".into(), |n| n.to_string()));
        each.collect::<Vec<String>>().join(" / ")
    };
    let compared: Vec<(f64, f64)> = (0..GAPS.len())
        .filter_map(|at| {
            let better = walk[at].into_iter().chain(bundle[at]).min()?;
            Some((better as f64, hybrid[at].map_or(f64::INFINITY, |n| n as f64)))
        })
        .collect();
    let is_within = |&(better, own): &(f64, f64)| own <= SHARE * better + MORE;
    let wins = GAPS.iter().zip(&compared).filter(|(_, (better, own))| own < better);
    let wins: Vec<String> = wins.map(|(gap, _)| format!("{gap:e}")).collect();
    vec![
        name,
        told(walk),
        told(bundle),
        told(hybrid),
        if compared.iter().all(is_within) { "yes" } else { "no" }.into(),
        if wins.is_empty() { "–".into() } else { wins.join(", ") },
    ]
}
