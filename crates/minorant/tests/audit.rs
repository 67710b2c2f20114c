//! Tampering: models whose claim, proof, weights or data were changed are rejected by the audit
//! even though their checksum is right, and files with any changed byte are not even loaded.

mod common;

use common::{BASELINES, Case, Kind, edit, fit, form, larger_case, methods_for};
use minorant::data::{Dataset, Label, LabelRows, ReadOptions, read_bytes};
use minorant::family::FittedModel;
use minorant::family::linear::{BIAS_WEIGHT, CLASS_WEIGHT};
use minorant::options::common::{BIAS, LABEL_LOSS};
use minorant::proof::{Proof, ProofPoint};
use minorant::solver::Method;
use sha2::{Digest, Sha256};
use std::path::Path;

fn case_of(kind: Kind, method: Method) -> Case {
    let mut case = larger_case(kind, 60, 6, 11);
    case.lambda(0.05);
    case.solver(method);
    case.tol(1e-4);
    case.max_evals(300);
    if method == Method::LmBmrm {
        case.memory(5);
    }
    case
}

/// The model as another program would get it: through a file.
fn through_file(model: &FittedModel) -> FittedModel {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model");
    assert!(model.save(&path, u64::MAX).expect("a saved model"), "no proof in the file");
    FittedModel::load(&path).expect("a loaded model")
}

fn holds(model: &FittedModel, data: &Dataset<'_>) -> bool {
    let verdict = through_file(model).audit(data, None);
    assert!(!verdict.why.is_empty());
    verdict.holds == Some(true)
}

/// Rejects what `change` makes of an honest model.
fn rejects(model: &FittedModel, data: &Dataset<'_>, what: &str, change: impl Fn(&mut FittedModel)) {
    let mut changed = model.clone();
    change(&mut changed);
    assert!(
        !holds(&changed, data),
        "{:?} {}: {what} passes",
        form(model).targets,
        model.facts.solver
    );
}

/// The points of the first proof.
fn points(model: &mut FittedModel) -> &mut [ProofPoint] {
    match model.proofs[0].as_mut().expect("a proof") {
        Proof::Points(points) => points,
        Proof::Slopes(_) | Proof::Outputs(_) => &mut [],
    }
}

/// Changes the weight of a point of the first proof.
fn change_alpha(model: &mut FittedModel, change: impl Fn(f64) -> f64, every: bool) {
    let mut changed = false;
    for ProofPoint { part_weights, .. } in points(model) {
        for weight in part_weights.iter_mut().filter(|weight| **weight > 0.0) {
            if every || !changed {
                *weight = change(*weight);
                changed = true;
            }
        }
    }
    assert!(changed);
}

fn raise(bound: &mut Option<f64>, by: f64) {
    *bound = bound.map(|bound| bound + by);
}

#[test]
fn honest_models_hold_and_tampered_ones_do_not() {
    for kind in Kind::ALL {
        for method in methods_for(kind) {
            let case = case_of(kind, method);
            let (model, data) = (fit(&case).0, &case.data);
            assert!(holds(&model, data), "{kind:?} {method:?}");
            rejects(&model, data, "a raised bound", |m| {
                edit(m, |form| raise(&mut form.problems[0].certificate.lower_bound, 1e-6));
                raise(&mut m.facts.certificate.lower_bound, 1e-6);
            });
            rejects(&model, data, "a raised total", |m| {
                raise(&mut m.facts.certificate.lower_bound, 1e-6);
            });
            rejects(&model, data, "another objective", |m| {
                edit(m, |form| form.problems[0].certificate.objective -= 1e-6);
                m.facts.certificate.objective -= 1e-6;
            });
            rejects(&model, data, "another total", |m| m.facts.certificate.objective -= 1e-6);
            rejects(&model, data, "no bound", |m| {
                edit(m, |form| form.problems[0].certificate.lower_bound = None);
            });
            rejects(&model, data, "another lambda", |m| {
                m.facts.lambda = m.facts.lambda.map(|lambda| lambda * (1.0 + 1e-6));
            });
            rejects(&model, data, "a bias weight", |m| {
                m.facts.settings.put(&BIAS_WEIGHT, Some(1.01))
            });
            rejects(&model, data, "another bias", |m| {
                m.facts.settings.put(&BIAS, Some(1.01));
                edit(m, |form| form.bias = Some(1.01));
            });
            rejects(&model, data, "other weights", |m| {
                edit(m, |form| form.problems[0].weights[0] += 1e-3);
            });
            rejects(&model, data, "class weights", |m| {
                let class = form(m).classes[0].clone();
                m.facts.settings.put(&CLASS_WEIGHT, vec![(class, 1.5)]);
            });
            // Proofs by slopes are tampered with in `dual_cd.rs`.
            if matches!(model.proofs[0], Some(Proof::Points(_))) {
                rejects(&model, data, "scaled alpha", |m| change_alpha(m, |a| 1.001 * a, true));
                rejects(&model, data, "a negative alpha", |m| change_alpha(m, |a| -a, false));
                rejects(&model, data, "a changed alpha", |m| change_alpha(m, |a| a + 1e-9, false));
                rejects(&model, data, "an alpha of NaN", |m| change_alpha(m, |_| f64::NAN, false));
                rejects(&model, data, "points of NaN", |m| {
                    let point = &mut points(m)[0];
                    point.w = point.w.iter().map(|_| f64::NAN).collect();
                });
            }
        }
    }
}

/// Files whose parts do not fit each other or the data are rejected in words, not by a crash.
#[test]
fn misshapen_models_are_rejected_without_a_crash() {
    let case = case_of(Kind::MulticlassLoss, Method::LsBmrm);
    let (model, data) = (fit(&case).0, &case.data);
    assert!(holds(&model, data));
    let crop = |m: &mut FittedModel, keep: usize| {
        edit(m, |form| form.problems[0].weights.truncate(keep));
        for point in points(m) {
            point.w = point.w[..keep].into();
        }
    };
    rejects(&model, data, "a column less", |m| {
        edit(m, |form| form.features -= 1);
        crop(m, form(m).rows_of_weights() * form(m).classes.len());
    });
    rejects(&model, data, "a class less", |m| {
        edit(m, |form| {
            form.classes.pop();
        });
        m.facts.settings.put(&LABEL_LOSS, None);
        crop(m, form(m).rows_of_weights() * form(m).classes.len());
    });
    rejects(&model, data, "other classes", |m| {
        edit(m, |form| form.classes[0] = Label::Text("other".into()));
    });
    let mut short = model.clone();
    short.facts.settings.put(&LABEL_LOSS, Some(vec![0.0; 4]));
    assert!(short.audit(data, None).holds != Some(true), "a short label loss passes");
}

/// The same features with one value changed.
fn with_value_changed(data: &Dataset<'_>) -> Dataset<'static> {
    let d = data.features.cols();
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for i in 0..data.features.rows() {
        let mut row = vec![0.0; d];
        data.features.row(i).for_each(|(j, x)| row[j] = x);
        rows.push(row);
    }
    rows[17][0] += 1e-9;
    let features = common::sparse(&rows, d, minorant::linalg::Storage::F64);
    Dataset { features, labels: data.labels.clone() }
}

#[test]
fn other_data_is_rejected() {
    for kind in [Kind::Hinge, Kind::Multiclass, Kind::Softmax, Kind::OneVsRest] {
        let case = case_of(kind, Method::LsPBmrm);
        let (model, data) = (fit(&case).0, &case.data);
        assert!(holds(&model, data));
        assert!(!holds(&model, &with_value_changed(data)), "{kind:?}: a changed value");
        let mut flipped = data.clone();
        if let LabelRows::Single(rows) = &mut flipped.labels.rows {
            rows[17] = (rows[17] + 1) % 2;
        }
        assert!(!holds(&model, &flipped), "{kind:?}: a flipped label");
        let mut order: Vec<usize> = (0..data.features.rows()).collect();
        order.swap(3, 40);
        let permuted =
            Dataset { features: data.features.select_rows(&order), labels: data.labels.clone() };
        assert!(!holds(&model, &permuted), "{kind:?}: permuted rows");
        let weights = vec![1.0; data.features.rows()];
        assert!(
            model.audit(data, Some(&weights)).holds == Some(false),
            "{kind:?}: weights out of nowhere"
        );
        // Even a file that claims the other data as its own.
        let mut other = with_value_changed(data);
        if let LabelRows::Single(rows) = &mut other.labels.rows {
            rows[17] = (rows[17] + 1) % 2;
        }
        let mut refit = case.clone();
        refit.data = other.clone();
        refit.max_evals(5);
        let mut forged = model.clone();
        forged.facts.data_sha256 = fit(&refit).0.facts.data_sha256;
        assert!(!holds(&forged, &other), "{kind:?}: forged data");
    }
}

/// Where the digits of the seal stand.
fn digits(file: &[u8]) -> usize {
    let key = br#"\"sha256\":\""#;
    file.windows(key.len()).rposition(|window| window == key).expect("a seal") + key.len()
}

/// Makes the checksum right again.
fn seal(file: &mut [u8]) {
    let at = digits(file);
    file[at..at + 64].fill(b'0');
    let digest: String = Sha256::digest(&*file).iter().map(|byte| format!("{byte:02x}")).collect();
    file[at..at + 64].copy_from_slice(digest.as_bytes());
}

fn load(path: &Path, bytes: &[u8]) -> Option<FittedModel> {
    std::fs::write(path, bytes).expect("a file");
    FittedModel::load(path).ok()
}

#[test]
fn a_sealed_file_with_changed_numbers_is_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model");
    let case = case_of(Kind::Hinge, Method::LsPBmrm);
    let (model, _) = fit(&case);
    model.save(&path, u64::MAX).expect("a saved model");
    let whole = std::fs::read(&path).expect("a model file");
    let mut same = whole.clone();
    seal(&mut same);
    assert!(same == whole, "the seal is not what the format says");
    // High bytes of numbers: the arrays fill the end of the file.
    let header = 8 + u64::from_le_bytes(*whole.first_chunk::<8>().expect("a header")) as usize;
    for at in (header + 6..whole.len()).step_by(8 * 5) {
        let mut changed = whole.clone();
        changed[at] ^= 4;
        seal(&mut changed);
        let verdict = load(&path, &changed).map(|model| model.audit(&case.data, None));
        // A point of the proof without weight, or with the same tangents, proves the same.
        if let Some(verdict) = verdict.filter(|verdict| verdict.holds == Some(true)) {
            let (found, claimed) = (verdict.lower_bound, model.facts.certificate.lower_bound);
            let differ = found.zip(claimed).is_none_or(|(a, b)| (a - b).abs() > 1e-9);
            assert!(!differ, "byte {at}: {found:?} for {claimed:?}");
        }
    }
}

/// A class weight that the option table does not have is refused at loading.
#[test]
fn a_sealed_file_with_a_negative_class_weight_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model");
    let mut case = case_of(Kind::Hinge, Method::LsBmrm);
    case.put(&CLASS_WEIGHT, vec![(Label::Number(1.0), 3.25)]);
    let mut bytes = fit(&case).0.to_bytes(u64::MAX);
    assert!(load(&path, &bytes).is_some());
    let at = bytes.windows(4).position(|word| word == b"3.25").expect("a class weight");
    bytes[at..at + 4].copy_from_slice(b"-3.0");
    seal(&mut bytes);
    let told = FittedModel::from_bytes(&path, bytes).expect_err("a refusal").to_string();
    assert!(told.contains("class-weight of 1 must be a number of 0 or more"), "{told}");
}

#[test]
fn any_flipped_byte_is_refused_at_loading() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model");
    for kind in [Kind::Hinge, Kind::MultilabelLoss, Kind::OneVsRest] {
        let (model, _) = fit(&case_of(kind, Method::LsPBmrm));
        model.save(&path, u64::MAX).expect("a saved model");
        let whole = std::fs::read(&path).expect("a model file");
        assert!(load(&path, &whole).is_some());
        let header = whole.len().min(3000);
        let later = (header..whole.len()).step_by(whole.len() / 300 + 1);
        for at in (0..header).step_by(3).chain(later) {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            assert!(load(&path, &flipped).is_none(), "{kind:?}: byte {at} of {}", whole.len());
            assert!(load(&path, &whole[..at]).is_none(), "{kind:?}: cut at {at}");
        }
        let longer = [&whole[..], &[0]].concat();
        assert!(load(&path, &longer).is_none(), "{kind:?}: a byte more");
    }
}

#[test]
fn a_proof_in_a_file_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let (model_path, proof_path) = (folder.path().join("model"), folder.path().join("proof"));
    for kind in Kind::ALL {
        let case = case_of(kind, Method::LsPBmrm);
        let (model, _) = fit(&case);
        assert!(!model.save(&model_path, 0).expect("a saved model"));
        assert!(model.save_proof(&proof_path).expect("a saved proof"));
        let mut loaded = FittedModel::load(&model_path).expect("a loaded model");
        let verdict = loaded.audit(&case.data, None);
        assert!(
            verdict.holds.is_none() && verdict.why.contains("not auditable"),
            "{}",
            verdict.why
        );
        loaded.load_proof(&proof_path).expect("a proof");
        assert!(loaded.audit(&case.data, None).holds == Some(true), "{kind:?}");
        // A model is no proof, a proof is no model, and another model's proof is refused.
        assert!(loaded.load_proof(&model_path).is_err());
        assert!(FittedModel::load(&proof_path).is_err());
        let mut another = case.clone();
        another.data = larger_case(kind, 61, 6, 12).data;
        fit(&another).0.save_proof(&proof_path).expect("a saved proof");
        assert!(loaded.load_proof(&proof_path).is_err(), "{kind:?}");
    }
}

/// However early a run on a convex problem ends, it has a bound, and the bound can be audited.
#[test]
fn every_method_has_a_bound_from_its_first_evaluations_on() {
    for kind in Kind::ALL {
        let more = BASELINES.into_iter().chain([Method::Nbm, Method::Lmbm]);
        for method in methods_for(kind).into_iter().chain(more) {
            for most in [1, 2, 3, 30] {
                let mut case = case_of(kind, method);
                case.max_evals(most.max(case.data.labels.classes.len() as u64));
                let (model, report) = fit(&case);
                let told = format!("{kind:?} {method:?} {most}");
                // Dual coordinate ascent has nothing to show before its first check.
                if method != Method::DualCd || most == 30 {
                    assert!(report.certificate.lower_bound.is_some(), "{told}");
                    assert!(holds(&model, &case.data), "{told}");
                }
            }
        }
    }
}

/// Objectives of 1e-10 from rows of 255: margins carry rounding errors that the objective is not
/// large against.
#[test]
fn tiny_objectives_pass_the_audit() {
    let text = "0 2:171 3:99 8:164 11:254 12:81\n\
                1 1:216 4:249 5:80 6:86 8:238 9:123 12:251 13:24\n\
                0 3:113 4:219 5:228 6:14 9:137 10:20 12:123 13:234\n\
                1 2:217 3:56 4:83 6:69 7:11 8:116 10:99 11:136 12:73 13:103\n";
    let data = read_bytes("rows", text.as_bytes(), &ReadOptions::default()).expect("rows");
    for lambda in [1.410201839783773e-6, 1e-6, 1e-7] {
        for method in [Method::Auto, Method::DualCd, Method::LsPBmrm] {
            let mut case = case_of(Kind::Hinge, method);
            case.lambda(lambda);
            case.put(&BIAS, None);
            let case = Case { data: data.clone(), ..case };
            let (model, _) = fit(&case);
            let verdict = through_file(&model).audit(&case.data, None);
            assert!(verdict.holds == Some(true), "{lambda:e} {method:?}: {}", verdict.why);
        }
    }
}
