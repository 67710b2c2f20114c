//! Linear chains: a label for each token, weights for (attribute, label) and (label, label) pairs,
//! optionally for labels at the ends. Scores are linear in the weights, the argmax is Viterbi's,
//! the sums are forward–backward (`dynamic.rs`, `sums.rs`), neither of which knows features.

mod dynamic;
mod observed;
mod shape;
mod sums;

pub use shape::{ChainShape, Pairs};

use super::{Likelihood, LogLoss, ScoreSizes, Scores, StructuredModel, Weights};
use dynamic::{Shared, negative_log_likelihood, rivals, viterbi};
use minorant_linalg::Matrix;
use minorant_linalg::dense::dispatch;
use observed::{Frequent, Lists};
use shape::add_row;
use std::ops::Range;

/// Labelled sequences and the shape of their weights.
#[derive(Debug)]
pub struct Chain<'a> {
    shape: &'a ChainShape,
    tokens: &'a Matrix<'a>,
    starts: &'a [usize],
    truths: Vec<Box<[u16]>>,
    /// What label z costs where y is true, at y · K + z; 1 for every wrong one if not given.
    costs: Option<Vec<f64>>,
    /// Whether the labels of each sequence are unknown; empty where all are known.
    unlabelled: Vec<bool>,
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
        let (unlabelled, frequent) = (Vec::new(), Frequent::new(shape));
        Chain { shape, tokens, starts, truths, costs, unlabelled, frequent }
    }

    /// The same sequences, of which the labels of some are unknown: what stands there is not looked at.
    ///
    /// # Panics
    /// Where there is not a word on each sequence.
    pub fn without_labels(self, unlabelled: Vec<bool>) -> Self {
        assert_eq!(unlabelled.len(), self.truths.len());
        Chain { unlabelled, ..self }
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

    fn has_truth(&self, example: usize) -> bool {
        !self.unlabelled.get(example).is_some_and(|is| *is)
    }

    fn rivals(&self, _example: usize, scores: Scores<'_>) -> (Self::Output, Vec<Self::Output>) {
        let (best, others) = rivals(&self.shared(scores), scores.own);
        (best.into(), others.into_iter().map(Vec::into_boxed_slice).collect())
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

    fn sizes(&self, share: &dyn Fn(usize) -> f64) -> Option<ScoreSizes> {
        let k = self.shape.labels;
        let mut columns = vec![0.0; self.tokens.cols()];
        let (mut tokens, mut steps, mut all) = (0.0, 0.0, 0.0);
        let (mut longest, mut most_attributes) = (0, 0);
        for example in 0..self.truths.len() {
            let rows = self.rows(example);
            // Each token of a sequence without labels has a rival, which may differ from the best everywhere.
            let rivals = if self.has_truth(example) { 1 } else { rows.len() };
            let share = share(example) * rivals as f64;
            longest = longest.max(rows.len());
            tokens += share * rows.len() as f64;
            steps += share * rows.len().saturating_sub(1) as f64;
            all += share;
            for row in rows {
                let mut attributes = 0;
                self.tokens.for_each_in_row(row, |j, x| {
                    columns[j] += share * x.abs();
                    attributes += 1;
                });
                most_attributes = most_attributes.max(attributes);
            }
        }
        let of_attribute = |j: usize| match &self.shape.pairs {
            Pairs::All => j * k..(j + 1) * k,
            Pairs::Observed { starts, .. } => starts[j]..starts[j + 1],
        };
        let mut features: Vec<_> =
            columns.into_iter().enumerate().map(|(j, size)| (of_attribute(j), size)).collect();
        let (bias, transitions) = (self.shape.bias_at(), self.shape.transitions_at());
        let boundary = self.shape.boundary_at();
        features.push((bias..transitions, tokens * self.shape.bias.unwrap_or(0.0).abs()));
        features.push((transitions..boundary, steps));
        features.push((boundary..self.shape.dim(), 2.0 * all));
        let largest = self.costs.iter().flatten().fold(0.0, |most: f64, cost| most.max(*cost));
        let losses = tokens * if self.costs.is_some() { largest } else { 1.0 };
        let roundings = (most_attributes + 3 * longest + 4) as f64;
        Some(ScoreSizes { features, losses, roundings })
    }

    fn is_streamed(&self) -> bool {
        self.tokens.blocks().is_some()
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
        negative_log_likelihood(&self.shared(scores), scores.own, Some(truth), weight, own, shared)
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
