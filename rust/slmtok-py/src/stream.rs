//! `StreamDecoder`.

use std::sync::Mutex;

use pyo3::prelude::*;
use slmtok_core::decode;
use slmtok_core::parallel;

use crate::bridge::{exception, lock};
use crate::encoder::Encoder;

/// Decodes ids to text incrementally.
#[pyclass(frozen, module = "slmtok._native")]
pub struct StreamDecoder {
    encoder: Py<Encoder>,
    inner: Mutex<decode::StreamDecoder>,
}

#[pymethods]
impl StreamDecoder {
    #[new]
    fn new(encoder: Py<Encoder>) -> Self {
        Self { encoder, inner: Mutex::default() }
    }

    fn push(&self, py: Python<'_>, id: i64) -> PyResult<String> {
        let decoder = self.encoder.get().decoder(py)?;
        // Calls no Python while it holds the lock: that could switch to a thread that holds the GIL and waits for the lock.
        let text = parallel::lock(&self.inner).and_then(|mut inner| inner.push_id(decoder, id));
        text.map_err(|error| exception(py, &error))
    }

    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        Ok(lock(py, &self.inner)?.finish())
    }
}
