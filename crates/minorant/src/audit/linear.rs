//! The losses of linear models once more, in their plainest form: rows are read one by one, outputs
//! are plain sums, and each loss has its value, a tangent, and the highest minorant with given
//! slopes (its convex conjugate).

use super::{Below, Minorant, NO_PIECE, PlainLoss, Value};
use crate::proof::Piece;
use minorant_data::Labels;
use minorant_linalg::Matrix;

/// How far slopes may lie outside of what the loss allows, by rounding; they are moved back.
const OUTSIDE: f64 = 1e-12;

/// A loss by what it is, where a class or a sign is true: m is the margin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PlainMargin {
    /// max(0, 1 − m); of several classes the worst one, of sets the worst pair.
    Hinge,
    /// max(0, 1 − m)².
    SquaredHinge,
    /// The hinge that is quadratic within h of its kink.
    HuberHinge(f64),
    /// log(1 + e^−m), or −log of the softmax.
    Logistic,
}

use PlainMargin::{Hinge, HuberHinge, Logistic, SquaredHinge};

/// What is true of rows.
#[derive(Debug, Clone, Copy)]
pub enum PlainKind<'a> {
    /// The class of each row, of which this one is positive and all others are negative.
    Signs(&'a [u32], u32),
    /// The class of each row.
    Classes(&'a [u32]),
    /// The classes of each row.
    Sets(&'a Labels),
}

/// What is true of one row.
#[derive(Debug, Clone, Copy)]
enum Truth<'a> {
    Sign(f64),
    Class(usize),
    Set(&'a [u32]),
}

/// The rows of a linear problem with their loss.
#[derive(Debug)]
pub struct LinearLosses<'a> {
    /// The rows.
    pub features: &'a Matrix<'a>,
    /// The constant feature.
    pub bias: Option<f64>,
    /// What is true of them.
    pub truths: PlainKind<'a>,
    /// Linear outputs of a row.
    pub outputs: usize,
    /// The loss.
    pub loss: PlainMargin,
    /// Δ.
    pub label_loss: Option<&'a [f64]>,
}

/// A loss with a tangent: loss(f') ≥ offset + slope · f' everywhere, equal at f.
#[derive(Debug, Clone)]
struct Tangent {
    value: f64,
    offset: f64,
    /// The size of the numbers that the offset was computed from.
    size: f64,
    slope: Vec<f64>,
}

fn flat(outputs: usize) -> Tangent {
    Tangent { value: 0.0, offset: 0.0, size: 0.0, slope: vec![0.0; outputs] }
}

impl LinearLosses<'_> {
    fn truth(&self, row: usize) -> Truth<'_> {
        match self.truths {
            PlainKind::Signs(rows, positive) if rows[row] == positive => Truth::Sign(1.0),
            PlainKind::Signs(..) => Truth::Sign(-1.0),
            PlainKind::Classes(rows) => Truth::Class(rows[row] as usize),
            PlainKind::Sets(labels) => Truth::Set(labels.row(row)),
        }
    }

    /// The entries of a row with the constant feature.
    fn entries(&self, row: usize) -> Vec<(usize, f64)> {
        let bias = self.bias.map(|bias| (self.features.cols(), bias));
        self.features.row(row).filter(|(_, x)| *x != 0.0).chain(bias).collect()
    }

    fn outputs_at(&self, entries: &[(usize, f64)], w: &[f64]) -> Vec<f64> {
        let mut f = vec![0.0; self.outputs];
        for &(j, x) in entries {
            for (f, w) in f.iter_mut().zip(&w[j * self.outputs..]) {
                *f += x * w;
            }
        }
        f
    }

    /// The loss of one row at outputs `f`.
    fn tangent(&self, row: usize, f: &[f64]) -> Tangent {
        match (self.loss, self.truth(row)) {
            (Logistic, Truth::Class(label)) => softmax(label, f),
            (_, Truth::Sign(sign)) => self.binary(sign, f[0]),
            (_, Truth::Class(label)) => self.worst_pair((0..f.len()).map(|z| (label, z)), f),
            (_, Truth::Set(set)) => {
                let has = |z: usize| set.contains(&(z as u32));
                // Where all margins are 1 the worst pair is the lowest label with the highest
                // non-label; the search over pairs meets it first too, but takes |Z|² steps.
                let low = (0..f.len()).filter(|&z| has(z));
                let high = (0..f.len()).filter(|&z| !has(z));
                if self.label_loss.is_some() {
                    let pairs = low.flat_map(|z| high.clone().map(move |other| (z, other)));
                    return self.worst_pair(pairs, f);
                }
                let low = low.reduce(|best, z| if f[z] < f[best] { z } else { best });
                let high = high.reduce(|best, z| if f[z] > f[best] { z } else { best });
                self.worst_pair(low.zip(high).into_iter(), f)
            }
        }
    }

    fn binary(&self, sign: f64, f: f64) -> Tangent {
        let margin = sign * f;
        let (value, derivative) = match self.loss {
            Hinge if margin < 1.0 => {
                return Tangent { value: 1.0 - margin, offset: 1.0, size: 1.0, slope: vec![-sign] };
            }
            Hinge => return flat(1),
            SquaredHinge => {
                let slack = (1.0 - margin).max(0.0);
                (slack * slack, -2.0 * slack)
            }
            HuberHinge(h) if margin < 1.0 - h => (1.0 - margin, -1.0),
            HuberHinge(h) => {
                let slack = (1.0 + h - margin).max(0.0);
                (slack * slack / (4.0 * h), -slack / (2.0 * h))
            }
            Logistic if margin > 0.0 => {
                ((-margin).exp().ln_1p(), -(-margin).exp() / (1.0 + (-margin).exp()))
            }
            Logistic => (margin.exp().ln_1p() - margin, -1.0 / (1.0 + margin.exp())),
        };
        let size = value + (derivative * margin).abs();
        Tangent { value, offset: value - derivative * margin, size, slope: vec![derivative * sign] }
    }

    fn margin(&self, z: usize, other: usize) -> f64 {
        match self.label_loss {
            Some(delta) => delta[z * self.outputs + other],
            None => f64::from(u8::from(z != other)),
        }
    }

    /// max over pairs (z, z') of Δ(z, z') + f_{z'} − f_z, and 0.
    fn worst_pair(&self, pairs: impl Iterator<Item = (usize, usize)>, f: &[f64]) -> Tangent {
        let mut worst: Option<(f64, usize, usize)> = None;
        for (z, other) in pairs {
            let loss = self.margin(z, other) + (f[other] - f[z]);
            if worst.is_none_or(|(top, _, _)| loss > top) {
                worst = Some((loss, z, other));
            }
        }
        match worst {
            Some((value, z, other)) if value > 0.0 => self.pair(z, other, value),
            _ => flat(f.len()),
        }
    }

    /// What a pair of classes says of the loss: Δ(z, z') + f_{z'} − f_z.
    fn pair(&self, z: usize, other: usize, value: f64) -> Tangent {
        let (margin, mut slope) = (self.margin(z, other), vec![0.0; self.outputs]);
        slope[other] += 1.0;
        slope[z] -= 1.0;
        Tangent { value, offset: margin, size: margin, slope }
    }

    /// A piece of the hinge of one row, whatever the outputs are: a minorant of it everywhere.
    fn piece(&self, row: usize, piece: Piece) -> Result<Tangent, String> {
        if self.loss != Hinge {
            return Err(NO_PIECE.into());
        }
        let Piece::Slope { up, down } = piece else { return Ok(flat(self.outputs)) };
        let (up, down) = (up as usize, down as usize);
        let is_allowed = match self.truth(row) {
            Truth::Sign(sign) => return Ok(self.binary(sign, 0.0)),
            Truth::Class(label) => down == label && up != label,
            Truth::Set(set) => set.contains(&(down as u32)) && !set.contains(&(up as u32)),
        };
        if !is_allowed || up >= self.outputs || down >= self.outputs {
            return Err(NO_PIECE.into());
        }
        Ok(self.pair(down, up, 0.0))
    }

    /// The highest minorant of a row's loss that has these slopes.
    fn highest(&self, row: usize, slopes: &[f64]) -> Option<Tangent> {
        let mut slope = slopes.to_vec();
        let fits = slope.len() == self.outputs;
        let offset = fits.then(|| self.highest_offset(row, &mut slope))??;
        Some(Tangent { value: 0.0, offset, size: 0.0, slope })
    }

    /// The largest offset with which `offset + slope · f` lies below the row's loss everywhere.
    fn highest_offset(&self, row: usize, slope: &mut [f64]) -> Option<f64> {
        let label = match self.truth(row) {
            Truth::Sign(sign) => {
                let most = if self.loss == SquaredHinge { f64::MAX } else { 1.0 };
                let q = allowed(-sign * slope[0], most)?;
                slope[0] = -sign * q;
                return Some(match self.loss {
                    Hinge => q,
                    SquaredHinge => q - 0.25 * q * q,
                    HuberHinge(h) => q * (1.0 + h * (1.0 - q)),
                    Logistic => entropy(q) + entropy(1.0 - q),
                });
            }
            Truth::Class(label) => label,
            Truth::Set(_) => return None,
        };
        let mut others = 0.0;
        for (_, slope) in slope.iter_mut().enumerate().filter(|(z, _)| *z != label) {
            *slope = allowed(*slope, 1.0)?;
            others += *slope;
        }
        let total = allowed(others, 1.0)?;
        if (slope[label] + total).abs() > OUTSIDE {
            return None;
        }
        // Moved back onto the simplex, so that the slopes add up to 0 as well as numbers can.
        if others > 1.0 {
            slope.iter_mut().for_each(|slope| *slope /= others);
        }
        slope[label] = -total;
        let rest = slope.iter().enumerate().filter(|(z, _)| *z != label);
        match (self.loss, self.label_loss) {
            (Hinge, Some(_)) => Some(rest.map(|(z, s)| s * self.margin(label, z)).sum()),
            (Hinge, None) => Some(total),
            (Logistic, _) => {
                Some(rest.map(|(_, s)| entropy(*s)).sum::<f64>() + entropy(1.0 - total))
            }
            (SquaredHinge | HuberHinge(_), _) => None,
        }
    }
}

impl PlainLoss for LinearLosses<'_> {
    fn value(&self, row: usize, w: &[f64]) -> Value {
        let f = self.outputs_at(&self.entries(row), w);
        let score = f.iter().fold(0.0, |most: f64, f| most.max(f.abs()));
        let margins = self.label_loss.unwrap_or_default();
        let margin = margins.iter().fold(1.0, |most: f64, d| most.max(*d));
        Value { loss: self.tangent(row, &f).value, size: margin + score }
    }

    fn add(
        &self,
        row: usize,
        below: &[(Below<'_>, f64)],
        minorant: &mut Minorant,
    ) -> Result<(), String> {
        let entries = self.entries(row);
        let mut coefficients = vec![0.0; self.outputs];
        for &(below, share) in below {
            let tangent = match below {
                Below::Tangent(w) => self.tangent(row, &self.outputs_at(&entries, w)),
                Below::Piece(piece) => self.piece(row, piece)?,
                Below::Slopes(slopes) => self.highest(row, slopes).ok_or_else(|| {
                    let row = row + 1;
                    format!(
                        "no minorant of the loss of row {row} has the slopes that the proof gives"
                    )
                })?,
                Below::Output(_) => return Err(below.refusal()),
            };
            coefficients.iter_mut().zip(&tangent.slope).for_each(|(c, s)| *c += share * s);
            minorant.add_offset(share, tangent.offset, tangent.size);
        }
        // The row with coefficients on its outputs is added to the normal.
        let length = entries.iter().map(|(_, x)| x * x).sum::<f64>().sqrt();
        minorant.normal_size += length * coefficients.iter().map(|c| c.abs()).sum::<f64>();
        minorant.terms += 1;
        for &(j, x) in &entries {
            for (a, c) in minorant.normal[j * self.outputs..].iter_mut().zip(&coefficients) {
                *a += x * c;
            }
        }
        Ok(())
    }
}

/// A number that ought to lie between 0 and `most`, moved there if rounding has carried it out.
fn allowed(q: f64, most: f64) -> Option<f64> {
    (-OUTSIDE <= q && q <= most + OUTSIDE).then(|| q.clamp(0.0, most))
}

fn entropy(q: f64) -> f64 {
    if q > 0.0 { -q * q.ln() } else { 0.0 }
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
