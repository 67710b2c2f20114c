//! The command line as typed: one structure per verb, with its help. The options of models come
//! from the library's table (`table.rs`); nothing is computed here.

mod generate;
mod minimize;
mod table;

pub(crate) use generate::GenerateArgs;
pub(crate) use minimize::MinimizeArgs;
pub(crate) use table::{FlagError, TRAIN, UsageError, with_dashes};

use anyhow::{bail, ensure};
use clap::{Args, Command, CommandFactory, Parser, Subcommand};
use minorant::family::{self, Entry, Settings};
use minorant::file_behind;
use std::path::PathBuf;
use table::{COMPARE, PATH, TUNE, models_of, parse_model, shown_for};
pub(crate) use table::{READ, TableArgs};

/// Trains models whose objective has kinks, and proves how good the answer is
#[derive(Debug, Parser)]
#[command(
    name = "minorant",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "Examples:\n  minorant demo\n  minorant train svm train.svm --lambda 1e-4 --out model.safetensors\n  minorant predict model.safetensors test.svm\n  minorant audit model.safetensors train.svm"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Train a model on data files, with a certificate
    Train(ProblemArgs<TRAIN>),
    /// Predict labels, one a line
    Predict(PredictArgs),
    /// Measure the error of a model on labelled data
    #[command(after_help = "Example:\n  minorant evaluate model.safetensors test.svm")]
    Evaluate(FittedArgs),
    /// Show what is in a model or data file
    Inspect(InspectArgs),
    /// Write data files of any tabular format into a cache, which is read quickly and block by block
    Cache(CacheArgs),
    /// Run several solvers on one problem and write a report
    Compare(CompareArgs),
    /// Train models for a range of λ, with a proven gap for every λ in between
    Path(PathArgs),
    /// Choose λ by cross-validation and train with it
    Tune(TuneArgs),
    /// Check a model's certificate against its data
    Audit(AuditArgs),
    /// Write made-up data files: moons, spirals, number plates, images with parts, phone-like
    /// recordings
    Generate(GenerateArgs),
    /// Run a solver on a test problem from the literature
    Minimize(Box<MinimizeArgs>),
    /// See it work in a minute, on data that it makes itself
    #[command(after_help = "Example:\n  minorant demo --dir /tmp/minorant-demo")]
    Demo {
        /// Where to put data, model and report
        #[arg(long, value_name = "FOLDER", default_value = "minorant-demo")]
        dir: PathBuf,
        /// Threads; all cores if not given. The result does not depend on it
        #[arg(long, value_name = "N")]
        threads: Option<usize>,
    },
    /// Print completions for a shell
    #[command(
        after_help = "Example:\n  minorant completions bash > minorant.bash && . ./minorant.bash"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write those of all commands and models
    #[command(after_help = "Examples:
  minorant man | man -l -
  minorant man --dir ~/.local/share/man/man1")]
    Man {
        /// Write a page for each command and for each model into this folder instead
        #[arg(long, value_name = "FOLDER")]
        dir: Option<PathBuf>,
    },
}

/// The verbs that name a model, whose help depends on it.
const WITH_MODEL: [&str; 4] = ["train", "compare", "path", "tune"];

/// The verbs that read data for a model file or to look at it, and the one that needs none.
const WITH_DATA: [&str; 6] = ["predict", "evaluate", "inspect", "cache", "audit", "minimize"];

impl Cli {
    /// The command with the help that the arguments ask for: that of the model which they name.
    pub(crate) fn command_for(words: &[String]) -> Command {
        let mut command = Cli::command();
        // Whoever does not ask for help need not wait until it is put together.
        let asks = |word: &String| ["-h", "--help", "help"].contains(&word.as_str());
        if !words.is_empty() && !words.iter().any(asks) {
            return command;
        }
        let verb = words.iter().find(|word| WITH_MODEL.contains(&word.as_str()));
        let entry = words.iter().find_map(|word| family::model(word).ok());
        for verb in WITH_DATA {
            command = command.mut_subcommand(verb, |command| shown_for(command, &[]));
        }
        for verb in WITH_MODEL.iter().filter(|known| verb.is_none_or(|verb| verb == *known)) {
            command = command.mut_subcommand(verb, |command| of_model(command, entry));
        }
        command
    }
}

/// A verb's command with the options of a model, or with the list of the models that it takes.
pub(crate) fn of_model(command: Command, entry: Option<Entry>) -> Command {
    let verb = command.get_name().to_string();
    let models = models_of(if ["path", "tune"].contains(&verb.as_str()) { PATH } else { TRAIN });
    let entry =
        entry.filter(|entry| models.iter().any(|known| known.model.name == entry.model.name));
    let Some(entry) = entry else {
        let line = |entry: &Entry| format!("\n  {:<12} {}", entry.model.name, entry.model.about);
        return shown_for(command, &models).after_help(format!(
            "Models (each has options of its own: minorant {verb} MODEL --help):{}",
            models.iter().map(line).collect::<String>()
        ));
    };
    let (model, solvers) = (entry.model, entry.solvers());
    let without = |flag: &str| model.example.split(flag).next().unwrap_or_default();
    let example = match verb.as_str() {
        "train" => model.example.to_string(),
        "compare" => format!("{} --solvers {}", without(" --out"), solvers[1..3].join(",")),
        _ => format!("{} --lambdas 1e-1:1e-5:9", without(" --lambda")),
    };
    let about = format!("{}: {}", model.name, model.about);
    shown_for(command, &[entry]).about(about).after_help(format!(
        "Solvers: {}\n\nExample:\n  minorant {verb} {} {example}",
        solvers.join(", "),
        model.name
    ))
}

/// The options that name files to be written.
pub(crate) const OUTPUTS: [&str; 5] = ["out", "proof", "trace", "report", "checkpoint"];

/// What to train, and on what.
#[derive(Debug, Args)]
pub(crate) struct ProblemArgs<const VERB: u8> {
    /// The model; minorant train --help lists them
    #[arg(value_name = "MODEL", value_parser = parse_model::<VERB>)]
    model: Entry,
    /// Data files; several are read as one (a label file goes right behind its features)
    #[arg(required = true, value_name = "DATA")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    options: TableArgs<VERB>,
}

impl<const VERB: u8> ProblemArgs<VERB> {
    /// What was asked for.
    pub(crate) fn settings(&self) -> anyhow::Result<Settings> {
        self.options.settings(self.model)
    }

    /// Refuses output files that are input files too, or that two options name: nothing is overwritten
    /// by mistake. `further` files are read as well.
    pub(crate) fn check_files(&self, further: &[PathBuf]) -> anyhow::Result<()> {
        let named = self.options.files();
        let has = |name: &str| named.iter().any(|(known, _)| *known == name);
        ensure!(
            !(has("start") && has("resume")),
            "--start and --resume exclude one another: a resumed run goes on from where it was"
        );
        let (outputs, inputs): (Vec<_>, Vec<_>) =
            named.iter().partition(|(name, _)| OUTPUTS.contains(name));
        for (at, (name, path)) in outputs.iter().enumerate() {
            let Some(target) = file_behind(path) else { continue };
            let is_same = |other: &PathBuf| file_behind(other).as_ref() == Some(&target);
            let shown = path.display();
            if let Some((other, _)) = outputs[..at].iter().find(|(_, other)| is_same(other)) {
                bail!("--{other} and --{name} name the same file, {shown}");
            }
            if self.files.iter().chain(further).any(is_same) {
                bail!("--{name} names {shown}, which is a data file: it would be overwritten");
            }
            // A run may keep its states in the file that it goes on from.
            let mut inputs =
                inputs.iter().filter(|other| (*name, other.0) != ("checkpoint", "resume"));
            if let Some((other, _)) = inputs.find(|(_, other)| is_same(other)) {
                bail!("--{name} names {shown}, which --{other} reads: it would be overwritten");
            }
        }
        Ok(())
    }

    /// The files in words.
    pub(crate) fn data_name(&self) -> String {
        let names = self.files.iter().map(|file| file.file_name().unwrap_or(file.as_os_str()));
        names.map(|name| name.to_string_lossy()).collect::<Vec<_>>().join(" + ")
    }
}

/// Data files, how they are read, and how what is found is shown.
#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    /// Data files; several are read as one (a label file goes right behind its features)
    #[arg(required = true, value_name = "DATA")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: TableArgs<READ>,
    /// Threads; all cores if not given. The result does not depend on it
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// A fitted model, and data for it.
#[derive(Debug, Args)]
pub(crate) struct FittedArgs {
    /// The model file
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  minorant predict model.safetensors test.svm > labels.txt
  minorant predict model.safetensors test.svm --scores")]
pub(crate) struct PredictArgs {
    #[command(flatten)]
    pub(crate) fitted: FittedArgs,
    /// Add the decision values, tab-separated, in class order (two classes: one value, positive
    /// for the second)
    #[arg(long)]
    pub(crate) scores: bool,
    /// Sequences: repeat the input's columns before each label
    #[arg(long)]
    pub(crate) columns: bool,
    /// Sequences: add the probability of each label, tab-separated, in label order
    #[arg(long, conflicts_with = "scores")]
    pub(crate) marginals: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  minorant inspect model.safetensors\n  minorant inspect train.svm.gz\n  minorant inspect train.txt --format conll\n  minorant inspect letter.data.gz --format ocr --folds 0-7\n  minorant inspect plates.npz",
    mut_arg("files", |arg| arg.value_name("FILE").help("A model file, or data files"))
)]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  minorant cache train.svm.gz -o train.mnt
  minorant cache monday.csv tuesday.csv --label-column class -o week.mnt
  minorant train svm train.mnt

A conversion that was cut off is taken up where it was by the same command.")]
pub(crate) struct CacheArgs {
    /// The cache to be written
    // The option table's --out is that of models.
    #[arg(id = "target", short = 'o', long = "out", value_name = "FILE")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) problem: ProblemArgs<COMPARE>,
    /// Solvers, separated by commas
    #[arg(long, value_name = "A,B,C", value_delimiter = ',', required = true)]
    pub(crate) solvers: Vec<String>,
}

/// λ from one end to the other, at equal ratios: the ends, and how many.
type Grid = (f64, f64, usize);

fn parse_grid(text: &str) -> Result<Grid, String> {
    let grid = || {
        let [from, to, count] = text.split(':').collect::<Vec<_>>()[..] else { return None };
        Some((from.parse().ok()?, to.parse().ok()?, count.parse().ok()?))
    };
    grid().ok_or_else(|| format!("expected A:B:K, such as 1e-1:1e-5:9, found '{text}'"))
}

#[derive(Debug, Args)]
pub(crate) struct PathArgs {
    #[command(flatten)]
    pub(crate) problem: ProblemArgs<PATH>,
    /// λ from A to B: K values at equal ratios. Further λ are put in between until at every λ of
    /// the range the better neighbour's relative gap is proven to be at most 3 times --tol
    #[arg(long, value_name = "A:B:K", value_parser = parse_grid, help_heading = "Problem")]
    pub(crate) lambdas: Grid,
    /// Measure every model's error on this data too (a label file goes with a --validation of its
    /// own, right behind)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) validation: Vec<PathBuf>,
    /// Solve for the K values of λ only
    #[arg(long, help_heading = "Problem")]
    pub(crate) grid_only: bool,
    /// Save the models in this folder, one file for each λ
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    #[command(flatten)]
    pub(crate) problem: ProblemArgs<TUNE>,
    /// λ from A to B: K values at equal ratios
    #[arg(long, value_name = "A:B:K", value_parser = parse_grid, help_heading = "Problem")]
    pub(crate) lambdas: Grid,
    /// Folds of the data, each left out once; rows are dealt to them at random (--seed), each class
    /// evenly
    #[arg(long = "cv", id = "cv", value_name = "K", default_value_t = 5, help_heading = "Problem")]
    pub(crate) folds: usize,
    /// Choose λ by the error on this data instead; what is not rows has no folds
    #[arg(long, value_name = "FILE", conflicts_with = "cv", help_heading = "Problem")]
    pub(crate) validation: Vec<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  minorant audit model.safetensors train.svm")]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    pub(crate) fitted: FittedArgs,
    /// The proof, where it is in a file of its own
    #[arg(long, value_name = "FILE")]
    pub(crate) proof: Option<PathBuf>,
    /// The example weights that the model was trained with, one a line
    #[arg(long, value_name = "FILE")]
    pub(crate) weights: Option<PathBuf>,
}

/// Runs `work` on so many threads, or on all cores.
pub(crate) fn on_threads(
    threads: Option<usize>,
    work: impl FnOnce() -> anyhow::Result<()> + Send,
) -> anyhow::Result<()> {
    if let Some(threads) = threads.filter(|threads| !(1..=1024).contains(threads)) {
        anyhow::bail!("--threads must be from 1 to 1024, not {threads}");
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build()?;
    pool.install(work)
}
