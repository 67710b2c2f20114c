//! The bundle's model with a prox term α ‖u − u_t‖² (in the regularizer's metric) around a centre
//! u_t: Eqs. 10, 12 and 13 of Uříčář and Franc. The inner products of the planes with the centre
//! follow from the Gram matrix when the centre moves to a minimiser of the model, so that no plane
//! is read again. Where the centre stands and how strong the term is, the method says.

use super::Bundle;
use crate::archive::{Archive, ArchiveError};
use crate::certificate::BoundOverLambda;
use crate::regularizer::L2;
use minorant_linalg::dense::{axpy, dot, norm2};
use rayon::prelude::*;

/// A centre of the prox term.
#[derive(Debug, Clone)]
pub struct Center {
    /// The point, in the regularizer's metric.
    u: Vec<f64>,
    /// The planes' inner products with it.
    products: Vec<f64>,
}

impl Center {
    /// A plane is appended to the bundle.
    pub(super) fn meet(&mut self, normal: &[f64]) {
        self.products.push(dot(normal, &self.u));
    }

    /// A combination of planes is appended to the bundle.
    pub(super) fn meet_combination(&mut self, members: impl Iterator<Item = (usize, f64)>) {
        let product = members.map(|(j, weight)| weight * self.products[j]).sum();
        self.products.push(product);
    }

    /// The planes with `keep[j] == false` leave the bundle.
    pub(super) fn retain(&mut self, keep: &[bool]) {
        let mut kept = keep.iter();
        self.products.retain(|_| kept.next().copied().unwrap_or(true));
    }

    pub(super) fn save(&self, archive: &mut Archive) {
        archive.put_reals("center.u", self.u.clone());
        archive.put_reals("center.products", self.products.clone());
    }

    /// The centre that was saved, if there was one.
    pub(super) fn load(
        dim: usize,
        planes: usize,
        archive: &mut Archive,
    ) -> Result<Option<Self>, ArchiveError> {
        let Ok(u) = archive.take_reals("center.u") else { return Ok(None) };
        let products = archive.take_reals("center.products")?;
        if u.len() != dim || products.len() != planes {
            return Err(ArchiveError("center".into()));
        }
        Ok(Some(Center { u, products }))
    }
}

/// The minimum of the model with prox term.
#[derive(Debug, Clone)]
pub struct NearMinimum {
    /// Its minimiser.
    pub w: Vec<f64>,
    /// The bound on the objective that the same dual point gives without the prox term.
    pub bounds: BoundOverLambda,
    /// The model's risk at the minimiser, within rounding.
    pub risk: f64,
    /// How far the minimiser is from the centre, in the regularizer's metric.
    pub distance: f64,
    /// The minimiser as a centre, for [`Bundle::move_center`].
    pub center: Center,
}

impl Bundle {
    /// Puts the centre at `w`.
    pub fn set_center(&mut self, w: &[f64], regularizer: &L2) {
        let u = regularizer.to_metric(w);
        let products = self.planes.par_iter().map(|plane| plane.normal.dot(&u)).collect();
        self.center = Some(Center { u, products });
    }

    /// Moves the centre to a minimiser; no planes may have come or gone since it was found.
    pub fn move_center(&mut self, center: Center) {
        assert_eq!(center.products.len(), self.len());
        self.center = Some(center);
    }

    /// The length of the centre in the regularizer's metric.
    pub fn center_length(&self) -> f64 {
        self.center.as_ref().map_or(0.0, |center| norm2(&center.u).sqrt())
    }

    /// Solves the master with the prox term α ‖u − u_t‖² to an absolute gap of at most `gap`
    /// (Eq. 13: curvature 1/(λ + 2α), offsets b + 2α/(λ + 2α) ã·u_t) and returns how far its
    /// minimiser is from the centre. No plane is read.
    pub fn solve_near(&mut self, lambda: f64, alpha: f64, gap: f64) -> f64 {
        let stiffness = lambda + 2.0 * alpha;
        let pull = 2.0 * alpha / stiffness;
        let offset = |j: usize| self.planes[j].offset + pull * self.product_with_center(j);
        let offsets: Vec<f64> = (0..self.len()).map(offset).collect();
        self.master.solve(&self.gram, &offsets, 1.0 / stiffness, gap);
        self.distance(&self.products_with_sum(), lambda, alpha)
    }

    /// The minimum that the last [`Bundle::solve_near`] with this α found.
    pub fn near_minimum(&mut self, regularizer: &L2, alpha: f64) -> NearMinimum {
        let lambda = regularizer.lambda();
        let dual = self.dual_point();
        // u = (2α u_t − Σ β ã) / (λ + 2α), and so for the products with all planes.
        let mix = |center: f64, sum: f64| (2.0 * alpha * center - sum) / (lambda + 2.0 * alpha);
        let center = |i: usize| self.center.as_ref().map_or(0.0, |center| center.u[i]);
        let sum = dual.normal().iter().enumerate();
        let u: Vec<f64> = sum.map(|(i, &sum)| mix(center(i), sum)).collect();
        let sums = self.products_with_sum();
        let product = |(j, &sum): (usize, &f64)| mix(self.product_with_center(j), sum);
        let products: Vec<f64> = sums.iter().enumerate().map(product).collect();
        let mut highest = vec![f64::NEG_INFINITY; self.parts];
        for (plane, product) in self.planes.iter().zip(&products) {
            highest[plane.part] = highest[plane.part].max(plane.offset + product);
        }
        NearMinimum {
            w: regularizer.from_metric(u.clone()),
            bounds: dual.over_lambda(),
            risk: highest.iter().sum(),
            distance: self.distance(&sums, lambda, alpha),
            center: Center { u, products },
        }
    }

    /// ‖u − u_t‖ = ‖λ u_t + Σ β ã‖ / (λ + 2α), from the planes' products with Σ β ã.
    fn distance(&self, sums: &[f64], lambda: f64, alpha: f64) -> f64 {
        let mut square = lambda * lambda * self.center_length().powi(2);
        for (j, (&weight, sum)) in self.master.weights().iter().zip(sums).enumerate() {
            if weight > 0.0 {
                square += weight * (sum + 2.0 * lambda * self.product_with_center(j));
            }
        }
        square.max(0.0).sqrt() / (lambda + 2.0 * alpha)
    }

    /// ã_j · u_t.
    fn product_with_center(&self, j: usize) -> f64 {
        self.center.as_ref().map_or(0.0, |center| center.products[j])
    }

    /// The planes' inner products with Σ β ã, from the Gram matrix.
    fn products_with_sum(&self) -> Vec<f64> {
        let mut products = vec![0.0; self.len()];
        for (j, &weight) in self.master.weights().iter().enumerate().filter(|(_, w)| **w > 0.0) {
            axpy(weight, self.gram.row(j), &mut products);
        }
        products
    }
}
