//! What a loss must know: one example's loss as a function of its K linear outputs
//! f = (w₁·x, …, w_K·x). Passes over the data, threads, parts and line searches are written once,
//! in `linear.rs`; a new loss is one file that implements [`Loss`].

pub use super::ascent::DualSweep;
use super::{Piece, Tie};
use crate::line::{Envelope, LinePieces, LineRows, Pieces};
use minorant_linalg::elementary;
use std::ops::Range;

/// The weight of each example in the risk, already divided by the sum of the example weights.
#[derive(Debug, Clone)]
pub enum ExampleWeights {
    /// All alike.
    Uniform(f64),
    /// One for each example.
    Each(Vec<f64>),
}

impl ExampleWeights {
    /// All examples alike: a plain mean.
    pub fn mean(examples: usize) -> Self {
        ExampleWeights::Uniform(1.0 / examples as f64)
    }

    /// `s_i c_i / Σ s`: example weights `s`, and the class weight `c` of each example.
    pub fn new(example_weights: &[f64], class_weights: &[f64]) -> Self {
        let total: minorant_linalg::sum::Sum = example_weights.iter().copied().collect();
        let total = total.value();
        let each = example_weights.iter().zip(class_weights).map(|(s, c)| s * c / total);
        ExampleWeights::Each(each.collect())
    }

    /// The weight of one example.
    #[inline]
    pub fn of(&self, example: usize) -> f64 {
        match self {
            ExampleWeights::Uniform(weight) => *weight,
            ExampleWeights::Each(weights) => weights[example],
        }
    }
}

/// A tangent of one example's loss: `loss(f') ≥ offset + c · f'` for every `f'` (near `f` if the
/// loss is not convex), with equality at the `f` where it was asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tangent {
    /// The loss at `f`.
    pub value: f64,
    /// The tangent's constant term.
    pub offset: f64,
}

/// How far a loss may move where its outputs move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Growth {
    /// By so much at most where every output moves by 1.
    Linear(f64),
    /// By (√loss + e)² − loss at most where the output moves by e: a squared distance.
    Square,
}

/// Where a move of a minorant's slopes begins.
#[derive(Debug)]
pub struct Foothold<'a> {
    /// The outputs.
    pub f: &'a [f64],
    /// What the way costs.
    pub curvature: f64,
    /// The slopes, which are moved.
    pub c: &'a mut [f64],
    /// For the way; it comes as zeros.
    pub change: &'a mut [f64],
    /// There to be written over.
    pub room: &'a mut Vec<Rival>,
}

/// What a move of a minorant's slopes brought.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Climb {
    /// How much higher it got, less what the way cost.
    pub rise: f64,
    /// How steep the way was; negative where a bound held the slopes, and how firmly.
    pub pull: f64,
    /// Its length: the sum of what the slopes changed by.
    pub way: f64,
}

/// A class that may keep a share of an example, and how much it asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rival {
    /// The class.
    pub class: usize,
    /// Its share.
    pub share: f64,
    /// Its score, less the highest.
    pub behind: f64,
    /// The share that it asks for.
    pub goal: f64,
}

/// A loss of one example: convex, unless it says that it is not. What more a loss knows about itself
/// it offers as capabilities, as a risk does.
pub trait Loss: Sync {
    /// Number of outputs K.
    fn outputs(&self) -> usize;

    /// The loss at outputs `f`, and the coefficients `c` of a tangent there.
    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent;

    /// The loss at outputs `f`.
    fn value(&self, example: usize, f: &[f64]) -> f64;

    /// Whether the loss is convex. The tangents of a loss that is not lie below it only nearby.
    fn is_convex(&self) -> bool {
        true
    }

    /// How fast the loss grows with the error of its outputs.
    fn growth(&self) -> Growth {
        Growth::Linear(if self.outputs() == 1 { 1.0 } else { 2.0 })
    }

    /// The size of what the loss takes off an output before it looks how far that is from 0, if the rest
    /// is told by its own rounding only.
    fn shift(&self) -> f64 {
        0.0
    }

    /// Whether the loss is differentiable everywhere.
    fn is_smooth(&self) -> bool {
        false
    }

    /// Whether the loss is one parabola, so that a Newton step finds the minimum at once.
    fn is_parabola(&self) -> bool {
        false
    }

    /// The loss along a line, where it is piecewise linear or quadratic there. A loss without pieces
    /// is searched by its slopes.
    fn pieces(&self) -> Option<&dyn Piecewise> {
        None
    }

    /// All subgradients at kinks, where the loss has kinks and knows them.
    fn kinks(&self) -> Option<&dyn Kinks> {
        None
    }

    /// The highest minorants of given slopes, where the loss knows its convex conjugate.
    fn conjugate(&self) -> Option<&dyn Conjugate> {
        None
    }

    /// Steps of dual coordinate ascent, where the loss knows them.
    fn ascent(&self) -> Option<&dyn Ascent> {
        None
    }

    /// Second derivatives, where the loss has them.
    fn curvature(&self) -> Option<&dyn SecondDerivative> {
        None
    }

    /// The loss as a convex function plus a concave one, where it is known as such.
    fn difference(&self) -> Option<&dyn Difference> {
        None
    }

    /// The losses of consecutive rows, one by one. Passes over the data call this and
    /// [`Loss::tangents`], so that a call through a pointer is paid once for many rows. Only a loss whose
    /// rows are quicker together, as exponentials are, writes them again, and with the same bits.
    fn values(&self, rows: Range<usize>, f: &[f64], values: &mut [f64]) {
        let each = f.chunks_exact(self.outputs()).zip(values);
        rows.zip(each).for_each(|(i, (f, value))| *value = self.value(i, f));
    }

    /// The tangents of consecutive rows, one by one.
    fn tangents(&self, rows: Range<usize>, f: &[f64], c: &mut [f64], tangents: &mut [Tangent]) {
        let k = self.outputs();
        let each = f.chunks_exact(k).zip(c.chunks_exact_mut(k)).zip(tangents);
        rows.zip(each).for_each(|(i, ((f, c), tangent))| *tangent = self.tangent(i, f, c));
    }

    /// The coefficients of the tangents of consecutive rows. Nobody asks for the values here, so
    /// that what only they need (a logarithm, for one) is not computed.
    fn slopes(&self, rows: Range<usize>, f: &[f64], c: &mut [f64]) {
        let k = self.outputs();
        let each = f.chunks_exact(k).zip(c.chunks_exact_mut(k));
        rows.zip(each).for_each(|(i, (f, c))| {
            self.tangent(i, f, c);
        });
    }
}

/// A loss that is piecewise linear or quadratic along every line.
pub trait Piecewise: Loss {
    /// Tells the restriction to `f + η d` between `pieces.from()` and `pieces.to()`.
    fn add_pieces(&self, example: usize, f: &[f64], d: &[f64], pieces: &mut Pieces<'_>);

    /// Tells the restrictions of many rows, one by one; nobody needs to write it again.
    fn add_pieces_of_rows(&self, rows: &LineRows<'_>, interval: (f64, f64), all: &mut LinePieces) {
        let mut envelope = Envelope::default();
        rows.for_each(self.outputs(), |i, weight, f, d| {
            let mut pieces = all.of_example(interval, weight, &mut envelope);
            self.add_pieces(i, f, d, &mut pieces);
        });
    }
}

/// A loss with kinks that knows its subgradients there.
pub trait Kinks: Loss {
    /// Whether `f` lies at a kink, within rounding.
    fn at_kink(&self, example: usize, f: &[f64]) -> bool;

    /// At a kink: the tangent whose coefficients have the largest inner product with `d`.
    fn steepest_tangent(&self, example: usize, f: &[f64], d: &[f64], c: &mut [f64]) -> Tangent;

    /// The piece that the tangent at `f` belongs to, if `f` is so near to a kink that rounding
    /// could choose another.
    fn near_tie(&self, example: usize, f: &[f64]) -> Option<Piece>;

    /// The ties among consecutive rows, in their order; nobody needs to write it again.
    fn add_ties(&self, rows: Range<usize>, f: &[f64], ties: &mut Vec<Tie>) {
        for (i, f) in rows.zip(f.chunks_exact(self.outputs())) {
            if let Some(piece) = self.near_tie(i, f) {
                ties.push(Tie { example: i as u32, piece });
            }
        }
    }
}

/// A loss that knows its convex conjugate.
pub trait Conjugate: Loss {
    /// The largest offset with which `offset + c · f` lies below the loss for every `f` (the
    /// negative convex conjugate at `c`). Slopes that rounding has carried out of what the loss
    /// allows are moved back; nothing where `c` is no minorant's slope at all.
    fn highest_offset(&self, example: usize, c: &mut [f64]) -> Option<f64>;
}

/// A loss whose dual can be climbed one example at a time.
pub trait Ascent: Conjugate {
    /// Moves the slopes `c` of a minorant to where its height at `f`, less what the way costs, is
    /// largest: `highest_offset(c) + c · f − curvature/2 ‖c − c₀‖²` with `c₀` the slopes given.
    fn climb(&self, example: usize, from: Foothold<'_>) -> Climb;

    /// The [`Climb::pull`] that [`Ascent::climb`] would tell.
    fn pull(&self, example: usize, f: &[f64], c: &[f64]) -> f64;

    /// Climbs along many examples: `sweep.run(self)`, or `sweep.run_compiled(self)` for a loss of
    /// one output whose steps are so short that a call through a pointer would show.
    fn sweep(&self, sweep: DualSweep<'_, '_>);
}

/// A twice differentiable loss.
pub trait SecondDerivative: Loss {
    /// The second derivative diag(a) − b bᵀ at outputs `f`; a loss of one output leaves `b` alone.
    fn second_derivative(&self, example: usize, f: &[f64], a: &mut [f64], b: &mut [f64]);

    /// The second derivative of a parabola that lies above the loss and touches it at the one output `f`,
    /// where the loss has a slope but no curvature.
    fn parabola(&self, _example: usize, _f: f64) -> Option<f64> {
        None
    }

    /// The second derivatives of consecutive rows along directions `d`, at outputs `f` where the
    /// coefficients of their tangents are `c`. A loss that can tell them by `c` alone writes this again.
    fn rates(&self, rows: Range<usize>, (f, _c): (&[f64], &[f64]), d: &[f64], rates: &mut [f64]) {
        let k = self.outputs();
        let (mut a, mut b) = (vec![0.0; k], vec![0.0; k]);
        let each = f.chunks_exact(k).zip(d.chunks_exact(k)).zip(rates);
        for (i, ((f, d), rate)) in rows.zip(each) {
            self.second_derivative(i, f, &mut a, &mut b);
            let terms = a.iter().zip(&b).zip(d);
            let (square, product) = terms.fold((0.0, 0.0), |(square, product), ((a, b), d)| {
                (square + a * d * d, product + b * d)
            });
            *rate = square - product * product;
        }
    }

    /// The second derivatives of consecutive rows: the a of a row, and behind it the b where there are
    /// several outputs. A loss whose rows are quicker together writes it again.
    fn second_derivatives(&self, rows: Range<usize>, f: &[f64], both: &mut [f64]) {
        let k = self.outputs();
        let each = f.chunks_exact(k).zip(both.chunks_exact_mut(if k == 1 { 1 } else { 2 * k }));
        rows.zip(each).for_each(|(i, (f, both))| {
            let (a, b) = both.split_at_mut(k);
            self.second_derivative(i, f, a, b);
        });
    }
}

/// A loss that is the sum of a convex function and a concave one.
pub trait Difference: Loss {
    /// The convex function.
    fn convex_term(&self) -> Box<dyn Loss + '_>;

    /// The linearisation of the concave function at outputs `f`: coefficients `c`, and the offset.
    fn concave_tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> f64;
}

/// Outputs nearer than this to a kink, relative to their size, may fall on its other side when
/// they are computed in another way.
pub(crate) const TIE: f64 = 1e-9;

/// How far outside of what a loss allows a slope may lie by rounding.
pub(super) const OUTSIDE: f64 = 1e-13;

/// A slope's size that ought to lie between 0 and `most`, moved there if rounding has carried it
/// out; nothing if it lies further out.
pub(crate) fn allowed_size(q: f64, most: f64) -> Option<f64> {
    (-OUTSIDE <= q && q <= most + OUTSIDE).then(|| q.clamp(0.0, most))
}

/// Slopes that ought to be 0 or more at all classes but the label, at most 1 together, and with
/// the label's add up to 0; made so if rounding is all that stands between, else nothing. Returns
/// the sum over the others.
pub(crate) fn allowed_slopes(label: usize, c: &mut [f64]) -> Option<f64> {
    let mut others = 0.0;
    for (_, c) in c.iter_mut().enumerate().filter(|(z, _)| *z != label) {
        *c = allowed_size(*c, 1.0)?;
        others += *c;
    }
    let total = allowed_size(others, 1.0)?;
    if (c[label] + total).abs() > OUTSIDE {
        return None;
    }
    if others > 1.0 {
        c.iter_mut().for_each(|c| *c /= others);
    }
    c[label] = -total;
    Some(total)
}

/// −q ln q.
pub(crate) fn entropy(q: f64) -> f64 {
    if q > 0.0 { -q * elementary::ln(q) } else { 0.0 }
}

/// The same of 1 − q, where q is far below the rounding of 1, too: there it is nearly q.
pub(crate) fn entropy_of_rest(q: f64) -> f64 {
    if q < 1.0 { -(1.0 - q) * elementary::ln_1p(-q) } else { 0.0 }
}

/// How near to a kink counts as on it, relative to the numbers compared.
pub(crate) const KINK: f64 = 1e-12;

/// For losses that are the maximum over z of `margin_z + f_z`, minus a term without z: whether
/// the two largest lie within rounding of each other, and which of those nearly largest rises
/// fastest along `d`.
pub(crate) fn steepest_maximum(
    scores: impl Iterator<Item = (usize, f64)> + Clone,
    d: &[f64],
) -> (usize, bool) {
    let top = scores.clone().fold(f64::NEG_INFINITY, |top, (_, s)| top.max(s));
    let near = KINK * (1.0 + top.abs());
    let mut steepest: Option<usize> = None;
    let mut count = 0;
    for (z, _) in scores.filter(|&(_, s)| s >= top - near) {
        count += 1;
        if steepest.is_none_or(|best| d[z] > d[best]) {
            steepest = Some(z);
        }
    }
    (steepest.unwrap_or(0), count > 1)
}
