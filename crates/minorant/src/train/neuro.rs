//! From labelled sequences to a fitted network under a chain: the weights to begin with, the risk
//! in the precision of the data, the method, the answer's objective. No mathematics is done here.

use super::example_weights::{Mean, counted};
use super::validation::{Chosen, Validation, WithChoice, error_of, held_out, part_and_apart};
use super::{Lambda, Per, TrainError, TrainReport};
use crate::archive::Archive;
use crate::certificate::Certificate;
use crate::fingerprint::Fingerprint;
use crate::model::NeuroModel;
use crate::neural::{Activation, Inputs, Network, NeuroRisk, Rbm, Start, start};
use crate::regularizer::L2;
use crate::risk::{Cancel, ExampleWeights, Risk};
use crate::solver::{
    self, Checkpoints, Method, MethodOptions, Outcome, Problem, RunError, StopRules,
};
use crate::trace::Observer;
use minorant_data::Sequences;
use minorant_linalg::product::Real;
use minorant_linalg::{Matrix, Values};
use std::cell::RefCell;

/// How the weights to begin with are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pretrain {
    /// By restricted Boltzmann machines, without labels.
    #[default]
    Rbm,
    /// At random.
    None,
}

impl Pretrain {
    /// The name that users type.
    pub fn as_str(self) -> &'static str {
        match self {
            Pretrain::Rbm => "rbm",
            Pretrain::None => "none",
        }
    }
}

/// Everything that training a network under a chain depends on besides the data.
#[derive(Debug, Clone)]
pub struct NeuroOptions {
    /// Units of each hidden layer.
    pub hidden: Vec<usize>,
    /// What they do.
    pub activation: Activation,
    /// How the weights to begin with are made.
    pub pretrain: Pretrain,
    /// How machines are trained.
    pub rbm: Rbm,
    /// Labels at the beginning and at the end have weights.
    pub boundary: bool,
    /// What the risk is the mean over.
    pub per: Per,
    /// The share of the sequences that is held out to choose among the run's best points; none
    /// where it is 0.
    pub validation_fraction: f64,
    /// One weight for each sequence. One of weight 0 is left out; the machines see the others alike.
    pub example_weights: Option<Vec<f64>>,
    /// λ or C; 1/Σ sᵢ if not given, and with tokens as units 1/Σ sᵢ Tᵢ over the sequences' lengths.
    pub lambda: Option<Lambda>,
    /// The method.
    pub method: Method,
    /// Its settings.
    pub method_options: MethodOptions,
    /// When to stop.
    pub rules: StopRules,
}

impl Default for NeuroOptions {
    fn default() -> Self {
        NeuroOptions {
            hidden: vec![300, 300],
            activation: Activation::default(),
            pretrain: Pretrain::default(),
            rbm: Rbm::default(),
            boundary: false,
            per: Per::default(),
            validation_fraction: 0.0,
            example_weights: None,
            lambda: None,
            method: Method::Auto,
            method_options: MethodOptions::default(),
            rules: StopRules::default(),
        }
    }
}

impl NeuroOptions {
    /// All settings that the iterates depend on besides the example weights, for checkpoints.
    pub fn settings(&self) -> String {
        format!(
            "{:?}",
            (
                (&self.hidden, self.activation, self.pretrain, self.rbm, self.boundary),
                (self.per, self.validation_fraction, self.lambda, self.method),
                (self.method_options.memory, self.method_options.parts),
                (self.method_options.locality, self.method_options.seed),
            )
        )
    }

    /// Refuses settings out of range, and sequences that nothing can be learned from.
    pub fn check(&self, data: &Sequences) -> Result<(), TrainError> {
        let network = self.network(data)?;
        let regularizer = L2::new(Lambda::value(self.lambda, 1.0)?)?;
        self.parts(data)?;
        // A method that cannot be had is refused before the weights to begin with are made.
        let (inputs, weights) = (Inputs::<f32>::Sparse(&data.tokens), ExampleWeights::mean(1));
        let risk = NeuroRisk::new(&network, inputs, &data.starts, &data.labels, weights);
        let problem = Problem::new(&risk, &regularizer);
        self.method.build(problem, &self.method_options)?;
        Ok(())
    }

    /// Sequences to train on and sequences that are held out; those of weight 0 are neither.
    fn parts(&self, data: &Sequences) -> Result<[Vec<usize>; 2], TrainError> {
        let of = counted(self.example_weights.as_deref(), data.len(), "sequence")?;
        let fraction = self.validation_fraction;
        if !(0.0..1.0).contains(&fraction) {
            return Err(TrainError::Setting(format!(
                "the held-out fraction must be from 0 to below 1, not {fraction}"
            )));
        }
        if fraction == 0.0 {
            return Ok([of, Vec::new()]);
        }
        let held = held_out(&vec![0; of.len()], 1, fraction);
        if held.contains(&true) && held.contains(&false) {
            return Ok(part_and_apart(&of, &held));
        }
        Err(TrainError::Setting(format!(
            "expected enough sequences to hold out a share of {fraction}, found {}",
            of.len()
        )))
    }

    /// The network for these sequences.
    fn network(&self, data: &Sequences) -> Result<Network, TrainError> {
        let refuse = |sentence: String| Err(TrainError::Setting(sentence));
        if data.labels.is_empty() {
            return refuse("the data has no labels to train on".into());
        }
        if self.hidden.is_empty() {
            return refuse("a network needs at least one hidden layer".into());
        }
        if self.hidden.contains(&0) {
            return refuse("every hidden layer must have at least 1 unit, not 0".into());
        }
        let (inputs, labels) = (data.attributes.len(), data.classes.len());
        let hidden = self.hidden.clone();
        let network = Network::new(inputs, hidden, self.activation, labels, self.boundary);
        // Weights, gradients and what methods remember: a few dozen vectors at least.
        let most = self.method_options.max_bytes.unwrap_or(1 << 36) / 8;
        match network.checked_dim() {
            Some(dim) if (dim as u64) <= most / 16 => Ok(network),
            dim => refuse(format!(
                "a network of {inputs} inputs with hidden layers of {} units has {} weights, more than fit into memory; use fewer units or fewer attributes",
                self.hidden.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
                dim.map_or("too many".into(), |dim| dim.to_string()),
            )),
        }
    }
}

/// Trains a network under a chain.
pub fn train_neuro(
    data: &Sequences,
    options: &NeuroOptions,
    cancel: &Cancel,
    observer: &mut dyn Observer,
    checkpoints: &mut dyn Checkpoints,
) -> Result<(NeuroModel, TrainReport), TrainError> {
    let network = options.network(data)?;
    options.check(data)?;
    let example_weights = options.example_weights.as_deref();
    let [part, apart] = options.parts(data)?.map(|of| Part::new(data, &of, example_weights));
    let mean = part.mean(options.per)?;
    let lambda = Lambda::value(options.lambda, mean.total)?;
    let mut checkpoints = WithStart::new(checkpoints);
    if checkpoints.start.len() != network.dim() {
        let how = match options.pretrain {
            Pretrain::Rbm => Start::Rbm(options.rbm),
            Pretrain::None => Start::Random,
        };
        let seed = options.method_options.seed;
        let start = start(&network, &part.tokens, how, seed, cancel);
        checkpoints.start = start.map_err(RunError::from)?;
    }
    let regularizer = L2::new(lambda)?.with_center(checkpoints.start.clone())?;
    let (network, regularizer) = (&network, &regularizer);
    let task =
        Task { network, part: &part, apart: &apart, shares: &mean.shares, regularizer, options };
    // The answer's objective is computed in double precision, which takes an evaluation more.
    let most = options.rules.max_evaluations;
    let is_single = matches!(data.tokens.values(), Values::F32(_)) && most != Some(1);
    let (outcome, method, chosen) = if is_single {
        let rules = StopRules { max_evaluations: most.map(|most| most - 1), ..options.rules };
        let (mut outcome, method, chosen) =
            task.run::<f32>(rules, cancel, observer, &mut checkpoints)?;
        task.recompute(&mut outcome)?;
        (outcome, method, chosen)
    } else {
        task.run::<f64>(options.rules, cancel, observer, &mut checkpoints)?
    };
    let report = TrainReport {
        solver: method.name(),
        examples: data.len(),
        features: data.attributes.len(),
        dim: network.dim(),
        lambda,
        regularizer: regularizer.value(&outcome.point.w),
        risk: outcome.point.value,
        certificate: outcome.certificate,
        local_gap: outcome.local_gap,
        status: outcome.status,
        evaluations: outcome.evaluations,
        iterations: outcome.iterations,
        direction_steps: outcome.direction_steps,
        seconds: outcome.seconds,
        master_seconds: outcome.master_seconds,
    };
    let model = NeuroModel {
        network: network.clone(),
        attributes: data.attributes.clone(),
        template: data.template.clone(),
        classes: data.classes.clone(),
        pretrain: options.pretrain,
        seed: options.method_options.seed,
        per: options.per,
        validation_fraction: options.validation_fraction,
        validation_error: chosen.as_ref().map(|chosen| chosen.error),
        chosen_at: chosen.map(|chosen| chosen.evaluations),
        lambda,
        solver: report.solver.into(),
        status: report.status.as_str().into(),
        tol: options.rules.tol,
        objective: report.certificate.objective,
        local_gap: report.local_gap,
        examples: data.len(),
        tokens: data.tokens.rows(),
        data_sha256: data.sha256_with(example_weights),
        weights: outcome.point.w,
        start: checkpoints.start,
    };
    Ok((model, report))
}

/// What is to be minimised.
struct Task<'t> {
    network: &'t Network,
    /// What is trained on, and what is held out.
    part: &'t Part,
    apart: &'t Part,
    shares: &'t ExampleWeights,
    regularizer: &'t L2,
    options: &'t NeuroOptions,
}

impl Task<'_> {
    fn risk<T: Real>(&self) -> NeuroRisk<'_, T> {
        self.part.risk(self.network, self.shares)
    }

    fn run<T: Real>(
        &self,
        rules: StopRules,
        cancel: &Cancel,
        observer: &mut dyn Observer,
        checkpoints: &mut dyn Checkpoints,
    ) -> Result<(Outcome, Method, Option<Chosen>), TrainError> {
        let risk = self.risk::<T>();
        let problem = Problem::new(&risk, self.regularizer);
        let method = self.options.method.resolve(problem);
        let mut solver = method.build(problem, &self.options.method_options)?;
        if self.apart.labels.is_empty() {
            let outcome = solver::run(&mut *solver, problem, rules, cancel, observer, checkpoints)?;
            return Ok((outcome, method, None));
        }
        let chosen = RefCell::new(None);
        let apart = Inputs::<T>::new(&self.apart.tokens);
        let judge = |w: &[f64]| self.apart.error(self.network, &apart, w);
        let mut validation = Validation::new(judge, observer, &chosen);
        let mut with_choice = WithChoice { checkpoints, chosen: &chosen };
        let (watch, store) = (&mut validation, &mut with_choice);
        let mut outcome = solver::run(&mut *solver, problem, rules, cancel, watch, store)?;
        let chosen = chosen.into_inner();
        if let Some(chosen) = chosen.as_ref().filter(|chosen| chosen.w != outcome.point.w) {
            outcome.point.w = chosen.w.clone();
            outcome.point.value = chosen.objective - self.regularizer.value(&chosen.w);
            outcome.certificate.objective = chosen.objective;
            // The local model was one around other weights.
            outcome.local_gap = None;
        }
        Ok((outcome, method, chosen))
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

/// Some of the sequences.
struct Part {
    tokens: Matrix<'static>,
    starts: Vec<usize>,
    labels: Vec<u16>,
    weights: Option<Vec<f64>>,
}

impl Part {
    /// These sequences.
    fn new(data: &Sequences, of: &[usize], weights: Option<&[f64]>) -> Self {
        let (mut rows, mut starts) = (Vec::new(), vec![0]);
        for &i in of {
            rows.extend(data.starts[i]..data.starts[i + 1]);
            starts.push(rows.len());
        }
        let labels = rows.iter().map(|&row| data.labels[row]).collect();
        let weights = weights.map(|weights| of.iter().map(|&i| weights[i]).collect());
        Part { tokens: data.tokens.select_rows(&rows), starts, labels, weights }
    }

    fn mean(&self, per: Per) -> Result<Mean, TrainError> {
        Mean::new(self.weights.as_deref(), per.units(&self.starts), "sequence")
    }

    fn risk<'p, T: Real>(
        &'p self,
        network: &'p Network,
        shares: &ExampleWeights,
    ) -> NeuroRisk<'p, T> {
        let inputs = Inputs::new(&self.tokens);
        NeuroRisk::new(network, inputs, &self.starts, &self.labels, shares.clone())
    }

    /// The share of wrong labels at these weights.
    fn error<T: Real>(&self, network: &Network, inputs: &Inputs<'_, T>, w: &[f64]) -> f64 {
        let scores = network.scores(w, inputs, self.labels.len());
        let said = network.best_labels(w, &scores, &self.starts);
        let spans = self.starts.windows(2).map(|span| span[0]..span[1]);
        error_of(spans, self.weights.as_deref(), |token| said[token] != self.labels[token])
    }
}

/// Checkpoints that carry w₀ along, so that a resumed run need not make it again.
struct WithStart<'c> {
    checkpoints: &'c mut dyn Checkpoints,
    archive: Option<Archive>,
    start: Vec<f64>,
}

const START: &str = "network.start";

impl<'c> WithStart<'c> {
    fn new(checkpoints: &'c mut dyn Checkpoints) -> Self {
        let mut archive = checkpoints.resume();
        let start = archive.as_mut().and_then(|archive| archive.take_reals(START).ok());
        WithStart { checkpoints, archive, start: start.unwrap_or_default() }
    }
}

impl Checkpoints for WithStart<'_> {
    fn resume(&mut self) -> Option<Archive> {
        self.archive.take()
    }

    fn are_wanted(&self) -> bool {
        self.checkpoints.are_wanted()
    }

    fn is_due(&mut self) -> bool {
        self.checkpoints.is_due()
    }

    fn store(&mut self, mut archive: Archive) {
        archive.put_reals(START, self.start.clone());
        self.checkpoints.store(archive);
    }
}
