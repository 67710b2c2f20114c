//! Second derivatives of the risk with a free intercept: those of the mean loss in weights and intercept,
//! where the intercept follows the weights. A product with them is one of the whole with the mean change
//! of the outputs, in the metric of the losses' second derivatives, taken off.

use super::InterceptRisk;
use super::small_system::SmallSystem;
use crate::risk::{Cancel, Curvature, Point, RiskError, SecondDerivatives};
use minorant_linalg::Columns;

impl InterceptRisk<'_> {
    /// The second derivative of the mean loss in the intercept.
    fn of_intercept(&self, second: &SecondDerivatives) -> SmallSystem {
        let k = self.loss().outputs();
        let matrix = self.sum_of_matrices(|i, sum| {
            for p in 0..k {
                sum[p * k + p] += second.diagonal[i * k + p];
                if k > 1 {
                    for q in 0..k {
                        sum[p * k + q] -= second.rank_one[i * k + p] * second.rank_one[i * k + q];
                    }
                }
            }
        });
        SmallSystem::new(&matrix, k)
    }

    /// Takes what the intercept makes up for off the outputs' change, and turns it into the change of the
    /// slopes.
    fn follow(&self, second: &SecondDerivatives, change: &mut [f64]) {
        let k = self.loss().outputs();
        let mut slopes = change.to_vec();
        second.apply(0, k, &mut slopes);
        let shift = self.of_intercept(second).solve(&self.plain_sums(&slopes));
        for row in change.chunks_exact_mut(k) {
            row.iter_mut().zip(&shift).for_each(|(x, shift)| *x -= shift);
        }
        second.apply(0, k, change);
    }
}

impl Curvature for InterceptRisk<'_> {
    fn outputs(&self) -> usize {
        self.loss().outputs()
    }

    fn columns(&self) -> &Columns {
        self.inner.columns()
    }

    fn second_derivatives(
        &self,
        point: &Point,
        cancel: &Cancel,
    ) -> Result<SecondDerivatives, RiskError> {
        self.inner.second_derivatives(point, cancel)
    }

    fn parabolas(&self, point: &Point) -> Option<SecondDerivatives> {
        self.inner.parabolas(point)
    }

    fn hessian_times(
        &self,
        second: &SecondDerivatives,
        v: &[f64],
        cancel: &Cancel,
    ) -> Result<Vec<f64>, RiskError> {
        let mut change = self.inner.rows.forward(v, cancel)?;
        self.follow(second, &mut change);
        self.inner.backward(&change, cancel)
    }

    fn hessian(
        &self,
        second: &SecondDerivatives,
        cancel: &Cancel,
    ) -> Result<Option<Vec<f64>>, RiskError> {
        let Some(mut hessian) = self.inner.hessian(second, cancel)? else { return Ok(None) };
        let total = self.plain_sums(&second.diagonal)[0];
        if total > 0.0 {
            let cross = self.inner.backward(&second.diagonal, cancel)?;
            for (row, x) in hessian.chunks_exact_mut(cross.len()).zip(&cross) {
                row.iter_mut().zip(&cross).for_each(|(h, y)| *h -= x * y / total);
            }
        }
        Ok(Some(hessian))
    }

    fn reduction(
        &self,
        second: &SecondDerivatives,
        cancel: &Cancel,
    ) -> Result<Vec<Vec<f64>>, RiskError> {
        let k = self.loss().outputs();
        let mut columns = Vec::with_capacity(k);
        for output in 0..k {
            let mut change = vec![0.0; second.diagonal.len()];
            change.iter_mut().skip(output).step_by(k).for_each(|x| *x = 1.0);
            second.apply(0, k, &mut change);
            columns.push(self.inner.backward(&change, cancel)?);
        }
        Ok(self.of_intercept(second).whiten(columns))
    }

    fn mean_squares(&self, cancel: &Cancel) -> Result<Vec<f64>, RiskError> {
        self.inner.mean_squares(cancel)
    }

    fn hessian_cost(&self) -> Option<u64> {
        self.inner.hessian_cost()
    }

    fn product_cost(&self) -> u64 {
        self.inner.product_cost()
    }
}
