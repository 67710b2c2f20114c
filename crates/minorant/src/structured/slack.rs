//! Slack rescaling, of any structured model that has an argmax for it or whose outputs can be listed: the
//! risk is the maximum over y of Δ(y) (1 + w · ψ(x, y) − w · ψ(x, truth)). That is margin rescaling with
//! the joint features Δ(y) (ψ(x, y) − ψ(x, truth)), so that the same risk, methods and proofs serve; but
//! its argmax is not a sum over places of y. Where Δ counts something, dynamic programming finds the best
//! score for each count ([`StructuredModel::worst_rescaled`]); elsewhere all outputs are listed.

use super::{Scores, StructuredModel, Weights};

/// Outputs that an example may have at most.
pub const MOST_OUTPUTS: usize = 1 << 16;

/// A model whose features are scaled by the loss.
#[derive(Debug)]
pub struct SlackRescaled<M: StructuredModel> {
    model: M,
    /// All outputs of each example, where the model has no argmax of its own.
    outputs: Vec<Vec<M::Output>>,
}

impl<M: StructuredModel> SlackRescaled<M> {
    /// Lists the outputs of all examples where that is needed; one sentence where it cannot be done.
    pub fn new(model: M) -> Result<Self, String> {
        if model.rescales() {
            return Ok(SlackRescaled { model, outputs: Vec::new() });
        }
        let list = |example: usize| {
            model.all_outputs(example, MOST_OUTPUTS).ok_or_else(|| {
                format!(
                    "slack rescaling needs a list of all outputs, and example {example} has more than {MOST_OUTPUTS} or none that can be listed; margin rescaling needs no list"
                )
            })
        };
        let outputs = (0..model.len()).map(list).collect::<Result<_, String>>()?;
        Ok(SlackRescaled { model, outputs })
    }

    /// The model itself.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// What the model's own argmax says; the scores here are the weights.
    fn ask(
        &self,
        example: usize,
        w: &[f64],
        argmax: impl FnOnce(&M, Scores<'_>) -> M::Output,
    ) -> M::Output {
        let mut shared = vec![0.0; self.model.shared_scores()];
        self.model.write_shared(w, &mut shared);
        let shared = self.model.prepare(&shared);
        let mut own = vec![0.0; self.model.own_scores(example)];
        self.model.write_own(example, Weights { folded: w, unfolded: &[] }, &mut own);
        argmax(&self.model, Scores { shared: &shared, own: &own })
    }
}

impl<M: StructuredModel> StructuredModel for SlackRescaled<M> {
    type Output = M::Output;

    fn dim(&self) -> usize {
        self.model.dim()
    }

    fn len(&self) -> usize {
        self.model.len()
    }

    fn truth(&self, example: usize) -> &Self::Output {
        self.model.truth(example)
    }

    fn for_each_feature(
        &self,
        example: usize,
        output: &Self::Output,
        mut each: impl FnMut(usize, f64),
    ) {
        let loss = self.model.loss(example, output);
        let truth = self.model.truth(example);
        self.model.for_each_difference(example, output, truth, |at, x| each(at, loss * x));
    }

    fn loss(&self, example: usize, output: &Self::Output) -> f64 {
        self.model.loss(example, output)
    }

    fn worst(&self, example: usize, scores: Scores<'_>) -> Self::Output {
        if self.model.rescales() {
            return self.ask(example, scores.shared, |model, s| model.worst_rescaled(example, s));
        }
        let value =
            |output: &M::Output| self.loss(example, output) + self.score(example, output, scores);
        let all = &self.outputs[example];
        let mut best = (0, f64::NEG_INFINITY);
        for (at, output) in all.iter().enumerate() {
            let value = value(output);
            if value > best.1 {
                best = (at, value);
            }
        }
        all.get(best.0).unwrap_or_else(|| self.truth(example)).clone()
    }

    /// The model's own prediction, by its own features.
    fn best(&self, example: usize, scores: Scores<'_>) -> Self::Output {
        self.ask(example, scores.shared, |model, scores| model.best(example, scores))
    }

    fn encode(&self, output: &Self::Output) -> Option<Vec<u32>> {
        self.model.encode(output)
    }

    fn decode(&self, example: usize, code: &[u32]) -> Option<Self::Output> {
        self.model.decode(example, code)
    }
}
