//! `Counts` and `Counter`.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use slmtok_core::corpus::Digest;
use slmtok_core::count;
use slmtok_core::mapped_file::{DOCUMENT_UNITS, DocumentUnit};
use slmtok_core::train::merge_memory;

use crate::bridge::{run, run_calling, run_reporting};
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
    fn capped_documents(&self) -> u64 {
        self.inner.totals.truncation.documents
    }

    #[getter]
    fn capped_bytes(&self) -> u64 {
        self.inner.totals.truncation.bytes
    }

    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyBytes>, u64)>> {
        let sorted = run(py, || Ok(self.inner.sorted()))?;
        Ok(sorted.into_iter().map(|(piece, count)| (PyBytes::new(py, &piece), count)).collect())
    }

    fn canonical<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = run(py, || Ok(self.inner.canonical()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn columns(&self, py: Python<'_>, update: &Bound<'_, PyAny>) -> PyResult<()> {
        run_calling(py, update, |update| self.inner.columns(update))
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
    // Behind a lock because calls may overlap without the GIL.
    inner: Mutex<State>,
}

/// A counter, or why there is none.
enum State {
    Ready(Box<count::Counter>),
    Gone(&'static str),
}

/// The unit called `name`.
pub fn document_unit(name: &str) -> PyResult<DocumentUnit> {
    let found = DOCUMENT_UNITS.iter().find(|(known, _)| *known == name);
    found
        .map(|(_, unit)| *unit)
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
            counter = counter.within(&count::Budget::new(bytes, folder));
        }
        Self { inner: Mutex::new(State::Ready(Box::new(counter))) }
    }

    fn feed(&self, documents: &Bound<'_, PyAny>) -> PyResult<bool> {
        let texts = Texts::many(documents, None)?;
        let held = texts.bytes()?;
        let slices = held.slices();
        self.work(|counter| {
            run_reporting(documents.py(), None, "count", |tell| counter.feed(&slices, &mut |done| tell(done, u64::MAX)))
        })
    }

    #[getter]
    fn documents(&self) -> u64 {
        match &*self.inner.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Ready(counter) => counter.documents(),
            State::Gone(_) => 0,
        }
    }

    fn feed_documents(&self, py: Python<'_>, documents: &Documents) -> PyResult<bool> {
        self.work(|counter| {
            run_reporting(py, None, "count", |tell| {
                counter.feed_batch(&documents.inner, &mut |done| tell(done, u64::MAX))
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
        let more = self.work(|counter| {
            run_reporting(py, progress, "count", |tell| {
                let (more, found) = counter.feed_hashed(&path, tell)?;
                digest = found;
                Ok(more)
            })
        })?;
        Ok((more, PyBytes::new(py, &digest)))
    }

    fn finish(&self, py: Python<'_>) -> PyResult<Counts> {
        let counter = self.take("finished")?;
        let inner = run_reporting(py, None, "count", |tell| counter.finish(&mut |done| tell(done, u64::MAX)))?;
        Ok(Counts { inner })
    }
}

impl Counter {
    /// Feeds the counter. What fails half-way leaves it unusable: part of the documents is counted.
    fn work(&self, feed: impl FnOnce(&mut count::Counter) -> PyResult<bool>) -> PyResult<bool> {
        let mut counter = self.take("in use by another call")?;
        let fed = feed(&mut counter);
        let left = if fed.is_ok() { State::Ready(Box::new(counter)) } else { State::Gone("broken off by an error") };
        *self.inner.lock().unwrap_or_else(PoisonError::into_inner) = left;
        fed
    }

    /// The counter, which is `now` for whoever asks next.
    fn take(&self, now: &'static str) -> PyResult<count::Counter> {
        let mut state = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, State::Gone(now)) {
            State::Ready(counter) => Ok(*counter),
            State::Gone(why) => {
                *state = State::Gone(why);
                Err(PyRuntimeError::new_err(format!("the counter is {why}; make one for each corpus")))
            }
        }
    }
}
