//! The contract of `regression`: keys, what is printed, paths, reports, and what is refused.

mod common;

use common::Bench;
use serde_json::Value;

/// Rows y = 3 x₁ − x₂ + noise around 50, as CSV with a header.
fn bench() -> Bench {
    let bench = Bench::new();
    let mut rows = String::from("left,right,y\n");
    for i in 0..120u32 {
        let (a, b) = (f64::from(i * 37 % 101) / 101.0, f64::from(i * 53 % 97) / 97.0);
        let noise = f64::from(i * 29 % 41) / 41.0 - 0.5;
        let outlier = if i % 40 == 7 { 500.0 } else { 0.0 };
        rows += &format!("{a:.6},{b:.6},{:.6}\n", 50.0 + 3.0 * a - b + noise + outlier);
    }
    bench.write("y.csv", &rows);
    bench
}

const DATA: &str = "y.csv --label-column y";

fn real(object: &Value, key: &str) -> f64 {
    object[key].as_f64().unwrap_or_else(|| panic!("{key} in {object}"))
}

fn train(bench: &Bench, options: &str) -> Value {
    bench.call(&format!("train regression {DATA} {options} --quiet --json")).json()
}

#[test]
fn every_loss_is_trained_evaluated_predicted_and_audited() {
    let bench = bench();
    for loss in [
        "squares",
        "absolute",
        "quantile --tau 0.3",
        "epsilon-insensitive --epsilon 0.2",
        "squared-epsilon-insensitive",
        "huber --huber 0.5",
        "huber --huber-scale",
    ] {
        for intercept in ["--bias 50", "--intercept free"] {
            let options = format!("--loss {loss} {intercept} --lambda 1e-4 --out m");
            let trained = train(&bench, &options);
            assert_eq!(trained["certified"], true, "{options}: {trained}");
            assert_eq!(trained["scale"].is_null(), !loss.contains("scale"), "{trained}");
            let evaluated = bench.call(&format!("evaluate m {DATA} --json")).json();
            assert!(real(&evaluated, "mae") <= real(&evaluated, "rmse"), "{evaluated}");
            assert!(real(&evaluated, "r2") < 1.0);
            // All but squares leave the outliers alone.
            let is_robust = !loss.contains("square");
            assert!(!is_robust || real(&evaluated, "mae") < 14.0, "{options}: {evaluated}");
            let printed = bench.call(&format!("predict m {DATA}")).text();
            let listed = bench.call(&format!("predict m {DATA} --json")).json();
            let values: Vec<f64> = printed.lines().map(|line| line.parse().unwrap()).collect();
            let list = listed["values"].as_array().unwrap();
            assert_eq!((values.len(), list.len()), (120, 120));
            assert!(values.iter().zip(list).all(|(x, y)| *x == y.as_f64().unwrap()));
            assert_eq!(bench.call(&format!("audit m {DATA} --json")).json()["holds"], true);
        }
    }
}

#[test]
fn several_quantiles() {
    let bench = bench();
    let options = "--loss quantile --tau 0.1,0.5,0.9 --intercept free --lambda 1e-5 --out m";
    let trained = train(&bench, &format!("{options} --report r.html"));
    assert_eq!((&trained["certified"], &trained["dim"]), (&true.into(), &6.into()));
    let evaluated = bench.call(&format!("evaluate m {DATA} --json")).json();
    for key in ["pinball", "coverage"] {
        assert_eq!(evaluated[key].as_array().unwrap().len(), 3, "{evaluated}");
    }
    for (level, covered) in [0.1, 0.5, 0.9].iter().zip(evaluated["coverage"].as_array().unwrap()) {
        assert!((level - covered.as_f64().unwrap()).abs() < 0.05, "{evaluated}");
    }
    assert!(evaluated["crossings"].as_u64().unwrap() <= 6, "{evaluated}");
    let line = bench.call(&format!("predict m {DATA}")).text();
    let first: Vec<f64> =
        line.lines().next().unwrap().split('\t').map(|x| x.parse().unwrap()).collect();
    assert!(first.len() == 3 && first[0] <= first[1] && first[1] <= first[2], "{first:?}");
    assert_eq!(bench.call(&format!("audit m {DATA} --json")).json()["holds"], true);
    let page = String::from_utf8(bench.read("r.html")).unwrap();
    assert!(page.contains("Residuals") && page.contains("Quantile bands"));
    assert!(page.matches("<circle class=\"dot c5\"").count() >= 240, "residuals and targets");
    assert!(page.contains("quantile 0.9") && !page.contains("NaN"));
}

#[test]
fn signs_and_bounds() {
    let bench = bench();
    bench.write("bounds.csv", "column,least,greatest\n2,0,\n");
    for options in ["--bounds bounds.csv", "--nonnegative", "--l1-ratio 0.5"] {
        let options = format!("--loss absolute --intercept free {options} --lambda 1e-3 --out m");
        assert_eq!(train(&bench, &options)["certified"], true, "{options}");
        assert_eq!(bench.call(&format!("audit m {DATA} --json")).json()["holds"], true);
    }
}

#[test]
fn paths_tuning_and_comparisons() {
    let bench = bench();
    let told = bench
        .call(&format!("path regression {DATA} --loss quantile --bias 50 --lambdas 1e-2:1e-4:3 --validation y.csv"))
        .text();
    assert!(told.contains("the better of the two neighbouring models"), "{told}");
    assert!(told.contains("least validation error") && !told.contains("% at lambda"), "{told}");
    let tuned = bench
        .call(&format!("tune regression {DATA} --loss huber --bias 50 --lambdas 1e-1:1e-4:3 --cv 3 --json --quiet"))
        .json();
    assert_eq!(tuned["points"].as_array().unwrap().len(), 3);
    assert_eq!(tuned["model"]["certified"], true);
    let compared = bench
        .call(&format!("compare regression {DATA} --loss absolute --bias 50 --lambda 1e-3 --solvers dual-cd,ls-p-bmrm,bmrm --json --quiet --report c.html"))
        .json();
    let objectives: Vec<f64> =
        compared["runs"].as_array().unwrap().iter().map(|run| real(run, "objective")).collect();
    assert!(objectives.iter().all(|x| (x - objectives[0]).abs() <= 2e-3 * objectives[0]));
}

#[test]
fn inspect_shows_the_spread_of_targets() {
    let bench = bench();
    let found = bench.call(&format!("inspect {DATA} --json")).json();
    let targets = &found["targets"];
    assert!(real(targets, "least") < real(targets, "median"), "{found}");
    assert!(real(targets, "greatest") > 500.0 && real(targets, "deviation") > 50.0, "{found}");
    assert!(bench.call(&format!("inspect {DATA}")).text().contains("as numbers"));
}

#[test]
fn what_does_not_fit_is_refused() {
    let bench = bench();
    bench.write("words.csv", "x,y\n1,2\n2,dear\n");
    bench.write("pairs.svm", "1,2 1:1\n3,4 1:2\n");
    for (line, why) in [
        ("train regression words.csv --label-column y", "words.csv:3:2: "),
        ("train regression pairs.svm", "one target a row, found 2"),
        ("train regression train.svm --tau 0.5", "--tau"),
        ("train regression train.svm --loss quantile --tau 0.5,0.2", "ascending"),
        ("train regression train.svm --loss quantile --tau 1", "--tau"),
        ("train regression train.svm --huber 2", "--huber"),
        ("train regression train.svm --huber-scale", "--huber-scale"),
        ("train regression train.svm --loss huber --epsilon 1", "--epsilon"),
        ("train regression train.svm --class-weight 1=2", "--class-weight"),
        ("train regression train.svm --loss absolute --solver newton", "without kinks"),
    ] {
        let called = bench.call(line);
        assert!(called.refused().contains(why), "{line}: {}", called.stderr);
    }
}
