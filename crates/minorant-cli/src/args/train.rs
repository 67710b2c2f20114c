//! The problem to train on as typed, and the library's options for it.

use super::hmm::HmmArgs;
use super::kernel::KernelArgs;
use super::neuro::NeuroArgs;
use super::{DataArgs, StoppingArgs, ThreadArgs};
use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};
use minorant::bundle::Locality;
use minorant::data::{Dataset, Label, Sequences};
use minorant::model::{HMM, NEURO_CRF};
use minorant::solver::{ConvexProblems, Method, MethodOptions};
use minorant::structured::segment::SegmentLoss;
use minorant::train::{
    ChainName, ChainOptions, ImageModelName, ImageOptions, KernelName, Lambda, LossName, ModelName,
    Multiclass, Penalty, Per, TrainOptions,
};
use std::path::{Path, PathBuf};

/// What to train, on what, and when to stop.
#[derive(Debug, Args)]
pub(crate) struct ProblemArgs {
    /// The model: svm (hinge loss), logistic, ramp-svm (outliers), tsvm (rows without labels),
    /// s3vm (the same with kernels), latent-svm (hidden parts, with kernels), robust-svm (outliers,
    /// with kernels), chain-svm, chain-crf or neuro-crf (sequences), segment-svm (number plates),
    /// tree-svm (parts of objects), hmm (recordings)
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
    /// The same as LIBLINEAR's C = 1/(λ · sum of the example weights); robust-svm: what the loss of
    /// a row counts (default: 1)
    #[arg(long, value_name = "C", allow_negative_numbers = true, help_heading = "Problem")]
    c: Option<f64>,
    /// svm: hinge (the default) or squared-hinge; segment-svm: ak (a column is right where its
    /// segment is, with character and start; the default) or label (where its character is)
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
    /// ramp-svm, robust-svm: S < 1 of the loss min(1 − S, hinge) (default: -1); s3vm by cccp:
    /// decisions nearer to 0 than |S| leave a row without label (default: -0.2)
    #[arg(long, value_name = "S", allow_negative_numbers = true, help_heading = "Problem")]
    ramp: Option<f64>,
    /// tsvm: weight γ ≥ 0 of the mean loss of the unlabelled rows (default: 1)
    #[arg(long, value_name = "G", allow_negative_numbers = true, help_heading = "Problem")]
    gamma: Option<f64>,
    /// tsvm, s3vm: a file of rows without labels (labels in it are ignored); rows labelled 0 have none
    /// either
    #[arg(long, value_name = "FILE", help_heading = "Problem")]
    unlabeled: Option<PathBuf>,
    /// tsvm: keep the mean decision over the unlabelled rows near M, by a penalty of
    /// 5 (1 + γ) (mean − M)²
    #[arg(long, value_name = "M", allow_negative_numbers = true, help_heading = "Problem")]
    balance_mean: Option<f64>,
    /// tsvm: number of runs, from the labelled rows' svm and from seeded random points around it;
    /// the best is kept (default: 1)
    #[arg(long, value_name = "N", help_heading = "Method")]
    starts: Option<usize>,
    /// The nrbm family: how localities of planes grow with the steps of the best point
    #[arg(long, value_name = "HOW", default_value = "path", help_heading = "Method")]
    locality: LocalityArg,
    /// cccp: where its convex problems are solved
    #[arg(long, value_name = "WHERE", default_value = "primal", help_heading = "Method")]
    convex_problems: ConvexProblemsArg,
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
    pub(super) boundary: bool,
    #[command(flatten)]
    pub(super) hmm: HmmArgs,
    #[command(flatten)]
    pub(super) neuro: NeuroArgs,
    /// Example weights, one a line: of rows, sequences or images. A weight is the same as so many
    /// repetitions
    #[arg(long, value_name = "FILE", help_heading = "Problem")]
    weights: Option<PathBuf>,
    /// Weight of a class; may be given several times
    #[arg(long, value_name = "LABEL=W", value_parser = parse_class_weight, allow_hyphen_values = true, help_heading = "Problem")]
    class_weight: Vec<(Label, f64)>,
    #[command(flatten)]
    pub(super) kernel: KernelArgs,
    #[command(flatten)]
    pub(crate) stopping: StoppingArgs,
    /// Planes to keep for each part, the aggregate included (lm-bmrm: 200); steps that sublbfgs and
    /// lbfgs remember (15; 50 where a step costs a call of an oracle)
    #[arg(long, value_name = "M", help_heading = "Method")]
    memory: Option<usize>,
    /// Plane models of ls-p-bmrm, p-bmrm and prox-p-bmrm (16 below 10000 weights, else 1)
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
    Kernel(KernelName),
    Hmm,
    Image(ImageModelName),
    Neuro,
}

impl ModelArg {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            ModelArg::Linear(name) => name.as_str(),
            ModelArg::Chain(name) => name.as_str(),
            ModelArg::Kernel(name) => name.as_str(),
            ModelArg::Hmm => HMM,
            ModelArg::Image(name) => name.as_str(),
            ModelArg::Neuro => NEURO_CRF,
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
    Ak,
    Label,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PenaltyArg {
    /// λ/2 ‖w‖²
    L2,
    /// λ ‖w‖₁
    L1,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LocalityArg {
    /// With the squared length of its path
    Path,
    /// With the sum of squared steps, as in the paper
    Squares,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ConvexProblemsArg {
    /// By the convex bundle method
    Primal,
    /// By dual coordinate ascent (two classes)
    Dual,
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
    let (chains, kernels) =
        (ChainName::ALL.map(ChainName::as_str), KernelName::ALL.map(KernelName::as_str));
    let images = ImageModelName::ALL.map(ImageModelName::as_str);
    let names = [&linear[..], &chains, &[NEURO_CRF], &images, &[HMM], &kernels].concat().join(", ");
    let linear = ModelName::from_name(name).map(ModelArg::Linear);
    linear
        .or_else(|| ChainName::from_name(name).map(ModelArg::Chain))
        .or_else(|| ImageModelName::from_name(name).map(ModelArg::Image))
        .or_else(|| (name == HMM).then_some(ModelArg::Hmm))
        .or_else(|| (name == NEURO_CRF).then_some(ModelArg::Neuro))
        .or_else(|| KernelName::from_name(name).map(ModelArg::Kernel))
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
    /// The library's options for a chain, but for the method.
    pub(crate) fn chain_options(
        &self,
        name: ChainName,
        method: Method,
    ) -> anyhow::Result<ChainOptions> {
        self.refuse_all_but(ModelArg::Chain(name))?;
        let rules = self.stopping.rules()?;
        let mut options = ChainOptions::new(name);
        options.observed_pairs = matches!(self.pairs, Some(PairsArg::Observed));
        options.boundary = self.boundary;
        options.bias = self.bias;
        options.per = self.per();
        options.penalty = self.penalty();
        options.label_loss = self.label_loss.as_deref().map(read_numbers).transpose()?;
        options.example_weights = self.example_weights()?;
        options.lambda = self.lambda();
        options.method = method;
        options.method_options = self.method_options(options.method_options);
        options.rules = rules;
        Ok(options)
    }

    /// Refuses options that do not go with a model of sequences.
    pub(super) fn refuse_all_but(&self, model: ModelArg) -> anyhow::Result<()> {
        self.kernel.refuse()?;
        let foreign = self.loss.is_some()
            || self.bias_weight.is_some()
            || !self.class_weight.is_empty()
            || self.data.labels.is_some()
            || matches!(self.multiclass, MulticlassArg::Ovr);
        ensure!(
            !foreign,
            "--loss, --labels, --multiclass, --bias-weight and --class-weight do not go with {}",
            model.as_str()
        );
        match model {
            ModelArg::Hmm => self.neuro.refuse()?,
            ModelArg::Neuro => self.hmm.refuse_own()?,
            _ => self.neuro.refuse().and_then(|()| self.hmm.refuse())?,
        }
        let of_chains = self.pairs.is_some()
            || self.bias.is_some()
            || self.label_loss.is_some()
            || matches!(self.penalty, PenaltyArg::L1);
        match model {
            ModelArg::Hmm => ensure!(
                !of_chains && self.per.is_none() && !self.boundary,
                "--per, --pairs, --boundary, --bias, --label-loss and --penalty do not go with hmm"
            ),
            ModelArg::Neuro => ensure!(
                !of_chains,
                "--pairs, --bias, --label-loss and --penalty do not go with neuro-crf: its layers have biases, and all pairs have weights"
            ),
            _ => {}
        }
        Ok(())
    }

    pub(super) fn example_weights(&self) -> anyhow::Result<Option<Vec<f64>>> {
        self.weights.as_deref().map(read_numbers).transpose()
    }

    pub(super) fn lambda(&self) -> Option<Lambda> {
        self.lambda.map(Lambda::Lambda).or(self.c.map(Lambda::C))
    }

    /// The library's options for a model of images, but for the method.
    pub(crate) fn image_options(
        &self,
        name: ImageModelName,
        method: Method,
    ) -> anyhow::Result<ImageOptions> {
        let rules = self.stopping.rules()?;
        self.data.refuse_sequences()?;
        self.hmm.refuse()?;
        self.neuro.refuse()?;
        let foreign = self.bias.is_some()
            || self.bias_weight.is_some()
            || self.label_loss.is_some()
            || !self.class_weight.is_empty()
            || self.data.labels.is_some()
            || self.per.is_some()
            || self.pairs.is_some()
            || self.boundary
            || self.ramp.is_some()
            || self.gamma.is_some()
            || self.unlabeled.is_some()
            || self.balance_mean.is_some()
            || self.starts.is_some()
            || matches!(self.penalty, PenaltyArg::L1)
            || matches!(self.multiclass, MulticlassArg::Ovr);
        ensure!(!foreign, "{} takes none of the options for other models", name.as_str());
        let mut options = ImageOptions::default();
        options.loss = match (name, self.loss) {
            (_, None) => options.loss,
            (ImageModelName::SegmentSvm, Some(LossArg::Ak)) => SegmentLoss::Position,
            (ImageModelName::SegmentSvm, Some(LossArg::Label)) => SegmentLoss::Label,
            (ImageModelName::SegmentSvm, _) => bail!("segment-svm has the loss ak or label"),
            (ImageModelName::TreeSvm, _) => {
                bail!("--loss does not go with tree-svm, whose loss is the mean deviation")
            }
        };
        options.example_weights = self.example_weights()?;
        options.lambda = self.lambda();
        options.method = method;
        options.method_options = self.method_options(options.method_options);
        options.rules = rules;
        Ok(options)
    }

    pub(super) fn per(&self) -> Per {
        match self.per {
            None | Some(PerArg::Sequence) => Per::Sequence,
            Some(PerArg::Token) => Per::Token,
        }
    }

    fn penalty(&self) -> Penalty {
        match self.penalty {
            PenaltyArg::L2 => Penalty::L2,
            PenaltyArg::L1 => Penalty::L1,
        }
    }

    pub(super) fn method_options(&self, defaults: MethodOptions) -> MethodOptions {
        MethodOptions {
            memory: self.memory,
            parts: self.parts,
            seed: self.seed,
            locality: match self.locality {
                LocalityArg::Path => Locality::Path,
                LocalityArg::Squares => Locality::Squares,
            },
            convex_problems: match self.convex_problems {
                ConvexProblemsArg::Primal => ConvexProblems::Primal,
                ConvexProblemsArg::Dual => ConvexProblems::Dual,
            },
            max_bytes: self.max_memory.or_else(quarter_of_memory),
            ..defaults
        }
    }

    /// The linear model that was asked for; `what` is done with those only.
    pub(crate) fn linear_model(&self, what: &str) -> anyhow::Result<ModelName> {
        match self.model {
            ModelArg::Linear(name) => Ok(name),
            other => bail!("{what} takes linear models, not {}", other.as_str()),
        }
    }

    /// The library's options, but for the method.
    pub(crate) fn options(&self, name: ModelName, method: Method) -> anyhow::Result<TrainOptions> {
        let rules = self.stopping.rules()?;
        self.kernel.refuse()?;
        ensure!(
            self.per.is_none() && self.pairs.is_none() && !self.boundary,
            "--per, --pairs and --boundary go with chain-svm and chain-crf"
        );
        self.hmm.refuse()?;
        self.neuro.refuse()?;
        if let Some(weight) = self.bias_weight {
            ensure!(
                weight > 0.0 && weight.is_finite(),
                "--bias-weight must be a positive number, not {weight}"
            );
        }
        let mut options = TrainOptions::new(name);
        options.loss = match self.loss {
            Some(_) if name != ModelName::Svm => {
                bail!("--loss goes with svm; {} has a loss of its own", name.as_str())
            }
            Some(LossArg::Ak | LossArg::Label) => bail!("svm has the loss hinge or squared-hinge"),
            None | Some(LossArg::Hinge) => LossName::Hinge,
            Some(LossArg::SquaredHinge) => LossName::SquaredHinge,
        };
        options.penalty = self.penalty();
        options.multiclass = match self.multiclass {
            MulticlassArg::Joint => Multiclass::Joint,
            MulticlassArg::Ovr => Multiclass::OneVsRest,
        };
        self.set_non_convex(&mut options)?;
        options.label_kind = self.data.labels.map(|labels| labels.kind());
        options.lambda = self.lambda();
        options.label_loss = self.label_loss.as_deref().map(read_numbers).transpose()?;
        options.bias = self.bias;
        options.bias_weight = self.bias_weight;
        options.example_weights = self.example_weights()?;
        options.class_weights = self.class_weight.clone();
        options.method = method;
        options.method_options = self.method_options(options.method_options);
        options.rules = rules;
        Ok(options)
    }

    /// The settings of ramp-svm and tsvm, which go with no other model.
    fn set_non_convex(&self, options: &mut TrainOptions) -> anyhow::Result<()> {
        let given = [
            ("--ramp", ModelName::RampSvm, self.ramp.is_some()),
            ("--gamma", ModelName::Tsvm, self.gamma.is_some()),
            ("--unlabeled", ModelName::Tsvm, self.unlabeled.is_some()),
            ("--balance-mean", ModelName::Tsvm, self.balance_mean.is_some()),
            ("--starts", ModelName::Tsvm, self.starts.is_some()),
        ];
        for (flag, model, is_given) in given {
            ensure!(!is_given || options.model == model, "{flag} goes with {}", model.as_str());
        }
        options.ramp = self.ramp.unwrap_or(options.ramp);
        let transduction = &mut options.transduction;
        transduction.gamma = self.gamma.unwrap_or(transduction.gamma);
        transduction.starts = self.starts.unwrap_or(transduction.starts);
        transduction.balance_mean = self.balance_mean;
        Ok(())
    }

    /// Refuses what kernel models have no use for.
    pub(super) fn refuse_for_kernels(&self, model: KernelName) -> anyhow::Result<()> {
        self.neuro.refuse()?;
        let name = model.as_str();
        ensure!(
            self.lambda.is_none() && self.bias.is_none(),
            "--lambda and --bias do not go with {name}: what losses count is set by options of its own, and its offset is not regularized"
        );
        ensure!(
            self.c.is_none() || model == KernelName::RobustSvm,
            "--c does not go with {name}: what losses count is set by options of its own"
        );
        let foreign = self.loss.is_some()
            || self.label_loss.is_some()
            || self.gamma.is_some()
            || self.balance_mean.is_some()
            || self.starts.is_some()
            || self.bias_weight.is_some()
            || self.weights.is_some()
            || !self.class_weight.is_empty()
            || self.per.is_some()
            || self.pairs.is_some()
            || self.boundary
            || self.memory.is_some()
            || self.parts.is_some()
            || matches!(self.penalty, PenaltyArg::L1);
        ensure!(
            !foreign,
            "--loss, --label-loss, --penalty, --gamma, --balance-mean, --starts, --bias-weight, --weights, --class-weight, --memory and --parts do not go with {name}"
        );
        Ok(())
    }

    /// Where losses bend, as typed.
    pub(super) fn ramp(&self) -> Option<f64> {
        self.ramp
    }

    /// What losses count, as typed.
    pub(super) fn c(&self) -> Option<f64> {
        self.c
    }

    /// The memory allowed, as typed.
    pub(super) fn max_memory(&self) -> Option<u64> {
        self.max_memory
    }

    /// Whether there is a file of rows without labels.
    pub(super) fn has_unlabelled_file(&self) -> bool {
        self.unlabeled.is_some()
    }

    /// The files in words.
    pub(crate) fn data_name(&self) -> String {
        let names = self.data.files.iter().map(|file| file.file_name().unwrap_or(file.as_os_str()));
        names.map(|name| name.to_string_lossy()).collect::<Vec<_>>().join(" + ")
    }

    /// Reads the data and says how long it took.
    pub(crate) fn read(&self) -> anyhow::Result<(Dataset<'static>, f64)> {
        let start = std::time::Instant::now();
        let mut data = self.data.read()?;
        if let Some(path) = &self.unlabeled {
            data = data.with_unlabelled(&self.data.read_unlabelled(path, &data)?)?;
        }
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

pub(super) fn quarter_of_memory() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024 / 4)
}

/// Numbers of a text file, separated by blanks, commas or line ends.
pub(super) fn read_numbers(path: &Path) -> anyhow::Result<Vec<f64>> {
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
