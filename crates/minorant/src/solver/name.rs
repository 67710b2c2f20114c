//! Methods by name: what users type, what each method needs of a risk, and how it is set up.

use super::quasi_newton::{Companion, DenseInverse, Identity, LimitedMemory};
use super::{
    Bcfw, Bmrm, Cccp, DEFAULT_PARTS, DualCd, Gd, Hybrid, Lbfgs, LsBmrm, MANY_WEIGHTS, Nbm,
    NewtonCd, Nrbm, Owlqn, OwlqnStar, PlanesAfter, Problem, ProxBmrm, ProxNrbm, Sgd, SgdAnywhere,
    Solver, Strategy, SubBfgs, Subgradient, Subgradients, sgd_pass,
};
use crate::bundle::{Limits, Locality};
use crate::risk::{Examples, Risk};

/// A method, as users name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The bundle method.
    Bmrm,
    /// The bundle method with a limit on its planes.
    LmBmrm,
    /// The bundle method with several plane models.
    PBmrm,
    /// The bundle method with a prox term.
    ProxBmrm,
    /// The same with several plane models.
    ProxPBmrm,
    /// The bundle method with exact line search.
    LsBmrm,
    /// The same with several plane models.
    LsPBmrm,
    /// The bundle method for risks that need not be convex.
    Nrbm,
    /// The same with line search.
    NrbmLs,
    /// The same with planes at the model's minimiser as well.
    NrbmLsFull,
    /// The same with a proximal term instead of a line search.
    ProxNrbm,
    /// The orthant-wise quasi-Newton method for λ‖w‖₁.
    Owlqn,
    /// The same with directions by Algorithm 2 of Yu et al.
    OwlqnStar,
    /// Newton's method with coordinate descent for λ‖w‖₁.
    NewtonCd,
    /// Subgradient BFGS with a dense matrix.
    SubBfgs,
    /// Subgradient BFGS with limited memory.
    SubLbfgs,
    /// Subgradient BFGS, then the bundle method with line search.
    Hybrid,
    /// Limited-memory BFGS.
    Lbfgs,
    /// Descent along an arbitrary subgradient.
    Gd,
    /// Descent along the steepest subgradient.
    SubGd,
    /// The subgradient method.
    Subgradient,
    /// Dual coordinate ascent.
    DualCd,
    /// Stochastic subgradient descent.
    Sgd,
    /// The classical non-convex proximal bundle method.
    Nbm,
    /// The concave-convex procedure.
    Cccp,
    /// Block-coordinate Frank–Wolfe with working sets.
    Bcfw,
    /// Whichever suits the problem.
    Auto,
}

/// How the concave-convex procedure solves its convex problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConvexProblems {
    /// By the convex bundle method, started at the best point.
    #[default]
    Primal,
    /// By dual coordinate ascent.
    Dual,
}

/// What a user may set.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MethodOptions {
    /// Planes of each part, the aggregate included; steps that quasi-Newton methods remember.
    pub memory: Option<usize>,
    /// Plane models.
    pub parts: Option<usize>,
    /// How localities of planes grow.
    pub locality: Locality,
    /// Seed of methods that draw random numbers.
    pub seed: u64,
    /// Bytes that the planes may take before aggregation sets in.
    pub max_bytes: Option<u64>,
    /// Bytes that a proof may take.
    pub proof_bytes: u64,
    /// How exactly directions of descent are searched for, relative to the objective.
    pub direction_tolerance: Option<f64>,
    /// How `cccp` solves its convex problems.
    pub convex_problems: ConvexProblems,
    /// Whether planes take over where `dual-cd` takes too long, as with `auto`.
    pub hands_over: bool,
    /// Lets methods for smooth risks run on others, where they may come to a halt anywhere.
    pub despite_kinks: bool,
}

/// A method that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MethodError {
    /// There is no such method.
    #[error("there is no solver '{0}' here; these can be chosen: {1}")]
    Unknown(String, String),
    /// The risk lacks something that the method needs.
    #[error("{method} needs {need}, which this problem does not offer; use one of: {instead}")]
    Lacks {
        /// The method's name.
        method: &'static str,
        /// What is missing.
        need: &'static str,
        /// Methods that would work.
        instead: String,
    },
    /// A setting that the method has no use for, or a value out of range.
    #[error("{0}")]
    Setting(String),
}

const IDLE: u32 = 20;
const LIMITED_MEMORY: usize = 200;
const LOCAL_MEMORY: usize = 100;
const SGD_MEMORY: usize = 100;
/// Steps that `lbfgs` remembers where every probe is a call of an oracle, and the weights are few.
const ORACLE_PAIRS: usize = 50;
/// Steps that limited-memory quasi-Newton methods remember.
const PAIRS: usize = 15;
/// Planes that give a walking method its bound.
const PLANES_OF_A_WALK: usize = 100;
/// Bytes that a dense inverse Hessian may take where nothing else is said.
const MATRIX_BYTES: u64 = 1 << 30;

impl Method {
    /// All methods, in the order in which they are listed.
    pub const ALL: [Method; 27] = [
        Method::Auto,
        Method::Bmrm,
        Method::LmBmrm,
        Method::PBmrm,
        Method::ProxBmrm,
        Method::ProxPBmrm,
        Method::LsBmrm,
        Method::LsPBmrm,
        Method::SubBfgs,
        Method::SubLbfgs,
        Method::Hybrid,
        Method::Lbfgs,
        Method::Owlqn,
        Method::OwlqnStar,
        Method::NewtonCd,
        Method::Nrbm,
        Method::NrbmLs,
        Method::NrbmLsFull,
        Method::ProxNrbm,
        Method::DualCd,
        Method::Sgd,
        Method::Gd,
        Method::SubGd,
        Method::Subgradient,
        Method::Nbm,
        Method::Cccp,
        Method::Bcfw,
    ];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Method::Bmrm => "bmrm",
            Method::LmBmrm => "lm-bmrm",
            Method::PBmrm => "p-bmrm",
            Method::ProxBmrm => "prox-bmrm",
            Method::ProxPBmrm => "prox-p-bmrm",
            Method::LsBmrm => "ls-bmrm",
            Method::LsPBmrm => "ls-p-bmrm",
            Method::Nrbm => "nrbm",
            Method::NrbmLs => "nrbm-ls",
            Method::NrbmLsFull => "nrbm-ls-full",
            Method::ProxNrbm => "prox-nrbm",
            Method::Owlqn => "owlqn",
            Method::OwlqnStar => "owlqn-star",
            Method::NewtonCd => "newton-cd",
            Method::SubBfgs => "subbfgs",
            Method::SubLbfgs => "sublbfgs",
            Method::Hybrid => "hybrid",
            Method::Lbfgs => "lbfgs",
            Method::Gd => "gd",
            Method::SubGd => "subgd",
            Method::Subgradient => "subgradient",
            Method::DualCd => "dual-cd",
            Method::Sgd => "sgd",
            Method::Nbm => "nbm",
            Method::Cccp => "cccp",
            Method::Bcfw => "bcfw",
            Method::Auto => "auto",
        }
    }

    /// The method with this name.
    pub fn from_name(name: &str) -> Result<Method, MethodError> {
        Method::ALL
            .into_iter()
            .find(|method| method.name() == name)
            .ok_or_else(|| MethodError::Unknown(name.into(), list(Method::ALL.into_iter())))
    }

    /// Whether the method walks from point to point and takes its bound from planes on the way.
    fn walks(self) -> bool {
        use Method::{Gd, Lbfgs, SubBfgs, SubGd, SubLbfgs, Subgradient};
        matches!(self, SubBfgs | SubLbfgs | Lbfgs | Gd | SubGd | Subgradient)
    }

    /// Whether the method builds local models of risks that need not be convex.
    fn is_local(self) -> bool {
        use Method::{Cccp, Nbm, Nrbm, NrbmLs, NrbmLsFull, ProxNrbm};
        matches!(self, Nrbm | NrbmLs | NrbmLsFull | ProxNrbm | Nbm | Cccp)
    }

    /// Whether stochastic descent goes without the metric that it has on convex risks of rows.
    fn needs_no_metric(self, risk: &dyn Risk) -> bool {
        let has_metric = |all: &dyn Examples| all.metric(1.0, None).is_some();
        let of_rows = risk.is_convex() && risk.lines().is_some();
        self == Method::Sgd && !of_rows && !risk.examples().is_some_and(has_metric)
    }

    /// Whether the method searches for directions of descent, so that steps of that are told.
    pub fn finds_directions(self) -> bool {
        matches!(self, Method::SubBfgs | Method::SubLbfgs | Method::Hybrid | Method::SubGd)
    }

    /// What the method needs and this problem does not offer.
    pub(super) fn missing(
        self,
        problem: Problem<'_>,
        options: &MethodOptions,
    ) -> Option<&'static str> {
        let risk = problem.risk;
        let lambda = problem.regularizer.lambda();
        let (quadratic, l1) =
            (lambda > 0.0 && problem.l1 == 0.0, problem.l1 > 0.0 && lambda == 0.0);
        let smooth = risk.is_smooth() || options.despite_kinks;
        match self {
            Method::Auto => Method::pick(problem).missing(problem, options),
            Method::Owlqn | Method::OwlqnStar | Method::NewtonCd if !l1 => Some("the penalty l1"),
            Method::Owlqn | Method::OwlqnStar => (!risk.is_smooth()).then_some("a smooth risk"),
            Method::NewtonCd => (risk.lines().is_none() || risk.curvature().is_none())
                .then_some("the second derivatives of the risk"),
            _ if problem.l1 != 0.0 => Some("a quadratic regularizer"),
            _ if !quadratic && (!self.walks() || self == Method::Subgradient) => {
                Some("a quadratic regularizer with lambda above 0")
            }
            Method::Cccp if risk.difference().is_none() => {
                Some("a risk that is the difference of convex ones")
            }
            Method::Sgd if risk.examples().is_none() => Some("a risk that is a sum over examples"),
            Method::Sgd if self.needs_no_metric(risk) => None,
            Method::Cccp
                if options.convex_problems == ConvexProblems::Dual
                    && !risk.difference().is_some_and(|parts| parts.has_dual_coordinates()) =>
            {
                Some("convex problems in the primal, or two classes")
            }
            _ if !risk.is_convex() && !self.walks() && !self.is_local() => Some("a convex risk"),
            Method::LsBmrm | Method::LsPBmrm | Method::Hybrid if risk.lines().is_none() => {
                Some("the restriction of the risk to lines")
            }
            Method::Lbfgs if !smooth => Some("a risk without kinks"),
            _ if self.finds_directions() && risk.subdifferential().is_none() => {
                Some("the whole subdifferential of the risk")
            }
            Method::DualCd if risk.lines().is_none() || risk.dual_coordinates().is_none() => {
                Some("a hinge or squared hinge of two classes, or the joint hinge of several")
            }
            Method::Sgd if !problem.regularizer.is_centered() => Some("a regularizer centred at 0"),
            Method::DualCd | Method::Sgd if sgd_pass::metric(problem).is_none() => {
                Some("regularization weights that are the same for all outputs of a feature")
            }
            Method::Bcfw if risk.working_sets().is_none() => {
                Some("a risk that is a maximum over outputs (a structured svm)")
            }
            Method::Bcfw if !problem.regularizer.is_plain() => {
                Some("a regularizer without weights and centre")
            }
            _ => None,
        }
    }

    /// The method itself, or the one that `auto` stands for.
    pub fn resolve(self, problem: Problem<'_>) -> Method {
        if self == Method::Auto { Method::pick(problem) } else { self }
    }

    /// Sets the method up for a problem.
    pub fn build<'p>(
        self,
        problem: Problem<'p>,
        options: &MethodOptions,
    ) -> Result<Box<dyn Solver + 'p>, MethodError> {
        let method = self.resolve(problem);
        let fits = method == Method::Bcfw && method.missing(problem, options).is_none();
        if let Some(sets) = problem.risk.working_sets().filter(|_| fits) {
            let dual = Box::new(Bcfw::new(problem, sets, options.proof_bytes));
            if self != Method::Auto {
                return Ok(dual);
            }
            let dim = problem.risk.dim();
            let limits = Method::Bmrm.limits(dim, 1, options);
            let planes = Box::new(Bmrm::new(dim, 1, limits));
            return Ok(Box::new(PlanesAfter::new(dual, planes, dim, 1, limits)));
        }
        self.build_owned(problem, options)
    }

    /// The same for a method that outlives the problem; one that keeps hold of it is refused.
    pub(crate) fn build_owned(
        self,
        problem: Problem<'_>,
        options: &MethodOptions,
    ) -> Result<Box<dyn Solver>, MethodError> {
        let (method, risk) = (self.resolve(problem), problem.risk);
        let lacks = |need| {
            let able =
                Method::ALL.into_iter().filter(|other| other.missing(problem, options).is_none());
            MethodError::Lacks { method: method.name(), need, instead: list(able) }
        };
        if let Some(need) = method.missing(problem, options) {
            return Err(lacks(need));
        }
        let pairs = matches!(method, Method::Hybrid | Method::Owlqn | Method::OwlqnStar);
        let remembers_steps = method.walks() || pairs;
        let (least, of) = if remembers_steps { (1, "step") } else { (3, "planes") };
        if options.memory.is_some_and(|memory| memory < least) {
            return Err(MethodError::Setting(format!("the memory must be at least {least} {of}")));
        }
        let parts = method.parts(risk, options)?;
        let limits = method.limits(risk.dim(), parts, options);
        let nrbm = |strategy| -> Box<dyn Solver> {
            Box::new(Nrbm::new(problem, strategy, options.locality, limits))
        };
        let (dim, pairs) = (risk.dim(), options.memory.unwrap_or(PAIRS));
        let bounded = risk.is_convex() && problem.regularizer.lambda() > 0.0;
        let companion = || Companion::new(dim, parts, limits, bounded);
        let tolerance = options.direction_tolerance;
        Ok(match method {
            Method::SubBfgs => {
                let most = options.max_bytes.unwrap_or(MATRIX_BYTES);
                if (dim as u64).saturating_pow(2).saturating_mul(8) > most {
                    return Err(MethodError::Setting(format!(
                        "subbfgs would keep a matrix of {dim} x {dim} numbers; use sublbfgs"
                    )));
                }
                let inverse = Box::new(DenseInverse::new(dim));
                Box::new(SubBfgs::new(dim, inverse, companion(), true, tolerance))
            }
            Method::SubLbfgs => {
                let inverse = Box::new(LimitedMemory::new(pairs));
                Box::new(SubBfgs::new(dim, inverse, companion(), true, tolerance))
            }
            Method::Hybrid => Box::new(Hybrid::new(dim, pairs, parts, limits)),
            Method::SubGd => {
                Box::new(SubBfgs::new(dim, Box::new(Identity), companion(), false, tolerance))
            }
            Method::Lbfgs => {
                let by_oracle = risk.lines().is_none() && dim < MANY_WEIGHTS;
                let usual = if by_oracle { ORACLE_PAIRS } else { PAIRS };
                let pairs = options.memory.unwrap_or(usual);
                Box::new(Lbfgs::new(dim, pairs, companion(), risk.is_smooth()))
            }
            Method::Gd => Box::new(Gd::new(dim, companion())),
            Method::Subgradient => Box::new(Subgradient::new(dim, companion())),
            Method::Nrbm => nrbm(Strategy::Minimiser),
            Method::NrbmLs => nrbm(Strategy::Greedy),
            Method::NrbmLsFull => nrbm(Strategy::Full),
            Method::ProxNrbm => {
                Box::new(ProxNrbm::new(problem, options.locality, limits, companion()))
            }
            Method::Bcfw => return Err(lacks("a problem that outlives it")),
            Method::Bmrm | Method::LmBmrm | Method::PBmrm | Method::Auto => {
                Box::new(Bmrm::new(risk.dim(), parts, limits))
            }
            Method::ProxBmrm | Method::ProxPBmrm => {
                Box::new(ProxBmrm::new(risk.dim(), parts, limits, options.seed))
            }
            Method::Nbm => Box::new(Nbm::new(problem, limits.planes, companion())),
            Method::Cccp => Box::new(Cccp::new(risk.dim(), options)),
            Method::LsBmrm | Method::LsPBmrm => Box::new(LsBmrm::new(risk.dim(), parts, limits)),
            Method::Owlqn => Box::new(Owlqn::new(risk.dim(), pairs, Subgradients::Least)),
            Method::OwlqnStar => Box::new(OwlqnStar::new(risk.dim(), pairs, Subgradients::Least)),
            Method::NewtonCd => Box::new(NewtonCd::new(risk.dim())),
            Method::DualCd => {
                let dual = DualCd::new(problem, options.seed).ok_or_else(|| lacks("examples"))?;
                if self != Method::Auto && !options.hands_over {
                    return Ok(Box::new(dual));
                }
                let planes = Method::pick_bundle(problem);
                let parts = planes.parts(risk, options)?;
                let limits = planes.limits(dim, parts, options);
                let planes = Box::new(LsBmrm::new(dim, parts, limits));
                Box::new(PlanesAfter::new(Box::new(dual), planes, dim, parts, limits))
            }
            Method::Sgd if method.needs_no_metric(risk) => {
                Box::new(SgdAnywhere::new(problem, companion(), options.seed))
            }
            Method::Sgd => {
                let solver = Sgd::new(problem, limits, options.seed);
                Box::new(solver.ok_or_else(|| lacks("examples"))?)
            }
        })
    }

    fn parts(self, risk: &dyn Risk, options: &MethodOptions) -> Result<usize, MethodError> {
        use Method::{Hybrid, LsPBmrm, PBmrm, ProxPBmrm};
        if !matches!(self, PBmrm | ProxPBmrm | LsPBmrm | Hybrid) {
            return match options.parts {
                None | Some(1) => Ok(1),
                Some(_) => Err(MethodError::Setting(format!(
                    "{} has one plane model; for several use ls-p-bmrm, p-bmrm or prox-p-bmrm",
                    self.name()
                ))),
            };
        }
        let default = if risk.dim() < MANY_WEIGHTS { DEFAULT_PARTS } else { 1 };
        match options.parts.unwrap_or(default) {
            0 => Err(MethodError::Setting("the number of parts must be at least 1".into())),
            parts => Ok(parts.min(risk.max_parts())),
        }
    }

    fn limits(self, dim: usize, parts: usize, options: &MethodOptions) -> Limits {
        let asked = match self {
            Method::Hybrid => usize::MAX,
            Method::LmBmrm => options.memory.unwrap_or(LIMITED_MEMORY),
            _ if self.is_local() => options.memory.unwrap_or(LOCAL_MEMORY),
            _ if self.walks() => PLANES_OF_A_WALK,
            Method::Sgd => options.memory.unwrap_or(SGD_MEMORY),
            _ => options.memory.unwrap_or(usize::MAX),
        };
        // Each plane takes its normal and, for the proof, the point where it touches (one for all
        // parts).
        let bytes = dim as u64 * 8;
        let fits = |limit: u64| {
            usize::try_from(limit / (bytes * (parts as u64 + 1)).max(1)).unwrap_or(usize::MAX)
        };
        let planes = options.max_bytes.map_or(asked, |limit| asked.min(fits(limit)));
        let remembered = usize::try_from(options.proof_bytes / bytes.max(1)).unwrap_or(usize::MAX);
        Limits { planes, idle: IDLE, remembered }
    }
}

fn list(methods: impl Iterator<Item = Method>) -> String {
    methods.map(Method::name).collect::<Vec<_>>().join(", ")
}
