//! `robust-svm`: a support vector machine whose rows cost no more than 1 − S each, so that outliers
//! cannot pull at it.

use super::choice::Rows;
use super::found::Found;
use super::{KernelForm, Member, method, two_classes};
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

/// The larger label is positive.
fn fit(data: &Dataset<'_>, walk: &mut Walk<'_>) -> Result<Answer, TrainError> {
    let labels = two_classes(data, MEMBER.name)?;
    let (rows, mut method) = (Rows::new(data, walk.settings), method(walk.settings));
    let gram = rows.gram(&mut method.rules, walk.cancel)?;
    let signs = labels.iter().map(|z| if *z == 1 { 1 } else { -1 }).collect();
    let (c, ramp) = (walk.get(&C), walk.get(&RAMP));
    let problem = RampProblem { gram: &gram, signs, c, ramp };
    let fit = fit_ramp(&problem, &method, walk.cancel, walk.observer, walk.checkpoints);
    let form = KernelForm::new(&MEMBER, &rows, &data.labels.classes, [("c", c), ("ramp", ramp)]);
    Ok(Found::of_functions(&[fit.or_else(refuse)?]).answer(form, method.solver.name(), data))
}
