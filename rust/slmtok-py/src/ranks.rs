//! Rank files.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use slmtok_core::encode::rank_file::RankFile;

/// The token of each rank in a rank file; `None` if anything is wrong with it.
#[pyfunction]
pub fn read_ranks<'py>(py: Python<'py>, data: &[u8], limit: usize) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let Some(file) = RankFile::read(data, limit) else { return Ok(None) };
    let tokens = file.tokens().map(|token| token.map(|token| PyBytes::new(py, token)));
    Ok(Some(PyTuple::new(py, tokens)?))
}
