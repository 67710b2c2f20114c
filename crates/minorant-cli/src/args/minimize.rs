//! `minorant minimize` as typed: a test problem, and how it is minimised.

use super::table::{MINIMIZE, TableArgs};
use clap::Args;
use minorant::problems::ProblemName;
use minorant::solver::Method;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Examples:
  minorant minimize abs-toy --solver subbfgs
  minorant minimize abs-toy --solver lbfgs            (halts on a kink)
  minorant minimize wolfe --solver gd --max-evals 100 (jams where no minimum is)
  minorant minimize chained-mifflin2 --dim 1000 --lambda 0.5 --convex"
)]
pub(crate) struct MinimizeArgs {
    /// The problem: chained-mifflin2, chained-crescent2, abs-toy, wolfe, hul or lewis-overton
    #[arg(value_name = "PROBLEM", value_parser = parse_problem)]
    pub(crate) problem: ProblemName,
    /// Dimension of a chained problem (100 if not given)
    #[arg(long, value_name = "D", help_heading = "Problem")]
    pub(crate) dim: Option<usize>,
    /// Regularization λ ≥ 0 of λ/2 ‖w − w_reg‖² + problem; chained problems are regularised to
    /// their start
    #[arg(long, value_name = "L", default_value_t = 0.0, help_heading = "Problem")]
    pub(crate) lambda: f64,
    /// Use that chained-mifflin2 is convex
    #[arg(long, help_heading = "Problem")]
    pub(crate) convex: bool,
    /// Solver, as for train; lbfgs runs despite kinks
    #[arg(long, value_name = "S", default_value = "auto", value_parser = Method::from_name)]
    pub(crate) solver: Method,
    #[command(flatten)]
    pub(crate) options: TableArgs<MINIMIZE>,
    /// Write one JSON object per iteration here
    #[arg(long, value_name = "FILE.jsonl")]
    pub(crate) trace: Option<PathBuf>,
    /// Write the best weights of each iteration into the trace, for problems of up to 1000 weights
    #[arg(long, requires = "trace")]
    pub(crate) trace_weights: bool,
    /// Print one JSON object on standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

fn parse_problem(name: &str) -> Result<ProblemName, String> {
    let names = ProblemName::ALL.map(ProblemName::as_str).join(", ");
    ProblemName::from_name(name)
        .ok_or_else(|| format!("there is no problem '{name}'; the problems are: {names}"))
}
