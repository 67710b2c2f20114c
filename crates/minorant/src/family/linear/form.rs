//! A fitted linear model: weights of its problems, decision values, labels, and how good they are.

use super::losses::{LOSS, LossName};
use super::options::{BIAS_WEIGHT, CLASS_WEIGHT};
use super::targets::Truths;
use super::{Rows, loss_of, regression, residuals};
use crate::audit::linear::{LinearLosses, PlainKind, PlainMargin};
use crate::audit::{self, Plain};
use crate::certificate::Certificate;
use crate::container::Container;
use crate::family::classes::{self, of_counts, share};
use crate::family::penalty::LinearWeights;
use crate::family::predictions::{argmax, on_columns};
use crate::family::{
    Audited, ClassCounts, Data, DataKind, Description, Evaluation, Facts, Form, Loaded, Misfit,
    Numbers, Outputs, Predictions, Reading, Settings, Style, Wanted, setting_in_words,
};
use crate::options::common::{BIAS, BOUNDS, INTERCEPT, LABEL_LOSS, Norm};
use crate::options::{Named, named};
use crate::risk::multilabel_hinge::MultilabelHinge;
use crate::solver::Outcome;
use minorant_data::{Dataset, Label, LabelKind, LabelRows, Labels};
use minorant_linalg::parallel::{map_chunks_mut, split_evenly};
use minorant_linalg::{Design, Matrix, PackedWeights};
use serde_json::{Value as Json, json};

/// What the targets of a linear model are; files call it the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// Two classes.
    Binary,
    /// Several classes, trained together.
    Multiclass,
    /// Several classes, each against the rest.
    OneVsRest,
    /// Sets of classes.
    Multilabel,
    /// Numbers to be met.
    Numbers,
}

named!(TargetKind {
    Binary = "binary",
    Multiclass = "multiclass",
    OneVsRest = "one-vs-rest",
    Multilabel = "multilabel",
    Numbers = "numbers",
});

impl TargetKind {
    /// Linear outputs of one problem with so many classes, or quantiles.
    pub(super) fn outputs(self, classes: usize, levels: usize) -> usize {
        match self {
            TargetKind::Binary | TargetKind::OneVsRest => 1,
            TargetKind::Multiclass | TargetKind::Multilabel => classes,
            TargetKind::Numbers => levels.max(1),
        }
    }
}

/// One of the problems that were solved for a model.
#[derive(Debug, Clone)]
pub struct SubProblem {
    /// Its weights, feature by feature.
    pub weights: Vec<f64>,
    /// The intercept of each output, where it is free.
    pub intercept: Option<Vec<f64>>,
    /// Its objective and bound.
    pub certificate: Certificate,
}

/// The form of linear models.
#[derive(Debug, Clone)]
pub struct LinearForm {
    /// What the labels are.
    pub targets: TargetKind,
    /// The loss.
    pub loss: LossName,
    /// The classes in order.
    pub classes: Vec<Label>,
    /// Columns of the data, the bias excluded.
    pub features: usize,
    /// The constant feature.
    pub bias: Option<f64>,
    /// The levels of quantiles, where there are such.
    pub levels: Vec<f64>,
    /// The scale of the targets, where it was fitted along.
    pub scale: Option<f64>,
    /// A multilabel row has the labels whose score is above this.
    pub threshold: Option<f64>,
    /// The problems that were solved: one, or one for each class.
    pub problems: Vec<SubProblem>,
}

impl LinearForm {
    pub(super) fn new(rows: &Rows<'_>, outcomes: Vec<Outcome>) -> Self {
        let loss = loss_of(rows.settings);
        let outputs = || outcomes[0].point.outputs.gather();
        let (threshold, scale) = match &rows.targets.truths {
            Truths::Sets(member) => {
                (Some(MultilabelHinge::best_threshold(&outputs(), member)), None)
            }
            Truths::Numbers(numbers) => {
                (None, regression::scale(loss, numbers, &rows.shares, &outputs(), rows.settings))
            }
            _ => (None, None),
        };
        let is_free = rows.settings.get(&INTERCEPT).is_some();
        let problem = |outcome: Outcome| SubProblem {
            intercept: is_free.then_some(outcome.point.intercept),
            weights: outcome.point.w,
            certificate: outcome.ending.certificate,
        };
        LinearForm {
            targets: rows.targets.kind,
            loss,
            classes: rows.targets.class_labels(&rows.data.labels),
            features: rows.data.features.cols(),
            bias: rows.settings.get(&BIAS),
            levels: regression::levels(rows.settings),
            scale,
            threshold,
            problems: outcomes.into_iter().map(problem).collect(),
        }
    }

    /// The form that a model file holds.
    pub(super) fn load(facts: &mut Facts, file: &mut Container) -> Loaded {
        let named = |key: &str| -> Result<String, Misfit> { file.key(key) };
        let unknown = |what: &str| Misfit::without(format!("a {what} that this version knows"));
        let targets = TargetKind::named(&named("task")?).ok_or_else(|| unknown("task"))?;
        let loss = LossName::named(&named("loss")?).ok_or_else(|| unknown("loss"))?;
        if facts.model() == "svm" {
            facts.settings.put(&LOSS, loss);
        }
        if (targets == TargetKind::Numbers) != facts.settings.entry().model.takes_targets
            || (targets == TargetKind::Numbers && loss != loss_of(&facts.settings))
        {
            return Err(Misfit::without("a task and a loss of the model"));
        }
        // Files of 0.1 tell of one-vs-rest by the targets alone.
        if targets == TargetKind::OneVsRest {
            facts.settings.put(&super::MULTICLASS, super::Multiclass::OneVsRest);
        }
        let classes = file.classes()?;
        let count = classes.len();
        let scale = file.key::<Option<f64>>("scale").ok().flatten();
        let is_scale = |scale: f64| scale >= 0.0 && scale.is_finite();
        if scale.map(is_scale) != regression::fits_scale(loss, &facts.settings).then_some(true) {
            return Err(Misfit::without("a scale where one was fitted along"));
        }
        let label_loss = file.take_reals("label_loss").map(|(_, delta)| delta);
        let bounds = file.take_reals("bounds").map(|(_, bounds)| bounds);
        facts.settings.put(&BOUNDS, bounds);
        let features: usize = file.key("features")?;
        let headers: Vec<Json> = file.key("problems")?;
        let bias = facts.settings.get(&BIAS);
        let numbers_fit = facts.lambda.is_some()
            && features < usize::MAX
            && (facts.settings.get(&BIAS_WEIGHT).is_none() || bias.is_some())
            && label_loss.as_ref().is_none_or(|delta| delta.len() == count * count);
        if !numbers_fit {
            return Err(Misfit::without("features, lambda, bias and label loss that fit together"));
        }
        facts.settings.put(&LABEL_LOSS, label_loss.filter(|_| facts.model() == "svm"));
        let expected = if targets == TargetKind::OneVsRest { count } else { 1 };
        let has_classes = if targets == TargetKind::Numbers { count == 0 } else { count >= 2 };
        if !has_classes || headers.len() != expected {
            return Err(Misfit::without(format!(
                "two or more classes and their problems instead of {count} classes and {} problems",
                headers.len()
            )));
        }
        let mut form = LinearForm {
            targets,
            loss,
            classes,
            features,
            bias,
            levels: regression::levels(&facts.settings),
            scale,
            threshold: file.key("threshold")?,
            problems: Vec::new(),
        };
        let shape = [form.rows_of_weights(), form.outputs()];
        let is_free = facts.settings.get(&INTERCEPT).is_some();
        for (k, header) in headers.iter().enumerate() {
            let number = |key: &str| header.get(key).and_then(Json::as_f64);
            let weights = file.take_reals(&format!("weights.{k}"));
            let weights =
                weights.filter(|(found, w)| *found == shape && w.iter().all(|w| w.is_finite()));
            let misfit = || Misfit::without(format!("{} x {} finite weights", shape[0], shape[1]));
            let name = format!("intercept.{k}");
            let intercept = is_free.then(|| file.weights(&name, Some(shape[1]))).transpose()?;
            form.problems.push(SubProblem {
                weights: weights.ok_or_else(misfit)?.1,
                intercept,
                certificate: Certificate {
                    objective: number("objective").unwrap_or(f64::INFINITY),
                    lower_bound: number("lower_bound"),
                },
            });
        }
        Ok(Box::new(form))
    }

    /// Linear outputs of one of its problems.
    pub fn outputs(&self) -> usize {
        self.targets.outputs(self.classes.len(), self.levels.len())
    }

    /// Features, the constant one included.
    pub fn rows_of_weights(&self) -> usize {
        self.features + usize::from(self.bias.is_some())
    }

    /// Decision values of all rows, one for each output; a sentence tells of entries in columns that
    /// the model does not know.
    pub fn scores(&self, matrix: &Matrix<'_>) -> (Numbers, Option<String>) {
        on_columns(matrix, self.features, |matrix| self.scores_of(matrix))
    }

    fn scores_of(&self, matrix: &Matrix<'_>) -> Numbers {
        let design = Design::new(matrix, self.bias);
        let chunks = split_evenly(matrix.rows(), (matrix.rows() / 1024).clamp(1, 64));
        let outputs = self.outputs();
        let width = outputs * self.problems.len();
        let mut values = vec![0.0; matrix.rows() * width];
        for (k, problem) in self.problems.iter().enumerate() {
            let packed = PackedWeights::pack(&problem.weights, outputs);
            map_chunks_mut(&chunks, &mut values, width, |_, rows, out| {
                let mut scores = vec![0.0; rows.len() * outputs];
                design.forward(rows, &packed, &mut scores);
                if let Some(intercept) = &problem.intercept {
                    for scores in scores.chunks_exact_mut(outputs) {
                        scores.iter_mut().zip(intercept).for_each(|(f, b)| *f += b);
                    }
                }
                for (out, scores) in out.chunks_exact_mut(width).zip(scores.chunks_exact(outputs)) {
                    out[k * outputs..(k + 1) * outputs].copy_from_slice(scores);
                }
            });
        }
        Numbers { width, values }
    }

    /// Labels for decision values; ties go to the first class.
    pub fn classify(&self, scores: &Numbers) -> Outputs {
        let rows = (0..scores.rows()).map(|i| scores.row(i));
        match self.targets {
            TargetKind::Binary => Outputs::Labels(rows.map(|f| u32::from(f[0] > 0.0)).collect()),
            TargetKind::Multiclass | TargetKind::OneVsRest => {
                Outputs::Labels(rows.map(argmax).collect())
            }
            TargetKind::Multilabel => {
                let threshold = self.threshold.unwrap_or(0.0);
                let above = |f: &[f64]| {
                    (0..f.len()).filter(|&z| f[z] > threshold).map(|z| z as u32).collect()
                };
                Outputs::Sets(rows.map(above).collect())
            }
            TargetKind::Numbers => Outputs::Values(scores.clone()),
        }
    }

    /// Compares predictions with the labels of the same rows.
    pub fn compare(&self, labels: &Labels, scores: &Numbers) -> Evaluation {
        match self.classify(scores) {
            Outputs::Labels(predicted) => {
                // For a transductive model the label 0 says that there is none.
                let knows_unlabelled = self.loss == LossName::Transductive;
                classes::compare(&self.classes, &predicted, labels, knows_unlabelled)
            }
            Outputs::Sets(predicted) => {
                // The number that the model has for each class of the data, if it knows the class.
                let known = labels.remap(&self.classes);
                let truth = |row: usize| labels.row(row).iter().map(|&z| known[z as usize]);
                self.compare_sets(&predicted, scores, truth)
            }
            Outputs::Values(values) => regression::numbers(labels).map_or_else(
                |_| Evaluation::default(),
                |targets| residuals::compare(self.loss, &self.levels, targets, &values),
            ),
            Outputs::Tokens { .. } | Outputs::Structures(_) => Evaluation::default(),
        }
    }

    fn compare_sets<T: Iterator<Item = Option<u32>>>(
        &self,
        predicted: &[Vec<u32>],
        scores: &Numbers,
        truth: impl Fn(usize) -> T,
    ) -> Evaluation {
        let (rows, width) = (predicted.len(), self.classes.len());
        let mut counts = vec![ClassCounts::default(); width];
        let unknown = (0..rows).filter(|&i| truth(i).any(|z| z.is_none())).count();
        let (mut wrong, mut wrong_sets, mut misranked) = (0usize, 0usize, 0.0);
        for (i, guess) in predicted.iter().enumerate() {
            let mut has = vec![false; width];
            truth(i).flatten().for_each(|z| has[z as usize] = true);
            let mut misses = truth(i).filter(Option::is_none).count();
            for (z, &actual) in has.iter().enumerate() {
                let said = guess.contains(&(z as u32));
                counts[z].add(said, actual);
                misses += usize::from(said != actual);
            }
            wrong += misses;
            wrong_sets += usize::from(misses > 0);
            misranked += misranked_pairs(&has, scores.row(i));
        }
        let mut evaluation = of_counts(&self.classes, counts, rows, unknown);
        let hamming = share(wrong as f64, rows * width);
        evaluation.measure("error", "Hamming error", hamming, classes::on(rows));
        let subset = share(wrong_sets as f64, rows);
        evaluation.measure("subset_error", "subset error", subset, String::new());
        let misranked = Some(share(misranked, rows));
        evaluation.number("ranking_loss", "ranking loss", misranked, Style::Number);
        evaluation
    }

    fn truths<'a>(
        &'a self,
        data: &'a Dataset<'a>,
        settings: &Settings,
    ) -> Result<PlainKind<'a>, String> {
        if self.targets == TargetKind::Numbers {
            let (levels, scale) = (&self.levels, self.scale);
            let (_, loss) = regression::of_residuals(self.loss, levels, scale, settings);
            return Ok(PlainKind::Targets(regression::numbers(&data.labels)?, loss));
        }
        Ok(match (&data.labels.rows, self.targets) {
            (LabelRows::Single(rows), TargetKind::Binary | TargetKind::OneVsRest) => {
                PlainKind::Signs(rows, 1)
            }
            (LabelRows::Single(rows), TargetKind::Multiclass) => PlainKind::Classes(rows),
            (LabelRows::Sets { .. }, TargetKind::Multilabel) => PlainKind::Sets(&data.labels),
            _ => return Err("the labels are not of the kind that the model was trained on".into()),
        })
    }
}

impl Form for LinearForm {
    fn write(&self, settings: &Settings, file: &mut Container) {
        // Only logistic regression has a choice of penalties; all models name theirs.
        if file.header.get("penalty").is_none() {
            file.put_key("penalty", Norm::L2.name());
        }
        file.put_key("task", self.targets.name());
        file.put_key("loss", self.loss.name());
        file.put_classes(&self.classes);
        file.put_key("features", self.features);
        file.put_key("threshold", self.threshold);
        if let Some(scale) = self.scale {
            file.put_key("scale", scale);
        }
        let certificates = self.problems.iter().map(|problem| {
            let certificate = problem.certificate;
            json!({"objective": certificate.objective, "lower_bound": certificate.lower_bound})
        });
        file.put_key("problems", certificates.collect::<Vec<_>>());
        let (rows, outputs) = (self.rows_of_weights(), self.outputs());
        for (k, problem) in self.problems.iter().enumerate() {
            file.put_reals(&format!("weights.{k}"), &[rows, outputs], problem.weights.clone());
            if let Some(intercept) = &problem.intercept {
                file.put_list(&format!("intercept.{k}"), intercept);
            }
        }
        if let Some(delta) = settings.get(&LABEL_LOSS) {
            let classes = self.classes.len();
            file.put_reals("label_loss", &[classes, classes], delta);
        }
        if let Some(bounds) = settings.get(&BOUNDS) {
            file.put_reals("bounds", &[bounds.len() / 3, 3], bounds);
        }
    }

    fn weights(&self) -> Vec<&[f64]> {
        self.problems.iter().map(|problem| &problem.weights[..]).collect()
    }

    fn reading(&self) -> Reading<'_> {
        let is_multilabel = self.targets == TargetKind::Multilabel;
        let label_kind = is_multilabel.then_some(LabelKind::Multilabel);
        Reading { features: Some(self.features), label_kind, ..DataKind::Rows.into() }
    }

    fn predict(&self, data: Data<'_>, wanted: Wanted) -> Result<Predictions, String> {
        if self.targets == TargetKind::Numbers && wanted == Wanted::Scores {
            return Err("a regression predicts numbers, and has no decision values besides".into());
        }
        let (scores, note) = self.scores(&data.rows()?.features);
        let outputs = self.classify(&scores);
        let numbers = (wanted == Wanted::Scores).then_some(scores);
        Ok(Predictions { numbers, note, ..Predictions::new(self.classes.clone(), outputs) })
    }

    fn evaluate(&self, data: Data<'_>) -> Result<Evaluation, String> {
        let data = data.rows()?;
        if data.labels.rows == LabelRows::None {
            return Err("the data has no labels to compare with".into());
        }
        if self.targets == TargetKind::Numbers {
            regression::numbers(&data.labels)?;
        }
        let (scores, note) = self.scores(&data.features);
        let mut evaluation = self.compare(&data.labels, &scores);
        evaluation.notes.extend(note);
        Ok(evaluation)
    }

    fn describe(&self) -> Description {
        let mut about = Description {
            variant: self.targets.name().into(),
            trained_on: "examples".into(),
            ..Description::default()
        };
        about.key("task", self.targets.name());
        about.key("loss", self.loss.name());
        if self.loss != LossName::Logistic {
            about.key("penalty", Norm::L2.name());
        }
        if self.targets == TargetKind::Numbers {
            about.line("loss", self.loss.name());
        } else {
            about.classes(&self.classes);
        }
        if !self.levels.is_empty() {
            let levels: Vec<String> = self.levels.iter().map(f64::to_string).collect();
            about.line("quantiles", levels.join(", "));
            about.key("quantiles", self.levels.clone());
        }
        if let Some(scale) = self.scale {
            about.line("scale", setting_in_words(scale));
            about.key("scale", scale);
        }
        about.features("features", self.features);
        about.line("bias", self.bias.map_or("none".into(), |bias| bias.to_string()));
        let intercepts =
            self.problems.iter().flat_map(|problem| problem.intercept.iter().flatten());
        let intercepts: Vec<String> = intercepts.map(f64::to_string).collect();
        if !intercepts.is_empty() {
            about.line("intercept", intercepts.join(", "));
        }
        about
    }

    fn claim(&mut self, claims: &[Certificate]) {
        for (problem, claim) in self.problems.iter_mut().zip(claims) {
            problem.certificate = *claim;
        }
    }

    fn plain<'a>(&'a self, audited: Audited<'a>) -> Result<Vec<Plain<'a>>, String> {
        let (facts, data) = (audited.facts, audited.data.rows()?);
        let (count, dim) = (self.classes.len(), self.rows_of_weights() * self.outputs());
        let label_loss = facts.settings.get(&LABEL_LOSS);
        let fits = data.features.cols() == self.features
            && data.labels.classes == self.classes
            && label_loss.as_ref().is_none_or(|delta| delta.len() == count * count)
            && self.problems.iter().all(|problem| problem.weights.len() == dim);
        let Some(lambda) = facts.lambda.filter(|_| fits) else {
            return Err("the model's weights, classes or label loss do not fit the data".into());
        };
        let truths = self.truths(data, &facts.settings)?;
        let shares = audit::mean_shares(audited.example_weights, &vec![1; data.features.rows()])?;
        let class_weights = facts.settings.get(&CLASS_WEIGHT);
        let of_class = |z: &u32| {
            let label = &data.labels.classes[*z as usize];
            class_weights.iter().find(|(known, _)| known == label).map_or(1.0, |(_, c)| *c)
        };
        let of_row = |i: usize| data.labels.row(i).iter().map(of_class).product::<f64>();
        let shares: Vec<f64> = (0..shares.len()).map(|i| shares[i] * of_row(i)).collect();
        let (columns, outputs) = (self.features, self.outputs());
        let weights = LinearWeights { settings: &facts.settings, columns, outputs };
        let penalty = weights.plain(lambda)?;
        // Targets come with a loss of their own.
        let loss = match truths {
            PlainKind::Targets(..) => PlainMargin::Hinge,
            _ => self.loss.plain(&facts.settings).ok_or("the loss is not convex")?,
        };
        let problem = |(k, problem): (usize, &'a SubProblem)| Plain {
            losses: Box::new(LinearLosses {
                features: &data.features,
                bias: self.bias,
                intercept: problem.intercept.as_deref(),
                truths: match truths {
                    PlainKind::Signs(rows, _) if self.targets == TargetKind::OneVsRest => {
                        PlainKind::Signs(rows, k as u32)
                    }
                    truths => truths,
                },
                outputs: self.outputs(),
                loss,
                label_loss: label_loss.clone(),
            }),
            shares: shares.clone(),
            penalty: penalty.clone(),
            w: &problem.weights,
            free: if problem.intercept.is_some() { self.outputs() } else { 0 },
            claim: problem.certificate.into(),
        };
        Ok(self.problems.iter().enumerate().map(problem).collect())
    }

    fn proof_prefix(&self, problem: usize) -> String {
        format!("proof.{problem}.")
    }

    fn slopes_of_example(&self) -> usize {
        self.outputs()
    }
}

/// The share of pairs of a label and a non-label whose scores are in the wrong order.
fn misranked_pairs(has: &[bool], scores: &[f64]) -> f64 {
    let (mut pairs, mut wrong) = (0usize, 0.0);
    for z in (0..has.len()).filter(|&z| has[z]) {
        for other in (0..has.len()).filter(|&z| !has[z]) {
            pairs += 1;
            wrong += match scores[z].total_cmp(&scores[other]) {
                std::cmp::Ordering::Less => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Greater => 0.0,
            };
        }
    }
    share(wrong, pairs)
}
