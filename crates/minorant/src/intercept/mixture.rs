//! The best intercept of several outputs of a loss with kinks, by a small bundle method with a prox term
//! over the intercept alone, and the mixture of the examples' slopes that its dual point is: there the
//! slopes add up to zero, as far as the method has come. An evaluation is a sweep over outputs; the data is
//! not read.

use super::InterceptRisk;
use super::small_system::SmallSystem;
use crate::bundle::{Bundle, Limits};
use crate::proof::Proof;
use crate::regularizer::L2;
use crate::risk::Plane;
use crate::risk::loss::Tangent;
use minorant_linalg::dense::norm2;
use minorant_linalg::parallel::map_chunks_mut;
use minorant_linalg::sum::Sum;

/// Evaluations of one search.
const EVALUATIONS: usize = 400;
/// A descent that is this share of the losses is rounding.
const ROUNDING: f64 = 1e-14;
/// The share of the promised descent that a step must bring, and the one from which on it could have been
/// longer.
const SERIOUS: f64 = 0.1;
const TRUSTED: f64 = 0.5;
/// Steps one after the other that bring too little before they become shorter.
const NULLS: usize = 10;
/// Planes that are kept besides two for each output.
const FURTHER: usize = 20;

/// Corrections of the weights of planes at the end.
const BALANCES: usize = 4;

/// What the losses come to at an intercept.
struct There {
    value: f64,
    plane: Plane,
}

/// Moves the weights of the planes a little, each in proportion to itself, so that the normals add up to
/// zero: the master, which knows their products alone, leaves the square root of rounding.
fn balance(bundle: &mut Bundle, k: usize) {
    let (mut weights, normals): (Vec<f64>, Vec<Vec<f64>>) = bundle.weighed().into_iter().unzip();
    // The last component is the sum of the weights.
    let entry = |j: usize, p: usize| normals[j].get(p).copied().unwrap_or(1.0);
    let before = imbalance(&weights, &normals);
    for _ in 0..BALANCES {
        let mut matrix = vec![0.0; (k + 1) * (k + 1)];
        let mut sum = vec![Sum::new(); k + 1];
        for (j, &weight) in weights.iter().enumerate() {
            for p in 0..=k {
                sum[p].add_product(weight, entry(j, p));
                for q in 0..=k {
                    matrix[p * (k + 1) + q] += weight * entry(j, p) * entry(j, q);
                }
            }
        }
        sum[k].add(-1.0);
        let sum: Vec<f64> = sum.into_iter().map(Sum::value).collect();
        let mu = SmallSystem::new(&matrix, k + 1).solve(&sum);
        for (j, weight) in weights.iter_mut().enumerate() {
            let product: f64 = (0..=k).map(|p| entry(j, p) * mu[p]).sum();
            *weight *= (1.0 - product).max(0.0);
        }
    }
    if imbalance(&weights, &normals) < before {
        bundle.reweigh(&weights);
    }
}

/// The largest component of the sum of normals.
fn imbalance(weights: &[f64], normals: &[Vec<f64>]) -> f64 {
    let total: f64 = weights.iter().sum();
    let component = |p: usize| {
        let each = weights.iter().zip(normals);
        each.map(|(weight, normal)| weight * normal[p]).collect::<Sum>().value()
    };
    let all = 0..normals.first().map_or(0, Vec::len);
    all.map(component).fold(0.0, |top: f64, x| top.max(x.abs())) / total
}

impl InterceptRisk<'_> {
    /// The best intercept for outputs, and slopes of minorants that touch there, or nearly so.
    pub(super) fn mixture(&self, outputs: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (none, k) = (L2::none(), self.loss().outputs());
        let planes = 2 * k + FURTHER;
        let limits = Limits { planes, bytes: u64::MAX, idle: planes as u32, remembered: 0 };
        let mut bundle = Bundle::new(k, 1, limits);
        let mut best = vec![0.0; k];
        let There { mut value, plane } = self.losses_at(outputs, &best);
        let size = value.abs().max(f64::MIN_POSITIVE);
        // The first step is as long as the losses' margins are wide.
        let mut alpha = 0.5 * norm2(&plane.normal).sqrt().max(f64::MIN_POSITIVE);
        bundle.set_center(&best, &none);
        bundle.add(&best, vec![plane], &none);
        let mut nulls = 0;
        for _ in 0..EVALUATIONS {
            bundle.age();
            bundle.solve_near(&none, alpha, 0.0);
            let minimum = bundle.near_minimum(&none, alpha, false);
            let promised = value - minimum.risk;
            if promised <= ROUNDING * size || !minimum.w.iter().all(|b| b.is_finite()) {
                break;
            }
            let there = self.losses_at(outputs, &minimum.w);
            let descent = value - there.value;
            if descent >= SERIOUS * promised {
                bundle.move_center(minimum.center);
                (best, value, nulls) = (minimum.w.clone(), there.value, 0);
                alpha *= if descent >= TRUSTED * promised { 0.5 } else { 1.0 };
            } else {
                nulls += 1;
                alpha *= if nulls % NULLS == 0 { 2.0 } else { 1.0 };
            }
            bundle.add(&minimum.w, vec![there.plane], &none);
        }
        balance(&mut bundle, k);
        // The last plane may have come without a solve of the master, in which it has no weight.
        match bundle.proof() {
            Some(Proof::Slopes(slopes)) => (best, slopes),
            _ => unreachable!("planes of slopes have a proof by slopes"),
        }
    }

    /// The mean loss at outputs with an intercept, and its plane in the intercept.
    fn losses_at(&self, outputs: &[f64], intercept: &[f64]) -> There {
        let (loss, k) = (self.loss(), intercept.len());
        let mut slopes = vec![0.0; outputs.len()];
        let chunks = map_chunks_mut(&self.inner.rows.chunks, &mut slopes, k, |_, rows, slopes| {
            let mut f: Vec<f64> = outputs[rows.start * k..rows.end * k].to_vec();
            for f in f.chunks_exact_mut(k) {
                f.iter_mut().zip(intercept).for_each(|(f, b)| *f += b);
            }
            let mut tangents = vec![Tangent::default(); rows.len()];
            loss.tangents(rows.clone(), &f, slopes, &mut tangents);
            let (mut value, mut offset, mut normal) = (Sum::new(), Sum::new(), vec![Sum::new(); k]);
            for ((i, tangent), c) in rows.zip(&tangents).zip(slopes.chunks_exact(k)) {
                let weight = self.weight(i);
                value.add_product(weight, tangent.value);
                offset.add_product(weight, tangent.offset);
                for ((c, f), normal) in c.iter().zip(&outputs[i * k..]).zip(&mut normal) {
                    normal.add_product(weight, *c);
                    offset.add_product(weight * c, *f);
                }
            }
            (value, offset, normal)
        });
        let (mut value, mut offset, mut normal) = (Sum::new(), Sum::new(), vec![Sum::new(); k]);
        for chunk in chunks {
            value.add_scaled(1.0, chunk.0);
            offset.add_scaled(1.0, chunk.1);
            normal.iter_mut().zip(chunk.2).for_each(|(sum, x)| sum.add_scaled(1.0, x));
        }
        let normal = normal.into_iter().map(Sum::value).collect();
        let plane = Plane { normal, offset: offset.value(), slopes, ..Plane::default() };
        There { value: value.value(), plane }
    }
}
