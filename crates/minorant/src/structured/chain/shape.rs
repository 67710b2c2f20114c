//! The shape of a chain's weights: which pairs of attribute and label, and of labels, have one and
//! where it lies; scores at given weights, and back. It knows no true labels: a trained model
//! predicts with nothing else.

use super::dynamic::{self, Shared, negative_log_likelihood, viterbi};
use super::observed::{Frequent, Lists};
use crate::structured::LogLoss;
use minorant_linalg::Matrix;
use minorant_linalg::dense::{LANES, dispatch};
use std::ops::Range;

/// Which (attribute, label) and (label, label) pairs have a weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pairs {
    /// All pairs.
    All,
    /// Only the pairs listed; the score of the others is 0.
    Observed {
        /// Where the labels of each attribute begin in `labels`, and where the last ones end.
        starts: Vec<usize>,
        /// The labels of the attributes.
        labels: Vec<u16>,
        /// The label pairs, as from · K + to, ascending.
        transitions: Vec<u32>,
    },
}

impl Pairs {
    /// The pairs that occur in labelled sequences.
    pub fn observed(
        tokens: &Matrix<'_>,
        starts: &[usize],
        labels: &[u16],
        classes: usize,
    ) -> Pairs {
        let mut seen: Vec<u64> = Vec::new();
        for (token, &label) in labels.iter().enumerate() {
            tokens.for_each_in_row(token, |j, _| seen.push((j as u64) << 16 | u64::from(label)));
            // Duplicates go now and then, so that memory stays near the number of pairs.
            if seen.len() > 1 << 24 && seen.len() > 8 * tokens.cols() {
                seen.sort_unstable();
                seen.dedup();
            }
        }
        seen.sort_unstable();
        seen.dedup();
        let mut of_attribute = vec![0; tokens.cols() + 1];
        seen.iter().for_each(|pair| of_attribute[(pair >> 16) as usize + 1] += 1);
        for j in 0..tokens.cols() {
            of_attribute[j + 1] += of_attribute[j];
        }
        let mut transitions = Vec::new();
        for span in starts.windows(2) {
            let labels = &labels[span[0]..span[1]];
            let pair = |p: &[u16]| u32::from(p[0]) * classes as u32 + u32::from(p[1]);
            transitions.extend(labels.windows(2).map(pair));
            if transitions.len() > 1 << 22 {
                transitions.sort_unstable();
                transitions.dedup();
            }
        }
        transitions.sort_unstable();
        transitions.dedup();
        let labels = seen.into_iter().map(|pair| pair as u16).collect();
        Pairs::Observed { starts: of_attribute, labels, transitions }
    }
}

/// How a chain's weights are laid out: first those of the attributes, one after the other with
/// their labels side by side, then the constant attribute's, the transitions' (from · K + to), and
/// those of labels at the beginning and at the end.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainShape {
    /// Number of attributes.
    pub attributes: usize,
    /// Number of labels K.
    pub labels: usize,
    /// Which pairs have a weight.
    pub pairs: Pairs,
    /// The constant attribute of every token.
    pub bias: Option<f64>,
    /// Whether labels at the beginning and at the end have weights.
    pub boundary: bool,
}

impl ChainShape {
    pub(super) fn bias_at(&self) -> usize {
        match &self.pairs {
            Pairs::All => self.attributes * self.labels,
            Pairs::Observed { labels, .. } => labels.len(),
        }
    }

    pub(super) fn transitions_at(&self) -> usize {
        self.bias_at() + if self.bias.is_some() { self.labels } else { 0 }
    }

    pub(super) fn boundary_at(&self) -> usize {
        self.transitions_at()
            + match &self.pairs {
                Pairs::All => self.labels * self.labels,
                Pairs::Observed { transitions, .. } => transitions.len(),
            }
    }

    /// Number of weights, if it is one that can be: sizes in files may be any.
    pub fn checked_dim(&self) -> Option<usize> {
        let labels = self.labels;
        let product = match self.pairs {
            Pairs::All => self.attributes.checked_add(labels)?.checked_mul(labels)?,
            Pairs::Observed { .. } => 0,
        };
        // What is not multiplied is the length of something in memory.
        product.checked_add(3 * labels)?;
        Some(self.dim())
    }

    /// Number of weights.
    pub fn dim(&self) -> usize {
        self.boundary_at() + if self.boundary { 2 * self.labels } else { 0 }
    }

    /// Number of scores that all sequences share: transitions, beginnings, ends.
    pub fn shared_scores(&self) -> usize {
        self.labels * self.labels + if self.boundary { 2 * self.labels } else { 0 }
    }

    /// The shared scores at weights `w`.
    pub fn write_shared(&self, w: &[f64], out: &mut [f64]) {
        let (of_pairs, of_ends) = out.split_at_mut(self.labels * self.labels);
        let weights = &w[self.transitions_at()..];
        match &self.pairs {
            Pairs::All => of_pairs.copy_from_slice(&weights[..of_pairs.len()]),
            Pairs::Observed { transitions, .. } => {
                of_pairs.fill(0.0);
                for (&pair, w) in transitions.iter().zip(weights) {
                    of_pairs[pair as usize] = *w;
                }
            }
        }
        of_ends.copy_from_slice(&w[self.boundary_at()..]);
    }

    /// The transposed of [`ChainShape::write_shared`].
    pub(crate) fn add_back_shared(&self, shared: &[f64], to: &mut [f64]) {
        let (of_pairs, of_ends) = shared.split_at(self.labels * self.labels);
        let weights = &mut to[self.transitions_at()..];
        match &self.pairs {
            Pairs::All => weights.iter_mut().zip(of_pairs).for_each(|(to, x)| *to += x),
            Pairs::Observed { transitions, .. } => {
                for (&pair, to) in transitions.iter().zip(weights) {
                    *to += of_pairs[pair as usize];
                }
            }
        }
        let weights = &mut to[self.boundary_at()..];
        weights.iter_mut().zip(of_ends).for_each(|(to, x)| *to += x);
    }

    /// The node scores of some tokens at weights `w`. Each is a plain sum in the order of the
    /// token's attributes: an audit that adds up in the same order gets the same bits.
    pub fn write_nodes(&self, tokens: &Matrix<'_>, rows: Range<usize>, w: &[f64], out: &mut [f64]) {
        self.write_nodes_from(tokens, rows, (w, &[]), None, out);
    }

    pub(super) fn write_nodes_from(
        &self,
        tokens: &Matrix<'_>,
        rows: Range<usize>,
        (w, unfolded): (&[f64], &[f64]),
        frequent: Option<&Frequent>,
        out: &mut [f64],
    ) {
        let k = self.labels;
        match &self.pairs {
            Pairs::All => dispatch(
                #[inline(always)]
                || {
                    out.fill(0.0);
                    for (row, out) in rows.zip(out.chunks_exact_mut(k)) {
                        tokens.for_each_in_row(
                            row,
                            #[inline(always)]
                            |j, x| {
                                // A zero adds nothing, but costs as much as any other value.
                                if x != 0.0 {
                                    add_row(x, &w[j * k..(j + 1) * k], out);
                                }
                            },
                        );
                    }
                },
            ),
            Pairs::Observed { starts, labels, .. } => {
                let lists = Lists { starts, labels, frequent };
                lists.write_sums(tokens, rows, k, (w, unfolded), out);
            }
        }
        if let Some(bias) = self.bias {
            let of_bias = &w[self.bias_at()..][..k];
            out.chunks_exact_mut(k).for_each(|out| add_row(bias, of_bias, out));
        }
    }

    /// Calls `each` with the weight of an (attribute, label) pair, if it has one.
    fn node_weight(&self, attribute: usize, label: u16) -> Option<usize> {
        match &self.pairs {
            Pairs::All => Some(attribute * self.labels + label as usize),
            Pairs::Observed { starts, labels, .. } => {
                let span = starts[attribute]..starts[attribute + 1];
                labels[span.clone()].binary_search(&label).ok().map(|at| span.start + at)
            }
        }
    }

    /// The weight of a transition, if it has one.
    pub(super) fn transition_weight(&self, from: u16, to: u16) -> Option<usize> {
        let pair = from as usize * self.labels + to as usize;
        match &self.pairs {
            Pairs::All => Some(self.transitions_at() + pair),
            Pairs::Observed { transitions, .. } => {
                let at = transitions.binary_search(&(pair as u32)).ok()?;
                Some(self.transitions_at() + at)
            }
        }
    }

    #[inline]
    pub(super) fn for_each_of_token(
        &self,
        tokens: &Matrix<'_>,
        row: usize,
        label: u16,
        sign: f64,
        each: &mut impl FnMut(usize, f64),
    ) {
        tokens.for_each_in_row(row, |j, x| {
            if x != 0.0
                && let Some(at) = self.node_weight(j, label)
            {
                each(at, sign * x);
            }
        });
        if let Some(bias) = self.bias {
            each(self.bias_at() + label as usize, sign * bias);
        }
    }

    /// The shared scores at weights `w` as the recursions want them.
    pub(crate) fn prepare(&self, w: &[f64]) -> Vec<f64> {
        let mut shared = vec![0.0; self.shared_scores()];
        self.write_shared(w, &mut shared);
        dynamic::prepare(self.labels, self.boundary, &shared)
    }

    /// The best labels of a sequence by its node scores.
    pub(crate) fn best_labels(&self, prepared: &[f64], nodes: &[f64]) -> Vec<u16> {
        viterbi(&Shared::new(self.labels, prepared), nodes, None)
    }

    /// −log p of a sequence's labels by its node scores, with its derivatives: in the nodes to
    /// `own`, in the shared scores, times `weight`, added to `shared` (which may be empty). Without
    /// labels `own` becomes the marginals.
    pub(crate) fn log_loss(
        &self,
        prepared: &[f64],
        nodes: &[f64],
        truth: Option<&[u16]>,
        weight: f64,
        own: &mut [f64],
        shared: &mut [f64],
    ) -> LogLoss {
        negative_log_likelihood(
            &Shared::new(self.labels, prepared),
            nodes,
            truth,
            weight,
            own,
            shared,
        )
    }

    /// Prediction: the best labels of a sequence, and its node scores.
    pub fn best(&self, tokens: &Matrix<'_>, rows: Range<usize>, w: &[f64]) -> (Vec<u16>, Vec<f64>) {
        let mut nodes = vec![0.0; rows.len() * self.labels];
        self.write_nodes(tokens, rows, w, &mut nodes);
        (self.best_labels(&self.prepare(w), &nodes), nodes)
    }

    /// The probability of each label at each token.
    pub fn marginals(&self, tokens: &Matrix<'_>, rows: Range<usize>, w: &[f64]) -> Vec<f64> {
        let mut nodes = vec![0.0; rows.len() * self.labels];
        self.write_nodes(tokens, rows, w, &mut nodes);
        let mut own = vec![0.0; nodes.len()];
        self.log_loss(&self.prepare(w), &nodes, None, 0.0, &mut own, &mut []);
        own
    }
}

/// Adds a row times a factor to one of the same length: whole vectors, then what is left.
#[inline(always)]
pub(super) fn add_row(factor: f64, row: &[f64], to: &mut [f64]) {
    let (rows, rows_left) = row.as_chunks::<LANES>();
    let (sums, sums_left) = to.as_chunks_mut::<LANES>();
    for (sums, row) in sums.iter_mut().zip(rows) {
        // Read before written: the compiler need not fear that they overlap.
        let mut block = *sums;
        for lane in 0..LANES {
            block[lane] += factor * row[lane];
        }
        *sums = block;
    }
    for (sum, x) in sums_left.iter_mut().zip(rows_left) {
        *sum += factor * x;
    }
}
