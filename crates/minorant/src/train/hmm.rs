//! From recordings to a fitted hidden Markov model: standardised frames, the maximum-likelihood
//! start, and large-margin training from there. No mathematics is done here.

use super::example_weights::{Mean, counted};
use super::validation::{Chosen, Validation, WithChoice, error_of, held_out, part_and_apart};
use super::{Lambda, TrainError, TrainReport};
use crate::certificate::Certificate;
use crate::fingerprint::Fingerprint;
use crate::hmm::{Frames, Group, HmmRisk, HmmShape, Scaling, Task, Topology, Truth};
use crate::hmm::{Tables, maximum_likelihood};
use crate::model::HmmModel;
use crate::regularizer::L2;
use crate::risk::{Cancel, ExampleWeights};
use crate::solver::{self, Checkpoints, Method, MethodOptions, Outcome, Problem, StopRules};
use crate::trace::Observer;
use minorant_data::{LabelRows, Recordings};
use std::cell::RefCell;

/// Everything that training a hidden Markov model depends on besides the data.
#[derive(Debug, Clone)]
pub struct HmmOptions {
    /// What the model is to tell.
    pub task: Task,
    /// Which states may follow each other.
    pub topology: Topology,
    /// States of each class or label.
    pub states: usize,
    /// Gaussians of each state.
    pub mixtures: usize,
    /// θ of groups of weights; 1 for the others.
    pub group_weights: Vec<(Group, f64)>,
    /// The share of the sequences that is held out to choose among the run's best points; none
    /// where it is 0.
    pub validation_fraction: f64,
    /// One weight for each sequence.
    pub example_weights: Option<Vec<f64>>,
    /// λ or C; 1/Σ sᵢ if not given.
    pub lambda: Option<Lambda>,
    /// The method.
    pub method: Method,
    /// Its settings.
    pub method_options: MethodOptions,
    /// When to stop.
    pub rules: StopRules,
}

impl Default for HmmOptions {
    fn default() -> Self {
        HmmOptions {
            task: Task::default(),
            topology: Topology::default(),
            states: 3,
            mixtures: 1,
            group_weights: Vec::new(),
            validation_fraction: 0.0,
            example_weights: None,
            lambda: None,
            method: Method::Auto,
            method_options: MethodOptions::default(),
            rules: StopRules::default(),
        }
    }
}

/// Most weights of a model, and most states.
const MOST_WEIGHTS: u128 = 1 << 31;

impl HmmOptions {
    /// All settings that the iterates depend on besides the example weights, for checkpoints.
    pub fn settings(&self) -> String {
        format!(
            "{:?}",
            (
                (self.task, self.topology, self.states, self.mixtures, &self.group_weights),
                (self.validation_fraction, self.lambda, self.method),
                (self.method_options.memory, self.method_options.parts),
                (self.method_options.locality, self.method_options.seed),
            )
        )
    }

    fn shape(&self, units: usize, features: usize) -> Result<HmmShape, TrainError> {
        let refuse = |sentence: String| Err(TrainError::Setting(sentence));
        for (what, count) in [("states", self.states), ("mixtures", self.mixtures)] {
            if count == 0 {
                return refuse(format!("the number of {what} must be at least 1"));
            }
        }
        let gaussians = units as u128 * self.states as u128 * self.mixtures as u128;
        let arcs = units as u128 * (self.states as u128 + 1) * (self.states as u128 + 1);
        if 2 * gaussians * (features as u128 + 1) + arcs > MOST_WEIGHTS {
            return refuse(format!(
                "{units} units of {} states with {} Gaussians have too many weights",
                self.states, self.mixtures
            ));
        }
        let (task, topology) = (self.task, self.topology);
        let (states, mixtures) = (self.states, self.mixtures);
        Ok(HmmShape { task, topology, units, states, mixtures, features })
    }

    fn regularizer(
        &self,
        shape: &HmmShape,
        center: Vec<f64>,
        total: f64,
    ) -> Result<L2, TrainError> {
        let lambda = Lambda::value(self.lambda, total)?;
        let regularizer = L2::new(lambda)?.with_center(center)?;
        if self.group_weights.is_empty() {
            return Ok(regularizer);
        }
        let theta = |group: Group| {
            let given = self.group_weights.iter().rev().find(|(of, _)| *of == group);
            given.map_or(1.0, |(_, theta)| *theta)
        };
        if let Some((group, theta)) =
            self.group_weights.iter().find(|(_, t)| t.is_nan() || *t <= 0.0)
        {
            return Err(TrainError::Setting(format!(
                "the weight of {} must be a positive number, not {theta}",
                group.as_str()
            )));
        }
        Ok(regularizer.with_weights(shape.groups().into_iter().map(theta).collect())?)
    }

    /// Sequences to train on and sequences that are held out; those of weight 0 are neither.
    fn parts(&self, data: &Recordings) -> Result<[Vec<usize>; 2], TrainError> {
        let of = counted(self.example_weights.as_deref(), data.len(), "sequence")?;
        let fraction = self.validation_fraction;
        if fraction == 0.0 {
            return Ok([of, Vec::new()]);
        }
        let classes = data.labels.classes.len();
        let held = match (&data.labels.rows, self.task) {
            (LabelRows::Single(labels), Task::Classify) => {
                let labels: Vec<u32> = of.iter().map(|&i| labels[i]).collect();
                held_out(&labels, classes, fraction)
            }
            _ => held_out(&vec![0; of.len()], 1, fraction),
        };
        if held.contains(&true) && held.contains(&false) {
            return Ok(part_and_apart(&of, &held));
        }
        Err(TrainError::Setting(format!(
            "expected enough sequences to hold out a share of {fraction}, found {}",
            of.len()
        )))
    }

    fn check(&self, data: &Recordings) -> Result<(), TrainError> {
        let refuse = |sentence: String| Err(TrainError::Setting(sentence));
        let fraction = self.validation_fraction;
        if !(0.0..1.0).contains(&fraction) {
            return refuse(format!(
                "the held-out fraction must be from 0 to below 1, not {fraction}"
            ));
        }
        if !data.has_labels() {
            return refuse("the data has no labels to train on".into());
        }
        let lengths = || data.starts.windows(2).map(|span| span[1] - span[0]);
        if let Some(at) = lengths().position(|length| length == 0) {
            return refuse(format!("sequence {} has no frames", at + 1));
        }
        let passes = self.task == Task::Classify && self.topology == Topology::LeftRight;
        if let Some((at, length)) =
            lengths().enumerate().find(|(_, length)| passes && *length < self.states)
        {
            let frames = if length == 1 { "frame" } else { "frames" };
            return refuse(format!(
                "sequence {} has {length} {frames}, fewer than the {} states that a left-right model passes through; use fewer states or the ergodic topology",
                at + 1,
                self.states
            ));
        }
        Ok(())
    }
}

/// Sequences to train on or to judge by, standardised.
struct Part {
    values: Vec<f64>,
    starts: Vec<usize>,
    labels: Vec<u32>,
    weights: Option<Vec<f64>>,
    features: usize,
}

impl Part {
    /// These sequences, out of all standardised frames.
    fn new(data: &Recordings, values: &[f64], options: &HmmOptions, of: &[usize]) -> Self {
        let features = data.frames.cols();
        let LabelRows::Single(all) = &data.labels.rows else { unreachable!("labels were checked") };
        let weights = options.example_weights.as_ref();
        let weights = weights.map(|weights| of.iter().map(|&i| weights[i]).collect());
        let mut part = Part { values: vec![], starts: vec![0], labels: vec![], weights, features };
        for &i in of {
            let (from, to) = (data.starts[i], data.starts[i + 1]);
            part.values.extend_from_slice(&values[from * features..to * features]);
            part.starts.push(part.values.len() / features);
            match options.task {
                Task::Classify => part.labels.push(all[i]),
                Task::Label => part.labels.extend_from_slice(&all[from..to]),
            }
        }
        part
    }

    fn frames(&self) -> Frames<'_> {
        Frames { values: &self.values, starts: &self.starts, features: self.features }
    }

    fn truth(&self, task: Task) -> Truth<'_> {
        match task {
            Task::Classify => Truth::Classes(&self.labels),
            Task::Label => Truth::FrameLabels(&self.labels),
        }
    }

    fn mean(&self) -> Result<Mean, TrainError> {
        let units = self.starts[1..].iter().map(|_| 1);
        Mean::new(self.weights.as_deref(), units, "sequence")
    }

    fn risk(&self, shape: HmmShape, shares: ExampleWeights) -> HmmRisk<'_> {
        HmmRisk::new(shape, self.frames(), self.truth(shape.task), shares)
    }

    /// The error at these weights.
    fn error(&self, shape: HmmShape, w: &[f64]) -> f64 {
        let predicted = crate::model::predict_frames(&Tables::new(&shape, w), self.frames());
        let units = self.starts.windows(2).enumerate().map(|(i, span)| match shape.task {
            Task::Classify => i..i + 1,
            Task::Label => span[0]..span[1],
        });
        error_of(units, self.weights.as_deref(), |unit| predicted[unit] != self.labels[unit])
    }
}

/// Trains a hidden Markov model.
pub fn train_hmm(
    data: &Recordings,
    options: &HmmOptions,
    cancel: &Cancel,
    observer: &mut dyn Observer,
    checkpoints: &mut dyn Checkpoints,
) -> Result<(HmmModel, TrainReport), TrainError> {
    options.check(data)?;
    let shape = options.shape(data.labels.classes.len(), data.frames.cols())?;
    let parts = options.parts(data)?;
    let example_weights = options.example_weights.as_deref();
    let scaling = scaling(data, example_weights).map_err(|at| {
        let sentence = format!("the values of feature {} are too large to be squared", at + 1);
        TrainError::Setting(sentence)
    })?;
    let values = scaling.apply(&data.frames);
    let [part, apart] = parts.map(|of| Part::new(data, &values, options, &of));
    drop(values);
    let (truth, counts) = (part.truth(options.task), part.weights.as_deref());
    let start = maximum_likelihood(&shape, part.frames(), truth, counts, cancel);
    let start = start.map_err(solver::RunError::from)?;
    let mean = part.mean()?;
    let regularizer = options.regularizer(&shape, start.clone(), mean.total)?;
    let risk = part.risk(shape, mean.shares);
    let problem = Problem::new(&risk, &regularizer);
    let method = options.method.resolve(problem);
    let mut solver = method.build(problem, &options.method_options)?;
    let (rules, chosen) = (options.rules, RefCell::new(None));
    let outcome = if apart.starts.len() > 1 {
        let judge = |w: &[f64]| apart.error(shape, w);
        let mut validation = Validation::new(judge, observer, &chosen);
        let mut with_choice = WithChoice { checkpoints, chosen: &chosen };
        solver::run(&mut *solver, problem, rules, cancel, &mut validation, &mut with_choice)?
    } else {
        solver::run(&mut *solver, problem, rules, cancel, observer, checkpoints)?
    };
    drop(solver);
    let chosen = chosen.into_inner();
    let answer = Answer::new(&outcome, chosen.as_ref(), &regularizer);
    let report = TrainReport {
        solver: method.name(),
        examples: data.len(),
        features: data.frames.cols(),
        dim: shape.dim(),
        lambda: regularizer.lambda(),
        regularizer: answer.regularizer,
        risk: answer.objective - answer.regularizer,
        certificate: Certificate { objective: answer.objective, lower_bound: None },
        local_gap: answer.local_gap,
        status: outcome.status,
        evaluations: outcome.evaluations,
        iterations: outcome.iterations,
        direction_steps: outcome.direction_steps,
        seconds: outcome.seconds,
        master_seconds: outcome.master_seconds,
    };
    let model = HmmModel {
        shape,
        classes: data.labels.classes.clone(),
        scaling,
        group_weights: options.group_weights.clone(),
        validation_fraction: options.validation_fraction,
        validation_error: chosen.as_ref().map(|chosen| chosen.error),
        chosen_at: chosen.map(|chosen| chosen.evaluations),
        lambda: report.lambda,
        solver: method.name().into(),
        status: report.status.as_str().into(),
        tol: options.rules.tol,
        objective: report.certificate.objective,
        local_gap: report.local_gap,
        examples: data.len(),
        frames: data.frames.rows(),
        data_sha256: data.sha256_with(example_weights),
        weights: answer.w,
        start,
    };
    Ok((model, report))
}

/// How frames are standardised: those of a sequence count as it does.
fn scaling(data: &Recordings, example_weights: Option<&[f64]>) -> Result<Scaling, usize> {
    let Some(weights) = example_weights else { return Scaling::of(&data.frames) };
    let lengths = data.starts.windows(2).map(|span| span[1] - span[0]);
    let each = weights.iter().zip(lengths);
    let of_frames: Vec<f64> =
        each.flat_map(|(s, length)| std::iter::repeat_n(*s, length)).collect();
    Scaling::of_weighted(&data.frames, |frame| of_frames[frame])
}

/// The weights that become the model.
struct Answer {
    w: Vec<f64>,
    objective: f64,
    regularizer: f64,
    local_gap: Option<f64>,
}

impl Answer {
    /// Those chosen by what was held out, if anything was, else the run's best.
    fn new(outcome: &Outcome, chosen: Option<&Chosen>, regularizer: &L2) -> Answer {
        let (w, objective) = match chosen {
            Some(chosen) => (chosen.w.clone(), chosen.objective),
            None => (outcome.point.w.clone(), outcome.certificate.objective),
        };
        // The local gap is that of the run's best point.
        let local_gap = outcome.local_gap.filter(|_| w == outcome.point.w);
        Answer { objective, regularizer: regularizer.value(&w), local_gap, w }
    }
}
