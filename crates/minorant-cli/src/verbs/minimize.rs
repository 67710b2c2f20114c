//! `minorant minimize`: a solver on a test problem from the literature.

use super::cancel_on_interrupt;
use crate::args::MinimizeArgs;
use crate::number;
use crate::output::{self, aligned};
use crate::progress::{Watchers, write_trace};
use anyhow::ensure;
use minorant::FileError;
use minorant::family::{TrainReport, method_options, quarter_of_memory, stop_rules};
use minorant::solver::{self, MethodOptions, Problem};

/// Weights of a problem whose iterates a trace may hold.
const FEW_WEIGHTS: usize = 1000;

pub(crate) fn run(args: &MinimizeArgs) -> anyhow::Result<()> {
    let given = args.options.given()?;
    let rules = stop_rules(&given);
    args.trace.iter().try_for_each(|path| FileError::check_writable(path))?;
    let test = args.problem.build(args.dim, args.lambda, args.convex)?;
    let problem = Problem::new(&*test.risk, &test.regularizer).starting_at(Some(&test.start));
    let (method, name) = (args.solver.resolve(problem), args.problem.as_str());
    let options = method_options(&given, 0, quarter_of_memory());
    options.refuse_unused(args.solver)?;
    let options = MethodOptions { despite_kinks: true, ..options };
    ensure!(
        !args.trace_weights || test.risk.dim() <= FEW_WEIGHTS,
        "--trace-weights is for problems of up to {FEW_WEIGHTS} weights, not {}",
        test.risk.dim()
    );
    let mut solver = match method.build(problem, &options) {
        Err(error) if !test.risk.is_convex() => {
            anyhow::bail!("{name} counts as non-convex here: {error}")
        }
        built => built?,
    };
    let cancel = cancel_on_interrupt();
    let mut watchers = Watchers::new(method.name(), rules.tol, args.quiet);
    watchers.keeps_records = args.trace.is_some();
    watchers.weights = args.trace_weights.then(Vec::new);
    let ran = solver::run(&mut *solver, problem, rules, &cancel, &mut watchers, &mut ());
    watchers.view.finish();
    let report = TrainReport::of_runs(method.name(), (0, 0), args.lambda, &[ran?]);
    if let Some(path) = &args.trace {
        write_trace(&watchers, path)?;
    }
    if args.json {
        return output::print(&output::run_json(name, &report, rules.tol).to_string());
    }
    let minimum = match test.minimum {
        None => "not known in closed form".into(),
        Some(minimum) if minimum == f64::NEG_INFINITY => {
            "none: the objective is unbounded below".into()
        }
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
