//! The command lines of `path` and `tune`: problems over a range of λ.

use super::solvers::parse_solver;
use super::{OutputArgs, ProblemArgs, SolverArg};
use clap::Args;
use std::path::PathBuf;

/// λ from one end to the other, at equal ratios.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    from: f64,
    to: f64,
    count: usize,
}

impl Grid {
    /// The values of λ, descending.
    pub(crate) fn lambdas(self) -> anyhow::Result<Vec<f64>> {
        Ok(minorant::path::geometric(self.from, self.to, self.count)?)
    }
}

fn parse_grid(text: &str) -> Result<Grid, String> {
    let expected = || format!("expected A:B:K, such as 1e-1:1e-5:9, found '{text}'");
    let [from, to, count] = text.split(':').collect::<Vec<_>>()[..] else {
        return Err(expected());
    };
    let number = |text: &str| text.parse::<f64>().map_err(|_| expected());
    let count = count.parse().map_err(|_| expected())?;
    Ok(Grid { from: number(from)?, to: number(to)?, count })
}

/// Solve for a range of λ.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  minorant path svm a9a.gz --lambdas 1e-2:1e-5:7 --validation a9a.t.gz
  minorant path svm a9a.gz --lambdas 1e-2:1e-5:7 --report path.html
  minorant path svm letter.scale --lambdas 1:1e-4:5 --out-dir models --json
  minorant path logistic train.csv --lambdas 0.1:0.001:3 --grid-only

It takes svm and logistic. Every λ starts where the last one ended, with its planes. Further λ are put in between until at every λ of the range the better neighbour's relative gap is proven to be at most 3 times --tol. --max-evals and --max-seconds hold for the whole path.")]
pub(crate) struct PathArgs {
    #[command(flatten)]
    pub(crate) problem: ProblemArgs,
    /// λ from A to B: K values at equal ratios
    #[arg(long, value_name = "A:B:K", value_parser = parse_grid, conflicts_with_all = ["lambda", "c"], help_heading = "Problem")]
    pub(crate) lambdas: Grid,
    /// Solver: auto or a bundle method (bmrm, p-bmrm, prox-bmrm, ls-bmrm, ls-p-bmrm ...)
    #[arg(long, value_name = "S", default_value = "auto", value_parser = parse_solver)]
    pub(crate) solver: SolverArg,
    /// Measure every model's error on this data too (a label file goes with a --validation of its
    /// own, right behind)
    #[arg(long, value_name = "FILE")]
    pub(crate) validation: Vec<PathBuf>,
    /// Solve for the K values of λ only
    #[arg(long)]
    pub(crate) grid_only: bool,
    /// Save the models in this folder, one file for each λ
    #[arg(long, value_name = "DIR")]
    pub(crate) out_dir: Option<PathBuf>,
    /// Write an HTML report with errors, objectives and gaps over λ here
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Choose λ by cross-validation.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  minorant tune svm a9a.gz --lambdas 1e-2:1e-6:9 --out a9a.safetensors
  minorant tune logistic train.csv --lambdas 1:1e-4:9 --cv 10 --seed 1 --json

It takes svm and logistic. The rows are dealt to the folds at random (--seed), each class evenly. --max-evals and --max-seconds hold for each fold's path and for the final model.")]
pub(crate) struct TuneArgs {
    #[command(flatten)]
    pub(crate) problem: ProblemArgs,
    /// λ from A to B: K values at equal ratios
    #[arg(long, value_name = "A:B:K", value_parser = parse_grid, conflicts_with_all = ["lambda", "c"], help_heading = "Problem")]
    pub(crate) lambdas: Grid,
    /// Parts of the data, each left out once
    #[arg(long = "cv", id = "cv", value_name = "K", default_value_t = 5)]
    pub(crate) folds: usize,
    /// Solver: auto or a bundle method (bmrm, p-bmrm, prox-bmrm, ls-bmrm, ls-p-bmrm ...)
    #[arg(long, value_name = "S", default_value = "auto", value_parser = parse_solver)]
    pub(crate) solver: SolverArg,
    /// Save the model of the best λ, trained on all data, here
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
