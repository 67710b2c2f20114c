//! `robust-svm`: a support vector machine whose rows cost no more than 1 − S each, so that outliers
//! cannot pull at it.

use super::found::Found;
use super::{Member, fit_two_classes};
use crate::family::builder::{models, taken};
use crate::family::{Answer, TrainError, Walk, refuse};
use crate::options::Kind::Number;
use crate::options::Range::{BelowOne, Positive};
use crate::options::options;
use crate::s3vm::{RAMP_SOLVERS, RampProblem, fit_ramp};
use minorant_data::Dataset;

models! {
    unregularized;
    /// svm with a bounded loss, for data with outliers, with kernels
    RobustSvm {
        name: "robust-svm",
        is_convex: false,
        example: "train.svm --sigma 0.5 --c 10 --ramp -1"
    }
}

options! {
    /// What the loss of a row counts
    pub C: f64 = ("c", "C", Number(Positive)).default("1").probe("7");
    /// S of the loss min(1 − S, hinge): no row costs more than 1 − S
    pub RAMP: f64 = ("ramp", "S", Number(BelowOne)).default("-1").probe("0.5");
}

taken! {
    pub(super) OPTIONS;
    (RobustSvm) f64 c: C;
    (RobustSvm) f64 ramp: RAMP;
}

pub(super) static MEMBER: Member = Member {
    name: RobustSvm::MODEL.name,
    solvers: &RAMP_SOLVERS,
    fit,
    fits: |classes, machines| (classes, machines) == (2, 1),
    has_components: false,
    knows_unlabelled: false,
    unproven: "the best of many local optima: nothing is proven about other choices of the rows \
               that count",
};

fn fit(data: &Dataset<'_>, walk: &mut Walk<'_>) -> Result<Answer, TrainError> {
    let (c, ramp) = (walk.get(&C), walk.get(&RAMP));
    let losses = [("c", c), ("ramp", ramp)];
    fit_two_classes(&MEMBER, losses, data, walk, |gram, positive, method, walk| {
        let signs = positive.iter().map(|is| if *is { 1 } else { -1 }).collect();
        let problem = RampProblem { gram, signs, c, ramp };
        let fit = fit_ramp(&problem, method, walk.cancel, walk.observer, walk.checkpoints);
        Ok(Found::of_functions(&[fit.or_else(refuse)?]))
    })
}
