//! `StreamDecoder`.

use std::sync::Mutex;

use pyo3::prelude::*;
use slmtok_core::decode;

use crate::bridge::exception;
use crate::encoder::Encoder;

/// Text as soon as it is complete.
#[pyclass(frozen, module = "slmtok._native")]
pub struct StreamDecoder {
    encoder: Py<Encoder>,
    state: Mutex<(decode::StreamDecoder, usize)>,
}

#[pymethods]
impl StreamDecoder {
    #[new]
    fn new(encoder: Py<Encoder>) -> Self {
        Self { encoder, state: Mutex::default() }
    }

    fn push(&self, py: Python<'_>, id: i64) -> PyResult<String> {
        let decoder = self.encoder.get().decoder(py)?;
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let token = decoder.token(id, state.1).map_err(|error| exception(py, &error))?;
        state.1 += 1;
        Ok(state.0.push(token))
    }

    fn finish(&self) -> String {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner).0.finish()
    }
}
