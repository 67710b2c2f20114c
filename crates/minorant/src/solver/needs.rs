//! What each method needs of a problem, and whether a problem offers it.

use super::{ConvexProblems, LineSearch, Method, MethodOptions, Problem, dual_cd, sgd_pass};
use crate::risk::{Examples, Risk};

/// What steps along examples need of θ.
const OF_FEATURES: &str = "regularization weights that are the same for all outputs of a feature";

impl Method {
    /// Whether stochastic descent goes without the metric that it has on convex risks of rows.
    pub(super) fn needs_no_metric(self, risk: &dyn Risk) -> bool {
        let has_metric = |all: &dyn Examples| all.metric(1.0, None).is_some();
        let of_rows = risk.is_convex() && risk.lines().is_some();
        self == Method::Sgd && !of_rows && !risk.examples().is_some_and(has_metric)
    }

    /// Whether the method goes without λ‖w‖²/2.
    fn needs_no_penalty(self) -> bool {
        let walks = self.walks() && self != Method::Subgradient;
        walks || matches!(self, Method::Nbm | Method::Lmbm)
    }

    /// Whether the method takes single rows or columns in an order of its own, at least for its start.
    fn wants_rows_at_hand(self, has_quadratic: bool) -> bool {
        match self {
            Method::DualCd | Method::Sgd | Method::NewtonCd | Method::Bcfw => true,
            Method::ProxBmrm | Method::ProxPBmrm => has_quadratic,
            _ => false,
        }
    }

    /// What the method needs and this problem does not offer.
    pub(super) fn missing(
        self,
        problem: Problem<'_>,
        options: &MethodOptions,
    ) -> Option<&'static str> {
        let risk = problem.risk;
        let regularizer = problem.regularizer;
        let has_quadratic = regularizer.lambda() > 0.0;
        let has_kinks = !regularizer.is_quadratic();
        let is_mixed = regularizer.l1() > 0.0 && regularizer.ranges().is_none();
        let smooth = risk.is_smooth() || options.despite_kinks;
        match self {
            Method::Auto => Method::pick(problem).missing(problem, options),
            _ if risk.is_streamed() && self.wants_rows_at_hand(has_quadratic) => {
                Some("rows that are all in memory (--max-memory allows more)")
            }
            Method::Owlqn | Method::OwlqnStar if !is_mixed => {
                Some("the penalty l1, without bounds")
            }
            Method::NewtonCd if !has_kinks => Some("the penalty l1, or bounds"),
            Method::Owlqn | Method::OwlqnStar => {
                (!risk.is_smooth() || !risk.is_convex()).then_some("a smooth risk")
            }
            Method::NewtonCd if !risk.is_convex() => Some("a convex risk"),
            Method::NewtonCd => (risk.lines().is_none() || risk.curvature().is_none())
                .then_some("the second derivatives of the risk"),
            Method::ProxBmrm | Method::ProxPBmrm if has_kinks && !has_quadratic => {
                let fits = risk.is_convex() && risk.is_nonnegative();
                (!fits).then_some("a convex risk that is known to be nowhere negative")
            }
            _ if has_kinks && !self.takes_kinks() => {
                Some("a quadratic regularizer, without absolute weights and bounds")
            }
            _ if has_kinks && !has_quadratic => {
                Some("a quadratic regularizer beside the absolute weights or bounds")
            }
            _ if !has_quadratic && !self.needs_no_penalty() => {
                Some("a quadratic regularizer with lambda above 0")
            }
            Method::Cccp if risk.difference().is_none() => {
                Some("a risk that is the difference of convex ones")
            }
            Method::Sgd if risk.examples().is_none() => Some("a risk that is a sum over examples"),
            Method::Sgd if self.needs_no_metric(risk) => None,
            Method::Cccp
                if options.convex_problems == ConvexProblems::Dual
                    && !risk
                        .difference()
                        .is_some_and(|difference| difference.has_dual_coordinates()) =>
            {
                Some("convex problems in the primal, or two classes")
            }
            _ if !risk.is_convex() && !self.walks() && !self.is_local() => Some("a convex risk"),
            Method::LsBmrm | Method::LsPBmrm | Method::Hybrid if risk.lines().is_none() => {
                Some("the restriction of the risk to lines")
            }
            _ if self.walks()
                && options.tuning.search == LineSearch::Exact
                && risk.lines().is_none() =>
            {
                Some("the restriction of the risk to lines")
            }
            Method::Lbfgs if !smooth => Some("a risk without kinks"),
            Method::Newton if !risk.is_smooth() => Some("a risk without kinks"),
            Method::Newton if risk.lines().is_none() || risk.curvature().is_none() => {
                Some("the second derivatives of the risk")
            }
            _ if self.finds_directions() && risk.subdifferential().is_none() => {
                Some("the whole subdifferential of the risk")
            }
            Method::DualCd if regularizer.l1() > 0.0 && regularizer.weights().is_some() => {
                Some("absolute weights without regularization weights")
            }
            Method::DualCd if risk.lines().is_none() || risk.dual_coordinates().is_none() => {
                Some("a hinge, squared hinge or logistic loss of two classes, or the joint hinge")
            }
            Method::Sgd if !problem.regularizer.is_centered() => Some("a regularizer centred at 0"),
            Method::DualCd if dual_cd::metric_of(problem).is_none() => Some(OF_FEATURES),
            Method::Sgd if sgd_pass::metric(problem).is_none() => Some(OF_FEATURES),
            Method::Bcfw if risk.working_sets().is_none() => {
                Some("a risk that is a maximum over outputs (a structured svm)")
            }
            Method::Bcfw if !problem.regularizer.is_plain() => {
                Some("a regularizer without weights and centre")
            }
            _ => None,
        }
    }
}
