//! The multiclass logistic loss log Σ_z exp(f_z) − f_{z_i}.

use super::loss::{
    Conjugate, Loss, SecondDerivative, Tangent, allowed_slopes, entropy, entropy_of_rest,
};
use minorant_linalg::dense::dispatch;
use minorant_linalg::elementary::inlined;
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

/// An output's exponential counts beside the highest one, so that none overflows.
#[inline(always)]
fn highest(f: &[f64]) -> f64 {
    let mut top = f64::NEG_INFINITY;
    for f in f {
        top = top.max(*f);
    }
    top
}

/// Writes the exponentials of the outputs of some rows into `e`, each row's less its highest.
#[inline(always)]
fn exponentials(classes: usize, f: &[f64], e: &mut [f64]) {
    for (f, e) in f.chunks_exact(classes).zip(e.chunks_exact_mut(classes)) {
        let top = highest(f);
        for (e, f) in e.iter_mut().zip(f) {
            *e = f - top;
        }
    }
    for e in e {
        *e = inlined::exp(*e);
    }
}

/// The sum of the exponentials but the label's.
#[inline(always)]
fn rest_of(label: usize, e: &[f64]) -> f64 {
    let mut rest = 0.0;
    for (z, e) in e.iter().enumerate() {
        rest += if z == label { 0.0 } else { *e };
    }
    rest
}

/// −log p of the label, given the exponentials and the sum of those of the others. Where the label
/// leads, the loss is the logarithm of 1 and little more.
#[inline(always)]
fn loss_of(label: usize, f: &[f64], e: &[f64], rest: f64) -> f64 {
    let behind = highest(f) - f[label];
    if behind == 0.0 { inlined::ln_1p(rest) } else { behind + inlined::ln(rest + e[label]) }
}

/// The tangent of one row, whose exponentials in `c` become slopes.
#[inline(always)]
fn tangent(label: usize, f: &[f64], c: &mut [f64]) -> Tangent {
    let rest = rest_of(label, c);
    let value = loss_of(label, f, c, rest);
    let total = rest + c[label];
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

/// The slopes of one row alone, in place of its exponentials.
#[inline(always)]
fn slopes(label: usize, c: &mut [f64]) {
    let total = rest_of(label, c) + c[label];
    let mut others = 0.0;
    for (z, c) in c.iter_mut().enumerate() {
        if z != label {
            *c /= total;
            others += *c;
        }
    }
    c[label] = -others;
}

impl Loss for Softmax {
    fn is_smooth(&self) -> bool {
        true
    }

    fn outputs(&self) -> usize {
        self.classes
    }

    fn value(&self, example: usize, f: &[f64]) -> f64 {
        let mut value = [0.0];
        self.values(example..example + 1, f, &mut value);
        value[0]
    }

    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        let mut tangent = [Tangent::default()];
        self.tangents(example..example + 1, f, c, &mut tangent);
        tangent[0]
    }

    fn values(&self, rows: Range<usize>, f: &[f64], values: &mut [f64]) {
        let (k, labels) = (self.classes, &self.labels[rows]);
        let mut e = vec![0.0; f.len()];
        dispatch(
            #[inline(always)]
            || {
                exponentials(k, f, &mut e);
                let each = f.chunks_exact(k).zip(e.chunks_exact(k)).zip(labels);
                for (((f, e), label), value) in each.zip(values) {
                    let label = *label as usize;
                    *value = loss_of(label, f, e, rest_of(label, e));
                }
            },
        );
    }

    fn tangents(&self, rows: Range<usize>, f: &[f64], c: &mut [f64], tangents: &mut [Tangent]) {
        let (k, labels) = (self.classes, &self.labels[rows]);
        dispatch(
            #[inline(always)]
            || {
                exponentials(k, f, c);
                let each = f.chunks_exact(k).zip(c.chunks_exact_mut(k)).zip(labels);
                for (((f, c), label), to) in each.zip(tangents) {
                    *to = tangent(*label as usize, f, c);
                }
            },
        );
    }

    fn slopes(&self, rows: Range<usize>, f: &[f64], c: &mut [f64]) {
        let (k, labels) = (self.classes, &self.labels[rows]);
        dispatch(
            #[inline(always)]
            || {
                exponentials(k, f, c);
                for (c, label) in c.chunks_exact_mut(k).zip(labels) {
                    slopes(*label as usize, c);
                }
            },
        );
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
        Some(rest.map(|(_, c)| entropy(*c)).sum::<f64>() + entropy_of_rest(others))
    }
}

impl SecondDerivative for Softmax {
    /// diag(p) − p pᵀ with the classes' probabilities p.
    fn second_derivative(&self, _example: usize, f: &[f64], a: &mut [f64], b: &mut [f64]) {
        let k = self.classes;
        dispatch(
            #[inline(always)]
            || exponentials(k, f, a),
        );
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
