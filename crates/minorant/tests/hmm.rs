//! Hidden Markov models against brute force: scores of best paths and likelihoods by enumeration,
//! gradients by finite differences, and what training promises (bounds of variances, the same bits
//! for any number of threads and after a resume, a choice by what is held out).

use minorant::archive::Archive;
use minorant::data::{Label, LabelRows, Labels, Recordings};
use minorant::family::hmm::{GROUP_WEIGHT, HmmForm, MIXTURES, TASK};
use minorant::family::{Context, FittedModel, Lambda, PROOF_BYTES, Settings, TrainReport, train};
use minorant::generate::{Phones, phones};
use minorant::hmm::{
    Covariance, Frames, Group, HmmRisk, HmmShape, Tables, Task, Topology, Truth, VARIANCES,
    best_path, log_likelihood, maximum_likelihood,
};
use minorant::linalg::Matrix;
use minorant::options::Named;
use minorant::options::common::{MAX_EVALS, VALIDATION_FRACTION, WEIGHTS};
use minorant::risk::{Cancel, ExampleWeights, Examples, Risk};
use minorant::solver::{Checkpoints, Method};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;

const TASKS: [Task; 2] = [Task::Classify, Task::Label];
const TOPOLOGIES: [Topology; 2] = [Topology::LeftRight, Topology::Ergodic];

fn shapes() -> Vec<HmmShape> {
    let (units, states, mixtures, features) = (2, 2, 2, 3);
    let all = TASKS.into_iter().flat_map(|task| TOPOLOGIES.map(|topology| (task, topology)));
    let covariances = [Covariance::Diagonal, Covariance::Full];
    let all = all.flat_map(|(task, topology)| covariances.map(|c| (task, topology, c)));
    all.map(|(task, topology, covariance)| HmmShape {
        task,
        topology,
        units,
        states,
        mixtures,
        features,
        covariance,
    })
    .collect()
}

fn random(count: usize, size: f64, rng: &mut Pcg64Mcg) -> Vec<f64> {
    (0..count).map(|_| size * Distribution::<f64>::sample(&StandardNormal, rng)).collect()
}

/// A model as probabilities, read off the weights in the order in which they are documented.
struct Plain {
    shape: HmmShape,
    w: Vec<f64>,
}

impl Plain {
    fn softmax(&self, at: usize, count: usize, which: usize) -> f64 {
        let logits = &self.w[at..at + count];
        logits[which].exp() / logits.iter().map(|z| z.exp()).sum::<f64>()
    }

    fn unit(&self, unit: usize) -> usize {
        unit * (self.shape.dim() - self.between()) / self.shape.units
    }

    fn between(&self) -> usize {
        let units = self.shape.units;
        if self.shape.task == Task::Label { units + units * units } else { 0 }
    }

    fn mixtures_at(&self, unit: usize) -> usize {
        let HmmShape { states, mixtures, features, .. } = self.shape;
        self.unit(unit) + states * mixtures * (2 * features + self.pairs())
    }

    /// Entries below the diagonal of a factor.
    fn pairs(&self) -> usize {
        let features = self.shape.features;
        if self.shape.covariance == Covariance::Full { features * (features - 1) / 2 } else { 0 }
    }

    fn arcs_at(&self, unit: usize) -> usize {
        self.mixtures_at(unit) + self.shape.states * self.shape.mixtures
    }

    fn entry(&self, unit: usize, state: usize) -> f64 {
        match (self.shape.task, self.shape.topology) {
            (Task::Classify, Topology::LeftRight) => f64::from(u8::from(state == 0)),
            _ => self.softmax(self.arcs_at(unit), self.shape.states, state),
        }
    }

    /// To a state of the unit, or out of it.
    fn arc(&self, unit: usize, from: usize, to: Option<usize>) -> f64 {
        let (q, at) = (self.shape.states, self.arcs_at(unit));
        let is_last = from + 1 == q;
        match (self.shape.task, self.shape.topology) {
            (Task::Classify, Topology::LeftRight) => {
                let stay = 1.0 / (1.0 + (-self.w[at + from]).exp());
                match to {
                    Some(to) if to == from => stay,
                    Some(to) if to == from + 1 => 1.0 - stay,
                    None if is_last => 1.0 - stay,
                    _ => 0.0,
                }
            }
            (Task::Classify, Topology::Ergodic) => {
                to.map_or(1.0, |to| self.softmax(at + q + from * q, q, to))
            }
            (Task::Label, Topology::LeftRight) => {
                let count = if is_last { 2 } else { 3 };
                let which = match to {
                    Some(to) if to == from => 0,
                    Some(to) if to == from + 1 => 1,
                    None => count - 1,
                    _ => return 0.0,
                };
                self.softmax(at + q + 3 * from, count, which)
            }
            (Task::Label, Topology::Ergodic) => {
                self.softmax(at + q + from * (q + 1), q + 1, to.unwrap_or(q))
            }
        }
    }

    fn begin(&self, unit: usize) -> f64 {
        let at = self.shape.dim() - self.between();
        if self.shape.task == Task::Label { self.softmax(at, self.shape.units, unit) } else { 1.0 }
    }

    fn switch(&self, from: usize, to: usize) -> f64 {
        if self.shape.task == Task::Classify {
            return 0.0;
        }
        let at = self.shape.dim() - self.between() + self.shape.units * (1 + from);
        self.softmax(at, self.shape.units, to)
    }

    fn gaussian(&self, unit: usize, state: usize, component: usize, frame: &[f64]) -> f64 {
        let HmmShape { states, mixtures, features, .. } = self.shape;
        let means = self.unit(unit) + (state * mixtures + component) * features;
        let rhos = means + states * mixtures * features;
        let weight = self.softmax(self.mixtures_at(unit) + state * mixtures, mixtures, component);
        let factors = self.unit(unit) + 2 * states * mixtures * features;
        let factor = factors + (state * mixtures + component) * self.pairs();
        let entry = |j: usize, k: usize| match j.cmp(&k) {
            std::cmp::Ordering::Equal => 1.0,
            std::cmp::Ordering::Greater if self.pairs() > 0 => self.w[factor + j * (j - 1) / 2 + k],
            _ => 0.0,
        };
        // The precision matrix and its determinant, and then the density as it is defined.
        let d = |j: usize| self.w[rhos + j].exp();
        let precision = |a: usize, b: usize| {
            (0..features).map(|j| entry(j, a) * d(j) * entry(j, b)).sum::<f64>()
        };
        let away = |j: usize| frame[j] - self.w[means + j];
        let square: f64 = (0..features)
            .map(|a| (0..features).map(|b| away(a) * precision(a, b) * away(b)).sum::<f64>())
            .sum();
        let norm: f64 = (0..features).map(|j| (d(j) / std::f64::consts::TAU).sqrt()).product();
        weight * norm * (-0.5 * square).exp()
    }

    /// The sum and the largest of the probabilities of all paths whose units `allows` allows, with
    /// all components; `bonus` is a factor for each frame.
    fn enumerate(&self, sequence: &[f64], allows: &dyn Fn(usize, usize) -> f64) -> (f64, f64) {
        let mut found = (0.0, 0.0);
        self.go_on(sequence, 0, None, 1.0, allows, &mut found);
        found
    }

    fn go_on(
        &self,
        sequence: &[f64],
        t: usize,
        last: Option<(usize, usize)>,
        p: f64,
        allows: &dyn Fn(usize, usize) -> f64,
        found: &mut (f64, f64),
    ) {
        let HmmShape { units, states, mixtures, features, .. } = self.shape;
        if t * features == sequence.len() {
            let end = match last {
                Some((unit, state)) if self.shape.task == Task::Classify => {
                    self.arc(unit, state, None)
                }
                _ => 1.0,
            };
            found.0 += p * end;
            found.1 = f64::max(found.1, p * end);
            return;
        }
        let frame = &sequence[t * features..(t + 1) * features];
        for (unit, state) in (0..units).flat_map(|u| (0..states).map(move |s| (u, s))) {
            let inside = match last {
                Some((old, from)) if old == unit => self.arc(unit, from, Some(state)),
                _ => 0.0,
            };
            let outside = match last {
                None => self.begin(unit) * self.entry(unit, state),
                Some((old, from)) => {
                    self.arc(old, from, None) * self.switch(old, unit) * self.entry(unit, state)
                }
            };
            for arc in [inside, outside].into_iter().filter(|arc| *arc > 0.0) {
                for component in 0..mixtures {
                    let here = self.gaussian(unit, state, component, frame) * allows(t, unit);
                    if here > 0.0 {
                        let p = p * arc * here;
                        self.go_on(sequence, t + 1, Some((unit, state)), p, allows, found);
                    }
                }
            }
        }
    }
}

#[test]
fn scores_and_likelihoods_are_those_of_all_paths() {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    for shape in shapes() {
        for length in 2..=4 {
            let plain = Plain { shape, w: random(shape.dim(), 0.7, &mut rng) };
            let sequence = random(length * shape.features, 1.0, &mut rng);
            let labels: Vec<usize> = match shape.task {
                Task::Classify => vec![rng.random_range(0..shape.units); length],
                Task::Label => (0..length).map(|_| rng.random_range(0..shape.units)).collect(),
            };
            let tables = Tables::new(&shape, &plain.w);
            let densities = tables.best_densities(&sequence, 0..shape.units);
            let truth = |t: usize, unit: usize| f64::from(u8::from(labels[t] == unit));
            let (sum, best) = plain.enumerate(&sequence, &truth);
            let likelihood = log_likelihood(&tables, &sequence, &|t| labels[t]);
            assert!((likelihood - sum.ln()).abs() < 1e-10, "{shape:?} {likelihood} {}", sum.ln());
            let mut path = Vec::new();
            let units = 0..shape.units;
            let allowed = |t: usize, unit: usize| (labels[t] == unit).then_some(0.0);
            let score = best_path(&tables, &densities, units.clone(), allowed, Some(&mut path));
            assert!((score - best.ln()).abs() < 1e-10, "{shape:?} {score} {}", best.ln());
            assert!(path.iter().zip(&labels).all(|(v, &z)| v.state / shape.states == z));
            if shape.task == Task::Label {
                let cost = |t: usize, unit: usize| if labels[t] == unit { 1.0 } else { 1f64.exp() };
                let (_, best) = plain.enumerate(&sequence, &cost);
                let costs = |t: usize, unit: usize| Some(f64::from(u8::from(labels[t] != unit)));
                let score = best_path(&tables, &densities, units, costs, None);
                assert!((score - best.ln()).abs() < 1e-10, "{score} {}", best.ln());
            }
        }
    }
}

/// Sequences with classes, or with labels of frames.
struct Tiny {
    values: Vec<f64>,
    starts: Vec<usize>,
    labels: Vec<u32>,
}

impl Tiny {
    fn new(shape: &HmmShape, sequences: usize, seed: u64) -> Tiny {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut starts = vec![0];
        for i in 0..sequences {
            starts.push(starts[i] + 3 + i % 3);
        }
        let frames = starts[sequences];
        let values = random(frames * shape.features, 1.0, &mut rng);
        let labelled = if shape.task == Task::Label { frames } else { sequences };
        let labels = (0..labelled).map(|_| rng.random_range(0..shape.units as u32)).collect();
        Tiny { values, starts, labels }
    }

    fn frames(&self, shape: &HmmShape) -> Frames<'_> {
        Frames { values: &self.values, starts: &self.starts, features: shape.features }
    }

    fn truth(&self, shape: &HmmShape) -> Truth<'_> {
        match shape.task {
            Task::Classify => Truth::Classes(&self.labels),
            Task::Label => Truth::FrameLabels(&self.labels),
        }
    }

    fn risk(&self, shape: &HmmShape) -> HmmRisk<'_> {
        let weights = ExampleWeights::mean(self.starts.len() - 1);
        HmmRisk::new(*shape, self.frames(shape), self.truth(shape), weights)
    }
}

#[test]
fn gradients_are_those_of_finite_differences() {
    for shape in shapes() {
        let tiny = Tiny::new(&shape, 7, 2);
        let risk = tiny.risk(&shape);
        let w = random(shape.dim(), 0.7, &mut Pcg64Mcg::seed_from_u64(3));
        let cancel = Cancel::new();
        let (point, planes) = risk.at_with_planes(w.clone(), 1, &cancel).unwrap();
        assert!(point.value > 0.1, "{shape:?}: a risk of {} tests little", point.value);
        assert_eq!(point.value, risk.at(w.clone(), &cancel).unwrap().value);
        let mut summed = vec![0.0; shape.dim()];
        let mut value = 0.0;
        for i in 0..Examples::len(&risk) {
            value += risk.add_subgradient(i, &w, 1.0, &mut summed);
        }
        assert!((value - point.value).abs() < 1e-12);
        for i in 0..shape.dim() {
            let at = |step: f64| {
                let mut w = w.clone();
                w[i] += step;
                risk.at(w, &cancel).unwrap().value
            };
            let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
            let slope = planes[0].normal[i];
            assert!((difference - slope).abs() < 1e-6 * slope.abs().max(1.0), "{shape:?} {i}");
            assert!((summed[i] - slope).abs() < 1e-12, "{shape:?} {i}");
        }
    }
}

#[test]
fn variances_stay_within_bounds_wherever_weights_go() {
    let mut rng = Pcg64Mcg::seed_from_u64(4);
    for shape in shapes() {
        let tiny = Tiny::new(&shape, 5, 5);
        let risk = tiny.risk(&shape);
        for size in [1.0, 30.0, 1e4] {
            let w = random(shape.dim(), size, &mut rng);
            let (least, most) = Tables::new(&shape, &w).variances();
            let allowance = 1e-12;
            assert!(least >= VARIANCES.start() * (1.0 - allowance), "{least}");
            assert!(most <= VARIANCES.end() * (1.0 + allowance), "{most}");
            let (point, planes) = risk.at_with_planes(w, 1, &Cancel::new()).unwrap();
            assert!(point.value.is_finite() && planes[0].normal.iter().all(|g| g.is_finite()));
        }
    }
}

#[test]
fn maximum_likelihood_raises_the_likelihood() {
    for shape in shapes() {
        let tiny = Tiny::new(&shape, 12, 6);
        let (frames, truth) = (tiny.frames(&shape), tiny.truth(&shape));
        let likelihood = |w: &[f64]| {
            let tables = Tables::new(&shape, w);
            let of = |i: usize| {
                let unit = |t: usize| truth.unit(&frames, i, t);
                log_likelihood(&tables, frames.sequence(i), &unit)
            };
            (0..frames.len()).map(of).sum::<f64>()
        };
        let w = maximum_likelihood(&shape, frames, truth, None, &Cancel::new()).unwrap();
        let flat = vec![0.0; shape.dim()];
        assert!(likelihood(&w) > likelihood(&flat), "{shape:?}");
        assert!(Tables::new(&shape, &w).variances().0 >= 0.05 - 1e-12);
    }
}

/// Classes that differ in where their frames go, with noise.
fn recordings(classes: usize, each: usize, seed: u64) -> Recordings {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let (mut values, mut starts, mut labels) = (Vec::new(), vec![0], Vec::new());
    for class in 0..classes {
        for _ in 0..each {
            let length = rng.random_range(6..12);
            for t in 0..length {
                let phase = t as f64 / length as f64 * 3.0 + class as f64 * 0.5;
                for j in 0..3 {
                    let noise: f64 = StandardNormal.sample(&mut rng);
                    values.push((phase + j as f64).sin() + 0.8 * noise);
                }
            }
            starts.push(values.len() / 3);
            labels.push(class as u32);
        }
    }
    let frames = Matrix::dense(values.len() / 3, 3, values.into()).unwrap();
    let classes = (0..classes).map(|z| Label::Number(z as f64)).collect();
    Recordings { frames, starts, labels: Labels { classes, rows: LabelRows::Single(labels) } }
}

fn settings() -> Settings {
    with_lambda(plain(), 0.05)
}

/// The same without λ.
fn plain() -> Settings {
    Settings::new("hmm").unwrap().with(&MIXTURES, 2).with(&MAX_EVALS, Some(25))
}

fn with_lambda(mut settings: Settings, lambda: f64) -> Settings {
    settings.set_lambda(Lambda::Lambda(lambda));
    settings
}

fn fit(data: &Recordings, settings: &Settings) -> (FittedModel, TrainReport) {
    train(data, settings, Context::default()).unwrap()
}

fn form(model: &FittedModel) -> &HmmForm {
    model.form_as().unwrap()
}

/// The model that training began with.
fn before_training(model: &FittedModel) -> FittedModel {
    let form = form(model);
    model.with_form(Box::new(HmmForm { weights: form.start.clone(), ..form.clone() }))
}

fn error(model: &FittedModel, data: &Recordings) -> f64 {
    model.evaluate(data).unwrap().error()
}

#[test]
fn training_lowers_the_objective_and_names_no_bound() {
    let data = recordings(4, 15, 7);
    let mut trace = Vec::new();
    let context = Context::default().observed_by(&mut trace);
    let (model, report) = train(&data, &settings(), context).unwrap();
    assert_eq!(report.solver, Method::NrbmLs.name());
    assert!(report.certificate.lower_bound.is_none() && report.local_gap.is_some());
    assert!(report.certificate.objective < 0.7 * trace[0].objective, "{report:?}");
    assert!(report.evaluations <= 25);
    let (before, after) = (error(&before_training(&model), &data), error(&model, &data));
    assert!(after < before, "{before} {after}");
}

/// Long sequences make steep risks, whose local models have their minimisers very far away.
#[test]
fn a_small_lambda_does_not_leave_the_weights_at_their_start() {
    const TIMES: usize = 15;
    let mut data = recordings(4, 12, 13);
    let rows: Vec<usize> = (0..TIMES * data.frames.rows()).map(|row| row / TIMES).collect();
    data.frames = data.frames.select_rows(&rows);
    data.starts.iter_mut().for_each(|start| *start *= TIMES);
    for lambda in [1e-2, 1e-5] {
        let mut trace = Vec::new();
        let context = Context::default().observed_by(&mut trace);
        train(&data, &with_lambda(plain(), lambda), context).unwrap();
        let (start, end) = (trace[0].objective, trace[trace.len() - 1].best_objective);
        assert!(end < 0.5 * start, "{lambda}: {start} {end}");
    }
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let data = recordings(3, 12, 8);
    let settings = settings().with(&VALIDATION_FRACTION, 0.25);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit(&data, &settings).0.to_bytes(PROOF_BYTES))
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn weights_of_sequences_equal_repetition() {
    let data = recordings(3, 12, 9);
    let times = |i: usize| [1, 2, 3, 0][i % 4];
    let of: Vec<usize> = (0..36).flat_map(|i| std::iter::repeat_n(i, times(i))).collect();
    let span = |i: usize| data.starts[i]..data.starts[i + 1];
    let rows: Vec<usize> = of.iter().flat_map(|&i| span(i)).collect();
    let mut starts = vec![0];
    of.iter().for_each(|&i| starts.push(starts[starts.len() - 1] + span(i).len()));
    let LabelRows::Single(labels) = &data.labels.rows else { panic!("one label a sequence") };
    let labels = of.iter().map(|&i| labels[i]).collect();
    let labels = Labels { classes: data.labels.classes.clone(), rows: LabelRows::Single(labels) };
    let repeated = Recordings { frames: data.frames.select_rows(&rows), starts, labels };
    let fit = |data: &Recordings, example_weights: Option<Vec<f64>>| {
        let mut trace = Vec::new();
        let settings = plain().with(&WEIGHTS, example_weights);
        let context = Context::default().observed_by(&mut trace);
        let (model, report) = train(data, &settings, context).unwrap();
        (model, report.lambda, trace[0].objective)
    };
    let (once, lambda, first) = fit(&data, Some((0..36).map(|i| times(i) as f64).collect()));
    let (often, other_lambda, other_first) = fit(&repeated, None);
    assert_eq!((lambda, other_lambda), (Some(1.0 / 54.0), Some(1.0 / 54.0)));
    // Scaling and start are the same, and so is the risk there; later on roundings part the ways.
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
    assert!(form(&once).start.iter().zip(&form(&often).start).all(|(a, b)| near(*a, *b)));
    assert!(near(first, other_first), "{first} is not {other_first}");
    let [a, b] = [&once, &often].map(|model| model.facts.certificate.objective);
    assert!((a - b).abs() <= 0.02 * b);
    let wrong = settings().with(&WEIGHTS, Some(vec![1.0; 35]));
    let refused = train(&data, &wrong, Context::default()).unwrap_err();
    assert_eq!(refused.to_string(), "expected 36 example weights, one a sequence, found 35");
}

#[test]
fn groups_of_weights_are_held_back_each_by_its_own() {
    let data = recordings(3, 12, 11);
    for (group, held) in [(Group::Means, 0), (Group::Variances, 1)] {
        let weights = vec![(Label::from(group.name()), 1e3)];
        let (model, _) = fit(&data, &settings().with(&GROUP_WEIGHT, weights));
        let form = form(&model);
        let mut moved = [0.0, 0.0];
        let pairs = form.weights.iter().zip(&form.start);
        for ((w, start), group) in pairs.zip(form.shape.groups()) {
            match group {
                Group::Means => moved[0] += (w - start) * (w - start),
                Group::Variances => moved[1] += (w - start) * (w - start),
                Group::Transitions | Group::Mixtures => {}
            }
        }
        // θ counts squared in the regularizer, and so does the distance here.
        assert!(moved[held] < 1e-6 * moved[1 - held], "{group:?} {moved:?}");
    }
}

#[test]
fn large_margins_take_a_fifth_off_the_error_of_labels() {
    let size = Phones { sequences: 150, ..Phones::default() };
    let (data, test) = (phones(size, 1, 0), phones(size, 1, 1));
    let settings = Settings::new("hmm").unwrap().with(&TASK, Task::Label);
    let settings = settings.with(&VALIDATION_FRACTION, 0.2).with(&MAX_EVALS, Some(60));
    let (model, _) = fit(&data, &with_lambda(settings, 0.3));
    let (before, after) = (error(&before_training(&model), &test), error(&model, &test));
    assert!((0.05..0.6).contains(&before) && after <= 0.8 * before, "{before} {after}");
}

/// Keeps the state of an early iteration, and goes on from one.
#[derive(Default)]
struct Keep {
    asked: usize,
    kept: Option<Archive>,
    from: Option<Archive>,
}

impl Checkpoints for Keep {
    fn resume(&mut self) -> Option<Archive> {
        self.from.take()
    }

    fn is_due(&mut self) -> bool {
        self.asked += 1;
        self.asked == 5
    }

    fn store(&mut self, archive: Archive) {
        self.kept.get_or_insert(archive);
    }
}

#[test]
fn a_resumed_run_ends_in_the_same_bits() {
    let data = recordings(3, 12, 9);
    for validation_fraction in [0.0, 0.25] {
        let settings = settings().with(&VALIDATION_FRACTION, validation_fraction);
        let run = |keep: &mut Keep| {
            let context = Context::default().kept_by(keep);
            train(&data, &settings, context).unwrap().0.to_bytes(PROOF_BYTES)
        };
        let mut keep = Keep::default();
        let whole = run(&mut keep);
        let mut resumed = Keep { from: keep.kept.take(), ..Keep::default() };
        assert!(resumed.from.is_some());
        assert_eq!(whole, run(&mut resumed));
    }
}

#[test]
fn what_is_held_out_chooses_the_weights() {
    let data = recordings(4, 20, 10);
    let settings = with_lambda(plain().with(&VALIDATION_FRACTION, 0.2), 1e-4);
    let (model, report) = fit(&data, &settings);
    let chosen = form(&model).held_out.chosen_at.unwrap();
    assert!(chosen <= report.evaluations);
    assert!(form(&model).held_out.error.is_some_and(|error| error < 1.0));
    // The objective is that of the weights saved.
    let (again, _) = fit(&data, &settings.with(&MAX_EVALS, Some(chosen)));
    assert_eq!(form(&again).weights, form(&model).weights);
    assert_eq!(again.facts.certificate.objective, model.facts.certificate.objective);
}
