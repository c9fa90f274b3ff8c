//! Cutting a stream of documents into chunks that are the same in every run.
//!
//! Chunk k holds the documents that begin in bytes `k * size` to `(k + 1) * size` of the decompressed file. A long document
//! leaves the chunks after it empty; empty chunks are not returned. A chunk of more than `MAX_PART_DOCUMENTS` documents is
//! returned in parts: every document takes memory beside its text.

use std::io::ErrorKind;

use memchr::memmem::{self, Finder};
use sha2::{Digest as _, Sha256};

use super::decompress::{SeekPoint, Source, failure, is_interruption};
use super::digest::Digest;
use crate::mem::try_reserve_huge;
use crate::{Error, Result};

/// Size of a chunk: large enough to hide the hand-over between threads, small enough to balance them.
pub const CHUNK_BYTES: usize = 8 << 20;
/// Most documents of a part of a chunk.
pub const MAX_PART_DOCUMENTS: usize = 1 << 16;
/// Allowance for the terminator of a document that is still being read: it belongs to none, and a line feed may follow a
/// carriage return.
const MAX_TERMINATOR_BYTES: usize = 1 << 10;
/// Bytes read at a time while searching for the end of a document.
const SEARCH_BYTES: usize = 1 << 16;
/// Initial size of a buffer: most files are small.
const MIN_BUFFER_BYTES: usize = 1 << 20;
/// Size of the reads that are discarded on the way to a position; such a block stays in the L2 cache.
const DISCARD_BYTES: usize = 1 << 17;

/// The start of a document in a file, and the seek point from which it is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Decompressed bytes before it.
    pub offset: u64,
    /// Line number of the document, from 1.
    pub line: u64,
    /// A seek point at or before it; the bytes between are decompressed and discarded.
    pub seek_point: SeekPoint,
}

impl Position {
    /// The start of a file.
    pub const START: Self = Self { offset: 0, line: 1, seek_point: SeekPoint { compressed: 0, uncompressed: 0 } };

    /// The position with these values. `None` for line 0, a seek point after the position, and 2^63 bytes or lines.
    #[must_use]
    pub fn new(offset: u64, line: u64, seek_point: SeekPoint) -> Option<Self> {
        let is_valid = line > 0 && seek_point.uncompressed <= offset && offset.max(line) <= i64::MAX.cast_unsigned();
        is_valid.then_some(Self { offset, line, seek_point })
    }

    /// The same position, reached from the start of the file: a stream cannot seek.
    #[must_use]
    pub fn without_seek(self) -> Self {
        Self { seek_point: SeekPoint::default(), ..self }
    }
}

/// Whole documents of a file, with their terminators: a chunk or a part of one.
pub struct Chunk {
    /// Number of the chunk in its file.
    pub number: u64,
    /// Where its first document begins.
    pub begin: Position,
    /// Where the first document after it begins.
    pub end: Position,
    /// Of a file that is one document: its digest, known with its last part.
    pub(super) file_digest: Option<Digest>,
    buffer: Vec<u8>,
    len: usize,
}

impl Chunk {
    /// The bytes of the chunk.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.buffer[..self.len]
    }

    /// Memory for another chunk.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}

/// The remaining chunks of a stream.
pub(super) struct Chunks {
    source: Box<dyn Source>,
    path: String,
    size: usize,
    /// Most bytes of a document.
    max_doc_bytes: usize,
    /// What ends a document; `None` where the file is one document.
    terminator: Option<Finder<'static>>,
    /// Bytes that were read after the last part begin at `rest_start`; a document begins here.
    rest: Vec<u8>,
    rest_start: usize,
    /// Position of `rest_start`.
    position: Position,
    /// Bytes between the source and `position` that are still to be discarded.
    discard: u64,
    seek_points: SeekPoints,
    /// Of a file that is one document: the hash of its parts so far.
    hash: Sha256,
    /// Whether no chunk of the file has been cut, in this run or before it.
    at_start: bool,
    at_end: bool,
}

impl Chunks {
    /// Chunks of about `size` bytes from `start` on; `source` is positioned at its seek point. `path` is for errors.
    pub fn new(source: Box<dyn Source>, path: String, terminator: Option<&[u8]>, size: usize, start: Position) -> Self {
        Self {
            source,
            path,
            size: size.max(1),
            max_doc_bytes: usize::MAX,
            terminator: terminator.map(|bytes| Finder::new(bytes).into_owned()),
            rest: Vec::new(),
            rest_start: 0,
            position: start,
            discard: start.offset.saturating_sub(start.seek_point.uncompressed),
            seek_points: SeekPoints { ascending: vec![start.seek_point] },
            hash: Sha256::new(),
            at_start: start.offset == 0,
            at_end: false,
        }
    }

    /// Limits the bytes of a document.
    pub fn limit_documents(&mut self, max_doc_bytes: usize) {
        self.max_doc_bytes = max_doc_bytes;
    }

    /// The next chunk that is not empty, or the next part of one. It is written to `buffer`, whose content does not matter.
    ///
    /// # Errors
    /// A source that cannot be read, in this call and all later ones; lack of memory; a document above the limit that reaches
    /// beyond the chunk.
    pub fn next(&mut self, mut buffer: Vec<u8>) -> Result<Option<Chunk>> {
        if self.discard > 0 {
            self.discard_bytes()?;
            self.record_seek_point(0);
        }
        let number = self.position.offset / self.size as u64;
        // Documents that begin here or later belong to later chunks.
        let until = (number + 1).saturating_mul(self.size as u64) - self.position.offset;
        let until = usize::try_from(until).unwrap_or(usize::MAX).min(usize::MAX / 2);
        let Part { len, documents, is_last } = self.read_part(&mut buffer, until)?;
        let begin = self.position;
        let offset = begin.offset + len as u64;
        // Of the seek points inside a chunk, all but the last may be gone.
        let seek_point = if is_last { self.seek_points.up_to(offset) } else { begin.seek_point };
        self.position = Position { offset, line: begin.line + documents as u64, seek_point };
        // An empty file that is one document is an empty document.
        let empty_file = std::mem::take(&mut self.at_start) && self.terminator.is_none();
        if len == 0 && !empty_file {
            return Ok(None);
        }
        let mut chunk = Chunk { number, begin, end: self.position, file_digest: None, buffer, len };
        if self.terminator.is_none() {
            self.hash.update(chunk.text());
            chunk.file_digest = (self.at_end && self.rest.is_empty()).then(|| self.hash.finalize_reset().into());
        }
        Ok(Some(chunk))
    }

    /// Writes the next part of a chunk, of which `until` bytes are left, to `buffer`.
    fn read_part(&mut self, buffer: &mut Vec<u8>, until: usize) -> Result<Part> {
        let terminator = self.terminator.clone();
        let rest = &self.rest[self.rest_start..];
        // A part in memory is taken alone: copying the rest for each would take time that is quadratic in their number.
        let found = terminator.as_ref().map(|terminator| Part::first(rest, terminator));
        let found = found.filter(|part| !part.is_last && part.len < until);
        let filled = found.as_ref().map_or(rest.len(), |part| part.len);
        grow(buffer, 0, filled)?;
        buffer[..filled].copy_from_slice(&rest[..filled]);
        if let Some(part) = found {
            self.rest_start += part.len;
            return Ok(part);
        }
        self.rest.clear();
        self.rest_start = 0;
        let (part, filled) = if let Some(terminator) = terminator {
            let (len, filled) = self.fill_documents(buffer, filled, until, &terminator)?;
            (Part::first(&buffer[..len], &terminator), filled)
        } else {
            // One byte more tells whether this is the last part.
            let filled = self.read(buffer, filled, until + 1, until)?;
            (Part { len: filled.min(until), documents: 0, is_last: true }, filled)
        };
        self.rest.extend_from_slice(&buffer[part.len..filled]);
        Ok(part)
    }

    /// Reads the documents of a chunk: (their length, bytes in `buffer`).
    fn fill_documents(
        &mut self,
        buffer: &mut Vec<u8>,
        filled: usize,
        until: usize,
        terminator: &Finder<'_>,
    ) -> Result<(usize, usize)> {
        let mut filled = self.read(buffer, filled, until, until)?;
        let width = terminator.needle().len();
        // Occurrences of a longer terminator may overlap, so they are found from the start of a document on.
        let mut searched = if width == 1 { until - 1 } else { 0 };
        // The start of the last document, as far as known.
        let mut last = 0;
        loop {
            while let Some(found) = buffer[..filled].get(searched..).and_then(|tail| terminator.find(tail)) {
                searched += found + width;
                last = searched;
                if searched >= until {
                    return Ok((searched, filled));
                }
            }
            if self.at_end {
                return Ok((filled, filled));
            }
            let max_bytes = self.max_doc_bytes.saturating_add(MAX_TERMINATOR_BYTES);
            if filled - last > max_bytes {
                // A search that begins at the end of the chunk has not seen the terminators before it.
                let last = last.max(memmem::rfind(&buffer[..filled], terminator.needle()).map_or(0, |at| at + width));
                if filled - last > max_bytes {
                    let lines = terminator.find_iter(&buffer[..last]).count() as u64;
                    let place = Some(format!("{}, line {}", self.path, self.position.line + lines));
                    return Err(Error::DocumentTooLarge { place, limit: self.max_doc_bytes as u64 });
                }
            }
            searched = searched.max((filled + 1).saturating_sub(width));
            filled = self.read(buffer, filled, filled + SEARCH_BYTES, filled)?;
        }
    }

    /// Records the current seek point. The chunk being read ends at least `min_len` bytes after its start.
    fn record_seek_point(&mut self, min_len: usize) {
        self.seek_points.add(self.source.seek_point(), self.position.offset.saturating_add(min_len as u64));
    }

    /// Reads until `wanted` bytes of `buffer` are filled or the stream ends; `filled` are. Returns how many are.
    fn read(&mut self, buffer: &mut Vec<u8>, mut filled: usize, wanted: usize, min_len: usize) -> Result<usize> {
        while filled < wanted && !self.at_end {
            if filled == buffer.len() {
                grow(buffer, filled, wanted.min(MIN_BUFFER_BYTES.max(2 * filled)))?;
            }
            let end = wanted.min(buffer.len());
            match self.source.read(&mut buffer[filled..end]) {
                Ok(0) => self.at_end = true,
                Ok(read) => {
                    filled += read;
                    self.record_seek_point(min_len);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.at_end = !is_interruption(&error);
                    return Err(failure(&self.path, "read", &error));
                }
            }
        }
        Ok(filled)
    }

    /// Reads and drops the bytes before the start position. After a failure the next call fails too.
    fn discard_bytes(&mut self) -> Result<()> {
        let mut block = vec![0; DISCARD_BYTES];
        while self.discard > 0 {
            let wanted = usize::try_from(self.discard).map_or(DISCARD_BYTES, |left| left.min(DISCARD_BYTES));
            match self.source.read(&mut block[..wanted]) {
                Ok(0) => {
                    let reason = Some("it is shorter than it was before".to_owned());
                    return Err(Error::Damaged { path: self.path.clone(), reason });
                }
                Ok(read) => self.discard -= read as u64,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failure(&self.path, "read", &error)),
            }
        }
        Ok(())
    }
}

/// The first documents of a text.
struct Part {
    /// Their bytes, terminators included.
    len: usize,
    /// Terminated documents among them.
    documents: usize,
    /// Whether the text ends with them.
    is_last: bool,
}

impl Part {
    /// The first `MAX_PART_DOCUMENTS` documents, or all of them.
    fn first(text: &[u8], terminator: &Finder<'_>) -> Self {
        let (mut len, mut documents) = (0, 0);
        for at in terminator.find_iter(text).take(MAX_PART_DOCUMENTS) {
            len = at + terminator.needle().len();
            documents += 1;
        }
        if documents < MAX_PART_DOCUMENTS {
            len = text.len();
        }
        Self { len, documents, is_last: len == text.len() }
    }
}

/// The seek points that later positions may need: the last one at or before the current chunk, and all after it.
struct SeekPoints {
    /// Never empty.
    ascending: Vec<SeekPoint>,
}

impl SeekPoints {
    /// Adds one. No position before `min_offset` will be requested, so the last seek point up to there suffices.
    fn add(&mut self, point: SeekPoint, min_offset: u64) {
        match self.ascending.last_mut() {
            Some(last) if last.compressed == point.compressed => {}
            Some(last) if point.uncompressed <= min_offset => *last = point,
            _ => self.ascending.push(point),
        }
    }

    /// The last one at or before `offset`; those before it are dropped.
    fn up_to(&mut self, offset: u64) -> SeekPoint {
        let passed = self.ascending.partition_point(|point| point.uncompressed <= offset);
        self.ascending.drain(..passed.saturating_sub(1));
        self.ascending[0]
    }
}

/// Makes `buffer` at least `length` bytes long and keeps its first `kept`. Reused memory is not zeroed again.
fn grow(buffer: &mut Vec<u8>, kept: usize, length: usize) -> Result<()> {
    if buffer.len() < length {
        buffer.truncate(kept);
        try_reserve_huge(buffer, length - kept)?;
        buffer.resize(length, 0);
    }
    Ok(())
}
