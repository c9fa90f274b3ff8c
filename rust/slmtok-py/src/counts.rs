//! `Counts` and `Counter`.

use std::sync::Mutex;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use slmtok_core::corpus::Digest;
use slmtok_core::count;
use slmtok_core::file_blocks::DocumentUnit;
use slmtok_core::train::merge_memory;

use crate::bridge::{lock, run, run_reporting, run_with_callback};
use crate::bytes_object::bytes_object;
use crate::documents::Documents;
use crate::pattern::Pattern;
use crate::text::Texts;

/// How often each piece occurs.
#[pyclass(frozen, module = "slmtok._native")]
pub struct Counts {
    /// The core's.
    pub inner: count::Counts,
}

#[pymethods]
impl Counts {
    #[staticmethod]
    #[pyo3(signature = (pattern, items, documents=0, bytes=0))]
    fn from_items(
        py: Python<'_>,
        pattern: &Pattern,
        items: Vec<(Bound<'_, PyBytes>, u64)>,
        documents: u64,
        bytes: u64,
    ) -> PyResult<Self> {
        let items: Vec<(&[u8], u64)> = items.iter().map(|(piece, count)| (piece.as_bytes(), *count)).collect();
        let inner = run(py, || count::Counts::from_items(pattern.inner.clone(), items, documents, bytes))?;
        Ok(Self { inner })
    }

    #[getter]
    fn pattern(&self) -> Pattern {
        Pattern { inner: self.inner.pattern.clone() }
    }

    #[getter]
    fn documents(&self) -> u64 {
        self.inner.totals.documents
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.inner.totals.bytes
    }

    #[getter]
    fn pieces(&self) -> u64 {
        self.inner.totals.pieces
    }

    #[getter]
    fn distinct(&self) -> usize {
        self.inner.distinct()
    }

    #[getter]
    fn invalid_bytes(&self) -> u64 {
        self.inner.totals.invalid_bytes
    }

    #[getter]
    fn invalid_documents(&self) -> u64 {
        self.inner.totals.invalid_documents
    }

    #[getter]
    fn first_invalid(&self) -> Option<(u64, u64)> {
        self.inner.totals.first_invalid
    }

    #[getter]
    fn gap_pieces(&self) -> u64 {
        self.inner.totals.gaps.pieces
    }

    #[getter]
    fn gap_bytes(&self) -> u64 {
        self.inner.totals.gaps.bytes
    }

    #[getter]
    fn truncated_documents(&self) -> u64 {
        self.inner.totals.truncation.documents
    }

    #[getter]
    fn truncated_bytes(&self) -> u64 {
        self.inner.totals.truncation.bytes
    }

    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyBytes>, u64)>> {
        let sorted = run(py, || Ok(self.inner.sorted()))?;
        sorted.into_iter().map(|(piece, count)| Ok((bytes_object(py, &piece)?, count))).collect()
    }

    fn occurrences(&self, py: Python<'_>, needle: Vec<u8>) -> PyResult<u64> {
        run(py, || Ok(self.inner.occurrences(&needle)))
    }

    fn canonical<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = run(py, || Ok(self.inner.canonical()))?;
        bytes_object(py, &bytes)
    }

    fn columns(&self, py: Python<'_>, update: &Bound<'_, PyAny>) -> PyResult<()> {
        run_with_callback(py, update, |update| self.inner.columns(update))
    }

    #[getter]
    fn spills(&self) -> (u64, u64) {
        (self.inner.spills.runs, self.inner.spills.bytes)
    }

    #[getter]
    fn merge_memory(&self) -> u64 {
        merge_memory(&self.inner)
    }

    fn __len__(&self) -> usize {
        self.inner.distinct()
    }
}

/// Counts documents given in any number of calls.
#[pyclass(frozen, module = "slmtok._native")]
pub struct Counter {
    // Calls may overlap, because the GIL is released.
    inner: Mutex<State>,
}

/// A counter, or the reason why it cannot be used.
enum State {
    Ready(Box<count::Counter>),
    Unusable(&'static str),
}

/// The document unit with this option value.
pub fn document_unit(name: &str) -> PyResult<DocumentUnit> {
    DocumentUnit::named(name)
        .ok_or_else(|| PyValueError::new_err(format!("document must be 'file' or 'line', not {name:?}")))
}

#[pymethods]
impl Counter {
    #[new]
    #[pyo3(signature = (pattern, *, threads=0, max_doc_chars=None, max_chars=None, max_bytes=None, budget=None))]
    fn new(
        pattern: &Pattern,
        threads: usize,
        max_doc_chars: Option<u64>,
        max_chars: Option<u64>,
        max_bytes: Option<u64>,
        budget: Option<(usize, String)>,
    ) -> Self {
        let limits = count::Limits { max_doc_chars, chars_left: max_chars, bytes_left: max_bytes };
        let mut counter = count::Counter::new(pattern.inner.clone(), threads, limits);
        if let Some((bytes, folder)) = budget {
            counter = counter.with_budget(&count::Budget::new(bytes, folder));
        }
        Self { inner: Mutex::new(State::Ready(Box::new(counter))) }
    }

    fn feed(&self, documents: &Bound<'_, PyAny>) -> PyResult<bool> {
        let texts = Texts::many(documents, None)?;
        let held = texts.bytes()?;
        let slices = held.slices();
        self.with_counter(documents.py(), |counter| {
            run_reporting(documents.py(), None, "count", |report| {
                counter.feed(&slices, &mut |done| report(done, u64::MAX))
            })
        })
    }

    #[getter]
    fn documents(&self, py: Python<'_>) -> PyResult<u64> {
        match &*lock(py, &self.inner)? {
            State::Ready(counter) => Ok(counter.documents()),
            State::Unusable(reason) => Err(unusable(reason)),
        }
    }

    fn feed_documents(&self, py: Python<'_>, documents: &Documents) -> PyResult<bool> {
        self.with_counter(py, |counter| {
            run_reporting(py, None, "count", |report| {
                counter.feed_batch(&documents.inner, &mut |done| report(done, u64::MAX))
            })
        })
    }

    #[pyo3(signature = (path, *, progress=None))]
    fn feed_file<'py>(
        &self,
        py: Python<'py>,
        path: String,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(bool, Bound<'py, PyBytes>)> {
        let mut digest = Digest::default();
        let more = self.with_counter(py, |counter| {
            run_reporting(py, progress, "count", |report| {
                let (more, found) = counter.feed_hashed(&path, report)?;
                digest = found;
                Ok(more)
            })
        })?;
        Ok((more, PyBytes::new(py, &digest)))
    }

    fn finish(&self, py: Python<'_>) -> PyResult<Counts> {
        let counter = self.take(py, "finished")?;
        let inner = run_reporting(py, None, "count", |report| counter.finish(&mut |done| report(done, u64::MAX)))?;
        Ok(Counts { inner })
    }
}

impl Counter {
    /// Runs `feed` on the counter. An error makes the counter unusable, because part of the documents is counted.
    fn with_counter(&self, py: Python<'_>, feed: impl FnOnce(&mut count::Counter) -> PyResult<bool>) -> PyResult<bool> {
        let mut counter = self.take(py, "in use by another call")?;
        let outcome = feed(&mut counter);
        let state =
            if outcome.is_ok() { State::Ready(Box::new(counter)) } else { State::Unusable("aborted by an error") };
        *lock(py, &self.inner)? = state;
        outcome
    }

    /// Takes the counter out; later calls fail with `reason`.
    fn take(&self, py: Python<'_>, reason: &'static str) -> PyResult<count::Counter> {
        let mut state = lock(py, &self.inner)?;
        match std::mem::replace(&mut *state, State::Unusable(reason)) {
            State::Ready(counter) => Ok(*counter),
            State::Unusable(reason) => {
                *state = State::Unusable(reason);
                Err(unusable(reason))
            }
        }
    }
}

fn unusable(reason: &str) -> PyErr {
    PyRuntimeError::new_err(format!("the counter is {reason}; create one for each corpus"))
}
