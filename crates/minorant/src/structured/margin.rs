//! The risk of margin rescaling, of any structured model: the weighted sum over examples of
//! max over y of Δ(y) + w · ψ(x, y) − w · ψ(x, truth). One oracle call an example is one
//! evaluation. Where outputs have hidden components, the truth's score is the best one that the data
//! allows; where an example has no truth, its best output is to win clearly instead. The risk is not
//! convex then.

use super::layout::At;
use super::risk::{Cost, Costs, StructuredRisk};
use super::working_sets::OutputSets;
use super::{Scores, StructuredModel};
use crate::risk::WorkingSets;
use crate::risk::chunk::{BlockSums, ChunkPlane};
use std::borrow::Cow;
use std::ops::Range;

/// Margin rescaling.
pub type MarginRisk<M> = StructuredRisk<M, Margin>;

/// An example costs what its margin lacks; nothing less than 0, which the truth itself costs.
#[derive(Debug)]
pub struct Margin;

/// What an example's score is measured against.
fn anchor<'m, M>(model: &'m M, example: usize, scores: Scores<'_>) -> Cow<'m, M::Output>
where
    M: StructuredModel,
{
    if model.is_latent() {
        Cow::Owned(model.complete(example, scores))
    } else {
        Cow::Borrowed(model.truth(example))
    }
}

/// The margins that an example lacks: each with what lacks, the loss in it, the output that comes too
/// close, and the one that it comes too close to. With a true output this is one. Without it every place
/// asks that the best output be better by 1 than those which differ there: for two labels of one place
/// max(0, 1 − |f|), and continuous in the weights as that is, for best scores are.
fn for_each_lack<M: StructuredModel>(
    model: &M,
    example: usize,
    scores: Scores<'_>,
    mut each: impl FnMut(f64, f64, &M::Output, &M::Output),
) {
    if model.has_truth(example) {
        let worst = model.worst(example, scores);
        let anchor = anchor(model, example, scores);
        let rise = model.score(example, &worst, scores) - model.score(example, &anchor, scores);
        let loss = model.loss(example, &worst);
        return each(loss + rise, loss, &worst, &anchor);
    }
    let (best, rivals) = model.rivals(example, scores);
    let top = model.score(example, &best, scores);
    for rival in rivals {
        let lack = 1.0 + (model.score(example, &rival, scores) - top);
        if lack > 0.0 {
            each(lack, 1.0, &rival, &best);
        }
    }
}

impl<M: StructuredModel> Cost<M> for Margin {
    const IS_SMOOTH: bool = false;

    fn is_convex(model: &M) -> bool {
        !model.is_latent() && (0..model.len()).all(|example| model.has_truth(example))
    }

    fn value(risk: &MarginRisk<M>, example: usize, scores: Scores<'_>, w: &[f64]) -> Costs {
        let mut costs = Costs::default();
        for_each_lack(&risk.model, example, scores, |value, _, worst, anchor| {
            costs.value += value;
            costs.error += risk.rise_error(example, worst, anchor, w);
        });
        costs
    }

    fn plane<'r>(risk: &'r MarginRisk<M>, chunk: Range<usize>, at: &At<'_, M>) -> ChunkPlane<'r> {
        let model = &risk.model;
        let mut plane = ChunkPlane::new(&risk.layout.spare);
        let mut normal = risk.layout.spare.zeros(model.dim());
        let mut additions = vec![0u32; model.dim()];
        let mut own = Vec::new();
        for i in chunk {
            let scores = at.scores(i, &mut own);
            let weight = risk.weights.of(i);
            for_each_lack(model, i, scores, |value, loss, worst, anchor| {
                let mut size = 0.0;
                model.for_each_difference(i, worst, anchor, |at, x| {
                    normal[at] += weight * x;
                    size += x.abs();
                    additions[at] += 1;
                });
                plane.add_value_error(weight * risk.rise_error(i, worst, anchor, at.w));
                let sums = BlockSums {
                    value: weight * value,
                    offset: weight * loss,
                    offset_size: weight * loss,
                    normal_size: weight * size,
                };
                plane.add_block(1, sums);
            });
        }
        plane.normal = normal;
        plane.set_additions(additions.into_iter().max().unwrap_or(0) as usize);
        plane
    }

    fn add_subgradient(
        model: &M,
        example: usize,
        at: &At<'_, M>,
        step: f64,
        gradient: &mut [f64],
    ) -> f64 {
        at.look_ahead(example..example + 1);
        let mut own = Vec::new();
        let scores = at.scores(example, &mut own);
        let mut cost = 0.0;
        for_each_lack(model, example, scores, |value, _, worst, anchor| {
            model.for_each_difference(example, worst, anchor, |at, x| gradient[at] += step * x);
            cost += value;
        });
        cost
    }

    fn working_sets(risk: &MarginRisk<M>) -> Option<Box<dyn WorkingSets + '_>> {
        let sets = || OutputSets::new(risk);
        Self::is_convex(&risk.model).then(|| Box::new(sets()) as Box<dyn WorkingSets>)
    }
}
