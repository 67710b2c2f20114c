//! The risk of Eq. 21: the weighted sum over sequences of max over y of F(x, y) + Δ(y) − F(x, truth),
//! with F the score of the best path and components. Δ is 1 for a wrong class, and the number of
//! wrong frames where frames are labelled. F is the largest of many curved functions, so the risk
//! is neither convex nor smooth.

use super::statistics::count_arcs;
use super::tables::chunks;
use super::{Densities, Frames, HmmShape, Tables, Task, Visit, best_path};
use crate::risk::local::{LocalRisk, sum_gradients};
use crate::risk::{Cancel, ExampleWeights, Examples, RiskError};
use minorant_linalg::parallel::map_chunks;
use minorant_linalg::sum::Sum;

/// What is true, as numbers of units.
#[derive(Debug, Clone, Copy)]
pub enum Truth<'a> {
    /// The class of each sequence.
    Classes(&'a [u32]),
    /// The label of each frame.
    FrameLabels(&'a [u32]),
}

impl Truth<'_> {
    /// The true unit of frame `t` of a sequence.
    pub fn unit(&self, frames: &Frames<'_>, sequence: usize, t: usize) -> usize {
        match self {
            Truth::Classes(classes) => classes[sequence] as usize,
            Truth::FrameLabels(labels) => labels[frames.starts[sequence] + t] as usize,
        }
    }
}

/// The large-margin risk of a hidden Markov model.
#[derive(Debug)]
pub struct HmmRisk<'a> {
    shape: HmmShape,
    frames: Frames<'a>,
    truth: Truth<'a>,
    weights: ExampleWeights,
}

/// The loss of one sequence.
struct Loss {
    value: f64,
    /// The path of the worst output and that of the truth, where they differ.
    paths: Option<[Vec<Visit>; 2]>,
}

impl<'a> HmmRisk<'a> {
    /// The risk of a model on sequences.
    pub fn new(
        shape: HmmShape,
        frames: Frames<'a>,
        truth: Truth<'a>,
        weights: ExampleWeights,
    ) -> Self {
        HmmRisk { shape, frames, truth, weights }
    }

    fn loss(&self, tables: &Tables, sequence: usize, with_paths: bool) -> Loss {
        let densities = tables.best_densities(self.frames.sequence(sequence), 0..self.shape.units);
        match self.shape.task {
            Task::Classify => self.class_loss(tables, sequence, &densities, with_paths),
            Task::Label => self.label_loss(tables, sequence, &densities, with_paths),
        }
    }

    fn class_loss(
        &self,
        tables: &Tables,
        sequence: usize,
        densities: &Densities,
        with_paths: bool,
    ) -> Loss {
        let truth = self.truth.unit(&self.frames, sequence, 0);
        let score = |class: usize, path: Option<&mut Vec<Visit>>| {
            best_path(tables, densities, class..class + 1, |_, _| Some(0.0), path)
        };
        let own = score(truth, None);
        let mut worst = (0.0, truth);
        for class in (0..self.shape.units).filter(|&class| class != truth) {
            let value = 1.0 + score(class, None) - own;
            if value > worst.0 || value.is_nan() {
                worst = (value, class);
            }
        }
        let paths = (with_paths && worst.1 != truth).then(|| {
            [worst.1, truth].map(|class| {
                let mut path = Vec::new();
                score(class, Some(&mut path));
                path
            })
        });
        Loss { value: worst.0, paths }
    }

    fn label_loss(
        &self,
        tables: &Tables,
        sequence: usize,
        densities: &Densities,
        with_paths: bool,
    ) -> Loss {
        let cost = |t: usize, unit: usize| {
            Some(if unit == self.truth.unit(&self.frames, sequence, t) { 0.0 } else { 1.0 })
        };
        let mut paths: Option<[Vec<Visit>; 2]> = with_paths.then(Default::default);
        let [worst, own] = match &mut paths {
            Some([worst, own]) => [Some(worst), Some(own)],
            None => [None, None],
        };
        let worst = best_path(tables, densities, 0..self.shape.units, cost, worst);
        let own = self.truth.best_path(tables, &self.frames, sequence, densities, own);
        // The truth is among the outputs, but sums differ by rounding.
        if worst <= own {
            return Loss { value: 0.0, paths: None };
        }
        Loss { value: worst - own, paths }
    }

    /// Adds `weight` times the gradient of a path's score; counts of arcs go to `counts`.
    fn add_path(&self, at: &At<'_>, path: &[Visit], weight: f64, gradient: &mut Gradient) {
        count_arcs(at.tables, path, weight, &mut gradient.counts);
        let sequence = self.frames.sequence(at.sequence);
        for (visit, frame) in path.iter().zip(sequence.chunks_exact(self.shape.features)) {
            let g = at.tables.best_gaussian(frame, visit.state);
            gradient.counts[at.tables.slots.mixture(g)] += weight;
            at.tables.add_derivatives(at.w, frame, g, weight, &mut gradient.direct);
        }
    }

    fn add_gradient(&self, at: &At<'_>, loss: &Loss, weight: f64, gradient: &mut Gradient) {
        if let Some([worst, own]) = &loss.paths {
            self.add_path(at, worst, weight, gradient);
            self.add_path(at, own, -weight, gradient);
        }
    }

    fn value_of(&self, losses: impl Iterator<Item = (usize, f64)>) -> f64 {
        losses.map(|(i, loss)| self.weights.of(i) * loss).collect::<Sum>().value()
    }
}

/// A sequence at certain weights.
struct At<'a> {
    tables: &'a Tables,
    w: &'a [f64],
    sequence: usize,
}

/// A gradient that is being summed up: logits wait for all counts.
struct Gradient {
    direct: Vec<f64>,
    counts: Vec<f64>,
}

impl Gradient {
    fn new(shape: &HmmShape) -> Self {
        Gradient { direct: vec![0.0; shape.dim()], counts: vec![0.0; shape.slots().len()] }
    }

    fn finish(mut self, tables: &Tables) -> Vec<f64> {
        tables.add_logit_derivatives(&self.counts, &mut self.direct);
        self.direct
    }
}

impl LocalRisk for HmmRisk<'_> {
    fn weight_count(&self) -> usize {
        self.shape.dim()
    }

    fn is_differentiable(&self) -> bool {
        false
    }

    fn value(&self, w: &[f64], cancel: &Cancel) -> Result<f64, RiskError> {
        let tables = Tables::new(&self.shape, w);
        let of_chunk = |_: usize, chunk: std::ops::Range<usize>| {
            cancel.check()?;
            Ok(self.value_of(chunk.map(|i| (i, self.loss(&tables, i, false).value))))
        };
        let values = map_chunks(&chunks(&self.frames, self.shape.dim()), of_chunk);
        let values = values.into_iter().collect::<Result<Vec<f64>, RiskError>>()?;
        Ok(values.into_iter().collect::<Sum>().value())
    }

    fn gradient(&self, w: &[f64], cancel: &Cancel) -> Result<(f64, Vec<f64>), RiskError> {
        let tables = Tables::new(&self.shape, w);
        let chunks = chunks(&self.frames, self.shape.dim());
        let of_chunk = |chunk: usize| {
            cancel.check()?;
            let mut gradient = Gradient::new(&self.shape);
            let value = self.value_of(chunks[chunk].clone().map(|sequence| {
                let loss = self.loss(&tables, sequence, true);
                let at = At { tables: &tables, w, sequence };
                self.add_gradient(&at, &loss, self.weights.of(sequence), &mut gradient);
                (sequence, loss.value)
            }));
            Ok((value, gradient.finish(&tables)))
        };
        sum_gradients(chunks.len(), of_chunk)
    }
}

impl Examples for HmmRisk<'_> {
    fn len(&self) -> usize {
        self.frames.len()
    }

    fn add_subgradient(&self, example: usize, w: &[f64], step: f64, gradient: &mut [f64]) -> f64 {
        let tables = Tables::new(&self.shape, w);
        let loss = self.loss(&tables, example, true);
        let weight = self.weights.of(example);
        let mut own = Gradient::new(&self.shape);
        let at = At { tables: &tables, w, sequence: example };
        self.add_gradient(&at, &loss, step * weight, &mut own);
        let own = own.finish(&tables);
        gradient.iter_mut().zip(own).for_each(|(total, own)| *total += own);
        weight * loss.value
    }
}
