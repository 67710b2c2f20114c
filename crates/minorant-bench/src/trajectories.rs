//! Figures 3 and 23 to 25 of Yu et al.: where methods walk on functions of two weights, drawn as the best
//! weights of each iteration (what `minorant minimize --trace-weights` writes). They need no data.

use crate::page::{Drawing, Section};
use anyhow::Result;
use minorant::problems::ProblemName;
use minorant::risk::Cancel;
use minorant::solver::{self, LineSearch, Method, MethodOptions, Problem, StopRules, Tuning};
use minorant::trace::{Observer, TraceRecord};
use std::fmt::Write;

/// A line of a figure: its name, the method, and how it searches lines.
type Line = (&'static str, Method, LineSearch);

/// A figure: its title, the problem, its lines, and what is seen of the plane, from left to right and
/// from below to above.
type Figure = (&'static str, ProblemName, &'static [Line], [f64; 4]);

const SUBBFGS: Line = ("subbfgs", Method::SubBfgs, LineSearch::Auto);

const FIGURES: [Figure; 4] = [
    (
        "Figure 3: 10|x| + |y|",
        ProblemName::AbsToy,
        &[
            ("lbfgs, exact search", Method::Lbfgs, LineSearch::Exact),
            ("lbfgs, inexact search", Method::Lbfgs, LineSearch::Wolfe),
            SUBBFGS,
        ],
        [-0.6, 1.2, -0.4, 1.2],
    ),
    (
        "Figure 23: counterexample (112)",
        ProblemName::Wolfe,
        &[("gd", Method::Gd, LineSearch::Auto), SUBBFGS],
        [-2.0, 3.0, -2.0, 2.0],
    ),
    (
        "Figure 24: counterexample (113)",
        ProblemName::Hul,
        &[("subgd", Method::SubGd, LineSearch::Auto), SUBBFGS],
        [-2.0, 2.0, -2.0, 5.0],
    ),
    (
        "Figure 25: counterexample (114)",
        ProblemName::LewisOverton,
        &[("lbfgs", Method::Lbfgs, LineSearch::Auto), SUBBFGS],
        [-2.0, 2.0, -3.0, 1.0],
    ),
];

/// Evaluations of a run, at most.
const MOST: u64 = 60;
/// Iterates that a table tells, besides the last one.
const TOLD: usize = 5;
/// Size of a drawing.
const SIZE: [f64; 2] = [480.0, 360.0];
const COLOURS: [&str; 3] = ["#d1242f", "#9a6700", "#1f6feb"];

/// The best weights of each iteration.
#[derive(Default)]
struct Walked(Vec<[f64; 2]>);

impl Observer for Walked {
    fn iteration(&mut self, _record: &TraceRecord) {}

    fn best(&mut self, w: &[f64]) {
        if let &[x, y] = w {
            self.0.push([x, y]);
        }
    }
}

/// The figures.
pub(crate) fn section(only: &str) -> Result<Section> {
    let mut section = Section::new(
        "Trajectories of Yu et al.",
        "The best weights of each iteration, at most 60 evaluations each. (112) and (114) fall for \
         ever, (113) ends at -100: where a line stays inside the picture its method has halted.",
    );
    for (title, problem, lines, view) in FIGURES {
        if title.contains(only) {
            section.drawings.push(figure(title, problem, lines, view)?);
        }
    }
    Ok(section)
}

fn figure(
    title: &str,
    problem: ProblemName,
    lines: &[Line],
    [left, right, low, high]: [f64; 4],
) -> Result<Drawing> {
    let [width, height] = SIZE;
    let x = |x: f64| width * (x - left) / (right - left);
    let y = |y: f64| height * (high - y) / (high - low);
    // Far outside a line only has to leave the picture.
    let near = |at: f64| at.clamp(-20.0 * width, 20.0 * width);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\" \
         style=\"max-width:30rem;font:11px system-ui;border:1px solid\">"
    );
    let mut rows = Vec::new();
    for (at, (name, method, search)) in lines.iter().enumerate() {
        let (walked, objective) = walk(problem, *method, *search)?;
        let points: Vec<String> =
            walked.iter().map(|p| format!("{:.2} {:.2}", near(x(p[0])), near(y(p[1])))).collect();
        let colour = COLOURS[at % COLOURS.len()];
        let _ = write!(
            svg,
            "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"/>\
             <text x=\"8\" y=\"{}\" fill=\"{colour}\">{name}</text>",
            points.join("L"),
            16 * (at + 1)
        );
        let told = |p: &[f64; 2]| format!("({:.3}, {:.3})", p[0], p[1]);
        let mut row = vec![(*name).to_owned()];
        row.extend((0..TOLD).map(|k| walked.get(k).map_or("–".into(), told)));
        row.push(walked.last().map_or("–".into(), told));
        row.push(format!("{objective:.4e} after {}", walked.len().saturating_sub(1)));
        rows.push(row);
    }
    let mut head = vec!["method".to_owned(), "start".into()];
    head.extend((1..TOLD).map(|k| k.to_string()));
    head.extend(["end".into(), "objective, iterations".into()]);
    Ok(Drawing { title: title.into(), note: String::new(), head, rows, svg: svg + "</svg>\n" })
}

fn walk(problem: ProblemName, method: Method, search: LineSearch) -> Result<(Vec<[f64; 2]>, f64)> {
    let test = problem.build(None, 0.0, false)?;
    let problem = Problem::new(&*test.risk, &test.regularizer).starting_at(Some(&test.start));
    let tuning = Tuning { search, ..Tuning::default() };
    let options = MethodOptions { despite_kinks: true, tuning, ..MethodOptions::default() };
    let mut solver = method.build(problem, &options)?;
    let rules = StopRules { max_evaluations: Some(MOST), ..StopRules::default() };
    let mut walked = Walked::default();
    let outcome = solver::run(&mut *solver, problem, rules, &Cancel::new(), &mut walked, &mut ())?;
    Ok((walked.0, outcome.certificate.objective))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_papers_figures_show() {
        let section = section("").unwrap();
        assert_eq!(section.drawings.len(), 4);
        let end = |figure: usize, line: usize| -> f64 {
            let cell = section.drawings[figure].rows[line].last().unwrap();
            cell.split(' ').next().unwrap().parse().unwrap()
        };
        // subBFGS gets to 0 where lbfgs with an exact search does not; it falls where the others halt.
        assert!(end(0, 2).abs() < 1e-9 && end(0, 0) > 1e-3);
        assert!(end(1, 1) < -1e3 && end(1, 0) > -10.0);
        assert!((end(2, 1) + 100.0).abs() < 1e-6 && end(2, 0) > -1.0);
        assert!(end(3, 1) < -1e3 && end(3, 0) > -10.0);
        assert!(section.drawings.iter().all(|drawing| !drawing.svg.contains("NaN")));
    }
}
