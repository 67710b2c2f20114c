//! The weights w₀ that training begins with and is regularised to: layers drawn at random, or
//! pretrained without labels; the chain's weights on the features are small random numbers, those
//! of label pairs 0.

use super::inputs::Inputs;
use super::network::{Activation, Network};
use super::pretrain::{Rbm, Trained, features};
use crate::risk::{Cancel, RiskError};
use minorant_linalg::Matrix;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;

/// Where the weights of layers come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Start {
    /// Normal numbers of variance 1 / inputs of the layer; biases are 0.
    Random,
    /// Restricted Boltzmann machines, one on top of the other.
    Rbm(Rbm),
}

/// The size of the chain's weights on features that were pretrained.
const SPREAD: f64 = 0.01;

/// The weights w₀ of a network for these tokens. Pretraining ends early where the time that `cancel`
/// allows is over.
pub fn start(
    network: &Network,
    tokens: &Matrix<'_>,
    start: Start,
    seed: u64,
    cancel: &Cancel,
) -> Result<Vec<f64>, RiskError> {
    let mut w = vec![0.0; network.dim()];
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut normal = |to: &mut [f64], spread: f64| {
        for w in to {
            let draw: f64 = StandardNormal.sample(&mut random);
            *w = spread * draw;
        }
    };
    let at = network.top_at();
    let to_features = &mut w[at..at + network.top.attributes * network.top.labels];
    match start {
        // Without inputs there is nothing to learn from.
        Start::Rbm(rbm) if network.inputs > 0 => {
            normal(to_features, SPREAD);
            pretrain(network, tokens, rbm, seed, cancel, &mut w)?;
        }
        Start::Random | Start::Rbm(_) => {
            normal(to_features, 1.0 / (network.top.attributes as f64).sqrt());
            for layer in network.layers() {
                normal(&mut w[layer.weights()], 1.0 / (layer.inputs.max(1) as f64).sqrt());
            }
        }
    }
    Ok(w)
}

/// Machines for all layers. They have sigmoid units; units of tanh begin as the very same network
/// (tanh(x / 2) = 2 σ(x) − 1), rectified ones take the weights as they are.
fn pretrain(
    network: &Network,
    tokens: &Matrix<'_>,
    rbm: Rbm,
    seed: u64,
    cancel: &Cancel,
    w: &mut [f64],
) -> Result<(), RiskError> {
    let rows = tokens.rows();
    let mut inputs = Inputs::new(tokens);
    for (l, layer) in network.layers().into_iter().enumerate() {
        let seed = seed ^ (l as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let trained = rbm.train(&inputs, rows, layer.inputs, layer.units, seed, cancel)?;
        let Trained { weights, biases } = &trained;
        let (mut factor, mut bias_factor) = (1.0, 1.0);
        if network.activation == Activation::Tanh {
            (factor, bias_factor) = (if l == 0 { 0.5 } else { 0.25 }, 0.5);
        }
        for (w, x) in w[layer.weights()].iter_mut().zip(weights) {
            *w = factor * f64::from(*x);
        }
        for (j, (w, b)) in w[layer.biases()].iter_mut().zip(biases).enumerate() {
            let mut bias = f64::from(*b);
            if network.activation == Activation::Tanh && l > 0 {
                let column = weights.iter().skip(j).step_by(layer.units);
                bias += 0.5 * column.map(|x| f64::from(*x)).sum::<f64>();
            }
            *w = bias_factor * bias;
        }
        inputs = features(&trained, &inputs, rows);
    }
    Ok(())
}
