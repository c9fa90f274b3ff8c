//! `Encoder`.

use std::collections::HashMap;
use std::sync::OnceLock;

use numpy::{Element, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use slmtok_core::Result;
use slmtok_core::accel::transcode::TranscodePolicy;
use slmtok_core::decode::{Decoder, TokenIndex, byte_lengths};
use slmtok_core::encode::{self, Dropout, FileOptions, Frame, PooledId};
use slmtok_core::file_blocks::total_bytes;
use slmtok_core::fork_safe_once;
use slmtok_core::interrupt::supervised;
use slmtok_core::merges::Merges;

use crate::arrays::{Ids, copied, numbers, pairs, read_only, read_only_copy};
use crate::batches::{self, Batch, Sampling, by_width};
use crate::bridge::{run, run_holding_gil, run_polling, run_reporting};
use crate::bytes_object::bytes_object;
use crate::code_points::length;
use crate::counts::document_unit;
use crate::documents::Documents;
use crate::pattern::Pattern;
use crate::text::Texts;

type Special = (u32, Vec<u8>);

/// Encodes text to ids and decodes ids to bytes.
#[pyclass(frozen, module = "slmtok._native")]
pub struct Encoder {
    /// The core's.
    pub inner: encode::Encoder,
    decoder: OnceLock<Decoder>,
    index: TokenIndex,
    policy: TranscodePolicy,
}

impl From<encode::Encoder> for Encoder {
    fn from(inner: encode::Encoder) -> Self {
        Self { inner, decoder: OnceLock::new(), index: TokenIndex::default(), policy: TranscodePolicy::with_memory() }
    }
}

impl Encoder {
    fn build(py: Python<'_>, build: impl FnOnce() -> Result<encode::Encoder> + Send) -> PyResult<Self> {
        Ok(Self::from(run(py, build)?))
    }

    /// The decoder, built at first use.
    pub fn decoder(&self, py: Python<'_>) -> PyResult<&Decoder> {
        match self.decoder.get() {
            Some(decoder) => Ok(decoder),
            None => run(py, || fork_safe_once::get_or_try_init(&self.decoder, || Decoder::new(&self.inner))),
        }
    }

    /// Result of `take` on the ids of a short string, encoded without releasing the GIL, which would take longer. `None` for
    /// other texts.
    fn short<I: PooledId, T>(&self, text: &Bound<'_, PyAny>, take: impl FnOnce(&[I]) -> T) -> Option<PyResult<T>> {
        // `to_str` makes Python keep the UTF-8, so it is not called for longer strings.
        let string = text.cast::<PyString>().ok().filter(|string| self.inner.is_instant(length(string)))?;
        let bytes = string.to_str().ok()?.as_bytes();
        self.inner.is_instant(bytes.len()).then(|| run_holding_gil(text.py(), || self.inner.encode_and(bytes, take)))
    }

    fn array<'py, I: PooledId + Element>(&self, text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match self.short::<I, _>(text, |ids| read_only_copy(text.py(), ids)) {
            Some(array) => array?,
            None => read_only(text.py(), self.one::<I>(text)?),
        }
    }

    fn list<'py, I: PooledId + IntoPyObject<'py>>(&self, text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        match self.short::<I, _>(text, |ids| PyList::new(text.py(), ids.iter().copied())) {
            Some(list) => list?,
            None => PyList::new(text.py(), self.one::<I>(text)?.iter().copied()),
        }
    }

    fn one<I: PooledId>(&self, text: &Bound<'_, PyAny>) -> PyResult<Vec<I>> {
        let texts = Texts::one(text, &self.policy)?;
        let held = texts.bytes()?;
        let bytes = held.slices()[0];
        run_polling(text.py(), |report| self.inner.encode_reporting(bytes, report))
    }
}

#[pymethods]
impl Encoder {
    #[staticmethod]
    #[pyo3(signature = (pattern, merges, public_ids, *, specials=Vec::new(), non_emitting=Vec::new()))]
    fn from_merges(
        py: Python<'_>,
        pattern: &Pattern,
        merges: &Bound<'_, PyAny>,
        public_ids: &Bound<'_, PyAny>,
        specials: Vec<Special>,
        non_emitting: Vec<u32>,
    ) -> PyResult<Self> {
        let (pairs, public_ids) = (pairs(merges)?, numbers(public_ids)?);
        let pattern = pattern.inner.clone();
        Self::build(py, || {
            encode::Encoder::from_merges(pattern, Merges::new(pairs)?, public_ids, specials, non_emitting)
        })
    }

    #[staticmethod]
    #[pyo3(signature = (pattern, tokens, public_ids, *, specials=Vec::new()))]
    fn from_tokens(
        py: Python<'_>,
        pattern: &Pattern,
        tokens: Vec<Bound<'_, PyBytes>>,
        public_ids: &Bound<'_, PyAny>,
        specials: Vec<Special>,
    ) -> PyResult<Self> {
        let tokens: Vec<&[u8]> = tokens.iter().map(|token| token.as_bytes()).collect();
        let (pattern, public_ids) = (pattern.inner.clone(), numbers(public_ids)?);
        Self::build(py, || encode::Encoder::from_tokens(pattern, &tokens, public_ids, specials))
    }

    #[staticmethod]
    #[pyo3(signature = (pattern, tokens, ids, *, specials=Vec::new()))]
    fn from_ranks(
        py: Python<'_>,
        pattern: &Pattern,
        tokens: Vec<Bound<'_, PyBytes>>,
        ids: PyReadonlyArray1<'_, u32>,
        specials: Vec<Special>,
    ) -> PyResult<Self> {
        let tokens: Vec<&[u8]> = tokens.iter().map(|token| token.as_bytes()).collect();
        let (pattern, ids) = (pattern.inner.clone(), copied(&ids)?);
        Self::build(py, || encode::Encoder::from_ranks(pattern, &tokens, &ids, specials))
    }

    fn longest_match(&self, py: Python<'_>) -> PyResult<Option<Self>> {
        Ok(run(py, || Ok(self.inner.longest_match()))?.map(Self::from))
    }

    #[getter]
    fn pattern(&self) -> Pattern {
        Pattern { inner: self.inner.pattern().clone() }
    }

    #[getter]
    fn n_vocab(&self) -> u32 {
        self.inner.n_vocab()
    }

    #[getter]
    fn wide(&self) -> bool {
        self.inner.wide()
    }

    fn encode<'py>(&self, text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        by_width!(self.inner, I => self.array::<I>(text))
    }

    fn encode_list<'py>(&self, text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        by_width!(self.inner, I => self.list::<I>(text))
    }

    #[pyo3(signature = (documents, *, threads=0, bos=None, eos=None, progress=None))]
    fn encode_batch<'py>(
        &self,
        documents: &Bound<'py, PyAny>,
        threads: usize,
        bos: Option<u32>,
        eos: Option<u32>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Batch<'py>> {
        let texts = Texts::many(documents, &self.policy)?;
        batches::encode_texts(documents.py(), &self.inner, &texts, threads, Frame { bos, eos }, progress)
    }

    #[pyo3(signature = (documents, write, *, threads=0, bos=None, eos=None, progress=None))]
    fn encode_lines<'py>(
        &self,
        documents: &Bound<'py, PyAny>,
        write: &Bound<'py, PyAny>,
        threads: usize,
        bos: Option<u32>,
        eos: Option<u32>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<usize> {
        let texts = Texts::many(documents, &self.policy)?;
        batches::write_lines(&self.inner, &texts, write, threads, Frame { bos, eos }, progress)
    }

    #[pyo3(signature = (documents, *, threads=0, bos=None, eos=None, progress=None))]
    fn encode_documents<'py>(
        &self,
        py: Python<'py>,
        documents: &Documents,
        threads: usize,
        bos: Option<u32>,
        eos: Option<u32>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Batch<'py>> {
        batches::encode(py, &self.inner, &documents.inner.slices(), threads, Frame { bos, eos }, progress)
    }

    #[pyo3(signature = (documents, rates, *, seed=0, epoch=0, threads=0, bos=None, eos=None, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword-only options of one Python call")]
    fn encode_with_dropout<'py>(
        &self,
        py: Python<'py>,
        documents: &Documents,
        rates: PyReadonlyArray1<'py, f64>,
        seed: u64,
        epoch: u64,
        threads: usize,
        bos: Option<u32>,
        eos: Option<u32>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Batch<'py>> {
        let (slices, rates) = (documents.inner.slices(), copied(&rates)?);
        let sampling = Sampling { rates: &rates, dropout: Dropout { seed, epoch } };
        batches::encode_with_dropout(py, &self.inner, &slices, sampling, threads, Frame { bos, eos }, progress)
    }

    #[pyo3(signature = (documents, *, threads=0))]
    fn count_batch<'py>(&self, documents: &Bound<'py, PyAny>, threads: usize) -> PyResult<Bound<'py, PyAny>> {
        let texts = Texts::many(documents, &self.policy)?;
        let held = texts.bytes()?;
        let slices = held.slices();
        let counts = run_polling(
            documents.py(),
            |report| by_width!(self.inner, I => self.inner.count_batch::<I>(&slices, threads, report)),
        )?;
        read_only(documents.py(), counts)
    }

    #[pyo3(signature = (paths, out, *, document="file", threads=0, bos=None, eos=None, max_doc_bytes=1 << 30, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword-only options of one Python call")]
    fn encode_files<'py>(
        &self,
        py: Python<'py>,
        paths: Vec<String>,
        out: String,
        document: &str,
        threads: usize,
        bos: Option<u32>,
        eos: Option<u32>,
        max_doc_bytes: u64,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let unit = document_unit(document)?;
        let options = FileOptions { threads, frame: Frame { bos, eos }, max_doc_bytes, ..FileOptions::new(unit) };
        let total = total_bytes(&paths);
        let offsets = run_reporting(py, progress, "encode", |progress| {
            let report = &mut |done| progress(done, total);
            by_width!(self.inner, I => self.inner.encode_files::<I>(&paths, &out, options, report))
        })?;
        read_only(py, offsets)
    }

    fn decode_bytes<'py>(&self, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let py = ids.py();
        let decoder = self.decoder(py)?;
        let ids = Ids::new(ids)?.into_owned()?;
        let bytes = run(py, || ids.decode(decoder, 0..ids.len()))?;
        bytes_object(py, &bytes)
    }

    #[pyo3(signature = (ids, offsets, *, threads=0))]
    fn decode_batch<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        offsets: PyReadonlyArray1<'py, i64>,
        threads: usize,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let py = ids.py();
        let decoder = self.decoder(py)?;
        let ids = Ids::new(ids)?.into_owned()?;
        let offsets = copied(&offsets)?;
        let documents = run(py, || ids.decode_documents(decoder, &offsets, threads))?;
        documents.iter().map(|bytes| bytes_object(py, bytes)).collect()
    }

    fn token_bytes<'py>(&self, py: Python<'py>, id: i64) -> PyResult<Bound<'py, PyBytes>> {
        let decoder = self.decoder(py)?;
        Ok(PyBytes::new(py, run_holding_gil(py, || decoder.token(id, 0))?))
    }

    fn token_id(&self, py: Python<'_>, token: &[u8]) -> PyResult<Option<u32>> {
        run(py, || Ok(self.index.find(&self.inner, token)))
    }

    fn byte_lengths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        read_only(py, run(py, || Ok(byte_lengths(&self.inner)))?)
    }

    fn parts(&self, py: Python<'_>, id: u32) -> PyResult<Option<(u32, u32)>> {
        run_holding_gil(py, || Ok(self.inner.halves(id)))
    }

    fn unreachable(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        run_polling(py, |report| supervised(&mut || report(0), || self.inner.unreachable()))
    }

    fn stats(&self) -> HashMap<&'static str, u64> {
        HashMap::from(self.inner.stats())
    }
}
