//! A structure that Minorant does not have: assignments. Each example has as many workers as jobs
//! and a few numbers for every pair; an output gives every worker a job, and the loss counts
//! workers with a wrong one. The type below is all that a structured SVM needs to know of it.

#![allow(clippy::print_stdout)]

use minorant::generate::Lcg;
use minorant::regularizer::L2;
use minorant::risk::{Cancel, ExampleWeights};
use minorant::solver::{Method, MethodOptions, Problem, StopRules, run};
use minorant::structured::{MarginRisk, Scores, StructuredModel};

/// Pairs have this many features.
const FEATURES: usize = 4;

struct Assignments {
    /// Number of workers, and of jobs.
    size: usize,
    /// For each example the features of (worker, job) pairs, row by row.
    pairs: Vec<Vec<[f64; FEATURES]>>,
    /// The true job of each worker.
    truths: Vec<Vec<u8>>,
}

impl Assignments {
    /// The assignment with the highest sum of pair scores. The best way to give the first workers
    /// a set of jobs needs only the best ways to give one worker less one job less.
    fn best_assignment(&self, score: impl Fn(usize, usize) -> f64) -> Vec<u8> {
        let sets = 1usize << self.size;
        let mut best = vec![f64::NEG_INFINITY; sets];
        let mut last = vec![0u8; sets];
        best[0] = 0.0;
        for set in 1..sets {
            let worker = set.count_ones() as usize - 1;
            for job in (0..self.size).filter(|job| set >> job & 1 == 1) {
                let total = best[set & !(1 << job)] + score(worker, job);
                if total > best[set] {
                    (best[set], last[set]) = (total, job as u8);
                }
            }
        }
        let mut jobs = vec![0; self.size];
        let mut set = sets - 1;
        for worker in (0..self.size).rev() {
            jobs[worker] = last[set];
            set &= !(1 << last[set]);
        }
        jobs
    }

    fn pair(&self, example: usize, worker: usize, job: usize) -> &[f64; FEATURES] {
        &self.pairs[example][worker * self.size + job]
    }
}

impl StructuredModel for Assignments {
    type Output = Vec<u8>;

    fn dim(&self) -> usize {
        FEATURES
    }

    fn len(&self) -> usize {
        self.truths.len()
    }

    fn truth(&self, example: usize) -> &Vec<u8> {
        &self.truths[example]
    }

    fn for_each_feature(&self, example: usize, jobs: &Vec<u8>, mut each: impl FnMut(usize, f64)) {
        for (worker, &job) in jobs.iter().enumerate() {
            let features = self.pair(example, worker, job as usize);
            features.iter().enumerate().for_each(|(at, &x)| each(at, x));
        }
    }

    fn loss(&self, example: usize, jobs: &Vec<u8>) -> f64 {
        self.truths[example].iter().zip(jobs).filter(|(truth, job)| truth != job).count() as f64
    }

    fn worst(&self, example: usize, scores: Scores<'_>) -> Vec<u8> {
        let truth = &self.truths[example];
        self.best_assignment(|worker, job| {
            let wrong = f64::from(u8::from(truth[worker] as usize != job));
            wrong + dot(self.pair(example, worker, job), scores.shared)
        })
    }

    fn best(&self, example: usize, scores: Scores<'_>) -> Vec<u8> {
        self.best_assignment(|worker, job| dot(self.pair(example, worker, job), scores.shared))
    }
}

fn dot(x: &[f64], w: &[f64]) -> f64 {
    x.iter().zip(w).map(|(x, w)| x * w).sum()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Examples whose true assignment is the best one for hidden weights, with some noise.
    let hidden = [1.0, -2.0, 0.5, 0.0];
    let mut rng = Lcg::new(1);
    let mut model = Assignments { size: 6, pairs: Vec::new(), truths: Vec::new() };
    for example in 0..80 {
        let pair = |_| [(); FEATURES].map(|()| rng.signed());
        model.pairs.push((0..36).map(pair).collect());
        let noise: Vec<f64> = (0..36).map(|_| 0.3 * rng.signed()).collect();
        let truth = model.best_assignment(|worker, job| {
            dot(model.pair(example, worker, job), &hidden) + noise[worker * 6 + job]
        });
        model.truths.push(truth);
    }
    let examples = model.len();
    let risk = MarginRisk::new(model, ExampleWeights::mean(examples));
    let regularizer = L2::new(0.01)?;
    let problem = Problem::new(&risk, &regularizer);
    let mut solver = Method::Auto.build(problem, &MethodOptions::default())?;
    let rules = StopRules { tol: 1e-4, ..StopRules::default() };
    let outcome = run(&mut *solver, problem, rules, &Cancel::new(), &mut (), &mut ())?;
    assert!(outcome.certificate.certifies(1e-4));
    let w = &outcome.point.w;
    let scores = Scores { shared: w, own: &[] };
    let wrong: f64 =
        (0..examples).map(|i| risk.model().loss(i, &risk.model().best(i, scores))).sum();
    println!("weights      {w:.3?}");
    println!("objective    {:.6}", outcome.certificate.objective);
    println!("lower bound  {:.6}", outcome.certificate.lower_bound.unwrap_or(f64::NAN));
    println!("passes       {}", outcome.evaluations);
    println!("wrong        {wrong} of {} workers", 6 * examples);
    Ok(())
}

#[test]
fn trains_with_a_certificate() -> Result<(), Box<dyn std::error::Error>> {
    main()
}
