//! The multiclass logistic loss log Σ_z exp(f_z) − f_{z_i}.

use super::loss::{Conjugate, Loss, SecondDerivative, Tangent, allowed_slopes, entropy};

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

impl Loss for Softmax {
    fn is_smooth(&self) -> bool {
        true
    }

    fn outputs(&self) -> usize {
        self.classes
    }

    fn value(&self, example: usize, f: &[f64]) -> f64 {
        let top = f.iter().fold(f64::NEG_INFINITY, |top, &f| top.max(f));
        let sum: f64 = f.iter().map(|f| (f - top).exp()).sum();
        sum.ln() + (top - f[self.labels[example] as usize])
    }

    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        let label = self.labels[example] as usize;
        let top = f.iter().fold(f64::NEG_INFINITY, |top, &f| top.max(f));
        let mut sum = 0.0;
        for (c, f) in c.iter_mut().zip(f) {
            *c = (f - top).exp();
            sum += *c;
        }
        let value = sum.ln() + (top - f[label]);
        // Σ_z p_z (f_z − f_label): taking differences first keeps the offset exact under a common
        // shift of all outputs.
        let mut mean = 0.0;
        for (c, g) in c.iter_mut().zip(f) {
            *c /= sum;
            mean += *c * (g - f[label]);
        }
        c[label] -= 1.0;
        Tangent { value, offset: value - mean }
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
}
