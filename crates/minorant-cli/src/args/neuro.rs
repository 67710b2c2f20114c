//! The options of networks under a chain as typed.

use super::train::{ModelArg, ProblemArgs};
use anyhow::ensure;
use clap::{Args, ValueEnum};
use minorant::neural::Activation;
use minorant::solver::Method;
use minorant::train::{NeuroOptions, Pretrain};

/// Networks under a chain.
#[derive(Debug, Args)]
pub(crate) struct NeuroArgs {
    /// neuro-crf: units of each hidden layer, from the inputs on (default: 300,300)
    #[arg(long, value_name = "N,N,...", value_parser = parse_hidden, help_heading = "Networks")]
    hidden: Option<Hidden>,
    /// neuro-crf: what hidden units do: sigmoid, tanh or relu (default: sigmoid)
    #[arg(long, value_name = "UNIT", value_parser = parse_activation, help_heading = "Networks")]
    activation: Option<Activation>,
    /// neuro-crf: weights to begin with and to be regularised to (default: rbm)
    #[arg(long, value_name = "HOW", help_heading = "Networks")]
    pretrain: Option<PretrainArg>,
}

/// Units of each hidden layer.
#[derive(Debug, Clone)]
struct Hidden(Vec<usize>);

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PretrainArg {
    /// Restricted Boltzmann machines by contrastive divergence, without labels
    Rbm,
    /// Random numbers
    None,
}

fn parse_hidden(text: &str) -> Result<Hidden, String> {
    let layer = |word: &str| {
        let wrong = |_| format!("expected whole numbers such as 300,300, found '{text}'");
        word.trim().parse::<usize>().map_err(wrong)
    };
    text.split(',').map(layer).collect::<Result<_, _>>().map(Hidden)
}

fn parse_activation(name: &str) -> Result<Activation, String> {
    Activation::from_name(name)
        .ok_or_else(|| format!("expected sigmoid, tanh or relu, found '{name}'"))
}

impl NeuroArgs {
    /// Refuses what goes with networks only.
    pub(super) fn refuse(&self) -> anyhow::Result<()> {
        let given = self.hidden.is_some() || self.activation.is_some() || self.pretrain.is_some();
        ensure!(!given, "--hidden, --activation and --pretrain go with neuro-crf");
        Ok(())
    }
}

impl ProblemArgs {
    /// The library's options for a network under a chain, but for the method.
    pub(crate) fn neuro_options(&self, method: Method) -> anyhow::Result<NeuroOptions> {
        self.refuse_all_but(ModelArg::Neuro)?;
        let defaults = NeuroOptions::default();
        let hidden = self.neuro.hidden.clone().map(|hidden| hidden.0);
        Ok(NeuroOptions {
            hidden: hidden.unwrap_or(defaults.hidden),
            activation: self.neuro.activation.unwrap_or(defaults.activation),
            pretrain: match self.neuro.pretrain {
                None | Some(PretrainArg::Rbm) => Pretrain::Rbm,
                Some(PretrainArg::None) => Pretrain::None,
            },
            rbm: defaults.rbm,
            boundary: self.boundary,
            per: self.per(),
            validation_fraction: self.hmm.validation_fraction.unwrap_or(0.0),
            example_weights: self.example_weights()?,
            lambda: self.lambda(),
            method,
            method_options: self.method_options(defaults.method_options),
            rules: self.stopping.rules()?,
        })
    }
}
