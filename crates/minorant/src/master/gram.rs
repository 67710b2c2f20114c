//! The matrix of inner products of the bundle's planes: grows by one plane at a time, shrinks by
//! removal. It only stores the numbers; computing them is the bundle's business.

/// A symmetric matrix of inner products. Rows have spare room, so that growing seldom copies.
#[derive(Clone, Debug, Default)]
pub struct Gram {
    len: usize,
    /// Distance of two rows, at least `len`.
    stride: usize,
    entries: Vec<f64>,
}

impl Gram {
    /// The matrix of no planes.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of planes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no planes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The products of plane `j` with all planes.
    pub fn row(&self, j: usize) -> &[f64] {
        &self.entries[j * self.stride..j * self.stride + self.len]
    }

    /// The product of planes `j` and `k`.
    pub fn get(&self, j: usize, k: usize) -> f64 {
        self.row(j)[k]
    }

    /// Appends a plane, given its products with the planes before it and, last, with itself.
    pub fn push(&mut self, products: &[f64]) {
        let n = self.len;
        assert_eq!(products.len(), n + 1, "one product for every plane and the new one");
        if n == self.stride {
            self.widen();
        }
        let stride = self.stride;
        self.entries[n * stride..n * stride + n + 1].copy_from_slice(products);
        for (k, &product) in products[..n].iter().enumerate() {
            self.entries[k * stride + n] = product;
        }
        self.len = n + 1;
    }

    /// Removes the planes with `keep[j] == false`; the others keep their order.
    pub fn retain(&mut self, keep: &[bool]) {
        assert_eq!(keep.len(), self.len, "one word for every plane");
        let stride = self.stride;
        let kept: Vec<usize> = (0..self.len).filter(|&j| keep[j]).collect();
        for (to, &from) in kept.iter().enumerate() {
            // `to <= from`, so no row is overwritten before it was moved.
            for (column, &k) in kept.iter().enumerate() {
                self.entries[to * stride + column] = self.entries[from * stride + k];
            }
        }
        self.len = kept.len();
    }

    /// Doubles the room, with a stride that is no power of two: the entries of one column would
    /// share cache sets.
    fn widen(&mut self) {
        let stride = (2 * self.stride).max(24).next_multiple_of(8) + 8;
        let mut entries = vec![0.0; stride * stride];
        for j in 0..self.len {
            entries[j * stride..j * stride + self.len].copy_from_slice(self.row(j));
        }
        self.entries = entries;
        self.stride = stride;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_and_shrinks_symmetrically() {
        let product = |i: usize, j: usize| (i * j + i + j) as f64;
        let mut gram = Gram::new();
        for j in 0..100 {
            let row: Vec<f64> = (0..=j).map(|i| product(i, j)).collect();
            gram.push(&row);
        }
        let keep: Vec<bool> = (0..100).map(|j| j % 3 != 1).collect();
        gram.retain(&keep);
        let kept: Vec<usize> = (0..100).filter(|&j| keep[j]).collect();
        assert_eq!(gram.len(), kept.len());
        for (a, &i) in kept.iter().enumerate() {
            for (b, &j) in kept.iter().enumerate() {
                assert_eq!(gram.get(a, b), product(i, j));
            }
        }
    }
}
