//! The problem to train on as typed, and the library's options for it.

use super::{DataArgs, ThreadArgs};
use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};
use minorant::data::{Dataset, Label, Sequences};
use minorant::solver::{Method, MethodOptions, StopRules};
use minorant::train::{
    ChainName, ChainOptions, Lambda, LossName, ModelName, Multiclass, Penalty, Per, TrainOptions,
};
use std::path::{Path, PathBuf};

/// What to train, on what, and when to stop.
#[derive(Debug, Args)]
pub(crate) struct ProblemArgs {
    /// The model: svm (hinge loss), logistic, chain-svm or chain-crf
    #[arg(value_name = "MODEL", value_parser = parse_model)]
    pub(crate) model: ModelArg,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Regularization λ > 0 of λ/2 ‖w‖² + mean loss (default: 1 / sum of the example weights)
    #[arg(
        long,
        value_name = "L",
        allow_negative_numbers = true,
        conflicts_with = "c",
        help_heading = "Problem"
    )]
    lambda: Option<f64>,
    /// The same as LIBLINEAR's C = 1/(λ · sum of the example weights)
    #[arg(long, value_name = "C", allow_negative_numbers = true, help_heading = "Problem")]
    c: Option<f64>,
    /// The svm's loss (default: hinge)
    #[arg(long, value_name = "LOSS", help_heading = "Problem")]
    loss: Option<LossArg>,
    /// How weights are penalised
    #[arg(long, value_name = "PENALTY", default_value = "l2", help_heading = "Problem")]
    penalty: PenaltyArg,
    /// More than two classes: all together, or each against the rest
    #[arg(long, value_name = "HOW", default_value = "joint", help_heading = "Problem")]
    multiclass: MulticlassArg,
    /// Δ: a line for each true class, a number for each other one, in class order
    #[arg(long, value_name = "FILE", help_heading = "Problem")]
    label_loss: Option<PathBuf>,
    /// Add a constant feature B, regularized like the others
    #[arg(long, value_name = "B", allow_negative_numbers = true, help_heading = "Problem")]
    bias: Option<f64>,
    /// Regularize the constant feature with this weight θ instead of 1
    #[arg(long, value_name = "T", allow_negative_numbers = true, help_heading = "Problem")]
    bias_weight: Option<f64>,
    /// Chains: mean over sequences or over tokens (default: sequence)
    #[arg(long, value_name = "UNIT", help_heading = "Chains")]
    per: Option<PerArg>,
    /// Chains: pairs of attribute and label, and of labels, that have weights (default: all)
    #[arg(long, value_name = "WHICH", help_heading = "Chains")]
    pairs: Option<PairsArg>,
    /// Chains: weights for labels at the beginning and at the end
    #[arg(long, help_heading = "Chains")]
    boundary: bool,
    /// Example weights, one a line
    #[arg(long, value_name = "FILE", help_heading = "Problem")]
    weights: Option<PathBuf>,
    /// Weight of a class; may be given several times
    #[arg(long, value_name = "LABEL=W", value_parser = parse_class_weight, allow_hyphen_values = true, help_heading = "Problem")]
    class_weight: Vec<(Label, f64)>,
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
    /// Planes to keep for each part, the aggregate included (lm-bmrm: 200)
    #[arg(long, value_name = "M", help_heading = "Method")]
    memory: Option<usize>,
    /// Plane models of ls-p-bmrm (16 below 10000 weights, else 1)
    #[arg(long, value_name = "P", help_heading = "Method")]
    parts: Option<usize>,
    /// Memory for planes, such as 500M or 4G (default: a quarter of the machine's)
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = "Method")]
    max_memory: Option<u64>,
    /// Seed for methods that draw random numbers
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Method")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
}

/// A model that can be trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelArg {
    Linear(ModelName),
    Chain(ChainName),
}

impl ModelArg {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            ModelArg::Linear(name) => name.as_str(),
            ModelArg::Chain(name) => name.as_str(),
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PerArg {
    Sequence,
    Token,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PairsArg {
    All,
    Observed,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LossArg {
    Hinge,
    SquaredHinge,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PenaltyArg {
    /// λ/2 ‖w‖²
    L2,
    /// λ ‖w‖₁
    L1,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum MulticlassArg {
    Joint,
    Ovr,
}

pub(super) fn parse_method(name: &str) -> Result<Method, String> {
    Method::from_name(name).map_err(|error| error.to_string())
}

fn parse_model(name: &str) -> Result<ModelArg, String> {
    let linear = ModelName::ALL.map(ModelName::as_str);
    let names = [&linear[..], &ChainName::ALL.map(ChainName::as_str)].concat().join(", ");
    let linear = ModelName::from_name(name).map(ModelArg::Linear);
    linear
        .or_else(|| ChainName::from_name(name).map(ModelArg::Chain))
        .ok_or_else(|| format!("there is no model '{name}'; the models are: {names}"))
}

fn parse_class_weight(text: &str) -> Result<(Label, f64), String> {
    let (label, weight) = text.rsplit_once('=').ok_or("expected LABEL=W, such as -1=2.5")?;
    let weight =
        weight.parse().map_err(|_| format!("expected a number after =, found '{weight}'"))?;
    Ok((Label::parse(label), weight))
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        other => return Err(format!("expected K, M, G or T behind the number, found '{other}'")),
    };
    let number: f64 =
        digits.parse().map_err(|_| format!("expected a number of bytes, found '{text}'"))?;
    let bytes = number * (1u64 << shift) as f64;
    if bytes >= 0.0 && bytes < u64::MAX as f64 {
        Ok(bytes as u64)
    } else {
        Err("expected a number of bytes".into())
    }
}

impl ProblemArgs {
    /// Refuses numbers that no run can use.
    fn check_rules(&self) -> anyhow::Result<()> {
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
        Ok(())
    }

    /// The library's options for a chain, but for the method.
    pub(crate) fn chain_options(
        &self,
        name: ChainName,
        method: Method,
    ) -> anyhow::Result<ChainOptions> {
        self.check_rules()?;
        let foreign = self.loss.is_some()
            || self.bias_weight.is_some()
            || self.weights.is_some()
            || !self.class_weight.is_empty()
            || self.data.labels.is_some()
            || matches!(self.multiclass, MulticlassArg::Ovr);
        ensure!(
            !foreign,
            "--loss, --labels, --multiclass, --bias-weight, --weights and --class-weight do not go with {}",
            name.as_str()
        );
        let mut options = ChainOptions::new(name);
        options.observed_pairs = matches!(self.pairs, Some(PairsArg::Observed));
        options.boundary = self.boundary;
        options.bias = self.bias;
        options.per = match self.per {
            None | Some(PerArg::Sequence) => Per::Sequence,
            Some(PerArg::Token) => Per::Token,
        };
        options.penalty = self.penalty();
        options.label_loss = self.label_loss.as_deref().map(read_numbers).transpose()?;
        options.lambda = self.lambda.map(Lambda::Lambda).or(self.c.map(Lambda::C));
        options.method = method;
        options.method_options = self.method_options(options.method_options);
        options.rules = self.rules();
        Ok(options)
    }

    fn penalty(&self) -> Penalty {
        match self.penalty {
            PenaltyArg::L2 => Penalty::L2,
            PenaltyArg::L1 => Penalty::L1,
        }
    }

    fn method_options(&self, defaults: MethodOptions) -> MethodOptions {
        MethodOptions {
            memory: self.memory,
            parts: self.parts,
            seed: self.seed,
            max_bytes: self.max_memory.or_else(quarter_of_memory),
            ..defaults
        }
    }

    fn rules(&self) -> StopRules {
        StopRules {
            tol: self.tol,
            abs_tol: self.abs_tol,
            max_evaluations: self.max_evals,
            max_seconds: self.max_seconds,
        }
    }

    /// The library's options, but for the method.
    pub(crate) fn options(&self, name: ModelName, method: Method) -> anyhow::Result<TrainOptions> {
        self.check_rules()?;
        ensure!(
            self.per.is_none() && self.pairs.is_none() && !self.boundary,
            "--per, --pairs and --boundary go with chain-svm and chain-crf"
        );
        if let Some(weight) = self.bias_weight {
            ensure!(
                weight > 0.0 && weight.is_finite(),
                "--bias-weight must be a positive number, not {weight}"
            );
        }
        let mut options = TrainOptions::new(name);
        options.loss = match self.loss {
            Some(_) if name == ModelName::Logistic => {
                bail!("--loss goes with svm; logistic has a loss of its own")
            }
            None | Some(LossArg::Hinge) => LossName::Hinge,
            Some(LossArg::SquaredHinge) => LossName::SquaredHinge,
        };
        options.penalty = self.penalty();
        options.multiclass = match self.multiclass {
            MulticlassArg::Joint => Multiclass::Joint,
            MulticlassArg::Ovr => Multiclass::OneVsRest,
        };
        options.label_kind = self.data.labels.map(|labels| labels.kind());
        options.lambda = self.lambda.map(Lambda::Lambda).or(self.c.map(Lambda::C));
        options.label_loss = self.label_loss.as_deref().map(read_numbers).transpose()?;
        options.bias = self.bias;
        options.bias_weight = self.bias_weight;
        options.example_weights = self.weights.as_deref().map(read_numbers).transpose()?;
        options.class_weights = self.class_weight.clone();
        options.method = method;
        options.method_options = self.method_options(options.method_options);
        options.rules = self.rules();
        Ok(options)
    }

    /// The files in words.
    pub(crate) fn data_name(&self) -> String {
        let names = self.data.files.iter().map(|file| file.file_name().unwrap_or(file.as_os_str()));
        names.map(|name| name.to_string_lossy()).collect::<Vec<_>>().join(" + ")
    }

    /// Reads the data and says how long it took.
    pub(crate) fn read(&self) -> anyhow::Result<(Dataset, f64)> {
        let start = std::time::Instant::now();
        let data = self.data.read()?;
        Ok((data, start.elapsed().as_secs_f64()))
    }

    /// Reads sequences and says how long it took.
    pub(crate) fn read_sequences(&self) -> anyhow::Result<(Sequences, f64)> {
        let start = std::time::Instant::now();
        let data =
            minorant::data::read_sequences(&self.data.files, &self.data.sequence_options()?)?;
        Ok((data, start.elapsed().as_secs_f64()))
    }
}

fn quarter_of_memory() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024 / 4)
}

/// Numbers of a text file, separated by blanks, commas or line ends.
pub(crate) fn read_numbers(path: &Path) -> anyhow::Result<Vec<f64>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut numbers = Vec::new();
    for (line, content) in text.lines().enumerate() {
        let words = content.split(|c: char| c.is_whitespace() || c == ',' || c == ';');
        for word in words.filter(|word| !word.is_empty()) {
            let number = word.parse().ok().filter(|number: &f64| number.is_finite());
            let place =
                || format!("{}:{}: expected a number, found '{word}'", path.display(), line + 1);
            numbers.push(number.with_context(place)?);
        }
    }
    Ok(numbers)
}
