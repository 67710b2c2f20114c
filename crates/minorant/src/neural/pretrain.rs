//! Restricted Boltzmann machines, trained one on top of the other by contrastive divergence (Hinton
//! et al., 2006) without any labels: weights to start a network from. Visible units are binary
//! where all inputs lie between 0 and 1, and of unit variance elsewhere; hidden ones are binary.
//!
//! Batches follow one another; inside a batch fixed blocks of tokens run on all threads, each with
//! a generator of its own, so the weights depend on the seed and on nothing else.

use super::inputs::Inputs;
use crate::risk::{Cancel, RiskError};
use minorant_linalg::parallel::{for_each_stretch, map_chunks};
use minorant_linalg::product::{Operand, Real, multiply};
use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;
use std::ops::Range;

/// How a machine is trained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rbm {
    /// Passes over the tokens.
    pub epochs: usize,
    /// Tokens of a batch.
    pub batch: usize,
    /// Length of steps for binary visible units; a tenth of it for others.
    pub rate: f32,
    /// Weight decay.
    pub decay: f32,
}

impl Default for Rbm {
    fn default() -> Self {
        Rbm { epochs: 15, batch: 100, rate: 0.05, decay: 1e-3 }
    }
}

/// Momentum in the first epochs, how many these are, and momentum later.
const MOMENTUM: (f32, usize, f32) = (0.5, 5, 0.9);
/// Tokens of a block inside a batch.
const BLOCK: usize = 25;
/// The size of weights to begin with.
const SPREAD: f32 = 0.01;

/// The weights of a machine, the inputs' side by side, and the biases of its hidden units.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trained {
    pub(super) weights: Vec<f32>,
    pub(super) biases: Vec<f32>,
}

/// A machine at work, or changes of one: weights, hidden biases, visible biases.
struct Machine {
    weights: Vec<f32>,
    hidden: Vec<f32>,
    visible: Vec<f32>,
}

impl Machine {
    fn zero(visible: usize, hidden: usize) -> Self {
        Machine {
            weights: vec![0.0; visible * hidden],
            hidden: vec![0.0; hidden],
            visible: vec![0.0; visible],
        }
    }

    fn arrays(&mut self) -> [&mut Vec<f32>; 3] {
        [&mut self.weights, &mut self.hidden, &mut self.visible]
    }
}

impl Rbm {
    /// Trains a machine with `hidden` units on rows of inputs. Where the time that `cancel` allows is over,
    /// it stays as it is by then.
    pub(super) fn train(
        &self,
        inputs: &Inputs<'_, f32>,
        rows: usize,
        visible: usize,
        hidden: usize,
        seed: u64,
        cancel: &Cancel,
    ) -> Result<Trained, RiskError> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut machine = Machine::zero(visible, hidden);
        for w in &mut machine.weights {
            let draw: f32 = StandardNormal.sample(&mut random);
            *w = SPREAD * draw;
        }
        let binary = is_binary(inputs, rows, visible);
        let rate = if binary { self.rate } else { 0.1 * self.rate };
        let mut speed = Machine::zero(visible, hidden);
        let mut order: Vec<usize> = (0..rows).collect();
        'training: for epoch in 0..self.epochs {
            let (first, epochs, later) = MOMENTUM;
            let momentum = if epoch < epochs { first } else { later };
            order.shuffle(&mut random);
            for batch in order.chunks(self.batch) {
                if cancel.is_cancelled() {
                    cancel.of_any_length().check()?;
                    break 'training;
                }
                let seed: u64 = random.random();
                let one = |at: usize, tokens: Range<usize>| {
                    let random = Pcg64Mcg::seed_from_u64(seed.wrapping_add(at as u64));
                    divergence(&machine, inputs, &batch[tokens], binary, random)
                };
                let blocks: Vec<Range<usize>> = (0..batch.len())
                    .step_by(BLOCK)
                    .map(|at| at..(at + BLOCK).min(batch.len()))
                    .collect();
                let mut shares = map_chunks(&blocks, one);
                let step = rate / batch.len() as f32;
                let decay = [rate * self.decay, 0.0, 0.0];
                let mut of_shares: Vec<[&mut Vec<f32>; 3]> =
                    shares.iter_mut().map(Machine::arrays).collect();
                let arrays = machine.arrays().into_iter().zip(speed.arrays()).zip(decay);
                for (at, ((w, v), decay)) in arrays.enumerate() {
                    let shares: Vec<&[f32]> = of_shares.iter_mut().map(|s| &s[at][..]).collect();
                    move_along(w, v, &shares, momentum, step, decay);
                }
            }
        }
        Ok(Trained { weights: machine.weights, biases: machine.hidden })
    }
}

/// v = momentum v + step Σ shares − decay w, w += v.
fn move_along(
    w: &mut [f32],
    v: &mut [f32],
    shares: &[&[f32]],
    momentum: f32,
    step: f32,
    decay: f32,
) {
    const STRETCH: usize = 16384;
    for_each_stretch(v, STRETCH, |at, v| {
        let start = at * STRETCH;
        for (i, v) in v.iter_mut().enumerate() {
            let sum: f32 = shares.iter().map(|share| share[start + i]).sum();
            *v = momentum * *v + step * sum - decay * w[start + i];
        }
    });
    for_each_stretch(w, STRETCH, |at, w| {
        w.iter_mut().zip(&v[at * STRETCH..]).for_each(|(w, v)| *w += v);
    });
}

/// Whether all inputs lie between 0 and 1, so that they can be taken for probabilities.
fn is_binary(inputs: &Inputs<'_, f32>, rows: usize, visible: usize) -> bool {
    let mut buffer = Vec::new();
    (0..rows).all(|row| {
        inputs.gather(&[row], visible, &mut buffer);
        buffer.iter().all(|x| (0.0..=1.0).contains(x))
    })
}

/// One step of contrastive divergence for some tokens: ⟨v h⟩ of the data less that of their
/// reconstruction.
fn divergence(
    machine: &Machine,
    inputs: &Inputs<'_, f32>,
    tokens: &[usize],
    binary: bool,
    mut random: Pcg64Mcg,
) -> Machine {
    let (n, visible, hidden) = (tokens.len(), machine.visible.len(), machine.hidden.len());
    let mut change = Machine::zero(visible, hidden);
    let weights = Operand::new(&machine.weights[..], visible, hidden);
    let mut data = Vec::new();
    inputs.gather(tokens, visible, &mut data);
    // Hidden states and reconstructions are drawn: with probabilities in their place, machines
    // learn the data by heart, and networks that start from them err on a sixth more letters.
    let mut states = activations(&data, weights, n, &machine.hidden);
    f32::sigmoid_all(&mut states);
    draw(&mut states, &mut random);
    let data_rows = Operand::new(&data[..], n, visible).transposed();
    multiply(data_rows, Operand::new(&states, n, hidden), 0.0, &mut change.weights);
    add_rows(&states, 1.0, &mut change.hidden);
    add_rows(&data, 1.0, &mut change.visible);
    let mut again = vec![0.0; n * visible];
    again.chunks_exact_mut(visible).for_each(|row| row.copy_from_slice(&machine.visible));
    multiply(Operand::new(&states[..], n, hidden), weights.transposed(), 1.0, &mut again);
    if binary {
        f32::sigmoid_all(&mut again);
        draw(&mut again, &mut random);
    }
    let mut answer = activations(&again, weights, n, &machine.hidden);
    f32::sigmoid_all(&mut answer);
    let back = Operand::new(&again[..], n, visible).transposed();
    add_rows(&answer, -1.0, &mut change.hidden);
    add_rows(&again, -1.0, &mut change.visible);
    answer.iter_mut().for_each(|p| *p = -*p);
    multiply(back, Operand::new(&answer, n, hidden), 1.0, &mut change.weights);
    change
}

/// Makes states of probabilities.
fn draw(states: &mut [f32], random: &mut Pcg64Mcg) {
    for p in states {
        let draw: f32 = random.random();
        *p = f32::from(u8::from(draw < *p));
    }
}

/// rows · weights + biases.
fn activations(rows: &[f32], weights: Operand<'_, f32>, n: usize, biases: &[f32]) -> Vec<f32> {
    let mut out = biases.repeat(n);
    multiply(Operand::new(rows, n, rows.len() / n.max(1)), weights, 1.0, &mut out);
    out
}

fn add_rows(rows: &[f32], sign: f32, to: &mut [f32]) {
    for row in rows.chunks_exact(to.len()) {
        to.iter_mut().zip(row).for_each(|(to, x)| *to += sign * x);
    }
}

/// The probabilities of a machine's hidden units, row by row: inputs of the next machine.
pub(super) fn features(
    trained: &Trained,
    inputs: &Inputs<'_, f32>,
    rows: usize,
) -> Inputs<'static, f32> {
    let hidden = trained.biases.len();
    let mut values = trained.biases.repeat(rows);
    const ROWS: usize = 512;
    for_each_stretch(&mut values, ROWS * hidden, |at, out| {
        let range: Range<usize> = at * ROWS..at * ROWS + out.len() / hidden;
        inputs.times(range, &trained.weights, 1.0, out);
        f32::sigmoid_all(out);
    });
    Inputs::Dense { values, cols: hidden }
}
