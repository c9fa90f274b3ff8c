//! `StreamDecoder`.

use std::sync::{Mutex, PoisonError};

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
        self.push_token(decoder, id).map_err(|error| exception(py, &error))
    }

    fn finish(&self) -> String {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0.finish()
    }
}

impl StreamDecoder {
    /// No Python under the lock: it could let another thread run that waits for the lock with the GIL in its hands.
    fn push_token(&self, decoder: &decode::Decoder, id: i64) -> slmtok_core::Result<String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let token = decoder.token(id, state.1)?;
        state.1 += 1;
        Ok(state.0.push(token))
    }
}
