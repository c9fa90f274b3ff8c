//! Cutting a stream of lines into units that are the same whenever the same bytes come.
//!
//! Unit k holds the lines that begin in bytes k * size to (k + 1) * size, so a long line leaves the units after it empty:
//! those are not given out.

use std::io::ErrorKind;

use memchr::{memchr, memchr_iter};

use super::packed::{Source, failure};
use super::place::{Borders, Place, drop_bytes};
use crate::Result;
use crate::mem::reserve;

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
    /// Where its first line begins.
    pub begin: Place,
    /// Where the line behind it begins.
    pub behind: Place,
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
    source: Box<dyn Source>,
    path: String,
    size: usize,
    /// What was read and not given out; a line begins here.
    rest: Vec<u8>,
    /// Where `rest` begins.
    at: Place,
    /// Bytes between the source and `at` that nobody wants.
    ahead: u64,
    borders: Borders,
    ended: bool,
}

impl Units {
    /// Units of about `size` bytes from a place on, at whose border `source` stands; `path` is for errors.
    pub fn new(source: Box<dyn Source>, path: String, size: usize, start: Place) -> Self {
        let ahead = start.offset.saturating_sub(start.border.unpacked);
        let borders = Borders::new(start.border);
        Self { source, path, size: size.max(1), rest: Vec::new(), at: start, ahead, borders, ended: false }
    }

    /// The next unit that is not empty, in `buffer`, whose content does not matter.
    ///
    /// # Errors
    /// Bytes that do not come; nothing comes after.
    pub fn next(&mut self, mut buffer: Vec<u8>) -> Result<Option<Unit>> {
        if self.ahead > 0 {
            // Whoever comes after a failure meets it again, and never the bytes behind it.
            drop_bytes(&mut *self.source, &self.path, &mut self.ahead)?;
            self.note(0);
        }
        let number = self.at.offset / self.size as u64;
        // The first line that begins here or later is not of this unit. It begins behind a line feed.
        let until = ((number + 1) * self.size as u64 - self.at.offset) as usize;
        let mut filled = self.rest.len();
        grow(&mut buffer, 0, filled);
        buffer[..filled].copy_from_slice(&self.rest);
        self.rest.clear();
        filled = self.read(&mut buffer, filled, until, until)?;
        let mut looked = until - 1;
        let end = loop {
            if let Some(at) = buffer[..filled].get(looked..).and_then(|tail| memchr(b'\n', tail)) {
                break looked + at + 1;
            }
            if self.ended {
                break filled;
            }
            looked = filled;
            filled = self.read(&mut buffer, filled, filled + STEP, filled)?;
        };
        self.rest.extend_from_slice(&buffer[end..filled]);
        let begin = self.at;
        let offset = begin.offset + end as u64;
        let line = begin.line + memchr_iter(b'\n', &buffer[..end]).count() as u64;
        self.at = Place { offset, line, border: self.borders.up_to(offset) };
        Ok((end > 0).then_some(Unit { number, begin, behind: self.at, buffer, end }))
    }

    /// Remembers the border that the source is behind now. The unit in work ends at least `least` bytes behind `at`.
    fn note(&mut self, least: usize) {
        self.borders.add(self.source.border(), self.at.offset + least as u64);
    }

    /// Reads until `wanted` bytes of `buffer` are filled, or the stream ends; `filled` of them are. Returns how many are.
    /// The unit holds at least `least` bytes, if there are so many.
    fn read(&mut self, buffer: &mut Vec<u8>, mut filled: usize, wanted: usize, least: usize) -> Result<usize> {
        while filled < wanted && !self.ended {
            if filled == buffer.len() {
                grow(buffer, filled, wanted.min(LEAST.max(2 * filled)));
            }
            let room = wanted.min(buffer.len());
            match self.source.read(&mut buffer[filled..room]) {
                Ok(0) => self.ended = true,
                Ok(read) => {
                    filled += read;
                    self.note(least);
                }
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
