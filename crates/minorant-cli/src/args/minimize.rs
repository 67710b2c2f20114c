//! The test problem to minimise as typed.

use super::train::{parse_method, quarter_of_memory};
use super::{OutputArgs, StoppingArgs};
use clap::Args;
use minorant::problems::ProblemName;
use minorant::solver::{Method, MethodOptions};
use std::path::PathBuf;

/// Minimise a test problem.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  minorant minimize abs-toy --solver subbfgs
  minorant minimize abs-toy --solver lbfgs            (comes to a halt on a kink)
  minorant minimize wolfe --solver gd --max-evals 100 (jams where no minimum is)
  minorant minimize chained-mifflin2 --dim 1000 --lambda 0.5 --convex --solver bmrm")]
pub(crate) struct MinimizeArgs {
    /// The problem: chained-mifflin2, chained-crescent2, abs-toy, wolfe, hul or lewis-overton
    #[arg(value_name = "PROBLEM", value_parser = parse_problem)]
    pub(crate) problem: ProblemName,
    /// Dimension of a chained problem (100 if not given)
    #[arg(long, value_name = "D", help_heading = "Problem")]
    pub(crate) dim: Option<usize>,
    /// Regularization λ ≥ 0 of λ/2 ‖w − w_reg‖² + problem; chained problems are regularised to
    /// their start
    #[arg(
        long,
        value_name = "L",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        help_heading = "Problem"
    )]
    pub(crate) lambda: f64,
    /// Use that chained-mifflin2 is convex
    #[arg(long, help_heading = "Problem")]
    pub(crate) convex: bool,
    /// Solver, as for train; lbfgs runs despite kinks
    #[arg(long, value_name = "S", default_value = "auto", value_parser = parse_method)]
    pub(crate) solver: Method,
    #[command(flatten)]
    pub(crate) stopping: StoppingArgs,
    /// Planes to keep (lm-bmrm: 200); steps that sublbfgs and lbfgs remember (15)
    #[arg(long, value_name = "M", help_heading = "Method")]
    memory: Option<usize>,
    /// Write one JSON object per iteration here
    #[arg(long, value_name = "FILE.jsonl")]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl MinimizeArgs {
    /// The method's settings.
    pub(crate) fn method_options(&self) -> MethodOptions {
        MethodOptions {
            memory: self.memory,
            max_bytes: quarter_of_memory(),
            despite_kinks: true,
            ..MethodOptions::default()
        }
    }
}

fn parse_problem(name: &str) -> Result<ProblemName, String> {
    let names = ProblemName::ALL.map(ProblemName::as_str).join(", ");
    ProblemName::from_name(name)
        .ok_or_else(|| format!("there is no problem '{name}'; the problems are: {names}"))
}
