//! `Pattern`, `pattern_names` and `byte_automaton`.

use pyo3::prelude::*;
use slmtok_core::accel::transcode::TranscodePolicy;
use slmtok_core::byte_automaton::ByteAutomaton;
use slmtok_core::pretoken::{self, Gaps};

use crate::arrays::{read_only, read_only_copy};
use crate::bridge::{run, run_polling};
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
        let inner = run(py, || pretoken::Pattern::new(spec))?;
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
        let (bounds, _) = self.split_text(text)?;
        read_only(text.py(), bounds)
    }

    fn gaps(&self, text: &Bound<'_, PyAny>) -> PyResult<(u64, u64)> {
        let (_, gaps) = self.split_text(text)?;
        Ok((gaps.pieces, gaps.bytes))
    }
}

impl Pattern {
    fn split_text(&self, text: &Bound<'_, PyAny>) -> PyResult<(Vec<u64>, Gaps)> {
        let texts = Texts::one(text, &TranscodePolicy::without_memory())?;
        let held = texts.bytes()?;
        let bytes = held.slices()[0];
        run_polling(text.py(), |report| self.inner.split_polling(bytes, &mut || report(0)))
    }
}

/// Registered patterns, the default first.
#[pyfunction]
pub fn pattern_names() -> Vec<&'static str> {
    pretoken::names()
}

/// Classes of bytes, transitions and accepting states.
type AutomatonArrays<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// The automaton of a regular expression: uint8 [256], uint32 [states * classes], bool [states].
#[pyfunction]
pub fn byte_automaton<'py>(py: Python<'py>, regex: &str) -> PyResult<AutomatonArrays<'py>> {
    let found = run(py, || ByteAutomaton::new(regex))?;
    Ok((read_only_copy(py, &found.classes)?, read_only(py, found.transitions)?, read_only(py, found.accepting)?))
}
