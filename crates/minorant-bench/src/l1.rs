//! L1-regularised logistic regression: LIBLINEAR's newGLMNET (-s 6, and as scikit-learn calls it)
//! beside us. The peers prove nothing: each gets the loosest tolerance of a grid with which it
//! reaches what our certified run guarantees, and the loosest with which it reaches the very
//! objective of that run.

use crate::clock::timed;
use crate::data::{LossKind, Set, Store};
use crate::evaluation::median;
use crate::page::{Section, Table};
use crate::peers::grid;
use crate::python::Peers;
use crate::solve::{self, Budget};
use anyhow::Result;
use minorant::solver::Method;

pub(crate) const TITLE: &str = "L1-regularised logistic regression";
const PEERS: [&str; 2] = ["LIBLINEAR", "scikit-learn"];
/// Set, λ, and the relative gap to certify.
const PROBLEMS: [(&str, f64, f64); 6] = [
    ("a9a", 1e-3, 1e-5),
    ("a9a", 1e-4, 1e-4),
    ("a9a", 1e-5, 1e-4),
    ("news20", 1e-3, 1e-5),
    ("news20", 1e-4, 1e-4),
    ("news20", 1e-5, 1e-3),
];

/// Runs all problems.
pub(crate) fn section(store: &Store, only: &str, quick: bool) -> Result<Section> {
    let mut peers = match Peers::start() {
        Ok(peers) => peers,
        Err(why) => {
            eprintln!("l1: skipped: {why:#}");
            return Ok(Section::skipped(
                TITLE,
                &format!("the peers could not be installed ({why:#})."),
            ));
        }
    };
    let mut section = Section::new(
        TITLE,
        "Processor seconds of training on one thread, loading excluded, medians of interleaved \
         runs. Ours is a run of auto to the certified gap in the second column. 'To the gap': the \
         faster of LIBLINEAR -s 6 and scikit-learn's copy of it with the loosest tolerance whose \
         true suboptimality is at most that gap; 'to our objective': the same to the objective of \
         our run. A dash: not reached.",
    );
    let head = [
        "set, λ",
        "gap",
        "certified",
        "evaluations",
        "non-zeros",
        "ours",
        "peer to the gap",
        "peer to our objective",
        "ours / peer, gap",
        "ours / peer, objective",
    ];
    let mut table = Table::new("Seconds", "", &head);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let mut held: Option<(&str, Set)> = None;
    for (name, lambda, gap) in PROBLEMS {
        if !format!("{name}, {lambda:e}").contains(only) {
            continue;
        }
        eprintln!("l1: {name}, {lambda:e}");
        if held.as_ref().is_none_or(|(held, _)| *held != name) {
            let set = store.load(name)?;
            peers.load(&set)?;
            held = Some((name, set));
        }
        let Some((_, set)) = &held else { continue };
        let row = pool.install(|| problem(set, name, lambda, gap, &mut peers, quick))?;
        eprintln!("    {}", row[1..].join(" | "));
        table.rows.push(row);
    }
    section.tables.push(table);
    Ok(section)
}

fn problem(
    set: &Set,
    name: &str,
    lambda: f64,
    gap: f64,
    peers: &mut Peers,
    quick: bool,
) -> Result<Vec<String>> {
    let budget = Budget { evaluations: None, seconds: Some(120.0) };
    // A risk of its own each time: the copy of its columns belongs to the training.
    let train = |tol: f64| {
        let risk = set.risk(LossKind::Logistic)?;
        timed(|| solve::run_l1(&*risk, lambda, Method::Auto, tol, budget))
    };
    let optimum = train(1e-9)?.0.certificate.objective;
    let (ours, _) = train(gap)?;
    let reached = ours.certificate.objective;
    let targets = [optimum + gap * optimum.abs(), reached + 1e-12 * reached.abs()];
    let (repeats, limit) = if quick { (3, 10.0) } else { (7, 60.0) };
    let mut tolerances = [[None; 2]; PEERS.len()];
    for (peer, found) in PEERS.into_iter().zip(&mut tolerances) {
        let mut spent = 0.0;
        for tol in grid(1.0, 1e-8) {
            let (seconds, objective) = peers.train_l1(peer, lambda, tol)?;
            spent += seconds;
            for (found, target) in found.iter_mut().zip(targets) {
                if objective <= target {
                    found.get_or_insert(tol);
                }
            }
            if spent > limit || found.iter().all(Option::is_some) {
                break;
            }
        }
    }
    let mut our_seconds = Vec::new();
    let mut peer_seconds = vec![vec![Vec::new(); 2]; PEERS.len()];
    for _ in 0..repeats {
        our_seconds.push(train(gap)?.1.cpu);
        for (at, peer) in PEERS.into_iter().enumerate() {
            for (target, seconds) in peer_seconds[at].iter_mut().enumerate() {
                if let Some(tol) =
                    tolerances[at][target].filter(|_| seconds.iter().sum::<f64>() < limit)
                {
                    seconds.push(peers.train_l1(peer, lambda, tol)?.0);
                }
            }
        }
    }
    let ours_median = median(our_seconds.into_iter());
    // The faster peer; NaN where neither got there.
    let fastest = |target: usize| {
        let each = peer_seconds.iter().map(|peer| median(peer[target].iter().copied()));
        each.fold(f64::NAN, f64::min)
    };
    let nonzero = ours.point.w.iter().filter(|w| **w != 0.0).count();
    let shown = |x: f64| if x.is_nan() { "–".into() } else { format!("{x:.3}") };
    let ratio = |x: f64| if x.is_nan() { "–".into() } else { format!("{x:.2}") };
    Ok(vec![
        format!("{name}, {lambda:e}"),
        format!("{gap:e}"),
        format!("{:.1e}", ours.certificate.relative_gap().unwrap_or(f64::INFINITY)),
        ours.evaluations.to_string(),
        nonzero.to_string(),
        shown(ours_median),
        shown(fastest(0)),
        shown(fastest(1)),
        ratio(ours_median / fastest(0)),
        ratio(ours_median / fastest(1)),
    ])
}
