//! Cutting a stream of lines into units that are the same whenever the same bytes come.
//!
//! Unit k holds the lines that begin in bytes k * size to (k + 1) * size, so a long line leaves the units after it empty:
//! those are not given out.

use std::io::Read;

use memchr::{memchr, memchr_iter};

use super::packed::{Source, failure};
use crate::Result;

/// Bytes of a unit: large enough to hide the hand-over, small enough to balance.
pub const UNIT_BYTES: usize = 8 << 20;
/// Bytes that are read to find the end of a line.
const STEP: usize = 1 << 16;

/// Whole lines of a file.
pub struct Unit {
    /// Which one.
    pub number: u64,
    /// The lines with their line feeds.
    pub text: Vec<u8>,
    /// Number of the first line, counted from 1.
    pub line: u64,
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

    /// The next unit that is not empty.
    ///
    /// # Errors
    /// Bytes that do not come; nothing comes after.
    pub fn next(&mut self) -> Result<Option<Unit>> {
        let number = self.given / self.size as u64;
        // The first line that begins here or later is not of this unit. Not further than memory goes.
        let until = ((number + 1) * self.size as u64 - self.given) as usize;
        let mut text = std::mem::take(&mut self.rest);
        let missing = until.saturating_sub(text.len());
        self.read(&mut text, missing)?;
        // A line that begins at `until` follows a line feed right before it.
        let mut looked = until - 1;
        let end = loop {
            if let Some(at) = text.get(looked..).and_then(|tail| memchr(b'\n', tail)) {
                break looked + at + 1;
            }
            if self.ended {
                break text.len();
            }
            looked = looked.max(text.len());
            self.read(&mut text, STEP)?;
        };
        self.rest = text[end..].to_vec();
        text.truncate(end);
        let line = self.line;
        self.line += memchr_iter(b'\n', &text).count() as u64;
        self.given += end as u64;
        Ok((end > 0).then_some(Unit { number, text, line }))
    }

    /// Appends up to `more` bytes.
    fn read(&mut self, text: &mut Vec<u8>, more: usize) -> Result<()> {
        if more == 0 || self.ended {
            return Ok(());
        }
        text.reserve(more + STEP);
        match self.source.by_ref().take(more as u64).read_to_end(text) {
            Ok(read) => {
                self.ended = read < more;
                Ok(())
            }
            Err(error) => {
                self.ended = true;
                self.rest.clear();
                Err(failure(&self.path, "read", &error))
            }
        }
    }
}
