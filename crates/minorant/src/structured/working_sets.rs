//! Outputs that the oracle has named, example by example: what block methods work on between two
//! passes of the oracle. An output that is named again is found again, not stored twice.

use super::StructuredModel;
use super::layout::scores;
use crate::risk::{Cancel, ExampleWeights, RiskError, WorkingSets};
use rayon::prelude::*;
use std::ops::Range;

/// The working sets of a model.
#[derive(Debug)]
pub(super) struct OutputSets<'m, M: StructuredModel> {
    model: &'m M,
    weights: &'m ExampleWeights,
    sets: Vec<Vec<Member<M::Output>>>,
}

#[derive(Debug)]
struct Member<O> {
    output: O,
    loss: f64,
}

impl<'m, M: StructuredModel> OutputSets<'m, M> {
    pub(super) fn new(model: &'m M, weights: &'m ExampleWeights) -> Self {
        let truth = |i| vec![Member { output: model.truth(i).clone(), loss: 0.0 }];
        OutputSets { model, weights, sets: (0..model.len()).map(truth).collect() }
    }

    fn insert(&mut self, example: usize, output: M::Output) -> usize {
        let set = &mut self.sets[example];
        if let Some(at) = set.iter().position(|member| member.output == output) {
            return at;
        }
        let loss = self.model.loss(example, &output);
        set.push(Member { output, loss });
        set.len() - 1
    }
}

impl<M: StructuredModel> WorkingSets for OutputSets<'_, M> {
    fn examples(&self) -> usize {
        self.sets.len()
    }

    fn weight(&self, example: usize) -> f64 {
        self.weights.of(example)
    }

    fn outputs(&self, example: usize) -> usize {
        self.sets[example].len()
    }

    fn ask(
        &mut self,
        w: &[f64],
        examples: Range<usize>,
        cancel: &Cancel,
    ) -> Result<Vec<(usize, f64)>, RiskError> {
        let model = self.model;
        let mut shared = vec![0.0; model.shared_scores()];
        model.write_shared(w, &mut shared);
        if let Some(why) = model.refusal(&shared) {
            return Err(RiskError::Failed(why));
        }
        let shared = model.prepare(&shared);
        model.look_ahead(&shared, examples.clone());
        let ask = |example: usize| {
            cancel.check()?;
            let mut own = vec![0.0; model.own_scores(example)];
            model.write_own(example, w, &mut own);
            let scores = scores(&shared, &own);
            let worst = model.worst(example, scores);
            let rise = model.score(example, &worst, scores)
                - model.score(example, model.truth(example), scores);
            let value = model.loss(example, &worst) + rise;
            if !value.is_finite() {
                return Err(RiskError::NotFinite(format!("an example's value is {value}")));
            }
            Ok((worst, value))
        };
        let found: Vec<_> =
            examples.clone().into_par_iter().map(ask).collect::<Result<_, RiskError>>()?;
        let each = examples.zip(found);
        Ok(each.map(|(example, (output, value))| (self.insert(example, output), value)).collect())
    }

    fn loss(&self, example: usize, output: usize) -> f64 {
        self.sets[example][output].loss
    }

    fn value(&self, example: usize, output: usize, w: &[f64]) -> f64 {
        let set = &self.sets[example];
        let mut rise = 0.0;
        self.model.for_each_difference(example, &set[output].output, &set[0].output, |at, x| {
            rise += x * w[at]
        });
        set[output].loss + rise
    }

    fn difference(
        &self,
        example: usize,
        plus: usize,
        minus: usize,
        each: &mut dyn FnMut(usize, f64),
    ) {
        let set = &self.sets[example];
        self.model.for_each_difference(example, &set[plus].output, &set[minus].output, each);
    }

    fn remove(&mut self, example: usize, output: usize) {
        self.sets[example].swap_remove(output);
    }

    fn encode(&self, example: usize, output: usize) -> Option<Vec<u32>> {
        self.model.encode(&self.sets[example][output].output)
    }

    fn restore(&mut self, example: usize, code: &[u32]) -> bool {
        let output = self.model.decode(example, code);
        output.map(|output| self.insert(example, output)).is_some()
    }
}
