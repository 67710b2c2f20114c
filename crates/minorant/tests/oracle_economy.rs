//! Where the oracle is what costs, the methods are judged by how often they ask it: a structure
//! that counts its own calls, so that the count does not rest on what a method says of itself.

use minorant::generate::{PlatesOptions, plates};
use minorant::regularizer::L2;
use minorant::risk::{Cancel, ExampleWeights};
use minorant::solver::{Method, MethodOptions, Outcome, Problem, StopRules, run};
use minorant::structured::segment::{SegmentLoss, Segmentation};
use minorant::structured::{MarginRisk, Scores, StructuredModel};
use std::sync::atomic::{AtomicU64, Ordering};

/// A segmentation whose oracle is thought to take a millisecond an example.
struct Dear {
    model: Segmentation,
    calls: AtomicU64,
}

impl StructuredModel for Dear {
    type Output = <Segmentation as StructuredModel>::Output;

    fn dim(&self) -> usize {
        self.model.dim()
    }

    fn len(&self) -> usize {
        self.model.len()
    }

    fn truth(&self, example: usize) -> &Self::Output {
        self.model.truth(example)
    }

    fn for_each_feature(
        &self,
        example: usize,
        output: &Self::Output,
        each: impl FnMut(usize, f64),
    ) {
        self.model.for_each_feature(example, output, each);
    }

    fn loss(&self, example: usize, output: &Self::Output) -> f64 {
        self.model.loss(example, output)
    }

    fn worst(&self, example: usize, scores: Scores<'_>) -> Self::Output {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.model.worst(example, scores)
    }

    fn best(&self, example: usize, scores: Scores<'_>) -> Self::Output {
        self.model.best(example, scores)
    }
}

const IMAGES: usize = 60;

fn solve(method: Method, lambda: f64) -> (Outcome, u64) {
    let options = PlatesOptions {
        seed: 5,
        images: IMAGES,
        height: 4,
        widths: vec![2, 3, 3, 4, 5, 2],
        noise: 1.5,
        longest: 5,
    };
    let data = plates(&options).into_iter().map(Into::into).collect();
    let model = Segmentation::new(options.height, options.widths, data, SegmentLoss::Position);
    let model = Dear { model: model.unwrap(), calls: AtomicU64::new(0) };
    let risk = MarginRisk::new(model, ExampleWeights::mean(IMAGES));
    let regularizer = L2::new(lambda).unwrap();
    let problem = Problem::new(&risk, &regularizer);
    let mut solver = method.build(problem, &MethodOptions::default()).unwrap();
    let rules = StopRules { tol: 0.01, max_evaluations: Some(5000), ..StopRules::default() };
    let outcome = run(&mut *solver, problem, rules, &Cancel::new(), &mut (), &mut ()).unwrap();
    drop(solver);
    let calls = risk.model().calls.load(Ordering::Relaxed);
    (outcome, calls)
}

#[test]
fn auto_asks_a_third_as_often_as_bmrm() {
    for lambda in [0.1, 0.05, 0.01, 0.001] {
        let (auto, few) = solve(Method::Auto, lambda);
        let (bmrm, many) = solve(Method::Bmrm, lambda);
        for (outcome, calls) in [(&auto, few), (&bmrm, many)] {
            assert!(outcome.certificate.certifies(0.01), "{:?}", outcome.certificate);
            // One evaluation is one call an example, neither more nor less.
            assert_eq!(calls, outcome.evaluations * IMAGES as u64);
        }
        assert!(3 * few <= many, "λ = {lambda}: {few} calls against {many}");
        assert!(auto.certificate.lower_bound.unwrap() <= bmrm.certificate.objective);
    }
}
