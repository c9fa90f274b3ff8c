//! The documents of one file, for any number of threads.

use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use memchr::memmem::Finder;

use super::chunks::{CHUNK_BYTES, Chunk, Chunks, Position};
use super::decompress::{Compression, Source, decompress, failure, open};
use super::documents::Documents;
use super::json_record;
use crate::interrupt::supervised;
use crate::parallel::lock;
use crate::{Error, Result};

/// What the documents of a file are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// The file is one document, read in parts of the chunk size.
    Whole,
    /// Each document ends with this terminator, which belongs to none; the last one may lack it.
    Terminated(Vec<u8>),
    /// Each line is a JSON object; lines of white space are ignored.
    Json {
        /// The field that is the document, in UTF-8. Without one the fallback parser parses every record.
        key: Option<Vec<u8>>,
    },
    /// Each line goes to the fallback parser.
    Records,
}

impl Format {
    /// The format with this option value. `None` for another one, and for a terminator or a key that the format does not have.
    #[must_use]
    pub fn named(name: &str, terminator: Option<Vec<u8>>, key: Option<Vec<u8>>) -> Option<Self> {
        match (name, terminator, key) {
            ("text", None, None) => Some(Self::Whole),
            ("text", Some(terminator), None) => Some(Self::Terminated(terminator)),
            ("jsonl", None, key) => Some(Self::Json { key }),
            ("records", None, None) => Some(Self::Records),
            _ => None,
        }
    }
}

/// What the fallback parser makes of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A document.
    Document(Vec<u8>),
    /// A malformed record, which is skipped and counted.
    Skipped,
    /// No record, such as an empty line or a header.
    Ignored,
}

/// Parses a line that [`Reader`] cannot, given with its line feed and its number.
pub type Fallback<'a> = &'a mut dyn FnMut(&[u8], u64) -> Result<Parsed>;

/// Reads the documents of a file, chunk by chunk.
pub struct Reader {
    /// For errors.
    path: String,
    is_compressed: bool,
    chunks: Mutex<Chunks>,
    format: Format,
    /// Most bytes of a document, or of the line of a record.
    max_doc_bytes: usize,
    /// Chunks before this one are skipped.
    first_chunk: u64,
    bytes_read: Arc<AtomicU64>,
    /// Buffers of chunks that were parsed.
    free_buffers: Mutex<Vec<Vec<u8>>>,
}

/// Larger buffers, which a long document leaves behind, are freed.
const MAX_FREE_BUFFER_BYTES: usize = 4 * CHUNK_BYTES;

impl Reader {
    /// The documents of the file at `path`, in chunks of about `size` bytes from `start` on.
    ///
    /// # Errors
    /// A file that cannot be opened.
    pub fn open(path: &Path, compression: Compression, format: Format, size: usize, start: Position) -> Result<Self> {
        let bytes_read = Arc::default();
        let source = open(path, compression, &bytes_read, start.seek_point)?;
        let path = path.to_string_lossy().into_owned();
        Ok(Self::of(source, path, compression, format, size, start, bytes_read))
    }

    fn of(
        source: Box<dyn Source>,
        path: String,
        compression: Compression,
        format: Format,
        size: usize,
        start: Position,
        bytes_read: Arc<AtomicU64>,
    ) -> Self {
        let chunks = Mutex::new(Chunks::new(source, path.clone(), format.terminator(), size, start));
        let (max_doc_bytes, free_buffers) = (usize::MAX, Mutex::default());
        let is_compressed = compression != Compression::Plain;
        Self { path, is_compressed, chunks, format, max_doc_bytes, first_chunk: 0, bytes_read, free_buffers }
    }

    /// The same for a stream, positioned at its start, which errors call `name`.
    ///
    /// # Errors
    /// A decoder that cannot be allocated.
    pub fn stream(
        source: impl Read + Send + 'static,
        name: &str,
        compression: Compression,
        format: Format,
        size: usize,
        start: Position,
    ) -> Result<Self> {
        let bytes_read = Arc::default();
        let start = start.without_seek();
        let source = decompress(source, compression, &bytes_read, start.seek_point)
            .map_err(|error| failure(name, "read", &error))?;
        Ok(Self::of(source, name.to_owned(), compression, format, size, start, bytes_read))
    }

    /// The same with a limit on the bytes of a document, or of the line of a record. The parts of a file that is one document
    /// are not limited.
    ///
    /// # Errors
    /// [`crate::Error::Poisoned`].
    pub fn with_max_doc_bytes(self, max_doc_bytes: usize) -> Result<Self> {
        lock(&self.chunks)?.limit_documents(max_doc_bytes);
        Ok(Self { max_doc_bytes, ..self })
    }

    /// The same from chunk number `first` on; the chunks before it are decompressed and skipped.
    #[must_use]
    pub fn from_chunk(self, first: u64) -> Self {
        Self { first_chunk: first, ..self }
    }

    /// Cuts the next chunk, or the next part of one; `None` at the end of the file. Calls are serialized.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn next_chunk(&self) -> Result<Option<Chunk>> {
        loop {
            let buffer = lock(&self.free_buffers)?.pop().unwrap_or_default();
            let chunk = lock(&self.chunks)?.next(buffer)?;
            match chunk {
                Some(chunk) if chunk.number < self.first_chunk => self.free(chunk),
                chunk => return Ok(chunk),
            }
        }
    }

    /// As [`Reader::next_chunk`]; `poll` is called regularly while it may take long, as with a compressed file of few bytes, and an
    /// error of `poll` ends it.
    ///
    /// # Errors
    /// As [`Reader::next_chunk`], and errors of `poll`.
    pub fn next_chunk_polling(&self, poll: &mut dyn FnMut() -> Result<()>) -> Result<Option<Chunk>> {
        if self.is_compressed { supervised(poll, || self.next_chunk()) } else { self.next_chunk() }
    }

    /// The documents of a chunk. Threads parse different chunks at the same time.
    ///
    /// # Errors
    /// What `fallback` returns; `parsed` then receives the documents before that record.
    pub fn parse(&self, chunk: Chunk, fallback: Fallback<'_>, parsed: &mut Documents) -> Result<()> {
        *parsed = Documents::try_with_capacity(chunk.number, chunk.text().len())?;
        (parsed.begin, parsed.end) = (chunk.begin, chunk.end);
        let outcome = self.parse_text(&chunk, fallback, parsed);
        self.free(chunk);
        outcome
    }

    /// The documents of the next chunk: [`Reader::next_chunk`], then [`Reader::parse`].
    ///
    /// # Errors
    /// See there.
    pub fn next(&self, fallback: Fallback<'_>) -> Result<Option<Documents>> {
        let Some(chunk) = self.next_chunk()? else { return Ok(None) };
        let mut documents = Documents::with_capacity(0, 0);
        self.parse(chunk, fallback, &mut documents)?;
        Ok(Some(documents))
    }

    /// Bytes of the file that have been read, before decompression.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    fn free(&self, chunk: Chunk) {
        let buffer = chunk.into_buffer();
        if buffer.len() <= MAX_FREE_BUFFER_BYTES {
            // The pool of buffers is an optimisation; the next call reports a poisoned lock.
            if let Ok(mut buffers) = lock(&self.free_buffers) {
                buffers.push(buffer);
            }
        }
    }

    fn parse_text(&self, chunk: &Chunk, fallback: Fallback<'_>, documents: &mut Documents) -> Result<()> {
        let text = chunk.text();
        let Some(terminator) = self.format.terminator() else {
            documents.bytes.extend_from_slice(text);
            documents.continued = chunk.begin.offset;
            documents.close_with(1, chunk.file_digest);
            return Ok(());
        };
        let mut start = 0;
        let ends = Finder::new(terminator);
        let ends = ends.find_iter(text).map(|at| (at, at + terminator.len())).chain([(text.len(), text.len())]);
        for (number, (end, next)) in (chunk.begin.line..).zip(ends) {
            if start == text.len() {
                break;
            }
            if end - start > self.max_doc_bytes {
                let place = Some(format!("{}, line {number}", self.path));
                return Err(Error::DocumentTooLarge { place, limit: self.max_doc_bytes as u64 });
            }
            match &self.format {
                Format::Json { key } => parse_json(documents, &text[start..next], number, key.as_deref(), fallback)?,
                Format::Records => parse_with_fallback(documents, &text[start..next], number, fallback)?,
                Format::Terminated(_) | Format::Whole => documents.push(&text[start..end], number),
            }
            start = next;
        }
        Ok(())
    }
}

impl Format {
    /// What ends a document or record.
    fn terminator(&self) -> Option<&[u8]> {
        match self {
            Self::Whole => None,
            Self::Terminated(terminator) => Some(terminator),
            Self::Json { .. } | Self::Records => Some(b"\n"),
        }
    }
}

/// Appends the document in a line of JSON.
fn parse_json(
    documents: &mut Documents,
    line: &[u8],
    number: u64,
    key: Option<&[u8]>,
    fallback: Fallback<'_>,
) -> Result<()> {
    if line.iter().all(|byte| matches!(byte, b' ' | 9..=13)) {
        return Ok(());
    }
    let before = documents.bytes.len();
    if key.is_some_and(|key| json_record::text(line, key, &mut documents.bytes)) {
        documents.close(number);
        return Ok(());
    }
    documents.bytes.truncate(before);
    parse_with_fallback(documents, line, number, fallback)
}

fn parse_with_fallback(documents: &mut Documents, line: &[u8], number: u64, fallback: Fallback<'_>) -> Result<()> {
    match fallback(line, number)? {
        Parsed::Document(text) => documents.push(&text, number),
        Parsed::Skipped => documents.skips.push(documents.len()),
        Parsed::Ignored => {}
    }
    Ok(())
}
