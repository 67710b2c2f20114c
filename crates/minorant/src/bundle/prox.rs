//! The bundle's model with a prox term α ‖u − u_t‖² (in the regularizer's metric) around a centre
//! u_t: Eqs. 10, 12 and 13 of Uříčář and Franc. The inner products of the planes with the centre
//! follow from the Gram matrix when the centre moves to a minimiser of the model, so that no plane
//! is read again. Where the centre stands and how strong the term is, the method says.

use super::Bundle;
use crate::archive::{Archive, ArchiveError};
use crate::certificate::DualBound;
use crate::regularizer::L2;
use minorant_linalg::dense::{axpy, dot, norm2};
use minorant_linalg::parallel::map;

/// A centre of the prox term.
#[derive(Debug, Clone)]
pub struct Center {
    /// The point, in the regularizer's metric.
    u: Vec<f64>,
    /// The planes' inner products with it.
    products: Vec<f64>,
}

impl Center {
    /// One of its coordinates.
    pub(super) fn at(&self, i: usize) -> f64 {
        self.u[i]
    }

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

/// Where the minimiser of the model with prox term lies, as far as inner products tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Near {
    /// How far it is from the centre, in the regularizer's metric.
    pub distance: f64,
    /// The model's objective there, without the prox term.
    pub objective: f64,
}

/// The minimum of the model with prox term.
#[derive(Debug, Clone)]
pub struct NearMinimum {
    /// Its minimiser.
    pub w: Vec<f64>,
    /// The bound on the objective that the same dual point gives without the prox term.
    pub bounds: DualBound,
    /// The model's risk at the minimiser, within rounding.
    pub risk: f64,
    /// The minimiser as a centre, for [`Bundle::move_center`].
    pub center: Center,
}

impl Bundle {
    /// Puts the centre at `w`.
    pub fn set_center(&mut self, w: &[f64], regularizer: &L2) {
        let u = regularizer.to_metric(w);
        let products = map(self.planes.len(), |at| self.planes[at].normal.dot(&u));
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

    /// The length of the longest normal in the regularizer's metric.
    pub fn longest(&self) -> f64 {
        self.planes.iter().map(|plane| plane.length).fold(0.0, f64::max)
    }

    /// Solves the master with the prox term α ‖u − u_t‖² to an absolute gap of at most `gap`
    /// (Eq. 13: curvature 1/(λ + 2α), offsets b + 2α/(λ + 2α) ã·u_t). No plane is read.
    pub fn solve_near(&mut self, regularizer: &L2, alpha: f64, gap: f64) -> Near {
        if !regularizer.is_quadratic() {
            return self.solve_shaped_near(regularizer, alpha, gap);
        }
        let lambda = regularizer.lambda();
        let stiffness = lambda + 2.0 * alpha;
        let pull = 2.0 * alpha / stiffness;
        let offset = |j: usize| self.planes[j].offset + pull * self.product_with_center(j);
        let offsets: Vec<f64> = (0..self.len()).map(offset).collect();
        self.master.solve(&self.gram, &offsets, 1.0 / stiffness, gap);
        let sums = self.products_with_sum();
        // ‖Σ β ã + c u_t‖².
        let square = |c: f64| {
            let mut square = c * c * self.center_length().powi(2);
            for (j, (&weight, sum)) in self.master.weights().iter().zip(&sums).enumerate() {
                if weight > 0.0 {
                    square += weight * (sum + 2.0 * c * self.product_with_center(j));
                }
            }
            square.max(0.0)
        };
        let penalty = 0.5 * lambda * square(-2.0 * alpha) / (stiffness * stiffness);
        let risk = self.model_risk(&self.products_with_minimiser(&sums, lambda, alpha));
        Near { distance: square(lambda).sqrt() / stiffness, objective: penalty + risk }
    }

    /// The same where the regularizer is more than a quadratic.
    fn solve_shaped_near(&mut self, regularizer: &L2, alpha: f64, gap: f64) -> Near {
        self.solve_shaped(regularizer, alpha, gap);
        let dual = self.dual_point(None);
        let u = self.resting_point(regularizer, alpha, dual.normal());
        let square = match &self.center {
            Some(center) => u.iter().zip(&center.u).map(|(u, c)| (u - c) * (u - c)).sum(),
            None => norm2(&u),
        };
        let products = map(self.planes.len(), |at| self.planes[at].normal.dot(&u));
        let risk = self.model_risk(&products);
        let objective = regularizer.value(&regularizer.from_metric(u)) + risk;
        Near { distance: square.sqrt(), objective }
    }

    /// The minimum that the last [`Bundle::solve_near`] with this α found: u = (2α u_t − Σ β ã) /
    /// (λ + 2α). Whether the risk is nowhere negative counts where the regularizer has no quadratic.
    pub fn near_minimum(
        &mut self,
        regularizer: &L2,
        alpha: f64,
        is_nonnegative: bool,
    ) -> NearMinimum {
        let lambda = regularizer.lambda();
        let dual = self.dual_point(None);
        let bounds = dual.bound_under(regularizer, is_nonnegative);
        if !regularizer.is_quadratic() {
            let u = self.resting_point(regularizer, alpha, dual.normal());
            let products = map(self.planes.len(), |at| self.planes[at].normal.dot(&u));
            return NearMinimum {
                w: regularizer.from_metric(u.clone()),
                bounds,
                risk: self.model_risk(&products),
                center: Center { u, products },
            };
        }
        let center = |i: usize| self.center.as_ref().map_or(0.0, |center| center.u[i]);
        let mix =
            |(i, sum): (usize, &f64)| (2.0 * alpha * center(i) - sum) / (lambda + 2.0 * alpha);
        let u: Vec<f64> = dual.normal().iter().enumerate().map(mix).collect();
        let products = self.products_with_minimiser(&self.products_with_sum(), lambda, alpha);
        NearMinimum {
            w: regularizer.from_metric(u.clone()),
            bounds,
            risk: self.model_risk(&products),
            center: Center { u, products },
        }
    }

    /// ã_j · u for all planes, from the products with Σ β ã and with the centre.
    fn products_with_minimiser(&self, sums: &[f64], lambda: f64, alpha: f64) -> Vec<f64> {
        let product = |(j, sum): (usize, &f64)| {
            (2.0 * alpha * self.product_with_center(j) - sum) / (lambda + 2.0 * alpha)
        };
        sums.iter().enumerate().map(product).collect()
    }

    /// The model's risk at the point with which the planes have these products.
    fn model_risk(&self, products: &[f64]) -> f64 {
        let mut highest = vec![f64::NEG_INFINITY; self.parts];
        for (plane, product) in self.planes.iter().zip(products) {
            highest[plane.part] = highest[plane.part].max(plane.offset + product);
        }
        highest.iter().sum()
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
