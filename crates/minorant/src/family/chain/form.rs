//! A fitted chain: its weights and what they belong to, in memory and in files.

use super::{PAIRS, Weighed};
use crate::audit::chain::PlainChain;
use crate::audit::{Penalty, Plain};
use crate::container::Container;
use crate::family::penalty;
use crate::family::sequence::{BOUNDARY, PER, Tagger, Vocabulary, kept};
use crate::family::{Audited, Facts, Misfit, Settings};
use crate::options::Named;
use crate::options::common::{BIAS, LABEL_LOSS, Norm, PENALTY};
use crate::structured::chain::{ChainShape, Pairs};
use minorant_data::Sequences;
use minorant_linalg::parallel;

/// A fitted chain.
#[derive(Debug, Clone)]
pub struct ChainForm {
    /// How its weights are laid out.
    pub shape: ChainShape,
    /// What it knows of tokens.
    pub vocabulary: Vocabulary,
    /// The weights.
    pub weights: Vec<f64>,
}

impl ChainForm {
    /// The chain that a model file holds.
    pub(super) fn read(facts: &mut Facts, file: &mut Container) -> Result<Self, Misfit> {
        let vocabulary = Vocabulary::read(file)?;
        let (attributes, labels) = (vocabulary.attributes.len(), vocabulary.classes.len());
        let is_observed = file.key("observed_pairs")?;
        let which = if is_observed { Weighed::Observed } else { Weighed::All };
        facts.settings.put(&PAIRS, which);
        let pairs = read_pairs(which, attributes, labels, file);
        let pairs = pairs
            .ok_or_else(|| Misfit::without("pairs of attributes and labels that fit together"))?;
        let bias: Option<f64> = file.key(BIAS.spec.name)?;
        let boundary = file.key(BOUNDARY.spec.name)?;
        kept(&PER, file)?;
        kept(&PENALTY, file)?;
        let label_loss = file.take_reals("label_loss").map(|(_, costs)| costs);
        if label_loss.as_ref().is_some_and(|costs| costs.len() != labels * labels) {
            return Err(Misfit::without("a label loss that fits the labels"));
        }
        if facts.settings.entry().option(LABEL_LOSS.spec.name).is_some() {
            facts.settings.put(&LABEL_LOSS, label_loss);
        }
        let shape = ChainShape { attributes, labels, pairs, bias, boundary };
        let weights = file.weights("weights", shape.checked_dim())?;
        Ok(ChainForm { shape, vocabulary, weights })
    }

    /// Does something with each sequence, and puts the results one behind the other.
    fn each<T: Send + Clone>(
        &self,
        data: &Sequences,
        of: impl Fn(std::ops::Range<usize>) -> Vec<T> + Sync,
    ) -> Vec<T> {
        parallel::map(data.len(), |i| of(data.starts[i]..data.starts[i + 1])).concat()
    }
}

impl Tagger for ChainForm {
    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn weights(&self) -> &[f64] {
        &self.weights
    }

    fn write(&self, settings: &Settings, file: &mut Container) {
        // Files have these keys for both chains since 0.1.
        file.put_key("observed_pairs", matches!(self.shape.pairs, Pairs::Observed { .. }));
        if file.header.get(PENALTY.spec.name).is_none() {
            file.put_key(PENALTY.spec.name, Norm::L2.name());
        }
        if let Pairs::Observed { starts, labels, transitions } = &self.shape.pairs {
            file.put_integers("pairs.starts", starts.iter().map(|&start| start as u64));
            file.put_integers("pairs.labels", labels.iter().map(|&label| label.into()));
            file.put_integers("pairs.transitions", transitions.iter().map(|&pair| pair.into()));
        }
        if let Some(costs) = settings.get(&LABEL_LOSS) {
            file.put_list("label_loss", &costs);
        }
    }

    fn plain<'a>(&'a self, audited: Audited<'a>) -> Result<Vec<Plain<'a>>, String> {
        let (facts, data) = (audited.facts, audited.data.sequences()?);
        let fits = data.classes == self.vocabulary.classes
            && data.labels.len() == data.tokens.rows()
            && data.tokens.cols() == self.shape.attributes;
        if !fits {
            return Err("the labels and attributes of the data are not those of the model".into());
        }
        let units: Vec<usize> = facts.settings.get(&PER).units(&data.starts).collect();
        let losses = PlainChain {
            shape: &self.shape,
            data,
            label_loss: facts.settings.get(&LABEL_LOSS),
            is_likelihood: facts.model() == super::ChainCrf::MODEL.name,
        };
        let ratio = penalty::l1_ratio(&facts.settings);
        let penalty = |lambda| Penalty::mixed(lambda, ratio);
        audited.problem(Box::new(losses), &units, penalty, &self.weights)
    }

    fn best(&self, data: &Sequences) -> Vec<u16> {
        self.each(data, |rows| self.shape.best(&data.tokens, rows, &self.weights).0)
    }

    fn scores(&self, data: &Sequences) -> Vec<f64> {
        self.each(data, |rows| self.shape.best(&data.tokens, rows, &self.weights).1)
    }

    fn marginals(&self, data: &Sequences) -> Vec<f64> {
        self.each(data, |rows| self.shape.marginals(&data.tokens, rows, &self.weights))
    }
}

fn read_pairs(
    which: Weighed,
    attributes: usize,
    classes: usize,
    file: &mut Container,
) -> Option<Pairs> {
    if which == Weighed::All {
        return Some(Pairs::All);
    }
    let starts: Vec<usize> = file.integers("pairs.starts")?;
    let labels: Vec<u16> = file.integers("pairs.labels")?;
    let transitions: Vec<u32> = file.integers("pairs.transitions")?;
    let fits = attributes.checked_add(1) == Some(starts.len())
        && starts.first() == Some(&0)
        && starts.last() == Some(&labels.len())
        && starts.is_sorted()
        && labels.iter().all(|&z| (z as usize) < classes)
        && transitions.windows(2).all(|t| t[0] < t[1])
        && transitions.last().is_none_or(|&t| (t as usize) < classes * classes);
    fits.then_some(Pairs::Observed { starts, labels, transitions })
}
