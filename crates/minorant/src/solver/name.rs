//! Methods by name: what users type, what each method needs of a risk, and how it is set up.

use super::{
    Bcfw, Bmrm, DEFAULT_PARTS, LsBmrm, MANY_WEIGHTS, Nrbm, Problem, ProxNrbm, Solver, Strategy,
};
use crate::bundle::{Limits, Locality};
use crate::risk::Risk;

/// A method, as users name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The bundle method.
    Bmrm,
    /// The bundle method with a limit on its planes.
    LmBmrm,
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
    /// Block-coordinate Frank–Wolfe with working sets.
    Bcfw,
    /// Whichever suits the problem.
    Auto,
}

/// What a user may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MethodOptions {
    /// Planes of each part, the aggregate included.
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

impl Method {
    /// All methods, in the order in which they are listed.
    pub const ALL: [Method; 10] = [
        Method::Auto,
        Method::Bmrm,
        Method::LmBmrm,
        Method::LsBmrm,
        Method::LsPBmrm,
        Method::Nrbm,
        Method::NrbmLs,
        Method::NrbmLsFull,
        Method::ProxNrbm,
        Method::Bcfw,
    ];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Method::Bmrm => "bmrm",
            Method::LmBmrm => "lm-bmrm",
            Method::LsBmrm => "ls-bmrm",
            Method::LsPBmrm => "ls-p-bmrm",
            Method::Nrbm => "nrbm",
            Method::NrbmLs => "nrbm-ls",
            Method::NrbmLsFull => "nrbm-ls-full",
            Method::ProxNrbm => "prox-nrbm",
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

    /// What the method needs and this problem does not offer.
    fn missing(self, problem: Problem<'_>) -> Option<&'static str> {
        let lines = problem.risk.lines().is_some();
        let quadratic = problem.regularizer.lambda() > 0.0 && problem.l1 == 0.0;
        match self {
            Method::Auto => None,
            Method::Bmrm | Method::LmBmrm | Method::LsBmrm | Method::LsPBmrm
                if !problem.risk.is_convex() =>
            {
                Some("a convex risk")
            }
            _ if !quadratic => Some("a quadratic regularizer with lambda above 0"),
            Method::LsBmrm | Method::LsPBmrm if !lines => {
                Some("the restriction of the risk to lines")
            }
            Method::Bcfw if problem.risk.working_sets().is_none() => {
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
        let (method, risk) = (self.resolve(problem), problem.risk);
        if let Some(need) = method.missing(problem) {
            let able = Method::ALL.into_iter().filter(|other| other.missing(problem).is_none());
            return Err(MethodError::Lacks { method: method.name(), need, instead: list(able) });
        }
        if options.memory.is_some_and(|memory| memory < 3) {
            return Err(MethodError::Setting("the memory must be at least 3 planes".into()));
        }
        let parts = method.parts(risk, options)?;
        let limits = method.limits(risk.dim(), parts, options);
        if let (Method::Bcfw, Some(sets)) = (method, risk.working_sets()) {
            return Ok(Box::new(Bcfw::new(problem, sets, options.proof_bytes)));
        }
        let nrbm = |strategy| -> Box<dyn Solver + 'p> {
            Box::new(Nrbm::new(problem, strategy, options.locality, limits))
        };
        Ok(match method {
            Method::Bmrm | Method::LmBmrm | Method::Bcfw | Method::Auto => {
                Box::new(Bmrm::new(risk.dim(), limits))
            }
            Method::Nrbm => nrbm(Strategy::Minimiser),
            Method::NrbmLs => nrbm(Strategy::Greedy),
            Method::NrbmLsFull => nrbm(Strategy::Full),
            Method::ProxNrbm => Box::new(ProxNrbm::new(problem, options.locality, limits.planes)),
            Method::LsBmrm | Method::LsPBmrm => Box::new(LsBmrm::new(risk.dim(), parts, limits)),
        })
    }

    fn parts(self, risk: &dyn Risk, options: &MethodOptions) -> Result<usize, MethodError> {
        if self != Method::LsPBmrm {
            return match options.parts {
                None | Some(1) => Ok(1),
                Some(_) => Err(MethodError::Setting(format!(
                    "{} has one plane model; for several use ls-p-bmrm",
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
            Method::LmBmrm => options.memory.unwrap_or(LIMITED_MEMORY),
            Method::Nrbm | Method::NrbmLs | Method::NrbmLsFull | Method::ProxNrbm => {
                options.memory.unwrap_or(LOCAL_MEMORY)
            }
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
