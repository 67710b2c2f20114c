//! The Python package beside scikit-learn: `LinearSVC` at its defaults, whose gap is certified, and
//! scikit-learn's at its defaults and to the same objective. Both train in one Python process, on
//! one thread.

use crate::data::{Store, Target};
use crate::page::{Section, Table};
use crate::python::Peers;
use anyhow::Result;
use serde_json::{Value, json};

pub(crate) const TITLE: &str = "The Python package beside scikit-learn";
const SETS: [&str; 5] = ["a9a", "w8a", "MNIST even/odd", "MNIST", "news20"];
/// Repeats of which the median counts.
const REPEATS: usize = 3;

/// Runs all cells.
pub(crate) fn section(store: &Store, only: &str, quick: bool) -> Result<Section> {
    let mut process = match Peers::start_package() {
        Ok(process) => process,
        Err(why) => {
            eprintln!("package: skipped: {why:#}");
            let why = format!("the Python package is not installed ({why:#}).");
            return Ok(Section::skipped(TITLE, &why));
        }
    };
    let mut section = Section::new(
        TITLE,
        "Processor seconds of `fit` on one thread, C = 1, with intercept. Ours is \
         `minorant.LinearSVC()` as it comes (the hinge loss, classes trained jointly or one against \
         the rest), which ends with a certified gap. scikit-learn's `LinearSVC(loss=\"hinge\")` (for \
         joint classes `multi_class=\"crammer_singer\"`) is run as it comes, and then with the \
         loosest tolerance of a grid, and iterations without end, that reaches our objective.",
    );
    let head = [
        "set",
        "classes",
        "ours",
        "method",
        "evaluations",
        "certified gap",
        "warned",
        "theirs as it comes",
        "its objective above ours",
        "warned",
        "theirs to our objective",
        "ours / theirs",
    ];
    let mut table = Table::new("Seconds", "", &head);
    for name in SETS.into_iter().filter(|name| name.contains(only)) {
        let set = store.load(name)?;
        process.load(&set)?;
        let ways: &[&str] = match &set.target {
            Target::Signs(_) => &["joint"],
            _ => &["joint", "ovr"],
        };
        for way in ways {
            eprintln!("package: {name}, {way}");
            let row = cell(&mut process, name, way, quick)?;
            eprintln!("    {}", row[1..].join(" | "));
            table.rows.push(row);
        }
    }
    section.tables.push(table);
    Ok(section)
}

fn cell(process: &mut Peers, name: &str, way: &str, quick: bool) -> Result<Vec<String>> {
    let mut ours = Vec::new();
    for _ in 0..if quick { 1 } else { REPEATS } {
        ours.push(process.ask(&json!({ "who": "ours", "way": way }))?);
    }
    let number = |answer: &Value, key: &str| answer[key].as_f64().unwrap_or(f64::NAN);
    ours.sort_by(|a, b| number(a, "seconds").total_cmp(&number(b, "seconds")));
    let ours = &ours[ours.len() / 2];
    let objective = number(ours, "objective");
    let limit = if quick { 60.0 } else { 600.0 };
    let theirs = process
        .ask(&json!({ "who": "theirs", "way": way, "objective": objective, "limit": limit }))?;
    let shown = |x: f64, text: String| if x.is_finite() { text } else { "–".into() };
    let seconds = |x: f64| shown(x, format!("{x:.2}"));
    let small = |x: f64| shown(x, format!("{x:.1e}"));
    let yes = |answer: &Value| if answer["warned"] == true { "yes" } else { "no" }.to_owned();
    let (own, same) = (number(ours, "seconds"), number(&theirs, "same"));
    Ok(vec![
        name.into(),
        way.into(),
        seconds(own),
        ours["method"].as_str().unwrap_or("–").into(),
        ours["evaluations"].to_string(),
        small(number(ours, "gap")),
        yes(ours),
        seconds(number(&theirs, "seconds")),
        small(number(&theirs, "objective") / objective - 1.0),
        yes(&theirs),
        seconds(same),
        seconds(own / same),
    ])
}
