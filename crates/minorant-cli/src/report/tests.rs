//! Pages of ordinary and of strange runs: well-formed, escaped, and without numbers that are none.

use super::runs::Run;
use super::*;
use minorant::certificate::Certificate;
use minorant::family::{Settings, TrainReport};
use minorant::path::{Between, Path, PathOptions};
use minorant::risk::Cancel;
use minorant::solver::Status;
use minorant::trace::TraceRecord;

const ODD: [f64; 8] =
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::MAX, f64::MIN, 5e-324];

pub(super) fn record(evaluations: u64, objective: f64, lower_bound: Option<f64>) -> TraceRecord {
    TraceRecord {
        evaluations,
        seconds: 0.01 * evaluations as f64,
        best_objective: objective,
        lower_bound,
        step: "descent",
        ..TraceRecord::default()
    }
}

/// The numbers of a run.
pub(super) fn run(solver: &'static str, objective: f64, lower_bound: Option<f64>) -> TrainReport {
    let mut report = TrainReport::of_runs(solver, (1, 1), 1.0, &[]);
    report.certificate = Certificate { objective, lower_bound };
    (report.evaluations, report.iterations, report.seconds) = (20, 19, 0.2);
    report
}

fn page_of(runs: &[(TrainReport, &[TraceRecord])], tol: f64) -> Page {
    let runs = runs.iter().map(|(report, trace)| Run { report, trace });
    runs::page("A page".into(), Vec::new(), tol, &runs.collect::<Vec<_>>())
}

fn html_of(runs: &[(TrainReport, &[TraceRecord])]) -> String {
    page_of(runs, 1e-3).to_html()
}

fn falling() -> Vec<TraceRecord> {
    let at = |t: u64| (0.36 + 0.64 / t as f64, Some(0.36 - 2.0 / t as f64));
    (1..20).map(|t| record(t, at(t).0, at(t).1.filter(|_| t > 1))).collect()
}

/// Tags must close in the order in which they opened.
fn check_tags(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html.strip_prefix("<!DOCTYPE html>").expect("a doctype");
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'), "a stray '>' in {:?}", &rest[..start]);
        let end = start + rest[start..].find('>').expect("the end of a tag");
        let tag = &rest[start + 1..end];
        assert!(!tag.contains('<') && tag.matches('"').count().is_multiple_of(2), "{tag}");
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "</{name}>");
        } else if !tag.ends_with('/') {
            let name = tag.split_whitespace().next().expect("a tag's name");
            if name == "style" {
                rest = &rest[rest.find("</style>").expect("the end of the style")..];
            }
            if name != "meta" {
                open.push(name);
            }
        }
    }
    assert_eq!(open, [""; 0], "left open");
}

/// What every page must satisfy.
fn check(html: &str) {
    check_tags(html);
    for word in html.split(|c: char| !c.is_alphanumeric()) {
        assert!(!["NaN", "nan", "inf", "infinity"].contains(&word), "{word}");
    }
    for drawing in html.split("<svg").skip(1).filter_map(|rest| rest.split("</svg>").next()) {
        assert!(!drawing.contains("NaN") && !drawing.contains("inf"), "{drawing}");
    }
    assert!(html.contains("<main>") && html.contains("How to read this page"));
    for fetched in ["http:", "https:", "src=", "@import", "<link", "<script"] {
        assert!(!html.contains(fetched), "{fetched}");
    }
    let ids: Vec<&str> = html.split(" id=\"").skip(1).filter_map(|s| s.split('"').next()).collect();
    let distinct: std::collections::BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), distinct.len(), "ids must differ");
}

#[test]
fn an_ordinary_page() {
    let trace = falling();
    let fast = run("ls-bmrm", 0.356_533, Some(0.356_507));
    let html = html_of(&[(fast, &trace), (run("bmrm", 0.3566, Some(0.3560)), &trace)]);
    check(&html);
    assert_eq!(html.matches("class=\"chart\"").count(), 4);
    assert!(html.contains("No weights whatsoever can reach an objective below 0.3565070"));
    assert!(html.contains("at most 0.0073\u{a0}% above the best possible"));
    assert!(html.contains("Certified: "));
    assert!(html.contains(">1e-3</text>") && html.contains("tolerance"));
    assert!(html.contains("<td class=\"number best\">0.3565330<span"));
}

#[test]
fn text_is_escaped() {
    let evil = "<b>\"x\" & 'y'</b>\u{7}";
    let trace = falling();
    let runs = [(run(evil, 0.356_533, Some(0.356_507)), &trace[..]), (run(evil, 1.0, None), &[])];
    let mut page = page_of(&runs, 1e-3);
    page.title = evil.into();
    page.facts = vec![(evil, evil.into())];
    page.sections.push(Section {
        heading: evil,
        paragraphs: vec![evil.into()],
        table: vec![Column::plain("a", [evil.into()].into_iter())],
        figures: vec![chart::figure(evil, "", evil)],
    });
    let html = page.to_html();
    check(&html);
    assert!(!html.contains("<b>") && !html.contains('\u{7}') && !html.contains("'y'"));
    assert!(html.contains("&lt;b&gt;&quot;x&quot; &amp; &#39;y&#39;&lt;/b&gt;"));
}

#[test]
fn numbers_that_are_none_are_not_shown() {
    for objective in ODD {
        for bound in ODD {
            let mut trace = falling();
            trace.push(record(30, objective, Some(bound)));
            trace.push(TraceRecord { seconds: objective, ..record(31, bound, Some(objective)) });
            let mut strange = run("a", objective, Some(bound));
            strange.seconds = bound;
            let runs = [(strange, &trace[..]), (run("b", 0.4, None), &trace)];
            check(&page_of(&runs, objective).to_html());
            check(&page_of(&runs[..1], objective).to_html());
        }
    }
}

#[test]
fn short_and_flat_traces() {
    check(&html_of(&[]));
    let single = [record(1, 1.0, None)];
    let flat = [record(1, 0.5, Some(0.5)), record(2, 0.5, Some(0.5))];
    let zero = [record(0, 0.0, Some(0.0)), record(0, 0.0, Some(0.0))];
    for (objective, trace) in [(1.0, &single[..]), (0.5, &flat), (0.0, &zero), (-2.0, &[])] {
        for bound in [None, Some(objective), Some(objective - 0.1)] {
            let only = run("bmrm", objective, bound);
            check(&html_of(&[(only.clone(), trace)]));
            let mut short = only;
            (short.evaluations, short.seconds) = (0, 0.0);
            check(&html_of(&[(short.clone(), trace), (short, trace)]));
        }
    }
}

#[test]
fn long_traces_make_no_large_pages() {
    let trace: Vec<TraceRecord> =
        (1..200_000).map(|t| record(t, 0.3 + 1.0 / t as f64, Some(0.3 - 1.0 / t as f64))).collect();
    let html = html_of(&[(run("subgradient", 0.300_01, Some(0.299_99)), &trace)]);
    check(&html);
    assert!(html.len() < 100_000, "{}", html.len());
}

#[test]
fn words_claim_no_more_than_is_proven() {
    let none = html_of(&[(run("nrbm", 0.4, None), &[])]);
    assert!(none.contains("Nothing is certified") && none.contains("only by its own stop rule"));
    assert!(none.contains("so there is no gap to draw") && !none.contains("at most"));
    let mut early = run("bmrm", 0.4, Some(0.3));
    early.status = Status::MaxEvals;
    let early = html_of(&[(early, &[])]);
    assert!(early.contains("Not certified: at most 34\u{a0}% above"));
    assert!(early.contains("evaluations ran out"));
    let negative = html_of(&[(run("bmrm", 0.4, Some(-3.0)), &[])]);
    assert!(negative.contains("at most 3.40 above the best possible"));
    let exact = html_of(&[(run("bmrm", 0.4, Some(0.4)), &[])]);
    assert!(exact.contains("Certified: the best possible, up to rounding"));
    let wrong = html_of(&[(run("bmrm", 0.4, Some(0.5)), &[])]);
    assert!(wrong.contains("contradict each other") && !wrong.contains("at most"));
    let borrowed = [(run("sgd", 0.4, None), &[][..]), (run("bmrm", 0.5, Some(0.3999)), &[])];
    let borrowed = html_of(&borrowed);
    assert!(borrowed.contains("(proved by bmrm); the weights of sgd reach 0.4"));
    assert!(borrowed.contains("None of the runs is certified by its own bound"));
}

/// A path of three λ.
fn walked() -> Path {
    let data = minorant::generate::noisy_plane(30, 2, 1, 0);
    let settings = Settings::new("svm").expect("a model");
    let lambdas = &[1.0, 0.1, 0.01];
    let wanted =
        PathOptions { lambdas, validation: Some((&data).into()), start: None, fill: false };
    minorant::path::path(&data, &settings, wanted, &Cancel::new(), &mut |_| {}).expect("a path")
}

fn html_of_path(found: &Path, tol: f64) -> String {
    path::page("A path".into(), Vec::new(), tol, found, &["it is proven".into()]).to_html()
}

#[test]
fn a_path_shows_its_claims() {
    let mut found = walked();
    found.between.iter_mut().zip([2e-3, 2.5e-3]).for_each(|(b, gap)| b.relative_gap = Some(gap));
    let html = html_of_path(&found, 1e-3);
    check(&html);
    assert_eq!(html.matches("class=\"chart\"").count(), 3);
    assert!(html.contains("Certified: a gap of at most 0.25\u{a0}% at every λ of the path"));
    assert!(html.contains("It is proven.") && html.contains("3 × tolerance"));
    found.between[1].relative_gap = None;
    let html = html_of_path(&found, 1e-3);
    check(&html);
    assert!(html.contains("3 of 3 models are certified") && !html.contains("Certified:"));
}

#[test]
fn strange_paths_are_pages_too() {
    check(&html_of_path(&Path { points: Vec::new(), between: Vec::new(), is_whole: true }, 1e-3));
    for value in ODD {
        let mut found = walked();
        for point in [0, 2] {
            let point = &mut found.points[point];
            point.report.certificate = Certificate { objective: value, lower_bound: Some(value) };
            (point.train_error, point.validation_error) = (value, None);
        }
        found.between[0].relative_gap = Some(value);
        found.between[1] = Between { lo: value, hi: value, relative_gap: Some(1e-3) };
        check(&html_of_path(&found, value));
    }
}
