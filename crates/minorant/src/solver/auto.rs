//! `auto`: picks a method by what the risk offers and by sizes, never by the clock.

use super::{Method, Problem};

/// Plane models where nobody says otherwise.
pub const DEFAULT_PARTS: usize = 16;
/// From this many weights on, extra plane models cost more memory than they save passes.
pub const MANY_WEIGHTS: usize = 10_000;

impl Method {
    /// The method that `auto` stands for on this problem.
    pub(super) fn pick(problem: Problem<'_>) -> Method {
        let risk = problem.risk;
        match risk.lines() {
            Some(_) if risk.dim() < MANY_WEIGHTS && risk.max_parts() > 1 => Method::LsPBmrm,
            Some(_) => Method::LsBmrm,
            // An oracle is what costs here: outputs already seen are used up before the next call.
            None if risk.working_sets().is_some() && problem.regularizer.is_plain() => Method::Bcfw,
            None if risk.is_smooth() => Method::NrbmLs,
            None => Method::Bmrm,
        }
    }
}
