//! Which solvers each model has: `--solver` is looked up in the model's own table. A name that it
//! does not hold is as unknown as one that nobody has; what a solver of the table needs and a
//! problem lacks, the library says.

use super::{ModelArg, Verb};
use minorant::latent;
use minorant::s3vm;
use minorant::solver::Method;
use minorant::train::{ChainName, KernelName, ModelName};

/// The name of a solver as typed.
#[derive(Debug, Clone)]
pub(crate) struct SolverArg(String);

pub(super) fn parse_solver(name: &str) -> Result<SolverArg, String> {
    Ok(SolverArg(name.into()))
}

impl SolverArg {
    /// The method of that name, for models that are no kernel models.
    pub(crate) fn method(&self) -> anyhow::Result<Method> {
        Ok(Method::from_name(&self.0)?)
    }

    /// The method of that name for a kernel model.
    pub(super) fn kernel(&self, model: KernelName) -> anyhow::Result<s3vm::Solver> {
        self.check(ModelArg::Kernel(model)).map_err(anyhow::Error::msg)?;
        Ok(s3vm::Solver::from_name(&self.0).unwrap_or_default())
    }

    fn check(&self, model: ModelArg) -> Result<(), String> {
        let (name, solvers) = (&self.0, model.solvers());
        if solvers.contains(&name.as_str()) {
            return Ok(());
        }
        let (model, solvers) = (model.as_str(), solvers.join(", "));
        Err(format!("there is no solver '{name}' for {model}; its solvers are: {solvers}"))
    }
}

impl Verb {
    /// Looks the solvers that were typed up in the table of the model beside them.
    pub(crate) fn check_solvers(&self) -> Result<(), String> {
        let (model, solvers) = match self {
            Verb::Train(args) => (args.problem.model, std::slice::from_ref(&args.solver)),
            Verb::Compare(args) => (args.problem.model, &args.solvers[..]),
            Verb::Path(args) => (args.problem.model, std::slice::from_ref(&args.solver)),
            Verb::Tune(args) => (args.problem.model, std::slice::from_ref(&args.solver)),
            _ => return Ok(()),
        };
        solvers.iter().try_for_each(|solver| solver.check(model))
    }
}

impl ModelArg {
    /// The names of the solvers that this model has with some of its losses and penalties.
    fn solvers(self) -> Vec<&'static str> {
        let kernel = |solvers: &[s3vm::Solver]| {
            let names = solvers.iter().map(|solver| solver.name());
            std::iter::once(Method::Auto.name()).chain(names).collect()
        };
        match self {
            ModelArg::Kernel(KernelName::S3vm) => kernel(&s3vm::Solver::ALL),
            ModelArg::Kernel(KernelName::LatentSvm) => kernel(&latent::SOLVERS),
            ModelArg::Kernel(KernelName::RobustSvm) => kernel(&s3vm::RAMP_SOLVERS),
            _ => {
                let held = Method::ALL.into_iter().filter(|method| self.holds(*method));
                held.map(Method::name).collect()
            }
        }
    }

    /// Whether the table of a model that is no kernel model holds a method.
    fn holds(self, method: Method) -> bool {
        use ModelArg::{Chain, Hmm, Image, Linear, Neuro};
        let is_svm = self == Linear(ModelName::Svm);
        let is_logistic = self == Linear(ModelName::Logistic);
        let is_crf = self == Chain(ChainName::ChainCrf);
        let has_outputs_to_search = matches!(self, Chain(ChainName::ChainSvm) | Image(_));
        let is_difference = matches!(self, Linear(ModelName::RampSvm | ModelName::Tsvm));
        let is_convex = !is_difference && !matches!(self, Hmm | Neuro);
        match method {
            Method::Auto
            | Method::Nrbm
            | Method::NrbmLs
            | Method::NrbmLsFull
            | Method::ProxNrbm
            | Method::Nbm
            | Method::Gd
            | Method::Subgradient => true,
            Method::Bmrm
            | Method::LmBmrm
            | Method::PBmrm
            | Method::ProxBmrm
            | Method::ProxPBmrm => is_convex,
            Method::LsBmrm
            | Method::LsPBmrm
            | Method::SubBfgs
            | Method::SubLbfgs
            | Method::Hybrid
            | Method::SubGd => is_svm || is_logistic,
            // Of an svm with the squared hinge.
            Method::Lbfgs => is_svm || is_logistic || is_crf || self == Neuro,
            Method::Owlqn | Method::OwlqnStar => is_logistic || is_crf,
            Method::NewtonCd => is_logistic,
            Method::DualCd => is_svm,
            Method::Sgd => !is_difference,
            Method::Cccp => is_difference,
            Method::Bcfw => has_outputs_to_search,
        }
    }
}
