//! The second-order model of an objective at a point, and its minimiser: by a Cholesky factor of the Hessian
//! or by conjugate gradients. It chooses neither, and goes nowhere.

use crate::regularizer::L2;
use crate::risk::{Cancel, Curvature, Point, RiskError, SecondDerivatives};
use crate::solver::{Halt, Run};
use minorant_linalg::cholesky::GrowingCholesky;
use minorant_linalg::dense::{axpy, dot};

/// Most conjugate-gradient steps of one iteration.
const INNER: usize = 1000;
/// A pivot below this share of its diagonal is rounding.
const DEPENDENT: f64 = 1e-13;

/// The second-order model of the objective at a point.
pub(super) struct Model<'m> {
    curvature: &'m dyn Curvature,
    second: SecondDerivatives,
    /// The second derivative of the regularizer in each weight.
    ridge: Vec<f64>,
}

impl<'m> Model<'m> {
    /// The model at a point.
    pub(super) fn new(
        curvature: &'m dyn Curvature,
        point: &Point,
        regularizer: &L2,
        cancel: &Cancel,
    ) -> Result<Self, RiskError> {
        let second = curvature.second_derivatives(point, cancel)?;
        Ok(Model { curvature, second, ridge: regularizer.second_derivatives(point.w.len()) })
    }

    /// The diagonal of a Hessian whose examples are all curved alike, from the means of the features'
    /// squares.
    pub(super) fn scales(&self, squares: &[f64]) -> Vec<f64> {
        let outputs = self.curvature.outputs();
        let mean: f64 = self.second.diagonal.iter().sum::<f64>() / outputs as f64;
        let scale = |(at, ridge): (usize, &f64)| ridge + mean * squares[at / outputs];
        self.ridge.iter().enumerate().map(scale).collect()
    }

    /// The minimiser by the Hessian's Cholesky factor; nothing where rounding leaves it none.
    pub(super) fn by_factor(
        &self,
        run: &mut Run<'_>,
        gradient: &[f64],
    ) -> Result<Option<Vec<f64>>, Halt> {
        run.charge()?;
        let Some(mut hessian) = self.curvature.hessian(&self.second, run.cancel())? else {
            return Ok(None);
        };
        let d = gradient.len();
        let mut factor = GrowingCholesky::new(0);
        for at in 0..d {
            run.check_limits()?;
            let diagonal = hessian[at * d + at] + self.ridge[at];
            let cross = &mut hessian[at * d..at * d + at];
            if factor.append(cross, diagonal, DEPENDENT * diagonal, &[]).is_err() {
                return Ok(None);
            }
        }
        let mut p: Vec<f64> = gradient.iter().map(|g| -g).collect();
        factor.forward(&mut p);
        factor.backward(&mut p);
        Ok(Some(p).filter(|p| p.iter().all(|x| x.is_finite())))
    }

    /// The minimiser by conjugate gradients, until ‖(H p + g) ⊘ θ‖² ≤ `enough` or a step brings nothing;
    /// and the number of products that took. `scales` are the diagonal of the preconditioner.
    pub(super) fn by_products(
        &self,
        run: &mut Run<'_>,
        gradient: &[f64],
        scales: &[f64],
        enough: f64,
    ) -> Result<(Vec<f64>, u64), Halt> {
        let mut p = vec![0.0; gradient.len()];
        let mut residual: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let scaled = |r: &[f64]| -> Vec<f64> { r.iter().zip(scales).map(|(r, s)| r / s).collect() };
        let mut z = scaled(&residual);
        let mut v = z.clone();
        let mut along = dot(&residual, &z);
        let mut products = 0;
        for _ in 0..INNER {
            if run.problem.regularizer.square_in_metric(&residual) <= enough {
                break;
            }
            run.charge()?;
            products += 1;
            let mut product = self.curvature.hessian_times(&self.second, &v, run.cancel())?;
            product.iter_mut().zip(self.ridge.iter().zip(&v)).for_each(|(to, (r, v))| *to += r * v);
            let step = along / dot(&v, &product);
            if !step.is_finite() || step <= 0.0 {
                break;
            }
            axpy(step, &v, &mut p);
            axpy(-step, &product, &mut residual);
            z = scaled(&residual);
            let next = dot(&residual, &z);
            let keep = next / along;
            along = next;
            v.iter_mut().zip(&z).for_each(|(v, z)| *v = z + keep * *v);
        }
        Ok((p, products))
    }
}
