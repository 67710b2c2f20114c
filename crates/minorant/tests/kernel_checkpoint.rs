//! Checkpoints of kernel machines: from every state that a run keeps, a later one ends with the same
//! bits; so does one that was interrupted or that ran into a limit. States that were tampered with
//! end in a refusal or in an answer, never in a panic.

use minorant::archive::Archive;
use minorant::data::{Dataset, Label, LabelRows, Labels};
use minorant::family::kernel::{KernelForm, Machine};
use minorant::family::{Context, Settings, train};
use minorant::generate::{Clouds, CloudsOptions, Lcg, clouds};
use minorant::kernel::{Gram, Kernel, Points};
use minorant::latent;
use minorant::linalg::Matrix;
use minorant::options::common::{MAX_EVALS, SOLVER};
use minorant::risk::Cancel;
use minorant::s3vm::large::{LargeProblem, fit_large};
use minorant::s3vm::{Mode, Options, RampProblem, S3vmProblem, Solver, fit, fit_ramp};
use minorant::solver::{Checkpoints, Status};
use minorant::trace::{Observer, TraceRecord};

/// What two runs must have in common: numbers by their bits, counts, and how they ended.
#[derive(Debug, Clone, PartialEq)]
struct Answer {
    bits: Vec<u64>,
    counts: [u64; 2],
    status: Status,
}

fn answer(numbers: impl IntoIterator<Item = f64>, counts: [u64; 2], status: Status) -> Answer {
    Answer { bits: numbers.into_iter().map(f64::to_bits).collect(), counts, status }
}

/// Keeps every state it is given, or only the last one, which is never due.
#[derive(Default)]
struct Kept {
    resumed: Option<Archive>,
    states: Vec<Archive>,
    only_at_the_end: bool,
}

impl Checkpoints for Kept {
    fn resume(&mut self) -> Option<Archive> {
        self.resumed.take()
    }

    fn is_due(&mut self) -> bool {
        !self.only_at_the_end
    }

    fn store(&mut self, archive: Archive) {
        self.states.push(archive);
    }
}

/// Cancels after so many iterations.
struct StopAfter(Cancel, u64);

impl Observer for StopAfter {
    fn iteration(&mut self, record: &TraceRecord) {
        if record.iteration + 1 >= self.1 {
            self.0.cancel();
        }
    }
}

/// A run from `resumed`, if given, that is interrupted after so many iterations, within so many
/// inner problems.
struct Run<'a> {
    kept: &'a mut Kept,
    interrupt: u64,
    most: Option<u64>,
}

type Fitted = Result<Answer, String>;
/// A problem with a method for it.
type Case<'a> = Box<dyn Fn(Run<'_>) -> Fitted + 'a>;

fn whole_run(case: &Case<'_>, kept: &mut Kept) -> Fitted {
    case(Run { kept, interrupt: u64::MAX, most: None })
}

fn with_limit(mut options: Options, most: Option<u64>) -> Options {
    options.rules.max_evaluations = most;
    options
}

fn s3vm<'a>(problem: &'a S3vmProblem<'a>, options: Options) -> Case<'a> {
    Box::new(move |run| {
        let cancel = Cancel::new();
        let mut observer = StopAfter(cancel.clone(), run.interrupt);
        let options = with_limit(options, run.most);
        let fit = fit(problem, &options, &cancel, &mut observer, run.kept)
            .map_err(|error| error.to_string())?;
        let s = &fit.solution;
        let numbers = [s.bias, s.regularizer, s.risk, s.local_gap];
        let known = fit.lower_bound.into_iter().chain(fit.delta);
        let numbers = s.beta.iter().copied().chain(numbers).chain(known);
        Ok(answer(numbers, [fit.evaluations, fit.iterations], fit.status))
    })
}

fn many_rows<'a>(problem: LargeProblem<'a>, options: Options) -> Case<'a> {
    Box::new(move |run| {
        let cancel = Cancel::new();
        let mut observer = StopAfter(cancel.clone(), run.interrupt);
        let options = with_limit(options, run.most);
        let fit = fit_large(problem, &options, &cancel, &mut observer, run.kept)
            .map_err(|error| error.to_string())?;
        let s = &fit.solution;
        let numbers = s.beta.iter().copied().chain([s.bias, s.regularizer, s.risk]);
        Ok(answer(numbers, [fit.evaluations, fit.iterations], fit.status))
    })
}

fn robust<'a>(problem: &'a RampProblem<'a>, options: Options) -> Case<'a> {
    Box::new(move |run| {
        let cancel = Cancel::new();
        let mut observer = StopAfter(cancel.clone(), run.interrupt);
        let options = with_limit(options, run.most);
        let fit = fit_ramp(problem, &options, &cancel, &mut observer, run.kept)
            .map_err(|error| error.to_string())?;
        let s = &fit.solution;
        let numbers = s.beta.iter().copied().chain([s.bias, s.regularizer, s.risk, s.local_gap]);
        Ok(answer(numbers, [fit.evaluations, fit.iterations], fit.status))
    })
}

fn latent_case<'a>(problem: &'a latent::LatentProblem<'a>, options: Options) -> Case<'a> {
    Box::new(move |run| {
        let cancel = Cancel::new();
        let mut observer = StopAfter(cancel.clone(), run.interrupt);
        let options = with_limit(options, run.most);
        let fit = latent::fit(problem, &options, &cancel, &mut observer, run.kept)
            .map_err(|error| error.to_string())?;
        let s = &fit.solution;
        let functions = s.components.iter().flat_map(|c| c.beta.iter().copied().chain([c.bias]));
        let numbers = functions.chain([s.regularizer, s.risk, s.local_gap]);
        Ok(answer(numbers, [fit.evaluations, fit.iterations], fit.status))
    })
}

/// A few of many, the first and the last among them.
fn some<T: Clone>(of: &[T], count: usize) -> Vec<T> {
    let at = |k: usize| of[k * (of.len() - 1) / (count - 1).max(1)].clone();
    (0..count.min(of.len())).map(at).collect()
}

/// Runs a case as a whole, from its states, after interrupts and after limits.
fn check(told: &str, case: &Case<'_>, fewest_states: usize) -> Vec<Archive> {
    let mut kept = Kept::default();
    let whole = whole_run(case, &mut kept).unwrap();
    let mut nothing = Kept { only_at_the_end: true, ..Kept::default() };
    assert_eq!(whole_run(case, &mut nothing).unwrap(), whole, "{told}: states change the run");
    assert!(nothing.states.is_empty(), "{told}: a run that ended leaves nothing to go on with");
    assert!(kept.states.len() >= fewest_states, "{told}: {} states", kept.states.len());
    let resume = |state: &Archive, most: Option<u64>| {
        let mut kept = Kept { resumed: Some(state.clone()), ..Kept::default() };
        case(Run { kept: &mut kept, interrupt: u64::MAX, most }).unwrap()
    };
    for (k, state) in some(&kept.states, 6).iter().enumerate() {
        assert_eq!(resume(state, None), whole, "{told}: another answer from state {k}");
    }
    let [evaluations, iterations] = whole.counts;
    for share in 0..3 {
        let mut kept = Kept { only_at_the_end: true, ..Kept::default() };
        let interrupt = (iterations * share / 3).max(1);
        let stopped = case(Run { kept: &mut kept, interrupt, most: None }).unwrap();
        if stopped.status == Status::Interrupted {
            assert_eq!(kept.states.len(), 1, "{told}: {interrupt} iterations");
            assert_eq!(resume(&kept.states[0], None), whole, "{told}: {interrupt} iterations");
        }
        let most = (evaluations * (share + 1) / 4).max(8);
        let mut kept = Kept { only_at_the_end: true, ..Kept::default() };
        let limited = case(Run { kept: &mut kept, interrupt: u64::MAX, most: Some(most) }).unwrap();
        assert!(limited.counts[0] <= most, "{told}: {} of {most}", limited.counts[0]);
        if limited.status == Status::MaxEvals {
            let state = &kept.states[0];
            assert_eq!(resume(state, Some(most)), limited, "{told}: the same limit of {most}");
            assert_eq!(resume(state, None), whole, "{told}: no limit after {most}");
        }
    }
    kept.states
}

/// Changes every array of a state in many ways; there must be a refusal or an answer.
fn tamper(told: &str, case: &Case<'_>, state: &Archive) {
    let mut refused = 0;
    let mut attempt = |state: Archive| {
        let mut kept = Kept { resumed: Some(state), ..Kept::default() };
        if let Err(sentence) = case(Run { kept: &mut kept, interrupt: u64::MAX, most: Some(400) }) {
            assert!(
                ["no usable entry", "at most", "before its first"]
                    .iter()
                    .any(|part| sentence.contains(part)),
                "{told}: {sentence}"
            );
            refused += 1;
        }
    };
    for name in state.reals.keys() {
        let mut without = state.clone();
        without.reals.remove(name);
        attempt(without);
        for value in [f64::NAN, f64::INFINITY, -1.0, 1e308] {
            let mut other = state.clone();
            let values = other.reals.get_mut(name).unwrap();
            values.iter_mut().for_each(|old| *old = value);
            attempt(other.clone());
            other.reals.get_mut(name).unwrap().push(value);
            attempt(other);
        }
    }
    for name in state.integers.keys() {
        let mut without = state.clone();
        without.integers.remove(name);
        attempt(without);
        for value in [0, 3, 1 << 40, u64::MAX] {
            let mut other = state.clone();
            let values = other.integers.get_mut(name).unwrap();
            values.iter_mut().for_each(|old| *old = value);
            attempt(other.clone());
            other.integers.get_mut(name).unwrap().push(value);
            attempt(other);
        }
    }
    assert!(refused > 10, "{told}: {refused} refusals");
}

fn moons(examples: usize) -> (Matrix<'static>, Vec<i8>) {
    let (noise, labeled) = (0.1, Some(2));
    let options =
        CloudsOptions { clouds: Clouds::Moons, examples, noise, labeled, seed: 3, skip: 0 };
    // The classes take turns, and the first two have labels.
    (clouds(&options).features, (0..examples).map(|i| [-1, 1, 0][i.min(2)]).collect())
}

fn by(solver: Solver) -> Options {
    Options { solver, ..Options::default() }
}

const WIDTH: Kernel = Kernel::Rbf { sigma: 0.35 };

#[test]
fn semi_supervised_machines() {
    let (matrix, signs) = moons(40);
    let points = Points::new(&matrix);
    let gram = Gram::new(WIDTH, &points, 1 << 20).unwrap();
    let wide = Gram::new(Kernel::Rbf { sigma: 1.0 }, &points, 1 << 20).unwrap();
    for balance in [(19, 19), (17, 21)] {
        let problem = S3vmProblem::new(&gram, signs.clone(), 100.0, 1.0, balance);
        let case = s3vm(&problem, by(Solver::Pdm));
        let states = check(&format!("pdm {balance:?}"), &case, 30);
        tamper("pdm", &case, &states[states.len() / 2]);
    }
    // The printed algorithm mostly ends after its first round.
    let open = S3vmProblem::new(&wide, signs.clone(), 1.0, 1.0, (0, 38));
    let strict =
        |seed| s3vm(&open, Options { mode: Mode::Strict, seed, degree: 1.0, ..by(Solver::Pdm) });
    let rounds = |seed: &u64| {
        let mut kept = Kept::default();
        whole_run(&strict(*seed), &mut kept).unwrap();
        kept.states.len()
    };
    let seed = (0..80).find(|seed| rounds(seed) >= 2).expect("a seed with two rounds");
    let case = strict(seed);
    let states = check("strict", &case, 2);
    tamper("strict", &case, &states[1]);
    let problem = S3vmProblem::new(&gram, signs, 100.0, 1.0, (19, 19));
    for solver in [Solver::Da, Solver::Gd] {
        check(solver.name(), &s3vm(&problem, by(solver)), 1);
    }
}

#[test]
fn branch_and_bound() {
    let (matrix, signs) = moons(40);
    let points = Points::new(&matrix);
    let gram = Gram::new(WIDTH, &points, 1 << 20).unwrap();
    let problem = S3vmProblem::new(&gram, signs, 100.0, 1.0, (17, 21));
    let case = s3vm(&problem, by(Solver::Bb));
    let states = check("bb", &case, 30);
    let last = states.last().unwrap();
    assert!(last.reals.contains_key("bounds") && last.integers["counts"][0] >= 2000);
    tamper("bb", &case, last);
}

#[test]
fn many_rows_from_coarse_to_fine() {
    let (matrix, signs) = moons(30);
    let points = Points::new(&matrix);
    let balance = (14, 14);
    let problem =
        LargeProblem { kernel: WIDTH, points: &points, signs: &signs, c1: 100.0, c2: 1.0, balance };
    let case = many_rows(problem, Options::default());
    let states = check("large", &case, 30);
    tamper("large", &case, &states[states.len() / 2]);
}

#[test]
fn machines_with_the_ramp_loss() {
    let (matrix, _) = moons(60);
    let points = Points::new(&matrix);
    let gram = Gram::new(WIDTH, &points, 1 << 20).unwrap();
    // The classes take turns; some labels are wrong.
    let signs = (0..60).map(|i| if (i % 2 == 0) != (i % 7 == 0) { 1 } else { -1 }).collect();
    let problem = RampProblem { gram: &gram, signs, c: 2.0, ramp: -1.0 };
    for solver in [Solver::Pdm, Solver::Ao, Solver::Da] {
        let case = robust(&problem, by(solver));
        let states = check(&format!("robust by {}", solver.name()), &case, 2);
        tamper("robust", &case, states.last().unwrap());
    }
}

#[test]
fn latent_machines() {
    let mut rng = Lcg::new(5);
    let values: Vec<f64> = (0..120).map(|_| 2.0 * rng.signed()).collect();
    let matrix = Matrix::dense(60, 2, values.into()).unwrap();
    let points = Points::new(&matrix);
    let gram = Gram::new(Kernel::Rbf { sigma: 0.7 }, &points, 1 << 20).unwrap();
    let positive = (0..60).map(|_| rng.signed() > 0.0).collect();
    let problem = latent::LatentProblem::new(&gram, positive, 3, 1.0, 1.0);
    for solver in [Solver::Pdm, Solver::Cccp] {
        let case = latent_case(&problem, by(solver));
        let states = check(&format!("latent by {}", solver.name()), &case, 1);
        if solver == Solver::Pdm {
            assert!(states.len() >= 15);
            tamper("latent", &case, states.last().unwrap());
        }
    }
}

/// One class against the rest: the finished machines come back as they were.
#[test]
fn classes_one_after_the_other() {
    let mut rng = Lcg::new(9);
    let mut rows = Vec::new();
    let mut labels = Vec::new();
    for i in 0..45u32 {
        let (class, angle) = (i % 3, f64::from(i % 3) * 2.1);
        rows.extend([2.0 * angle.cos() + rng.signed(), 2.0 * angle.sin() + rng.signed()]);
        labels.push(if i < 6 { class + 1 } else { 0 });
    }
    let classes = (0..4).map(|class| Label::Number(f64::from(class))).collect();
    let data = Dataset {
        features: Matrix::dense(45, 2, rows.into()).unwrap(),
        labels: Labels { classes, rows: LabelRows::Single(labels) },
    };
    for solver in [Solver::Pdm, Solver::Lcs] {
        let case: Case<'_> = Box::new(|run| {
            let cancel = Cancel::new();
            let mut observer = StopAfter(cancel.clone(), run.interrupt);
            let settings = Settings::new("s3vm")?
                .with(&SOLVER, solver.name().into())
                .with(&MAX_EVALS, run.most);
            let context = Context::default().cancelled_by(&cancel).observed_by(&mut observer);
            let trained = train(&data, &settings, context.kept_by(run.kept));
            let (model, report) = trained.map_err(|error| error.to_string())?;
            let form = model.form_as::<KernelForm>().unwrap();
            let machine = |m: &Machine| m.beta.iter().copied().chain([m.bias]).collect::<Vec<_>>();
            let numbers = form.machines.iter().flat_map(machine);
            let objective = [report.certificate.objective, report.local_gap.unwrap_or(f64::NAN)];
            let counts = [report.evaluations, report.iterations];
            Ok(answer(numbers.chain(objective), counts, report.status))
        });
        let states = check(&format!("classes by {}", solver.name()), &case, 3);
        let finished = |state: &Archive| state.integers["finished"][0];
        assert_eq!((finished(&states[0]), finished(states.last().unwrap())), (0, 2));
        tamper("classes", &case, states.last().unwrap());
    }
}
