//! Paths of models that are not linear in rows (chains, plates, trees of parts): each λ is a training of
//! the family's own, which goes on with the planes and the weights of the last one.

use super::{PathOptions, PathPoint, Stop, Way, pair};
use crate::family::{
    Asked, Data, Facts, FittedModel, Lambda, PROOF_BYTES, Settings, TrainError, Walk,
    left_for_planes,
};
use crate::fingerprint::Fingerprint;
use crate::options::common::{MAX_EVALS, MAX_SECONDS};
use crate::risk::Cancel;
use crate::solver::Track;
use std::cell::RefCell;

/// Trainings on their way along the path.
pub(super) struct Fits<'a> {
    data: Data<'a>,
    settings: &'a Settings,
    validation: Option<Data<'a>>,
    start: Option<&'a [f64]>,
    cancel: &'a Cancel,
    data_sha256: String,
    track: RefCell<Track>,
    evaluations: u64,
    seconds: f64,
}

impl<'a> Fits<'a> {
    pub(super) fn new(
        data: Data<'a>,
        settings: &'a Settings,
        path: PathOptions<'a>,
        cancel: &'a Cancel,
    ) -> Self {
        let weights = settings.example_weights();
        Fits {
            data,
            settings,
            validation: path.validation,
            start: path.start,
            cancel,
            data_sha256: data.sha256_with(weights.as_deref()),
            track: RefCell::new(Track::new()),
            evaluations: 0,
            seconds: 0.0,
        }
    }
}

impl Way for Fits<'_> {
    fn is_spent(&self) -> bool {
        let rules = self.settings.rules();
        self.cancel.is_cancelled()
            || rules.max_evaluations.is_some_and(|most| self.evaluations >= most)
            || rules.max_seconds.is_some_and(|most| self.seconds >= most)
    }

    fn solve(
        &mut self,
        lambda: f64,
        tell: &mut dyn FnMut(&PathPoint),
    ) -> Result<(PathPoint, Stop), TrainError> {
        let rules = self.settings.rules();
        let mut settings = self.settings.clone();
        settings.set_lambda(Lambda::Lambda(lambda));
        let left = rules.max_evaluations.map(|most| most.saturating_sub(self.evaluations).max(1));
        settings.put(&MAX_EVALS, left);
        settings.put(&MAX_SECONDS, rules.max_seconds.map(|most| (most - self.seconds).max(0.0)));
        let asked = Asked {
            settings: &settings,
            cancel: self.cancel,
            start: self.start,
            to_rounding: false,
            proof_bytes: PROOF_BYTES,
            plane_bytes: left_for_planes(self.data, &settings),
            track: Some(&self.track),
        };
        let mut walk = Walk { asked, observer: &mut (), checkpoints: &mut () };
        let answer = (settings.entry().family.fit)(self.data, &mut walk)?;
        let report = answer.report;
        self.evaluations += report.evaluations;
        self.seconds += report.seconds;
        let facts = Facts::new(self.settings, &report, self.data, self.data_sha256.clone());
        let model = FittedModel::new(facts, answer.form, answer.proofs);
        let is_certified = model.facts.is_certified();
        let error = |data: Data<'_>| Ok::<f64, TrainError>(model.evaluate(data)?.error());
        let train_error = error(self.data)?;
        let validation_error = self.validation.map(error).transpose()?;
        let pair = pair(lambda, std::iter::once(&*self.track.borrow()));
        let point = PathPoint { model, report, train_error, validation_error };
        tell(&point);
        Ok((point, Stop { lambda, is_certified, pair }))
    }
}
