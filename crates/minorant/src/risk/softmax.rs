//! The multiclass logistic loss log Σ_z exp(f_z) − f_{z_i}.

use super::loss::{Conjugate, Loss, SecondDerivative, Tangent, allowed_slopes, entropy};
use std::ops::Range;

/// The softmax loss of a class label.
#[derive(Debug, Clone)]
pub struct Softmax {
    classes: usize,
    labels: Vec<u32>,
}

impl Softmax {
    /// `labels[i]` is below `classes`.
    pub fn new(classes: usize, labels: Vec<u32>) -> Self {
        Softmax { classes, labels }
    }
}

/// −log p of the label, which is `behind` the highest output; `rest` is the sum of the others'
/// exponentials. Where the label leads, the loss is the logarithm of 1 and little more.
fn loss_of(rest: f64, behind: f64) -> f64 {
    if behind == 0.0 { rest.ln_1p() } else { behind + (rest + (-behind).exp()).ln() }
}

impl Loss for Softmax {
    fn is_smooth(&self) -> bool {
        true
    }

    fn outputs(&self) -> usize {
        self.classes
    }

    fn value(&self, example: usize, f: &[f64]) -> f64 {
        let label = self.labels[example] as usize;
        let top = f.iter().fold(f64::NEG_INFINITY, |top, &f| top.max(f));
        let others = f.iter().enumerate().filter(|(z, _)| *z != label);
        let rest: f64 = others.map(|(_, f)| (f - top).exp()).sum();
        loss_of(rest, top - f[label])
    }

    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        let label = self.labels[example] as usize;
        let top = f.iter().fold(f64::NEG_INFINITY, |top, &f| top.max(f));
        let mut rest = 0.0;
        for (z, (c, f)) in c.iter_mut().zip(f).enumerate() {
            *c = (f - top).exp();
            rest += if z == label { 0.0 } else { *c };
        }
        let (behind, total) = (top - f[label], rest + c[label]);
        let value = loss_of(rest, behind);
        // The offset is the entropy Σ_z p_z (−log p_z), a sum of numbers that are not negative; the
        // label's slope is what the others leave, so that all slopes add up to 0 exactly.
        let (mut others, mut entropy) = (0.0, 0.0);
        for (z, (c, g)) in c.iter_mut().zip(f).enumerate() {
            if z != label {
                *c /= total;
                others += *c;
                entropy += *c * (value - (g - f[label]));
            }
        }
        c[label] = -others;
        Tangent { value, offset: entropy + (1.0 - others).max(0.0) * value }
    }

    fn conjugate(&self) -> Option<&dyn Conjugate> {
        Some(self)
    }

    fn curvature(&self) -> Option<&dyn SecondDerivative> {
        Some(self)
    }
}

impl Conjugate for Softmax {
    fn highest_offset(&self, example: usize, c: &mut [f64]) -> Option<f64> {
        let label = self.labels[example] as usize;
        let others = allowed_slopes(label, c)?;
        let rest = c.iter().enumerate().filter(|(z, _)| *z != label);
        Some(rest.map(|(_, c)| entropy(*c)).sum::<f64>() + entropy(1.0 - others))
    }
}

impl SecondDerivative for Softmax {
    /// diag(p) − p pᵀ with the classes' probabilities p.
    fn second_derivative(&self, _example: usize, f: &[f64], a: &mut [f64], b: &mut [f64]) {
        let top = f.iter().fold(f64::NEG_INFINITY, |top, &f| top.max(f));
        a.iter_mut().zip(f).for_each(|(a, f)| *a = (f - top).exp());
        let sum: f64 = a.iter().sum();
        a.iter_mut().for_each(|a| *a /= sum);
        b.copy_from_slice(a);
    }

    /// Σ p d² − (Σ p d)², where p is the slope, and for the label 1 more than that.
    fn rates(&self, rows: Range<usize>, (_f, c): (&[f64], &[f64]), d: &[f64], rates: &mut [f64]) {
        let k = self.classes;
        let each = c.chunks_exact(k).zip(d.chunks_exact(k)).zip(rates);
        for (label, ((c, d), rate)) in self.labels[rows].iter().zip(each) {
            let own = d[*label as usize];
            let (mut square, mut product) = (own * own, own);
            for (c, d) in c.iter().zip(d) {
                square += c * d * d;
                product += c * d;
            }
            *rate = square - product * product;
        }
    }
}
