//! Benchmarks 2 and 3 of Uříčář and Franc, whose images are not public: the methods on made-up
//! faces and number plates. Iterations to a relative gap of 0.01, beside those of the paper, which
//! are on other data and show the same order of methods at best.

use crate::data::Store;
use crate::page::Table;
use crate::solve::{self, Budget};
use anyhow::{Result, anyhow};
use minorant::generate::{PlatesOptions, parts, parts_shape, plates};
use minorant::risk::{ExampleWeights, Risk};
use minorant::solver::Method;
use minorant::structured::MarginRisk;
use minorant::structured::segment::{SegmentLoss, Segmentation};
use minorant::structured::tree::Tree;

const TOL: f64 = 0.01;
const IMAGES: usize = 100;
/// Most evaluations.
const MOST: u64 = 500;
/// λ of the mean risk.
const LAMBDAS: [f64; 4] = [1e-1, 1e-2, 1e-3, 1e-4];

#[rustfmt::skip]
const FACES: [(Method, [Option<u32>; 4]); 5] = [
    (Method::Bmrm, [Some(108), Some(207), Some(442), Some(1084)]),
    (Method::ProxBmrm, [Some(28), Some(61), Some(180), Some(783)]),
    (Method::ProxPBmrm, [Some(32), Some(55), Some(142), Some(555)]),
    (Method::PBmrm, [None; 4]),
    (Method::Bcfw, [None; 4]),
];
#[rustfmt::skip]
const PLATES: [(Method, [Option<u32>; 4]); 5] = [
    (Method::Bmrm, [Some(33), Some(87), Some(251), Some(840)]),
    (Method::ProxBmrm, [Some(34), Some(67), Some(126), Some(286)]),
    (Method::ProxPBmrm, [Some(22), Some(37), Some(64), Some(131)]),
    (Method::PBmrm, [None; 4]),
    (Method::Bcfw, [None; 4]),
];

pub(super) fn tables(_: &Store, quick: bool) -> Result<Vec<Table>> {
    let images = if quick { IMAGES / 4 } else { IMAGES };
    let weights = || ExampleWeights::mean(images);
    let faces = parts(6, images).into_iter().map(Into::into).collect();
    let faces = Tree::new(parts_shape().into(), faces).map_err(|why| anyhow!(why))?;
    let options = PlatesOptions {
        seed: 5,
        images,
        height: 8,
        widths: vec![4, 5, 5, 6, 6, 7, 4, 5, 6, 5],
        noise: 1.5,
        longest: 7,
    };
    let cut = Segmentation::new(
        options.height,
        options.widths.clone(),
        plates(&options).into_iter().map(Into::into).collect(),
        SegmentLoss::Position,
    );
    let cut = cut.map_err(|why| anyhow!(why))?;
    Ok(vec![
        table("Faces (benchmark 2)", &MarginRisk::new(faces, weights()), &FACES)?,
        table("Number plates (benchmark 3)", &MarginRisk::new(cut, weights()), &PLATES)?,
    ])
}

fn table(title: &str, risk: &dyn Risk, rows: &[(Method, [Option<u32>; 4])]) -> Result<Table> {
    let head = ["method", "λ₁", "λ₂", "λ₃", "λ₄"];
    let note = "Iterations / evaluations at λ = 0.1, 0.01, 0.001, 0.0001 of the mean risk, and in \
                brackets the paper's iterations at its λ₁ to λ₄ on its own images. A dash: not within \
                500 evaluations, or not in the paper.";
    let mut table = Table::new(title, note, &head);
    for (method, paper) in rows {
        let mut cells = vec![method.name().to_string()];
        for (lambda, paper) in LAMBDAS.into_iter().zip(paper) {
            let budget = Budget { evaluations: Some(MOST), seconds: None };
            let outcome = solve::run(risk, lambda, *method, TOL, budget, &mut ())?;
            let paper = paper.map_or("–".into(), |count| count.to_string());
            let ours = if outcome.certificate.certifies(TOL) {
                format!("{} / {}", outcome.iterations, outcome.evaluations)
            } else {
                "–".into()
            };
            eprintln!("structured: {title} {} λ {lambda:.0e}: {ours} ({paper})", method.name());
            cells.push(format!("{ours} ({paper})"));
        }
        table.rows.push(cells);
    }
    Ok(table)
}
