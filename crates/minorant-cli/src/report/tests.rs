//! Pages of ordinary and of strange runs: well-formed, escaped, and without numbers that are none.

use super::*;

fn record(evaluations: u64, objective: f64, lower_bound: Option<f64>) -> TraceRecord {
    TraceRecord {
        iteration: evaluations,
        evaluations,
        seconds: 0.01 * evaluations as f64,
        objective,
        best_objective: objective,
        lower_bound,
        local_gap: None,
        step: "descent",
        step_length: None,
        locality: None,
        planes: 1,
        master_seconds: 0.0,
    }
}

fn run<'a>(
    solver: &str,
    objective: f64,
    lower_bound: Option<f64>,
    trace: &'a [TraceRecord],
) -> ReportRun<'a> {
    let relative_gap = lower_bound.map(|bound| (objective - bound) / objective.abs());
    ReportRun {
        solver: solver.into(),
        status: "converged",
        objective,
        lower_bound,
        relative_gap,
        local_gap: None,
        certified: relative_gap.is_some_and(|gap| gap <= 1e-3),
        evaluations: 20,
        iterations: 19,
        seconds: 0.2,
        trace,
    }
}

fn report(runs: Vec<ReportRun<'_>>) -> Report<'_> {
    Report { title: "A page".into(), tol: 1e-3, runs, ..Report::default() }
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
    let words = html.split(|c: char| !c.is_alphanumeric());
    for word in words {
        assert!(!["NaN", "nan", "inf", "infinity"].contains(&word), "{word}");
    }
    for drawing in html.split("<svg").skip(1) {
        let drawing = drawing.split("</svg>").next().unwrap_or_default();
        for number in ["NaN", "inf"] {
            assert!(!drawing.contains(number), "{drawing}");
        }
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
    let slow = run("bmrm", 0.3566, Some(0.3560), &trace);
    let html = report(vec![run("ls-bmrm", 0.356_533, Some(0.356_507), &trace), slow]).to_html();
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
    let trace = falling();
    let evil = "<b>\"x\" & 'y'</b>\u{7}";
    let mut page =
        report(vec![run(evil, 0.356_533, Some(0.356_507), &trace), run(evil, 1.0, None, &[])]);
    page.title = evil.into();
    page.facts = vec![(evil.into(), evil.into())];
    let table = vec![vec![evil.into()], vec![evil.into(), evil.into()]];
    page.extra = vec![Section {
        heading: evil.into(),
        paragraphs: vec![evil.into()],
        table,
        ..Section::default()
    }];
    let html = page.to_html();
    check(&html);
    assert!(!html.contains("<b>") && !html.contains('\u{7}') && !html.contains("'y'"));
    assert!(html.contains("&lt;b&gt;&quot;x&quot; &amp; &#39;y&#39;&lt;/b&gt;"));
}

#[test]
fn numbers_that_are_none_are_not_shown() {
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::MAX, f64::MIN, 5e-324];
    for objective in odd {
        for bound in odd {
            let mut trace = falling();
            trace.push(record(30, objective, Some(bound)));
            trace.push(TraceRecord { seconds: objective, ..record(31, bound, Some(objective)) });
            let mut strange = run("a", objective, Some(bound), &trace);
            strange.seconds = bound;
            let mut page = report(vec![strange, run("b", 0.4, None, &trace)]);
            page.tol = objective;
            check(&page.to_html());
            page.runs.truncate(1);
            check(&page.to_html());
        }
    }
}

#[test]
fn short_and_flat_traces() {
    check(&Report::default().to_html());
    let single = [record(1, 1.0, None)];
    let flat = [record(1, 0.5, Some(0.5)), record(2, 0.5, Some(0.5))];
    let zero = [record(0, 0.0, Some(0.0)), record(0, 0.0, Some(0.0))];
    for (objective, trace) in [(1.0, &single[..]), (0.5, &flat), (0.0, &zero), (-2.0, &[])] {
        for bound in [None, Some(objective), Some(objective - 0.1)] {
            let mut only = run("bmrm", objective, bound, trace);
            check(&report(vec![only.clone()]).to_html());
            (only.evaluations, only.seconds) = (0, 0.0);
            check(&report(vec![only.clone(), only]).to_html());
        }
    }
}

#[test]
fn long_traces_make_no_large_pages() {
    let trace: Vec<TraceRecord> =
        (1..200_000).map(|t| record(t, 0.3 + 1.0 / t as f64, Some(0.3 - 1.0 / t as f64))).collect();
    let html = report(vec![run("subgradient", 0.300_01, Some(0.299_99), &trace)]).to_html();
    check(&html);
    assert!(html.len() < 100_000, "{}", html.len());
}

#[test]
fn words_claim_no_more_than_is_proven() {
    let say = |runs: Vec<ReportRun<'_>>| report(runs).to_html();
    let none = say(vec![run("nrbm", 0.4, None, &[])]);
    assert!(none.contains("Nothing is certified") && none.contains("only by its own stop rule"));
    assert!(none.contains("so there is no gap to draw") && !none.contains("at most"));
    let mut early = run("bmrm", 0.4, Some(0.3), &[]);
    early.status = "max-evals";
    let early = say(vec![early]);
    assert!(
        early.contains("Not certified: at most 34\u{a0}% above")
            && early.contains("evaluations ran out")
    );
    let negative = say(vec![run("bmrm", 0.4, Some(-3.0), &[])]);
    assert!(negative.contains("at most 3.40 above the best possible"));
    let exact = say(vec![run("bmrm", 0.4, Some(0.4), &[])]);
    assert!(exact.contains("Certified: the best possible, up to rounding"));
    let wrong = say(vec![run("bmrm", 0.4, Some(0.5), &[])]);
    assert!(wrong.contains("contradict each other") && !wrong.contains("at most"));
    let borrowed = say(vec![run("sgd", 0.4, None, &[]), run("bmrm", 0.5, Some(0.3999), &[])]);
    assert!(borrowed.contains("(proved by bmrm); the weights of sgd reach 0.4"));
    assert!(borrowed.contains("None of the runs is certified by its own bound"));
}

fn path_row(lambda: f64, objective: f64) -> PathRow {
    PathRow {
        lambda,
        objective,
        lower_bound: Some(0.999 * objective),
        relative_gap: Some(1e-3),
        train_error: 0.1,
        validation_error: Some(0.2),
        evaluations: 7,
        status: "converged",
    }
}

fn stretch(lo: f64, hi: f64, gap: f64) -> minorant::path::Between {
    minorant::path::Between { lo, hi, relative_gap: Some(gap) }
}

#[test]
fn a_path_shows_its_claims() {
    let mut page = PathReport {
        title: "A path".into(),
        tol: 1e-3,
        sentences: vec!["it is proven".into()],
        rows: vec![path_row(1.0, 0.9), path_row(0.1, 0.5), path_row(0.01, 0.4)],
        between: vec![stretch(0.1, 1.0, 2e-3), stretch(0.01, 0.1, 2.5e-3)],
        ..PathReport::default()
    };
    let html = page.to_html();
    check(&html);
    assert_eq!(html.matches("class=\"chart\"").count(), 3);
    assert!(html.contains("Certified: a gap of at most 0.25\u{a0}% at every λ of the path"));
    assert!(html.contains("It is proven.") && html.contains("3 × tolerance"));
    page.between[1].relative_gap = None;
    let html = page.to_html();
    check(&html);
    assert!(html.contains("3 of 3 models are certified") && !html.contains("Certified:"));
}

#[test]
fn strange_paths_are_pages_too() {
    check(&PathReport::default().to_html());
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, f64::MAX, 5e-324];
    for value in odd {
        let mut row = path_row(0.5, value);
        (row.lower_bound, row.relative_gap) = (Some(value), Some(value));
        (row.train_error, row.validation_error) = (value, None);
        let page = PathReport {
            rows: vec![row.clone(), path_row(0.1, 0.3), row],
            between: vec![stretch(0.1, 0.5, value), stretch(value, value, 1e-3)],
            tol: value,
            ..PathReport::default()
        };
        check(&page.to_html());
    }
}
