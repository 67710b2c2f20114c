//! When a run stops, as typed.

use anyhow::ensure;
use clap::Args;
use minorant::solver::StopRules;

/// When to stop.
#[derive(Debug, Args)]
pub(crate) struct StoppingArgs {
    /// Stop at this certified relative gap
    #[arg(
        long,
        value_name = "TOL",
        default_value_t = 1e-3,
        allow_negative_numbers = true,
        help_heading = "Stopping"
    )]
    pub(crate) tol: f64,
    /// Stop at this certified absolute gap
    #[arg(
        long,
        value_name = "TOL",
        default_value_t = 1e-12,
        allow_negative_numbers = true,
        help_heading = "Stopping"
    )]
    abs_tol: f64,
    /// Stop after this many evaluations
    #[arg(long, value_name = "N", help_heading = "Stopping")]
    max_evals: Option<u64>,
    /// Stop after this many seconds of optimisation
    #[arg(long, value_name = "S", allow_negative_numbers = true, help_heading = "Stopping")]
    max_seconds: Option<f64>,
}

impl StoppingArgs {
    /// The library's rules.
    pub(crate) fn rules(&self) -> anyhow::Result<StopRules> {
        ensure!(self.tol >= 0.0, "the tolerance must be 0 or more, not {}", self.tol);
        ensure!(
            self.abs_tol >= 0.0,
            "the absolute tolerance must be 0 or more, not {}",
            self.abs_tol
        );
        ensure!(self.max_evals != Some(0), "at least one evaluation is needed for an answer");
        if let Some(seconds) = self.max_seconds {
            ensure!(seconds >= 0.0, "the time limit must be 0 seconds or more, not {seconds}");
        }
        Ok(StopRules {
            tol: self.tol,
            abs_tol: self.abs_tol,
            max_evaluations: self.max_evals,
            max_seconds: self.max_seconds,
        })
    }
}
