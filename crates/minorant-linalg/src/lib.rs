//! Vectors and matrices: slice kernels, sparse and dense design matrices, products with weights,
//! products of dense matrices and growable Cholesky factors. The only crate with `unsafe`, SIMD or
//! a linear-algebra dependency. It knows nothing of losses, bundles or files.

pub mod blocks;
pub mod cholesky;
pub mod columns;
pub mod dense;
pub mod design;
pub mod elementary;
pub mod matrix;
mod pages;
pub mod parallel;
pub mod product;
pub mod sum;
pub mod tree;

pub use blocks::{BlocksShape, RowBlocks, Traffic};
pub use columns::{ColumnSet, Columns};
pub use design::{Design, Factors, Follow, PackedWeights, RowStep};
pub use matrix::{Matrix, MatrixError, Storage, Values, all_hold};
