//! `minorant minimize`: a solver on a test problem from the literature.

use super::cancel_on_interrupt;
use crate::args::MinimizeArgs;
use crate::number;
use crate::output;
use crate::progress::Watchers;
use minorant::FileError;
use minorant::family::TrainReport;
use minorant::problems::TestProblem;
use minorant::solver::{self, Problem};
use std::process::ExitCode;

pub(crate) fn run(args: &MinimizeArgs) -> anyhow::Result<ExitCode> {
    let rules = args.rules()?;
    args.trace.iter().try_for_each(|path| FileError::check_writable(path))?;
    let test = args.problem.build(args.dim, args.lambda, args.convex)?;
    let problem = Problem::new(&*test.risk, &test.regularizer).starting_at(Some(&test.start));
    let method = args.solver.resolve(problem);
    let mut solver = match method.build(problem, &args.method_options()) {
        Err(error) if !test.risk.is_convex() => {
            anyhow::bail!("{} counts as non-convex here: {error}", args.problem.as_str())
        }
        built => built?,
    };
    let cancel = cancel_on_interrupt();
    let mut watchers = Watchers::new(method.name(), rules.tol, args.output.quiet)
        .with_records_if(args.trace.is_some());
    let ran = solver::run(&mut *solver, problem, rules, &cancel, &mut watchers, &mut ());
    watchers.finish();
    let report = TrainReport::of_runs(method.name(), (0, 0), args.lambda, &[ran?]);
    if let Some(path) = &args.trace {
        watchers.write_trace(path)?;
    }
    let name = args.problem.as_str();
    if args.output.json {
        output::print(&output::run_json(name, &report, rules.tol).to_string())?;
    } else {
        output::print(&summary(&test, &report, rules.tol))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The answer for people.
fn summary(test: &TestProblem, report: &TrainReport, tol: f64) -> String {
    let certificate = report.certificate;
    let minimum = match test.minimum {
        None => "not known in closed form".into(),
        Some(minimum) if minimum == f64::NEG_INFINITY => "none: it falls for ever".into(),
        Some(minimum) => number::objective(minimum),
    };
    [
        format!(
            "{} by {}: {} dimensions, lambda {}",
            test.name.as_str(),
            report.solver,
            report.dim,
            number::setting(report.lambda.unwrap_or(0.0))
        ),
        format!("objective     {}", number::objective(certificate.objective)),
        format!("minimum       {minimum}"),
        format!("lower bound   {}", certificate.lower_bound.map_or("none".into(), number::bound)),
        format!("gap           {}", output::gap_in_words(&certificate, None)),
        format!(
            "status        {}, {} evaluations in {:.2} s",
            report.status.as_str(),
            report.evaluations,
            report.seconds
        ),
        output::certificate_in_words(report, tol),
    ]
    .join("\n")
}
