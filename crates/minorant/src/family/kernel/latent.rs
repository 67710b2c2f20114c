//! `latent-svm`: a row is positive where one of several components says so, and which one is hidden.

use super::choice::Rows;
use super::found::{Common, Found};
use super::{Member, method, setting, two_classes};
use crate::family::{Model, TrainError, Walk};
use crate::latent::{self, LatentProblem, SOLVERS};
use crate::options::{Key, Kind, Probe, Range, Taken, option};
use minorant_data::Dataset;

/// Number of components.
pub static COMPONENTS: Key<usize> =
    option("components", "K", Kind::Whole(1, u64::MAX), "Number of components")
        .default("2")
        .probe(Probe::value("3"))
        .key();

/// What the loss of a positive row counts.
pub static C_POS: Key<f64> =
    option("c-pos", "C", Kind::Number(Range::Positive), "What the loss of a positive row counts")
        .default("1")
        .probe(Probe::value("3"))
        .key();

/// What the loss of a negative row counts.
pub static C_NEG: Key<f64> = option(
    "c-neg",
    "C",
    Kind::Number(Range::Positive),
    "What the loss of a negative row counts, for each component",
)
.default("1")
.probe(Probe::value("3"))
.key();

const NAME: &str = "latent-svm";

pub(super) const MODEL: Model = Model {
    name: NAME,
    about: "a positive class with hidden components, with kernels",
    is_convex: false,
    example: "train.svm --components 3 --kernel linear",
};

pub(super) static OPTIONS: &[Taken] = &[
    Taken::by(&[NAME], &COMPONENTS.spec),
    Taken::by(&[NAME], &C_POS.spec),
    Taken::by(&[NAME], &C_NEG.spec),
];

pub(super) static MEMBER: Member = Member {
    name: NAME,
    solvers: &SOLVERS,
    fit,
    fits: |classes, machines| classes == 2 && machines > 0,
    has_components: true,
    knows_unlabelled: false,
    unproven: "the best of many local optima: nothing is proven about other choices of the \
               components",
};

/// The larger label is positive.
fn fit(data: &Dataset<'_>, walk: &mut Walk<'_>) -> Result<Found, TrainError> {
    let labels = two_classes(data, NAME)?;
    let (rows, method) = (Rows::new(data, walk.settings), method(walk.settings));
    let gram = rows.gram()?;
    let positive = labels.iter().map(|z| *z == 1).collect();
    let (c_pos, c_neg) = (walk.get(&C_POS), walk.get(&C_NEG));
    let problem = LatentProblem::new(&gram, positive, walk.get(&COMPONENTS), c_pos, c_neg);
    let fit = latent::fit(&problem, &method, walk.cancel, walk.observer, walk.checkpoints);
    let common = Common {
        kernel: rows.kernel,
        classes: data.labels.classes.clone(),
        solver: method.solver.name(),
        weights: vec![("c_pos", c_pos), ("c_neg", c_neg)],
        balance: None,
    };
    Ok(Found::of_components(fit.map_err(setting)?, common))
}
