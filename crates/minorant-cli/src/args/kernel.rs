//! The options of kernel models as typed, and the library's options for them.

use super::train::{ProblemArgs, quarter_of_memory};
use anyhow::{bail, ensure};
use clap::{Args, ValueEnum};
use minorant::kernel::Kernel;
use minorant::s3vm::{self, Balance, Mode};
use minorant::solver::Method;
use minorant::train::{KernelName, S3vmOptions};

/// The relative gap that kernel models are solved to.
pub(crate) const KERNEL_TOL: f64 = 1e-6;

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

/// The name of a solver that some model has.
#[derive(Debug, Clone)]
pub(crate) struct SolverArg(String);

pub(super) fn parse_solver(name: &str) -> Result<SolverArg, String> {
    if s3vm::Solver::from_name(name).is_none() {
        super::train::parse_method(name)?;
    }
    Ok(SolverArg(name.into()))
}

impl SolverArg {
    /// The method of that name for models that are no kernel models.
    pub(crate) fn method(&self) -> anyhow::Result<Method> {
        Ok(Method::from_name(&self.0)?)
    }

    /// The method of that name for a kernel model.
    fn kernel(&self, model: KernelName) -> anyhow::Result<s3vm::Solver> {
        let Some(solver) = s3vm::Solver::from_name(&self.0) else {
            let names = s3vm::Solver::ALL.map(s3vm::Solver::name).join(", ");
            bail!("{} has no solver '{}'; its solvers are: auto, {names}", model.as_str(), self.0)
        };
        Ok(solver)
    }
}

impl KernelArgs {
    /// Refuses what only kernel models have.
    pub(crate) fn refuse(&self) -> anyhow::Result<()> {
        let given = self.kernel.is_some()
            || self.sigma.is_some()
            || self.power.is_some()
            || self.offset.is_some()
            || self.c1.is_some()
            || self.c2.is_some()
            || self.balance.is_some()
            || self.mode.is_some()
            || self.degree.is_some();
        ensure!(
            !given,
            "--kernel, --sigma, --power, --offset, --c1, --c2, --balance, --mode and --degree go with s3vm"
        );
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

impl ProblemArgs {
    /// The library's options for a semi-supervised machine.
    pub(crate) fn s3vm_options(&self, solver: &SolverArg) -> anyhow::Result<S3vmOptions> {
        self.refuse_for_kernels("s3vm")?;
        let args = &self.kernel;
        let kernel = args.kernel()?;
        ensure!(
            kernel != Some(Kernel::Precomputed) || !self.has_unlabelled_file(),
            "--unlabeled does not go with --kernel precomputed: one file holds the kernels of all rows"
        );
        let defaults = S3vmOptions::default();
        let method = s3vm::Options {
            solver: solver.kernel(KernelName::S3vm)?,
            mode: match args.mode {
                None | Some(ModeArg::Search) => Mode::Search,
                Some(ModeArg::Strict) => Mode::Strict,
            },
            degree: args.degree.unwrap_or(defaults.method.degree),
            ramp: self.ramp().unwrap_or(defaults.method.ramp),
            seed: self.seed,
            rules: self.stopping.rules_with(KERNEL_TOL)?,
        };
        Ok(S3vmOptions {
            kernel,
            c1: args.c1.unwrap_or(defaults.c1),
            c2: args.c2,
            balance: args.balance.unwrap_or_default(),
            method,
            max_bytes: self.max_memory().or_else(quarter_of_memory).unwrap_or(defaults.max_bytes),
        })
    }
}
