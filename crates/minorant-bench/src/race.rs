//! The race: `auto` to a certified gap beside LIBLINEAR to the same true one, and beside each of our
//! own methods, one thread each. LIBLINEAR proves nothing, so it gets the loosest tolerance of a grid
//! with which it happens to get there.

use crate::clock::timed;
use crate::data::{LossKind, Set, Store, Target};
use crate::evaluation::median;
use crate::page::{Section, Table};
use crate::peers::grid;
use crate::python::Peers;
use crate::solve::{self, Budget};
use anyhow::Result;
use minorant::regularizer::L2;
use minorant::risk::Risk;
use minorant::solver::{Method, Problem};

const TITLE: &str = "The race to a gap of 1e-3";
const GAP: f64 = 1e-3;
/// `auto` first: the others are measured by it.
const METHODS: [Method; 4] = [Method::Auto, Method::LsBmrm, Method::LsPBmrm, Method::DualCd];
const SETS: [(&str, &[f64]); 7] = [
    ("a9a", &[1e-3, 1e-4, 1e-5]),
    ("w8a", &[1e-3, 1e-4, 1e-5]),
    ("MNIST even/odd", &[1e-3, 1e-4, 1e-5]),
    ("news20", &[1e-3, 1e-4, 1e-5]),
    ("letter", &[1e-2, 1e-4]),
    ("usps", &[1e-2, 1e-3]),
    ("MNIST", &[1e-2, 1e-3]),
];

/// Runs all cells.
pub(crate) fn section(store: &Store, only: &str, quick: bool) -> Result<Section> {
    let mut peers = match Peers::start() {
        Ok(peers) => peers,
        Err(why) => {
            eprintln!("race: skipped: {why:#}");
            let why = format!("LIBLINEAR could not be installed ({why:#}).");
            return Ok(Section::skipped(TITLE, &why));
        }
    };
    let mut section = Section::new(
        TITLE,
        "Processor seconds of training on one thread, loading excluded, medians of interleaved runs, \
         hinge loss (joint over the classes on letter, usps and MNIST). Ours are certified; \
         LIBLINEAR (-s 3, joint -s 4) reaches the gap truly, with the loosest tolerance of a grid \
         that got there. A dash: not reached.",
    );
    let mut head = vec!["set, λ", "LIBLINEAR", "auto is"];
    head.extend(METHODS.map(Method::name));
    head.extend(["auto / LIBLINEAR", "auto / our best"]);
    let mut table = Table::new("Seconds", "", &head);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for (name, lambdas) in SETS {
        let wanted = |lambda: &&f64| format!("{name}, {lambda:e}").contains(only);
        let lambdas: Vec<f64> = lambdas.iter().filter(wanted).copied().collect();
        if lambdas.is_empty() {
            continue;
        }
        let set = store.load(name)?;
        peers.load(&set)?;
        for lambda in lambdas {
            eprintln!("race: {name}, {lambda:e}");
            let row = pool.install(|| cell(&set, name, lambda, &mut peers, quick))?;
            eprintln!("    {}", row[1..].join(" | "));
            table.rows.push(row);
        }
    }
    section.tables.push(table);
    Ok(section)
}

fn cell(set: &Set, name: &str, lambda: f64, peers: &mut Peers, quick: bool) -> Result<Vec<String>> {
    let risk = set.risk(LossKind::Hinge)?;
    let binary = matches!(set.target, Target::Signs(_));
    let budget = Budget { evaluations: None, seconds: Some(if quick { 20.0 } else { 60.0 }) };
    let reference = solve::run(&*risk, lambda, Method::Auto, 1e-5, budget, &mut ())?;
    let optimum = reference.certificate.lower_bound.unwrap_or(f64::NEG_INFINITY);
    let (repeats, limit) = if quick { (3, 10.0) } else { (7, 60.0) };
    let loosest = loosest(peers, lambda, binary, optimum, limit)?;
    let mut seconds: Vec<Vec<f64>> = vec![Vec::new(); METHODS.len() + 1];
    for _ in 0..repeats {
        for (at, seconds) in seconds.iter_mut().enumerate() {
            // Who is slow is slow enough for few repeats.
            if seconds.iter().sum::<f64>() > limit || seconds.iter().any(|s| s.is_infinite()) {
                continue;
            }
            match at.checked_sub(1) {
                Some(method) => seconds.push(own(&*risk, lambda, METHODS[method], budget)?),
                None => {
                    if let Some(tol) = loosest {
                        seconds.push(peers.train("LIBLINEAR", lambda, tol, binary)?.0);
                    }
                }
            }
        }
    }
    let medians: Vec<f64> = seconds.into_iter().map(|each| median(each.into_iter())).collect();
    let shown = |x: f64| if x.is_finite() { format!("{x:.4}") } else { "–".into() };
    let ratio = |x: f64| if x.is_finite() { format!("{x:.2}") } else { "–".into() };
    let regularizer = L2::new(lambda)?;
    let chosen = Method::Auto.resolve(Problem::new(&*risk, &regularizer)).name();
    let best = medians[2..].iter().copied().fold(f64::INFINITY, f64::min);
    let mut row = vec![format!("{name}, {lambda:e}"), shown(medians[0]), chosen.into()];
    row.extend(medians[1..].iter().map(|&x| shown(x)));
    row.extend([ratio(medians[1] / medians[0]), ratio(medians[1] / best)]);
    Ok(row)
}

/// Processor seconds of a method of ours to the certified gap; infinite if it did not get there.
fn own(risk: &dyn Risk, lambda: f64, method: Method, budget: Budget) -> Result<f64> {
    let (outcome, seconds) = timed(|| solve::run(risk, lambda, method, GAP, budget, &mut ()))?;
    Ok(if outcome.certificate.certifies(GAP) { seconds.cpu } else { f64::INFINITY })
}

/// The loosest tolerance with which LIBLINEAR gets to the gap, if any does within `limit` seconds.
fn loosest(
    peers: &mut Peers,
    lambda: f64,
    binary: bool,
    optimum: f64,
    limit: f64,
) -> Result<Option<f64>> {
    let mut spent = 0.0;
    for tol in grid(1.0, 1e-6) {
        let (seconds, objective) = peers.train("LIBLINEAR", lambda, tol, binary)?;
        if objective - optimum <= GAP * optimum.abs() {
            return Ok(Some(tol));
        }
        spent += seconds;
        if spent > limit {
            break;
        }
    }
    Ok(None)
}
