//! What models that label the tokens of sequences have in common, whatever makes their scores.

use super::tokens::compare;
use super::{ChainModel, NeuroModel, TokenEvaluation};
use minorant_data::{Attributes, Sequences, Template};

/// A model that labels the tokens of sequences.
pub trait SequenceModel: Sync {
    /// The labels in order.
    fn classes(&self) -> &[String];

    /// The attributes of tokens that it knows.
    fn attributes(&self) -> &Attributes;

    /// The template that makes them of columns.
    fn template(&self) -> Option<&Template>;

    /// The best labels of each token, sequence by sequence.
    fn predict(&self, data: &Sequences) -> Vec<u16>;

    /// The score of each label at each token, transitions left out.
    fn scores(&self, data: &Sequences) -> Vec<f64>;

    /// The probability of each label at each token.
    fn marginals(&self, data: &Sequences) -> Vec<f64>;

    /// Compares predictions with the labels of the same sequences.
    fn evaluate(&self, data: &Sequences) -> TokenEvaluation {
        let labels = (&data.classes[..], &data.labels[..]);
        compare((self.classes(), &self.predict(data)), labels, &data.starts)
    }
}

impl SequenceModel for ChainModel {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    fn template(&self) -> Option<&Template> {
        self.template.as_ref()
    }

    fn predict(&self, data: &Sequences) -> Vec<u16> {
        ChainModel::predict(self, data)
    }

    fn scores(&self, data: &Sequences) -> Vec<f64> {
        ChainModel::scores(self, data)
    }

    fn marginals(&self, data: &Sequences) -> Vec<f64> {
        ChainModel::marginals(self, data)
    }
}

impl SequenceModel for NeuroModel {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    fn template(&self) -> Option<&Template> {
        self.template.as_ref()
    }

    fn predict(&self, data: &Sequences) -> Vec<u16> {
        self.network.best_labels(&self.weights, &self.scores(data), &data.starts)
    }

    fn scores(&self, data: &Sequences) -> Vec<f64> {
        NeuroModel::scores(self, data)
    }

    fn marginals(&self, data: &Sequences) -> Vec<f64> {
        self.network.marginals(&self.weights, &self.scores(data), &data.starts)
    }
}
