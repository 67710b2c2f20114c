//! Chunking (CoNLL-2000) beside CRFsuite: the same attributes, observed pairs only, the same
//! objective, processor seconds of the training alone. CRFsuite minimises the sum of −log p plus
//! c₂ ‖w‖², which is n times ours at λ = 2 c₂ / n.

use crate::clock::timed;
use crate::data::Store;
use crate::page::Table;
use crate::python;
use anyhow::{Context as _, Error, Result, ensure};
use minorant::family::chain::ChainForm;
use minorant::prelude::{ChainCrf, Context};
use minorant::risk::Cancel;
use minorant::trace::{Observer, TraceRecord};
use minorant_data::{SequenceFormat, SequenceOptions, Sequences, read_sequences};
use serde_json::Value;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

/// CRFsuite's penalty.
const C2: f64 = 1.0;
/// The optimum of F / n as known from elsewhere, to 4e-7.
const OPTIMUM: f64 = 1.470375010;

/// Stops a run as soon as it is as good as the peer.
struct Until {
    objective: f64,
    cancel: Cancel,
}

impl Observer for Until {
    fn iteration(&mut self, record: &TraceRecord) {
        if record.best_objective <= self.objective {
            self.cancel.cancel();
        }
    }
}

pub(super) fn tables(store: &Store, quick: bool) -> Result<Vec<Table>> {
    let (train, test) = (read(store, "train.txt.gz", None)?, "test.txt.gz");
    let peer = crfsuite(&train, if quick { 20 } else { 1000 })?;
    let note = format!(
        "{} sentences, {} attributes, λ = 2 / n. CRFsuite stops by its own rule; we are timed to its \
         objective, on one thread and on two. The distance is that to the known optimum {OPTIMUM}.",
        train.len(),
        train.tokens.cols()
    );
    let head =
        ["", "objective", "distance", "evaluations", "CPU seconds", "wall seconds", "chunk F1"];
    let mut table = Table::new("Chunking beside CRFsuite", &note, &head);
    let distance = |objective: f64| format!("{:.1e}", (objective - OPTIMUM) / OPTIMUM);
    table.rows.push(vec![
        "CRFsuite".into(),
        format!("{:.8}", peer.objective),
        distance(peer.objective),
        peer.iterations.to_string(),
        format!("{:.1}", peer.seconds),
        String::new(),
        String::new(),
    ]);
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let row = pool.install(|| -> Result<Vec<String>> {
            let chain = ChainCrf::new()
                .pairs("observed")
                .lambda(2.0 * C2 / train.len() as f64)
                .tol(1e-9)
                .max_evals(if quick { 40 } else { 2000 });
            let cancel = Cancel::new();
            let mut until = Until { objective: peer.objective, cancel: cancel.clone() };
            let context = Context::default().cancelled_by(&cancel).observed_by(&mut until);
            let work = || chain.fit_with(&train, context);
            let ((model, report), seconds) = timed(work)?;
            let form: &ChainForm = model.form_as().context("expected a chain")?;
            let test = read(store, test, Some(&form.vocabulary.attributes))?;
            let f1 = model.evaluate(&test).map_err(Error::msg)?.get("chunk_f1");
            let objective = report.certificate.objective;
            Ok(vec![
                format!("{} on {threads}", report.solver),
                format!("{objective:.8}"),
                distance(objective),
                report.evaluations.to_string(),
                format!("{:.1}", seconds.cpu),
                format!("{:.1}", seconds.wall),
                f1.map_or("–".into(), |f1| format!("{f1:.4}")),
            ])
        })?;
        eprintln!("structured: chunking: {}", row.join(" | "));
        table.rows.push(row);
    }
    Ok(vec![table])
}

fn read(store: &Store, file: &str, known: Option<&minorant_data::Attributes>) -> Result<Sequences> {
    let options = SequenceOptions {
        format: Some(SequenceFormat::Conll),
        known: known.cloned(),
        ..SequenceOptions::default()
    };
    Ok(read_sequences(&[store.file(&format!("conll2000/{file}"))], &options)?)
}

struct Peer {
    objective: f64,
    iterations: u64,
    seconds: f64,
}

/// Trains CRFsuite in a Python environment of its own.
fn crfsuite(data: &Sequences, iterations: u32) -> Result<Peer> {
    let folder = python::environment("crfsuite", &["python-crfsuite"])?;
    let file: PathBuf = folder.join("sequences.txt");
    let mut text = String::new();
    for span in data.starts.windows(2) {
        for token in span[0]..span[1] {
            text.push_str(&data.classes[data.labels[token] as usize]);
            for (attribute, _) in data.tokens.row(token) {
                write!(text, "\t{attribute}")?;
            }
            text.push('\n');
        }
        text.push('\n');
    }
    std::fs::write(&file, text)?;
    let output = Command::new(folder.join("env/bin/python"))
        .args(["-c", include_str!("../crfsuite.py")])
        .arg(&file)
        .args([C2.to_string(), iterations.to_string()])
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let number = |key: &str| answer[key].as_f64().with_context(|| format!("no {key}"));
    let peer = Peer {
        objective: number("loss")? / data.len() as f64,
        iterations: number("iterations")? as u64,
        seconds: number("seconds")?,
    };
    eprintln!("structured: CRFsuite {:.8} in {:.1} s", peer.objective, peer.seconds);
    Ok(peer)
}
