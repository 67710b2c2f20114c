//! `latent-svm`: a row is positive where one of several components says so, and which one is hidden.

use super::found::Found;
use super::{Member, fit_two_classes};
use crate::family::builder::{models, taken};
use crate::family::{Answer, TrainError, Walk, refuse};
use crate::latent::{self, LatentProblem, SOLVERS};
use crate::options::Kind::{Number, Whole};
use crate::options::Range::Positive;
use crate::options::options;
use minorant_data::Dataset;

models! {
    unregularized;
    /// a positive class with hidden components, with kernels
    LatentSvm {
        name: "latent-svm",
        is_convex: false,
        example: "train.svm --components 3 --kernel linear"
    }
}

options! {
    /// Number of components
    pub COMPONENTS: usize = ("components", "K", Whole(1, u64::MAX)).default("2").probe("3");
    /// What the loss of a positive row counts
    pub C_POS: f64 = ("c-pos", "C", Number(Positive)).default("1").probe("3");
    /// What the loss of a negative row counts, for each component
    pub C_NEG: f64 = ("c-neg", "C", Number(Positive)).default("1").probe("3");
}

taken! {
    pub(super) OPTIONS;
    (LatentSvm) whole components: COMPONENTS;
    (LatentSvm) f64 c_pos: C_POS;
    (LatentSvm) f64 c_neg: C_NEG;
}

pub(super) static MEMBER: Member = Member {
    name: LatentSvm::MODEL.name,
    solvers: &SOLVERS,
    fit,
    fits: |classes, machines| classes == 2 && machines > 0,
    has_components: true,
    knows_unlabelled: false,
    unproven: "the best of many local optima: nothing is proven about other choices of the \
               components",
};

fn fit(data: &Dataset<'_>, walk: &mut Walk<'_>) -> Result<Answer, TrainError> {
    let (c_pos, c_neg) = (walk.get(&C_POS), walk.get(&C_NEG));
    let losses = [("c_pos", c_pos), ("c_neg", c_neg)];
    fit_two_classes(&MEMBER, losses, data, walk, |gram, positive, method, walk| {
        let components = walk.get(&COMPONENTS);
        let problem = LatentProblem::new(gram, positive, components, c_pos, c_neg);
        let fit = latent::fit(&problem, method, walk.cancel, walk.observer, walk.checkpoints);
        Ok(Found::of_components(fit.or_else(refuse)?))
    })
}
