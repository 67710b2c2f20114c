//! Support vector machines with kernels: one file a model, which says what the model is called,
//! which options are its own, how labels become its problem, and what its answer is made of. What
//! they share stands once: kernels and rows (`choice`), support rows and sums over searches
//! (`found`), and the fitted form (`form`). No mathematics is done here: that is
//! [`crate::s3vm`]'s and [`crate::latent`]'s.

mod choice;
mod form;
mod found;
mod latent;
mod robust;
mod s3vm;

pub use choice::{KERNEL, OFFSET, POWER, SIGMA};
pub use form::{KernelForm, Machine};
pub use latent::{C_NEG, C_POS, COMPONENTS};
pub use robust::{C, RAMP};
pub use s3vm::{ABS_TOL, BALANCE, C1, C2, MODE, RAMP_OF_CCCP, TRACE_LABELS, TRUTH};

use super::builder::taken;
use super::classes::one_class_a_row;
use super::{Answer, DataKind, Family, Settings, TrainError, Walk, Wanted, refuse};
use crate::kernel::Gram;
use crate::options::Kind::Number;
use crate::options::Range::Fraction;
use crate::options::common::{self, EVERY_RUN, SEED, SOLVER};
use crate::options::reading::ROWS;
use crate::options::{Effect, Key, Need, Probe, options};
use crate::s3vm::{Options, Solver};
use builders::{LatentSvm, RobustSvm, S3vm};
use choice::Rows;
use found::Found;
use minorant_data::Dataset;

/// The relative gap, which inner problems are solved to: another one makes other iterates.
pub static TOL: Key<f64> = common::TOL
    .spec
    .default("1e-6")
    .help("Relative accuracy of the inner problems, and the gap at which bb stops")
    .effect(Effect::Iterates)
    .probe_with("0.01", &["--kernel", "linear"])
    .key();

options! {
    /// pdm: candidates of a round, as a fraction of the rows that it searches over
    pub DEGREE: f64 = ("degree", "M", Number(Fraction))
        .default("0.1").of_method().needs(BY_PDM).probe("1");
}

/// What options of `pdm` need.
const BY_PDM: &[Need] = &[Need::Is("solver", &["auto", "pdm"])];

/// The builders of the family's models.
pub mod builders {
    pub use super::{latent::builders::*, robust::builders::*, s3vm::builders::*};
}

taken! {
    /// What all models of the family take besides their own options.
    SHARED;
    (S3vm LatentSvm RobustSvm) word kernel: KERNEL;
    (S3vm LatentSvm RobustSvm) f64 sigma: SIGMA;
    (S3vm LatentSvm RobustSvm) whole power: POWER;
    (S3vm LatentSvm RobustSvm) f64 offset: OFFSET;
    (S3vm LatentSvm RobustSvm) word solver: SOLVER, Probe::with("ao", &["--max-evals", "30"]);
    (S3vm LatentSvm RobustSvm) f64 degree: DEGREE;
    (S3vm LatentSvm RobustSvm) whole seed: SEED, Probe::with("7", &["--kernel", "linear"]);
    (S3vm LatentSvm RobustSvm) f64 tol: TOL;
}

static MEMBERS: [&Member; 3] = [&s3vm::MEMBER, &latent::MEMBER, &robust::MEMBER];

/// One model of the family, as its own file declares it.
#[derive(Debug)]
struct Member {
    /// Its name.
    name: &'static str,
    /// The methods that it has.
    solvers: &'static [Solver],
    /// Trains it.
    fit: fn(&Dataset<'_>, &mut Walk<'_>) -> Result<Answer, TrainError>,
    /// Whether a model of this kind may have so many classes and decision functions.
    fits: fn(classes: usize, machines: usize) -> bool,
    /// Whether its decision functions are components, of which the greatest decides, and not those
    /// of classes.
    has_components: bool,
    /// Whether the label 0 says that a row has none.
    knows_unlabelled: bool,
    /// The sentence that tells what is not proven where no bound is known.
    unproven: &'static str,
}

/// The model of this name.
fn member(name: &str) -> &'static Member {
    let found = MEMBERS.into_iter().find(|member| member.name == name);
    found.unwrap_or_else(|| unreachable!("{name} is no kernel model"))
}

/// The family of kernel models.
pub(super) static FAMILY: Family = Family {
    models: &[S3vm::MODEL, LatentSvm::MODEL, RobustSvm::MODEL],
    options: &[s3vm::OPTIONS, latent::OPTIONS, robust::OPTIONS, SHARED, EVERY_RUN, ROWS],
    solvers: |model| {
        let names = member(model.name).solvers.iter().map(|solver| solver.name());
        std::iter::once("auto").chain(names).collect()
    },
    data: |_| DataKind::Rows,
    offers: &[Wanted::Labels, Wanted::Scores],
    fit: |data, walk| (member(walk.settings.model()).fit)(data.rows()?, walk),
    start_from: None,
    load: |facts, file| Ok(Box::new(KernelForm::load(member(facts.model()), facts, file)?)),
};

/// The settings of methods that all models take.
fn method(settings: &Settings) -> Options {
    Options {
        solver: Solver::from_name(&settings.solver()).unwrap_or_default(),
        degree: settings.get(&DEGREE),
        seed: settings.get(&SEED),
        rules: settings.rules(),
        ..Options::default()
    }
}

/// Trains a model of two classes, of which the larger is positive, with these weights of losses. `search`
/// gets the kernel matrix, whether each row is positive, and the settings of the method.
fn fit_two_classes(
    member: &'static Member,
    losses: [(&str, f64); 2],
    data: &Dataset<'_>,
    walk: &mut Walk<'_>,
    search: impl FnOnce(&Gram<'_>, Vec<bool>, &Options, &mut Walk<'_>) -> Result<Found, TrainError>,
) -> Result<Answer, TrainError> {
    let labels = one_class_a_row(&data.labels, member.name, "")?;
    let classes = &data.labels.classes;
    if classes.len() != 2 {
        let (model, found) = (member.name, classes.len());
        return refuse(format!(
            "{model} takes two classes, of which the larger is positive; found {found}"
        ));
    }
    let (rows, mut method) = (Rows::new(data, walk.settings), method(walk.settings));
    let gram = rows.gram(&mut method.rules, walk.cancel)?;
    let found = search(&gram, labels.iter().map(|z| *z == 1).collect(), &method, walk)?;
    let form = KernelForm::new(member, &rows, classes, losses);
    Ok(found.answer(form, method.solver.name(), data))
}
