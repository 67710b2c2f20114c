//! Data that is wider than it has rows: columns that do not occur change nothing but the length of the
//! weights, and planes that are kept by their examples' slopes prove what others do, on any number of
//! threads, after a resume, and where they are folded into one.

mod common;

use common::{Case, Kind, Random, Values, fit, form, labels, larger_case, rows, sparse};
use minorant::checkpoint::FileCheckpoints;
use minorant::data::{Dataset, Labels};
use minorant::family::linear::regression::{LOSS, TAU};
use minorant::family::linear::{LossName, MULTICLASS, Multiclass};
use minorant::family::{Context, FittedModel, Settings, train};
use minorant::linalg::{Matrix, Storage};
use minorant::options::common::{
    BIAS, INTERCEPT, Intercept, L1_RATIO, LAMBDA, MAX_EVALS, NONNEGATIVE, SOLVER, TOL,
};
use minorant::risk::Cancel;
use minorant::solver::{Method, Status};
use minorant::trace::{Observer, TraceRecord};
use rayon::ThreadPoolBuilder;

const COLUMNS: usize = 20_000;

/// The rows of a narrow matrix with their columns far apart.
fn widened(narrow: &Matrix<'_>, places: &[usize]) -> Matrix<'static> {
    let (mut starts, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
    for i in 0..narrow.rows() {
        for (j, x) in narrow.row(i) {
            columns.push(places[j] as u32);
            values.push(x);
        }
        starts.push(columns.len() as u64);
    }
    Matrix::csr(COLUMNS, starts, columns, Storage::F64.store(values)).expect("a wide matrix")
}

fn fitted(data: &Dataset<'_>, settings: &Settings, start: Option<Vec<f64>>) -> FittedModel {
    let context = Context { start, ..Context::default() };
    train(data, settings, context).expect("a fitted model").0
}

#[test]
fn columns_that_do_not_occur_change_nothing() {
    for seed in 0..24 {
        let mut random = Random::new(seed);
        let (n, d) = (random.between(6, 40), random.between(2, 12));
        let x = rows(&mut random, n, d, Values::Normal);
        let narrow = sparse(&x, d, Storage::F64);
        let places: Vec<usize> = (0..d).map(|j| j * 1500 + random.between(0, 1400)).collect();
        let wide = widened(&narrow, &places);
        let models = ["svm", "logistic", "regression", "svm"];
        let (model, is_multiclass) = (models[seed as usize % 4], seed % 4 == 3);
        let labels = match model {
            "regression" => Labels::of_targets(&random.normals(n)),
            _ if is_multiclass => labels(&mut random, Kind::Multiclass, n, 3),
            _ => labels(&mut random, Kind::Hinge, n, 2),
        };
        let mut settings = Settings::new(model).expect("a model");
        settings.put(&LAMBDA, Some(random.scale(1e-3, 1.0)));
        settings.put(&TOL, 1e-5);
        settings.put(&MAX_EVALS, Some(2000));
        if random.chance(0.3) {
            settings.put(&L1_RATIO, Some(random.pick(&[0.4, 1.0])));
        }
        settings.put(&NONNEGATIVE, random.chance(0.2));
        match random.between(0, 3) {
            0 => settings.put(&BIAS, Some(1.0)),
            1 => settings.put(&INTERCEPT, Some(Intercept::Free)),
            _ => {}
        }
        if is_multiclass && random.chance(0.5) {
            settings.put(&MULTICLASS, Multiclass::OneVsRest);
        }
        let [narrow, wide] =
            [narrow, wide].map(|features| Dataset { features, labels: labels.clone() });
        let (few, many) = (fitted(&narrow, &settings, None), fitted(&wide, &settings, None));
        let told = format!("seed {seed}: {:?}", settings.given().collect::<Vec<_>>());
        assert_eq!(few.facts.certificate, many.facts.certificate, "{told}");
        assert_eq!(few.facts.evaluations, many.facts.evaluations, "{told}");
        let pairs = form(&few).problems.iter().zip(&form(&many).problems);
        let k = form(&few).outputs();
        for (few, many) in pairs {
            let mut left = many.weights.clone();
            for (j, &place) in places.iter().enumerate() {
                assert_eq!(
                    few.weights[j * k..(j + 1) * k],
                    many.weights[place * k..][..k],
                    "{told}"
                );
                left[place * k..(place + 1) * k].fill(0.0);
            }
            assert_eq!(few.weights[d * k..], many.weights[COLUMNS * k..], "{told}");
            left.truncate(COLUMNS * k);
            assert!(left.iter().all(|w| *w == 0.0), "{told}");
            assert_eq!(few.intercept, many.intercept, "{told}");
        }
        let audit = many.audit(&wide, None);
        assert_ne!(audit.holds, Some(false), "{told}: {}", audit.why);
        // Weights to start from are those of all columns.
        let start = form(&many).problems.iter().flat_map(|problem| problem.weights.clone());
        let again = fitted(&wide, &settings, Some(start.collect()));
        assert_eq!(again.facts.is_certified(), many.facts.is_certified(), "{told}");
    }
}

/// A case of more columns than rows.
fn wide_case(kind: Kind, method: Method, is_free: bool) -> Case {
    let mut case = larger_case(kind, 40, 600, 3);
    case.solver(method);
    case.lambda(1e-3);
    case.tol(1e-4);
    case.max_evals(1500);
    case.put(&BIAS, None);
    case.put(&INTERCEPT, is_free.then_some(Intercept::Free));
    case
}

const PLANES: [Method; 3] = [Method::Bmrm, Method::LsBmrm, Method::LmBmrm];
const WALKS: [Method; 2] = [Method::Newton, Method::Lbfgs];

fn bytes_of(model: &FittedModel) -> Vec<u8> {
    model.to_bytes(u64::MAX)
}

#[test]
fn planes_by_slopes_prove_what_others_do() {
    for kind in [Kind::Hinge, Kind::Logistic, Kind::Multiclass, Kind::Softmax, Kind::Multilabel] {
        let sure = fit(&wide_case(kind, Method::Auto, false)).1.certificate;
        let is_smooth = matches!(kind, Kind::Logistic | Kind::Softmax);
        let walks = WALKS.into_iter().filter(|_| is_smooth);
        for method in PLANES.into_iter().chain(walks) {
            for is_free in [false, true] {
                let mut case = wide_case(kind, method, is_free);
                if method == Method::LmBmrm {
                    // Planes are folded into one.
                    case.memory(6);
                }
                let (model, report) = fit(&case);
                let told = format!("{kind:?} {method:?} free {is_free}: {report:?}");
                let found = report.certificate;
                if method != Method::LmBmrm {
                    assert!(found.certifies(1e-4), "{told}");
                }
                assert!(found.lower_bound.is_some_and(f64::is_finite), "{told}");
                // A free intercept is no worse than none.
                assert!(found.lower_bound <= Some(sure.objective), "{told}");
                assert!(is_free || sure.lower_bound <= Some(found.objective), "{told}");
                assert!(case.holds(&model), "{told}");
                for threads in [1, 3] {
                    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
                    let again = pool.expect("a pool").install(|| fit(&case).0);
                    assert!(bytes_of(&again) == bytes_of(&model), "{told}: {threads} threads");
                }
            }
        }
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

#[test]
fn planes_by_slopes_are_resumed() {
    let folder = tempfile::tempdir().expect("a folder");
    for method in PLANES {
        let mut case = wide_case(Kind::Hinge, method, true);
        if method == Method::LmBmrm {
            case.memory(5);
        }
        let whole = bytes_of(&fit(&case).0);
        let path = folder.path().join(method.name());
        let cancel = Cancel::new();
        let mut stop = Stop(cancel.clone(), 7);
        let open = |write: bool| {
            let (write, resume) = if write { (Some(&*path), None) } else { (None, Some(&*path)) };
            FileCheckpoints::new(write, resume, &case.data, &case.settings).expect("checkpoints")
        };
        let mut checkpoints = open(true);
        let context = Context::default().cancelled_by(&cancel).observed_by(&mut stop);
        let (_, report) = case.train(context.kept_by(&mut checkpoints)).expect("a model");
        assert_eq!(report.status, Status::Interrupted, "{method:?}");
        checkpoints.finish();
        let mut checkpoints = open(false);
        let resumed = case.train(Context::default().kept_by(&mut checkpoints)).expect("a model");
        assert!(bytes_of(&resumed.0) == whole, "{method:?}");
    }
}

#[test]
fn straight_losses_of_wide_rows() {
    let mut random = Random::new(5);
    let x = rows(&mut random, 30, 500, Values::Normal);
    let targets = random.normals(30);
    let features = sparse(&x, 500, Storage::F64);
    let data = Dataset { features, labels: Labels::of_targets(&targets) };
    for (loss, levels) in [
        (LossName::Absolute, vec![]),
        (LossName::Quantile, vec![0.25, 0.75]),
        (LossName::EpsilonInsensitive, vec![]),
    ] {
        for is_free in [false, true] {
            let mut settings = Settings::new("regression").expect("a model");
            settings.put(&LOSS, loss);
            if !levels.is_empty() {
                settings.put(&TAU, levels.clone());
            }
            settings.put(&INTERCEPT, is_free.then_some(Intercept::Free));
            settings.put(&LAMBDA, Some(0.02));
            settings.put(&SOLVER, "ls-bmrm".into());
            let (model, report) = train(&data, &settings, Context::default()).expect("a model");
            assert!(report.certificate.certifies(1e-3), "{loss:?} {is_free} {report:?}");
            let audit = model.audit(&data, None);
            assert_eq!(audit.holds, Some(true), "{loss:?} {is_free}: {}", audit.why);
        }
    }
}
