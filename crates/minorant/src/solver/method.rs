//! Methods by name: what users type, and which settings each method has a use for. What a method needs
//! of a problem stands in `needs.rs`, how it is set up in `build.rs`.

use super::MethodError;

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
    /// Newton's method for smooth risks.
    Newton,
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
    /// The limited memory bundle method.
    Lmbm,
    /// The concave-convex procedure.
    Cccp,
    /// Block-coordinate Frank–Wolfe with working sets.
    Bcfw,
    /// Whichever suits the problem.
    Auto,
}

impl Method {
    /// All methods, in the order in which they are listed.
    pub const ALL: [Method; 29] = [
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
        Method::Newton,
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
        Method::Lmbm,
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
            Method::Newton => "newton",
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
            Method::Lmbm => "lmbm",
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
    pub(super) fn walks(self) -> bool {
        use Method::{Gd, Lbfgs, SubBfgs, SubGd, SubLbfgs, Subgradient};
        matches!(self, SubBfgs | SubLbfgs | Lbfgs | Gd | SubGd | Subgradient)
    }

    /// Whether the method builds local models of risks that need not be convex.
    pub(super) fn is_local(self) -> bool {
        use Method::{Cccp, Lmbm, Nbm, Nrbm, NrbmLs, NrbmLsFull, ProxNrbm};
        matches!(self, Nrbm | NrbmLs | NrbmLsFull | ProxNrbm | Nbm | Lmbm | Cccp)
    }

    /// Whether the method works where the regularizer has absolute weights or bounds beside its
    /// quadratic.
    pub(super) fn takes_kinks(self) -> bool {
        use Method::{Bmrm, Cccp, LmBmrm, LsBmrm, LsPBmrm, PBmrm, ProxBmrm, ProxPBmrm};
        matches!(self, Bmrm | LmBmrm | PBmrm | ProxBmrm | ProxPBmrm | LsBmrm | LsPBmrm | Cccp)
    }

    /// Whether steps of a search for directions of descent are told.
    pub fn tells_direction_steps(self) -> bool {
        self.finds_directions() || self == Method::OwlqnStar
    }

    /// Whether Theorem 1 of Do and Artières says after how many iterations the method is done: each of
    /// them adds the plane at the model's minimiser.
    pub fn has_iteration_bound(self) -> bool {
        matches!(self, Method::Bmrm | Method::LmBmrm | Method::PBmrm | Method::Nrbm)
    }

    /// Whether the method searches for directions of descent in the risk's subdifferential.
    pub fn finds_directions(self) -> bool {
        use Method::{Hybrid, SubBfgs, SubGd, SubLbfgs};
        matches!(self, SubBfgs | SubLbfgs | Hybrid | SubGd)
    }

    /// Whether the method remembers steps with the changes of the gradient along them.
    pub(super) fn keeps_pairs(self) -> bool {
        use Method::{Hybrid, Lbfgs, Lmbm, Owlqn, OwlqnStar, SubLbfgs};
        matches!(self, SubLbfgs | Lbfgs | Lmbm | Hybrid | Owlqn | OwlqnStar)
    }

    /// Whether a run depends on [`MethodOptions::memory`](super::MethodOptions::memory).
    pub fn uses_memory(self) -> bool {
        use Method::{Auto, Bmrm, LmBmrm, LsBmrm, LsPBmrm, Nbm, PBmrm, ProxBmrm, ProxPBmrm, Sgd};
        let keeps_planes =
            matches!(self, Bmrm | LmBmrm | PBmrm | ProxBmrm | ProxPBmrm | LsBmrm | LsPBmrm);
        keeps_planes
            || self.keeps_pairs()
            || self.uses_locality()
            || matches!(self, Nbm | Sgd | Auto)
    }

    /// Whether a run depends on [`MethodOptions::parts`](super::MethodOptions::parts).
    pub fn uses_parts(self) -> bool {
        use Method::{Auto, Hybrid, LsPBmrm, PBmrm, ProxPBmrm};
        matches!(self, PBmrm | ProxPBmrm | LsPBmrm | Hybrid | Auto)
    }

    /// Whether a run depends on [`MethodOptions::seed`](super::MethodOptions::seed).
    pub fn uses_seed(self) -> bool {
        use Method::{Auto, Cccp, DualCd, Owlqn, OwlqnStar, ProxBmrm, ProxPBmrm, Sgd};
        matches!(self, ProxBmrm | ProxPBmrm | DualCd | Sgd | Cccp | Owlqn | OwlqnStar | Auto)
    }

    /// Whether a run depends on [`MethodOptions::locality`](super::MethodOptions::locality).
    pub fn uses_locality(self) -> bool {
        use Method::{Auto, Nrbm, NrbmLs, NrbmLsFull, ProxNrbm};
        matches!(self, Nrbm | NrbmLs | NrbmLsFull | ProxNrbm | Auto)
    }

    /// Whether a run depends on
    /// [`MethodOptions::convex_problems`](super::MethodOptions::convex_problems).
    pub fn uses_convex_problems(self) -> bool {
        matches!(self, Method::Cccp | Method::Auto)
    }
}

/// The names of some methods, for a sentence that lists them.
pub(super) fn list(methods: impl Iterator<Item = Method>) -> String {
    methods.map(Method::name).collect::<Vec<_>>().join(", ")
}
