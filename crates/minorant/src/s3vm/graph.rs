//! The graph of nearest neighbours in the kernel's metric, and labels that diffuse over it: where
//! classes are connected clouds, a few labels spread to whole ones.

use super::account::Stop;
use crate::kernel::Gram;
use crate::solver::Status;
use minorant_linalg::dense::{axpy, dot};
use minorant_linalg::parallel::{map_chunks, split_evenly};

/// Neighbours of a row.
const NEIGHBOURS: usize = 7;
/// Steps of the conjugate gradients, at most.
const STEPS: usize = 400;
/// Where they end, relative to the right side.
const TOL: f64 = 1e-7;

/// The symmetrised graph, each row with its neighbours and the factors of S = D^-½ W D^-½.
#[derive(Debug, Clone)]
pub(super) struct Graph {
    starts: Vec<usize>,
    neighbours: Vec<u32>,
    factors: Vec<f64>,
}

impl Graph {
    /// The graph of the rows of a kernel matrix, unless work is to end before it is known.
    pub(super) fn new(gram: &Gram<'_>, stop: &Stop) -> Result<Self, Status> {
        let n = gram.order();
        let chunks = split_evenly(n, n.clamp(1, 32));
        let nearest = map_chunks(&chunks, |_, rows| {
            let found = |i: usize| stop.check().map(|()| nearest(gram, i, NEIGHBOURS));
            rows.map(found).collect::<Result<Vec<_>, Status>>()
        });
        let nearest = nearest.into_iter().collect::<Result<Vec<_>, Status>>()?;
        let mut sets: Vec<Vec<u32>> = vec![Vec::new(); n];
        for (i, found) in nearest.into_iter().flatten().enumerate() {
            for j in found {
                sets[i].push(j);
                sets[j as usize].push(i as u32);
            }
        }
        let (mut starts, mut neighbours) = (vec![0], Vec::new());
        for set in &mut sets {
            set.sort_unstable();
            set.dedup();
            neighbours.extend_from_slice(set);
            starts.push(neighbours.len());
        }
        let degree = |i: usize| (starts[i + 1] - starts[i]).max(1) as f64;
        let factors = (0..n)
            .flat_map(|i| {
                let (starts, degree) = (&starts, &degree);
                neighbours[starts[i]..starts[i + 1]]
                    .iter()
                    .map(move |&j| 1.0 / (degree(i) * degree(j as usize)).sqrt())
            })
            .collect();
        Ok(Graph { starts, neighbours, factors })
    }

    /// (I − (1 − leak) S)⁻¹ z by conjugate gradients.
    pub(super) fn diffuse(&self, z: &[f64], leak: f64) -> Vec<f64> {
        let apply = |x: &[f64]| -> Vec<f64> {
            (0..x.len())
                .map(|i| {
                    let range = self.starts[i]..self.starts[i + 1];
                    let spread: f64 = self.neighbours[range.clone()]
                        .iter()
                        .zip(&self.factors[range])
                        .map(|(&j, s)| s * x[j as usize])
                        .sum();
                    x[i] - (1.0 - leak) * spread
                })
                .collect()
        };
        let mut x = vec![0.0; z.len()];
        let mut residual = z.to_vec();
        let mut direction = z.to_vec();
        let mut square = dot(&residual, &residual);
        let enough = TOL * TOL * square;
        for _ in 0..STEPS {
            if square <= enough {
                break;
            }
            let image = apply(&direction);
            let step = square / dot(&direction, &image);
            axpy(step, &direction, &mut x);
            axpy(-step, &image, &mut residual);
            let next = dot(&residual, &residual);
            let factor = next / square;
            direction.iter_mut().zip(&residual).for_each(|(d, r)| *d = r + factor * *d);
            square = next;
        }
        x
    }
}

/// The rows nearest to row `i` in the kernel's metric, without itself; ties go to the first.
pub(crate) fn nearest(gram: &Gram<'_>, i: usize, count: usize) -> Vec<u32> {
    let row = gram.row(i);
    let diagonal = gram.diagonal();
    let mut order: Vec<(f64, u32)> = (0..gram.order() as u32)
        .filter(|&j| j as usize != i)
        .map(|j| (diagonal[j as usize] - 2.0 * row[j as usize], j))
        .collect();
    let closer = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    if count < order.len() {
        order.select_nth_unstable_by(count, closer);
        order.truncate(count);
    }
    order.sort_unstable_by(closer);
    order.into_iter().map(|(_, j)| j).collect()
}
