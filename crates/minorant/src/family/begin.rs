//! Weights to begin with that take a while to make: they are made in the time that the run has, and
//! checkpoints carry them along, so that a resumed run need not make them again. How they are made is the
//! families' business.

use super::TrainError;
use super::walk::Asked;
use crate::archive::Archive;
use crate::risk::{Cancel, RiskError};
use crate::solver::{Carried, Carrying, Checkpoints, RunError, StopRules};
use std::time::Instant;

/// Weights to begin with.
#[derive(Default)]
pub(crate) struct Begin {
    pub(crate) weights: Vec<f64>,
    /// Whether time was over before they were done. A run that goes on must begin where one does that was
    /// never stopped, so there is nothing to keep.
    is_cut_short: bool,
}

const WEIGHTS: &str = "begin.weights";

impl Carried for Begin {
    fn save(&self, archive: &mut Archive) {
        archive.put_reals(WEIGHTS, self.weights.clone());
    }

    fn is_whole(&self) -> bool {
        !self.is_cut_short
    }
}

/// The checkpoints of a run with its weights to begin with, as many as `dim`, and the rules for what is
/// left of its time. `make` makes them unless they were carried along, and ends early where its token
/// says so.
pub(crate) fn begin<'c>(
    asked: Asked<'_>,
    checkpoints: &'c mut dyn Checkpoints,
    dim: usize,
    make: impl FnOnce(&Cancel) -> Result<Vec<f64>, RiskError>,
) -> Result<(Carrying<'c, Begin>, StopRules), TrainError> {
    let (clock, mut rules) = (Instant::now(), asked.settings.rules());
    let load = |archive: &mut Archive| {
        let weights = archive.take_reals(WEIGHTS).unwrap_or_default();
        Ok(Begin { weights, is_cut_short: false })
    };
    let mut store = Carrying::resume(checkpoints, load).map_err(RunError::from)?;
    if store.carried.weights.len() != dim {
        // A state that is gone on from belongs to weights that were made to their end.
        let most = rules.max_seconds.filter(|_| !store.is_resumed());
        let token = most.map_or_else(|| asked.cancel.clone(), |most| asked.cancel.within(most));
        store.carried.weights = make(&token).map_err(RunError::from)?;
        store.carried.is_cut_short = token.is_cancelled();
        let spent = clock.elapsed().as_secs_f64();
        rules.max_seconds = rules.max_seconds.map(|most| (most - spent).max(0.0));
    }
    Ok((store, rules))
}
