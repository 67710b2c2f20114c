//! `sgd` where nothing is convex, on a hidden Markov model: it goes down, what it reports is the
//! objective of the weights it gives, every pass is counted, the seed decides, and a resumed run
//! ends in the same bits.

use minorant::archive::Archive;
use minorant::data::Recordings;
use minorant::family::hmm::{STATES, TASK};
use minorant::family::{Context, FittedModel, Lambda, PROOF_BYTES, Settings, TrainReport, train};
use minorant::generate::{Phones, phones};
use minorant::hmm::Task;
use minorant::options::common::{MAX_EVALS, SEED, SOLVER};
use minorant::solver::{Checkpoints, Method, Status};
use minorant::trace::TraceRecord;

fn data() -> Recordings {
    phones(Phones { sequences: 30, labels: 3, features: 2, noise: 0.8 }, 5, 0)
}

fn settings(evaluations: u64, seed: u64) -> Settings {
    let mut settings = Settings::new("hmm")
        .unwrap()
        .with(&TASK, Task::Label)
        .with(&STATES, 2)
        .with(&SOLVER, Method::Sgd.name().into())
        .with(&MAX_EVALS, Some(evaluations))
        .with(&SEED, seed);
    settings.set_lambda(Lambda::Lambda(0.2));
    settings
}

fn run(
    settings: &Settings,
    checkpoints: &mut dyn Checkpoints,
) -> (FittedModel, TrainReport, Vec<TraceRecord>) {
    let mut trace = Vec::new();
    let context = Context::default().observed_by(&mut trace).kept_by(checkpoints);
    let (model, report) = train(&data(), settings, context).unwrap();
    (model, report, trace)
}

#[test]
fn it_goes_down_and_counts_every_pass() {
    for evaluations in [1, 2, 30, 47, 48] {
        let (_, report, trace) = run(&settings(evaluations, 1), &mut ());
        assert_eq!((report.solver, report.status), ("sgd", Status::MaxEvals));
        assert!(report.evaluations <= evaluations, "{} of {evaluations}", report.evaluations);
        assert!(report.certificate.lower_bound.is_none() && report.local_gap.is_none());
        // A pass counts one, and so does the evaluation after it.
        let passes = trace.windows(2).filter(|pair| pair[1].step == "pass");
        for pair in passes {
            assert_eq!(pair[1].evaluations, pair[0].evaluations + 1);
        }
        assert!(trace.windows(2).all(|pair| pair[1].best_objective <= pair[0].best_objective));
    }
    let (model, report, trace) = run(&settings(48, 1), &mut ());
    let objective = report.certificate.objective;
    assert!(trace.iter().filter(|record| record.step == "pass").count() >= 5);
    assert!(objective < 0.9 * trace[0].objective, "{objective} {}", trace[0].objective);
    assert_eq!(objective, model.facts.certificate.objective);
    assert!((objective - report.risk - report.regularizer).abs() <= 1e-12 * objective);
}

#[test]
fn the_seed_decides_and_nothing_else() {
    let bytes = |seed: u64, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&settings(40, seed), &mut ()).0.to_bytes(PROOF_BYTES))
    };
    assert_eq!(bytes(1, 1), bytes(1, 3));
    assert_ne!(bytes(1, 1), bytes(2, 1));
}

/// Keeps the state after some iterations, and goes on from one.
#[derive(Default)]
struct Keep {
    asked: usize,
    at: usize,
    kept: Option<Archive>,
    from: Option<Archive>,
}

impl Checkpoints for Keep {
    fn resume(&mut self) -> Option<Archive> {
        self.from.take()
    }

    fn is_due(&mut self) -> bool {
        self.asked += 1;
        self.asked == self.at
    }

    fn store(&mut self, archive: Archive) {
        self.kept.get_or_insert(archive);
    }
}

#[test]
fn a_resumed_run_ends_in_the_same_bits() {
    // After the start, after the choice of a step, after a pass, and after an evaluation.
    for at in 1..=4 {
        let mut keep = Keep { at, ..Keep::default() };
        let whole = run(&settings(40, 3), &mut keep).0;
        let mut resumed = Keep { from: keep.kept.take(), ..Keep::default() };
        assert!(resumed.from.is_some(), "{at}");
        assert_eq!(
            whole.to_bytes(PROOF_BYTES),
            run(&settings(40, 3), &mut resumed).0.to_bytes(PROOF_BYTES),
            "{at}"
        );
    }
}
