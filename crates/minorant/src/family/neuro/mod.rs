//! Networks under a chain: `neuro-crf`. What networks are is `neural`'s business; here are their
//! options, the weights to begin with, the precision of the products, and the way from sequences to
//! a problem and back.

mod form;

pub use form::NeuroForm;

use super::begin::begin;
use super::builder::{models, taken};
use super::hold_out::{Chosen, HeldOut, error_of, split};
use super::mean::{Mean, counted};
use super::sequence::{BOUNDARY, PER, Selection, Vocabulary, labelled};
use super::{Answer, Data, DataKind, Family, Settings, TrainError, Walk, Wanted, refuse, solvers};
use crate::certificate::Certificate;
use crate::neural::{Activation, Inputs, Network, NeuroRisk, Rbm, Start, start};
use crate::options::Kind::{Choice, Wholes};
use crate::options::common::{
    EVERY_RUN, LOCALITY, REGULARIZED, SEED, SEED_OF_STARTS, VALIDATION_FRACTION,
};
use crate::options::{Named, Probe, named, options, reading};
use crate::regularizer::L2;
use crate::risk::{Cancel, ExampleWeights, Risk};
use crate::solver::{Method, Outcome, Problem, RunError, StopRules};
use minorant_data::Sequences;
use minorant_linalg::product::Real;

/// How the weights to begin with are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pretrain {
    /// By restricted Boltzmann machines, without labels.
    Rbm,
    /// At random.
    None,
}

named!(Pretrain {
    Rbm = "rbm" "restricted Boltzmann machines by contrastive divergence, without labels",
    None = "none" "random numbers",
});
named!(Activation {
    Sigmoid = "sigmoid" "1/(1 + e^-x)",
    Tanh = "tanh" "tanh x",
    Relu = "relu" "max(0, x)",
});

models! {
    regularized;
    /// labels of sequences, by a network under a conditional random field
    NeuroCrf {
        name: "neuro-crf",
        is_convex: false,
        example: "letter.data.gz --hidden 300,300 --max-evals 150"
    }
}

options! {
    /// Units of each hidden layer, from the inputs on
    pub HIDDEN: Vec<u64> = ("hidden", "N,N,...", Wholes).default("300,300").probe("6,3");
    /// What hidden units do
    pub ACTIVATION: Activation = ("activation", "UNIT", Choice(Activation::CHOICES))
        .default("sigmoid").probe_with("tanh", &["--hidden", "5"]);
    /// Weights to begin with and to be regularised to
    pub PRETRAIN: Pretrain = ("pretrain", "HOW", Choice(Pretrain::CHOICES))
        .default("rbm").probe_with("none", &["--hidden", "5"]);
}

taken! {
    OWN;
    (NeuroCrf) wholes hidden: HIDDEN;
    (NeuroCrf) word activation: ACTIVATION;
    (NeuroCrf) word pretrain: PRETRAIN;
    (NeuroCrf) word per: PER;
    (NeuroCrf) flag boundary: BOUNDARY;
    (NeuroCrf) f64 validation_fraction: VALIDATION_FRACTION;
    (NeuroCrf) word locality: LOCALITY;
    // The seed is also that of the weights to begin with.
    (NeuroCrf) whole seed: SEED_OF_STARTS, Probe::with("7", &["--hidden", "5", "--max-evals", "3"]);
}

/// The family of networks under a chain.
pub(super) static FAMILY: Family = Family {
    models: &[NeuroCrf::MODEL],
    options: &[REGULARIZED, OWN, EVERY_RUN, reading::SEQUENCES],
    solvers: |_| solvers::names(&[Method::Auto, Method::Lbfgs], &[]),
    data: |_| DataKind::Sequences,
    offers: &[Wanted::Labels, Wanted::Scores, Wanted::Marginals],
    fit,
    start_from: None,
    load: |facts, file| Ok(Box::new(NeuroForm::read(facts, file)?)),
};

fn fit(data: Data<'_>, walk: &mut Walk<'_>) -> Result<Answer, TrainError> {
    let data = labelled(data)?;
    let network = network(data, walk.settings)?;
    let weights = walk.settings.example_weights();
    let weights = weights.as_deref();
    let examples = counted(weights, data.len(), "sequence")?;
    let [seen, kept_apart] = split(examples, |_| 0, walk.get(&VALIDATION_FRACTION))?
        .map(|examples| Selection::new(data, &examples, weights));
    let units = walk.get(&PER).units(&seen.starts);
    let mean = Mean::new(seen.weights.as_deref(), units, "sequence")?;
    let lambda = walk.settings.lambda(mean.total)?;
    check_method(data, &network, &L2::new(lambda)?, walk)?;
    let Walk { asked, observer, checkpoints } = walk;
    let how = match asked.settings.get(&PRETRAIN) {
        Pretrain::Rbm => Start::Rbm(Rbm::default()),
        Pretrain::None => Start::Random,
    };
    let make = |cancel: &Cancel| {
        if let Start::Rbm(_) = how {
            let what = "pretraining the layers without labels; then the objective is minimised";
            observer.preparing(what);
        }
        start(&network, &seen.tokens, how, asked.settings.get(&SEED), cancel)
    };
    let (mut store, rules) = begin(*asked, &mut **checkpoints, network.dim(), make)?;
    let regularizer = L2::new(lambda)?.with_center(store.carried.weights.clone())?;
    let run = Run {
        network: &network,
        seen: &seen,
        held_out: &kept_apart,
        shares: &mean.shares,
        regularizer: &regularizer,
    };
    let mut walk = Walk { asked: *asked, observer: &mut **observer, checkpoints: &mut store };
    // The answer's objective is computed in double precision, which takes an evaluation more.
    let most = rules.max_evaluations;
    let is_single = data.tokens.width() == 4 && most != Some(1);
    let (mut outcome, method, chosen) = if is_single {
        let rules = StopRules { max_evaluations: most.map(|most| most - 1), ..rules };
        run.minimise::<f32>(&mut walk, rules)?
    } else {
        run.minimise::<f64>(&mut walk, rules)?
    };
    if is_single {
        run.recompute(&mut outcome)?;
    }
    let (pretrain, seed) = (walk.get(&PRETRAIN), walk.get(&SEED));
    let held_out = HeldOut::new(chosen);
    let sizes = (data.len(), data.attributes.len());
    let penalty = regularizer.value(&outcome.point.w);
    let form = |weights| NeuroForm {
        network,
        vocabulary: Vocabulary::of(data),
        pretrain,
        seed,
        held_out,
        weights,
        start: store.carried.weights,
    };
    let mut answer = Answer::of_run(outcome, method, sizes, lambda, form);
    answer.report.regularizer = penalty;
    answer.report.further = held_out.keys().to_vec();
    Ok(answer)
}

/// The network for these sequences.
fn network(data: &Sequences, settings: &Settings) -> Result<Network, TrainError> {
    let hidden: Vec<usize> =
        settings.get(&HIDDEN).into_iter().map(|units| units as usize).collect();
    let widths: Vec<String> = hidden.iter().map(ToString::to_string).collect();
    let (inputs, labels) = (data.attributes.len(), data.classes.len());
    let (activation, boundary) = (settings.get(&ACTIVATION), settings.get(&BOUNDARY));
    let network = Network::new(inputs, hidden, activation, labels, boundary);
    // Weights, gradients and what methods remember: a few dozen vectors at least.
    let most = settings.max_bytes().unwrap_or(1 << 36) / 8;
    match network.checked_dim() {
        Some(dim) if (dim as u64) <= most / 16 => Ok(network),
        dim => refuse(format!(
            "a network of {inputs} inputs with hidden layers of {} units has {} weights, more than \
             fit into memory; use fewer units or fewer attributes",
            widths.join(","),
            dim.map_or("too many".into(), |dim| dim.to_string()),
        )),
    }
}

/// Refuses a method that cannot be used, before the weights to begin with are made.
fn check_method(
    data: &Sequences,
    network: &Network,
    regularizer: &L2,
    walk: &Walk<'_>,
) -> Result<(), TrainError> {
    let (inputs, shares) = (Inputs::<f32>::Sparse(&data.tokens), ExampleWeights::mean(1));
    let risk = NeuroRisk::new(network, inputs, &data.starts, &data.labels, shares);
    let problem = Problem::new(&risk, regularizer);
    walk.asked_method()?.build(problem, &walk.method_options())?;
    Ok(())
}

/// What is minimised, in either precision.
struct Run<'r> {
    network: &'r Network,
    seen: &'r Selection,
    held_out: &'r Selection,
    shares: &'r ExampleWeights,
    regularizer: &'r L2,
}

impl Run<'_> {
    fn risk<T: Real>(&self) -> NeuroRisk<'_, T> {
        let Selection { tokens, starts, labels, .. } = self.seen;
        NeuroRisk::new(self.network, Inputs::new(tokens), starts, labels, self.shares.clone())
    }

    fn minimise<T: Real>(
        &self,
        walk: &mut Walk<'_>,
        rules: StopRules,
    ) -> Result<(Outcome, Method, Option<Chosen>), TrainError> {
        let risk = self.risk::<T>();
        let problem = Problem::new(&risk, self.regularizer);
        let Selection { tokens, starts, labels, weights } = self.held_out;
        if labels.is_empty() {
            return walk.minimise_judged(problem, rules, None);
        }
        let inputs = Inputs::<T>::new(tokens);
        // The share of wrong labels.
        let judge = |w: &[f64]| {
            let scores = self.network.scores(w, &inputs, labels.len());
            let said = self.network.best_labels(w, &scores, starts);
            let spans = starts.windows(2).map(|span| span[0]..span[1]);
            error_of(spans, weights.as_deref(), |token| said[token] != labels[token])
        };
        walk.minimise_judged(problem, rules, Some(&judge))
    }

    /// Risk and objective of the answer in double precision: one evaluation.
    fn recompute(&self, outcome: &mut Outcome) -> Result<(), TrainError> {
        let w = std::mem::take(&mut outcome.point.w);
        outcome.point = self.risk::<f64>().at(w, &Cancel::new()).map_err(RunError::from)?;
        let objective = self.regularizer.value(&outcome.point.w) + outcome.point.value;
        outcome.certificate = Certificate { objective, lower_bound: None };
        outcome.evaluations += 1;
        Ok(())
    }
}
