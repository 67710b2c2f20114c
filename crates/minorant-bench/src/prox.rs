//! The OCR benchmark of Uříčář and Franc (Tables 1 and 2): the joint linear classifier of MNIST's
//! digits, pixels / 255, summed risk, relative gap 0.01. Our iterations and evaluations beside the
//! paper's iterations, and the classifiers' errors beside its risks.

use crate::data::{Form, LossKind, Set, Store, Target};
use crate::page::{Section, Table};
use crate::solve::{self, Budget};
use anyhow::{Result, bail};
use minorant::risk::Risk;
use minorant::solver::{Method, Outcome};
use minorant_linalg::Storage;

const TOL: f64 = 0.01;
/// λ of the summed risk.
const LAMBDAS: [f64; 4] = [1e3, 1e2, 1e1, 1e0];
/// The paper's validation risks, and the test risk of the best.
const VALIDATION: [f64; 4] = [0.0864, 0.0740, 0.0708, 0.0720];
const TEST: f64 = 0.0704;

struct Row {
    method: Method,
    /// Whether it starts from the solution at 10 λ.
    warm: bool,
    /// The paper's iterations.
    paper: [Option<u32>; 4],
}

#[rustfmt::skip]
const ROWS: [Row; 6] = [
    Row { method: Method::Bmrm, warm: false, paper: [Some(157), Some(417), Some(1429), Some(5932)] },
    Row { method: Method::PBmrm, warm: false, paper: [None; 4] },
    Row { method: Method::ProxBmrm, warm: true, paper: [Some(226), Some(232), Some(317), Some(698)] },
    Row { method: Method::ProxPBmrm, warm: true, paper: [Some(244), Some(256), Some(291), Some(408)] },
    Row { method: Method::LsBmrm, warm: false, paper: [None; 4] },
    Row { method: Method::LsPBmrm, warm: false, paper: [None; 4] },
];

/// Both tables.
pub(crate) fn section(store: &Store, only: &str, quick: bool) -> Result<Section> {
    let mut section = Section::new(
        "Tables of Uříčář and Franc",
        "MNIST's ten digits, λ on the summed risk, relative gap 0.01. The prox methods start from \
         the solution of the same accuracy at 10 λ (found by ls-p-bmrm, not counted here), the \
         others from w = 0; P = 16. One of our iterations is one evaluation; the methods with line \
         search make one more in the end.",
    );
    let set = store.mnist(Form::Dense, Storage::F32)?;
    let risk = set.risk(LossKind::Hinge)?;
    let examples = set.matrix.rows() as f64;
    let mut starts = Vec::new();
    for lambda in [1e4].into_iter().chain(LAMBDAS) {
        let method = Method::LsPBmrm;
        let solved =
            solve::run(&*risk, lambda / examples, method, TOL, Budget::default(), &mut ())?;
        starts.push(solved);
    }
    section.tables.push(iterations(&*risk, examples, &starts, only, quick)?);
    section.tables.push(errors(store, &starts[1..])?);
    Ok(section)
}

fn iterations(
    risk: &dyn Risk,
    examples: f64,
    starts: &[Outcome],
    only: &str,
    quick: bool,
) -> Result<Table> {
    let head = ["method", "λ = 1000", "λ = 100", "λ = 10", "λ = 1"];
    let note = "Iterations / evaluations, and in brackets the paper's iterations. A dash: not within \
                the limits of the benchmark, or not in the paper. The rows of the paper's Table 2 \
                are labelled one too low; here they stand where they belong.";
    let mut table = Table::new("Iterations (Table 2)", note, &head);
    for row in &ROWS {
        let name = row.method.name();
        if !name.contains(only) {
            continue;
        }
        let mut cells = vec![name.to_string()];
        for (at, lambda) in LAMBDAS.into_iter().enumerate() {
            let start = row.warm.then_some(&starts[at].point.w[..]);
            let most = if quick { 150 } else { 2000 };
            let budget = Budget { evaluations: Some(most), seconds: Some(600.0) };
            let lambda = lambda / examples;
            let outcome = solve::run_from(start, risk, lambda, row.method, TOL, budget, &mut ())?;
            let paper = row.paper[at].map_or("–".into(), |count| count.to_string());
            let ours = if outcome.certificate.certifies(TOL) {
                format!("{} / {}", outcome.iterations, outcome.evaluations)
            } else {
                "–".into()
            };
            eprintln!(
                "prox: {name} λ {lambda:.1e}: {ours} ({paper}), {:.1} s, master {:.1} s",
                outcome.seconds, outcome.master_seconds
            );
            cells.push(format!("{ours} ({paper})"));
        }
        table.rows.push(cells);
    }
    Ok(table)
}

/// Errors on the two halves of MNIST's test set, of the classifiers that ls-p-bmrm found.
fn errors(store: &Store, solved: &[Outcome]) -> Result<Table> {
    let head = ["", "λ = 1000", "λ = 100", "λ = 10", "λ = 1", "test"];
    let note = "Every other test digit validates, the rest tests the classifier that does best on \
                them; which ones the paper took, it does not say.";
    let mut table = Table::new("Risks (Table 1)", note, &head);
    let set = store.mnist_rows("t10k", Form::Dense, Storage::F32)?;
    let validation: Vec<f64> =
        solved.iter().map(|o| error(&set, &o.point.w, 0)).collect::<Result<_>>()?;
    let best = (0..solved.len()).min_by(|&a, &b| validation[a].total_cmp(&validation[b]));
    let test = match best {
        Some(best) => error(&set, &solved[best].point.w, 1)?,
        None => f64::NAN,
    };
    let row = |name: &str, validation: &[f64], test: f64| {
        let cells = validation.iter().chain([&test]).map(|error| format!("{error:.4}"));
        [name.to_string()].into_iter().chain(cells).collect()
    };
    table.rows.push(row("ours", &validation, test));
    table.rows.push(row("paper", &VALIDATION, TEST));
    table.rows.iter().for_each(|row: &Vec<String>| eprintln!("prox: {}", row.join(" | ")));
    Ok(table)
}

/// The error on every other row from the one given on.
fn error(set: &Set, w: &[f64], from: usize) -> Result<f64> {
    let Target::Classes { classes, labels } = &set.target else { bail!("expected classes") };
    let rows = (from..set.matrix.rows()).step_by(2);
    let count = rows.len() as f64;
    let wrong = rows.filter(|&row| {
        let mut scores = vec![0.0; *classes];
        for (j, x) in set.matrix.row(row) {
            scores.iter_mut().zip(&w[j * classes..]).for_each(|(score, w)| *score += x * w);
        }
        let best = (1..*classes).fold(0, |best, z| if scores[z] > scores[best] { z } else { best });
        best != labels[row] as usize
    });
    Ok(wrong.count() as f64 / count)
}
