//! The multilabel hinge loss: the worst pair of a label z of the example and a label z' that it
//! does not have, max(0, Δ(z', z) + f_{z'} − f_z) (Eqs. 54 and 55 of Yu et al.). With a uniform
//! margin the worst z and the worst z' can be found one without the other, and along a line the loss
//! has at most |Z| pieces. An example with no label
//! or with all of them has loss 0.

use super::Piece;
use super::loss::{Conjugate, KINK, Kinks, Loss, OUTSIDE, Piecewise, TIE, Tangent, allowed_size};
use crate::line::{Envelope, Pieces};

/// The multilabel hinge loss of label sets.
#[derive(Debug, Clone)]
pub struct MultilabelHinge {
    classes: usize,
    /// `member[i * classes + z]`: whether example i has label z.
    member: Vec<bool>,
    /// Δ(z', z) at `[z * classes + z']`, or nothing for the uniform margin 1.
    margins: Option<Vec<f64>>,
}

impl MultilabelHinge {
    /// `member[i * classes + z]` says whether example i has label z; `margins[z * classes + z']`
    /// is Δ(z', z), the uniform margin 1 if not given.
    pub fn new(classes: usize, member: Vec<bool>, margins: Option<Vec<f64>>) -> Self {
        MultilabelHinge { classes, member, margins }
    }

    /// The threshold on the scores that gets the fewest memberships wrong, halfway between two
    /// neighbouring scores; the lowest of several equally good ones.
    pub(crate) fn best_threshold(scores: &[f64], member: &[bool]) -> f64 {
        let mut order: Vec<(f64, bool)> =
            scores.iter().copied().zip(member.iter().copied()).collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let Some(&(lowest, _)) = order.first() else { return 0.0 };
        let mut errors = member.iter().filter(|has| !**has).count() as i64;
        let mut best = (errors, lowest - 1.0);
        for at in 0..order.len() {
            errors += if order[at].1 { 1 } else { -1 };
            let next = order.get(at + 1).map_or(order[at].0 + 2.0, |next| next.0);
            if next > order[at].0 && errors < best.0 {
                let middle = order[at].0 + 0.5 * (next - order[at].0);
                // Between neighbouring doubles the middle may be the upper one, which has to be above.
                best = (errors, if middle < next { middle } else { order[at].0 });
            }
        }
        best.1
    }

    fn sets(
        &self,
        example: usize,
    ) -> (impl Iterator<Item = usize> + Clone + '_, impl Iterator<Item = usize> + Clone + '_) {
        let member = &self.member[example * self.classes..(example + 1) * self.classes];
        let has = (0..self.classes).filter(move |&z| member[z]);
        let lacks = (0..self.classes).filter(move |&z| !member[z]);
        (has, lacks)
    }

    fn margin(&self, has: usize, lacks: usize) -> f64 {
        self.margins.as_ref().map_or(1.0, |margins| margins[has * self.classes + lacks])
    }

    /// The worst pair (z, z'), first in order where several are equally bad; among those within
    /// rounding of the worst the one that rises fastest along `d`, if given.
    fn worst_pair(&self, example: usize, f: &[f64], d: Option<&[f64]>) -> Option<(usize, usize)> {
        let (has, lacks) = self.sets(example);
        if d.is_none() && self.margins.is_none() {
            let low = has.reduce(|best, z| if f[z] < f[best] { z } else { best })?;
            let high = lacks.reduce(|best, z| if f[z] > f[best] { z } else { best })?;
            return Some((low, high));
        }
        let pairs = has.flat_map(|z| lacks.clone().map(move |other| (z, other)));
        let loss = |(z, other): (usize, usize)| self.margin(z, other) + (f[other] - f[z]);
        let worst =
            pairs.clone().reduce(|best, pair| if loss(pair) > loss(best) { pair } else { best })?;
        let Some(d) = d else { return Some(worst) };
        let near = loss(worst) - KINK * (1.0 + loss(worst).abs());
        let rise = |(z, other): (usize, usize)| d[other] - d[z];
        pairs
            .filter(|&pair| loss(pair) >= near)
            .reduce(|best, pair| if rise(pair) > rise(best) { pair } else { best })
    }

    fn tangent_of(&self, pair: Option<(usize, usize)>, f: &[f64], c: &mut [f64]) -> Tangent {
        c.fill(0.0);
        let Some((z, other)) = pair else { return Tangent { value: 0.0, offset: 0.0 } };
        let offset = self.margin(z, other);
        let value = offset + (f[other] - f[z]);
        if value <= 0.0 {
            return Tangent { value: 0.0, offset: 0.0 };
        }
        c[other] = 1.0;
        c[z] = -1.0;
        Tangent { value, offset }
    }

    /// 1 + max_{z'} − min_z along the line as the sum of two envelopes, cut off at zero.
    fn uniform_pieces(&self, example: usize, f: &[f64], d: &[f64], pieces: &mut Pieces<'_>) {
        let (has, lacks) = self.sets(example);
        let (from, to) = (pieces.from(), pieces.to());
        let mut low = Envelope::default();
        low.segment(has.map(|z| (-f[z], -d[z])), from, to);
        let mut high = pieces.take_envelope();
        high.segment(lacks.map(|z| (f[z], d[z])), from, to);
        cut_at_zero(1.0, low.segments(), high.segments(), pieces);
        pieces.return_envelope(high);
    }
}

/// The pieces of max(0, constant + A(η) + B(η)) where A and B are given by their segments.
fn cut_at_zero(
    constant: f64,
    a: &[crate::line::Segment],
    b: &[crate::line::Segment],
    pieces: &mut Pieces<'_>,
) {
    let (Some(mut top_a), Some(mut top_b)) = (a.first(), b.first()) else { return };
    let (mut next_a, mut next_b) = (1, 1);
    let start = pieces.from();
    let mut at = start;
    let mut before = None;
    let mut above = constant + (top_a.height + top_b.height) > 0.0;
    loop {
        let slope = top_a.slope + top_b.slope;
        let height = constant + (top_a.height + top_b.height);
        let end_a = a.get(next_a).map_or(f64::INFINITY, |s| s.from);
        let end_b = b.get(next_b).map_or(f64::INFINITY, |s| s.from);
        let end = end_a.min(end_b);
        // The sum is convex: it goes below zero at most once, and comes up at most once. A
        // crossing that rounding puts before this stretch is at its beginning.
        let zero = (start - height / slope).max(at);
        let crosses = slope != 0.0 && above == (slope < 0.0) && zero < end;
        if crosses && zero == at {
            above = !above;
        }
        let now = if above { slope } else { 0.0 };
        match before {
            None => pieces.start(now, 0.0),
            Some(before) if now != before => pieces.change(at, now - before, 0.0),
            Some(_) => {}
        }
        before = Some(now);
        if crosses && zero > at {
            above = !above;
            let after = if above { slope } else { 0.0 };
            pieces.change(zero, after - now, 0.0);
            before = Some(after);
        }
        if end == f64::INFINITY {
            return;
        }
        if end_a <= end {
            top_a = &a[next_a];
            next_a += 1;
        }
        if end_b <= end {
            top_b = &b[next_b];
            next_b += 1;
        }
        at = end;
    }
}

impl Loss for MultilabelHinge {
    fn outputs(&self) -> usize {
        self.classes
    }

    fn value(&self, example: usize, f: &[f64]) -> f64 {
        self.worst_pair(example, f, None)
            .map_or(0.0, |(z, other)| (self.margin(z, other) + (f[other] - f[z])).max(0.0))
    }

    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        self.tangent_of(self.worst_pair(example, f, None), f, c)
    }

    fn pieces(&self) -> Option<&dyn Piecewise> {
        Some(self)
    }

    fn kinks(&self) -> Option<&dyn Kinks> {
        Some(self)
    }

    fn conjugate(&self) -> Option<&dyn Conjugate> {
        self.margins.is_none().then_some(self)
    }
}

impl Conjugate for MultilabelHinge {
    /// A minorant is a mixture of pairs and of nothing: its slopes at the labels that the example lacks
    /// say how much of it is pairs, those at the labels that it has say the same, and each pair lifts it
    /// by the uniform margin. (With other margins, which pairs lift it most is a transport problem.)
    fn highest_offset(&self, example: usize, c: &mut [f64]) -> Option<f64> {
        let member = &self.member[example * self.classes..(example + 1) * self.classes];
        let mut sums = [0.0; 2];
        for (c, &has) in c.iter_mut().zip(member) {
            let sign = if has { -1.0 } else { 1.0 };
            let size = allowed_size(sign * *c, 1.0)?;
            *c = sign * size;
            sums[usize::from(has)] += size;
        }
        if (sums[0] - sums[1]).abs() > OUTSIDE {
            return None;
        }
        let total = allowed_size(sums[0].min(sums[1]), 1.0)?;
        for (c, &has) in c.iter_mut().zip(member).filter(|(c, _)| **c != 0.0) {
            *c *= total / sums[usize::from(has)];
        }
        Some(total)
    }
}

impl Piecewise for MultilabelHinge {
    /// Eq. 57, in its decoupled form where the margin is uniform.
    fn add_pieces(&self, example: usize, f: &[f64], d: &[f64], pieces: &mut Pieces<'_>) {
        if self.margins.is_none() {
            return self.uniform_pieces(example, f, d, pieces);
        }
        let (has, lacks) = self.sets(example);
        let pairs = has.flat_map(|z| {
            let line = move |other| (self.margin(z, other) + (f[other] - f[z]), d[other] - d[z]);
            lacks.clone().map(line)
        });
        pieces.maximum(pairs.chain(std::iter::once((0.0, 0.0))));
    }
}

impl Kinks for MultilabelHinge {
    fn at_kink(&self, example: usize, f: &[f64]) -> bool {
        let (has, lacks) = self.sets(example);
        let losses =
            has.flat_map(|z| lacks.clone().map(move |o| self.margin(z, o) + (f[o] - f[z])));
        let top = losses.clone().fold(0.0, f64::max);
        let near = top - KINK * (1.0 + top);
        losses.filter(|&loss| loss >= near).count() + usize::from(near <= 0.0) > 1
    }

    fn steepest_tangent(&self, example: usize, f: &[f64], d: &[f64], c: &mut [f64]) -> Tangent {
        let pair = self.worst_pair(example, f, Some(d)).filter(|&(z, other)| {
            let loss = self.margin(z, other) + (f[other] - f[z]);
            loss > KINK || (loss > -KINK && d[other] > d[z])
        });
        let mut tangent = self.tangent_of(pair, f, c);
        if let Some((z, other)) = pair {
            // On the kink at zero `tangent_of` would take the flat side.
            (c[other], c[z]) = (1.0, -1.0);
            tangent.offset = self.margin(z, other);
        }
        tangent
    }

    fn near_tie(&self, example: usize, f: &[f64]) -> Option<Piece> {
        let (z, other) = self.worst_pair(example, f, None)?;
        let top = self.margin(z, other) + (f[other] - f[z]);
        let near = TIE * (1.0 + f[other].abs() + f[z].abs());
        let (has, lacks) = self.sets(example);
        let rivals = if self.margins.is_none() {
            has.filter(|&h| f[h] <= f[z] + near).count()
                * lacks.filter(|&l| f[l] >= f[other] - near).count()
        } else {
            let pairs = has.flat_map(|h| lacks.clone().map(move |l| (h, l)));
            pairs.filter(|&(h, l)| self.margin(h, l) + (f[l] - f[h]) >= top - near).count()
        };
        if top < -near || (top > near && rivals < 2) {
            return None;
        }
        let slope = Piece::Slope { up: other as u32, down: z as u32 };
        Some(if top > 0.0 { slope } else { Piece::Flat })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    /// Offsets of mixtures of tangents are theirs and lie below the loss; what is no mixture is refused.
    #[test]
    fn the_conjugate_is_that_of_mixtures_of_pairs() {
        let mut rng = Pcg64Mcg::seed_from_u64(3);
        let classes = 4;
        for case in 0..500 {
            let member: Vec<bool> = (0..classes).map(|_| rng.random_bool(0.5)).collect();
            let loss = MultilabelHinge::new(classes, member.clone(), None);
            let mut outputs = || (0..classes).map(|_| rng.random_range(-2.0..2.0)).collect();
            let points: Vec<Vec<f64>> = (0..8).map(|_| outputs()).collect();
            let (mut mixture, mut offset) = (vec![0.0; classes], 0.0);
            for f in &points {
                let mut c = vec![0.0; classes];
                offset += loss.tangent(0, f, &mut c).offset / 8.0;
                mixture.iter_mut().zip(c).for_each(|(sum, c)| *sum += c / 8.0);
            }
            let mut c = mixture.clone();
            let found = loss.highest_offset(0, &mut c).expect("a minorant");
            assert!((found - offset).abs() < 1e-15, "case {case}: {found}, not {offset}");
            for f in &points {
                let height: f64 = found + c.iter().zip(f).map(|(c, f)| c * f).sum::<f64>();
                assert!(height <= loss.value(0, f) + 1e-14, "case {case}");
            }
            for at in 0..classes {
                // A slope alone, with the wrong sign, or too much of all.
                for change in [1e-9, -1e-9, 2.0, -2.0, f64::NAN] {
                    let mut c = mixture.clone();
                    c[at] += change;
                    assert_eq!(loss.highest_offset(0, &mut c), None, "case {case}");
                }
            }
            if found > 0.0 {
                let mut c: Vec<f64> = mixture.iter().map(|c| c * 1.01 / found).collect();
                assert_eq!(loss.highest_offset(0, &mut c), None, "case {case}");
            }
        }
    }

    #[test]
    fn threshold_splits_where_errors_are_fewest() {
        assert_eq!(MultilabelHinge::best_threshold(&[1.0, 2.0, 3.0], &[false, true, true]), 1.5);
        assert_eq!(MultilabelHinge::best_threshold(&[1.0, 2.0], &[true, true]), 0.0);
        assert_eq!(MultilabelHinge::best_threshold(&[1.0, 1.0, 4.0], &[true, false, false]), 5.0);
        let odd = 1f64.next_up();
        assert_eq!(MultilabelHinge::best_threshold(&[odd, odd.next_up()], &[false, true]), odd);
    }
}
