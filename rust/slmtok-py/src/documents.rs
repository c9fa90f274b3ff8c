//! `Documents`, `DocumentReader` and `DocumentPipeline`.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyString};
use slmtok_core::accel::transcode::TranscodePolicy;
use slmtok_core::corpus::{self, COMPRESSIONS, Chunk, Compression, Format, Position, Reader, SeekPoint};
use slmtok_core::encode::Frame;
use slmtok_core::ordered::{Next, OrderedMap};

use crate::arrays::{read_only, read_only_copy};
use crate::batches;
use crate::bridge::{POLL_INTERVAL, lock, run, run_holding_gil, run_polling, run_with_fallback};
use crate::bytes_object::bytes_object;
use crate::encoder::Encoder;
use crate::python_code::{attach, call, check_running, next};
use crate::text::Texts;

/// Offset, line, and the compressed and uncompressed bytes before the seek point.
type PositionTuple = (u64, u64, u64, u64);

fn to_tuple(position: Position) -> PositionTuple {
    (position.offset, position.line, position.seek_point.compressed, position.seek_point.uncompressed)
}

/// A batch of documents.
#[pyclass(frozen, sequence, module = "slmtok._native")]
pub struct Documents {
    /// The core's.
    pub inner: corpus::Documents,
    /// What the fallback parser raised for the record after these documents.
    error: Option<Py<PyAny>>,
}

#[pymethods]
impl Documents {
    #[new]
    fn new(texts: &Bound<'_, PyAny>) -> PyResult<Self> {
        let owners = Texts::many(texts, &TranscodePolicy::without_memory())?;
        let held = owners.bytes()?;
        let slices = held.slices();
        Ok(Self { inner: run(texts.py(), || corpus::Documents::of(&slices))?, error: None })
    }

    /// Copies with the GIL held, because arrays could change without it.
    #[staticmethod]
    fn from_columns(
        py: Python<'_>,
        columns: Vec<(PyReadonlyArray1<'_, u8>, PyReadonlyArray1<'_, i64>)>,
    ) -> PyResult<Self> {
        let slices = columns.iter().map(|(bytes, offsets)| Ok((bytes.as_slice()?, offsets.as_slice()?)));
        let slices = slices.collect::<PyResult<Vec<_>>>()?;
        let inner = run_holding_gil(py, || corpus::Documents::of_columns(&slices))?;
        let inner = inner.ok_or_else(|| PyValueError::new_err("offsets must be ascending positions in the bytes"))?;
        Ok(Self { inner, error: None })
    }

    #[getter]
    fn chunk(&self) -> u64 {
        self.inner.chunk
    }

    #[getter]
    fn begin(&self) -> PositionTuple {
        to_tuple(self.inner.begin)
    }

    #[getter]
    fn end(&self) -> PositionTuple {
        to_tuple(self.inner.end)
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
    fn error<'py>(&self, py: Python<'py>) -> Option<&Bound<'py, PyAny>> {
        self.error.as_ref().map(|error| error.bind(py))
    }

    #[getter]
    fn continued(&self) -> u64 {
        self.inner.continued
    }

    #[getter]
    fn partial(&self) -> bool {
        self.inner.partial
    }

    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        bytes_object(py, &self.inner.bytes)
    }

    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        read_only_copy(py, &self.inner.offsets)
    }

    #[getter]
    fn sizes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        read_only(py, self.inner.sizes())
    }

    #[getter]
    fn numbers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        read_only_copy(py, &self.inner.numbers)
    }

    #[getter]
    fn digests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let digests = run(py, || Ok(self.inner.digests()))?;
        bytes_object(py, digests.as_flattened())
    }

    #[getter]
    fn digest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &run(py, || Ok(self.inner.digest()))?))
    }

    fn occurrences<'py>(&self, py: Python<'py>, needle: Vec<u8>) -> PyResult<Bound<'py, PyAny>> {
        read_only(py, run(py, || Ok(self.inner.occurrences(&needle)))?)
    }

    fn select(&self, py: Python<'_>, indices: Vec<usize>) -> PyResult<Self> {
        let chosen = run(py, || Ok(self.inner.select(&indices)))?;
        let inner = chosen.ok_or_else(|| PyIndexError::new_err("an index is beyond the last document"))?;
        Ok(Self { inner, error: None })
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyBytes>> {
        let at = if index < 0 { index + self.inner.len() as isize } else { index };
        let text = usize::try_from(at).ok().and_then(|at| self.inner.get(at));
        let missing = || PyIndexError::new_err(format!("document {index} of {}", self.inner.len()));
        bytes_object(py, text.ok_or_else(missing)?)
    }
}

/// Reads the documents of one file, chunk by chunk.
#[pyclass(frozen, module = "slmtok._native")]
pub struct DocumentReader {
    inner: Arc<FileReader>,
}

/// A reader with its callbacks into Python.
struct FileReader {
    reader: Reader,
    fallback: Py<PyAny>,
    /// What the stream raised.
    raised: Raised,
}

type Raised = Arc<Mutex<Option<PyErr>>>;

#[pymethods]
impl DocumentReader {
    #[new]
    #[pyo3(signature = (source, format, *, terminator=None, key=None, fallback=None, compression="plain",
        chunk_bytes=corpus::CHUNK_BYTES, first_chunk=0, start=None, max_doc_bytes=None, name="stdin"))]
    #[expect(clippy::too_many_arguments, reason = "keyword-only options of one Python call")]
    fn new(
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        format: &str,
        terminator: Option<Vec<u8>>,
        key: Option<Vec<u8>>,
        fallback: Option<Py<PyAny>>,
        compression: &str,
        chunk_bytes: usize,
        first_chunk: u64,
        start: Option<PositionTuple>,
        max_doc_bytes: Option<usize>,
        name: &str,
    ) -> PyResult<Self> {
        let format = parse_format(format, terminator, key)?;
        let compression = parse_compression(compression)?;
        let start = start.map_or(Ok(Position::START), parse_position)?;
        let raised = Raised::default();
        let path = source.cast::<PyString>().ok().map(|path| path.extract::<PathBuf>()).transpose()?;
        let stream = Stream { read: source.clone().unbind(), raised: Arc::clone(&raised) };
        let reader = run(py, || {
            let reader = match &path {
                Some(path) => Reader::open(path, compression, format, chunk_bytes, start)?,
                None => Reader::stream(stream, name, compression, format, chunk_bytes, start)?,
            };
            reader.with_max_doc_bytes(max_doc_bytes.unwrap_or(usize::MAX))
        })?;
        let fallback = fallback.unwrap_or_else(|| py.None());
        Ok(Self { inner: Arc::new(FileReader { reader: reader.from_chunk(first_chunk), fallback, raised }) })
    }

    #[getter]
    fn bytes_read(&self) -> u64 {
        self.inner.reader.bytes_read()
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Documents>> {
        let Some(chunk) = self.inner.next_chunk(py)? else { return Ok(None) };
        let (inner, outcome) = self.inner.parse(py, chunk);
        let error = outcome.err().map(|error| error.into_value(py).into_any());
        Ok(Some(Documents { inner, error }))
    }
}

impl FileReader {
    fn next_chunk(&self, py: Python<'_>) -> PyResult<Option<Chunk>> {
        check_running(py)?;
        let outcome = run_polling(py, |report| self.reader.next_chunk_polling(&mut || report(0)));
        match lock(py, &self.raised)?.take() {
            Some(error) => Err(error),
            None => outcome,
        }
    }

    /// The documents of a chunk, with the error that ended them.
    fn parse(&self, py: Python<'_>, chunk: Chunk) -> (corpus::Documents, PyResult<()>) {
        let mut documents = corpus::Documents::with_capacity(0, 0);
        let outcome =
            run_with_fallback(py, &self.fallback, |fallback| self.reader.parse(chunk, fallback, &mut documents));
        (documents, outcome)
    }
}

/// The batches of several sources in order; reading, parsing and encoding run on several threads.
#[pyclass(frozen, module = "slmtok._native")]
pub struct DocumentPipeline {
    map: OrderedMap<PyResult<Task>, PyResult<Batch>>,
}

/// One batch before it is parsed, with the index of its source.
enum Task {
    Chunk(usize, Arc<FileReader>, Chunk),
    Parsed(usize, Py<Documents>),
}

/// Index of the source, its documents, and their ids with offsets if an encoder was given.
type Batch = (usize, Py<Documents>, Option<(Py<PyAny>, Py<PyAny>)>);

/// How long closing waits for threads, each of which ends after its current batch: signals are heard within a second.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(800);

#[pymethods]
impl DocumentPipeline {
    #[new]
    #[pyo3(signature = (sources, *, threads, encoder=None, encode_threads=1, bos=None, eos=None))]
    fn new(
        sources: &Bound<'_, PyAny>,
        threads: usize,
        encoder: Option<Py<Encoder>>,
        encode_threads: usize,
        bos: Option<u32>,
        eos: Option<u32>,
    ) -> PyResult<Self> {
        let mut tasks = Tasks { sources: sources.try_iter()?.unbind(), current: None, opened: 0, failed: false };
        let frame = Frame { bos, eos };
        let map = OrderedMap::new(
            threads,
            move || attach(|py| tasks.next(py)),
            move |task| attach(|py| finish(py, task?, encoder.as_ref(), encode_threads, frame)),
        );
        Ok(Self { map })
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        check_running(py)?;
        loop {
            match run(py, || Ok(self.map.next(POLL_INTERVAL)))? {
                Next::Ready(batch) => return batch.map(Some),
                Next::Ended => return Ok(None),
                Next::Pending => py.check_signals()?,
            }
        }
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        run(py, || {
            self.map.stop(CLOSE_TIMEOUT);
            Ok(())
        })
    }
}

/// The batches of the sources, one after another.
struct Tasks {
    sources: Py<PyIterator>,
    current: Option<Source>,
    opened: usize,
    failed: bool,
}

enum Source {
    File(Arc<FileReader>),
    Batches(Py<PyIterator>),
}

impl Tasks {
    /// The next batch; nothing after the last one or an error.
    fn next(&mut self, py: Python<'_>) -> Option<PyResult<Task>> {
        if self.failed {
            return None;
        }
        let task = self.find(py).transpose();
        self.failed = matches!(task, Some(Err(_)));
        task
    }

    fn find(&mut self, py: Python<'_>) -> PyResult<Option<Task>> {
        loop {
            let found = match &self.current {
                None => None,
                Some(Source::File(file)) => {
                    file.next_chunk(py)?.map(|chunk| Task::Chunk(self.opened - 1, Arc::clone(file), chunk))
                }
                Some(Source::Batches(batches)) => match next(batches.bind(py))? {
                    Some(batch) => Some(Task::Parsed(self.opened - 1, batch.cast_into::<Documents>()?.unbind())),
                    None => None,
                },
            };
            if found.is_some() {
                return Ok(found);
            }
            let Some(source) = next(self.sources.bind(py))? else { return Ok(None) };
            self.current = Some(match source.cast::<DocumentReader>() {
                Ok(reader) => Source::File(Arc::clone(&reader.get().inner)),
                Err(_) => Source::Batches(source.try_iter()?.unbind()),
            });
            self.opened += 1;
        }
    }
}

/// Parses and encodes one batch.
fn finish(py: Python<'_>, task: Task, encoder: Option<&Py<Encoder>>, threads: usize, frame: Frame) -> PyResult<Batch> {
    let (source, documents) = match task {
        Task::Parsed(source, documents) => (source, documents),
        Task::Chunk(source, file, chunk) => {
            let (inner, outcome) = file.parse(py, chunk);
            outcome?;
            (source, Py::new(py, Documents { inner, error: None })?)
        }
    };
    run(py, || {
        documents.get().inner.digests();
        Ok(())
    })?;
    let encoded = encoder.map(|encoder| {
        let slices = documents.get().inner.slices();
        batches::encode(py, &encoder.get().inner, &slices, threads, frame, None)
    });
    let encoded = encoded.transpose()?.map(|(ids, offsets)| (ids.unbind(), offsets.unbind()));
    Ok((source, documents, encoded))
}

fn parse_format(name: &str, terminator: Option<Vec<u8>>, key: Option<Vec<u8>>) -> PyResult<Format> {
    Format::named(name, terminator, key).ok_or_else(|| {
        PyValueError::new_err(match name {
            "text" | "jsonl" | "records" => format!("terminator belongs to 'text' and key to 'jsonl', not to {name:?}"),
            _ => format!("format must be 'text', 'jsonl' or 'records', not {name:?}"),
        })
    })
}

fn parse_position((offset, line, compressed, uncompressed): PositionTuple) -> PyResult<Position> {
    Position::new(offset, line, SeekPoint { compressed, uncompressed })
        .ok_or_else(|| PyValueError::new_err("start is not a position: line 0, a seek point after it, or 2^63 bytes"))
}

fn parse_compression(name: &str) -> PyResult<Compression> {
    let found = COMPRESSIONS.iter().find(|(known, _)| *known == name);
    let known = || COMPRESSIONS.map(|(known, _)| known);
    found
        .map(|(_, compression)| *compression)
        .ok_or_else(|| PyValueError::new_err(format!("compression must be one of {:?}, not {name:?}", known())))
}

/// A Python callable that takes a size and returns at most that many bytes, none at the end.
struct Stream {
    read: Py<PyAny>,
    raised: Raised,
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = attach(|py| {
            let block = call(self.read.bind(py), (buffer.len(),), None)?;
            let block = block.cast::<PyBytes>()?.as_bytes();
            let target = buffer.get_mut(..block.len());
            target
                .ok_or_else(|| PyTypeError::new_err("the stream returned more bytes than requested"))?
                .copy_from_slice(block);
            Ok(block.len())
        });
        size.map_err(|error: PyErr| match slmtok_core::parallel::lock(&self.raised) {
            Ok(mut raised) => {
                *raised = Some(error);
                io::Error::other("the stream raised")
            }
            Err(error) => io::Error::other(error.to_string()),
        })
    }
}
