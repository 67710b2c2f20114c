//! Whoever holds the rows, the answer has the same bits: risks whose rows are dealt among holders are
//! minimised like those whose rows are in one place, on any number of threads.

mod common;

use common::{Random, Values, cases};
use minorant::linalg::{Design, Matrix, Storage};
use minorant::regularizer::{L2, Ranges};
use minorant::risk::hinge::Hinge;
use minorant::risk::huber_hinge::HuberHinge;
use minorant::risk::logistic::Logistic;
use minorant::risk::multiclass_hinge::MulticlassHinge;
use minorant::risk::multilabel_hinge::MultilabelHinge;
use minorant::risk::quantiles::Quantiles;
use minorant::risk::residual::{self, Residual, Targets};
use minorant::risk::softmax::Softmax;
use minorant::risk::squared_hinge::SquaredHinge;
use minorant::risk::{Cancel, DealtRisk, ExampleWeights, LinearRisk, Loss, Outputs, Risk, Shape};
use minorant::solver::{self, Method, MethodOptions, Outcome, Problem, StopRules};
use std::ops::Range;

const HOLDERS: [usize; 8] = [1, 2, 3, 5, 7, 8, 16, 64];
const THREADS: [usize; 4] = [1, 2, 3, 8];
const LOSSES: usize = 15;
/// Those without kinks.
const SMOOTH: [usize; 7] = [1, 2, 3, 5, 8, 12, 13];
const METHODS: [Method; 6] =
    [Method::Bmrm, Method::LmBmrm, Method::PBmrm, Method::LsPBmrm, Method::LsBmrm, Method::Nrbm];

/// Rows with everything that a loss may ask of them.
struct Problems {
    matrix: Matrix<'static>,
    bias: Option<f64>,
    labels: Vec<u32>,
    member: Vec<bool>,
    margins: Vec<f64>,
    targets: Vec<f64>,
    weights: Option<Vec<f64>>,
    lambda: f64,
    /// λ₁ of an elastic net, and least weights of 0 besides.
    l1: Option<f64>,
    is_bounded: bool,
}

const CLASSES: usize = 3;

impl Problems {
    fn random(random: &mut Random) -> Self {
        let (n, d) = match random.between(0, 4) {
            0 => (random.between(1, 3), random.between(1, 4)),
            1 => (random.between(4, 40), random.between(1, 60)),
            2 => (random.between(40, 300), 1),
            _ => (random.between(40, 900), random.between(2, 12)),
        };
        let scale = random.scale(1e-3, 1e3);
        let mut rows = common::rows(random, n, d, Values::Normal);
        for row in &mut rows {
            let is_empty = random.chance(0.1);
            row.iter_mut().for_each(|x| *x *= if is_empty { 0.0 } else { scale });
        }
        let storage = random.pick(&[Storage::F64, Storage::F32]);
        let matrix = if random.chance(0.5) {
            common::dense(&rows, d, storage)
        } else {
            common::sparse(&rows, d, storage)
        };
        Problems {
            matrix,
            bias: random.chance(0.5).then_some(1.0),
            labels: (0..n).map(|_| random.between(0, CLASSES - 1) as u32).collect(),
            member: (0..n * CLASSES).map(|_| random.chance(0.4)).collect(),
            margins: common::label_loss(random, CLASSES),
            targets: random.normals(n),
            weights: random.chance(0.3).then(|| (0..n).map(|_| random.scale(0.1, 9.0)).collect()),
            lambda: random.scale(1e-3, 1.0),
            l1: random.chance(0.3).then(|| random.scale(1e-3, 0.1)),
            is_bounded: random.chance(0.1),
        }
    }

    fn loss(&self, number: usize, rows: Range<usize>) -> Box<dyn Loss> {
        let labels = self.labels[rows.clone()].to_vec();
        let signs = labels.iter().map(|&z| if z == 0 { 1.0 } else { -1.0 }).collect();
        let member = self.member[rows.start * CLASSES..rows.end * CLASSES].to_vec();
        let margins = self.margins.clone();
        // What counts as near to a kink is told by all targets, whoever holds which.
        let targets = Targets::new(self.targets.clone()).part(rows);
        let of_residuals = |shape| Box::new(Residual::new(targets.clone(), shape));
        match number {
            0 => Box::new(Hinge::new(signs)),
            1 => Box::new(SquaredHinge::new(signs)),
            2 => Box::new(HuberHinge::new(signs, 0.5)),
            3 => Box::new(Logistic::new(signs)),
            4 => Box::new(MulticlassHinge::new(CLASSES, labels, margins)),
            5 => Box::new(Softmax::new(CLASSES, labels)),
            6 => Box::new(MultilabelHinge::new(CLASSES, member, None)),
            7 => Box::new(MultilabelHinge::new(CLASSES, member, Some(margins))),
            8 => of_residuals(residual::Shape::SQUARES),
            9 => of_residuals(residual::Shape::ABSOLUTE),
            10 => of_residuals(residual::Shape::quantile(0.3)),
            11 => of_residuals(residual::Shape::epsilon_insensitive(0.2)),
            12 => of_residuals(residual::Shape::squared_epsilon_insensitive(0.2)),
            13 => of_residuals(residual::Shape::huber(0.7)),
            _ => Box::new(Quantiles::new(targets, vec![0.1, 0.5, 0.9])),
        }
    }

    fn weights(&self, rows: Range<usize>) -> ExampleWeights {
        let all = self.labels.len();
        match &self.weights {
            None => ExampleWeights::mean(all),
            Some(weights) => {
                let total: f64 = weights.iter().sum();
                ExampleWeights::Each(weights[rows].iter().map(|s| s / total).collect())
            }
        }
    }

    /// Calls `work` with the risk whose rows are dealt to so many holders; 0: they are in one place.
    fn with_risk<T>(&self, loss: usize, holders: usize, work: impl FnOnce(&dyn Risk) -> T) -> T {
        let (design, all) = (Design::new(&self.matrix, self.bias), 0..self.labels.len());
        if holders == 0 {
            let loss = self.loss(loss, all.clone());
            return work(&LinearRisk::boxed(design, loss, self.weights(all)));
        }
        let shape = Shape::of(&design);
        let dealt = shape.deal(holders);
        let select =
            |rows: &Range<usize>| self.matrix.select_rows(&rows.clone().collect::<Vec<usize>>());
        let matrices: Vec<Matrix<'_>> = dealt.iter().map(select).collect();
        let each = matrices.iter().zip(dealt).map(|(matrix, rows)| {
            let design = Design::new(matrix, self.bias);
            (design, self.loss(loss, rows.clone()), self.weights(rows))
        });
        work(&DealtRisk::new(shape, each.collect()))
    }

    fn regularizer(&self, dim: usize) -> L2 {
        let mut regularizer = L2::new(self.lambda).expect("a regularizer");
        if let Some(l1) = self.l1 {
            regularizer = regularizer.with_l1(l1).expect("an elastic net");
        }
        if self.is_bounded {
            let ranges = Ranges::new(vec![0.0; dim], vec![f64::INFINITY; dim]).expect("ranges");
            regularizer = regularizer.with_ranges(ranges).expect("a bounded regularizer");
        }
        regularizer
    }

    fn solve(&self, loss: usize, holders: usize, method: Method) -> Outcome {
        self.with_risk(loss, holders, |risk| {
            let regularizer = self.regularizer(risk.dim());
            let problem = Problem::new(risk, &regularizer);
            let mut solver = method.build(problem, &MethodOptions::default()).expect("a solver");
            let rules = StopRules { max_evaluations: Some(60), ..StopRules::default() };
            let cancel = Cancel::new();
            solver::run(&mut *solver, problem, rules, &cancel, &mut (), &mut ())
                .expect("an outcome")
        })
    }
}

/// Everything of an outcome that a model file is made of.
fn bits(outcome: &Outcome) -> (Vec<u64>, u64, Option<u64>, u64, String) {
    (
        outcome.point.w.iter().map(|w| w.to_bits()).collect(),
        outcome.certificate.objective.to_bits(),
        outcome.certificate.lower_bound.map(f64::to_bits),
        outcome.evaluations,
        format!("{:?}", outcome.proof),
    )
}

#[test]
fn the_answer_does_not_depend_on_who_holds_the_rows() {
    for seed in 0..cases(40, 1000) {
        let mut random = Random::new(seed);
        let problems = Problems::random(&mut random);
        for loss in 0..LOSSES {
            let has_kinks = problems.l1.is_some() || problems.is_bounded;
            let walks = SMOOTH.contains(&loss) && !has_kinks && random.chance(0.2);
            let bundles = if has_kinks { &METHODS[..METHODS.len() - 1] } else { &METHODS[..] };
            let method = if walks { Method::Lbfgs } else { random.pick(bundles) };
            let alone = bits(&problems.solve(loss, 0, method));
            for holders in HOLDERS {
                let threads = random.pick(&THREADS);
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                let dealt =
                    pool.expect("threads").install(|| problems.solve(loss, holders, method));
                assert!(
                    bits(&dealt) == alone,
                    "seed {seed}, loss {loss}, {method:?}, {holders} holders, {threads} threads"
                );
            }
        }
    }
}

/// Points whose outputs are elsewhere come back from a file with their outputs, are dealt out again, and
/// are forgotten when nobody needs them.
#[test]
fn outputs_elsewhere_are_gathered_and_dealt_again() {
    let mut random = Random::new(1);
    let problems = Problems::random(&mut random);
    problems.with_risk(0, 3, |risk| {
        let cancel = Cancel::new();
        let w = random.normals(risk.dim());
        let point = risk.at(w.clone(), &cancel).expect("a point");
        assert!(matches!(point.outputs, Outputs::Held(_)) && !point.outputs.is_none());
        let here = problems.with_risk(0, 0, |risk| risk.at(w, &cancel).expect("a point"));
        assert_eq!(point.outputs.gather(), here.outputs.here());
        let planes = risk.planes(&point, 1, &cancel).expect("planes");
        drop(point);
        let again = risk.planes(&here, 1, &cancel).expect("planes");
        assert_eq!(planes[0].normal, again[0].normal);
    });
}
