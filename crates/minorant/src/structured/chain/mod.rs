//! Linear chains: a label for each token, weights for (attribute, label) and (label, label) pairs,
//! optionally for labels at the ends. Scores are linear in the weights, the argmax is Viterbi's,
//! the sums are forward–backward (`dynamic.rs`, `sums.rs`), neither of which knows features.

mod dynamic;
mod observed;
mod sums;

use super::{Likelihood, LogLoss, Scores, StructuredModel, Weights};
use dynamic::{Shared, log_likelihood, viterbi};
use minorant_linalg::Matrix;
use minorant_linalg::dense::{LANES, dispatch};
use observed::{Frequent, Lists};
use std::ops::Range;

/// Which (attribute, label) and (label, label) pairs have a weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pairs {
    /// All of them.
    All,
    /// Only those listed; the score of the others is 0.
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
    fn bias_at(&self) -> usize {
        match &self.pairs {
            Pairs::All => self.attributes * self.labels,
            Pairs::Observed { labels, .. } => labels.len(),
        }
    }

    fn transitions_at(&self) -> usize {
        self.bias_at() + if self.bias.is_some() { self.labels } else { 0 }
    }

    fn boundary_at(&self) -> usize {
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

    fn write_nodes_from(
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
    fn transition_weight(&self, from: u16, to: u16) -> Option<usize> {
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
    fn for_each_of_token(
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
        log_likelihood(&Shared::new(self.labels, prepared), nodes, truth, weight, own, shared)
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

/// Labelled sequences and the shape of their weights.
#[derive(Debug)]
pub struct Chain<'a> {
    shape: &'a ChainShape,
    tokens: &'a Matrix<'a>,
    starts: &'a [usize],
    truths: Vec<Box<[u16]>>,
    /// What label z costs where y is true, at y · K + z; 1 for every wrong one if not given.
    costs: Option<Vec<f64>>,
    frequent: Frequent,
}

impl<'a> Chain<'a> {
    /// Sequence i has the tokens `starts[i]..starts[i + 1]`, and they have these labels.
    ///
    /// # Panics
    /// When a label is not below the shape's number of labels, or lengths do not fit together.
    pub fn new(
        shape: &'a ChainShape,
        tokens: &'a Matrix<'a>,
        starts: &'a [usize],
        labels: &[u16],
        costs: Option<Vec<f64>>,
    ) -> Self {
        assert!(labels.iter().all(|&label| (label as usize) < shape.labels));
        assert_eq!(tokens.cols(), shape.attributes);
        assert!(costs.as_ref().is_none_or(|c| c.len() == shape.labels * shape.labels));
        let truths = starts.windows(2).map(|span| labels[span[0]..span[1]].into()).collect();
        Chain { shape, tokens, starts, truths, costs, frequent: Frequent::new(shape) }
    }

    fn rows(&self, example: usize) -> Range<usize> {
        self.starts[example]..self.starts[example + 1]
    }

    fn cost(&self, truth: u16, label: u16) -> f64 {
        match &self.costs {
            Some(costs) => costs[truth as usize * self.shape.labels + label as usize],
            None => f64::from(u8::from(truth != label)),
        }
    }

    fn shared<'s>(&self, scores: Scores<'s>) -> Shared<'s> {
        Shared::new(self.shape.labels, scores.shared)
    }
}

impl StructuredModel for Chain<'_> {
    type Output = Box<[u16]>;

    fn dim(&self) -> usize {
        self.shape.dim()
    }

    fn len(&self) -> usize {
        self.truths.len()
    }

    fn truth(&self, example: usize) -> &Self::Output {
        &self.truths[example]
    }

    fn for_each_feature(
        &self,
        example: usize,
        output: &Self::Output,
        mut each: impl FnMut(usize, f64),
    ) {
        for (row, &label) in self.rows(example).zip(output) {
            self.shape.for_each_of_token(self.tokens, row, label, 1.0, &mut each);
        }
        for pair in output.windows(2) {
            if let Some(at) = self.shape.transition_weight(pair[0], pair[1]) {
                each(at, 1.0);
            }
        }
        if let (true, [first, .., last] | [first @ last]) = (self.shape.boundary, &output[..]) {
            each(self.shape.boundary_at() + *first as usize, 1.0);
            each(self.shape.boundary_at() + self.shape.labels + *last as usize, 1.0);
        }
    }

    fn for_each_difference(
        &self,
        example: usize,
        plus: &Self::Output,
        minus: &Self::Output,
        mut each: impl FnMut(usize, f64),
    ) {
        let pairs = self.rows(example).zip(plus.iter().zip(minus));
        for (row, (&plus, &minus)) in pairs.filter(|(_, (plus, minus))| plus != minus) {
            self.shape.for_each_of_token(self.tokens, row, plus, 1.0, &mut each);
            self.shape.for_each_of_token(self.tokens, row, minus, -1.0, &mut each);
        }
        for (plus, minus) in plus.windows(2).zip(minus.windows(2)).filter(|(p, m)| p != m) {
            if let Some(at) = self.shape.transition_weight(plus[0], plus[1]) {
                each(at, 1.0);
            }
            if let Some(at) = self.shape.transition_weight(minus[0], minus[1]) {
                each(at, -1.0);
            }
        }
        if self.shape.boundary {
            let at = self.shape.boundary_at();
            let ends = [
                (plus.first(), minus.first(), at),
                (plus.last(), minus.last(), at + self.shape.labels),
            ];
            for (plus, minus, at) in ends {
                if let (Some(&plus), Some(&minus)) = (plus, minus)
                    && plus != minus
                {
                    each(at + plus as usize, 1.0);
                    each(at + minus as usize, -1.0);
                }
            }
        }
    }

    fn loss(&self, example: usize, output: &Self::Output) -> f64 {
        self.truths[example].iter().zip(output).map(|(&y, &z)| self.cost(y, z)).sum()
    }

    fn worst(&self, example: usize, scores: Scores<'_>) -> Self::Output {
        let truth = &self.truths[example];
        let cost = |token: usize, label: usize| self.cost(truth[token], label as u16);
        viterbi(&self.shared(scores), scores.own, Some(&cost)).into()
    }

    fn best(&self, _example: usize, scores: Scores<'_>) -> Self::Output {
        viterbi(&self.shared(scores), scores.own, None).into()
    }

    fn all_outputs(&self, example: usize, most: usize) -> Option<Vec<Self::Output>> {
        let (labels, length) = (self.shape.labels, self.truths[example].len());
        let count = labels.checked_pow(u32::try_from(length).ok()?)?;
        let output = |number: usize| {
            let mut rest = number;
            let mut output = vec![0u16; length];
            for label in output.iter_mut().rev() {
                (*label, rest) = ((rest % labels) as u16, rest / labels);
            }
            output.into()
        };
        (count <= most).then(|| (0..count).map(output).collect())
    }

    fn shared_scores(&self) -> usize {
        self.shape.shared_scores()
    }

    fn write_shared(&self, w: &[f64], out: &mut [f64]) {
        self.shape.write_shared(w, out);
    }

    fn own_scores(&self, example: usize) -> usize {
        self.truths[example].len() * self.shape.labels
    }

    fn write_own(&self, example: usize, weights: Weights<'_>, out: &mut [f64]) {
        let frequent = (!weights.unfolded.is_empty()).then_some(&self.frequent);
        let weights = (weights.folded, weights.unfolded);
        self.shape.write_nodes_from(self.tokens, self.rows(example), weights, frequent, out);
    }

    fn unfolded(&self) -> usize {
        self.frequent.len()
    }

    fn unfold(&self, w: &[f64], out: &mut [f64]) {
        self.frequent.unfold(&self.shape.pairs, w, out);
    }

    fn prepare(&self, shared: &[f64]) -> Vec<f64> {
        dynamic::prepare(self.shape.labels, self.shape.boundary, shared)
    }

    fn score(&self, _example: usize, output: &Self::Output, scores: Scores<'_>) -> f64 {
        self.shared(scores).score(scores.own, output)
    }

    fn entries(&self) -> usize {
        match &self.shape.pairs {
            Pairs::All => self.tokens.entries().saturating_mul(self.shape.labels),
            Pairs::Observed { starts, .. } => {
                let mut entries = 0;
                for row in 0..self.tokens.rows() {
                    self.tokens.for_each_in_row(row, |j, _| entries += starts[j + 1] - starts[j]);
                }
                entries
            }
        }
    }

    fn encode(&self, output: &Self::Output) -> Option<Vec<u32>> {
        Some(output.iter().map(|&label| u32::from(label)).collect())
    }

    fn decode(&self, example: usize, code: &[u32]) -> Option<Self::Output> {
        let label = |&code: &u32| {
            u16::try_from(code).ok().filter(|&label| (label as usize) < self.shape.labels)
        };
        let output: Box<[u16]> = code.iter().map(label).collect::<Option<_>>()?;
        (output.len() == self.truths[example].len()).then_some(output)
    }
}

impl Likelihood for Chain<'_> {
    fn log_loss(
        &self,
        example: usize,
        scores: Scores<'_>,
        weight: f64,
        own: &mut [f64],
        shared: &mut [f64],
    ) -> LogLoss {
        let truth = &self.truths[example];
        log_likelihood(&self.shared(scores), scores.own, Some(truth), weight, own, shared)
    }

    fn add_back_own(
        &self,
        example: usize,
        weight: f64,
        own: &[f64],
        to: &mut [f64],
        unfolded: &mut [f64],
    ) -> f64 {
        let (k, rows) = (self.shape.labels, self.rows(example));
        let of_bias = self.shape.bias.map_or(0.0, |bias| bias * bias);
        let mut length = 0.0;
        match &self.shape.pairs {
            Pairs::All => dispatch(
                #[inline(always)]
                || {
                    for (row, of_node) in rows.zip(own.chunks_exact(k)) {
                        let mut square = of_bias;
                        self.tokens.for_each_in_row(
                            row,
                            #[inline(always)]
                            |j, x| {
                                if x != 0.0 {
                                    add_row(weight * x, of_node, &mut to[j * k..(j + 1) * k]);
                                    square += x * x;
                                }
                            },
                        );
                        length += square.sqrt();
                    }
                },
            ),
            Pairs::Observed { starts, labels, .. } => {
                let frequent = (!unfolded.is_empty()).then_some(&self.frequent);
                let lists = Lists { starts, labels, frequent };
                let targets = (&mut *to, unfolded);
                lists.add_back(self.tokens, rows, k, (weight, own), targets, |square| {
                    length += (of_bias + square).sqrt();
                });
            }
        }
        if let Some(bias) = self.shape.bias {
            let to = &mut to[self.shape.bias_at()..][..k];
            own.chunks_exact(k).for_each(|of_node| add_row(weight * bias, of_node, to));
        }
        // The derivatives of one token have a sum of sizes of 2 at most.
        2.0 * weight.abs() * length
    }

    fn fold_back(&self, unfolded: &[f64], to: &mut [f64]) {
        self.frequent.fold_back(&self.shape.pairs, unfolded, to);
    }

    fn add_back_shared(&self, shared: &[f64], to: &mut [f64]) {
        self.shape.add_back_shared(shared, to);
    }
}

/// Adds a row times a factor to one of the same length: whole vectors, then what is left.
#[inline(always)]
fn add_row(factor: f64, row: &[f64], to: &mut [f64]) {
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
