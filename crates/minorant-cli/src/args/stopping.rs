//! When a run stops, as typed.

use anyhow::ensure;
use clap::Args;
use minorant::solver::StopRules;

/// The relative gap that most models are solved to.
const USUAL_TOL: f64 = 1e-3;

/// When to stop.
#[derive(Debug, Args)]
pub(crate) struct StoppingArgs {
    /// Stop at this certified relative gap (default: 1e-3; kernel models: 1e-6)
    #[arg(long, value_name = "TOL", allow_negative_numbers = true, help_heading = "Stopping")]
    tol: Option<f64>,
    /// Stop at this certified absolute gap
    #[arg(
        long,
        value_name = "TOL",
        default_value = "1e-12",
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
    /// The relative gap to stop at.
    pub(crate) fn tol(&self) -> f64 {
        self.tol.unwrap_or(USUAL_TOL)
    }

    /// The library's rules.
    pub(crate) fn rules(&self) -> anyhow::Result<StopRules> {
        self.rules_with(USUAL_TOL)
    }

    /// The library's rules, with this relative gap unless another was asked for.
    pub(crate) fn rules_with(&self, usual_tol: f64) -> anyhow::Result<StopRules> {
        let tol = self.tol.unwrap_or(usual_tol);
        ensure!(tol >= 0.0, "the tolerance must be 0 or more, not {tol}");
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
            tol,
            abs_tol: self.abs_tol,
            max_evaluations: self.max_evals,
            max_seconds: self.max_seconds,
        })
    }
}
