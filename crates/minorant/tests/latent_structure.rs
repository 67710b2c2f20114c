//! Structures with hidden parts: what the data does not tell is completed, and the same risk of
//! margins becomes that of a latent structural SVM. Here a class, and where in a row of cells the
//! evidence for it stands.

use minorant::generate::Lcg;
use minorant::regularizer::L2;
use minorant::risk::{Cancel, ExampleWeights, Risk};
use minorant::solver::{Method, MethodOptions, Outcome, Problem, StopRules, run};
use minorant::structured::{MarginRisk, Scores, StructuredModel};

const CLASSES: usize = 2;
const CELLS: usize = 4;
const NUMBERS: usize = 3;

/// A class and a cell; the cell of the truth is only a placeholder.
type Output = (usize, usize);

struct Cells {
    examples: Vec<(Vec<f64>, Output)>,
}

impl Cells {
    /// In one cell of each row stands the pattern of its class, in the others noise.
    fn new(examples: usize) -> Cells {
        let mut rng = Lcg::new(8);
        let mut example = |at: usize| {
            let (class, cell) = (at % CLASSES, (rng.unit() * CELLS as f64) as usize);
            let mut row: Vec<f64> = (0..CELLS * NUMBERS).map(|_| 0.5 * rng.signed()).collect();
            row[cell * NUMBERS + class] += 2.0;
            (row, (class, 0))
        };
        Cells { examples: (0..examples).map(&mut example).collect() }
    }

    fn best_of(&self, example: usize, w: &[f64], classes: std::ops::Range<usize>) -> Output {
        let all = classes.flat_map(|class| (0..CELLS).map(move |cell| (class, cell)));
        let score = |output: &Output| {
            let scores = Scores { shared: w, own: &[] };
            self.score(example, output, scores)
        };
        all.reduce(|best, next| if score(&next) > score(&best) { next } else { best }).unwrap()
    }
}

impl StructuredModel for Cells {
    type Output = Output;

    fn dim(&self) -> usize {
        CLASSES * NUMBERS
    }

    fn len(&self) -> usize {
        self.examples.len()
    }

    fn truth(&self, example: usize) -> &Output {
        &self.examples[example].1
    }

    fn for_each_feature(&self, example: usize, y: &Output, mut each: impl FnMut(usize, f64)) {
        let cell = &self.examples[example].0[y.1 * NUMBERS..(y.1 + 1) * NUMBERS];
        cell.iter().enumerate().for_each(|(at, x)| each(y.0 * NUMBERS + at, *x));
    }

    fn loss(&self, example: usize, y: &Output) -> f64 {
        f64::from(u8::from(y.0 != self.truth(example).0))
    }

    fn worst(&self, example: usize, scores: Scores<'_>) -> Output {
        let value = |y: &Output| self.loss(example, y) + self.score(example, y, scores);
        let all = (0..CLASSES).map(|class| self.best_of(example, scores.shared, class..class + 1));
        all.reduce(|best, next| if value(&next) > value(&best) { next } else { best }).unwrap()
    }

    fn best(&self, example: usize, scores: Scores<'_>) -> Output {
        self.best_of(example, scores.shared, 0..CLASSES)
    }

    fn is_latent(&self) -> bool {
        true
    }

    fn complete(&self, example: usize, scores: Scores<'_>) -> Output {
        let class = self.truth(example).0;
        self.best_of(example, scores.shared, class..class + 1)
    }
}

fn solve(risk: &dyn Risk, method: Method, start: &[f64]) -> Outcome {
    let regularizer = L2::new(0.01).unwrap();
    let problem = Problem::new(risk, &regularizer).starting_at(Some(start));
    let mut solver = method.build(problem, &MethodOptions::default()).unwrap();
    let rules = StopRules { max_evaluations: Some(300), ..StopRules::default() };
    run(&mut *solver, problem, rules, &Cancel::new(), &mut (), &mut ()).unwrap()
}

#[test]
fn the_risk_completes_what_is_hidden() {
    let risk = MarginRisk::new(Cells::new(12), ExampleWeights::mean(12));
    assert!(!risk.is_convex() && risk.working_sets().is_none());
    let mut rng = Lcg::new(3);
    let w: Vec<f64> = (0..risk.dim()).map(|_| rng.signed()).collect();
    let scores = Scores { shared: &w, own: &[] };
    let mut expected = 0.0;
    for example in 0..12 {
        let model = risk.model();
        let outputs = || (0..CLASSES).flat_map(|class| (0..CELLS).map(move |cell| (class, cell)));
        let score = |y: &Output| model.score(example, y, scores);
        let worst = outputs().map(|y| model.loss(example, &y) + score(&y));
        let allowed = outputs().filter(|y| y.0 == model.truth(example).0).map(|y| score(&y));
        expected += worst.fold(f64::NEG_INFINITY, f64::max) / 12.0;
        expected -= allowed.fold(f64::NEG_INFINITY, f64::max) / 12.0;
    }
    assert!((risk.at(w, &Cancel::new()).unwrap().value - expected).abs() < 1e-12);
}

#[test]
fn hidden_cells_are_learnt_without_a_bound() {
    let risk = MarginRisk::new(Cells::new(60), ExampleWeights::mean(60));
    let start = [0.2, 0.0, 0.0, 0.0, 0.2, 0.0];
    let before = risk.at(start.to_vec(), &Cancel::new()).unwrap().value;
    for method in [Method::Auto, Method::NrbmLs] {
        let outcome = solve(&risk, method, &start);
        assert!(outcome.certificate.lower_bound.is_none(), "no global bound is known here");
        assert!(outcome.certificate.objective < 0.5 * before, "{:?}", outcome.certificate);
        let w = &outcome.point.w;
        let right = |&example: &usize| {
            let class = risk.model().best(example, Scores { shared: w, own: &[] }).0;
            class == risk.model().truth(example).0
        };
        assert!((0..60).filter(right).count() >= 57);
    }
}
