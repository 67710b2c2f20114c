//! Outputs that the oracle has named, example by example: what block methods work on between two
//! passes of the oracle. An output that is named again is found again, not stored twice.

use super::layout::At;
use super::{MarginRisk, StructuredModel};
use crate::risk::chunk::{self, BlockSums, ChunkPlane};
use crate::risk::{Asked, Cancel, Plane, RiskError, WorkingSets};
use minorant_linalg::parallel::{map, map_chunks};
use minorant_linalg::tree::sum_of_chunks;
use std::ops::Range;

/// The working sets of a model.
#[derive(Debug)]
pub(super) struct OutputSets<'m, M: StructuredModel> {
    risk: &'m MarginRisk<M>,
    sets: Vec<Vec<Member<M::Output>>>,
}

#[derive(Debug)]
struct Member<O> {
    output: O,
    loss: f64,
}

impl<'m, M: StructuredModel> OutputSets<'m, M> {
    pub(super) fn new(risk: &'m MarginRisk<M>) -> Self {
        let truth = |i| vec![Member { output: risk.model.truth(i).clone(), loss: 0.0 }];
        OutputSets { risk, sets: (0..risk.model.len()).map(truth).collect() }
    }

    fn insert(&mut self, example: usize, output: M::Output) -> usize {
        let set = &mut self.sets[example];
        if let Some(at) = set.iter().position(|member| member.output == output) {
            return at;
        }
        let loss = self.risk.model.loss(example, &output);
        set.push(Member { output, loss });
        set.len() - 1
    }
}

impl<M: StructuredModel> WorkingSets for OutputSets<'_, M> {
    fn examples(&self) -> usize {
        self.sets.len()
    }

    fn weight(&self, example: usize) -> f64 {
        self.risk.weights.of(example)
    }

    fn outputs(&self, example: usize) -> usize {
        self.sets[example].len()
    }

    fn ask(
        &mut self,
        w: &[f64],
        examples: Range<usize>,
        cancel: &Cancel,
    ) -> Result<Vec<Asked>, RiskError> {
        let model = &self.risk.model;
        let at = At::asked(model, w, examples.clone())?;
        let ask = |example: usize| {
            cancel.check()?;
            let mut own = Vec::new();
            let scores = at.scores(example, &mut own);
            let worst = model.worst(example, scores);
            let rise = model.score(example, &worst, scores)
                - model.score(example, model.truth(example), scores);
            let value = model.loss(example, &worst) + rise;
            if !value.is_finite() {
                return Err(RiskError::NotFinite(format!("an example's value is {value}")));
            }
            let error = self.risk.rise_error(example, &worst, model.truth(example), w);
            Ok((worst, value, error))
        };
        let found = map(examples.len(), |at| ask(examples.start + at));
        let found: Vec<_> = found.into_iter().collect::<Result<_, RiskError>>()?;
        let each = examples.zip(found);
        let insert = |(example, (output, value, error))| Asked {
            output: self.insert(example, output),
            value,
            error,
        };
        Ok(each.map(insert).collect())
    }

    fn loss(&self, example: usize, output: usize) -> f64 {
        self.sets[example][output].loss
    }

    fn value(&self, example: usize, output: usize, w: &[f64]) -> f64 {
        let set = &self.sets[example];
        let mut rise = 0.0;
        self.risk.model.for_each_difference(
            example,
            &set[output].output,
            &set[0].output,
            |at, x| rise += x * w[at],
        );
        set[output].loss + rise
    }

    fn rises(&self, w: &[f64]) -> Vec<f64> {
        let model = &self.risk.model;
        let at = At::new(model, w);
        let rises = |_, chunk: Range<usize>| {
            let count = self.sets[chunk.clone()].iter().map(Vec::len).sum();
            let (mut rises, mut own) = (Vec::with_capacity(count), Vec::new());
            for example in chunk {
                let scores = at.scores(example, &mut own);
                let set = &self.sets[example];
                let of_truth = model.score(example, &set[0].output, scores);
                rises.push(0.0);
                let rise =
                    |member: &Member<_>| model.score(example, &member.output, scores) - of_truth;
                rises.extend(set[1..].iter().map(rise));
            }
            rises
        };
        map_chunks(&self.risk.layout.chunks(), rises).concat()
    }

    fn plane(&self, alpha: &[f64]) -> Plane {
        let model = &self.risk.model;
        let mut rest = alpha;
        let mut stretches = Vec::new();
        let chunks = self.risk.layout.chunks();
        for chunk in &chunks {
            let length = self.sets[chunk.clone()].iter().map(Vec::len).sum();
            let (stretch, tail) = rest.split_at(length);
            stretches.push(stretch);
            rest = tail;
        }
        let share = |at: usize| {
            let mut alpha = stretches[at];
            let mut plane = ChunkPlane::new(&self.risk.layout.spare);
            let mut normal = self.risk.layout.spare.zeros(model.dim());
            let mut additions = vec![0u32; model.dim()];
            for example in chunks[at].clone() {
                let set = &self.sets[example];
                let mut sums = BlockSums::default();
                for (member, &alpha) in set.iter().zip(alpha).skip(1).filter(|(_, a)| **a > 0.0) {
                    let share = self.risk.weights.of(example) * alpha;
                    let mut size = 0.0;
                    model.for_each_difference(example, &member.output, &set[0].output, |at, x| {
                        normal[at] += share * x;
                        size += x.abs();
                        additions[at] += 1;
                    });
                    sums.offset += share * member.loss;
                    sums.normal_size += share * size;
                }
                sums.offset_size = sums.offset;
                plane.add_block(set.len(), sums);
                alpha = &alpha[set.len()..];
            }
            plane.normal = normal;
            plane.set_additions(additions.into_iter().max().unwrap_or(0) as usize);
            plane
        };
        chunk::planes(vec![sum_of_chunks(chunks.len(), share)]).swap_remove(0)
    }

    fn difference(
        &self,
        example: usize,
        plus: usize,
        minus: usize,
        each: &mut dyn FnMut(usize, f64),
    ) {
        let set = &self.sets[example];
        self.risk.model.for_each_difference(example, &set[plus].output, &set[minus].output, each);
    }

    fn remove(&mut self, example: usize, output: usize) {
        self.sets[example].swap_remove(output);
    }

    fn encode(&self, example: usize, output: usize) -> Option<Vec<u32>> {
        self.risk.model.encode(&self.sets[example][output].output)
    }

    fn restore(&mut self, example: usize, code: &[u32]) -> bool {
        let output = self.risk.model.decode(example, code);
        output.map(|output| self.insert(example, output)).is_some()
    }
}
