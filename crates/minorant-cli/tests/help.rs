//! What the command says of itself: help, manual pages and completions, which follow from the same
//! declarations as its arguments.

mod common;

use common::Bench;

#[test]
fn help_says_what_it_is_for_and_models_know_their_penalty() {
    let bench = Bench::new();
    let help = bench.call("--help").stdout;
    let opening = "Trains models whose objective has kinks, and proves how good the answer is";
    assert!(help.starts_with(opening), "{help}");
    bench.call("train logistic train.svm --penalty l2 --json").json();
    assert_eq!(bench.call("train logistic train.svm --penalty l3").code, 2);
    let why = "--penalty goes with logistic and chain-crf, not with svm";
    assert_eq!(bench.call("train svm train.svm --penalty l2").refused(), why);
}

#[test]
fn the_help_of_made_up_data_shows_its_own_kind() {
    let bench = Bench::new();
    for kind in ["plates", "parts", "phones", "moons", "spirals"] {
        let help = bench.call(&format!("generate {kind} --help")).text();
        let (_, examples) = help.split_once("Example").unwrap();
        let own = examples.lines().skip(1).all(|line| line.contains(&format!("generate {kind} ")));
        assert!(own, "{kind}: {examples}");
    }
}

#[test]
fn manual_pages_and_completions_know_every_command() {
    let bench = Bench::new();
    let page = bench.call("man").text();
    assert!(page.contains(".SH SYNOPSIS"), "{page}");
    assert_eq!(bench.call("man --dir pages").code, 0);
    for shell in ["bash", "zsh", "fish"] {
        let completions = bench.call(&format!("completions {shell}")).text();
        for verb in ["train", "predict", "audit", "path"] {
            assert!(completions.contains(verb), "{shell}: {verb}");
            let page = bench.read(&format!("pages/minorant-{verb}.1"));
            let page = String::from_utf8_lossy(&page);
            // The verbs that name a model list them; each model has its examples on its own page.
            let expected = if ["train", "path"].contains(&verb) { "Models" } else { "Example" };
            assert!(page.contains(expected), "{verb}: {page}");
        }
    }
    for entry in minorant::family::models() {
        let page = bench.read(&format!("pages/minorant-train-{}.1", entry.model.name));
        assert!(String::from_utf8_lossy(&page).contains("Example"), "{}", entry.model.name);
    }
    bench.write("taken", "");
    let run = bench.call("man --dir taken");
    assert!(run.refused().starts_with("writing manual pages to taken: "), "{}", run.stderr);
}
