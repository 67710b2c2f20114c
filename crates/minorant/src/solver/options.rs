//! What a user may set of a method, and why a method cannot be had.

use super::Method;
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
        let unused = [
            ("memory", self.memory != usual.memory, method.uses_memory()),
            ("parts", self.parts.is_some_and(|parts| parts != 1), method.uses_parts()),
            ("locality", self.locality != usual.locality, method.uses_locality()),
            ("seed", self.seed != usual.seed, method.uses_seed()),
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
