//! `auto`: picks a method by what the risk offers and by sizes, never by the clock.

use super::{Method, MethodOptions, Problem, dual_cd};

/// Plane models where nobody says otherwise.
pub const DEFAULT_PARTS: usize = 16;
/// From this many weights on, extra plane models cost more memory than they save passes.
pub const MANY_WEIGHTS: usize = 10_000;
/// Dual coordinate ascent takes the more sweeps the more one example can move the weights that
/// another one sees: the mean of weight · ‖x ⊘ θ‖² / λ. Beyond this, planes get there sooner, but
/// only where they have enough rows for each weight; in many dimensions they need more of them
/// than anybody can afford.
const STEEP: f64 = 80.0;
/// The same where the loss is smooth, and Newton's method is what would be taken instead: over dense rows,
/// whose products with a Hessian are quick; and over sparse ones, or beside absolute weights, where that
/// method goes through columns and not through rows.
const STEEP_WHERE_SMOOTH: f64 = 1.0;
const STEEP_WHERE_SPARSE: f64 = 4.0;

impl Method {
    /// The method that `auto` stands for on this problem.
    pub(super) fn pick(problem: Problem<'_>) -> Method {
        let regularizer = problem.regularizer;
        let penalised = regularizer.lambda() > 0.0;
        if penalised && problem.risk.is_convex() && suits_dual_cd(problem) {
            return Method::DualCd;
        }
        if penalised && Method::Newton.missing(problem, &MethodOptions::default()).is_none() {
            return Method::Newton;
        }
        Method::pick_bundle(problem)
    }

    /// The same among the bundle methods, whose planes serve every λ of a path.
    pub(crate) fn pick_bundle(problem: Problem<'_>) -> Method {
        let (risk, regularizer) = (problem.risk, problem.regularizer);
        for method in [Method::NewtonCd, Method::Owlqn] {
            let fits = method.missing(problem, &MethodOptions::default()).is_none();
            if !regularizer.is_quadratic() && fits {
                return method;
            }
        }
        if !regularizer.is_quadratic() {
            let lines = risk.lines().is_some();
            return match regularizer.lambda() > 0.0 {
                _ if !risk.is_convex() => Method::Cccp,
                true if lines && risk.dim() < MANY_WEIGHTS && risk.max_parts() > 1 => {
                    Method::LsPBmrm
                }
                true if lines => Method::LsBmrm,
                true => Method::Bmrm,
                false => Method::ProxBmrm,
            };
        }
        if problem.regularizer.lambda() > 0.0 && !risk.is_convex() {
            // Without kinks curvature is worth more than planes.
            let smooth = risk.is_smooth() && risk.lines().is_none();
            return if smooth { Method::Lbfgs } else { Method::NrbmLs };
        }
        if problem.regularizer.lambda() == 0.0 {
            // There is no bound here: what counts is how far down a method gets.
            return match risk.subdifferential() {
                _ if risk.is_smooth() => Method::Lbfgs,
                Some(_) if risk.is_convex() => Method::SubLbfgs,
                _ => Method::Lmbm,
            };
        }
        match risk.lines() {
            Some(_) if risk.dim() < MANY_WEIGHTS && risk.max_parts() > 1 => Method::LsPBmrm,
            Some(_) => Method::LsBmrm,
            // An oracle is what costs here: outputs already seen are used up before the next call.
            None if risk.working_sets().is_some() && problem.regularizer.is_plain() => Method::Bcfw,
            None if risk.is_smooth() => Method::Lbfgs,
            None if risk.is_streamed() && risk.dim() < MANY_WEIGHTS => Method::PBmrm,
            None => Method::Bmrm,
        }
    }
}

/// Whether dual coordinate ascent can be used and is likely to end soon. It cannot make use of
/// weights to start from.
fn suits_dual_cd(problem: Problem<'_>) -> bool {
    if problem.start.is_some()
        || Method::DualCd.missing(problem, &MethodOptions::default()).is_some()
    {
        return false;
    }
    dual_cd::metric_of(problem).is_some_and(|metric| {
        let curvatures = metric.curvatures();
        let mean = curvatures.iter().sum::<f64>() / curvatures.len() as f64;
        let is_cheap = problem.risk.dual_coordinates().is_some_and(|dual| dual.has_cheap_steps());
        let steep = match problem.risk.is_smooth() {
            true if problem.regularizer.l1() > 0.0 || is_cheap => STEEP_WHERE_SPARSE,
            true => STEEP_WHERE_SMOOTH,
            false => STEEP,
        };
        mean <= steep || problem.risk.dim() > curvatures.len()
    })
}
