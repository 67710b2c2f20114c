//! Every loss beside its rivals, on one thread: `auto` to a certified gap, and each rival to the same
//! true one with the loosest tolerance that happens to get there, for rivals prove nothing. What a
//! training takes includes everything between the stored rows and the weights.

use crate::clock::timed;
use crate::data::{LossKind, Set, Store};
use crate::evaluation::median;
use crate::page::{Section, Table};
use crate::python::{Peers, Rival};
use crate::solve::{self, Budget};
use crate::targets::{self, TargetLoss};
use anyhow::Result;
use minorant::regularizer::L2;
use minorant::risk::residual::Shape;
use minorant::solver::{Method, Problem};

pub(crate) const TITLE: &str = "Every loss beside its rivals";
const GAP: f64 = 1e-3;
/// Tolerances of the rivals from loose to tight, and how each decade is cut.
const DECADES: i32 = 8;
const SHARES: [f64; 2] = [4.6, 2.2];
const BINARY: [&str; 8] = [
    "covtype",
    "a9a",
    "w8a",
    "MNIST even/odd",
    "news20",
    "leukemia",
    "dense 400 000 x 100",
    "sparse 200 000 x 300 000",
];
const JOINT: [&str; 4] = ["letter", "usps", "satimage", "MNIST"];

/// A loss with its rivals.
struct Race {
    name: &'static str,
    loss: LossKind,
    l1: bool,
    /// What the loss is called on the other side.
    called: &'static str,
    rivals: &'static [&'static str],
    sets: &'static [&'static str],
    lambdas: &'static [f64],
}

const LAMBDAS: [f64; 3] = [1e-2, 1e-4, 1e-6];

const RACES: [Race; 13] = [
    Race {
        name: "logistic",
        loss: LossKind::Logistic,
        l1: false,
        called: "logistic",
        rivals: &["-s 0", "-s 7", "lbfgs", "newton-cg", "newton-cholesky", "snapml"],
        sets: &BINARY,
        lambdas: &LAMBDAS,
    },
    Race {
        name: "squared hinge",
        loss: LossKind::SquaredHinge,
        l1: false,
        called: "squared hinge",
        rivals: &["-s 1", "-s 2"],
        sets: &BINARY,
        lambdas: &LAMBDAS,
    },
    Race {
        name: "softmax",
        loss: LossKind::Logistic,
        l1: false,
        called: "softmax",
        rivals: &["lbfgs"],
        sets: &JOINT,
        lambdas: &LAMBDAS,
    },
    Race {
        name: "L1 logistic",
        loss: LossKind::Logistic,
        l1: true,
        called: "logistic",
        rivals: &["-s 6", "celer", "skglm"],
        sets: &BINARY,
        lambdas: &[1e-2, 1e-3, 1e-4],
    },
    Race {
        name: "hinge",
        loss: LossKind::Hinge,
        l1: false,
        called: "hinge",
        rivals: &["-s 3", "snapml", "rehline"],
        sets: &BINARY,
        lambdas: &LAMBDAS,
    },
    of_targets("least squares", Shape::SQUARES, &["cholesky", "lsqr", "sag", "-s 11"]),
    of_targets("absolute", Shape::ABSOLUTE, &["-s 13", "rehline"]),
    of_targets("quantile 0.8", QUANTILE, &["rehline"]),
    of_targets("epsilon-insensitive", INSENSITIVE, &["-s 13", "rehline"]),
    of_targets("squared epsilon-insensitive", SQUARED_INSENSITIVE, &["-s 11", "-s 12"]),
    of_targets("huber", Shape { least: -WIDTH, greatest: WIDTH, ..Shape::SQUARES }, &["rehline"]),
    Race {
        loss: LossKind::Target(TargetLoss::HuberScale(WIDTH)),
        ..of_targets("huber with its scale", Shape::SQUARES, &["HuberRegressor"])
    },
    Race {
        l1: true,
        lambdas: &[1e-2, 1e-3],
        ..of_targets("L1 quantile 0.8", QUANTILE, &["HiGHS", "skglm", "statsmodels"])
    },
];

/// The widths of losses: a tenth of the targets' deviation, and what Huber's loss usually has.
const EPSILON: f64 = 0.1;
const WIDTH: f64 = 1.35;
const QUANTILE: Shape = Shape { least: -0.8, greatest: 0.2, ..Shape::ABSOLUTE };
const INSENSITIVE: Shape = Shape { epsilon: EPSILON, ..Shape::ABSOLUTE };
const SQUARED_INSENSITIVE: Shape = Shape { epsilon: EPSILON, kappa: 0.5, ..Shape::SQUARES };

/// A race of a loss of targets.
const fn of_targets(name: &'static str, shape: Shape, rivals: &'static [&'static str]) -> Race {
    let loss = LossKind::Target(TargetLoss::Of(shape));
    Race { name, loss, l1: false, called: name, rivals, sets: &targets::SETS, lambdas: &LAMBDAS }
}

/// Runs all cells of all races.
pub(crate) fn section(store: &Store, only: &str, quick: bool) -> Result<Section> {
    let mut peers = match Peers::start_rivals() {
        Ok(peers) => peers,
        Err(why) => {
            eprintln!("rivals: skipped: {why:#}");
            let why = format!("the rivals could not be installed ({why:#}).");
            return Ok(Section::skipped(TITLE, &why));
        }
    };
    let mut section = Section::new(
        TITLE,
        "Processor seconds of training to a relative gap of 1e-3 on one thread, loading excluded, \
         medians of interleaved runs. Ours is auto, certified; its seconds include what is made of \
         the rows before the first evaluation. A rival (LIBLINEAR by the number of its solver, \
         scikit-learn by the name of its solver) reaches the gap truly, with the loosest tolerance of \
         a grid that gets there. A dash: not reached, or the rival cannot read such rows.",
    );
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let mut tables: Vec<Table> = RACES.iter().map(Race::table).collect();
    let mut ratios: Vec<Vec<[f64; 2]>> = vec![Vec::new(); RACES.len()];
    // A set is read once for all its races.
    for name in BINARY.into_iter().chain(JOINT).chain(targets::SETS) {
        let mut set = None;
        for ((race, table), ratios) in RACES.iter().zip(&mut tables).zip(&mut ratios) {
            for &lambda in race.lambdas.iter().filter(|_| race.sets.contains(&name)) {
                let cell = format!("{name}, {lambda:e}");
                if !format!("{}: {cell}", race.name).contains(only) {
                    continue;
                }
                if set.is_none() {
                    let read = store.load(name)?;
                    peers.load(&read)?;
                    set = Some(read);
                }
                let Some(set) = &set else { continue };
                eprintln!("rivals: {}: {cell}", race.name);
                let (row, seconds) = pool.install(|| race.cell(set, lambda, &mut peers, quick))?;
                eprintln!("    {}", row.join(" | "));
                table.rows.push([vec![cell], row].concat());
                ratios.push(seconds);
            }
        }
    }
    for (table, ratios) in tables.iter_mut().zip(ratios) {
        let reached: Vec<[f64; 2]> =
            ratios.into_iter().filter(|[_, best]| best.is_finite()).collect();
        let fast = reached.iter().filter(|[ours, best]| ours <= best).count();
        let slow = reached.iter().filter(|[ours, best]| *ours > 1.5 * best + 0.01).count();
        table.note = format!(
            "Not slower than the best rival in {fast} of {} cells; more than 1.5 times and 0.01 s \
             slower in {slow}.",
            reached.len()
        );
    }
    section.tables = tables.into_iter().filter(|table| !table.rows.is_empty()).collect();
    Ok(section)
}

impl Race {
    fn table(&self) -> Table {
        let mut head = vec!["set, λ", "auto is", "evaluations", "ours"];
        head.extend(self.rivals);
        head.push("ours / best");
        Table::new(self.name, "", &head)
    }

    /// One cell: a row of the table behind its name; our seconds and the best rival's.
    fn cell(
        &self,
        set: &Set,
        lambda: f64,
        peers: &mut Peers,
        quick: bool,
    ) -> Result<(Vec<String>, [f64; 2])> {
        let budget = Budget { evaluations: None, seconds: Some(120.0) };
        let train = |tol: f64| {
            timed(|| {
                let risk = set.risk(self.loss)?;
                match self.l1 {
                    true => solve::run_l1(&*risk, lambda, Method::Auto, tol, budget),
                    false => solve::run(&*risk, lambda, Method::Auto, tol, budget, &mut ()),
                }
            })
        };
        let optimum = train(1e-5)?.0.certificate.lower_bound.unwrap_or(f64::NEG_INFINITY);
        let (repeats, limit) = if quick { (3, 20.0) } else { (7, 60.0) };
        let mut tolerances = Vec::new();
        for peer in self.rivals {
            let rival = Rival { peer, loss: self.called, lambda, l1: self.l1 };
            tolerances.push(loosest(peers, &rival, optimum, limit)?);
        }
        let mut ours: Vec<f64> = Vec::new();
        let mut theirs: Vec<Vec<f64>> = vec![Vec::new(); self.rivals.len()];
        let mut evaluations = 0;
        for _ in 0..repeats {
            let (outcome, seconds) = train(GAP)?;
            let is_there = outcome.certificate.certifies(GAP);
            ours.push(if is_there { seconds.cpu } else { f64::INFINITY });
            evaluations = outcome.evaluations;
            for ((peer, tol), seconds) in self.rivals.iter().zip(&tolerances).zip(&mut theirs) {
                let is_slow = seconds.iter().sum::<f64>() > limit;
                if let Some(tol) = tol.filter(|_| !is_slow) {
                    let rival = Rival { peer, loss: self.called, lambda, l1: self.l1 };
                    seconds.extend(peers.train_rival(&rival, tol)?.map(|(seconds, _)| seconds));
                }
            }
        }
        let ours = median(ours.into_iter());
        let theirs: Vec<f64> = theirs.into_iter().map(|each| median(each.into_iter())).collect();
        let best = theirs.iter().copied().fold(f64::INFINITY, f64::min);
        let shown = |x: f64| if x.is_finite() { format!("{x:.4}") } else { "–".into() };
        let risk = set.risk(self.loss)?;
        let regularizer = if self.l1 { L2::none().with_l1(lambda)? } else { L2::new(lambda)? };
        let problem = Problem::new(&*risk, &regularizer);
        let mut row = vec![Method::Auto.resolve(problem).name().into(), evaluations.to_string()];
        row.push(shown(ours));
        row.extend(theirs.iter().map(|&x| shown(x)));
        row.push(if best.is_finite() { format!("{:.2}", ours / best) } else { "–".into() });
        Ok((row, [ours, best]))
    }
}

/// The loosest tolerance with which a rival gets to the gap, if any does within `limit` seconds: by
/// decades first.
fn loosest(peers: &mut Peers, rival: &Rival<'_>, optimum: f64, limit: f64) -> Result<Option<f64>> {
    let mut spent = 0.0;
    let mut gets_there = |tol: f64| -> Result<Option<bool>> {
        let Some((seconds, objective)) = peers.train_rival(rival, tol)? else { return Ok(None) };
        spent += seconds;
        let is_there = objective - optimum <= GAP * optimum.abs();
        Ok((is_there || spent <= limit).then_some(is_there))
    };
    for decade in 0..=DECADES {
        let tol = 10f64.powi(-decade);
        match gets_there(tol)? {
            None => return Ok(None),
            Some(false) => {}
            Some(true) => {
                let looser = SHARES.map(|share| share * tol).into_iter().filter(|tol| *tol < 1.0);
                for looser in looser {
                    if gets_there(looser)? == Some(true) {
                        return Ok(Some(looser));
                    }
                }
                return Ok(Some(tol));
            }
        }
    }
    Ok(None)
}
