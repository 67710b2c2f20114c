//! How methods are set up: the choice behind `auto`, limits on planes, numbers of parts, and the solver
//! itself.

use super::method::list;
use super::planes_after::{LATE, SOON};
use super::quasi_newton::{
    Companion, DenseInverse, Identity, LimitedMemory, SearchRules, pairs_that_fit,
};
use super::{
    Bcfw, Bmrm, Cccp, DEFAULT_PARTS, DualCd, Gd, Hybrid, Lbfgs, Lmbm, LsBmrm, MANY_WEIGHTS, Method,
    MethodError, MethodOptions, Nbm, Newton, NewtonCd, Nrbm, Owlqn, OwlqnStar, PlanesAfter,
    Problem, ProxBmrm, ProxNrbm, Sgd, SgdAnywhere, Solver, Strategy, SubBfgs, Subgradient,
};
use crate::bundle::Limits;
use crate::risk::Risk;
use crate::risk::cut::power_of_two;

const IDLE: u32 = 20;
const LIMITED_MEMORY: usize = 200;
const LOCAL_MEMORY: usize = 100;
const SGD_MEMORY: usize = 100;
/// Steps that `lbfgs` remembers where every probe is a call of an oracle, and the weights are few.
const ORACLE_PAIRS: usize = 50;
/// Steps that limited-memory quasi-Newton methods remember.
const PAIRS: usize = 15;
/// Pairs that `lmbm` remembers.
const FEW_PAIRS: usize = 7;
/// Planes that give a walking method its bound.
const PLANES_OF_A_WALK: usize = 100;
/// Planes that give Newton's method its bound: the last ones matter.
const PLANES_OF_NEWTON: usize = 20;
/// Bytes of points that aggregates may remember for the proof, however little memory there is.
const ALWAYS_REMEMBERED: u64 = 64 << 20;
/// Planes that a walking method keeps at least, where these and their points are as long as the weights.
const FEWEST: usize = 8;
/// Bytes that a dense inverse Hessian may take where nothing else is said.
const MATRIX_BYTES: u64 = 1 << 30;

impl Method {
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
            let limits = Method::Bmrm.limits(dim, options);
            let planes = Box::new(Bmrm::new(dim, 1, limits));
            return Ok(Box::new(PlanesAfter::new(dual, planes, dim, 1, limits, SOON)));
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
        let remembers_steps = method.walks() || method.keeps_pairs();
        let (least, of) = if remembers_steps { (1, "step") } else { (3, "planes") };
        if options.memory.is_some_and(|memory| memory < least) {
            return Err(MethodError::Setting(format!("the memory must be at least {least} {of}")));
        }
        let parts = method.parts(risk, options)?;
        let limits = method.limits(risk.dim(), options);
        let dim = risk.dim();
        // Planes of examples in rows have slopes, which are shorter where weights are many.
        let few = match risk.by_slopes() {
            Some(_) => usize::MAX,
            None => pairs_that_fit(dim, FEWEST),
        };
        let planes = if method.walks() { limits.planes.min(few) } else { limits.planes };
        let limits = Limits { planes, ..limits };
        let nrbm = |strategy| -> Box<dyn Solver> {
            Box::new(Nrbm::new(problem, strategy, options.locality, limits))
        };
        // A step is kept with the change of the gradient along it.
        let room = options.max_bytes.unwrap_or(u64::MAX) / (16 * dim as u64).max(1);
        let room = usize::try_from(room).unwrap_or(usize::MAX).max(1);
        let pairs = options.memory.unwrap_or(PAIRS.min(few)).min(room);
        let bounded = risk.is_convex() && problem.regularizer.lambda() > 0.0;
        let companion = || Companion::new(dim, parts, limits, bounded);
        let rules = SearchRules::new(options.tuning)?;
        // Beside absolute weights or bounds minimisers of planes alone may be rounding.
        let prox_after = |first: Box<dyn Solver>| -> Box<dyn Solver> {
            if problem.regularizer.is_quadratic() {
                return first;
            }
            let then = Box::new(ProxBmrm::new(dim, parts, limits, options));
            Box::new(PlanesAfter::after_a_halt(first, then, (dim, parts), limits))
        };
        let how = (options, rules);
        let subgradients = (options.tuning.subgradients, options.seed);
        Ok(match method {
            Method::SubBfgs => {
                let most = options.max_bytes.unwrap_or(MATRIX_BYTES);
                if (dim as u64).saturating_pow(2).saturating_mul(8) > most {
                    return Err(MethodError::Setting(format!(
                        "subbfgs would keep a matrix of {dim} x {dim} numbers; use sublbfgs"
                    )));
                }
                let inverse = Box::new(DenseInverse::new(dim));
                Box::new(SubBfgs::new(dim, inverse, companion(), true, how))
            }
            Method::SubLbfgs => {
                let inverse = Box::new(LimitedMemory::new(pairs));
                Box::new(SubBfgs::new(dim, inverse, companion(), true, how))
            }
            Method::Hybrid => Box::new(Hybrid::new(dim, pairs, parts, limits, how)),
            Method::SubGd => {
                Box::new(SubBfgs::new(dim, Box::new(Identity), companion(), false, how))
            }
            Method::Lbfgs => {
                let by_oracle = risk.lines().is_none() && dim < MANY_WEIGHTS;
                let usual = if by_oracle { ORACLE_PAIRS } else { PAIRS.min(few) };
                let pairs = options.memory.unwrap_or(usual).min(room);
                let ends = (options.tuning.stop_gradient, rules);
                Box::new(Lbfgs::new(dim, pairs, companion(), risk.is_smooth(), ends))
            }
            Method::Gd => Box::new(Gd::new(dim, companion(), rules)),
            Method::Subgradient => Box::new(Subgradient::new(dim, companion())),
            Method::Nrbm => nrbm(Strategy::Minimiser),
            Method::NrbmLs => nrbm(Strategy::Greedy),
            Method::NrbmLsFull => nrbm(Strategy::Full),
            Method::ProxNrbm => {
                Box::new(ProxNrbm::new(problem, options.locality, limits, companion()))
            }
            Method::Bcfw => return Err(lacks("a problem that outlives it")),
            Method::Bmrm | Method::LmBmrm | Method::PBmrm | Method::Auto => {
                prox_after(Box::new(Bmrm::new(dim, parts, limits)))
            }
            Method::ProxBmrm | Method::ProxPBmrm => {
                Box::new(ProxBmrm::new(risk.dim(), parts, limits, options))
            }
            Method::Nbm => Box::new(Nbm::new(problem, limits.planes, companion())),
            Method::Lmbm => {
                let usual = if self == Method::Auto { ORACLE_PAIRS } else { FEW_PAIRS };
                let pairs = options.memory.unwrap_or(usual).min(room);
                Box::new(Lmbm::new(problem, pairs, companion()))
            }
            Method::Cccp => Box::new(Cccp::new(risk.dim(), options)),
            Method::LsBmrm | Method::LsPBmrm => {
                prox_after(Box::new(LsBmrm::new(dim, parts, limits)))
            }
            Method::Owlqn => Box::new(Owlqn::new(dim, pairs, subgradients)),
            Method::OwlqnStar => Box::new(OwlqnStar::new(dim, pairs, subgradients)),
            Method::Newton => Box::new(Newton::new(dim, limits)),
            Method::NewtonCd => Box::new(NewtonCd::new(risk.dim())),
            Method::DualCd => {
                let dual = DualCd::new(problem, options.seed).ok_or_else(|| lacks("examples"))?;
                // Intercepts that are free can only be followed, which takes the more sweeps.
                let is_free = risk.dual_coordinates().is_some_and(|dual| dual.intercepts() > 0);
                let is_chosen = self == Method::Auto || options.hands_over || is_free;
                let patience = if is_chosen { SOON } else { LATE };
                let planes = Method::pick_bundle(problem);
                let parts = planes.parts(risk, options)?;
                let limits = planes.limits(dim, options);
                let planes = Box::new(LsBmrm::new(dim, parts, limits));
                Box::new(PlanesAfter::new(Box::new(dual), planes, dim, parts, limits, patience))
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
        if !self.uses_parts() {
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
            parts => Ok(power_of_two(parts).min(risk.max_parts())),
        }
    }

    fn limits(self, dim: usize, options: &MethodOptions) -> Limits {
        let asked = match self {
            Method::Hybrid => usize::MAX,
            Method::LmBmrm => options.memory.unwrap_or(LIMITED_MEMORY),
            _ if self.walks() || self == Method::Lmbm => PLANES_OF_A_WALK,
            _ if self.is_local() => options.memory.unwrap_or(LOCAL_MEMORY),
            Method::Newton => PLANES_OF_NEWTON,
            Method::Sgd => options.memory.unwrap_or(SGD_MEMORY),
            _ => options.memory.unwrap_or(usize::MAX),
        };
        let bytes = options.max_bytes.unwrap_or(u64::MAX);
        // A plane that holds near a point takes its normal; the bundle of the others counts for itself.
        let of_vector = (dim as u64 * 8).max(1);
        let count = |bytes: u64| usize::try_from(bytes / of_vector).unwrap_or(usize::MAX);
        let planes = if self.is_local() { asked.min(count(bytes)) } else { asked };
        // The points behind an aggregate are there as long as it is.
        let remembered = count(options.proof_bytes.min(ALWAYS_REMEMBERED.max(bytes / 2)));
        Limits { planes, bytes, idle: IDLE, remembered }
    }
}
