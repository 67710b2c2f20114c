//! `minorant minimize`: a solver on a test problem from the literature.

use super::cancel_on_interrupt;
use crate::args::MinimizeArgs;
use crate::number;
use crate::output::{self, aligned};
use crate::progress::{Watchers, write_trace};
use minorant::FileError;
use minorant::family::{TrainReport, quarter_of_memory};
use minorant::solver::{self, MethodOptions, Problem};

pub(crate) fn run(args: &MinimizeArgs) -> anyhow::Result<()> {
    let rules = args.rules()?;
    args.trace.iter().try_for_each(|path| FileError::check_writable(path))?;
    let test = args.problem.build(args.dim, args.lambda, args.convex)?;
    let problem = Problem::new(&*test.risk, &test.regularizer).starting_at(Some(&test.start));
    let (method, name) = (args.solver.resolve(problem), args.problem.as_str());
    let options = MethodOptions {
        memory: args.memory,
        max_bytes: quarter_of_memory(),
        despite_kinks: true,
        ..MethodOptions::default()
    };
    let mut solver = match method.build(problem, &options) {
        Err(error) if !test.risk.is_convex() => {
            anyhow::bail!("{name} counts as non-convex here: {error}")
        }
        built => built?,
    };
    let cancel = cancel_on_interrupt();
    let mut watchers =
        Watchers::new(method.name(), rules.tol, args.quiet).with_records_if(args.trace.is_some());
    let ran = solver::run(&mut *solver, problem, rules, &cancel, &mut watchers, &mut ());
    watchers.finish();
    let report = TrainReport::of_runs(method.name(), (0, 0), args.lambda, &[ran?]);
    if let Some(path) = &args.trace {
        write_trace(&watchers.records, path)?;
    }
    if args.json {
        return output::print(&output::run_json(name, &report, rules.tol).to_string());
    }
    let minimum = match test.minimum {
        None => "not known in closed form".into(),
        Some(minimum) if minimum == f64::NEG_INFINITY => "none: it falls for ever".into(),
        Some(minimum) => number::objective(minimum),
    };
    let mut lines = output::answer(&report);
    lines.insert(1, ("minimum", minimum));
    output::print(&format!(
        "{name} by {}: {} dimensions, lambda {}\n{}\n{}",
        report.solver,
        report.dim,
        number::setting(args.lambda),
        aligned(lines),
        output::certificate_in_words(&report, rules.tol)
    ))
}
