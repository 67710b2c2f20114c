//! Pairwise graphs and slack rescaling against brute force, certified runs on them, and what is
//! refused.

use minorant::generate::Lcg;
use minorant::linalg::Matrix;
use minorant::regularizer::L2;
use minorant::risk::{Cancel, ExampleWeights, Risk};
use minorant::solver::{Method, MethodOptions, Outcome, Problem, StopRules, run};
use minorant::structured::chain::{Chain, ChainShape, Pairs};
use minorant::structured::graph::{GraphShape, Graphs, LabelledGraph};
use minorant::structured::{MarginRisk, Scores, SlackRescaled, StructuredModel};

type Labels = Box<[u16]>;

fn graph(nodes: usize, edges: &[(u32, u32)], shape: GraphShape, rng: &mut Lcg) -> LabelledGraph {
    LabelledGraph {
        nodes: (0..nodes * shape.node_features).map(|_| rng.signed()).collect(),
        edges: edges.to_vec(),
        edge_features: (0..edges.len() * shape.edge_features).map(|_| rng.unit()).collect(),
        labels: (0..nodes).map(|_| rng.below(shape.labels) as u16).collect(),
    }
}

/// All labellings of some nodes.
fn labellings(nodes: usize, labels: usize) -> Vec<Labels> {
    let count = labels.pow(nodes as u32);
    let of = |code: usize| {
        (0..nodes as u32).map(|node| (code / labels.pow(node) % labels) as u16).collect()
    };
    (0..count).map(of).collect()
}

fn rise<M: StructuredModel>(model: &M, y: &M::Output, w: &[f64]) -> f64 {
    let mut rise = 0.0;
    model.for_each_difference(0, y, model.truth(0), |at, x| rise += x * w[at]);
    rise
}

fn check(model: &Graphs, all: &[Box<[u16]>], w: &[f64]) {
    let scores = Scores { shared: w, own: &[] };
    assert!(model.refusal(w).is_none());
    for with_loss in [false, true] {
        let value = |y: &Labels| rise(model, y, w) + if with_loss { model.loss(0, y) } else { 0.0 };
        let found = if with_loss { model.worst(0, scores) } else { model.best(0, scores) };
        let most = all.iter().map(value).fold(f64::NEG_INFINITY, f64::max);
        assert!((value(&found) - most).abs() < 1e-12 * (1.0 + most.abs()), "{found:?}");
    }
}

#[test]
fn forests_equal_brute_force() {
    let mut rng = Lcg::new(1);
    for labels in 1..=4 {
        for edges in [&[][..], &[(0, 1)], &[(1, 0), (1, 2), (4, 3)], &[(0, 2), (2, 1), (3, 2)]] {
            let shape = GraphShape { node_features: 2, edge_features: 2, labels };
            let model = Graphs::new(shape, vec![graph(5, edges, shape, &mut rng)]).unwrap();
            let w: Vec<f64> = (0..model.dim()).map(|_| 2.0 * rng.signed()).collect();
            check(&model, &labellings(5, labels), &w);
        }
    }
}

#[test]
fn minimum_cuts_equal_brute_force() {
    let mut rng = Lcg::new(2);
    let grid = [
        (0, 1),
        (1, 2),
        (3, 4),
        (4, 5),
        (0, 3),
        (1, 4),
        (2, 5),
        (6, 7),
        (7, 8),
        (3, 6),
        (4, 7),
        (5, 8),
    ];
    for case in 0..40 {
        let shape = GraphShape { node_features: 2, edge_features: 1, labels: 2 };
        let model = Graphs::new(shape, vec![graph(9, &grid, shape, &mut rng)]).unwrap();
        let mut w: Vec<f64> = (0..model.dim()).map(|_| 2.0 * rng.signed()).collect();
        // Edges that reward agreement, not necessarily by the same for both labels.
        let at = model.dim() - 4;
        w[at + 3] = w[at + 1] + w[at + 2] - w[at] + if case % 5 == 0 { 0.0 } else { rng.unit() };
        check(&model, &labellings(9, 2), &w);
        w[at + 3] -= 2.0;
        assert!(model.refusal(&w).is_some_and(|why| why.contains("rewards disagreement")));
    }
}

fn solve(risk: &dyn Risk, lambda: f64, method: Method) -> Outcome {
    let regularizer = L2::new(lambda).unwrap();
    let problem = Problem::new(risk, &regularizer);
    let mut solver = method.build(problem, &MethodOptions::default()).unwrap();
    let rules = StopRules { tol: 1e-6, max_evaluations: Some(3000), ..StopRules::default() };
    run(&mut *solver, problem, rules, &Cancel::new(), &mut (), &mut ()).unwrap()
}

#[test]
fn graphs_train_with_a_certificate() {
    let mut rng = Lcg::new(3);
    let shape = GraphShape { node_features: 3, edge_features: 1, labels: 3 };
    let tree = [(0, 1), (1, 2), (1, 3)];
    let graphs = (0..12).map(|_| graph(4, &tree, shape, &mut rng)).collect();
    let model = Graphs::new(shape, graphs).unwrap();
    let risk = MarginRisk::new(model, ExampleWeights::mean(12));
    let (first, second) = (solve(&risk, 0.1, Method::Auto), solve(&risk, 0.1, Method::Bmrm));
    assert!(first.certificate.certifies(1e-6) && second.certificate.certifies(1e-6));
    assert!((first.certificate.objective - second.certificate.objective).abs() < 3e-6);
}

#[test]
fn what_cannot_be_labelled_exactly_is_refused() {
    let mut rng = Lcg::new(4);
    let shape = GraphShape { node_features: 1, edge_features: 1, labels: 3 };
    let cycle = graph(3, &[(0, 1), (1, 2), (2, 0)], shape, &mut rng);
    assert!(Graphs::new(shape, vec![cycle]).unwrap_err().contains("has a cycle"));
    let strange = graph(2, &[(0, 2)], shape, &mut rng);
    assert!(Graphs::new(shape, vec![strange]).unwrap_err().contains("do not fit together"));
    let shape = GraphShape { node_features: 1, edge_features: 1, labels: 2 };
    let model = Graphs::new(shape, vec![graph(3, &[(0, 1)], shape, &mut rng)]).unwrap();
    assert!(SlackRescaled::new(model).unwrap_err().contains("margin rescaling needs no list"));
}

#[test]
fn slack_rescaling_equals_its_definition_and_is_certified() {
    let mut rng = Lcg::new(5);
    let (lengths, labels) = ([3usize, 1, 4, 2, 0, 3], 3);
    let tokens: usize = lengths.iter().sum();
    let values: Vec<f64> = (0..tokens * 2).map(|_| rng.signed()).collect();
    let matrix = Matrix::dense(tokens, 2, values.into()).unwrap();
    let mut starts = vec![0];
    lengths.iter().for_each(|length| starts.push(starts[starts.len() - 1] + length));
    let truth: Vec<u16> = (0..tokens).map(|_| rng.below(labels) as u16).collect();
    let shape =
        ChainShape { attributes: 2, labels, pairs: Pairs::All, bias: None, boundary: false };
    let chain = || Chain::new(&shape, &matrix, &starts, &truth, None);
    let risk = MarginRisk::new(SlackRescaled::new(chain()).unwrap(), ExampleWeights::mean(6));
    let w: Vec<f64> = (0..risk.dim()).map(|_| rng.signed()).collect();
    let model = chain();
    let mut expected = 0.0;
    for (example, &length) in lengths.iter().enumerate() {
        let value = |y: &Labels| {
            let mut rise = 0.0;
            model.for_each_difference(example, y, model.truth(example), |at, x| rise += x * w[at]);
            model.loss(example, y) * (1.0 + rise)
        };
        let all = labellings(length, labels);
        expected += all.iter().map(value).fold(f64::NEG_INFINITY, f64::max) / 6.0;
    }
    let found = risk.at(w, &Cancel::new()).unwrap().value;
    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    let (first, second) = (solve(&risk, 0.1, Method::Bcfw), solve(&risk, 0.1, Method::Bmrm));
    assert!(first.certificate.certifies(1e-6) && second.certificate.certifies(1e-6));
    assert!((first.certificate.objective - second.certificate.objective).abs() < 1e-5);
    let long = [0, 40];
    let (values, truth) = (vec![0.0; 80], vec![0; 40]);
    let matrix = Matrix::dense(40, 2, values.into()).unwrap();
    let chain = Chain::new(&shape, &matrix, &long, &truth, None);
    assert!(SlackRescaled::new(chain).unwrap_err().contains("slack rescaling needs a list"));
}
