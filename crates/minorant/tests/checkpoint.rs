//! Checkpoints at the level of the library: a run that was stopped and resumed ends with the same
//! model, bit for bit, as one that was never stopped; checkpoints of other runs and damaged ones
//! are refused with a sentence.

mod common;

use common::{Case, Kind, L1_METHODS, NON_CONVEX_METHODS, fit, larger_case, methods_for, with_l1};
use minorant::archive::Archive;
use minorant::checkpoint::FileCheckpoints;
use minorant::family::linear::{BIAS_WEIGHT, LOSS, LossName, STARTS};
use minorant::family::{Context, TrainReport};
use minorant::options::common::{BIAS, INTERCEPT, Intercept};
use minorant::risk::Cancel;
use minorant::solver::{Checkpoints, Method, Status};
use minorant::trace::{Observer, TraceRecord};
use std::path::Path;

/// A checkpoint after every iteration.
struct Always(FileCheckpoints);

impl Checkpoints for Always {
    fn resume(&mut self) -> Option<Archive> {
        self.0.resume()
    }

    fn is_due(&mut self) -> bool {
        true
    }

    fn store(&mut self, archive: Archive) {
        self.0.store(archive);
    }
}

/// Cancels after so many iterations.
struct Stop(Cancel, usize);

impl Observer for Stop {
    fn iteration(&mut self, _record: &TraceRecord) {
        self.1 = self.1.saturating_sub(1);
        if self.1 == 0 {
            self.0.cancel();
        }
    }
}

fn open(case: &Case, write: Option<&Path>, resume: Option<&Path>) -> Always {
    Always(FileCheckpoints::new(write, resume, &case.data, &case.settings).expect("checkpoints"))
}

/// The saved model of a run with checkpoints.
fn run(case: &Case, mut checkpoints: Always, stop: Option<usize>) -> (Vec<u8>, TrainReport) {
    let cancel = Cancel::new();
    let mut observer = Stop(cancel.clone(), stop.unwrap_or(usize::MAX));
    let context = Context::default().cancelled_by(&cancel).observed_by(&mut observer);
    let result = case.train(context.kept_by(&mut checkpoints));
    let (model, report) = result.expect("a fitted model");
    assert!(checkpoints.0.failure().is_none());
    (bytes_of(&model), report)
}

fn bytes_of(model: &minorant::family::FittedModel) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model");
    model.save(&path, u64::MAX).expect("a saved model");
    std::fs::read(path).expect("a model file")
}

fn case_of(kind: Kind, method: Method) -> Case {
    let case = larger_case(kind, 90, 7, 3);
    let mut case = if L1_METHODS.contains(&method) { with_l1(case) } else { case };
    case.lambda(1e-2);
    case.solver(method);
    case.tol(1e-5);
    match method {
        Method::LmBmrm => {
            case.memory(8);
            case.tol(3e-3);
        }
        Method::PBmrm | Method::ProxPBmrm | Method::LsPBmrm => {
            case.parts(5);
        }
        Method::SubBfgs | Method::SubLbfgs => case.tol(1e-3),
        // Iterations that cost little are many, and each writes a file here.
        Method::DualCd | Method::Auto => case.tol(1e-3),
        _ => {}
    }
    if Kind::NON_CONVEX.contains(&kind) {
        case.tol(1e-2);
        if method.uses_memory() {
            case.memory(12);
        }
        if kind.is_transductive() {
            case.put(&STARTS, 2);
        }
    }
    case
}

fn check(kind: Kind, method: Method) {
    check_case(&case_of(kind, method), kind, &format!("{kind:?} {method:?}"));
}

fn check_case(case: &Case, kind: Kind, told: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("checkpoint");
    let (model, report) = fit(case);
    assert_eq!(report.status, Status::Converged, "{told}");
    let whole = bytes_of(&model);
    let (watched, _) = run(case, open(case, Some(&path), None), None);
    assert!(whole == watched, "{told}: checkpoints change the run");

    let all = report.evaluations;
    for share in [0, 1, 2, 3] {
        // Stopped by the number of evaluations.
        let mut short = case.clone();
        let least = if kind == Kind::OneVsRest { 5 } else { 2 };
        let most = (all * share / 4).max(least);
        short.max_evals(most);
        let (_, stopped) = run(&short, open(&short, Some(&path), None), None);
        assert!(stopped.evaluations <= most, "{told}: {} of {most}", stopped.evaluations);
        let (resumed, again) = run(case, open(case, None, Some(&path)), None);
        assert_eq!(again.evaluations, all, "{told}: resumed after {most} evaluations");
        assert!(whole == resumed, "{told}: resumed after {most} evaluations, another model");
        // Stopped by somebody else.
        let iterations = (report.iterations * share / 4).max(1) as usize;
        let (_, stopped) = run(case, open(case, Some(&path), None), Some(iterations));
        assert_eq!(stopped.status, Status::Interrupted, "{told}");
        let (resumed, _) = run(case, open(case, None, Some(&path)), None);
        assert!(whole == resumed, "{told}: resumed after {iterations} iterations, another model");
    }
}

#[test]
fn duals_with_free_intercepts() {
    for kind in [Kind::Hinge, Kind::SquaredHinge, Kind::Logistic, Kind::Multiclass] {
        let mut case = case_of(kind, Method::DualCd);
        case.put(&BIAS, None);
        case.put(&INTERCEPT, Some(Intercept::Free));
        check_case(&case, kind, &format!("{kind:?} with a free intercept"));
    }
}

#[test]
fn binary() {
    for kind in [Kind::Hinge, Kind::Logistic] {
        methods_for(kind).into_iter().for_each(|method| check(kind, method));
    }
}

#[test]
fn multiclass_and_multilabel() {
    for kind in [Kind::Multiclass, Kind::Multilabel] {
        methods_for(kind).into_iter().for_each(|method| check(kind, method));
    }
}

#[test]
fn one_vs_rest() {
    methods_for(Kind::OneVsRest).into_iter().for_each(|method| check(Kind::OneVsRest, method));
}

#[test]
fn l1_penalty() {
    for method in L1_METHODS {
        check(Kind::Logistic, method);
        check(Kind::Softmax, method);
        check(Kind::OneVsRest, method);
    }
}

#[test]
fn risks_that_are_not_convex() {
    for method in NON_CONVEX_METHODS {
        for kind in Kind::NON_CONVEX {
            check(kind, method);
        }
    }
}

#[test]
fn convex_risks_by_methods_for_others() {
    for method in [Method::NrbmLs, Method::NrbmLsFull, Method::ProxNrbm, Method::Nbm, Method::Lmbm]
    {
        check(Kind::Hinge, method);
        check(Kind::Multiclass, method);
    }
}

#[test]
fn stopped_again_and_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("checkpoint");
    for kind in [Kind::Hinge, Kind::OneVsRest] {
        let case = case_of(kind, Method::LsPBmrm);
        let whole = bytes_of(&fit(&case).0);
        run(&case, open(&case, Some(&path), None), Some(2));
        for _ in 0..4 {
            run(&case, open(&case, Some(&path), Some(&path)), Some(2));
        }
        let (resumed, _) = run(&case, open(&case, None, Some(&path)), None);
        assert!(whole == resumed, "{kind:?}: another model");
    }
}

/// A run that asks for more than rounding allows ends the same way, resumed or not.
#[test]
fn stalled_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("checkpoint");
    let mut case = case_of(Kind::Hinge, Method::LsBmrm);
    case.tol(0.0);
    case.abs_tol(0.0);
    let (model, report) = fit(&case);
    assert_eq!(report.status, Status::Stalled);
    for back in [3, 10, 30] {
        let iterations = report.iterations.saturating_sub(back) as usize;
        run(&case, open(&case, Some(&path), None), Some(iterations));
        let (resumed, again) = run(&case, open(&case, None, Some(&path)), None);
        assert_eq!(again.iterations, report.iterations, "resumed {back} iterations before the end");
        assert!(bytes_of(&model) == resumed, "resumed {back} iterations before the end");
    }
}

/// Fewer evaluations than a checkpoint has used already: no more are made, and no panic.
#[test]
fn resumed_with_a_smaller_budget() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("checkpoint");
    for kind in [Kind::Hinge, Kind::OneVsRest] {
        let mut case = case_of(kind, Method::Bmrm);
        let (_, whole) = run(&case, open(&case, Some(&path), None), None);
        case.max_evals(6);
        let mut checkpoints = open(&case, None, Some(&path));
        let error = case
            .train(Context::default().kept_by(&mut checkpoints))
            .expect_err("more evaluations are spent than allowed");
        assert!(
            whole.evaluations > 6 && error.to_string().contains("at most"),
            "{kind:?}: {error}"
        );
    }
}

/// What opening a checkpoint says.
fn refusal(case: &Case, path: &Path) -> String {
    match FileCheckpoints::new(None, Some(path), &case.data, &case.settings) {
        Ok(_) => panic!("the checkpoint was taken"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn checkpoints_of_other_runs_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("checkpoint");
    let case = case_of(Kind::Hinge, Method::LsPBmrm);
    run(&case, open(&case, Some(&path), None), Some(3));
    let mut other = case.clone();
    other.data = larger_case(Kind::Hinge, 90, 7, 4).data;
    assert!(refusal(&other, &path).contains("other data"));
    let mut weighted = case.clone();
    weighted.weigh(vec![2.0; 90]);
    assert!(refusal(&weighted, &path).contains("other data"));
    type Change = fn(&mut Case);
    let changes: [Change; 7] = [
        |case| case.lambda(0.02),
        |case| case.put(&BIAS, None),
        |case| case.put(&BIAS_WEIGHT, Some(2.0)),
        |case| case.solver(Method::LsBmrm),
        |case| case.parts(6),
        |case| case.put(&LOSS, LossName::SquaredHinge),
        |case| *case = with_l1(case.clone()),
    ];
    for change in changes {
        let mut other = case.clone();
        change(&mut other);
        let told = refusal(&other, &path);
        assert!(told.contains("a run with the settings"), "{told}");
    }
    // How far to go is not a setting of the run.
    let mut further = case.clone();
    further.max_evals(1000);
    assert!(FileCheckpoints::new(None, Some(&path), &further.data, &further.settings).is_ok());
}

#[test]
fn damaged_checkpoints_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("checkpoint");
    let case = case_of(Kind::Multiclass, Method::LmBmrm);
    run(&case, open(&case, Some(&path), None), Some(12));
    let whole = std::fs::read(&path).expect("a checkpoint");
    for at in (0..whole.len()).step_by(whole.len() / 200 + 1) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        std::fs::write(&path, &flipped).expect("a damaged file");
        assert!(refusal(&case, &path).contains("expected"), "byte {at}");
        std::fs::write(&path, &whole[..at]).expect("a cut file");
        assert!(refusal(&case, &path).contains("expected"), "cut at {at}");
    }
}
