//! The losses of linear models once more, in their plainest form: rows are read one by one, outputs
//! are sums in twice the working precision, and each loss has its value, a tangent, and the highest
//! minorant with given slopes (its convex conjugate).

use super::residual::PlainResidual;
use super::{Below, EXACT, Minorant, NO_PIECE, PlainLoss, entropy, entropy_of_rest};
use crate::proof::Piece;
use minorant_data::Labels;
use minorant_linalg::Matrix;
use minorant_linalg::dense::dispatch;
use minorant_linalg::elementary;
use minorant_linalg::sum::Sum;

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
    /// The target of each row, and what it costs to miss it.
    Targets(&'a [f64], PlainResidual<'a>),
}

/// What is true of one row.
#[derive(Debug, Clone, Copy)]
enum Truth<'a> {
    Sign(f64),
    Class(usize),
    Set(&'a [u32]),
    Target(f64, PlainResidual<'a>),
}

/// The rows of a linear problem with their loss.
#[derive(Debug)]
pub struct LinearLosses<'a> {
    /// The rows.
    pub features: &'a Matrix<'a>,
    /// The constant feature.
    pub bias: Option<f64>,
    /// What is added to the outputs, where that is not penalised.
    pub intercept: Option<&'a [f64]>,
    /// What is true of the rows.
    pub truths: PlainKind<'a>,
    /// Linear outputs of a row.
    pub outputs: usize,
    /// The loss of classes.
    pub loss: PlainMargin,
    /// Δ(z, other) at z · K + other; 1 for every wrong one if not given.
    pub label_loss: Option<Vec<f64>>,
}

/// A loss with a tangent: loss(f') ≥ offset + slope · f' everywhere, equal at f.
#[derive(Debug, Clone)]
pub(super) struct Tangent {
    pub(super) value: f64,
    /// The offset, and how far rounding may have moved it.
    pub(super) offset: (f64, f64),
    pub(super) slope: Vec<f64>,
}

fn flat(outputs: usize) -> Tangent {
    Tangent { value: 0.0, offset: (0.0, 0.0), slope: vec![0.0; outputs] }
}

impl LinearLosses<'_> {
    fn truth(&self, row: usize) -> Truth<'_> {
        match self.truths {
            PlainKind::Signs(rows, positive) if rows[row] == positive => Truth::Sign(1.0),
            PlainKind::Signs(..) => Truth::Sign(-1.0),
            PlainKind::Classes(rows) => Truth::Class(rows[row] as usize),
            PlainKind::Sets(labels) => Truth::Set(labels.row(row)),
            PlainKind::Targets(targets, loss) => Truth::Target(targets[row], loss),
        }
    }

    /// The entries of a row with the constant feature.
    fn entries(&self, row: usize) -> Vec<(usize, f64)> {
        let bias = self.bias.map(|bias| (self.features.cols(), bias));
        self.features.row(row).filter(|(_, x)| *x != 0.0).chain(bias).collect()
    }

    fn outputs_at(&self, entries: &[(usize, f64)], w: &[f64]) -> Vec<Sum> {
        let mut f = vec![Sum::new(); self.outputs];
        dispatch(
            #[inline(always)]
            || {
                for &(j, x) in entries {
                    for (f, w) in f.iter_mut().zip(&w[j * self.outputs..]) {
                        f.add_product(x, *w);
                    }
                }
            },
        );
        f
    }

    /// The loss of one row at outputs `f`, and a tangent there.
    fn tangent(&self, row: usize, f: &[Sum]) -> Tangent {
        match (self.loss, self.truth(row)) {
            (_, Truth::Target(target, loss)) => loss.tangent(target, f),
            (Logistic, Truth::Class(label)) => self.softmax(row, label, f),
            (_, Truth::Sign(sign)) => self.binary(row, sign, f[0]),
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
                let is_above = |a: usize, b: usize| less(f[a], f[b]) > 0.0;
                let low = low.reduce(|best, z| if is_above(best, z) { z } else { best });
                let high = high.reduce(|best, z| if is_above(z, best) { z } else { best });
                self.worst_pair(low.zip(high).into_iter(), f)
            }
        }
    }

    fn binary(&self, row: usize, sign: f64, f: Sum) -> Tangent {
        // What the margin lacks to 1 + h, and the margin.
        let slack = |h: f64| {
            let mut slack: Sum = [1.0, h].into_iter().collect();
            slack.add_scaled(-sign, f);
            slack.value().max(0.0)
        };
        let margin = sign * f.value();
        let (value, steepness) = match self.loss {
            Hinge if slack(0.0) > 0.0 => {
                let offset = (1.0, 0.0);
                return Tangent { value: slack(0.0), offset, slope: vec![-sign] };
            }
            Hinge => return flat(1),
            SquaredHinge => (slack(0.0) * slack(0.0), 2.0 * slack(0.0)),
            HuberHinge(h) if slack(-h) > 0.0 => (slack(0.0), 1.0),
            HuberHinge(h) => (slack(h) * slack(h) / (4.0 * h), slack(h) / (2.0 * h)),
            Logistic => {
                let small = elementary::exp(-margin.abs());
                let above = if margin > 0.0 { small } else { 1.0 };
                (elementary::ln_1p(small) + (-margin).max(0.0), above / (1.0 + small))
            }
        };
        self.steepest(row, value, vec![-sign * steepness])
    }

    /// The highest minorant with slopes that a smooth loss has somewhere, which is a tangent up to the
    /// rounding of the slopes; and below the loss whatever they are.
    fn steepest(&self, row: usize, value: f64, mut slope: Vec<f64>) -> Tangent {
        let offset = self.highest_offset(row, &mut slope);
        Tangent { value, offset: offset.unwrap_or((f64::NAN, 0.0)), slope }
    }

    /// Δ(z, other): what it costs to answer `other` where z is true; 1 for every wrong one if not given.
    fn cost(&self, z: usize, other: usize) -> f64 {
        match &self.label_loss {
            Some(delta) => delta[z * self.outputs + other],
            None => f64::from(u8::from(z != other)),
        }
    }

    /// max over pairs (z, z') of Δ(z, z') + f_{z'} − f_z, and 0.
    fn worst_pair(&self, pairs: impl Iterator<Item = (usize, usize)>, f: &[Sum]) -> Tangent {
        let mut worst: Option<(f64, usize, usize)> = None;
        for (z, other) in pairs {
            let mut loss = f[other];
            loss.add_scaled(-1.0, f[z]);
            loss.add(self.cost(z, other));
            let loss = loss.value();
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
        let (cost, mut slope) = (self.cost(z, other), vec![0.0; self.outputs]);
        slope[other] += 1.0;
        slope[z] -= 1.0;
        Tangent { value, offset: (cost, 0.0), slope }
    }

    fn softmax(&self, row: usize, label: usize, f: &[Sum]) -> Tangent {
        // Only differences to the label's output matter.
        let behind: Vec<f64> = f.iter().map(|f_z| less(*f_z, f[label])).collect();
        let top = behind.iter().copied().fold(0.0, f64::max);
        let others = behind.iter().enumerate().filter(|(z, _)| *z != label);
        let rest: f64 = others.map(|(_, d)| elementary::exp(d - top)).sum();
        let total = rest + elementary::exp(-top);
        // Where the label leads, the sum is 1 and what the others add.
        let value = if top > 0.0 { top + elementary::ln(total) } else { elementary::ln_1p(rest) };
        let mut slope: Vec<f64> = behind.iter().map(|d| elementary::exp(d - top) / total).collect();
        slope[label] = 0.0;
        slope[label] = -slope.iter().sum::<f64>();
        self.steepest(row, value, slope)
    }

    /// A piece of the hinge of one row, whatever the outputs are: a minorant of it everywhere.
    fn piece(&self, row: usize, piece: Piece) -> Result<Tangent, String> {
        if let Truth::Target(_, loss) = self.truth(row) {
            let slopes = loss.slopes_of(piece, self.outputs).ok_or(NO_PIECE)?;
            return self.highest(row, &slopes).ok_or_else(|| NO_PIECE.into());
        }
        if self.loss != Hinge {
            return Err(NO_PIECE.into());
        }
        let Piece::Slope { up, down } = piece else { return Ok(flat(self.outputs)) };
        let (up, down) = (up as usize, down as usize);
        let is_allowed = match self.truth(row) {
            Truth::Sign(sign) => return Ok(self.binary(row, sign, Sum::new())),
            Truth::Target(..) => false,
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
        Some(Tangent { value: 0.0, offset, slope })
    }

    /// The largest offset with which `offset + slope · f` lies below the row's loss everywhere, and how
    /// far rounding may have moved it.
    fn highest_offset(&self, row: usize, slope: &mut [f64]) -> Option<(f64, f64)> {
        // A logarithm is off by ε, and products and sums by half as much each.
        let near = |offset: f64, size: f64| (offset, 8.0 * f64::EPSILON * size);
        let label = match self.truth(row) {
            Truth::Target(target, loss) => return loss.highest_offset(target, slope),
            Truth::Sign(sign) => {
                let most = if self.loss == SquaredHinge { f64::MAX } else { 1.0 };
                let q = allowed(-sign * slope[0], most)?;
                slope[0] = -sign * q;
                return Some(match self.loss {
                    Hinge => near(q, q),
                    SquaredHinge => near(q - 0.25 * q * q, q + q * q),
                    HuberHinge(h) => near(q * (1.0 + h * (1.0 - q)), q * (1.0 + h)),
                    Logistic => {
                        let offset = entropy(q) + entropy_of_rest(q);
                        near(offset, offset)
                    }
                });
            }
            Truth::Class(label) => label,
            Truth::Set(set) => {
                // With a label loss, which pairs a minorant is made of is not told by its slopes.
                let is_uniform = self.loss == Hinge && self.label_loss.is_none();
                let total = is_uniform.then(|| of_pairs(set, slope))??;
                return Some(near(total, total * slope.len() as f64));
            }
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
        let offset = match (self.loss, &self.label_loss) {
            (Hinge, Some(_)) => rest.map(|(z, s)| s * self.cost(label, z)).sum(),
            (Hinge, None) => total,
            (Logistic, _) => rest.map(|(_, s)| entropy(*s)).sum::<f64>() + entropy_of_rest(total),
            (SquaredHinge | HuberHinge(_), _) => return None,
        };
        Some(near(offset, offset * slope.len() as f64))
    }
}

impl PlainLoss for LinearLosses<'_> {
    fn rounding(&self) -> Option<f64> {
        Some(EXACT)
    }

    fn value(&self, row: usize, w: &[f64]) -> f64 {
        let mut f = self.outputs_at(&self.entries(row), w);
        f.iter_mut().zip(self.intercept.unwrap_or_default()).for_each(|(f, b)| f.add(*b));
        self.tangent(row, &f).value
    }

    fn add(
        &self,
        row: usize,
        below: &[(Below<'_>, f64)],
        minorant: &mut Minorant,
    ) -> Result<(), String> {
        let entries = self.entries(row);
        let mut coefficients = vec![Sum::new(); self.outputs];
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
            for (c, slope) in coefficients.iter_mut().zip(&tangent.slope) {
                c.add_product(share, *slope);
            }
            minorant.add_offset(share, tangent.offset.0, tangent.offset.1);
            if let Truth::Target(_, loss) = self.truth(row)
                && let Some(rise) = loss.rise_with_scale(&tangent.slope)
            {
                if !matches!(below, Below::Slopes(_)) {
                    return Err("expected a proof by slopes, as the scale of Huber's loss is fitted together with the weights".into());
                }
                minorant.add_free(share, rise);
            }
        }
        // The row with coefficients on its outputs is added to the normal.
        dispatch(
            #[inline(always)]
            || {
                for &(j, x) in &entries {
                    for (z, c) in coefficients.iter().enumerate() {
                        minorant.add_slope(j * self.outputs + z, x, *c, 0.0);
                    }
                }
            },
        );
        if self.intercept.is_some() {
            let behind = (self.features.cols() + usize::from(self.bias.is_some())) * self.outputs;
            for (z, c) in coefficients.iter().enumerate() {
                minorant.add_slope(behind + z, 1.0, *c, 0.0);
            }
        }
        Ok(())
    }
}

/// One output less another.
pub(super) fn less(a: Sum, b: Sum) -> f64 {
    let mut difference = a;
    difference.add_scaled(-1.0, b);
    difference.value()
}

/// A number that ought to lie between 0 and `most`, moved there if rounding has carried it out.
fn allowed(q: f64, most: f64) -> Option<f64> {
    (-OUTSIDE <= q && q <= most + OUTSIDE).then(|| q.clamp(0.0, most))
}

/// The share of pairs in a mixture of pairs of a label of the set and one outside of it, by what the
/// mixture takes from the one and gives to the other: both must be the same.
fn of_pairs(set: &[u32], slope: &mut [f64]) -> Option<f64> {
    let (mut taken, mut given) = (0.0, 0.0);
    for (z, slope) in slope.iter_mut().enumerate() {
        if set.contains(&(z as u32)) {
            *slope = -allowed(-*slope, 1.0)?;
            taken -= *slope;
        } else {
            *slope = allowed(*slope, 1.0)?;
            given += *slope;
        }
    }
    let total = allowed(f64::min(taken, given), 1.0)?;
    if (taken - given).abs() > OUTSIDE {
        return None;
    }
    // Moved back, so that the slopes add up to 0 as well as numbers can.
    for slope in slope.iter_mut() {
        *slope *= if *slope < 0.0 { total / taken } else { total / given.max(f64::MIN_POSITIVE) };
    }
    Some(total)
}
