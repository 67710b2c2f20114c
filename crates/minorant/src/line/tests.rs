//! The exact line search where rows are dealt to several holders and threads, against a reference that
//! sorts everything; and the exchanges that it takes.

use super::*;
use crate::risk::hinge::Hinge;
use crate::risk::huber_hinge::HuberHinge;
use crate::risk::logistic::Logistic;
use crate::risk::loss::{SecondDerivative, Tangent};
use crate::risk::multiclass_hinge::{MulticlassHinge, uniform_margins};
use crate::risk::softmax::Softmax;
use crate::risk::squared_hinge::SquaredHinge;
use crate::risk::{ExampleWeights, Loss};
use minorant_linalg::parallel::split_evenly;
use minorant_linalg::sum::Sum;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;
use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

type Random = Pcg64Mcg;

fn normal(random: &mut Random) -> f64 {
    StandardNormal.sample(random)
}

/// Rows along a line, their chunks, and the regularizer.
struct Rows {
    loss: Box<dyn Loss>,
    weights: ExampleWeights,
    start: Vec<f64>,
    direction: Vec<f64>,
    chunks: Vec<Range<usize>>,
    quadratic: Quadratic,
}

impl Rows {
    /// Hinges, or their squares, that fall up to these steps and not after them.
    fn with_breakpoints(at: &[f64], is_square: bool, chunks: usize, quadratic: Quadratic) -> Self {
        let signs = vec![1.0; at.len()];
        // 1 − f − η d is 0 at η = at.
        let direction: Vec<f64> = at.iter().map(|at| 1.0 / at).collect();
        let loss: Box<dyn Loss> = if is_square {
            Box::new(SquaredHinge::new(signs))
        } else {
            Box::new(Hinge::new(signs))
        };
        Rows {
            loss,
            weights: ExampleWeights::mean(at.len()),
            start: vec![0.0; at.len()],
            direction,
            chunks: split_evenly(at.len(), chunks),
            quadratic,
        }
    }

    fn share<'r>(&'r self, chunks: &'r [Range<usize>]) -> Box<dyn LineShare + 'r> {
        let (loss, weights) = (&*self.loss, &self.weights);
        let data = LineData {
            loss,
            weights,
            start: (&self.start).into(),
            direction: self.direction.clone(),
        };
        match loss.pieces() {
            Some(loss) => Box::new(PiecewiseLine::new(PiecewiseRows { data, loss, chunks })),
            None => Box::new(SmoothLine::new(data, chunks)),
        }
    }

    /// The line where runs of chunks are dealt to so many holders.
    fn line(&self, holders: usize) -> Line<'_> {
        let runs = split_evenly(self.chunks.len(), holders).into_iter();
        Line::new(runs.map(|run| self.share(&self.chunks[run])).collect())
    }

    /// The minimiser, and the exchanges that it took.
    fn counted(&self) -> (f64, u32) {
        let exchanges = Rc::new(Cell::new(0));
        let share = Counted { share: self.share(&self.chunks), exchanges: exchanges.clone() };
        let found = minimise(&mut Line::whole(share), self.quadratic);
        (found, exchanges.get())
    }

    /// The least minimiser, by all breakpoints in order.
    fn by_sorting(&self) -> f64 {
        let (start, mut points) = self.line(1).breakpoints(0.0, f64::INFINITY).expect("pieces");
        points.sort_by(|a, b| a.at.total_cmp(&b.at));
        let [mut constant, mut linear] = start.map(|number| Sum::from_iter([number]));
        constant.add(self.quadratic.slope);
        linear.add(self.quadratic.curvature);
        let mut from = 0.0;
        for point in points {
            if let Some(root) = root_between(constant, linear, from, point.at) {
                return root;
            }
            constant.add(point.constant);
            linear.add(point.linear);
            from = point.at;
        }
        root_between(constant, linear, from, f64::MAX).unwrap_or(f64::INFINITY)
    }

    fn slope(&self, eta: f64) -> f64 {
        self.line(1).slope(eta, Side::After) + self.quadratic.at(eta)
    }
}

fn root_between(constant: Sum, linear: Sum, from: f64, to: f64) -> Option<f64> {
    let (constant, linear) = (constant.value(), linear.value());
    if constant + linear * from >= 0.0 {
        return Some(from);
    }
    let root = -constant / linear;
    (linear > 0.0 && root <= to).then_some(root.max(from))
}

/// Counts the exchanges in which a share is asked.
struct Counted<'r> {
    share: Box<dyn LineShare + 'r>,
    exchanges: Rc<Cell<u32>>,
}

impl Counted<'_> {
    fn count(&self) {
        self.exchanges.set(self.exchanges.get() + 1);
    }
}

impl LineShare for Counted<'_> {
    fn value(&self, eta: f64) -> Vec<f64> {
        self.count();
        self.share.value(eta)
    }

    fn slope(&self, eta: f64, side: Side) -> Vec<f64> {
        self.count();
        self.share.slope(eta, side)
    }

    fn curve(&self, steps: &[f64]) -> Vec<f64> {
        assert!(steps.len() <= 4, "{steps:?}");
        self.count();
        self.share.curve(steps)
    }

    fn pieces(&mut self) -> Option<&mut dyn PiecewiseShare> {
        if self.share.pieces().is_some() { Some(self) } else { None }
    }
}

impl PiecewiseShare for Counted<'_> {
    fn chunks(&self) -> usize {
        64
    }

    fn slopes(&mut self, interval: (f64, f64), steps: &[f64]) -> Vec<f64> {
        self.count();
        self.share.pieces().expect("pieces").slopes(interval, steps)
    }

    fn samples(&mut self, interval: (f64, f64), most: usize) -> Vec<Samples> {
        self.count();
        self.share.pieces().expect("pieces").samples(interval, most)
    }

    fn gather(&mut self, interval: (f64, f64)) -> Vec<LinePieces> {
        self.count();
        self.share.pieces().expect("pieces").gather(interval)
    }
}

/// Lines of every kind of loss, at some scale of the steps; one in two with ties everywhere.
fn lines(seed: u64, chunks: usize) -> Vec<Rows> {
    let mut random = Random::seed_from_u64(seed);
    let n = random.random_range(1..3000);
    let scale = 10f64.powi(random.random_range(-8..=8));
    let is_tied = random.random();
    let (classes, labels) = (4, (0..n).map(|_| random.random_range(0..4)).collect::<Vec<u32>>());
    let signs: Vec<f64> = (0..n).map(|_| if random.random() { 1.0 } else { -1.0 }).collect();
    let losses: Vec<Box<dyn Loss>> = vec![
        Box::new(Hinge::new(signs.clone())),
        Box::new(SquaredHinge::new(signs.clone())),
        Box::new(MulticlassHinge::new(classes, labels.clone(), uniform_margins(classes))),
        Box::new(Logistic::new(signs)),
        Box::new(Softmax::new(classes, labels)),
    ];
    let rows = |loss: Box<dyn Loss>| {
        let k = loss.outputs();
        let mut number = |is_tied: bool| {
            if is_tied { f64::from(random.random_range(-3..=3)) } else { normal(&mut random) }
        };
        let start: Vec<f64> = (0..n * k).map(|_| number(is_tied)).collect();
        let direction = (0..n * k).map(|_| number(is_tied) / scale).collect();
        let weights = (0..n).map(|_| number(false).abs() / n as f64).collect();
        let weights = ExampleWeights::Each(weights);
        let slope = -2.0 * number(false).abs() / scale;
        let quadratic = Quadratic { slope, curvature: number(false).abs() / (scale * scale) };
        Rows { loss, weights, start, direction, chunks: split_evenly(n, chunks), quadratic }
    };
    losses.into_iter().map(rows).collect()
}

#[test]
fn the_holders_and_the_threads_do_not_matter() {
    for seed in 0..12 {
        for rows in lines(seed, 64) {
            let alone = minimise(&mut rows.line(1), rows.quadratic);
            let at = if alone.is_finite() { alone } else { 1.0 };
            let told = |line: &Line<'_>| [line.value(at), line.slopes(at).left].map(f64::to_bits);
            for holders in [2, 3, 5, 8, 64] {
                let mut line = rows.line(holders);
                assert_eq!(told(&line), told(&rows.line(1)));
                let found = minimise(&mut line, rows.quadratic);
                assert_eq!(found.to_bits(), alone.to_bits(), "{seed}: {holders} holders");
            }
        }
    }
    // So many breakpoints that threads share the work on them.
    let mut random = Random::seed_from_u64(1);
    let at: Vec<f64> = (0..60_000).map(|_| 0.5 * normal(&mut random).abs()).collect();
    for is_square in [false, true] {
        let quadratic = Quadratic { slope: 0.7, curvature: 0.1 };
        let rows = Rows::with_breakpoints(&at, is_square, 64, quadratic);
        let alone = minimise(&mut rows.line(1), quadratic);
        assert!(0.0 < alone && alone < 2.0, "{alone}");
        for (threads, holders) in [(1, 5), (2, 1), (3, 64), (8, 3)] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let found = pool.install(|| minimise(&mut rows.line(holders), quadratic));
            assert_eq!(found.to_bits(), alone.to_bits(), "{threads} threads, {holders} holders");
        }
    }
}

#[test]
fn steps_are_those_of_sorting_everything() {
    for seed in 0..60 {
        for rows in lines(seed, 16) {
            let found = minimise(&mut rows.line(3), rows.quadratic);
            if rows.loss.pieces().is_none() {
                let (first, last) = (rows.slope(0.0), rows.slope(found));
                assert!(
                    last.abs() <= 1e-12 * first.abs() || found == 0.0,
                    "{seed}: {first} {last} at {found}, {:?}",
                    rows.quadratic
                );
                continue;
            }
            let sorted = rows.by_sorting();
            let is_same = (found - sorted).abs() <= 1e-9 * sorted || found == sorted;
            // Where rounding decides, the slope in between is nothing but rounding.
            let middle = rows.slope(0.5 * (found + sorted)).abs();
            let is_flat = middle <= 1e-13 * rows.quadratic.slope.abs();
            assert!(is_same || is_flat, "{seed}: {found}, sorting says {sorted}: {middle}");
        }
    }
}

/// Where breakpoints may be; some of these orders are those that a sample could fall for.
fn breakpoints(kind: &str, n: usize, random: &mut Random) -> Vec<f64> {
    let chunk = n.div_ceil(64);
    let at = |i: usize| match kind {
        "normal" => (0.6 + 0.1 * normal(random)).abs(),
        "uniform" => random.random::<f64>(),
        "tied" if !i.is_multiple_of(10) => 0.5,
        "tied" => random.random_range(0..100) as f64 / 100.0,
        // Each cluster is a millionth as wide as the one around it.
        "clustered" => 0.5 + 0.4 * 1e-6f64.powi(random.random_range(0..3)) * random.random::<f64>(),
        "ascending" => i as f64 / n as f64,
        "descending" => 1.0 - i as f64 / n as f64,
        // Chunks of their own, and a few rows far from all others wherever stretches begin.
        "striped" if (i % chunk).is_multiple_of((chunk / 8).max(1)) => {
            0.001 * random.random::<f64>()
        }
        _ => 0.9 - 0.2 * random.random::<f64>(),
    };
    (0..n).map(at).map(|at| at.max(1e-3)).collect()
}

#[test]
fn ten_million_breakpoints_take_at_most_eight_rounds() {
    let kinds = ["normal", "uniform", "tied", "clustered", "ascending", "descending", "striped"];
    let largest = if cfg!(debug_assertions) { 6 } else { 7 };
    for kind in kinds {
        for exponent in 3..=largest {
            let mut random = Random::seed_from_u64(exponent.into());
            let n = 10usize.pow(exponent);
            let at = breakpoints(kind, n, &mut random);
            // The slope Σ −1/at over those ahead is balanced somewhere in the middle.
            let mean = at.iter().map(|at| 1.0 / at).sum::<f64>() / n as f64;
            let quadratic = Quadratic { slope: 0.4 * mean, curvature: 0.0 };
            let rows = Rows::with_breakpoints(&at, false, 64, quadratic);
            drop(at);
            let (found, exchanges) = rows.counted();
            let rounds = exchanges - 1;
            assert!(rounds <= if exponent < 7 { 6 } else { 8 }, "{kind} {n}: {rounds} rounds");
            let sorted = rows.by_sorting();
            assert!((found - sorted).abs() <= 1e-9 * sorted, "{kind} {n}: {found}, not {sorted}");
        }
    }
}

#[test]
fn smooth_lines_take_few_sweeps() {
    let (mut sum, mut most, mut count) = (0, 0, 0);
    for seed in 0..200 {
        for rows in lines(seed, 16) {
            if rows.loss.pieces().is_none() {
                let (_, sweeps) = rows.counted();
                (sum, most, count) = (sum + sweeps, most.max(sweeps), count + 1);
            }
        }
    }
    let average = f64::from(sum) / f64::from(count);
    assert!(average <= 4.5 && most <= 10, "{average} on average, {most} at most");
}

/// Hinges and logistic losses on one line: it has kinks, and no pieces.
#[test]
fn sums_of_lines_are_lines() {
    for seed in 0..60 {
        let all = lines(seed, 8);
        let (hinge, logistic) = (&all[0], &all[3]);
        let mut line =
            Line::new(vec![hinge.share(&hinge.chunks), logistic.share(&logistic.chunks)]);
        let quadratic = hinge.quadratic;
        let found = minimise(&mut line, quadratic);
        let both = |eta: f64| hinge.line(1).value(eta) + logistic.line(1).value(eta);
        assert!((line.value(found) - both(found)).abs() <= 1e-12 * both(found).abs());
        let slope = |eta: f64, side| line.slope(eta, side) + quadratic.at(eta);
        let rounding = 1e-11 * (slope(0.0, Side::After).abs() + quadratic.slope.abs());
        if found > 0.0 {
            assert!(slope(found * (1.0 - 1e-11), Side::Before) <= rounding, "{seed}: {found}");
        }
        assert!(slope(found * (1.0 + 1e-11), Side::After) >= -rounding, "{seed}: {found}");
    }
}

/// The multiclass logistic loss with nothing but what a loss must have.
struct Plain(Softmax);

impl Loss for Plain {
    fn outputs(&self) -> usize {
        self.0.outputs()
    }

    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        self.0.tangent(example, f, c)
    }

    fn value(&self, example: usize, f: &[f64]) -> f64 {
        self.0.value(example, f)
    }

    fn curvature(&self) -> Option<&dyn SecondDerivative> {
        Some(self)
    }
}

impl SecondDerivative for Plain {
    fn second_derivative(&self, example: usize, f: &[f64], a: &mut [f64], b: &mut [f64]) {
        self.0.second_derivative(example, f, a, b);
    }
}

#[test]
fn rates_are_those_at_which_slopes_change() {
    let mut random = Random::seed_from_u64(5);
    for scale in [1e-8, 1e-4, 1.0, 1e4, 1e8] {
        let losses: [Box<dyn Loss>; 4] = [
            Box::new(Logistic::new(vec![1.0, -1.0, 1.0])),
            Box::new(Softmax::new(5, vec![2, 0, 4])),
            Box::new(Plain(Softmax::new(5, vec![2, 0, 4]))),
            Box::new(HuberHinge::new(vec![1.0, -1.0, -1.0], 50.0)),
        ];
        for loss in losses {
            let k = loss.outputs();
            let f: Vec<f64> = (0..3 * k).map(|_| normal(&mut random)).collect();
            let d: Vec<f64> = (0..3 * k).map(|_| scale * normal(&mut random)).collect();
            let slopes = |eta: f64| {
                let at: Vec<f64> = f.iter().zip(&d).map(|(f, d)| f + eta * d).collect();
                let mut c = vec![0.0; 3 * k];
                loss.slopes(0..3, &at, &mut c);
                c
            };
            let mut rates = [0.0; 3];
            let curvature = loss.curvature().expect("second derivatives");
            curvature.rates(0..3, (&f, &slopes(0.0)), &d, &mut rates);
            let h = 1e-5 / scale;
            let (before, after) = (slopes(-h), slopes(h));
            for (i, rate) in rates.into_iter().enumerate() {
                let change = |j: usize| d[j] * (after[j] - before[j]) / (2.0 * h);
                let expected: f64 = (i * k..(i + 1) * k).map(change).sum();
                let size = d.iter().map(|d| d * d).sum::<f64>();
                assert!((rate - expected).abs() <= 1e-8 * size, "{rate}, not {expected}");
            }
        }
    }
}
