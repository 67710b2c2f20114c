//! The command line as typed: one structure per verb, with its help. Turning what was typed into
//! the library's options happens in `train.rs` and `data.rs`; nothing is computed here.

mod data;
mod generate;
mod hmm;
mod kernel;
mod minimize;
mod neuro;
mod path;
mod solvers;
mod stopping;
mod train;

pub(crate) use data::{DataArgs, DataKind};
pub(crate) use generate::{
    CloudsArgs, GenerateArgs, GenerateKind, PartsArgs, PhonesArgs, PlatesArgs,
};
pub(crate) use kernel::KernelOptions;
pub(crate) use minimize::MinimizeArgs;
pub(crate) use path::{PathArgs, TuneArgs};
pub(crate) use solvers::SolverArg;
pub(crate) use stopping::StoppingArgs;
pub(crate) use train::{ModelArg, ProblemArgs};

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Trains models whose objective has kinks, and proves how good the answer is.
#[derive(Debug, Parser)]
#[command(
    name = "minorant",
    version,
    about = "Trains models whose objective has kinks, and proves how good the answer is",
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "Examples:\n  minorant demo\n  minorant train svm train.svm --lambda 1e-4 --out model.safetensors\n  minorant predict model.safetensors test.svm\n  minorant audit model.safetensors train.svm"
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Train a model on data files, with a certificate
    Train(Box<TrainArgs>),
    /// Predict labels, one a line
    Predict(PredictArgs),
    /// Measure the error of a model on labelled data
    Evaluate(EvaluateArgs),
    /// Show what is in a model or data file
    Inspect(InspectArgs),
    /// Run several solvers on one problem and write a report
    Compare(Box<CompareArgs>),
    /// Train models for a range of λ, with a proven gap for every λ in between
    Path(Box<PathArgs>),
    /// Choose λ by cross-validation and train with it
    Tune(Box<TuneArgs>),
    /// Check a model's certificate against its data
    Audit(AuditArgs),
    /// Write made-up data files: moons, spirals, number plates, images with parts, phone-like
    /// recordings
    Generate(GenerateArgs),
    /// Run a solver on a test problem from the literature
    Minimize(Box<MinimizeArgs>),
    /// See it work in a minute, on data that it makes itself
    Demo(DemoArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write those of all commands
    Man(ManArgs),
}

/// Train a model.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  minorant train svm a9a.gz --lambda 1e-4 --out a9a.safetensors
  minorant train svm letter.scale --c 1 --bias 1 --tol 1e-4
  minorant train logistic train.csv --label-column species --json
  minorant train svm scene.arff.gz --label-xml scene.xml --trace trace.jsonl
  minorant train svm a9a.gz --solver prox-bmrm --start a9a.safetensors
  minorant train ramp-svm train.svm --ramp -1 --lambda 1e-3
  minorant train tsvm few-labels.svm --unlabeled many.svm --gamma 5 --starts 5
  minorant train chain-crf train.txt --format conll --pairs observed
  minorant train chain-svm letter.data.gz --folds 0-7 --lambda 1e-3
  minorant train s3vm moons.svm --sigma 0.35 --balance auto
  minorant train latent-svm train.svm --components 3 --kernel linear
  minorant train robust-svm train.svm --kernel rbf --sigma 0.5 --c 10 --ramp -1
  minorant train hmm digits.npz --states 4 --mixtures 2 --lambda 0.01
  minorant train segment-svm plates.npz --loss ak --lambda 0.1
  minorant train neuro-crf letter.data.gz --hidden 300,300 --max-evals 150
  minorant train svm big.svm.zst --checkpoint run.ckpt      (stop it, then:)
  minorant train svm big.svm.zst --resume run.ckpt --out model.safetensors")]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    pub(crate) problem: ProblemArgs,
    /// Solver; a name that the model does not have lists those that it has
    #[arg(long, value_name = "S", default_value = "auto", value_parser = solvers::parse_solver)]
    pub(crate) solver: SolverArg,
    /// Save the model here
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Save the proof of the bound in a file of its own, whatever its size
    #[arg(long, value_name = "FILE")]
    pub(crate) proof: Option<PathBuf>,
    /// Write one JSON object per iteration here
    #[arg(long, value_name = "FILE.jsonl")]
    pub(crate) trace: Option<PathBuf>,
    /// Write an HTML report with the convergence plot here
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Start from the weights of this model
    #[arg(long, value_name = "FILE")]
    pub(crate) start: Option<PathBuf>,
    /// Save the state of the run here now and then
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Go on from a checkpoint of the same run
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Predict labels.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  minorant predict model.safetensors test.svm > labels.txt
  minorant predict model.safetensors test.svm --scores")]
pub(crate) struct PredictArgs {
    /// The model file
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Add the decision values, tab-separated, in class order (two classes: one value, positive
    /// for the second)
    #[arg(long)]
    pub(crate) scores: bool,
    /// Sequences: repeat the input's columns before each label
    #[arg(long)]
    pub(crate) columns: bool,
    /// Sequences: add the probability of each label, tab-separated, in label order
    #[arg(long)]
    pub(crate) marginals: bool,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measure the error.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  minorant evaluate model.safetensors test.svm")]
pub(crate) struct EvaluateArgs {
    /// The model file
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show what is in a file.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  minorant inspect model.safetensors\n  minorant inspect train.svm.gz\n  minorant inspect train.txt --format conll\n  minorant inspect letter.data.gz --format ocr --folds 0-7\n  minorant inspect plates.npz"
)]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Compare solvers.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  minorant compare svm a9a.gz --solvers bmrm,ls-bmrm,dual-cd --report a9a.html")]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) problem: ProblemArgs,
    /// Solvers, separated by commas
    #[arg(long, value_name = "A,B,C", value_delimiter = ',', required = true, value_parser = solvers::parse_solver)]
    pub(crate) solvers: Vec<SolverArg>,
    /// Write the HTML report here
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Check a certificate.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  minorant audit model.safetensors train.svm")]
pub(crate) struct AuditArgs {
    /// The model file
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// The proof, where it is in a file of its own
    #[arg(long, value_name = "FILE")]
    pub(crate) proof: Option<PathBuf>,
    /// The example weights that the model was trained with, one a line
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl AuditArgs {
    pub(crate) fn example_weights(&self) -> anyhow::Result<Option<Vec<f64>>> {
        self.weights.as_deref().map(train::read_numbers).transpose()
    }
}

/// See it work.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  minorant demo --dir /tmp/minorant-demo")]
pub(crate) struct DemoArgs {
    /// Where to put data, model and report
    #[arg(long, value_name = "FOLDER", default_value = "minorant-demo")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
}

/// Print completions.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  minorant completions bash > minorant.bash && . ./minorant.bash"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Print manual pages.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  minorant man | man -l -
  minorant man --dir ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write a page for each command into this folder instead
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,
}

/// How results are shown.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Print one JSON object on standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// How many threads work.
#[derive(Debug, Args)]
pub(crate) struct ThreadArgs {
    /// Threads; all cores if not given. The result does not depend on it
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

impl ThreadArgs {
    /// Runs `work` on that many threads.
    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> anyhow::Result<T> {
        anyhow::ensure!(self.threads != Some(0), "the number of threads must be at least 1");
        if let Some(threads) = self.threads {
            anyhow::ensure!(threads <= 1024, "at most 1024 threads can work, not {threads}");
        }
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(self.threads.unwrap_or(0)).build()?;
        Ok(pool.install(work))
    }
}
