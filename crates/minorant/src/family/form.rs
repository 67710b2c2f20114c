//! What a fitted model holds beyond the facts that every model has, and what can be asked of it.
//! Each family has one type of form.

use super::{
    Data, Evaluation, Facts, FittedModel, Predictions, Reading, Settings, TrainError, Wanted,
};
use crate::audit::{Penalty, Plain, PlainLoss, mean_shares};
use crate::certificate::Certificate;
use crate::container::Container;
use minorant_data::Label;
use serde_json::{Map, Value as Json};
use std::any::Any;
use std::fmt::Debug;

/// The fitted form of a family's models.
pub trait Form: Debug + Send + Sync + Any {
    /// Writes the keys and arrays that the model file has of its own, and those of settings that files
    /// hold as arrays.
    fn write(&self, settings: &Settings, file: &mut Container);

    /// The weights of each problem that was solved for the model: one, or one a class.
    fn weights(&self) -> Vec<&[f64]>;

    /// The data that the model predicts.
    fn reading(&self) -> Reading<'_>;

    /// Predicts. One sentence where the data is not the model's, or does not offer what is wanted.
    fn predict(&self, data: Data<'_>, wanted: Wanted) -> Result<Predictions, String>;

    /// Compares predictions with the true outputs of the same data.
    fn evaluate(&self, data: Data<'_>) -> Result<Evaluation, String>;

    /// What `inspect` shows of the form.
    fn describe(&self) -> Description;

    /// The problems behind the model's bounds in their plainest form, for the audit. Nothing where
    /// there is no bound to check because the model is not convex.
    fn plain<'a>(&'a self, _audited: Audited<'a>) -> Result<Vec<Plain<'a>>, String> {
        Ok(Vec::new())
    }

    /// Where the arrays of a problem's proof stand in a file.
    fn proof_prefix(&self, _problem: usize) -> String {
        "proof.".into()
    }

    /// Slopes that a proof by slopes has for each example.
    fn slopes_of_example(&self) -> usize {
        0
    }

    /// The model of the labelled rows alone, to be drawn beside this one, where unlabelled rows
    /// have changed it.
    fn before(
        &self,
        _model: &FittedModel,
        _data: Data<'_>,
    ) -> Result<Option<FittedModel>, TrainError> {
        Ok(None)
    }

    /// The form with the weights that training began with, where it keeps them.
    fn at_start(&self) -> Option<Box<dyn Form>> {
        None
    }

    /// Takes over what is claimed of each problem, where the form keeps that.
    fn claim(&mut self, _claims: &[Certificate]) {}
}

/// What an audit is of: a model's facts, and the data that it was trained on.
#[derive(Debug, Clone, Copy)]
pub struct Audited<'a> {
    /// The facts.
    pub facts: &'a Facts,
    /// The data.
    pub data: Data<'a>,
    /// What each example weighs, where that was given.
    pub example_weights: Option<&'a [f64]>,
}

impl<'a> Audited<'a> {
    /// The problem of a model that has one: a mean over examples of so many units each, and a penalty
    /// by its λ.
    pub(super) fn problem(
        self,
        losses: Box<dyn PlainLoss + 'a>,
        units: &[usize],
        penalty: impl Fn(f64) -> Penalty,
        w: &'a [f64],
    ) -> Result<Vec<Plain<'a>>, String> {
        let lambda = self.facts.lambda.ok_or("the model has no lambda")?;
        let shares = mean_shares(self.example_weights, units)?;
        let penalty = penalty(lambda);
        Ok(vec![Plain {
            losses,
            shares,
            penalty,
            w,
            free: 0,
            claim: self.facts.certificate.into(),
        }])
    }
}

/// What a form tells of itself.
#[derive(Debug, Clone, Default)]
pub struct Description {
    /// What is shown in parentheses after the model's name.
    pub variant: String,
    /// Lines for people: a heading of at most thirteen characters, and a text.
    pub lines: Vec<(&'static str, String)>,
    /// What it was trained on, in words; nothing where the number of examples says it all.
    pub trained_on: String,
    /// Settings of the problem, shown after what the model was trained on.
    pub settings: String,
    /// The kernel in words, where there is one.
    pub kernel: Option<String>,
    /// The sentence that tells what is not proven where an answer has no bound; nothing where the
    /// local gap tells it.
    pub unproven: Option<&'static str>,
    /// Keys for programs.
    pub json: Map<String, Json>,
}

impl Description {
    /// Kernel and settings, for a line that has neither yet.
    pub fn settings_with_kernel(&self) -> String {
        let settings = Some(self.settings.clone()).filter(|settings| !settings.is_empty());
        let both: Vec<String> = self.kernel.iter().cloned().chain(settings).collect();
        both.join(", ")
    }

    /// A line for people.
    pub fn line(&mut self, heading: &'static str, text: impl Into<String>) {
        self.lines.push((heading, text.into()));
    }

    /// The classes, for people and for programs.
    pub fn classes(&mut self, classes: &[Label]) {
        self.line("classes", listed(classes));
        self.key("classes", classes.iter().map(label_in_output).collect::<Vec<Json>>());
    }

    /// The number of columns, for people and for programs.
    pub fn features(&mut self, heading: &'static str, count: usize) {
        self.line(heading, count.to_string());
        self.key("features", count);
    }

    /// A key for programs.
    pub fn key(&mut self, name: &str, value: impl Into<Json>) {
        self.json.insert(name.into(), value.into());
    }
}

/// A label as programs read it: whole numbers without a fraction.
pub fn label_in_output(label: &Label) -> Json {
    match label {
        Label::Number(value) if value.fract() == 0.0 && value.abs() < 2f64.powi(53) => {
            Json::from(*value as i64)
        }
        Label::Number(value) => Json::from(*value),
        Label::Text(text) => Json::from(text.as_str()),
    }
}

/// A setting with up to six digits, as people write it.
pub fn setting_in_words(value: f64) -> String {
    let rounded = format!("{value:.5e}").parse().unwrap_or(value);
    let is_plain = rounded == 0.0 || (1e-4..1e9).contains(&rounded.abs());
    if is_plain { format!("{rounded}") } else { format!("{rounded:e}") }
}

/// The number of names, and the first dozen of them.
pub(crate) fn listed<T: ToString>(names: &[T]) -> String {
    let shown: Vec<String> = names.iter().take(12).map(ToString::to_string).collect();
    let more = if names.len() > 12 { ", …" } else { "" };
    format!("{}: {}{more}", names.len(), shown.join(", "))
}
