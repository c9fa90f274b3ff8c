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

/// Ends of all pieces, and what the pattern did not match.
fn split(pattern: &pretoken::Pattern, text: &[u8]) -> slmtok_core::Result<(Vec<u64>, pretoken::Gaps)> {
    let (mut scanner, mut ends, mut at) = (pattern.scanner(), [0; 256], 0);
    let mut bounds = vec![0];
    while at < text.len() {
        let filled = scanner.fill(text, at, &mut ends)?;
        let Some(&last) = ends[..filled].last() else { break };
        bounds.extend(ends[..filled].iter().map(|&end| end as u64));
        at = last;
    }
    Ok((bounds, scanner.gaps()))
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
        let (bounds, _) = run(text.py(), || split(&self.inner, slices[0]))?;
        read_only(text.py(), bounds)
    }

    fn gaps(&self, text: &Bound<'_, PyAny>) -> PyResult<(u64, u64)> {
        let texts = Texts::one(text, None)?;
        let held = texts.bytes()?;
        let slices = held.slices();
        let (_, gaps) = run(text.py(), || split(&self.inner, slices[0]))?;
        Ok((gaps.pieces, gaps.bytes))
    }
}

/// Registered patterns, the default first.
#[pyfunction]
pub fn pattern_names() -> Vec<&'static str> {
    pretoken::names()
}
