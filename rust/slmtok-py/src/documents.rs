//! `Documents` and `DocumentReader`.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use slmtok_core::corpus::{self, Border, Kind, PACKINGS, Packing, Place, Reader};

use crate::arrays::read_only_copy;
use crate::bridge::{run, run_asking};
use crate::text::Texts;

/// A place: unpacked bytes before it, its line, and the same of its border in packed and in unpacked bytes.
type Numbers = (u64, u64, u64, u64);

fn numbers(place: Place) -> Numbers {
    (place.offset, place.line, place.border.packed, place.border.unpacked)
}

/// Documents end to end.
#[pyclass(frozen, sequence, module = "slmtok._native")]
pub struct Documents {
    /// The core's.
    pub inner: corpus::Documents,
}

#[pymethods]
impl Documents {
    #[new]
    fn new(texts: &Bound<'_, PyAny>) -> PyResult<Self> {
        let owners = Texts::many(texts, None)?;
        let held = owners.held()?;
        let slices = held.slices();
        Ok(Self { inner: run(texts.py(), || Ok(corpus::Documents::of(&slices)))? })
    }

    #[getter]
    fn unit(&self) -> u64 {
        self.inner.unit
    }

    #[getter]
    fn begin(&self) -> Numbers {
        numbers(self.inner.begin)
    }

    #[getter]
    fn behind(&self) -> Numbers {
        numbers(self.inner.behind)
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.inner.bytes.len()
    }

    #[getter]
    fn skips(&self) -> Vec<usize> {
        self.inner.skips.clone()
    }

    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.bytes)
    }

    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        read_only_copy(py, &self.inner.offsets)
    }

    #[getter]
    fn numbers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        read_only_copy(py, &self.inner.numbers)
    }

    #[getter]
    fn digests<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.inner.digests.as_flattened())
    }

    #[getter]
    fn digest<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.digest())
    }

    fn select(&self, py: Python<'_>, indices: Vec<usize>) -> PyResult<Self> {
        let chosen = run(py, || Ok(self.inner.select(&indices)))?;
        let inner = chosen.ok_or_else(|| PyIndexError::new_err("an index is beyond the last document"))?;
        Ok(Self { inner })
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyBytes>> {
        let place = if index < 0 { index + self.inner.len() as isize } else { index };
        let text = usize::try_from(place).ok().and_then(|place| self.inner.get(place));
        text.map(|text| PyBytes::new(py, text))
            .ok_or_else(|| PyIndexError::new_err(format!("document {index} of {}", self.inner.len())))
    }
}

/// Gives out the documents of one file, unit by unit.
#[pyclass(frozen, module = "slmtok._native")]
pub struct DocumentReader {
    inner: Reader,
    judge: Py<PyAny>,
    /// What the stream raised.
    raised: Raised,
}

type Raised = Arc<Mutex<Option<PyErr>>>;

#[pymethods]
impl DocumentReader {
    #[new]
    #[pyo3(signature = (source, kind, *, key="text", judge=None, packing="plain", unit_bytes=corpus::UNIT_BYTES, first=0, start=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword-only options of one Python call")]
    fn new(
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        kind: &str,
        key: &str,
        judge: Option<Py<PyAny>>,
        packing: &str,
        unit_bytes: usize,
        first: u64,
        start: Option<Numbers>,
    ) -> PyResult<Self> {
        let kind = match kind {
            "lines" => Kind::Lines,
            "jsonl" => Kind::Records { key: key.into() },
            _ => return Err(PyValueError::new_err(format!("kind must be 'lines' or 'jsonl', not {kind:?}"))),
        };
        let packing = packing_named(packing)?;
        let start = start.map_or(Ok(Place::START), place)?;
        let raised = Raised::default();
        let path = source.cast::<PyString>().ok().map(|path| path.to_str().map(str::to_owned)).transpose()?;
        let stream = Stream { read: source.clone().unbind(), raised: Arc::clone(&raised) };
        let inner = run(py, || match &path {
            Some(path) => Reader::open(path, packing, kind, unit_bytes, start),
            None => Reader::stream(stream, "stream", packing, kind, unit_bytes, start),
        })?;
        let inner = inner.from_unit(first);
        Ok(Self { inner, judge: judge.unwrap_or_else(|| py.None()), raised })
    }

    #[getter]
    fn taken(&self) -> u64 {
        self.inner.taken()
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Documents>> {
        let outcome = run_asking(py, &self.judge, |judge| self.inner.next(judge));
        match self.raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => Ok(outcome?.map(|inner| Documents { inner })),
        }
    }
}

fn place((offset, line, packed, unpacked): Numbers) -> PyResult<Place> {
    if line == 0 || unpacked > offset || offset.max(line) > i64::MAX as u64 {
        return Err(PyValueError::new_err("start is no place: a line 0, a border behind it, or 2^63 bytes"));
    }
    Ok(Place { offset, line, border: Border { packed, unpacked } })
}

fn packing_named(name: &str) -> PyResult<Packing> {
    let found = PACKINGS.iter().find(|(known, _)| *known == name);
    let known = || PACKINGS.map(|(known, _)| known);
    found
        .map(|(_, packing)| *packing)
        .ok_or_else(|| PyValueError::new_err(format!("packing must be one of {:?}, not {name:?}", known())))
}

/// A stream of Python's: a callable that takes a number and gives at most that many bytes, none at the end.
struct Stream {
    read: Py<PyAny>,
    raised: Raised,
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = Python::attach(|py| {
            let block = self.read.call1(py, (buffer.len(),))?;
            let block = block.bind(py).cast::<PyBytes>()?.as_bytes();
            let place = buffer.get_mut(..block.len());
            place
                .ok_or_else(|| PyTypeError::new_err("the stream gave more than was asked for"))?
                .copy_from_slice(block);
            Ok(block.len())
        });
        got.map_err(|error: PyErr| {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            io::Error::other("the stream raised")
        })
    }
}
