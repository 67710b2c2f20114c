//! The risk of Eq. 23 of Do and Artières: the weighted sum over sequences of −log p(labels) under
//! a network with a chain on top. (As printed the equation has +log p, which would maximise the
//! loss.) It is not convex; it is smooth unless units are rectified. One forward and one backward
//! pass over all tokens is one evaluation.
//!
//! Products are done in the precision of the inputs, on blocks of whole sequences; scores, losses
//! and sums over chunks of blocks are f64, in the order of a tree over fixed chunks.

use super::inputs::Inputs;
use super::network::{Activation, Block, Network};
use crate::risk::cut::Cut;
use crate::risk::local::{LocalRisk, sum_gradients};
use crate::risk::{Cancel, ExampleWeights, Examples, RiskError};
use minorant_linalg::parallel::map_chunks;
use minorant_linalg::product::Real;
use minorant_linalg::sum::Sum;
use std::ops::Range;

/// Tokens of a block, unless a single sequence has more.
const BLOCK: usize = 384;
/// Most chunks: each has a gradient of its own.
const CHUNKS: usize = 32;
/// Numbers that all chunks' gradients together should not exceed by much.
const GRADIENTS: usize = 1 << 26;

/// Maximum likelihood of labelled sequences under a network with a chain.
#[derive(Debug)]
pub struct NeuroRisk<'a, T> {
    network: &'a Network,
    inputs: Inputs<'a, T>,
    starts: &'a [usize],
    labels: &'a [u16],
    weights: ExampleWeights,
    /// Sequences of each block.
    blocks: Vec<Range<usize>>,
    /// Blocks of each chunk.
    chunks: Vec<Range<usize>>,
}

/// What a chunk adds to value and gradient.
struct Share<T> {
    value: f64,
    /// In the weights of layers and node scores.
    of_nodes: Vec<T>,
    /// In the scores of label pairs and ends.
    of_shared: Vec<f64>,
}

impl<'a, T: Real> NeuroRisk<'a, T> {
    /// Sequence i has the tokens `starts[i]..starts[i + 1]`, and they have these labels.
    ///
    /// # Panics
    /// When a label is not below the network's number of labels, or lengths do not fit together.
    pub fn new(
        network: &'a Network,
        inputs: Inputs<'a, T>,
        starts: &'a [usize],
        labels: &'a [u16],
        weights: ExampleWeights,
    ) -> Self {
        assert!(labels.iter().all(|&label| usize::from(label) < network.top.labels));
        assert_eq!(starts.last(), Some(&labels.len()));
        let blocks = blocks_of(starts, BLOCK);
        let most = (GRADIENTS / network.dim().max(1)).clamp(4, CHUNKS);
        let cut = Cut::of_at_most(blocks.len(), most);
        let chunks = cut.ranges(cut.chunks());
        NeuroRisk { network, inputs, starts, labels, weights, blocks, chunks }
    }

    /// The network.
    pub fn network(&self) -> &Network {
        self.network
    }

    fn tokens(&self, sequences: &Range<usize>) -> Range<usize> {
        self.starts[sequences.start]..self.starts[sequences.end]
    }

    /// Value and, if wanted, derivatives of the blocks of a chunk; `scale` times the risk's.
    fn share(
        &self,
        w: &[T],
        prepared: &[f64],
        blocks: &[Range<usize>],
        scale: f64,
        with_gradient: bool,
        cancel: &Cancel,
    ) -> Result<Share<T>, RiskError> {
        let k = self.network.top.labels;
        let top = &self.network.top;
        let mut block = Block::default();
        let mut value = Sum::new();
        let mut of_shared = vec![0.0; if with_gradient { top.shared_scores() } else { 0 }];
        let mut of_nodes = vec![T::default(); if with_gradient { w.len() } else { 0 }];
        let (mut nodes, mut of_node, mut of_scores) = (Vec::new(), Vec::new(), Vec::new());
        for sequences in blocks {
            cancel.check()?;
            let rows = self.tokens(sequences);
            if rows.is_empty() {
                continue;
            }
            self.network.forward(w, &self.inputs, rows.clone(), &mut block);
            of_scores.clear();
            for i in sequences.clone() {
                let span = self.starts[i]..self.starts[i + 1];
                let at = (span.start - rows.start) * k..(span.end - rows.start) * k;
                nodes.clear();
                nodes.extend(block.scores[at].iter().map(|s| s.wide()));
                of_node.resize(nodes.len(), 0.0);
                let weight = scale * self.weights.of(i);
                let truth = Some(&self.labels[span]);
                let loss =
                    top.log_loss(prepared, &nodes, truth, weight, &mut of_node, &mut of_shared);
                value.add(self.weights.of(i) * loss.value);
                of_scores.extend(of_node.iter().map(|d| T::round(weight * d)));
            }
            if with_gradient {
                let to = &mut of_nodes;
                self.network.add_gradient(w, &self.inputs, rows, &of_scores, &mut block, to);
            }
        }
        Ok(Share { value: value.value(), of_nodes, of_shared })
    }

    /// The scores of label pairs and ends, prepared.
    fn prepared(&self, w: &[f64]) -> Vec<f64> {
        self.network.top.prepare(&w[self.network.top_at()..])
    }

    /// Adds the derivatives of a share to a gradient.
    fn add_share(&self, share: &Share<T>, gradient: &mut [f64]) {
        gradient.iter_mut().zip(&share.of_nodes).for_each(|(to, g)| *to += g.wide());
        let top_at = self.network.top_at();
        self.network.top.add_back_shared(&share.of_shared, &mut gradient[top_at..]);
    }
}

/// Sequences in blocks of at most `most` tokens, or of one sequence that has more.
pub(super) fn blocks_of(starts: &[usize], most: usize) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut first = 0;
    for i in 0..starts.len() - 1 {
        if i > first && starts[i + 1] - starts[first] > most {
            blocks.push(first..i);
            first = i;
        }
    }
    blocks.push(first..starts.len() - 1);
    blocks
}

impl<T: Real> LocalRisk for NeuroRisk<'_, T> {
    fn weight_count(&self) -> usize {
        self.network.dim()
    }

    fn is_differentiable(&self) -> bool {
        self.network.activation != Activation::Relu
    }

    fn value(&self, w: &[f64], cancel: &Cancel) -> Result<f64, RiskError> {
        let (prepared, rounded) = (self.prepared(w), self.network.rounded(w));
        let values = map_chunks(&self.chunks, |_, blocks| {
            let share =
                self.share(&rounded, &prepared, &self.blocks[blocks], 1.0, false, cancel)?;
            Ok(share.value)
        });
        let values = values.into_iter().collect::<Result<Sum, RiskError>>()?;
        Ok(values.value())
    }

    fn gradient(&self, w: &[f64], cancel: &Cancel) -> Result<(f64, Vec<f64>), RiskError> {
        let (prepared, rounded) = (self.prepared(w), self.network.rounded(w));
        sum_gradients(self.chunks.len(), |chunk| {
            let blocks = &self.blocks[self.chunks[chunk].clone()];
            let share = self.share(&rounded, &prepared, blocks, 1.0, true, cancel)?;
            let mut gradient = vec![0.0; w.len()];
            self.add_share(&share, &mut gradient);
            Ok((share.value, gradient))
        })
    }
}

impl<T: Real> Examples for NeuroRisk<'_, T> {
    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn add_subgradient(&self, example: usize, w: &[f64], step: f64, gradient: &mut [f64]) -> f64 {
        let (prepared, rounded) = (self.prepared(w), self.network.rounded(w));
        let block = example..example + 1;
        let never = Cancel::new();
        match self.share(&rounded, &prepared, &[block], step, true, &never) {
            Ok(share) => {
                self.add_share(&share, gradient);
                share.value
            }
            Err(_) => f64::NAN,
        }
    }
}
