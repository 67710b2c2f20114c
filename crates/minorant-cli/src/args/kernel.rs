//! The options of kernel models as typed, and the library's options for them.

use super::SolverArg;
use super::train::{ProblemArgs, quarter_of_memory};
use anyhow::ensure;
use clap::{Args, ValueEnum};
use minorant::kernel::Kernel;
use minorant::s3vm::{self, Balance, Mode};
use minorant::train::{KernelName, LatentOptions, RobustOptions, S3vmOptions};

/// The relative gap that kernel models are solved to.
const KERNEL_TOL: f64 = 1e-6;

/// Options of kernel models.
#[derive(Debug, Args)]
pub(crate) struct KernelArgs {
    /// The kernel (default: rbf); precomputed means that the data's rows are those of the kernel
    /// matrix
    #[arg(long, value_name = "K", help_heading = "Kernel models")]
    kernel: Option<KernelArg>,
    /// rbf: the width S of exp(−‖x−y‖²/(2S²)) (default: about a third of the data's spread)
    #[arg(long, value_name = "S", allow_negative_numbers = true, help_heading = "Kernel models")]
    sigma: Option<f64>,
    /// poly: the power P of (x·y + A)^P (default: 3)
    #[arg(long, value_name = "P", help_heading = "Kernel models")]
    power: Option<u32>,
    /// poly: the offset A of (x·y + A)^P (default: 1)
    #[arg(long, value_name = "A", allow_negative_numbers = true, help_heading = "Kernel models")]
    offset: Option<f64>,
    /// s3vm: what the loss of a labelled row counts (default: 100)
    #[arg(long, value_name = "C1", allow_negative_numbers = true, help_heading = "Kernel models")]
    c1: Option<f64>,
    /// s3vm: what the loss of an unlabelled row counts (default: 1; of more than 1000 such rows,
    /// 1000 by their number)
    #[arg(long, value_name = "C2", allow_negative_numbers = true, help_heading = "Kernel models")]
    c2: Option<f64>,
    /// s3vm: positive labels among the unlabelled rows: none (any number), count=N, LO:HI, or auto
    /// (the labelled share, give or take 5 % of them)
    #[arg(long, value_name = "B", value_parser = parse_balance, help_heading = "Kernel models")]
    balance: Option<Balance>,
    /// pdm: polish every candidate, or Algorithm 1 as printed (default: search)
    #[arg(long, value_name = "MODE", help_heading = "Kernel models")]
    mode: Option<ModeArg>,
    /// pdm: candidates of a round, as a fraction of the unlabelled rows (default: 0.1)
    #[arg(long, value_name = "M", allow_negative_numbers = true, help_heading = "Kernel models")]
    degree: Option<f64>,
    /// latent-svm: number of components (default: 2)
    #[arg(long, value_name = "K", help_heading = "Kernel models")]
    components: Option<usize>,
    /// latent-svm: what the loss of a positive row counts (default: 1)
    #[arg(long, value_name = "C", allow_negative_numbers = true, help_heading = "Kernel models")]
    c_pos: Option<f64>,
    /// latent-svm: what the loss of a negative row counts, for each component (default: 1)
    #[arg(long, value_name = "C", allow_negative_numbers = true, help_heading = "Kernel models")]
    c_neg: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KernelArg {
    /// x·y
    Linear,
    /// exp(−‖x−y‖²/(2S²))
    Rbf,
    /// (x·y + A)^P
    Poly,
    /// The rows are those of the kernel matrix
    Precomputed,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ModeArg {
    /// Every candidate is polished
    Search,
    /// Algorithm 1 as printed, with its test
    Strict,
}

fn parse_balance(text: &str) -> Result<Balance, String> {
    let wrong = || format!("expected none, auto, count=N or LO:HI, found '{text}'");
    let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
    match text {
        "none" => Ok(Balance::None),
        "auto" => Ok(Balance::Auto),
        _ => match (text.strip_prefix("count="), text.split_once(':')) {
            (Some(count), _) => number(count).map(Balance::Count),
            (None, Some((low, high))) => Ok(Balance::Between(number(low)?, number(high)?)),
            (None, None) => Err(wrong()),
        },
    }
}

impl KernelArgs {
    /// Refuses what only kernel models have.
    pub(crate) fn refuse(&self) -> anyhow::Result<()> {
        let shared = self.kernel.is_some()
            || self.sigma.is_some()
            || self.power.is_some()
            || self.offset.is_some()
            || self.degree.is_some();
        ensure!(
            !shared,
            "--kernel, --sigma, --power, --offset and --degree go with s3vm, latent-svm and robust-svm"
        );
        self.refuse_s3vm()?;
        self.refuse_latent()
    }

    fn refuse_s3vm(&self) -> anyhow::Result<()> {
        let given =
            self.c1.is_some() || self.c2.is_some() || self.balance.is_some() || self.mode.is_some();
        ensure!(!given, "--c1, --c2, --balance and --mode go with s3vm");
        Ok(())
    }

    fn refuse_latent(&self) -> anyhow::Result<()> {
        let given = self.components.is_some() || self.c_pos.is_some() || self.c_neg.is_some();
        ensure!(!given, "--components, --c-pos and --c-neg go with latent-svm");
        Ok(())
    }

    /// The kernel that was asked for, if one was.
    fn kernel(&self) -> anyhow::Result<Option<Kernel>> {
        let which = self.kernel.unwrap_or(KernelArg::Rbf);
        ensure!(which == KernelArg::Rbf || self.sigma.is_none(), "--sigma goes with --kernel rbf");
        let is_poly = self.power.is_some() || self.offset.is_some();
        ensure!(which == KernelArg::Poly || !is_poly, "--power and --offset go with --kernel poly");
        Ok(match which {
            KernelArg::Linear => Some(Kernel::Linear),
            KernelArg::Rbf => self.sigma.map(|sigma| Kernel::Rbf { sigma }),
            KernelArg::Poly => Some(Kernel::Poly {
                power: self.power.unwrap_or(3),
                offset: self.offset.unwrap_or(1.0),
            }),
            KernelArg::Precomputed => Some(Kernel::Precomputed),
        })
    }
}

/// The library's options for a kernel model.
pub(crate) enum KernelOptions {
    S3vm(S3vmOptions),
    Latent(LatentOptions),
    Robust(RobustOptions),
}

impl KernelOptions {
    /// The name of the method.
    pub(crate) fn solver(&self) -> &'static str {
        match self {
            KernelOptions::S3vm(options) => options.method.solver.name(),
            KernelOptions::Latent(options) => options.method.solver.name(),
            KernelOptions::Robust(options) => options.method.solver.name(),
        }
    }

    /// All settings but for how far to go, as checkpoints name them.
    pub(crate) fn settings(&self) -> String {
        match self {
            KernelOptions::S3vm(options) => options.settings(),
            KernelOptions::Latent(options) => options.settings(),
            KernelOptions::Robust(options) => options.settings(),
        }
    }

    /// The relative gap that was asked for.
    pub(crate) fn tol(&self) -> f64 {
        match self {
            KernelOptions::S3vm(options) => options.method.rules.tol,
            KernelOptions::Latent(options) => options.method.rules.tol,
            KernelOptions::Robust(options) => options.method.rules.tol,
        }
    }
}

impl ProblemArgs {
    /// The library's options for a kernel model.
    pub(crate) fn kernel_options(
        &self,
        name: KernelName,
        solver: &SolverArg,
    ) -> anyhow::Result<KernelOptions> {
        match name {
            KernelName::S3vm => self.s3vm_options(solver).map(KernelOptions::S3vm),
            KernelName::LatentSvm => self.latent_options(solver).map(KernelOptions::Latent),
            KernelName::RobustSvm => self.robust_options(solver).map(KernelOptions::Robust),
        }
    }

    /// What the methods of kernel models share.
    fn kernel_method(&self, name: KernelName, solver: &SolverArg) -> anyhow::Result<s3vm::Options> {
        self.refuse_for_kernels(name)?;
        let (args, defaults) = (&self.kernel, s3vm::Options::default());
        Ok(s3vm::Options {
            solver: solver.kernel(name)?,
            mode: match args.mode {
                None | Some(ModeArg::Search) => Mode::Search,
                Some(ModeArg::Strict) => Mode::Strict,
            },
            degree: args.degree.unwrap_or(defaults.degree),
            ramp: self.ramp().unwrap_or(defaults.ramp),
            seed: self.seed,
            rules: self.stopping.rules_with(KERNEL_TOL)?,
        })
    }

    fn kernel_bytes(&self, usual: u64) -> u64 {
        self.max_memory().or_else(quarter_of_memory).unwrap_or(usual)
    }

    fn s3vm_options(&self, solver: &SolverArg) -> anyhow::Result<S3vmOptions> {
        let (args, defaults) = (&self.kernel, S3vmOptions::default());
        args.refuse_latent()?;
        let kernel = args.kernel()?;
        ensure!(
            kernel != Some(Kernel::Precomputed) || !self.has_unlabelled_file(),
            "--unlabeled does not go with --kernel precomputed: one file holds the kernels of all rows"
        );
        Ok(S3vmOptions {
            kernel,
            c1: args.c1.unwrap_or(defaults.c1),
            c2: args.c2,
            balance: args.balance.unwrap_or_default(),
            method: self.kernel_method(KernelName::S3vm, solver)?,
            max_bytes: self.kernel_bytes(defaults.max_bytes),
        })
    }

    fn latent_options(&self, solver: &SolverArg) -> anyhow::Result<LatentOptions> {
        let (args, defaults) = (&self.kernel, LatentOptions::default());
        args.refuse_s3vm()?;
        ensure!(
            !self.has_unlabelled_file() && self.ramp().is_none(),
            "--unlabeled and --ramp do not go with latent-svm"
        );
        Ok(LatentOptions {
            kernel: args.kernel()?,
            components: args.components.unwrap_or(defaults.components),
            c_pos: args.c_pos.unwrap_or(defaults.c_pos),
            c_neg: args.c_neg.unwrap_or(defaults.c_neg),
            method: self.kernel_method(KernelName::LatentSvm, solver)?,
            max_bytes: self.kernel_bytes(defaults.max_bytes),
        })
    }

    fn robust_options(&self, solver: &SolverArg) -> anyhow::Result<RobustOptions> {
        let (args, defaults) = (&self.kernel, RobustOptions::default());
        args.refuse_s3vm()?;
        args.refuse_latent()?;
        ensure!(!self.has_unlabelled_file(), "--unlabeled does not go with robust-svm");
        let name = KernelName::RobustSvm;
        // The ramp is the loss's own here, not that of the method cccp.
        let method = s3vm::Options {
            ramp: s3vm::Options::default().ramp,
            ..self.kernel_method(name, solver)?
        };
        Ok(RobustOptions {
            kernel: args.kernel()?,
            c: self.c().unwrap_or(defaults.c),
            ramp: self.ramp().unwrap_or(defaults.ramp),
            method,
            max_bytes: self.kernel_bytes(defaults.max_bytes),
        })
    }
}
