//! The transductive loss of several classes: the joint hinge for rows with a label, and for rows
//! without max(0, 1 − (best score − second best score)). The loss is not convex: that of a row
//! without a label is max(2 f₁, 1 + f₁ + f₂) less 2 f₁, where f₁ and f₂ are the two best scores (both are maxima of
//! linear functions, over classes and over pairs of them).

use super::loss::{Conjugate, Difference, Loss, Piecewise, Tangent, allowed_size};
use super::multiclass_hinge::{MulticlassHinge, uniform_margins};
use crate::line::Pieces;

/// The loss of rows of which some have a class.
#[derive(Debug, Clone)]
pub struct MulticlassTransductive {
    hinge: MulticlassHinge,
    is_labelled: Vec<bool>,
}

impl MulticlassTransductive {
    /// `labels[i]` is a class below `classes`, or nothing for a row without a label.
    pub fn new(classes: usize, labels: &[Option<u32>]) -> Self {
        let known = labels.iter().map(|label| label.unwrap_or(0)).collect();
        MulticlassTransductive {
            hinge: MulticlassHinge::new(classes, known, uniform_margins(classes)),
            is_labelled: labels.iter().map(Option::is_some).collect(),
        }
    }
}

/// The classes with the best and the second best score; ties go to the first.
fn two_best(f: &[f64]) -> (usize, usize) {
    let (mut best, mut second) = if f[1] > f[0] { (1, 0) } else { (0, 1) };
    for z in 2..f.len() {
        if f[z] > f[best] {
            (best, second) = (z, best);
        } else if f[z] > f[second] {
            second = z;
        }
    }
    (best, second)
}

/// 2 f_z for every class, and 1 + f_z + f_y for every pair, along f + η d.
fn convex_lines<'a>(f: &'a [f64], d: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
    let singles = f.iter().zip(d).map(|(f, d)| (2.0 * f, 2.0 * d));
    let pairs =
        (0..f.len()).flat_map(move |z| (0..z).map(move |y| (1.0 + f[z] + f[y], d[z] + d[y])));
    singles.chain(pairs)
}

impl Loss for MulticlassTransductive {
    fn outputs(&self) -> usize {
        self.hinge.outputs()
    }

    fn value(&self, example: usize, f: &[f64]) -> f64 {
        if self.is_labelled[example] {
            return self.hinge.value(example, f);
        }
        let (best, second) = two_best(f);
        (1.0 - (f[best] - f[second])).max(0.0)
    }

    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        if self.is_labelled[example] {
            return self.hinge.tangent(example, f, c);
        }
        c.fill(0.0);
        let (best, second) = two_best(f);
        let value = 1.0 - (f[best] - f[second]);
        if value <= 0.0 {
            return Tangent { value: 0.0, offset: 0.0 };
        }
        (c[best], c[second]) = (-1.0, 1.0);
        Tangent { value, offset: 1.0 }
    }

    fn is_convex(&self) -> bool {
        false
    }

    fn pieces(&self) -> Option<&dyn Piecewise> {
        Some(self)
    }

    fn difference(&self) -> Option<&dyn Difference> {
        Some(self)
    }
}

impl Piecewise for MulticlassTransductive {
    fn add_pieces(&self, example: usize, f: &[f64], d: &[f64], pieces: &mut Pieces<'_>) {
        if self.is_labelled[example] {
            return self.hinge.add_pieces(example, f, d, pieces);
        }
        pieces.maximum(convex_lines(f, d));
        pieces.scaled_maximum(-2.0, f.iter().copied().zip(d.iter().copied()));
    }
}

impl Difference for MulticlassTransductive {
    fn convex_term(&self) -> Box<dyn Loss + '_> {
        Box::new(ConvexTerm(self))
    }

    /// −2 f₁ for rows without a label.
    fn concave_tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> f64 {
        c.fill(0.0);
        if !self.is_labelled[example] {
            c[two_best(f).0] = -2.0;
        }
        0.0
    }
}

/// The same with max(2 f₁, 1 + f₁ + f₂) for rows without a label.
#[derive(Debug)]
struct ConvexTerm<'a>(&'a MulticlassTransductive);

impl Loss for ConvexTerm<'_> {
    fn outputs(&self) -> usize {
        self.0.outputs()
    }

    fn value(&self, example: usize, f: &[f64]) -> f64 {
        if self.0.is_labelled[example] {
            return self.0.value(example, f);
        }
        let (best, second) = two_best(f);
        (2.0 * f[best]).max(1.0 + f[best] + f[second])
    }

    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        if self.0.is_labelled[example] {
            return self.0.tangent(example, f, c);
        }
        c.fill(0.0);
        let (best, second) = two_best(f);
        if f[best] - f[second] >= 1.0 {
            c[best] = 2.0;
            return Tangent { value: 2.0 * f[best], offset: 0.0 };
        }
        (c[best], c[second]) = (1.0, 1.0);
        Tangent { value: 1.0 + f[best] + f[second], offset: 1.0 }
    }

    fn pieces(&self) -> Option<&dyn Piecewise> {
        Some(self)
    }

    fn conjugate(&self) -> Option<&dyn Conjugate> {
        Some(self)
    }
}

impl Conjugate for ConvexTerm<'_> {
    /// Of a row without a label, slopes are a mixture of 2 at one output and of 1 at two outputs: they add up
    /// to 2, and as much as can be made of pairs counts.
    fn highest_offset(&self, example: usize, c: &mut [f64]) -> Option<f64> {
        if self.0.is_labelled[example] {
            return self.0.hinge.conjugate()?.highest_offset(example, c);
        }
        for c in c.iter_mut() {
            *c = allowed_size(*c, 2.0)?;
        }
        let half = 0.5 * c.iter().sum::<f64>();
        allowed_size((half - 1.0).abs(), 0.0)?;
        c.iter_mut().for_each(|c| *c /= half);
        let most = c.iter().fold(0.0, |top: f64, c| top.max(*c));
        Some((2.0 - most).clamp(0.0, 1.0))
    }
}

impl Piecewise for ConvexTerm<'_> {
    fn add_pieces(&self, example: usize, f: &[f64], d: &[f64], pieces: &mut Pieces<'_>) {
        if self.0.is_labelled[example] {
            return self.0.add_pieces(example, f, d, pieces);
        }
        pieces.maximum(convex_lines(f, d));
    }
}
