//! The bundle's model under a regularizer that is more than a quadratic: the dual function of the master
//! is then concave and piecewise quadratic. It is climbed by semismooth Newton steps: where the
//! coordinates that are held at 0 or at a bound stay there, the dual is the quadratic of the inner
//! products over the free coordinates, which the master solves over the simplexes, warm; what it finds is
//! the end of a line on which the dual itself is maximised. Bounds are made elsewhere, from the weights
//! alone.

use super::Bundle;
use super::normal::Normal;
use crate::archive::{Archive, ArchiveError};
use crate::master::Gram;
use crate::regularizer::L2;
use minorant_linalg::dense::{axpy, dot};
use minorant_linalg::parallel::map;

/// Newton steps of one solve.
const STEPS: usize = 60;
/// Steps that do not make the gap smaller before rounding counts as the reason.
const PATIENCE: usize = 8;
/// How exactly the master is solved in each step, relative to the gap that is asked for.
const SHARE: f64 = 0.2;
/// The end of a line is taken where the slope against the way there is this share of the one at its
/// beginning, at most.
const ENOUGH: f64 = 0.1;
/// Trial points on a line.
const TRIALS: usize = 40;
/// Inner products are computed afresh where this share of their size has left them: what is left has
/// the rounding of what went.
const SHRUNK: f64 = 1e-5;

/// The coordinates that inner products are over.
#[derive(Debug, Clone)]
pub(super) struct Free {
    coordinates: Vec<bool>,
    /// The largest sum of squares that the products have had since they were computed afresh.
    peak: f64,
}

impl Free {
    /// A vector without the coordinates that are not free.
    pub(super) fn mask(&self, vector: &[f64]) -> Vec<f64> {
        let masked = |(x, is_free): (&f64, &bool)| if *is_free { *x } else { 0.0 };
        vector.iter().zip(&self.coordinates).map(masked).collect()
    }

    pub(super) fn save(&self, archive: &mut Archive) {
        let free = self.coordinates.iter().enumerate().filter(|(_, is_free)| **is_free);
        archive.put_integers("free.at", free.map(|(at, _)| at as u64));
        archive.put_reals("free.peak", vec![self.peak]);
    }

    pub(super) fn load(dim: usize, archive: &mut Archive) -> Result<Option<Self>, ArchiveError> {
        let Ok(free) = archive.take_integers("free.at") else { return Ok(None) };
        let mut coordinates = vec![false; dim];
        for at in free {
            *coordinates.get_mut(at as usize).ok_or_else(|| ArchiveError("free.at".into()))? = true;
        }
        Ok(Some(Free { coordinates, peak: archive.take_real("free.peak")? }))
    }
}

/// Where a model stands at some weights of its planes.
struct Place {
    u: Vec<f64>,
    free: Vec<bool>,
}

impl Bundle {
    /// Climbs the dual of the model with the prox term α ‖u − u_t‖² to a gap of at most `gap`.
    pub(super) fn solve_shaped(&mut self, regularizer: &L2, alpha: f64, gap: f64) {
        let stiffness = regularizer.lambda() + 2.0 * alpha;
        let mut best: (f64, Vec<f64>) = (f64::INFINITY, Vec::new());
        let mut waited = 0;
        for _ in 0..STEPS {
            let sum = self.sum_of_normals(self.master.weights());
            let place = self.place(regularizer, alpha, &sum);
            let heights = self.heights(&place.u);
            let left = self.gap_at(&heights);
            (waited, best) = if left < best.0 {
                (0, (left, self.master.weights().to_vec()))
            } else {
                (waited + 1, best)
            };
            if left <= gap || waited > PATIENCE {
                break;
            }
            self.set_free(place.free);
            let before = self.master.weights().to_vec();
            let offsets = self.offsets_of_model(heights, &before, 1.0 / stiffness);
            self.master.forget_factor();
            self.master.solve(&self.gram, &offsets, 1.0 / stiffness, SHARE * gap);
            self.search(regularizer, alpha, &before, &sum);
        }
        // Where no gap was a number, the weights stay what they are.
        if waited > 0 && !best.1.is_empty() {
            self.master.set_weights(&best.1);
        }
    }

    /// The model's minimiser in the metric, where the normals add up to `sum`.
    pub(super) fn resting_point(&self, regularizer: &L2, alpha: f64, sum: &[f64]) -> Vec<f64> {
        self.place(regularizer, alpha, sum).u
    }

    fn place(&self, regularizer: &L2, alpha: f64, sum: &[f64]) -> Place {
        let stiffness = regularizer.lambda() + 2.0 * alpha;
        let pull = |i: usize| match &self.center {
            Some(center) if alpha > 0.0 => 2.0 * alpha * center.at(i) - sum[i],
            _ => -sum[i],
        };
        let rests = (0..self.dim).map(|i| regularizer.rest(i, stiffness, pull(i)));
        let (u, free) = rests.map(|rest| (rest.at, rest.is_free)).unzip();
        Place { u, free }
    }

    /// Σ α ã with these weights.
    fn sum_of_normals(&self, weights: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; self.dim];
        for (plane, &weight) in
            self.planes.iter().zip(weights).filter(|(_, weight)| **weight != 0.0)
        {
            plane.normal.add_to(weight, &mut sum);
        }
        sum
    }

    /// How high each plane is at a point: the derivatives of the dual by the weights.
    fn heights(&self, u: &[f64]) -> Vec<f64> {
        map(self.planes.len(), |at| self.planes[at].offset + self.planes[at].normal.dot(u))
    }

    /// Σ over parts of the highest plane, less the weighted mean.
    fn gap_at(&self, heights: &[f64]) -> f64 {
        let mut top = vec![f64::NEG_INFINITY; self.parts];
        for (plane, &height) in self.planes.iter().zip(heights) {
            top[plane.part] = top[plane.part].max(height);
        }
        let each = self.planes.iter().zip(heights).zip(self.master.weights());
        each.map(|((plane, height), weight)| weight * (top[plane.part] - height)).sum()
    }

    /// The offsets with which the quadratic of the free coordinates has the dual's slopes at `weights`.
    fn offsets_of_model(&self, mut heights: Vec<f64>, weights: &[f64], curvature: f64) -> Vec<f64> {
        for (j, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            axpy(curvature * weight, self.gram.row(j), &mut heights);
        }
        heights
    }

    /// Goes from the weights `before` towards those of the master, to where the dual is highest.
    fn search(&mut self, regularizer: &L2, alpha: f64, before: &[f64], sum: &[f64]) {
        let way: Vec<f64> =
            self.master.weights().iter().zip(before).map(|(to, from)| to - from).collect();
        let turn = self.sum_of_normals(&way);
        let rise: f64 = self.planes.iter().zip(&way).map(|(plane, way)| way * plane.offset).sum();
        let slope = |t: f64| {
            let moved: Vec<f64> = sum.iter().zip(&turn).map(|(sum, turn)| sum + t * turn).collect();
            rise + dot(&self.place(regularizer, alpha, &moved).u, &turn)
        };
        let (first, last) = (slope(0.0), slope(1.0));
        if last >= -ENOUGH * first.max(0.0) || first <= 0.0 {
            return;
        }
        // The slope falls: a secant, and a halving where that leaves more than half of the bracket.
        let (mut lo, mut hi) = ((0.0, first), (1.0, last));
        for _ in 0..TRIALS {
            let width: f64 = hi.0 - lo.0;
            let secant = lo.0 + width * (lo.1 / (lo.1 - hi.1));
            for t in [secant, 0.5 * (lo.0 + hi.0)] {
                if lo.0 < t && t < hi.0 {
                    let found = (t, slope(t));
                    *if found.1 >= 0.0 { &mut lo } else { &mut hi } = found;
                }
                if hi.0 - lo.0 <= 0.5 * width {
                    break;
                }
            }
            if lo.1 <= ENOUGH * first && lo.0 > 0.0 {
                break;
            }
        }
        let weights: Vec<f64> =
            before.iter().zip(&way).map(|(from, way)| (from + lo.0 * way).max(0.0)).collect();
        self.master.set_weights(&weights);
    }

    /// Makes the inner products those over these coordinates.
    fn set_free(&mut self, coordinates: Vec<bool>) {
        let trace = |gram: &Gram| (0..gram.len()).map(|j| gram.get(j, j)).sum::<f64>();
        let known = self.free.take();
        let many = coordinates.iter().filter(|is_free| **is_free).count();
        let turned: Option<Vec<usize>> = known.as_ref().map(|known| {
            let pairs = coordinates.iter().zip(&known.coordinates).enumerate();
            pairs.filter(|(_, (now, before))| now != before).map(|(at, _)| at).collect()
        });
        if let (Some(turned), Some(known)) = (turned, known)
            && turned.len() < many
        {
            let peak = known.peak.max(trace(&self.gram));
            if !turned.is_empty() {
                let sign = |at: &usize| if coordinates[*at] { 1.0 } else { -1.0 };
                let signs: Vec<f64> = turned.iter().map(sign).collect();
                let changes = self.products_over(&turned, Some(&signs));
                self.gram = rebuilt(&changes, |j, k| self.gram.get(j, k));
            }
            if trace(&self.gram) > SHRUNK * peak {
                self.free = Some(Free { coordinates, peak });
                return;
            }
        }
        let all: Vec<usize> = (0..self.dim).filter(|&at| coordinates[at]).collect();
        let products = self.products_over(&all, None);
        self.gram = rebuilt(&products, |_, _| 0.0);
        self.free = Some(Free { coordinates, peak: trace(&self.gram) });
    }

    /// The planes' inner products over some coordinates, each with a sign; of each plane those with
    /// itself and the planes before it.
    fn products_over(&self, coordinates: &[usize], signs: Option<&[f64]>) -> Vec<Vec<f64>> {
        let planes = self.planes.len();
        let short = map(planes, |j| self.planes[j].normal.at(coordinates));
        map(planes, |j| {
            let mut row = short[j].clone();
            if let Some(signs) = signs {
                row.iter_mut().zip(signs).for_each(|(x, sign)| *x *= sign);
            }
            short[..=j].iter().map(|other| dot(other, &row)).collect()
        })
    }
}

/// A matrix of products with something added to each.
fn rebuilt(changes: &[Vec<f64>], before: impl Fn(usize, usize) -> f64) -> Gram {
    let mut gram = Gram::new();
    for (j, changes) in changes.iter().enumerate() {
        let row: Vec<f64> = changes.iter().enumerate().map(|(k, x)| before(j, k) + x).collect();
        gram.push(&row);
    }
    gram
}

impl Normal {
    /// The values at ascending coordinates.
    fn at(&self, coordinates: &[usize]) -> Vec<f64> {
        match self {
            Normal::Dense(vector) => coordinates.iter().map(|&at| vector[at]).collect(),
            Normal::Sparse { indices, values } => {
                let mut stored = indices.iter().zip(values).peekable();
                let value = |at: &usize| {
                    while stored.next_if(|(i, _)| (**i as usize) < *at).is_some() {}
                    stored.next_if(|(i, _)| **i as usize == *at).map_or(0.0, |(_, x)| *x)
                };
                coordinates.iter().map(value).collect()
            }
            Normal::Absent => unreachable!("planes that are kept by slopes have no normal"),
        }
    }
}
