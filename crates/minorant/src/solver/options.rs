//! What a user may set of a method, and why a method cannot be had.

use super::{Method, Subgradients};
use crate::bundle::Locality;

/// How the concave-convex procedure solves its convex problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConvexProblems {
    /// By the convex bundle method, started at the best point.
    #[default]
    Primal,
    /// By dual coordinate ascent.
    Dual,
}

/// How the walking methods search lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LineSearch {
    /// Exactly where the risk offers lines and has kinks, by the Wolfe conditions else.
    #[default]
    Auto,
    /// Exactly.
    Exact,
    /// By the Wolfe conditions.
    Wolfe,
}

/// Parameters that the papers name; ours where none is given.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tuning {
    /// k_max of Algorithm 2 of Yu et al.
    pub direction_limit: Option<u64>,
    /// h of Algorithm 1 of Yu et al.
    pub curvature_floor: Option<f64>,
    /// How lines are searched.
    pub search: LineSearch,
    /// c₁ of the Wolfe conditions.
    pub wolfe_decrease: Option<f64>,
    /// c₂ of the Wolfe conditions.
    pub wolfe_curvature: Option<f64>,
    /// Whether the orthant-wise methods draw subgradients at random (§8.4 of Yu et al.).
    pub subgradients: Subgradients,
    /// K of Uříčář and Franc, as a share of the length of the start point.
    pub prox_distance: Option<f64>,
    /// T of Uříčář and Franc.
    pub prox_iterations: Option<f64>,
    /// ‖g‖/‖w‖ at which `lbfgs` ends.
    pub stop_gradient: Option<f64>,
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
    /// Whether planes take over as soon where `dual-cd` takes too long as with `auto`.
    pub hands_over: bool,
    /// Parameters that the papers name.
    pub tuning: Tuning,
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

impl MethodOptions {
    /// Refuses settings that an explicitly chosen method has no use for. A setting counts as given
    /// where it is not the default; `auto` has a use for all of them.
    pub fn refuse_unused(&self, method: Method) -> Result<(), MethodError> {
        let usual = MethodOptions::default();
        let (tuning, plain) = (self.tuning, usual.tuning);
        let searches = method.walks() || matches!(method, Method::Hybrid | Method::Auto);
        let finds = method.finds_directions() || method == Method::Auto;
        let has_prox = matches!(method, Method::ProxBmrm | Method::ProxPBmrm | Method::Auto);
        let by_orthants = matches!(method, Method::Owlqn | Method::OwlqnStar | Method::Auto);
        let unused = [
            ("memory", self.memory != usual.memory, method.uses_memory()),
            ("parts", self.parts.is_some_and(|parts| parts != 1), method.uses_parts()),
            ("locality", self.locality != usual.locality, method.uses_locality()),
            ("seed", self.seed != usual.seed, method.uses_seed()),
            ("direction-tol", self.direction_tolerance.is_some(), finds),
            ("direction-limit", tuning.direction_limit.is_some(), finds),
            ("curvature-floor", tuning.curvature_floor.is_some(), finds),
            ("search", tuning.search != plain.search, searches),
            ("wolfe-decrease", tuning.wolfe_decrease.is_some(), searches),
            ("wolfe-curvature", tuning.wolfe_curvature.is_some(), searches),
            ("subgradients", tuning.subgradients != plain.subgradients, by_orthants),
            ("prox-distance", tuning.prox_distance.is_some(), has_prox),
            ("prox-iterations", tuning.prox_iterations.is_some(), has_prox),
            ("stop-gradient", tuning.stop_gradient.is_some(), method == Method::Lbfgs),
            (
                "convex problems",
                self.convex_problems != usual.convex_problems,
                method.uses_convex_problems(),
            ),
        ];
        let names: Vec<&str> = unused
            .into_iter()
            .filter(|(_, is_given, is_used)| *is_given && !is_used)
            .map(|(name, ..)| name)
            .collect();
        if names.is_empty() {
            return Ok(());
        }
        let names = names.join(", ");
        Err(MethodError::Setting(format!("{} has no use for the setting {names}", method.name())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_without_use_are_refused() {
        let options =
            MethodOptions { memory: Some(5), parts: Some(4), seed: 3, ..Default::default() };
        assert_eq!(options.refuse_unused(Method::Auto), Ok(()));
        let refused = options.refuse_unused(Method::NewtonCd).unwrap_err().to_string();
        assert_eq!(refused, "newton-cd has no use for the setting memory, parts, seed");
        let refused = options.refuse_unused(Method::ProxBmrm).unwrap_err().to_string();
        assert_eq!(refused, "prox-bmrm has no use for the setting parts");
        assert_eq!(options.refuse_unused(Method::ProxPBmrm), Ok(()));
        for method in Method::ALL {
            assert_eq!(MethodOptions::default().refuse_unused(method), Ok(()));
        }
    }
}
