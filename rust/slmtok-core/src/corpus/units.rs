//! Cutting a stream of lines into units that are the same whenever the same bytes come.
//!
//! Unit k holds the lines that begin in bytes k * size to (k + 1) * size, so a long line leaves the units after it empty:
//! those are not given out.

use std::io::ErrorKind;

use memchr::{memchr, memchr_iter};

use super::packed::{Source, failure};
use crate::Result;
use crate::pages::reserve;

/// Bytes of a unit: large enough to hide the hand-over, small enough to balance.
pub const UNIT_BYTES: usize = 8 << 20;
/// Bytes that are read to find the end of a line.
const STEP: usize = 1 << 16;

/// Bytes that a buffer begins with: most files are small.
const LEAST: usize = 1 << 20;

/// Whole lines of a file.
pub struct Unit {
    /// Which one.
    pub number: u64,
    /// Number of the first line, counted from 1.
    pub line: u64,
    buffer: Vec<u8>,
    end: usize,
}

impl Unit {
    /// The lines with their line feeds.
    pub fn text(&self) -> &[u8] {
        &self.buffer[..self.end]
    }

    /// Memory for another unit.
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}

/// What is left of a stream.
pub struct Units {
    source: Source,
    path: String,
    size: usize,
    /// What was read and not given out; a line begins here.
    rest: Vec<u8>,
    /// Bytes given out.
    given: u64,
    /// Number of the line that begins at `rest`.
    line: u64,
    ended: bool,
}

impl Units {
    /// Units of about `size` bytes; `path` is for errors.
    pub fn new(source: Source, path: String, size: usize) -> Self {
        Self { source, path, size: size.max(1), rest: Vec::new(), given: 0, line: 1, ended: false }
    }

    /// The next unit that is not empty, in `buffer`, whose content does not matter.
    ///
    /// # Errors
    /// Bytes that do not come; nothing comes after.
    pub fn next(&mut self, mut buffer: Vec<u8>) -> Result<Option<Unit>> {
        let number = self.given / self.size as u64;
        // The first line that begins here or later is not of this unit. It begins behind a line feed.
        let until = ((number + 1) * self.size as u64 - self.given) as usize;
        let mut filled = self.rest.len();
        grow(&mut buffer, 0, filled);
        buffer[..filled].copy_from_slice(&self.rest);
        self.rest.clear();
        filled = self.read(&mut buffer, filled, until)?;
        let mut looked = until - 1;
        let end = loop {
            if let Some(at) = buffer[..filled].get(looked..).and_then(|tail| memchr(b'\n', tail)) {
                break looked + at + 1;
            }
            if self.ended {
                break filled;
            }
            looked = filled;
            filled = self.read(&mut buffer, filled, filled + STEP)?;
        };
        self.rest.extend_from_slice(&buffer[end..filled]);
        let line = self.line;
        self.line += memchr_iter(b'\n', &buffer[..end]).count() as u64;
        self.given += end as u64;
        Ok((end > 0).then_some(Unit { number, line, buffer, end }))
    }

    /// Reads until `wanted` bytes of `buffer` are filled, or the stream ends; `filled` of them are. Returns how many are.
    fn read(&mut self, buffer: &mut Vec<u8>, mut filled: usize, wanted: usize) -> Result<usize> {
        while filled < wanted && !self.ended {
            if filled == buffer.len() {
                grow(buffer, filled, wanted.min(LEAST.max(2 * filled)));
            }
            let room = wanted.min(buffer.len());
            match self.source.read(&mut buffer[filled..room]) {
                Ok(0) => self.ended = true,
                Ok(read) => filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.ended = true;
                    return Err(failure(&self.path, "read", &error));
                }
            }
        }
        Ok(filled)
    }
}

/// Makes `buffer` at least `length` bytes long and keeps the first `kept`. Its bytes are set once, however often it is used.
fn grow(buffer: &mut Vec<u8>, kept: usize, length: usize) {
    if buffer.len() < length {
        buffer.truncate(kept);
        reserve(buffer, length - kept);
        buffer.resize(length, 0);
    }
}
