//! Hidden Markov models of data that leaves little to learn from, or none: trained all the same, or refused
//! in one sentence.

use minorant::data::{Label, LabelRows, Labels, Recordings};
use minorant::family::hmm::{MIXTURES, STATES, TOPOLOGY};
use minorant::family::{Context, Lambda, Settings, train};
use minorant::hmm::Topology;
use minorant::linalg::Matrix;
use minorant::options::common::MAX_EVALS;
use minorant::solver::Status;

fn settings() -> Settings {
    let settings = Settings::new("hmm").unwrap().with(&MIXTURES, 2);
    let mut settings = settings.with(&MAX_EVALS, Some(25));
    settings.set_lambda(Lambda::Lambda(0.05));
    settings
}

#[test]
fn degenerate_classes_train_or_are_refused_in_a_sentence() {
    // One sequence a class, one frame a sequence, a constant feature.
    let recordings = |starts: Vec<usize>, values: Vec<f64>, labels: Vec<u32>| {
        let rows = *starts.last().unwrap();
        let frames = Matrix::dense(rows, values.len() / rows, values.into()).unwrap();
        let classes = vec![Label::Number(0.0), Label::Number(1.0)];
        Recordings { frames, starts, labels: Labels { classes, rows: LabelRows::Single(labels) } }
    };
    let single = recordings(vec![0, 1, 2], vec![7.0, -1.0, 7.0, 1.0], vec![0, 1]);
    let train = |data: &Recordings, settings: &Settings| {
        train(data, settings, Context::default()).map_err(|e| e.to_string())
    };
    let one = settings().with(&STATES, 1).with(&MIXTURES, 3);
    let (model, report) = train(&single, &one).unwrap();
    assert!(report.certificate.objective.is_finite());
    assert_eq!(model.predict(&single).unwrap().labels(), [0, 1]);
    let error = train(&single, &settings()).unwrap_err();
    assert!(error.contains("sequence 1 has 1 frame, fewer than the 3 states"), "{error}");
    let ergodic = settings().with(&TOPOLOGY, Topology::Ergodic);
    assert!(train(&single, &ergodic).is_ok());
    let constant = recordings(vec![0, 3, 6], vec![2.0; 6], vec![0, 1]);
    let (_, report) = train(&constant, &settings()).unwrap();
    assert!(matches!(report.status, Status::Converged | Status::Stalled | Status::MaxEvals));
    let empty = recordings(vec![0, 0, 3, 6], vec![2.0; 6], vec![0, 0, 1]);
    let error = train(&empty, &settings()).unwrap_err();
    assert_eq!(error, "sequence 1 has no frames");
    let huge = recordings(vec![0, 3, 6], [1e300, -1e300].repeat(3), vec![0, 1]);
    let error = train(&huge, &settings()).unwrap_err();
    assert!(error.contains("feature 1 are too large"), "{error}");
    for (states, mixtures, what) in [(0, 1, "states"), (1, 0, "mixtures")] {
        let settings = settings().with(&STATES, states).with(&MIXTURES, mixtures);
        let error = train(&constant, &settings).unwrap_err();
        assert_eq!(error, format!("{what} must be at least 1, not 0"));
    }
    // At prediction a sequence that is too short, or empty, still has an answer.
    let (model, _) = train(&recordings_of_two(), &settings()).unwrap();
    let short = recordings(vec![0, 1, 1, 4], vec![0.5; 12], vec![0, 0, 1]);
    assert_eq!(model.predict(&short).unwrap().labels().len(), 3);
}

fn recordings_of_two() -> Recordings {
    let (mut values, mut starts, mut labels) = (Vec::new(), vec![0], Vec::new());
    for i in 0..12usize {
        for t in 0..6 + i % 4 {
            let phase = (t + 3 * (i % 2)) as f64 / 2.0;
            values
                .extend([0.0, 1.0, 2.0].map(|j| (((7 * i + 5 * t) % 11) as f64 - phase * j) / 9.0));
        }
        starts.push(values.len() / 3);
        labels.push((i % 2) as u32);
    }
    let frames = Matrix::dense(values.len() / 3, 3, values.into()).unwrap();
    let classes = vec![Label::Number(0.0), Label::Number(1.0)];
    Recordings { frames, starts, labels: Labels { classes, rows: LabelRows::Single(labels) } }
}
