//! Second derivatives of the losses of all examples in their outputs.

/// For every example diag(a) − b bᵀ over its outputs, the example's weight included.
#[derive(Debug, Clone)]
pub struct SecondDerivatives {
    /// The diagonal, one entry for each output of each example.
    pub diagonal: Vec<f64>,
    /// The vectors b, laid out alike; empty where there is one output.
    pub rank_one: Vec<f64>,
}

impl SecondDerivatives {
    /// Turns the change of some outputs into that of the slopes there; `at` is the number of the first.
    pub(crate) fn apply(&self, at: usize, outputs: usize, change: &mut [f64]) {
        let diagonal = &self.diagonal[at..at + change.len()];
        if outputs == 1 {
            change.iter_mut().zip(diagonal).for_each(|(r, a)| *r *= a);
            return;
        }
        let b = &self.rank_one[at..at + change.len()];
        let each = change.chunks_exact_mut(outputs).zip(diagonal.chunks_exact(outputs));
        for ((r, a), b) in each.zip(b.chunks_exact(outputs)) {
            let along: f64 = b.iter().zip(&*r).map(|(b, r)| b * r).sum();
            for ((r, a), b) in r.iter_mut().zip(a).zip(b) {
                *r = a * *r - b * along;
            }
        }
    }

    /// Whether an example is not curved at all.
    pub(super) fn is_flat(&self, example: usize, outputs: usize) -> bool {
        self.diagonal[example * outputs..(example + 1) * outputs].iter().all(|a| *a == 0.0)
    }
}
