//! Table 8 of Do and Artières: a network of 300 and 300 sigmoid units under a chain on the OCR
//! letters, pretrained by restricted Boltzmann machines, by NRBMLS and, with as many evaluations,
//! by NBM, SGD and L-BFGS; and how fast one evaluation of it is beside plain products of matrices.
//! The paper gives no sizes; the mean over words fits its figures, not that over letters.

use crate::data::Store;
use crate::page::{Section, Table};
use anyhow::{Error, Result};
use minorant::data::{SequenceFormat, SequenceOptions, Sequences, read_sequences};
use minorant::linalg::product::{Operand, multiply};
use minorant::neural::{Activation, Inputs, Network, NeuroRisk, Start, start};
use minorant::prelude::{Context, NeuroCrf};
use minorant::risk::{Cancel, ExampleWeights, Risk};
use minorant::solver::Method;
use rayon::prelude::*;
use std::time::Instant;

/// λ, and the paper's evaluations, objective and error by NRBMLS, then objective and error by SGD,
/// NBM and L-BFGS after as many evaluations.
struct Row {
    lambda: f64,
    evaluations: u64,
    nrbm: &'static str,
    others: [&'static str; 3],
}

#[rustfmt::skip]
const ROWS: [Row; 5] = [
    Row { lambda: 1e-3, evaluations: 64, nrbm: "1.847 / .050", others: ["1.604 / .059", "1.853 / .052", "1.802 / .051"] },
    Row { lambda: 5e-4, evaluations: 81, nrbm: "1.203 / .047", others: ["1.190 / .056", "1.233 / .046", "1.196 / .047"] },
    Row { lambda: 3e-4, evaluations: 116, nrbm: ".842 / .046", others: [".941 / .053", ".854 / .048", ".805 / .045"] },
    Row { lambda: 2e-4, evaluations: 116, nrbm: ".616 / .045", others: [".775 / .054", ".660 / .047", ".617 / .045"] },
    Row { lambda: 1e-4, evaluations: 130, nrbm: ".365 / .050", others: [".557 / .055", ".405 / .046", ".375 / .047"] },
];

/// The row that the paper's conclusions rest on, and the one that a quick run has.
const MAIN: f64 = 2e-4;
/// The paper's NBM is a limited memory bundle method.
const METHODS: [Method; 4] = [Method::NrbmLs, Method::Sgd, Method::Lmbm, Method::Lbfgs];
const HIDDEN: [usize; 2] = [300, 300];

fn letters(store: &Store, folds: std::ops::Range<u32>) -> Result<Sequences> {
    let options = SequenceOptions {
        format: Some(SequenceFormat::Ocr),
        folds: Some(folds.collect()),
        ..SequenceOptions::default()
    };
    Ok(read_sequences(&[store.file("ocr_letters/letter.data.gz")], &options)?)
}

/// The tables.
pub(crate) fn section(store: &Store, only: &str, quick: bool) -> Result<Section> {
    let mut section = Section::new(
        "Table 8 of the NRBM paper",
        "A chain on the features of 300 and 300 sigmoid units, OCR letters: 5512 words of folds 0 \
         to 7 to train on, 1365 of folds 8 and 9 for the test; mean over words, regularised to the \
         pretrained weights. Every method may take as many evaluations as the paper's NRBMLS took \
         before it stopped; a pass of SGD counts as one, and so does the evaluation after it.",
    );
    let (train, test) = (letters(store, 0..8)?, letters(store, 8..10)?);
    if "speed".contains(only) {
        section.tables.push(speed(&train)?);
    }
    if !"Table 8".contains(only) {
        return Ok(section);
    }
    let head =
        ["λ", "evals", "nrbm-ls", "paper", "sgd", "paper", "lmbm", "paper NBM", "lbfgs", "paper"];
    let mut table = Table::new("Table 8", "Objective / error on the test letters.", &head);
    for row in ROWS.iter().filter(|row| !quick || row.lambda == MAIN) {
        let mut cells = vec![row.lambda.to_string(), row.evaluations.to_string()];
        let papers = [&[row.nrbm][..], &row.others].concat();
        for (method, paper) in METHODS.into_iter().zip(papers) {
            let network = NeuroCrf::new()
                .hidden(HIDDEN.map(|units| units as u64))
                .lambda(row.lambda)
                .solver(method.name())
                .max_evals(row.evaluations);
            let (model, report) = network.fit_with(&train, Context::default())?;
            let error = model.evaluate(&test).map_err(Error::msg)?.error();
            let cell = format!("{:.4} / {error:.4}", report.certificate.objective);
            eprintln!("Table 8: λ {}, {}: {cell}", row.lambda, method.name());
            cells.extend([cell, paper.into()]);
        }
        table.rows.push(cells);
    }
    section.tables.push(table);
    Ok(section)
}

/// One evaluation of the network beside plain products on the same threads, taken in turns.
fn speed(data: &Sequences) -> Result<Table> {
    const TURNS: usize = 7;
    const SIZE: usize = 384;
    let network = Network::new(
        data.attributes.len(),
        HIDDEN.to_vec(),
        Activation::Sigmoid,
        data.classes.len(),
        false,
    );
    let w = start(&network, &data.tokens, Start::Random, 0, &Cancel::new())?;
    let inputs = Inputs::<f32>::new(&data.tokens);
    let weights = ExampleWeights::mean(data.len());
    let risk = NeuroRisk::new(&network, inputs, &data.starts, &data.labels, weights);
    // Forward, errors backward and gradients take a product each, but for errors in the inputs.
    let [first, second] = HIDDEN;
    let (inputs, labels) = (network.inputs, data.classes.len());
    let products = 2 * inputs * first + 3 * first * second + 3 * second * labels;
    let flops = 2.0 * (products * data.tokens.rows()) as f64;
    let factor = vec![0.5f32; SIZE * SIZE];
    let repeats = (flops / (2.0 * (SIZE * SIZE * SIZE) as f64)) as usize;
    let plain = || {
        let one = |_: usize| {
            let mut product = vec![0.0; SIZE * SIZE];
            let operand = Operand::new(&factor[..], SIZE, SIZE);
            multiply(operand, operand, 0.0, &mut product);
            product[0]
        };
        std::hint::black_box((0..repeats).into_par_iter().map(one).sum::<f32>());
        2.0 * (repeats * SIZE * SIZE * SIZE) as f64
    };
    let mut ratios = Vec::new();
    let mut speeds = Vec::new();
    for _ in 0..TURNS {
        let clock = Instant::now();
        let done = plain();
        let plain = done / clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        std::hint::black_box(risk.at_with_planes(w.clone(), 1, &Cancel::new())?);
        let network = flops / clock.elapsed().as_secs_f64();
        ratios.push(network / plain);
        speeds.push((plain, network));
    }
    ratios.sort_by(f64::total_cmp);
    speeds.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (plain, network) = speeds[TURNS / 2];
    let mut table = Table::new(
        "Speed of an evaluation",
        "Medians of pairs taken in turns; products of 384 x 384 matrices in single precision, by \
         the same kernel on the same threads.",
        &["threads", "products, Gflop/s", "evaluation, Gflop/s", "share"],
    );
    let cells = [
        rayon::current_num_threads().to_string(),
        format!("{:.1}", plain / 1e9),
        format!("{:.1}", network / 1e9),
        format!("{:.2}", ratios[TURNS / 2]),
    ];
    eprintln!("speed: {}", cells.join(" | "));
    table.rows.push(cells.to_vec());
    Ok(table)
}
