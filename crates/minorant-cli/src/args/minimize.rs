//! `minorant minimize` as typed: a test problem, and how it is minimised.

use super::table::{MINIMIZE, TableArgs};
use anyhow::ensure;
use clap::Args;
use minorant::options::Asked;
use minorant::options::common::{STOP_CHANGE, STOP_IDLE};
use minorant::problems::ProblemName;
use minorant::solver::{Method, StopRules};
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
    /// Stop at this certified relative gap
    #[arg(long, value_name = "TOL", default_value = "1e-3", help_heading = "Stopping")]
    tol: f64,
    /// Stop at this certified absolute gap
    #[arg(long, value_name = "TOL", default_value = "1e-12", help_heading = "Stopping")]
    abs_tol: f64,
    /// Stop after this many evaluations
    #[arg(long, value_name = "N", help_heading = "Stopping")]
    max_evals: Option<u64>,
    /// Stop after this many seconds of optimisation
    #[arg(long, value_name = "S", help_heading = "Stopping")]
    max_seconds: Option<f64>,
    /// Planes to keep (lm-bmrm: 200); steps that sublbfgs and lbfgs (15) and lmbm (7) remember
    #[arg(long, value_name = "M", help_heading = "Method")]
    pub(crate) memory: Option<usize>,
    #[command(flatten)]
    pub(crate) method: TableArgs<MINIMIZE>,
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

impl MinimizeArgs {
    /// When to stop.
    pub(crate) fn rules(&self) -> anyhow::Result<StopRules> {
        let seconds = self.max_seconds.unwrap_or(0.0);
        let limits = [("--tol", self.tol), ("--abs-tol", self.abs_tol), ("--max-seconds", seconds)];
        for (flag, limit) in limits {
            ensure!(limit >= 0.0, "{flag} must be a number of 0 or more, not {limit}");
        }
        ensure!(self.max_evals != Some(0), "--max-evals must be at least 1, not 0");
        let given = self.method.given()?;
        Ok(StopRules {
            tol: self.tol,
            abs_tol: self.abs_tol,
            max_evaluations: self.max_evals,
            max_seconds: self.max_seconds,
            least_change: given.value_of(&STOP_CHANGE),
            most_idle: given.value_of(&STOP_IDLE),
        })
    }
}

fn parse_problem(name: &str) -> Result<ProblemName, String> {
    let names = ProblemName::ALL.map(ProblemName::as_str).join(", ");
    ProblemName::from_name(name)
        .ok_or_else(|| format!("there is no problem '{name}'; the problems are: {names}"))
}
