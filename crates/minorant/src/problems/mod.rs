//! Test problems from the literature, as risks: the counterexamples on which methods for smooth
//! objectives come to a halt (Yu et al., §2.1.1 and Appendix E), and the two academic problems of
//! Do and Artières (§5.1). They have no data; `minorant minimize` runs methods on them.

mod chained;
mod polyhedral;
mod wolfe;

use crate::regularizer::{L2, RegularizerError};
use crate::risk::Risk;

/// The problems by the names that users type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemName {
    /// 10|x| + |y|.
    AbsToy,
    /// Wolfe's counterexample for steepest descent.
    Wolfe,
    /// Hiriart-Urruty and Lemaréchal's counterexample for steepest subgradient descent.
    Hul,
    /// Lewis and Overton's counterexample for BFGS.
    LewisOverton,
    /// Chained Mifflin 2.
    ChainedMifflin2,
    /// Chained Crescent 2.
    ChainedCrescent2,
}

/// What cannot be asked of a problem.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ProblemError {
    /// The problem has another dimension.
    #[error("{0} {1}, not {2}")]
    Dimension(&'static str, &'static str, usize),
    /// The problem is not convex, whatever is claimed.
    #[error("{0} is not convex, so a bound that rests on convexity would be false")]
    NotConvex(&'static str),
    /// λ cannot be had.
    #[error(transparent)]
    Regularizer(#[from] RegularizerError),
}

/// A problem, ready to be minimised.
pub struct TestProblem {
    /// Its name.
    pub name: ProblemName,
    /// The function.
    pub risk: Box<dyn Risk>,
    /// λ/2 ‖w − centre‖².
    pub regularizer: L2,
    /// Where methods start.
    pub start: Vec<f64>,
    /// The least value of the objective, where it is known; −∞ where there is none.
    pub minimum: Option<f64>,
}

impl std::fmt::Debug for TestProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestProblem").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ProblemName {
    /// All problems.
    pub const ALL: [ProblemName; 6] = [
        ProblemName::ChainedMifflin2,
        ProblemName::ChainedCrescent2,
        ProblemName::AbsToy,
        ProblemName::Wolfe,
        ProblemName::Hul,
        ProblemName::LewisOverton,
    ];

    /// The name that users type.
    pub fn as_str(self) -> &'static str {
        match self {
            ProblemName::AbsToy => "abs-toy",
            ProblemName::Wolfe => "wolfe",
            ProblemName::Hul => "hul",
            ProblemName::LewisOverton => "lewis-overton",
            ProblemName::ChainedMifflin2 => "chained-mifflin2",
            ProblemName::ChainedCrescent2 => "chained-crescent2",
        }
    }

    /// The problem with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        ProblemName::ALL.into_iter().find(|problem| problem.as_str() == name)
    }

    fn is_chained(self) -> bool {
        matches!(self, ProblemName::ChainedMifflin2 | ProblemName::ChainedCrescent2)
    }

    /// Sets the problem up with λ ≥ 0. Chained problems have any dimension from 2 on (100 if none
    /// is given), are regularised to their start, and count as non-convex unless `convex` says
    /// otherwise; the others have two dimensions and are convex.
    pub fn build(
        self,
        dim: Option<usize>,
        lambda: f64,
        convex: bool,
    ) -> Result<TestProblem, ProblemError> {
        let dim = dim.unwrap_or(if self.is_chained() { 100 } else { 2 });
        if self.is_chained() && dim < 2 {
            let why = "needs a dimension of at least 2";
            return Err(ProblemError::Dimension(self.as_str(), why, dim));
        }
        if !self.is_chained() && dim != 2 {
            return Err(ProblemError::Dimension(self.as_str(), "has two dimensions", dim));
        }
        if self == ProblemName::ChainedCrescent2 && convex {
            return Err(ProblemError::NotConvex(self.as_str()));
        }
        let start = match self {
            ProblemName::AbsToy => vec![1.0, 1.0],
            ProblemName::Wolfe => vec![2.0, 1.0],
            ProblemName::Hul => vec![1.0, 4.0],
            ProblemName::LewisOverton => vec![1.0, -1.0],
            ProblemName::ChainedMifflin2 => vec![-1.0; dim],
            ProblemName::ChainedCrescent2 => {
                (0..dim).map(|i| if i % 2 == 0 { -1.5 } else { 2.0 }).collect()
            }
        };
        let mut regularizer = if lambda == 0.0 { L2::none() } else { L2::new(lambda)? };
        if self.is_chained() && lambda > 0.0 {
            regularizer = regularizer.with_center(start.clone())?;
        }
        let plain = |minimum: f64| Some(minimum).filter(|_| lambda == 0.0);
        let (risk, minimum): (Box<dyn Risk>, Option<f64>) = match self {
            ProblemName::AbsToy => (Box::new(polyhedral::abs_toy()), plain(0.0)),
            ProblemName::Wolfe => (Box::new(wolfe::Wolfe), plain(f64::NEG_INFINITY)),
            ProblemName::Hul => (Box::new(polyhedral::hul()), plain(-100.0)),
            ProblemName::LewisOverton => {
                (Box::new(polyhedral::lewis_overton()), plain(f64::NEG_INFINITY))
            }
            ProblemName::ChainedMifflin2 => {
                let minimum = chained::mifflin_minimum(dim, lambda);
                (Box::new(chained::Chained::mifflin(dim, convex)), minimum)
            }
            ProblemName::ChainedCrescent2 => {
                (Box::new(chained::Chained::crescent(dim)), plain(0.0))
            }
        };
        Ok(TestProblem { name: self, risk, regularizer, start, minimum })
    }
}
