//! Hidden Markov models with full covariances: they tell what diagonal ones cannot. That their densities
//! and gradients are right is checked beside the others' in `hmm.rs`.

use minorant::data::{Label, LabelRows, Labels, Recordings};
use minorant::family::hmm::{COVARIANCE, STATES};
use minorant::family::{Context, FittedModel, Lambda, PROOF_BYTES, Settings, train};
use minorant::hmm::Covariance;
use minorant::linalg::Matrix;
use minorant::options::common::MAX_EVALS;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;

/// Classes that differ in nothing but how two features go together.
#[test]
fn full_covariances_tell_what_goes_together() {
    let made = |seed: u64| {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let (mut values, mut starts, mut labels) = (Vec::new(), vec![0], Vec::new());
        for i in 0..60 {
            let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
            for _ in 0..6 {
                let (a, b): (f64, f64) =
                    (StandardNormal.sample(&mut rng), StandardNormal.sample(&mut rng));
                values.extend([a, sign * a + 0.7 * b]);
            }
            starts.push(values.len() / 2);
            labels.push(i % 2);
        }
        let frames = Matrix::dense(values.len() / 2, 2, values.into()).unwrap();
        let classes = vec![Label::Number(0.0), Label::Number(1.0)];
        Recordings { frames, starts, labels: Labels { classes, rows: LabelRows::Single(labels) } }
    };
    let (data, test) = (made(1), made(2));
    let settings = Settings::new("hmm").unwrap().with(&STATES, 1).with(&MAX_EVALS, Some(25));
    let mut settings = settings;
    settings.set_lambda(Lambda::Lambda(0.05));
    let fit = |settings: &Settings| train(&data, settings, Context::default()).unwrap();
    let (diagonal, _) = fit(&settings);
    let (full, report) = fit(&settings.with(&COVARIANCE, Covariance::Full));
    let error = |model: &FittedModel, data: &Recordings| model.evaluate(data).unwrap().error();
    let errors = [&diagonal, &full].map(|model| error(model, &test));
    assert!(errors[0] > 0.3 && errors[1] < 0.1, "{errors:?}");
    assert!(report.certificate.objective.is_finite());
    // The file keeps what the weights mean.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    full.save(&path, PROOF_BYTES).unwrap();
    assert_eq!(error(&FittedModel::load(&path).unwrap(), &test), errors[1]);
}
