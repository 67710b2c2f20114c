//! Decision values of rows, from weights that the estimator keeps.

use crate::data::Features;
use crate::train::refuse;
use crate::watch;
use minorant::linalg::parallel::{map_chunks_mut, split_evenly};
use minorant::linalg::{Design, PackedWeights};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// X·W for rows X and weights W (features by outputs).
#[pyfunction]
pub(crate) fn scores<'py>(
    py: Python<'py>,
    features: Features<'py>,
    weights: PyReadonlyArray2<'py, f64>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let matrix = features.matrix()?;
    let [inputs, outputs] = [weights.shape()[0], weights.shape()[1]];
    if inputs != matrix.cols() || outputs == 0 {
        return refuse(format!("expected weights for {} columns", matrix.cols()));
    }
    let rows = matrix.rows();
    let weights = weights.as_slice()?;
    let values: PyResult<Vec<f64>> = py.detach(|| {
        let design = Design::new(&matrix, None);
        let packed = PackedWeights::pack(weights, outputs);
        let mut values = vec![0.0; rows * outputs];
        // One chunk is worked on by the calling thread itself.
        let chunks = split_evenly(rows, if threads == 1 { 1 } else { 4 * threads });
        let forward = |_, rows, out: &mut [f64]| design.forward(rows, &packed, out);
        let mut work = || map_chunks_mut(&chunks, &mut values, outputs, forward);
        if threads == 1 {
            work();
        } else {
            watch::pool(threads)?.install(work);
        }
        Ok(values)
    });
    values?.into_pyarray(py).reshape([rows, outputs])
}
