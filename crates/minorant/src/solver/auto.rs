//! `auto`: picks a method by what the risk offers and by sizes, never by the clock.

use super::{Method, Problem, sgd_pass};

/// Plane models where nobody says otherwise.
pub const DEFAULT_PARTS: usize = 16;
/// From this many weights on, extra plane models cost more memory than they save passes.
pub const MANY_WEIGHTS: usize = 10_000;
/// Dual coordinate ascent takes the more sweeps the more one example can move the weights that
/// another one sees: the mean of weight · ‖x ⊘ θ‖² / λ. Beyond this, planes get there sooner, but
/// only where they have enough rows for each weight; in many dimensions they need more of them
/// than anybody can afford.
const STEEP: f64 = 80.0;

impl Method {
    /// The method that `auto` stands for on this problem.
    pub(super) fn pick(problem: Problem<'_>) -> Method {
        let risk = problem.risk;
        match risk.lines() {
            Some(_) if suits_dual_cd(problem) => Method::DualCd,
            Some(_) if risk.dim() < MANY_WEIGHTS && risk.max_parts() > 1 => Method::LsPBmrm,
            Some(_) => Method::LsBmrm,
            None => Method::Bmrm,
        }
    }
}

/// Whether dual coordinate ascent can be used and is likely to end soon. It cannot make use of
/// weights to start from.
fn suits_dual_cd(problem: Problem<'_>) -> bool {
    if problem.start.is_some() || Method::DualCd.missing(problem).is_some() {
        return false;
    }
    sgd_pass::metric(problem).is_some_and(|metric| {
        let curvatures = metric.curvatures();
        let mean = curvatures.iter().sum::<f64>() / curvatures.len() as f64;
        mean <= STEEP || problem.risk.dim() > curvatures.len()
    })
}
