//! A loss that Minorant does not have, complete with its line and its tests: the pinball loss, whose
//! minimiser is a quantile. It is max(τ (y − f), (τ − 1)(y − f)) for a target y. Passes over the
//! data, threads, exact line searches and certificates come with `LinearRisk`.

#![allow(clippy::print_stdout)]

use minorant::linalg::{Design, Matrix};
use minorant::line::Pieces;
use minorant::regularizer::L2;
use minorant::risk::loss::{Piecewise, Tangent};
use minorant::risk::{Cancel, ExampleWeights, LinearRisk, Loss};
use minorant::solver::{Method, MethodOptions, Problem, StopRules, run};

struct Pinball {
    quantile: f64,
    targets: Vec<f64>,
}

impl Pinball {
    /// The slope in f of the piece that holds at f.
    fn slope(&self, example: usize, f: f64) -> f64 {
        if f < self.targets[example] { -self.quantile } else { 1.0 - self.quantile }
    }
}

impl Loss for Pinball {
    fn outputs(&self) -> usize {
        1
    }

    fn value(&self, example: usize, f: &[f64]) -> f64 {
        self.slope(example, f[0]) * (f[0] - self.targets[example])
    }

    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        c[0] = self.slope(example, f[0]);
        Tangent { value: self.value(example, f), offset: -c[0] * self.targets[example] }
    }

    fn pieces(&self) -> Option<&dyn Piecewise> {
        Some(self)
    }
}

impl Piecewise for Pinball {
    fn add_pieces(&self, example: usize, f: &[f64], d: &[f64], pieces: &mut Pieces<'_>) {
        let above = f[0] - self.targets[example];
        let slopes = [-self.quantile, 1.0 - self.quantile];
        pieces.maximum(slopes.into_iter().map(|c| (c * above, c * d[0])));
    }
}

/// The quantile of some numbers, as the weight of a constant feature.
fn quantile(quantile: f64, targets: Vec<f64>) -> Result<f64, Box<dyn std::error::Error>> {
    let ones = Matrix::dense(targets.len(), 1, vec![1.0; targets.len()].into())?;
    let weights = ExampleWeights::mean(targets.len());
    let risk = LinearRisk::new(Design::new(&ones, None), Pinball { quantile, targets }, weights);
    let regularizer = L2::new(1e-9)?;
    let problem = Problem::new(&risk, &regularizer);
    let mut solver = Method::LsBmrm.build(problem, &MethodOptions::default())?;
    let rules = StopRules { tol: 1e-6, ..StopRules::default() };
    let outcome = run(&mut *solver, problem, rules, &Cancel::new(), &mut (), &mut ())?;
    assert!(outcome.certificate.certifies(1e-6));
    Ok(outcome.point.w[0])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<f64> = (0..1001).map(|i| f64::from(i) / 10.0).collect();
    println!("nine of ten are below {:.1}", quantile(0.9, numbers)?);
    Ok(())
}

#[test]
fn finds_quantiles() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<f64> = (0..=1000).map(f64::from).collect();
    for (asked, expected) in [(0.1, 100.0), (0.5, 500.0), (0.9, 900.0)] {
        assert!((quantile(asked, numbers.clone())? - expected).abs() < 1.5, "{asked}");
    }
    Ok(())
}
