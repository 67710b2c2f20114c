//! How many evaluations the methods need from w = 0 to a certified relative gap, beside what plain
//! prototypes of the same methods needed on the same problems; whether the optima agree with
//! independent brackets of them; and what share of the time is not spent in evaluations. Counts do
//! not depend on the machine.

use crate::data::{Form, LossKind, Set, Store};
use crate::page::{Section, Table};
use crate::solve::{self, Budget};
use anyhow::Result;
use minorant::solver::{Method, Outcome, Status};
use minorant_linalg::Storage;

/// Evaluations to 1e-2, 1e-3 and 1e-4; nothing where the prototype did not get there.
type Counts = [Option<u32>; 3];

const GAPS: [f64; 3] = [1e-2, 1e-3, 1e-4];
const METHODS: [Method; 3] = [Method::Bmrm, Method::LsBmrm, Method::LsPBmrm];
const NONE: Counts = [None; 3];

struct Case {
    set: &'static str,
    lambda: f64,
    /// The prototypes' counts, in the order of `METHODS`.
    prototypes: [Counts; 3],
}

const fn all(a: u32, b: u32, c: u32) -> Counts {
    [Some(a), Some(b), Some(c)]
}

#[rustfmt::skip]
const CASES: [Case; 12] = [
    Case { set: "a9a", lambda: 1e-3, prototypes: [all(76, 129, 185), all(17, 24, 35), all(14, 17, 22)] },
    Case { set: "a9a", lambda: 1e-4, prototypes: [all(314, 507, 692), all(37, 55, 79), all(23, 29, 36)] },
    Case { set: "a9a", lambda: 1e-5, prototypes: [[Some(951), Some(1479), None], all(88, 126, 174), all(35, 44, 52)] },
    Case { set: "a9a", lambda: 1e-6, prototypes: [NONE, all(174, 248, 327), all(47, 59, 71)] },
    Case { set: "MNIST even/odd", lambda: 1e-3, prototypes: [all(220, 343, 476), all(36, 50, 71), all(24, 32, 41)] },
    Case { set: "MNIST even/odd", lambda: 1e-4, prototypes: [NONE, all(82, 117, 168), all(44, 58, 77)] },
    Case { set: "letter", lambda: 1e-2, prototypes: [all(103, 216, 344), all(42, 56, 73), all(34, 42, 51)] },
    Case { set: "scene", lambda: 1e-3, prototypes: [all(187, 304, 440), all(87, 177, 347), all(46, 67, 77)] },
    Case { set: "usps", lambda: 1e-2, prototypes: [all(233, 337, 451), all(65, 113, 214), all(42, 65, 90)] },
    Case { set: "news20", lambda: 1e-3, prototypes: [all(8, 13, 22), all(5, 8, 16), all(4, 7, 13)] },
    Case { set: "news20", lambda: 1e-4, prototypes: [all(34, 75, 164), all(21, 57, 155), [Some(18), Some(49), None]] },
    Case { set: "yeast", lambda: 1e-2, prototypes: [NONE, NONE, NONE] },
];

/// Between which numbers the optimum lies.
struct Bracket {
    set: &'static str,
    lambda: f64,
    between: [f64; 2],
}

const BRACKETS: [Bracket; 7] = [
    Bracket { set: "a9a", lambda: 1e-2, between: [0.38070336616, 0.38070336632] },
    Bracket { set: "a9a", lambda: 1e-3, between: [0.35652433, 0.35652433056] },
    Bracket { set: "a9a", lambda: 1e-5, between: [0.35092464682, 0.35092464697] },
    Bracket { set: "MNIST even/odd", lambda: 1e-2, between: [0.30824172232, 0.30824172293] },
    Bracket { set: "MNIST even/odd", lambda: 1e-3, between: [0.26752475587, 0.26752475645] },
    Bracket { set: "MNIST even/odd", lambda: 1e-4, between: [0.25380005129, 0.253800052] },
    Bracket { set: "yeast", lambda: 1e-2, between: [0.999999, 1.0] },
];

/// Loads each set once while cases of it follow one another.
struct Shelf<'s> {
    store: &'s Store,
    held: Option<(&'static str, Set)>,
}

impl Shelf<'_> {
    fn get(&mut self, name: &'static str) -> Result<&Set> {
        let fresh = match self.held.take() {
            Some(held) if held.0 == name => held,
            _ => (name, self.store.load(name)?),
        };
        Ok(&self.held.insert(fresh).1)
    }
}

/// Counts on all problems, checks the optima, and tells the masters' shares.
pub(crate) fn section(store: &Store, only: &str, quick: bool) -> Result<Section> {
    let mut section = Section::new(
        "Evaluations to a certified gap",
        "From w = 0, one run for each gap; an evaluation is a forward and a backward pass, and the \
         last pass that recomputes the objective counts too. ls-p-bmrm has 16 parts. In brackets: \
         the prototype's count. A dash: not within the limits of the benchmark (for the prototype: \
         not run or not reached).",
    );
    let mut shelf = Shelf { store, held: None };
    section.tables.push(counts(&mut shelf, only, quick)?);
    section.tables.push(optima(&mut shelf, only, quick)?);
    section.tables.push(shares(store, only, quick)?);
    Ok(section)
}

fn budget(method: Method, quick: bool) -> Budget {
    let (evaluations, seconds) = match (method, quick) {
        (Method::Bmrm, true) => (200, 5.0),
        (Method::Bmrm, false) => (1500, 30.0),
        (_, true) => (500, 20.0),
        (_, false) => (2000, 120.0),
    };
    Budget { evaluations: Some(evaluations), seconds: Some(seconds) }
}

fn counts(shelf: &mut Shelf<'_>, only: &str, quick: bool) -> Result<Table> {
    let head = ["set, λ", "method", "1e-2", "1e-3", "1e-4", "objective", "master's share"];
    let note = "Master's share: of the wall time of the run to 1e-4, in master and bundle vectors.";
    let mut table = Table::new("Evaluations", note, &head);
    for case in &CASES {
        let name = format!("{}, {:e}", case.set, case.lambda);
        if !name.contains(only) {
            continue;
        }
        eprintln!("counts: {name}");
        let risk = shelf.get(case.set)?.risk(LossKind::Hinge)?;
        for (method, prototype) in METHODS.into_iter().zip(case.prototypes) {
            let mut row = vec![name.clone(), method.name().into()];
            let mut last: Option<Outcome> = None;
            for (gap, known) in GAPS.into_iter().zip(prototype) {
                let known = known.map_or("–".into(), |count| count.to_string());
                if last.as_ref().is_some_and(|outcome| outcome.status != Status::Converged) {
                    row.push(format!("– ({known})"));
                    continue;
                }
                let budget = budget(method, quick);
                let outcome = solve::run(&*risk, case.lambda, method, gap, budget, &mut ())?;
                let reached = outcome.certificate.certifies(gap);
                let count = if reached { outcome.evaluations.to_string() } else { "–".into() };
                row.push(format!("{count} ({known})"));
                last = Some(outcome);
            }
            if let Some(outcome) = last {
                row.push(format!("{:.8}", outcome.certificate.objective));
                row.push(share(&outcome));
            }
            eprintln!("    {}", row[1..].join(" | "));
            table.rows.push(row);
        }
    }
    Ok(table)
}

fn share(outcome: &Outcome) -> String {
    format!("{:.0} %", 100.0 * outcome.master_seconds / outcome.seconds)
}

fn optima(shelf: &mut Shelf<'_>, only: &str, quick: bool) -> Result<Table> {
    let head = ["set, λ", "bracket", "our bound", "our objective", "agree", "evaluations"];
    let note = "ls-p-bmrm run to a relative gap of 1e-9, beside brackets of the optimum that other \
                methods proved. They agree if the two intervals have a point in common.";
    let mut table = Table::new("Optima", note, &head);
    for case in &BRACKETS {
        let name = format!("{}, {:e}", case.set, case.lambda);
        if !name.contains(only) {
            continue;
        }
        eprintln!("optima: {name}");
        let risk = shelf.get(case.set)?.risk(LossKind::Hinge)?;
        let budget = budget(Method::LsPBmrm, quick);
        let outcome = solve::run(&*risk, case.lambda, Method::LsPBmrm, 1e-9, budget, &mut ())?;
        let objective = outcome.certificate.objective;
        let bound = outcome.certificate.lower_bound.unwrap_or(f64::NEG_INFINITY);
        let agree = bound <= case.between[1] && case.between[0] <= objective;
        table.rows.push(vec![
            name,
            format!("{} – {}", case.between[0], case.between[1]),
            format!("{bound:.12}"),
            format!("{objective:.12}"),
            if agree { "yes" } else { "NO" }.into(),
            outcome.evaluations.to_string(),
        ]);
        eprintln!("    {}", table.rows[table.rows.len() - 1][1..].join(" | "));
    }
    Ok(table)
}

/// The share of the time that is not spent in evaluations where these are fastest: in f32.
fn shares(store: &Store, only: &str, quick: bool) -> Result<Table> {
    let note = "ls-p-bmrm to 1e-4 on MNIST even/odd, λ = 1e-4, as dense and sparse f32 rows.";
    let head = ["set", "threads", "evaluations", "seconds", "ms an evaluation", "master's share"];
    let mut table = Table::new("What the master costs", note, &head);
    if !"MNIST even/odd, 1e-4".contains(only) {
        return Ok(table);
    }
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    for (name, form) in [("dense f32", Form::Dense), ("CSR f32", Form::Sparse)] {
        let set = store.mnist_even_odd(form, Storage::F32)?;
        let risk = set.risk(LossKind::Hinge)?;
        for threads in [1, all] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
            let budget = budget(Method::LsPBmrm, quick);
            let outcome =
                pool.install(|| solve::run(&*risk, 1e-4, Method::LsPBmrm, 1e-4, budget, &mut ()))?;
            let evaluating = outcome.seconds - outcome.master_seconds;
            table.rows.push(vec![
                name.into(),
                threads.to_string(),
                outcome.evaluations.to_string(),
                format!("{:.3}", outcome.seconds),
                format!("{:.1}", 1e3 * evaluating / outcome.evaluations as f64),
                share(&outcome),
            ]);
            eprintln!("    {}", table.rows[table.rows.len() - 1].join(" | "));
        }
    }
    Ok(table)
}
