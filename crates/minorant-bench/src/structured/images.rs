//! Benchmarks 2 and 3 of Uříčář and Franc, whose images are not public: the methods on made-up
//! faces and number plates. Evaluations to a relative gap of 0.01 with their processor seconds and
//! speed-ups, beside the iterations and speed-ups of the paper, which are on other data and show the
//! same order of methods at best.

use crate::clock;
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

/// A method, whether it starts from zero where it would start with a pass of stochastic descent, and the
/// paper's iterations and speed-up.
struct Row {
    method: Method,
    from_zero: bool,
    paper: Option<[(u32, f64); 4]>,
}

const fn row(method: Method, paper: Option<[(u32, f64); 4]>) -> Row {
    Row { method, from_zero: false, paper }
}

const fn from_zero(method: Method) -> Row {
    Row { method, from_zero: true, paper: None }
}

#[rustfmt::skip]
const FACES: [Row; 7] = [
    row(Method::Bmrm, Some([(108, 1.0), (207, 1.0), (442, 1.0), (1084, 1.0)])),
    row(Method::ProxBmrm, Some([(28, 3.6), (61, 5.3), (180, 2.1), (783, 2.4)])),
    from_zero(Method::ProxBmrm),
    row(Method::ProxPBmrm, Some([(32, 3.2), (55, 6.3), (142, 2.9), (555, 3.3)])),
    from_zero(Method::ProxPBmrm),
    row(Method::PBmrm, None),
    row(Method::Bcfw, None),
];
#[rustfmt::skip]
const PLATES: [Row; 7] = [
    row(Method::Bmrm, Some([(33, 1.0), (87, 1.0), (251, 1.0), (840, 1.0)])),
    row(Method::ProxBmrm, Some([(34, 1.0), (67, 1.3), (126, 1.9), (286, 2.9)])),
    from_zero(Method::ProxBmrm),
    row(Method::ProxPBmrm, Some([(22, 1.5), (37, 2.3), (64, 4.0), (131, 5.6)])),
    from_zero(Method::ProxPBmrm),
    row(Method::PBmrm, None),
    row(Method::Bcfw, None),
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
    let (faces, cut) = (MarginRisk::new(faces, weights()), MarginRisk::new(cut, weights()));
    clock::on_one_thread(|| {
        Ok(vec![
            table("Faces (benchmark 2)", &faces, &FACES)?,
            table("Number plates (benchmark 3)", &cut, &PLATES)?,
        ])
    })
}

fn table(title: &str, risk: &dyn Risk, rows: &[Row]) -> Result<Table> {
    let head = ["method", "λ₁", "λ₂", "λ₃", "λ₄"];
    let note = "Evaluations / processor seconds / speed-up over bmrm at λ = 0.1, 0.01, 0.001, 0.0001 \
                of the mean risk, and in brackets the paper's iterations and speed-up at its λ₁ to λ₄ \
                on its own images. The prox methods begin with a pass of stochastic descent, which \
                counts, but for the rows that say so. A dash: not within 500 evaluations, or not in \
                the paper.";
    let mut table = Table::new(title, note, &head);
    let origin = vec![0.0; risk.dim()];
    let mut slowest = [f64::NAN; 4];
    for Row { method, from_zero, paper } in rows {
        let told = if *from_zero { ", from zero" } else { "" };
        let mut cells = vec![format!("{}{told}", method.name())];
        for (at, lambda) in LAMBDAS.into_iter().enumerate() {
            let budget = Budget { evaluations: Some(MOST), seconds: None };
            let start = from_zero.then_some(&origin[..]);
            let (outcome, spent) = clock::timed(|| {
                solve::run_from(start, risk, lambda, *method, TOL, budget, &mut ())
            })?;
            if *method == Method::Bmrm {
                slowest[at] = spent.cpu;
            }
            let reached = outcome.certificate.certifies(TOL);
            let evaluations = if reached { outcome.evaluations.to_string() } else { "–".into() };
            let faster = slowest[at] / spent.cpu;
            let paper = paper.map_or("–".into(), |paper| {
                let (count, faster) = paper[at];
                format!("{count}, {faster}")
            });
            cells.push(format!("{evaluations} / {:.3} / {faster:.1} ({paper})", spent.cpu));
        }
        eprintln!("structured: {title}: {}", cells.join(" | "));
        table.rows.push(cells);
    }
    Ok(table)
}
