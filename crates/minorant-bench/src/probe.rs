//! The machine's read bandwidth: a plain sum over as many bytes as an evaluation reads, of the same
//! types, on the same threads. It is the floor that evaluations are measured against.

use minorant_linalg::{Matrix, Values};
use rayon::prelude::*;
use std::ops::Range;

/// Arrays of the volume and the types of a matrix.
#[derive(Debug)]
pub(crate) struct Probe {
    columns: Vec<u32>,
    narrow: Vec<f32>,
    wide: Vec<f64>,
    bytes: usize,
}

/// As many pieces as an evaluation has chunks.
const PIECES: usize = 64;

impl Probe {
    /// A probe that reads what a pass over the matrix reads.
    pub(crate) fn like(matrix: &Matrix<'_>) -> Probe {
        let bytes = matrix.bytes();
        let width = matrix.values().width();
        let index = if matrix.is_sparse() { 4 } else { 0 };
        let entries = bytes / (width + index);
        let narrow = matches!(matrix.values(), Values::F32(_));
        Probe {
            columns: if matrix.is_sparse() { vec![1; entries] } else { Vec::new() },
            narrow: if narrow { vec![1.0; entries] } else { Vec::new() },
            wide: if narrow { Vec::new() } else { vec![1.0; entries] },
            bytes,
        }
    }

    /// Bytes of one pass.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// One pass in the rayon pool that the caller is in.
    pub(crate) fn pass(&self) {
        let total: f64 = (0..PIECES).into_par_iter().with_max_len(1).map(|i| self.piece(i)).sum();
        std::hint::black_box(total);
    }

    fn piece(&self, piece: usize) -> f64 {
        let span = |length: usize| -> Range<usize> {
            piece * length / PIECES..(piece + 1) * length / PIECES
        };
        let (columns, narrow, wide) = (
            &self.columns[span(self.columns.len())],
            &self.narrow[span(self.narrow.len())],
            &self.wide[span(self.wide.len())],
        );
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                f64::from(sum(columns, 0u32, |a, x| a.wrapping_add(x)))
                    + f64::from(sum(narrow, 0.0f32, |a, x| a + x))
                    + sum(wide, 0.0, |a, x| a + x)
            },
        )
    }
}

/// A sum in independent lanes, so that no addition waits for the one before.
#[inline(always)]
fn sum<T: Copy>(values: &[T], zero: T, add: impl Fn(T, T) -> T) -> T {
    const LANES: usize = 64;
    let mut lanes = [zero; LANES];
    let (blocks, rest) = values.as_chunks::<LANES>();
    for block in blocks {
        for l in 0..LANES {
            lanes[l] = add(lanes[l], block[l]);
        }
    }
    let total = lanes.into_iter().fold(zero, &add);
    rest.iter().fold(total, |total, &x| add(total, x))
}
