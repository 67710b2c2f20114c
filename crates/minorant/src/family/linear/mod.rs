//! Linear models of rows: `svm`, `logistic`, `regression`, `ramp-svm` and `tsvm`. Labels become targets,
//! and targets with a loss a risk; classes may be trained one against the rest, and models that are not
//! convex start at the svm of their labelled rows.

mod form;
mod from_svm;
mod losses;
mod occurring;
mod one_vs_rest;
mod options;
pub mod regression;
mod residuals;
mod start;
mod targets;

pub use form::{LinearForm, SubProblem, TargetKind};
use losses::WeightedRows;
pub use losses::{HUBER, LOSS, LossName};
pub(crate) use one_vs_rest::check_evaluations;
pub use options::{
    BALANCE_MEAN, BIAS_WEIGHT, CLASS_WEIGHT, GAMMA, MULTICLASS, Multiclass, RAMP, STARTS,
};
pub use residuals::middle_of;
pub use start::start_from;
pub(crate) use targets::Targets;

use occurring::{Occurring, Spreading};

use super::{
    Answer, Asked, Data, DataKind, Family, Model, Settings, TrainError, TrainReport, Walk, Wanted,
    refuse,
};
use crate::family::builder::models;
use crate::family::penalty::LinearWeights;
use crate::options::common::{self, BIAS};
use crate::options::reading;
use crate::regularizer::L2;
use crate::risk::{ExampleWeights, Risk};
use crate::solver::{Method, Outcome, Problem, StopRules};
use minorant_data::Dataset;
use minorant_linalg::Design;

models! {
    regularized;
    /// support vector machine: two or more classes, or sets of labels
    Svm { name: "svm", is_convex: true, example: "train.svm --lambda 1e-4 --out model.safetensors" }
    /// logistic regression, binary or softmax
    Logistic { name: "logistic", is_convex: true, example: "train.csv --label-column species --json" }
    /// numbers predicted: least squares, quantiles, robust and insensitive losses
    /// Labels are numbers to be met: [`Targets`](crate::data::Targets).
    Regression {
        name: "regression",
        is_convex: true,
        takes_targets: true,
        example: "train.csv --loss quantile --tau 0.1,0.5,0.9 --bias 1 --lambda 1e-4"
    }
    /// svm with a bounded loss, for data with outliers
    RampSvm { name: "ramp-svm", is_convex: false, example: "train.svm --ramp -1 --lambda 1e-3" }
    /// transductive svm, for rows of which most have no label
    /// Those are labelled 0; [`Dataset::with_unlabelled`] puts such rows under others.
    Tsvm {
        name: "tsvm",
        is_convex: false,
        example: "few-labels.svm --unlabeled many.svm --gamma 5 --starts 5"
    }
}

/// The family of linear models.
pub(crate) static FAMILY: Family = Family {
    models: &[Svm::MODEL, Logistic::MODEL, Regression::MODEL, RampSvm::MODEL, Tsvm::MODEL],
    options: &[
        losses::OWN,
        regression::OWN,
        options::OWN,
        common::REGULARIZED,
        common::EVERY_RUN,
        reading::ROWS,
    ],
    solvers: solvers_of,
    data: |_| DataKind::Rows,
    offers: &[Wanted::Labels, Wanted::Scores],
    fit,
    start_from: Some(|model, data, settings| start_from(model, data.rows()?, settings).map(Some)),
    load: LinearForm::load,
};

/// The names of a model's solvers.
fn solvers_of(model: &Model) -> Vec<&'static str> {
    use Method::*;
    let held = |method: &Method| match method {
        Auto | Nrbm | NrbmLs | NrbmLsFull | ProxNrbm | Nbm | Lmbm | Gd | Subgradient => true,
        Cccp => !model.is_convex,
        // The svm has lbfgs, newton and newton-cd for its smooth losses.
        Bmrm | LmBmrm | PBmrm | ProxBmrm | ProxPBmrm | LsBmrm | LsPBmrm | SubBfgs | SubLbfgs
        | Hybrid | SubGd | Lbfgs | Newton | Sgd => model.is_convex,
        Owlqn | OwlqnStar => model.name == "logistic",
        NewtonCd => model.is_convex,
        DualCd => ["svm", "logistic", "regression"].contains(&model.name),
        Bcfw => false,
    };
    Method::ALL.into_iter().filter(held).map(Method::name).collect()
}

fn fit(data: Data<'_>, walk: &mut Walk<'_>) -> Result<Answer, TrainError> {
    let data = data.rows()?;
    let rows = Rows::new(data, walk.settings)?;
    rows.check_start(walk.start)?;
    let lambda = walk.settings.lambda(rows.targets.total(walk.settings))?;
    let Some(occurring) = Occurring::of(&rows) else {
        let solved = rows.solve(lambda, walk)?;
        return Ok(rows.answer(lambda, solved));
    };
    let narrow = occurring.narrowed(data);
    let start = walk.start.map(|start| occurring.gather(start, rows.targets.problems()));
    let proof_bytes = occurring.share_of(walk.proof_bytes);
    let asked = Asked { start: start.as_deref(), proof_bytes, ..walk.asked };
    let narrow = Rows::new(&narrow, walk.settings)?;
    let mut observer = Spreading { occurring: &occurring, observer: &mut *walk.observer };
    let mut own = Walk { asked, observer: &mut observer, checkpoints: &mut *walk.checkpoints };
    let mut solved = narrow.solve(lambda, &mut own)?;
    let whole = solved.outcomes.into_iter().map(|outcome| occurring.spread_outcome(outcome));
    solved.outcomes = whole.collect();
    Ok(rows.answer(lambda, solved))
}

/// The outcomes of all problems of some rows.
pub(crate) struct Solved {
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) method: Method,
    /// The absolute gap that was asked for, where it is one for the only problem.
    pub(crate) abs_tol: Option<f64>,
}

/// The loss of a model, which the svm has a choice of.
pub(crate) fn loss_of(settings: &Settings) -> LossName {
    match settings.model() {
        "logistic" => LossName::Logistic,
        "ramp-svm" => LossName::Ramp,
        "tsvm" => LossName::Transductive,
        "regression" => settings.get(&regression::LOSS),
        _ => settings.get(&LOSS),
    }
}

/// Rows with their targets and weights, ready to become risks.
#[derive(Debug)]
pub(crate) struct Rows<'a> {
    pub(crate) data: &'a Dataset<'a>,
    pub(crate) settings: &'a Settings,
    pub(crate) targets: Targets,
    pub(crate) shares: ExampleWeights,
    pub(crate) design: Design<'a>,
}

impl<'a> Rows<'a> {
    /// The rows of a data set under some settings, if they go together.
    pub(crate) fn new(data: &'a Dataset<'a>, settings: &'a Settings) -> Result<Self, TrainError> {
        let targets = Targets::new(&data.labels, settings)?;
        let shares = targets.shares(&data.labels, settings)?;
        let design = Design::new(&data.features, settings.get(&BIAS));
        Ok(Rows { data, settings, targets, shares, design })
    }

    /// Weights of one problem.
    pub(crate) fn dim(&self) -> usize {
        self.design.features() * self.targets.outputs
    }

    /// The rows with what they weigh, for a risk.
    fn weighted(&self) -> WeightedRows<'a> {
        let (design, weights) = (self.design, self.shares.clone());
        WeightedRows { design, weights, settings: self.settings }
    }

    /// The risk of a problem.
    pub(crate) fn risk(&self, problem: usize) -> Box<dyn Risk + 'a> {
        loss_of(self.settings).risk(&self.targets, problem, self.weighted())
    }

    /// When a run on one of the problems stops.
    pub(crate) fn rules(&self, risk: &dyn Risk) -> Result<StopRules, TrainError> {
        regression::rules(&self.targets, risk, self.settings)
    }

    /// Ω of a problem.
    pub(crate) fn regularizer(&self, lambda: f64) -> Result<L2, TrainError> {
        let (columns, outputs) = (self.data.features.cols(), self.targets.outputs);
        LinearWeights { settings: self.settings, columns, outputs }.regularizer(lambda)
    }

    /// Refuses start weights that are not one finite number for each weight of all problems.
    pub(crate) fn check_start(&self, start: Option<&[f64]>) -> Result<(), TrainError> {
        let dim = self.dim() * self.targets.problems();
        match start {
            Some(start) if start.len() != dim || !start.iter().all(|w| w.is_finite()) => refuse(
                format!("expected {dim} finite weights to start from, found {}", start.len()),
            ),
            _ => Ok(()),
        }
    }

    /// Solves the problems.
    fn solve(&self, lambda: f64, walk: &mut Walk<'_>) -> Result<Solved, TrainError> {
        let regularizer = self.regularizer(lambda)?;
        regularizer.check(self.dim())?;
        let ((outcomes, method), abs_tol) = if self.targets.kind == TargetKind::OneVsRest {
            (one_vs_rest::solve(self, &regularizer, walk)?, None)
        } else if from_svm::is_start_of(&self.targets, walk.settings) {
            (from_svm::solve(self, &regularizer, walk)?, None)
        } else {
            let risk = self.risk(0);
            let problem = Problem::new(&*risk, &regularizer).starting_at(walk.start);
            let rules = self.rules(&*risk)?;
            let (outcome, method) = walk.minimise(problem, rules)?;
            ((vec![outcome], method), Some(rules.abs_tol))
        };
        Ok(Solved { outcomes, method, abs_tol })
    }

    /// The answer made of the outcomes of all problems.
    pub(crate) fn answer(&self, lambda: f64, solved: Solved) -> Answer {
        let Solved { mut outcomes, method, abs_tol } = solved;
        let sizes = (self.data.features.rows(), self.data.features.cols());
        let mut report = TrainReport::of_runs(method.name(), sizes, lambda, &outcomes);
        if abs_tol.is_some() {
            report.abs_tol = abs_tol;
        }
        let proofs = outcomes.iter_mut().map(|outcome| outcome.proof.take()).collect();
        let form = LinearForm::new(self, outcomes);
        report.further.extend(form.scale.map(|scale| ("scale", scale.into())));
        Answer { form: Box::new(form), proofs, report }
    }
}
