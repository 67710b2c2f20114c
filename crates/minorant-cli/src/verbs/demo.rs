//! `minorant demo`: the main job on data that it makes itself, through the same doors that a user
//! goes through: files in, three solvers compared, model out, predictions, audit, report.

use super::compare::{page, table};
use super::{cancel_on_interrupt, watched};
use crate::args::on_threads;
use crate::number;
use crate::output::{self, percent};
use crate::report::Section;
use anyhow::Context;
use minorant::data::ReadOptions;
use minorant::family::{FittedModel, Lambda, PROOF_BYTES, Settings};
use minorant::generate::{noisy_plane, to_libsvm};
use minorant::options::common::{SOLVER, TOL as TOLERANCE};
use std::path::Path;

const TRAIN: &str = "train.svm";
const TEST: &str = "test.svm";
const MODEL: &str = "model.safetensors";
const TRAIN_ROWS: usize = 20_000;
const TEST_ROWS: usize = 5_000;
const FEATURES: usize = 80;
const LAMBDA: f64 = 1e-4;
const TOL: f64 = 1e-4;

pub(crate) fn run(dir: &Path, threads: Option<usize>) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    let file = |name: &str| dir.join(name);
    let cancel = cancel_on_interrupt();
    on_threads(threads, || {
        output::print(&format!(
            "1. Making data: {TRAIN_ROWS} training and {TEST_ROWS} test rows, {FEATURES} features, a tenth of the labels wrong."
        ))?;
        for (name, rows, part) in [(TRAIN, TRAIN_ROWS, 0), (TEST, TEST_ROWS, 1)] {
            let text = to_libsvm(&noisy_plane(rows, FEATURES, 7, part));
            minorant::write_atomically(&file(name), text.as_bytes())?;
        }
        let data = minorant::data::read(&[file(TRAIN)], &ReadOptions::default())?;
        output::print(&format!(
            "2. Training a linear SVM (lambda {}) with three solvers, each until a gap of {} is certified.\n",
            number::setting(LAMBDA),
            percent(TOL)
        ))?;
        let mut settings = Settings::new("svm").map_err(anyhow::Error::msg)?.with(&TOLERANCE, TOL);
        settings.set_lambda(Lambda::Lambda(LAMBDA));
        let mut runs = Vec::new();
        for solver in ["bmrm", "ls-bmrm", "ls-p-bmrm"] {
            settings.put(&SOLVER, solver.into());
            runs.push(watched(solver, (&data).into(), &settings, &cancel)?);
            if cancel.is_cancelled() {
                break;
            }
        }
        output::print(&table(&runs, TOL))?;
        let best = &runs[runs.len() - 1];
        output::print(&format!("\n   {}.", output::certificate_in_words(&best.report, TOL)))?;
        best.model.save(&file(MODEL), PROOF_BYTES)?;
        let model = FittedModel::load(&file(MODEL))?;
        let test = minorant::data::read(&[file(TEST)], &ReadOptions::default())?;
        let error = percent(model.evaluate(&test).map_err(anyhow::Error::msg)?.error());
        output::print(&format!(
            "3. Predicting the test rows: {error} wrong (no model gets below about 10 %)."
        ))?;
        let holds = model.audit(&data, None).holds == Some(true);
        let verdict = if holds { "holds" } else { "DOES NOT HOLD" };
        output::print(&format!("4. Auditing the saved model: the certificate {verdict}."))?;
        let mut report =
            page("A linear SVM, three solvers".into(), "train.svm (made by the demo)", TOL, &runs);
        report.sections.push(Section {
            heading: "On new data",
            paragraphs: vec![
                format!(
                    "The model of {} gets {error} of {TEST_ROWS} test rows wrong; a tenth of all \
                     labels were flipped at random, so no model gets much below 10 %.",
                    best.report.solver
                ),
                format!(
                    "The audit read the saved model again and recomputed its bound from the data: \
                     the certificate {verdict}."
                ),
            ],
            ..Section::default()
        });
        let report_path = file("report.html");
        minorant::write_atomically(&report_path, report.to_html().as_bytes())?;
        let shown = report_path.canonicalize().unwrap_or(report_path);
        output::print(&format!("5. The report is at {}\n", shown.display()))?;
        let [train, test, model] =
            [TRAIN, TEST, MODEL].map(|name| file(name).display().to_string());
        output::print(&format!(
            "Try next:\n  minorant train svm {train} --lambda 1e-3 --out {model}\n  minorant predict {model} {test}\n  minorant audit {model} {train}"
        ))?;
        anyhow::ensure!(holds, "the certificate does not hold");
        Ok(())
    })
}
