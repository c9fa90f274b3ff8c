//! `Pattern` and `pattern_names`.

use pyo3::prelude::*;
use slmtok_core::pretoken;

use crate::arrays::read_only;
use crate::bridge::{exception, run};
use crate::text::Texts;

/// A compiled split pattern.
#[pyclass(frozen, module = "slmtok._native")]
pub struct Pattern {
    /// The core's.
    pub inner: pretoken::Pattern,
}

#[pymethods]
impl Pattern {
    #[new]
    fn new(py: Python<'_>, spec: &str) -> PyResult<Self> {
        let inner = pretoken::Pattern::new(spec).map_err(|error| exception(py, &error))?;
        Ok(Self { inner })
    }

    #[getter]
    fn name(&self) -> Option<&'static str> {
        self.inner.name()
    }

    #[getter]
    fn regex(&self) -> &str {
        self.inner.regex()
    }

    fn split<'py>(&self, text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let texts = Texts::one(text, None)?;
        let held = texts.bytes()?;
        let slices = held.slices();
        let (bounds, _) = run(text.py(), || self.inner.split(slices[0]))?;
        read_only(text.py(), bounds)
    }

    fn gaps(&self, text: &Bound<'_, PyAny>) -> PyResult<(u64, u64)> {
        let texts = Texts::one(text, None)?;
        let held = texts.bytes()?;
        let slices = held.slices();
        let (_, gaps) = run(text.py(), || self.inner.split(slices[0]))?;
        Ok((gaps.pieces, gaps.bytes))
    }
}

/// Registered patterns, the default first.
#[pyfunction]
pub fn pattern_names() -> Vec<&'static str> {
    pretoken::names()
}
