//! A feed-forward network over the tokens of sequences, with a chain on top: its shape, how its
//! weights are laid out, its node scores, and their derivatives by backpropagation. Everything is
//! done on blocks of tokens in one precision; sums over blocks are the caller's.

use super::inputs::Inputs;
use crate::structured::chain::{ChainShape, Pairs};
use minorant_linalg::parallel::{for_each_stretch, map};
use minorant_linalg::product::{Operand, Real, multiply};
use std::ops::Range;

/// What a hidden unit does to its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Activation {
    /// 1/(1 + e^−x).
    #[default]
    Sigmoid,
    /// tanh x.
    Tanh,
    /// max(0, x).
    Relu,
}

impl Activation {
    /// Applies it to all inputs of a layer.
    pub(super) fn apply<T: Real>(self, values: &mut [T]) {
        match self {
            Activation::Sigmoid => T::sigmoid_all(values),
            Activation::Tanh => T::tanh_all(values),
            Activation::Relu => {
                let zero = T::default();
                values.iter_mut().for_each(|x| *x = if *x < zero { zero } else { *x });
            }
        }
    }

    /// Multiplies errors in the outputs of units by the derivatives there, which follow from the
    /// outputs alone.
    fn pull_back<T: Real>(self, outputs: &[T], errors: &mut [T]) {
        let pairs = errors.iter_mut().zip(outputs);
        match self {
            Activation::Sigmoid => pairs.for_each(|(e, h)| *e = *e * (*h * (T::ONE - *h))),
            Activation::Tanh => pairs.for_each(|(e, h)| *e = *e * (T::ONE - *h * *h)),
            Activation::Relu => {
                let zero = T::default();
                pairs.for_each(|(e, h)| *e = if *h > zero { *e } else { zero });
            }
        }
    }
}

/// The shape of a network under a chain. Weights lie layer by layer: those of an input of the
/// layer side by side, then the layer's biases; last those of the chain on the features of the
/// last hidden layer, as [`ChainShape`] has them, with a bias of 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Number of attributes of a token.
    pub inputs: usize,
    /// Units of each hidden layer; at least one layer.
    pub hidden: Vec<usize>,
    /// What they do.
    pub activation: Activation,
    /// The chain on top.
    pub top: ChainShape,
}

/// A hidden layer among the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layer {
    pub(super) inputs: usize,
    pub(super) units: usize,
    /// Where its weights begin.
    pub(super) at: usize,
}

impl Layer {
    pub(super) fn weights(&self) -> Range<usize> {
        self.at..self.at + self.inputs * self.units
    }

    pub(super) fn biases(&self) -> Range<usize> {
        let end = self.at + self.inputs * self.units;
        end..end + self.units
    }
}

/// Buffers for a block of tokens.
#[derive(Debug, Default)]
pub(super) struct Block<T> {
    /// The outputs of each hidden layer.
    pub(super) features: Vec<Vec<T>>,
    /// The node scores.
    pub(super) scores: Vec<T>,
    errors: Vec<T>,
    earlier: Vec<T>,
}

impl Network {
    /// A network with these hidden layers under a chain of `labels` labels.
    pub fn new(
        inputs: usize,
        hidden: Vec<usize>,
        activation: Activation,
        labels: usize,
        boundary: bool,
    ) -> Self {
        let attributes = hidden.last().copied().unwrap_or(inputs);
        let top = ChainShape { attributes, labels, pairs: Pairs::All, bias: Some(1.0), boundary };
        Network { inputs, hidden, activation, top }
    }

    /// The hidden layers.
    pub(super) fn layers(&self) -> Vec<Layer> {
        let (mut at, mut inputs) = (0, self.inputs);
        let layer = |&units: &usize| {
            let layer = Layer { inputs, units, at };
            (at, inputs) = (at + (inputs + 1) * units, units);
            layer
        };
        self.hidden.iter().map(layer).collect()
    }

    /// Where the weights of the chain begin.
    pub fn top_at(&self) -> usize {
        self.layers().last().map_or(0, |last| last.biases().end)
    }

    /// Number of weights; nothing where they are too many to count.
    pub fn checked_dim(&self) -> Option<usize> {
        let mut inputs = self.inputs;
        let mut dim = 0usize;
        for &units in self.hidden.iter().chain([&self.top.labels]) {
            dim = dim.checked_add(inputs.checked_add(1)?.checked_mul(units)?)?;
            inputs = units;
        }
        let labels = self.top.labels;
        dim.checked_add(labels.checked_mul(labels)?)?.checked_add(if self.top.boundary {
            2 * labels
        } else {
            0
        })
    }

    /// Number of weights.
    pub fn dim(&self) -> usize {
        self.top_at() + self.top.dim()
    }

    /// The weights that products work on, in their precision: all but those of label pairs.
    pub(super) fn rounded<T: Real>(&self, w: &[f64]) -> Vec<T> {
        w[..self.nodes_end()].iter().map(|&w| T::round(w)).collect()
    }

    /// Where the weights of node scores end.
    fn nodes_end(&self) -> usize {
        self.top_at() + (self.top.attributes + 1) * self.top.labels
    }

    /// The features of a block's tokens, layer by layer, and their node scores.
    pub(super) fn forward<T: Real>(
        &self,
        w: &[T],
        inputs: &Inputs<'_, T>,
        rows: Range<usize>,
        block: &mut Block<T>,
    ) {
        let count = rows.len();
        block.features.resize_with(self.hidden.len(), Vec::new);
        for (l, layer) in self.layers().into_iter().enumerate() {
            let (before, now) = block.features.split_at_mut(l);
            let out = &mut now[0];
            fill_rows(out, &w[layer.biases()], count);
            match before.last() {
                None => inputs.times(rows.clone(), &w[layer.weights()], T::ONE, out),
                Some(before) => {
                    let weights = Operand::new(&w[layer.weights()], layer.inputs, layer.units);
                    multiply(Operand::new(before, count, layer.inputs), weights, T::ONE, out);
                }
            }
            self.activation.apply(out);
        }
        let (labels, attributes) = (self.top.labels, self.top.attributes);
        let (of_features, biases) = w[self.top_at()..].split_at(attributes * labels);
        fill_rows(&mut block.scores, biases, count);
        if let Some(last) = block.features.last() {
            let weights = Operand::new(of_features, attributes, labels);
            multiply(Operand::new(last, count, attributes), weights, T::ONE, &mut block.scores);
        }
    }

    /// The node scores of all tokens.
    pub fn scores<T: Real>(&self, w: &[f64], inputs: &Inputs<'_, T>, tokens: usize) -> Vec<f64> {
        const ROWS: usize = 384;
        let w = self.rounded(w);
        let mut scores = vec![0.0; tokens * self.top.labels];
        for_each_stretch(&mut scores, ROWS * self.top.labels, |at, to| {
            let mut block = Block::default();
            let rows = at * ROWS..at * ROWS + to.len() / self.top.labels;
            self.forward(&w, inputs, rows, &mut block);
            to.iter_mut().zip(&block.scores).for_each(|(to, s)| *to = s.wide());
        });
        scores
    }

    /// The best labels of sequences by the node scores of their tokens.
    pub fn best_labels(&self, w: &[f64], scores: &[f64], starts: &[usize]) -> Vec<u16> {
        let (prepared, k) = (self.top.prepare(&w[self.top_at()..]), self.top.labels);
        let of =
            |i: usize| self.top.best_labels(&prepared, &scores[starts[i] * k..starts[i + 1] * k]);
        map(starts.len() - 1, of).concat()
    }

    /// The probability of each label at each token, by the node scores.
    pub fn marginals(&self, w: &[f64], scores: &[f64], starts: &[usize]) -> Vec<f64> {
        let (prepared, k) = (self.top.prepare(&w[self.top_at()..]), self.top.labels);
        let of = |i: usize| {
            let nodes = &scores[starts[i] * k..starts[i + 1] * k];
            let mut marginals = vec![0.0; nodes.len()];
            self.top.log_loss(&prepared, nodes, None, 0.0, &mut marginals, &mut []);
            marginals
        };
        map(starts.len() - 1, of).concat()
    }

    /// Backpropagation: adds the derivatives in the weights to `gradient`, from those in the
    /// node scores of the block that went forward last.
    pub(super) fn add_gradient<T: Real>(
        &self,
        w: &[T],
        inputs: &Inputs<'_, T>,
        rows: Range<usize>,
        of_scores: &[T],
        block: &mut Block<T>,
        gradient: &mut [T],
    ) {
        let count = rows.len();
        let (labels, attributes, at) = (self.top.labels, self.top.attributes, self.top_at());
        let Block { features, errors, earlier, .. } = block;
        let Some(last) = features.last() else { return };
        let (to, to_biases) = gradient[at..].split_at_mut(attributes * labels);
        add_rows(of_scores, &mut to_biases[..labels]);
        let of_scores = Operand::new(of_scores, count, labels);
        multiply(Operand::new(last, count, attributes).transposed(), of_scores, T::ONE, to);
        let weights = Operand::new(&w[at..at + attributes * labels], attributes, labels);
        errors.resize(count * attributes, T::default());
        multiply(of_scores, weights.transposed(), T::default(), errors);
        for (l, layer) in self.layers().into_iter().enumerate().rev() {
            self.activation.pull_back(&features[l], errors);
            add_rows(errors, &mut gradient[layer.biases()]);
            let to = &mut gradient[layer.weights()];
            if l == 0 {
                inputs.add_transposed_times(rows, errors, to);
                return;
            }
            let before = Operand::new(&features[l - 1], count, layer.inputs);
            let of_units = Operand::new(errors, count, layer.units);
            multiply(before.transposed(), of_units, T::ONE, to);
            let weights = Operand::new(&w[layer.weights()], layer.inputs, layer.units);
            earlier.resize(count * layer.inputs, T::default());
            multiply(of_units, weights.transposed(), T::default(), earlier);
            std::mem::swap(errors, earlier);
        }
    }
}

/// `count` copies of a row.
fn fill_rows<T: Real>(to: &mut Vec<T>, row: &[T], count: usize) {
    to.clear();
    (0..count).for_each(|_| to.extend_from_slice(row));
}

/// Adds all rows to one.
fn add_rows<T: Real>(rows: &[T], to: &mut [T]) {
    for row in rows.chunks_exact(to.len()) {
        to.iter_mut().zip(row).for_each(|(to, x)| *to += *x);
    }
}
