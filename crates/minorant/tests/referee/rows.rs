//! Random problems over rows: `svm` and `logistic` with all their losses, labels and options.

use super::draw::{self, Random};
use super::number::{Number, sum};
use super::penalties;
use super::problem::{Owned, Problem, common_settings, lines, matrix, storage_in_words};
use super::stated::{Affine, Example, Shape, Stated};
use minorant::data::{Dataset, Label, LabelKind, LabelRows, Labels};
use minorant::family::Settings;
use minorant::family::linear::{CLASS_WEIGHT, HUBER, LOSS, LossName, MULTICLASS, Multiclass};
use minorant::options::common::{BIAS, INTERCEPT, LABEL_LOSS, Norm, PENALTY, WEIGHTS};
use minorant::options::reading::LABELS;

/// The kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Task {
    Binary,
    Joint,
    OneVsRest,
    Multilabel,
}

pub(crate) fn draw(random: &mut Random) -> Problem {
    use Task::{Binary, Joint, Multilabel, OneVsRest};
    let task = random.pick(&[Binary, Binary, Binary, Joint, Joint, Multilabel, OneVsRest]);
    let is_logistic = task != Multilabel && random.chance(0.4);
    let mut settings =
        Settings::new(if is_logistic { "logistic" } else { "svm" }).expect("a model");
    let n = if random.chance(0.3) { random.between(1, 3) } else { random.between(2, 12) };
    let d = random.between(1, 5);
    let classes = if task == Binary { 2 } else { random.between(2, 4) };
    let mut kind = if is_logistic { "logistic".to_string() } else { "svm".to_string() };
    let mut files = Vec::new();
    if is_logistic && random.chance(0.4) {
        settings.put(&PENALTY, Norm::L1);
        kind += " l1";
    }
    if !is_logistic && matches!(task, Binary | OneVsRest) {
        let loss = random.pick(&[LossName::Hinge, LossName::SquaredHinge, LossName::HuberHinge]);
        settings.put(&LOSS, loss);
        kind += &format!(" {}", minorant::options::Named::name(loss));
        if loss == LossName::HuberHinge && random.chance(0.7) {
            settings.put(&HUBER, random.pick(&[0.5, 1.5, 0.01, 1e-6, 100.0]));
        }
    }
    match task {
        Binary => settings.put(&LABELS, Some(LabelKind::Binary)),
        Joint => settings.put(&LABELS, Some(LabelKind::Multiclass)),
        OneVsRest => {
            settings.put(&LABELS, Some(LabelKind::Multiclass));
            settings.put(&MULTICLASS, Multiclass::OneVsRest);
            kind += " ovr";
        }
        Multilabel => {
            settings.put(&LABELS, Some(LabelKind::Multilabel));
            kind += " multilabel";
        }
    }
    if task == Joint {
        kind += " joint";
    }
    if !is_logistic && matches!(task, Joint | Multilabel) && random.chance(0.4) {
        let costs = random.costs(classes);
        files.push(("label-loss.txt".into(), lines(&costs, classes)));
        settings.put(&LABEL_LOSS, Some(costs));
        kind += " label-loss";
    }
    let rows = draw::rows(random, n, d);
    let labels = labels(random, task, &rows, classes);
    let features = matrix(random, &rows, d);
    let may_be_free = task != Multilabel || !settings.is_given("label-loss");
    kind += &penalties::draw(random, &mut settings, d, may_be_free, &mut files);
    if task != Multilabel && random.chance(0.25) {
        let given = labels.classes.iter().filter(|_| random.chance(0.6)).cloned();
        let given: Vec<Label> = given.collect();
        let weight = |label| (label, random.pick(&[0.0, 0.5, 1.0, 3.0, 1e3]));
        settings.put(&CLASS_WEIGHT, given.into_iter().map(weight).collect());
    }
    common_settings(&mut settings, random, n, &mut files);
    let data = Dataset { features, labels };
    let name = format!("data.svm ({})", storage_in_words(&data.features));
    files.insert(0, ("data.svm".into(), format!("# {name}\n{}", text(&data))));
    let stated = state(&data, &settings);
    let data = Owned::Rows(data);
    Problem { kind, data, settings, memory: None, parts: None, stated, files }
}

/// Labels by a plane through the rows, at random, or against each other on equal rows.
fn labels(random: &mut Random, task: Task, rows: &[Vec<f64>], classes: usize) -> Labels {
    let separable = random.chance(0.3);
    let labels = if task == Task::Multilabel {
        let (mut starts, mut items) = (vec![0], Vec::new());
        for _ in rows {
            let density = random.pick(&[0.0, 0.2, 0.5, 0.5, 0.8, 1.0]);
            items.extend((0..classes as u32).filter(|_| random.chance(density)));
            starts.push(items.len() as u64);
        }
        LabelRows::Sets { starts, items }
    } else {
        let each = |(i, row): (usize, &Vec<f64>)| match () {
            () if separable => u32::from(row[0] > 0.0),
            () if i < classes => i as u32,
            () => random.between(0, classes - 1) as u32,
        };
        LabelRows::Single(rows.iter().enumerate().map(each).collect())
    };
    let names: Vec<Label> = match task {
        Task::Binary => vec![Label::Number(-1.0), Label::Number(1.0)],
        _ => (0..classes).map(|z| Label::Number(z as f64 + 1.0)).collect(),
    };
    Labels { classes: names, rows: labels }
}

/// The rows in LIBSVM's format.
pub(crate) fn text(data: &Dataset<'_>) -> String {
    let mut text = String::new();
    for i in 0..data.features.rows() {
        if let LabelRows::Numbers { values, .. } = &data.labels.rows {
            text += &format!("{:?}", values[i]);
        } else {
            let labels = data.labels.row(i).iter();
            let labels = labels.map(|&z| data.labels.classes[z as usize].to_string());
            text += &labels.collect::<Vec<_>>().join(",");
        }
        for (j, x) in data.features.row(i).filter(|(_, x)| *x != 0.0) {
            text += &format!(" {}:{x:?}", j + 1);
        }
        text += "\n";
    }
    text
}

/// The problems of rows under some settings, by their formulas.
pub(crate) fn state(data: &Dataset<'_>, settings: &Settings) -> Vec<Stated> {
    let task = match settings.get(&LABELS) {
        Some(LabelKind::Binary) => Task::Binary,
        Some(LabelKind::Multilabel) => Task::Multilabel,
        _ if settings.get(&MULTICLASS) == Multiclass::OneVsRest => Task::OneVsRest,
        _ => Task::Joint,
    };
    let (n, d) = (data.features.rows(), data.features.cols());
    let classes = data.labels.classes.len();
    let outputs = if matches!(task, Task::Joint | Task::Multilabel) { classes } else { 1 };
    let is_logistic = settings.model() == "logistic";
    let examples = settings.get(&WEIGHTS).unwrap_or_else(|| vec![1.0; n]);
    let examples: Vec<Number> = examples.into_iter().map(Number::new).collect();
    let total = sum(examples.iter());
    let class_weights = settings.get(&CLASS_WEIGHT);
    let constant_feature = settings.get(&INTERCEPT).map(|_| 1.0).or(settings.get(&BIAS));
    let costs = settings.get(&LABEL_LOSS);
    // constant + Σ factor · (output z of row i)
    let affine = |i: usize, constant: f64, of: &[(usize, i64)]| {
        let mut line = Affine::constant(Number::new(constant));
        for &(z, factor) in of {
            for (j, x) in data.features.row(i).chain(constant_feature.map(|b| (d, b))) {
                line.add(j * outputs + z, &(&Number::new(x) * &Number::whole(factor)));
            }
        }
        line
    };
    let cost = |truth: usize, other: usize| match &costs {
        Some(costs) => costs[truth * classes + other],
        None => f64::from(u8::from(truth != other)),
    };
    let lines = |i: usize, positive: usize| -> Vec<Affine> {
        let truths = data.labels.row(i);
        match task {
            Task::Binary | Task::OneVsRest => {
                let sign = if truths[0] as usize == positive { -1 } else { 1 };
                let constant = if is_logistic { 0.0 } else { 1.0 };
                let line = affine(i, constant, &[(0, sign)]);
                match settings.get(&LOSS) {
                    LossName::Hinge => vec![Affine::constant(Number::zero()), line],
                    _ => vec![line],
                }
            }
            Task::Joint => {
                let truth = truths[0] as usize;
                let each = (0..classes).map(|z| match z == truth {
                    true => Affine::constant(Number::zero()),
                    false if is_logistic => affine(i, 0.0, &[(z, 1), (truth, -1)]),
                    false => affine(i, cost(truth, z), &[(z, 1), (truth, -1)]),
                });
                each.collect()
            }
            Task::Multilabel => {
                let mut lines = vec![Affine::constant(Number::zero())];
                let has = |z: usize| truths.contains(&(z as u32));
                for z in (0..classes).filter(|&z| has(z)) {
                    for other in (0..classes).filter(|&other| !has(other)) {
                        lines.push(affine(i, cost(z, other), &[(other, 1), (z, -1)]));
                    }
                }
                lines
            }
        }
    };
    let weight = |i: usize| {
        let class = class_weights.iter().find(|(label, _)| match &data.labels.rows {
            LabelRows::Single(rows) => *label == data.labels.classes[rows[i] as usize],
            _ => false,
        });
        class.map_or(examples[i].clone(), |(_, c)| &examples[i] * &Number::new(*c))
    };
    let shape = match (is_logistic, settings.get(&LOSS)) {
        (true, _) => Shape::LogSum,
        (_, LossName::SquaredHinge) => Shape::Square,
        (_, LossName::HuberHinge) => Shape::Rounded(Number::new(settings.get(&HUBER))),
        _ => Shape::Maximum,
    };
    let of_class = |positive: usize| Stated {
        shape: shape.clone(),
        total: total.clone(),
        weights: penalties::weights(settings, &total, d, outputs),
        examples: (0..n)
            .map(|i| Example { weight: weight(i), lines: lines(i, positive) })
            .collect(),
    };
    match task {
        Task::OneVsRest => (0..classes).map(of_class).collect(),
        // The larger of two labels is the positive one.
        _ => vec![of_class(1)],
    }
}
