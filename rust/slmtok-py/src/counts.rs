//! `Counts` and `Counter`.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use slmtok_core::Error;
use slmtok_core::accel::transcode::TranscodePolicy;
use slmtok_core::count::{self, SharedCounter, Unusable};
use slmtok_core::file_blocks::DocumentUnit;
use slmtok_core::train::merge_memory;

use crate::bridge::{run, run_holding_gil, run_polling, run_reporting, run_with_callback};
use crate::bytes_object::bytes_object;
use crate::documents::Documents;
use crate::pattern::Pattern;
use crate::python_code::call;
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

    fn visit_items(&self, py: Python<'_>, visit: &Bound<'_, PyAny>, n: usize) -> PyResult<()> {
        let mut raised = None;
        let outcome = run_holding_gil(py, || {
            self.inner.blocks(n, &mut |block| {
                let items = block.iter().map(|(piece, count)| Ok((bytes_object(py, piece)?, *count)));
                let visited = items.collect::<PyResult<Vec<_>>>().and_then(|items| call(visit, (items,), None));
                visited.map(drop).map_err(|error| {
                    raised = Some(error);
                    Error::Interrupted
                })
            })
        });
        raised.map_or(outcome, Err)
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
    inner: SharedCounter,
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
        Self { inner: SharedCounter::new(counter) }
    }

    fn feed(&self, documents: &Bound<'_, PyAny>) -> PyResult<bool> {
        let texts = Texts::many(documents, &TranscodePolicy::without_memory())?;
        let held = texts.bytes()?;
        let slices = held.slices();
        let fed = run_polling(documents.py(), |report| self.inner.feed(|counter| counter.feed(&slices, report)))?;
        fed.map_err(unusable)
    }

    #[getter]
    fn documents(&self, py: Python<'_>) -> PyResult<u64> {
        run_holding_gil(py, || self.inner.documents())?.map_err(unusable)
    }

    fn feed_documents(&self, py: Python<'_>, documents: &Documents) -> PyResult<bool> {
        let batch = &documents.inner;
        run_polling(py, |report| self.inner.feed(|counter| counter.feed_batch(batch, report)))?.map_err(unusable)
    }

    #[pyo3(signature = (path, *, progress=None))]
    fn feed_file<'py>(
        &self,
        py: Python<'py>,
        path: String,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(bool, Bound<'py, PyBytes>)> {
        let fed = run_reporting(py, progress, "count", |report| {
            self.inner.feed(|counter| counter.feed_hashed(&path, report))
        })?;
        let (more, digest) = fed.map_err(unusable)?;
        Ok((more, PyBytes::new(py, &digest)))
    }

    fn finish(&self, py: Python<'_>) -> PyResult<Counts> {
        let counter = run_holding_gil(py, || self.inner.take())?.map_err(unusable)?;
        let inner = run_polling(py, |report| counter.finish(report))?;
        Ok(Counts { inner })
    }
}

fn unusable(reason: Unusable) -> PyErr {
    PyRuntimeError::new_err(format!("the counter is {reason}; create one for each corpus"))
}
