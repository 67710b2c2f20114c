//! The verbs on kernel models.

use super::{cancel_on_interrupt, check_writable, leave};
use crate::args::{EvaluateArgs, KernelOptions, PredictArgs, TrainArgs};
use crate::output::{self, maybe, number};
use crate::progress::Watchers;
use crate::report::Section;
use crate::report::plane::{self, Plane, PlanePoint};
use anyhow::ensure;
use minorant::checkpoint::FileCheckpoints;
use minorant::data::{Dataset, Label, LabelRows};
use minorant::kernel::Kernel;
use minorant::linalg::Matrix;
use minorant::model::KernelModel;
use minorant::risk::Cancel;
use minorant::s3vm::{self, Balance};
use minorant::solver::Checkpoints;
use minorant::train::{
    KernelName, S3vmOptions, TrainError, TrainReport, train_latent, train_robust, train_s3vm,
};
use serde_json::json;
use std::process::ExitCode;

pub(super) fn train(name: KernelName, args: &TrainArgs) -> anyhow::Result<ExitCode> {
    let problem = &args.problem;
    ensure!(
        args.proof.is_none() && args.start.is_none(),
        "--proof and --start do not go with {}",
        name.as_str()
    );
    let options = problem.kernel_options(name, &args.solver)?;
    let tol = options.tol();
    check_writable(&[&args.out, &args.trace, &args.report, &args.checkpoint])?;
    let cancel = cancel_on_interrupt();
    problem.threads.install(|| -> anyhow::Result<ExitCode> {
        let (data, load_seconds) = problem.read()?;
        let mut watchers = Watchers::new("training", tol, args.output.quiet);
        let (write, resume) = (args.checkpoint.as_deref(), args.resume.as_deref());
        let settings = options.settings();
        let mut checkpoints = FileCheckpoints::of_run(write, resume, &data, None, settings)?;
        let trained = trained(&data, &options, &cancel, &mut watchers, &mut checkpoints);
        watchers.finish();
        let (model, report, delta) = trained?;
        leave::trace(args, &watchers, &mut checkpoints)?;
        let saved = leave::model(args, |path| model.save(path))?;
        let facts = facts(&model, &report, &problem.data_name());
        // The pictures take time: a support vector machine of the labelled rows.
        if args.report.is_some() {
            let pictures = pictures(&data, &options, &model)?;
            leave::page(args, facts, tol, &report, &watchers, pictures)?;
        }
        if args.output.json {
            let mut object = output::report_json(name.as_str(), tol, &report, load_seconds);
            object["delta"] = maybe(delta);
            object["support"] = json!(model.support_rows.len());
            output::print(&object.to_string())?;
        } else {
            output::print(&in_words(&model, &report, delta, &problem.data_name()))?;
            saved.iter().try_for_each(|line| output::print(line))?;
        }
        Ok(ExitCode::SUCCESS)
    })?
}

/// Trains a kernel model; the paper's Δ comes with it, where the method knows it.
pub(super) fn trained(
    data: &Dataset<'_>,
    options: &KernelOptions,
    cancel: &Cancel,
    watchers: &mut Watchers,
    checkpoints: &mut dyn Checkpoints,
) -> Result<(KernelModel, TrainReport, Option<f64>), TrainError> {
    match options {
        KernelOptions::S3vm(options) => train_s3vm(data, options, cancel, watchers, checkpoints),
        KernelOptions::Latent(options) => {
            let (model, report) = train_latent(data, options, cancel, watchers, checkpoints)?;
            Ok((model, report, None))
        }
        KernelOptions::Robust(options) => {
            let (model, report) = train_robust(data, options, cancel, watchers, checkpoints)?;
            Ok((model, report, None))
        }
    }
}

/// Rows with two features, before (by the labelled rows alone) and after.
fn pictures(
    data: &Dataset<'_>,
    options: &KernelOptions,
    model: &KernelModel,
) -> anyhow::Result<Vec<Section>> {
    let (KernelOptions::S3vm(options), LabelRows::Single(labels)) = (options, &data.labels.rows)
    else {
        return Ok(Vec::new());
    };
    if data.features.cols() != 2 || model.classes.len() != 2 || model.kernel == Kernel::Precomputed
    {
        return Ok(Vec::new());
    }
    let is_labelled = |i: usize| data.labels.classes[labels[i] as usize] != Label::Number(0.0);
    let known: Vec<usize> = (0..labels.len()).filter(|&i| is_labelled(i)).collect();
    let alone = S3vmOptions {
        kernel: Some(model.kernel),
        balance: Balance::Auto,
        method: s3vm::Options { solver: s3vm::Solver::Ao, ..options.method },
        ..options.clone()
    };
    let rows = data.select_rows(&known);
    let (before, ..) = train_s3vm(&rows, &alone, &Cancel::new(), &mut (), &mut ())?;
    let places: Vec<[f64; 2]> = (0..labels.len())
        .map(|i| {
            let mut place = [0.0; 2];
            data.features.for_each_in_row(i, |j, x| place[j] = x);
            place
        })
        .collect();
    let grid = plane::grid(plane::frame(places.iter().copied())).concat();
    let grid = Matrix::dense(plane::GRID * plane::GRID, 2, grid.into())?;
    let picture = |caption: &str, model: &KernelModel| {
        let decisions = model.scores(&data.features).values;
        let point = |(i, place): (usize, &[f64; 2])| PlanePoint {
            place: *place,
            is_positive: decisions[i] > 0.0,
            is_labelled: is_labelled(i),
        };
        Plane {
            caption: caption.into(),
            points: places.iter().enumerate().map(point).collect(),
            decisions: model.scores(&grid).values,
        }
    };
    Ok(vec![Section {
        heading: "The plane".into(),
        paragraphs: vec![
            "Points in the colour of their decision, those with a label large; the line is where the decision changes.".into(),
        ],
        planes: vec![
            picture("Before: by the labelled rows alone", &before),
            picture("After: with the unlabelled rows", model),
        ],
        ..Section::default()
    }])
}

/// The kernel and its settings.
fn kernel_in_words(kernel: Kernel) -> String {
    match kernel {
        Kernel::Rbf { sigma } => format!("rbf kernel with sigma {}", crate::number::setting(sigma)),
        Kernel::Poly { power, offset } => format!("kernel (x·y + {offset})^{power}"),
        Kernel::Linear => "linear kernel".into(),
        Kernel::Precomputed => "precomputed kernel".into(),
    }
}

/// What losses count, and the balance.
fn settings_in_words(model: &KernelModel) -> String {
    let weights =
        model.weights.iter().map(|(name, c)| format!("{name} {}", crate::number::setting(*c)));
    let balance = model.balance.iter().map(|balance| format!("balance {balance}"));
    weights.chain(balance).collect::<Vec<_>>().join(", ")
}

pub(super) fn facts(
    model: &KernelModel,
    report: &TrainReport,
    data: &str,
) -> Vec<(String, String)> {
    let fact = |name: &str, value: String| (name.to_string(), value);
    vec![
        fact("Data", data.to_string()),
        fact("Examples", report.examples.to_string()),
        fact("Features", report.features.to_string()),
        fact("Kernel", kernel_in_words(model.kernel)),
        fact("Settings", settings_in_words(model)),
    ]
}

fn in_words(model: &KernelModel, report: &TrainReport, delta: Option<f64>, data: &str) -> String {
    let certificate = report.certificate;
    let mut lines = vec![
        format!(
            "{} by {} on {data}: {} examples, {} features, {}, {}",
            model.model.as_str(),
            report.solver,
            report.examples,
            report.features,
            kernel_in_words(model.kernel),
            settings_in_words(model)
        ),
        format!("objective     {}", crate::number::objective(certificate.objective)),
    ];
    if let Some(bound) = certificate.lower_bound {
        lines.push(format!("lower bound   {}", crate::number::bound(bound)));
    }
    if let Some(delta) = delta {
        lines
            .push(format!("delta         {delta:.3e} (the paper's test: at most 0 at an optimum)"));
    }
    lines.push(format!("support       {} rows", model.support_rows.len()));
    lines.push(format!(
        "status        {}, {} inner optimisations in {:.2} s",
        report.status.as_str(),
        report.evaluations,
        report.seconds
    ));
    lines.push(if certificate.lower_bound.is_some() {
        output::certificate_in_words(report, model.tol)
    } else {
        match model.model {
            KernelName::S3vm => "the best of many local optima: nothing is proven about other labelings (solver bb proves it for small data)".into(),
            KernelName::LatentSvm => "the best of many local optima: nothing is proven about other parts".into(),
            KernelName::RobustSvm => "the best of many local optima: nothing is proven about other choices of the rows that count".into(),
        }
    });
    lines.join("\n")
}

/// Reads rows for a model; of a precomputed kernel these are rows of kernels with all training rows.
fn read_for(
    model: &KernelModel,
    data: &crate::args::DataArgs,
) -> anyhow::Result<(Dataset<'static>, usize)> {
    data.read_for(model.features, false)
}

pub(super) fn predict(model: &KernelModel, args: &PredictArgs) -> anyhow::Result<ExitCode> {
    args.threads.install(|| -> anyhow::Result<ExitCode> {
        let (data, dropped) = read_for(model, &args.data)?;
        let scores = model.scores(&data.features);
        super::predict::note_ignored(dropped + scores.ignored);
        super::predict::show(args, &model.classes, &scores, &model.classify(&scores))
    })?
}

pub(super) fn evaluate(model: &KernelModel, args: &EvaluateArgs) -> anyhow::Result<ExitCode> {
    args.threads.install(|| -> anyhow::Result<ExitCode> {
        let (data, dropped) = read_for(model, &args.data)?;
        ensure!(data.labels.rows != LabelRows::None, "the data has no labels to compare with");
        let scores = model.scores(&data.features);
        super::predict::note_ignored(dropped + scores.ignored);
        super::evaluate::show(args, &model.classes, &model.evaluate(&data.labels, &scores))
    })?
}

pub(super) fn inspect(model: &KernelModel, as_json: bool) -> String {
    let certificate = model.certificate;
    let classes: Vec<_> = model.classes.iter().map(output::label).collect();
    if as_json {
        let mut object = json!({
            "kind": "model",
            "model": model.model.as_str(),
            "kernel": model.kernel.name(),
            "classes": classes,
            "features": model.features,
            "examples": model.examples,
            "balance": model.balance,
            "solver": model.solver,
            "status": model.status,
            "objective": number(certificate.objective),
            "lower_bound": maybe(certificate.lower_bound),
            "relative_gap": maybe(certificate.relative_gap()),
            "local_gap": maybe(model.local_gap),
            "certified": certificate.certifies(model.tol),
            "machines": model.machines.len(),
            "support": model.support_rows.len(),
            "data_sha256": model.data_sha256,
        });
        if let Kernel::Rbf { sigma } = model.kernel {
            object["sigma"] = number(sigma);
        }
        for (name, c) in &model.weights {
            object[name] = number(*c);
        }
        return object.to_string();
    }
    let names: Vec<String> = model.classes.iter().take(12).map(ToString::to_string).collect();
    let more = if model.classes.len() > 12 { ", …" } else { "" };
    [
        format!("model         {}", model.model.as_str()),
        format!("classes       {}: {}{more}", model.classes.len(), names.join(", ")),
        format!("features      {}", model.features),
        format!("kernel        {}", kernel_in_words(model.kernel)),
        format!(
            "functions     {} over {} support rows",
            model.machines.len(),
            model.support_rows.len()
        ),
        format!(
            "trained on    {} examples, {}, {} ({})",
            model.examples,
            settings_in_words(model),
            model.solver,
            model.status
        ),
        super::inspect::certified(&certificate, None),
        format!("data          sha256 {}", model.data_sha256),
    ]
    .join("\n")
}
