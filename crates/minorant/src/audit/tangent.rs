//! The losses once more, in their plainest form, for the audit alone.

use crate::model::{FittedModel, TrainedLoss};
use crate::proof::Piece;

/// What is true of a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum Truth<'a> {
    /// Whether it is of the positive class.
    Sign(bool),
    /// Its class.
    Class(usize),
    /// Its classes.
    Set(&'a [u32]),
}

/// A loss with a tangent: loss(f') ≥ offset + slope · f' everywhere, equal at f.
#[derive(Debug, Clone)]
pub(super) struct Tangent {
    pub(super) value: f64,
    pub(super) offset: f64,
    /// The size of the numbers that the offset was computed from.
    pub(super) size: f64,
    pub(super) slope: Vec<f64>,
}

/// The loss of one row at outputs `f`.
pub(super) fn tangent(model: &FittedModel, truth: Truth<'_>, f: &[f64]) -> Tangent {
    match (model.loss, truth) {
        (TrainedLoss::Logistic, Truth::Class(label)) => softmax(label, f),
        (loss, Truth::Sign(positive)) => binary(loss, if positive { 1.0 } else { -1.0 }, f[0]),
        (_, Truth::Class(label)) => {
            let pairs = (0..f.len()).map(|z| (label, z));
            worst_pair(model, pairs, f)
        }
        (_, Truth::Set(set)) => {
            let has = |z: usize| set.contains(&(z as u32));
            // Where all margins are 1 the worst pair is the lowest label with the highest
            // non-label; the search below meets it first too, but takes |Z|² steps.
            let low = (0..f.len()).filter(|&z| has(z));
            let high = (0..f.len()).filter(|&z| !has(z));
            if model.label_loss.is_some() {
                let pairs = low.flat_map(|z| high.clone().map(move |other| (z, other)));
                return worst_pair(model, pairs, f);
            }
            let low = low.reduce(|best, z| if f[z] < f[best] { z } else { best });
            let high = high.reduce(|best, z| if f[z] > f[best] { z } else { best });
            worst_pair(model, low.zip(high).into_iter(), f)
        }
    }
}

fn binary(loss: TrainedLoss, sign: f64, f: f64) -> Tangent {
    let margin = sign * f;
    let (value, derivative) = match loss {
        TrainedLoss::Hinge if margin < 1.0 => {
            return Tangent { value: 1.0 - margin, offset: 1.0, size: 1.0, slope: vec![-sign] };
        }
        // Models of losses that are not convex are refused before.
        TrainedLoss::Hinge | TrainedLoss::Ramp | TrainedLoss::Transductive => return flat(1),
        TrainedLoss::SquaredHinge => {
            let slack = (1.0 - margin).max(0.0);
            (slack * slack, -2.0 * slack)
        }
        TrainedLoss::Logistic if margin > 0.0 => {
            ((-margin).exp().ln_1p(), -(-margin).exp() / (1.0 + (-margin).exp()))
        }
        TrainedLoss::Logistic => (margin.exp().ln_1p() - margin, -1.0 / (1.0 + margin.exp())),
    };
    let size = value + (derivative * margin).abs();
    Tangent { value, offset: value - derivative * margin, size, slope: vec![derivative * sign] }
}

fn softmax(label: usize, f: &[f64]) -> Tangent {
    let top = f.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = f.iter().map(|f| (f - top).exp()).sum();
    let value = total.ln() + (top - f[label]);
    let mut slope: Vec<f64> = f.iter().map(|f| (f - top).exp() / total).collect();
    // Σ p_z (f_z − f_label): only differences matter, so a common shift must not enter.
    let inner: f64 = slope.iter().zip(f).map(|(p, g)| p * (g - f[label])).sum();
    let size =
        value.abs() + slope.iter().zip(f).map(|(p, g)| p * (g - f[label]).abs()).sum::<f64>();
    slope[label] -= 1.0;
    // The slopes must add up to 0 exactly, or a shift of all outputs would change the tangent.
    let rest: f64 = slope.iter().enumerate().filter(|(z, _)| *z != label).map(|(_, s)| s).sum();
    slope[label] = -rest;
    Tangent { value, offset: value - inner, size, slope }
}

fn flat(outputs: usize) -> Tangent {
    Tangent { value: 0.0, offset: 0.0, size: 0.0, slope: vec![0.0; outputs] }
}

/// A piece of the loss of one row, whatever the outputs are: a minorant of it everywhere.
pub(super) fn piece(
    model: &FittedModel,
    truth: Truth<'_>,
    piece: Piece,
    outputs: usize,
) -> Result<Tangent, String> {
    let wrong = || "a tie of the proof names a piece that the loss does not have".to_string();
    if model.loss != TrainedLoss::Hinge {
        return Err(wrong());
    }
    let Piece::Slope { up, down } = piece else { return Ok(flat(outputs)) };
    let (up, down) = (up as usize, down as usize);
    if let Truth::Sign(positive) = truth {
        return Ok(binary(TrainedLoss::Hinge, if positive { 1.0 } else { -1.0 }, 0.0));
    }
    let allowed = match truth {
        Truth::Class(label) => down == label && up != label,
        Truth::Set(set) => set.contains(&(down as u32)) && !set.contains(&(up as u32)),
        Truth::Sign(_) => false,
    };
    if !allowed || up >= outputs || down >= outputs {
        return Err(wrong());
    }
    let mut slope = vec![0.0; outputs];
    (slope[up], slope[down]) = (1.0, -1.0);
    let offset = model.label_loss.as_ref().map_or(1.0, |delta| delta[down * outputs + up]);
    Ok(Tangent { value: 0.0, offset, size: offset, slope })
}

/// max over pairs (z, z') of Δ(z', z) + f_{z'} − f_z, and 0.
fn worst_pair(
    model: &FittedModel,
    pairs: impl Iterator<Item = (usize, usize)>,
    f: &[f64],
) -> Tangent {
    let classes = f.len();
    let margin = |z: usize, other: usize| match &model.label_loss {
        Some(delta) => delta[z * classes + other],
        None => f64::from(u8::from(z != other)),
    };
    let mut worst: Option<(f64, usize, usize)> = None;
    for (z, other) in pairs {
        let loss = margin(z, other) + (f[other] - f[z]);
        if worst.is_none_or(|(top, _, _)| loss > top) {
            worst = Some((loss, z, other));
        }
    }
    let mut slope = vec![0.0; classes];
    match worst {
        Some((value, z, other)) if value > 0.0 => {
            slope[other] += 1.0;
            slope[z] -= 1.0;
            Tangent { value, offset: margin(z, other), size: margin(z, other), slope }
        }
        _ => flat(classes),
    }
}
