//! A Cholesky factor that grows and shrinks by one variable at a time and carries right-hand sides
//! along. It serves active-set methods, which solve one small system after another that differ by
//! a row and a column. It chooses no pivots and never looks at the matrix again: whoever appends
//! decides whether a pivot is large enough.
//!
//! The matrix is `A = Uᵀ U` with `U` upper triangular, stored by rows (the columns of `L = Uᵀ`).
//! Both substitutions and the rotations of a deletion then run along contiguous rows. Attached
//! columns `B` are kept as `U⁻ᵀ B`, one row per variable, along with `(U⁻ᵀ B)ᵀ (U⁻ᵀ B) = Bᵀ A⁻¹ B`.

mod kernels;

use crate::dense::{axpy_kernel, dispatch, dot_kernel, norm2};
use kernels::{add_outer_product, backward, forward, rotate, row_length};

/// A variable could not be appended: what remains of its diagonal is too small.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DependentColumn {
    /// `a_jj - |U⁻ᵀ a_j|²`, the square of the pivot that was refused (rounding may make it negative).
    pub pivot_squared: f64,
}

/// The factor `U` of a symmetric positive definite matrix, with attached columns `U⁻ᵀ B`.
#[derive(Clone, Debug)]
pub struct GrowingCholesky {
    order: usize,
    /// Distance of two rows in `upper`, at least `order`.
    stride: usize,
    /// Row `k` holds `U[k][k..order]` at `k * stride + k`.
    upper: Vec<f64>,
    columns: usize,
    /// Row `k` of `U⁻ᵀ B` at `k * columns`.
    attached: Vec<f64>,
    /// `Bᵀ A⁻¹ B`, of which only the lower triangle is kept up to date.
    products: Vec<f64>,
    /// The row that a deletion rotates out.
    carry: Vec<f64>,
    carry_attached: Vec<f64>,
    line: Vec<f64>,
}

impl GrowingCholesky {
    /// An empty factor with `columns` attached columns.
    pub fn new(columns: usize) -> Self {
        Self {
            order: 0,
            stride: 0,
            upper: Vec::new(),
            columns,
            attached: Vec::new(),
            products: vec![0.0; columns * columns],
            carry: Vec::new(),
            carry_attached: vec![0.0; columns],
            line: vec![0.0; columns],
        }
    }

    /// The number of variables.
    pub fn order(&self) -> usize {
        self.order
    }

    /// The number of attached columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Forgets all variables, keeping the memory.
    pub fn clear(&mut self) {
        self.order = 0;
        self.attached.clear();
        self.products.fill(0.0);
    }

    /// The stretch `U[k][k..order]` of row `k`; its first entry is the pivot.
    pub fn row(&self, k: usize) -> &[f64] {
        &self.upper[k * self.stride + k..k * self.stride + self.order]
    }

    /// Row `k` of the attached columns `U⁻ᵀ B`.
    pub fn attached_row(&self, k: usize) -> &[f64] {
        &self.attached[k * self.columns..(k + 1) * self.columns]
    }

    /// Entry `(i, j)` of `Bᵀ A⁻¹ B`.
    pub fn attached_product(&self, i: usize, j: usize) -> f64 {
        self.products[i.max(j) * self.columns + i.min(j)]
    }

    /// Replaces the attached column `column` by `U⁻ᵀ rhs`; `rhs` is overwritten with it.
    pub fn attach(&mut self, column: usize, rhs: &mut [f64]) {
        self.forward(rhs);
        for (row, &value) in self.attached.chunks_exact_mut(self.columns).zip(rhs.iter()) {
            row[column] = value;
        }
        let mut line = std::mem::take(&mut self.line);
        self.attached_transposed(rhs, &mut line);
        for (i, &value) in line.iter().enumerate() {
            self.products[i.max(column) * self.columns + i.min(column)] = value;
        }
        self.line = line;
    }

    /// Computes all products of the attached columns afresh, which ends the drift of updates.
    pub fn refresh_products(&mut self) {
        let (attached, products) = (&self.attached, &mut self.products);
        products.fill(0.0);
        dispatch(
            #[inline(always)]
            || {
                for row in attached.chunks_exact(row_length(self.columns)) {
                    add_outer_product(1.0, row, products);
                }
            },
        );
    }

    /// `(U⁻ᵀ B)ᵀ x`, into `out`.
    pub fn attached_transposed(&self, x: &[f64], out: &mut [f64]) {
        assert_eq!(x.len(), self.order);
        out.fill(0.0);
        dispatch(
            #[inline(always)]
            || {
                for (row, &c) in self.attached.chunks_exact(row_length(self.columns)).zip(x) {
                    axpy_kernel(c, row, out);
                }
            },
        );
    }

    /// Adds the combination `U⁻ᵀ B coefficients` of the attached columns to `out`.
    pub fn add_attached(&self, coefficients: &[f64], out: &mut [f64]) {
        assert_eq!(coefficients.len(), self.columns);
        dispatch(
            #[inline(always)]
            || {
                for (row, out) in self.attached.chunks_exact(row_length(self.columns)).zip(out) {
                    *out += dot_kernel(row, coefficients);
                }
            },
        );
    }

    /// Solves `Uᵀ x = rhs` in place.
    pub fn forward(&self, x: &mut [f64]) {
        assert_eq!(x.len(), self.order);
        dispatch(
            #[inline(always)]
            || forward(&self.upper, self.stride, x),
        );
    }

    /// Solves `U x = rhs` in place.
    pub fn backward(&self, x: &mut [f64]) {
        assert_eq!(x.len(), self.order);
        dispatch(
            #[inline(always)]
            || backward(&self.upper, self.stride, x),
        );
    }

    /// Appends a variable whose products with the present ones are `cross` and with itself
    /// `diagonal`; `rhs` holds its entries of `B`. `cross` is overwritten with `U⁻ᵀ cross`. When
    /// the squared pivot is not above `threshold` nothing is appended.
    pub fn append(
        &mut self,
        cross: &mut [f64],
        diagonal: f64,
        threshold: f64,
        rhs: &[f64],
    ) -> Result<f64, DependentColumn> {
        self.forward(cross);
        let pivot_squared = diagonal - norm2(cross);
        // Written so that a NaN is refused.
        if pivot_squared > threshold {
            let pivot = pivot_squared.sqrt();
            self.append_with_pivot(cross, pivot, rhs);
            Ok(pivot)
        } else {
            Err(DependentColumn { pivot_squared })
        }
    }

    /// Appends a variable with a given pivot; `projected` is `U⁻ᵀ` of its products with the
    /// present ones, as [`append`](Self::append) leaves it. A pivot above the true one amounts to
    /// adding the difference of the squares to the variable's diagonal.
    pub fn append_with_pivot(&mut self, projected: &[f64], pivot: f64, rhs: &[f64]) {
        assert_eq!(projected.len(), self.order);
        assert_eq!(rhs.len(), self.columns);
        self.reserve(self.order + 1);
        let (n, stride) = (self.order, self.stride);
        for (k, &value) in projected.iter().enumerate() {
            self.upper[k * stride + n] = value;
        }
        self.upper[n * stride + n] = pivot;
        // Row n of U⁻ᵀ B is (b_n - projectedᵀ U⁻ᵀ B) / pivot.
        self.attached.extend_from_slice(rhs);
        let (above, new) = self.attached.split_at_mut(n * self.columns);
        dispatch(
            #[inline(always)]
            || {
                for (row, &c) in above.chunks_exact(row_length(self.columns)).zip(projected) {
                    axpy_kernel(-c, row, new);
                }
                for value in new.iter_mut() {
                    *value /= pivot;
                }
                add_outer_product(1.0, new, &mut self.products);
            },
        );
        self.order = n + 1;
    }

    /// Deletes the variable at position `k`; later ones move up by one.
    pub fn delete(&mut self, k: usize) {
        let (n, stride, columns) = (self.order, self.stride, self.columns);
        assert!(k < n);
        self.carry.clear();
        self.carry.extend_from_slice(&self.upper[k * stride + k + 1..k * stride + n]);
        self.carry_attached.copy_from_slice(&self.attached[k * columns..(k + 1) * columns]);
        // Without column k the rows from k on are upper Hessenberg. Rotating the carried row with
        // each next one makes them triangular again, one place up and to the left.
        let (upper, attached) = (&mut self.upper, &mut self.attached);
        let (carry, carry_attached) = (&mut self.carry, &mut self.carry_attached);
        let products = &mut self.products;
        dispatch(
            #[inline(always)]
            || {
                for r in k + 1..n {
                    let (above, below) = upper.split_at_mut(r * stride);
                    let row = &below[r..n];
                    let target = &mut above[(r - 1) * stride + r - 1..(r - 1) * stride + n - 1];
                    let (pivot, lost) = (row[0], carry[r - k - 1]);
                    let length = pivot.mul_add(pivot, lost * lost).sqrt();
                    let (cosine, sine) = (pivot / length, lost / length);
                    rotate(cosine, sine, row, &mut carry[r - k - 1..], target);
                    let (above, below) = attached.split_at_mut(r * columns);
                    let target = &mut above[(r - 1) * columns..];
                    rotate(cosine, sine, &below[..columns], carry_attached, target);
                }
                // The rotations keep the products; the row that is left over leaves with its own.
                add_outer_product(-1.0, carry_attached, products);
                for r in 0..k {
                    upper.copy_within(r * stride + k + 1..r * stride + n, r * stride + k);
                }
            },
        );
        self.attached.truncate((n - 1) * columns);
        self.order = n - 1;
    }

    /// The numbers of the factor: the rows of `U` from their pivots on, then the attached rows.
    pub fn numbers(&self) -> Vec<f64> {
        let mut numbers =
            Vec::with_capacity(self.order * (self.order + 1) / 2 + self.attached.len());
        for k in 0..self.order {
            numbers.extend_from_slice(self.row(k));
        }
        numbers.extend_from_slice(&self.attached);
        numbers
    }

    /// The factor whose [`numbers`](Self::numbers) are given, or `None` if their count is wrong.
    pub fn from_numbers(order: usize, columns: usize, numbers: &[f64]) -> Option<Self> {
        let triangle = order.checked_mul(order.checked_add(1)?)? / 2;
        if numbers.len() != triangle.checked_add(order.checked_mul(columns)?)? {
            return None;
        }
        let mut factor = Self::new(columns);
        factor.reserve(order);
        factor.order = order;
        let mut rest = numbers;
        for k in 0..order {
            let (row, tail) = rest.split_at(order - k);
            factor.upper[k * factor.stride + k..k * factor.stride + order].copy_from_slice(row);
            rest = tail;
        }
        factor.attached.extend_from_slice(rest);
        factor.refresh_products();
        Some(factor)
    }

    /// Makes room for `order` variables.
    fn reserve(&mut self, order: usize) {
        if order <= self.stride {
            return;
        }
        // Not a power of two: entries of one column would share cache sets.
        let stride = (2 * self.stride).max(order).max(24).next_multiple_of(8) + 8;
        let mut upper = vec![0.0; stride * stride];
        for k in 0..self.order {
            upper[k * stride + k..k * stride + self.order].copy_from_slice(self.row(k));
        }
        self.upper = upper;
        self.stride = stride;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reproducible number in (-1, 1).
    fn noise(i: usize, j: usize) -> f64 {
        ((i * 37 + j * 101 + 7) as f64 * 12.9898).sin()
    }

    fn product(i: usize, j: usize) -> f64 {
        let spread: f64 = (0..60).map(|k| noise(i, k) * noise(j, k)).sum();
        spread + if i == j { 0.1 } else { 0.0 }
    }

    fn build(variables: &[usize]) -> GrowingCholesky {
        let mut factor = GrowingCholesky::new(2);
        for (n, &j) in variables.iter().enumerate() {
            let mut cross: Vec<f64> = variables[..n].iter().map(|&i| product(i, j)).collect();
            let rhs = [noise(j, 1), 1.0];
            assert!(factor.append(&mut cross, product(j, j), 0.0, &rhs).is_ok());
        }
        factor
    }

    fn assert_same(a: &GrowingCholesky, b: &GrowingCholesky) {
        for (x, y) in a.numbers().iter().zip(b.numbers()) {
            assert!((x - y).abs() < 1e-9, "{x} {y}");
        }
    }

    #[test]
    fn substitutions_solve_the_system() {
        for n in [1, 2, 3, 4, 5, 8, 33, 90] {
            let variables: Vec<usize> = (0..n).collect();
            let factor = build(&variables);
            let wanted: Vec<f64> = (0..n).map(|i| noise(i, 3)).collect();
            let mut x: Vec<f64> =
                (0..n).map(|i| (0..n).map(|j| product(i, j) * wanted[j]).sum()).collect();
            factor.forward(&mut x);
            factor.backward(&mut x);
            for i in 0..n {
                assert!((x[i] - wanted[i]).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn deleting_gives_the_factor_of_the_rest() {
        let variables: Vec<usize> = (0..41).collect();
        for k in [0, 1, 7, 20, 39, 40] {
            let mut factor = build(&variables);
            factor.delete(k);
            let mut rest = variables.clone();
            rest.remove(k);
            let built = build(&rest);
            assert_same(&factor, &built);
            for (i, j) in [(0, 0), (1, 0), (1, 1)] {
                let (kept, wanted) = (factor.attached_product(i, j), built.attached_product(i, j));
                assert!((kept - wanted).abs() < 1e-9 * wanted.abs().max(1.0));
            }
        }
    }

    #[test]
    fn a_dependent_column_is_refused_and_its_projection_left() {
        let mut factor = build(&[0, 1, 2]);
        let mut cross: Vec<f64> = (0..3).map(|i| product(i, 1)).collect();
        let refused = factor.append(&mut cross, product(1, 1), 1e-12, &[0.0, 0.0]);
        assert!(matches!(refused, Err(DependentColumn { pivot_squared }) if pivot_squared < 1e-12));
        assert_eq!(factor.order(), 3);
        factor.backward(&mut cross);
        assert!((cross[1] - 1.0).abs() < 1e-9 && cross[0].abs() < 1e-9);
    }

    #[test]
    fn numbers_restore_the_same_bits() {
        let variables: Vec<usize> = (0..30).collect();
        let mut factor = build(&variables);
        factor.delete(4);
        let numbers = factor.numbers();
        let mut again = GrowingCholesky::from_numbers(29, 2, &numbers).expect("the right count");
        assert_eq!(again.numbers(), numbers);
        factor.delete(11);
        again.delete(11);
        assert_eq!(again.numbers(), factor.numbers());
        assert!(GrowingCholesky::from_numbers(29, 2, &numbers[1..]).is_none());
    }
}
