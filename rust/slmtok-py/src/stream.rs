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
    /// The decoder and the number of ids so far.
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

    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        Ok(lock(py, &self.state)?.0.finish())
    }
}

impl StreamDecoder {
    /// Calls no Python while it holds the lock: that could switch to a thread that holds the GIL and waits for the lock.
    fn push_token(&self, decoder: &decode::Decoder, id: i64) -> slmtok_core::Result<String> {
        let mut state = parallel::lock(&self.state)?;
        let token = decoder.token(id, state.1)?;
        state.1 += 1;
        Ok(state.0.push(token))
    }
}
