//! Files as byte slices, and documents in them.

#![allow(unsafe_code, reason = "a map of a file has no safe form; the one use says what is asked of the caller")]

use std::fs::File;
use std::ops::Range;

use memmap2::{Advice, Mmap};

use crate::{Error, Result};

/// What is a document in a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentUnit {
    /// The whole file.
    File,
    /// What stands between line feeds, without them.
    Line,
}

/// Every unit with the name by which it is chosen.
pub const DOCUMENT_UNITS: [(&str, DocumentUnit); 2] = [("file", DocumentUnit::File), ("line", DocumentUnit::Line)];

/// Lines that are handed out together.
const PORTION_LINES: usize = 1 << 18;
/// Bytes after which a portion ends.
const PORTION_BYTES: usize = 64 << 20;

/// A file that is mapped into memory.
#[derive(Debug)]
pub struct MappedFile {
    map: Option<Mmap>,
}

impl MappedFile {
    /// Maps the regular file at `path`.
    ///
    /// # Errors
    /// A file that cannot be opened or mapped.
    pub fn open(path: &str) -> Result<Self> {
        let fail = |action: &'static str| {
            move |error: std::io::Error| Error::Io {
                path: path.to_owned(),
                action,
                reason: error.to_string(),
                os_error: error.raw_os_error(),
            }
        };
        let file = File::open(path).map_err(fail("open"))?;
        let length = file.metadata().map_err(fail("read"))?.len();
        if length == 0 {
            return Ok(Self { map: None });
        }
        // SAFETY: the map is read-only and lives as long as `self`. A file that another process cuts short meanwhile ends
        // this one with SIGBUS, as it does for every program that maps files; bytes that change are read as they are,
        // since nothing in this crate relies on a byte of the input staying the same between two reads for memory safety.
        let map = unsafe { Mmap::map(&file) }.map_err(fail("map"))?;
        // The advice only speeds up reading; a system that refuses it reads as well.
        let _ = map.advise(Advice::Sequential);
        Ok(Self { map: Some(map) })
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or(&[])
    }

    /// Lets the pages at these addresses go, which must lie in [`MappedFile::bytes`]: they count as memory of the process
    /// while they are mapped. Reading them again brings them back.
    pub fn release(&self, addresses: Range<usize>) {
        let bytes = self.bytes().as_ptr_range();
        let inside = bytes.start as usize <= addresses.start && addresses.end <= bytes.end as usize;
        if let Some(map) = self.map.as_ref().filter(|_| inside && addresses.start < addresses.end) {
            madvise_dontneed(map, addresses.start - bytes.start as usize, addresses.len());
        }
    }

    /// Its documents, some at a time, so that a file of short lines does not become a list many times its size. A line
    /// feed at the end of the file does not begin another line.
    pub fn portions(&self, unit: DocumentUnit) -> impl Iterator<Item = Vec<&[u8]>> {
        let mut rest = Some(self.bytes());
        std::iter::from_fn(move || {
            let text = rest.take()?;
            let portion = match unit {
                DocumentUnit::File => vec![text],
                DocumentUnit::Line => {
                    let (lines, after) = some_lines(text);
                    rest = (!after.is_empty()).then_some(after);
                    lines
                }
            };
            (!portion.is_empty()).then_some(portion)
        })
    }
}

#[cfg(unix)]
fn madvise_dontneed(map: &Mmap, offset: usize, length: usize) {
    // SAFETY: the advice is unchecked because memory that was written would lose what was written. This map is read-only, so
    // all of its pages are those of the file: whoever reads one again, in this thread or another, finds the same bytes.
    // That it may fail is of no concern; the pages stay then.
    let _ = unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, offset, length) };
}

#[cfg(not(unix))]
fn madvise_dontneed(_map: &Mmap, _offset: usize, _length: usize) {}

/// Lines from the start of `text`, up to the limits of a portion, and what follows them.
fn some_lines(text: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let (mut lines, mut start) = (Vec::new(), 0);
    for end in memchr::memchr_iter(b'\n', text) {
        lines.push(&text[start..end]);
        start = end + 1;
        if lines.len() >= PORTION_LINES || start >= PORTION_BYTES {
            return (lines, &text[start..]);
        }
    }
    if start < text.len() {
        lines.push(&text[start..]);
    }
    (lines, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_what_stands_between_line_feeds() {
        let path = std::env::temp_dir().join(format!("slmtok-mapped-{}.txt", std::process::id()));
        for (text, want) in [
            (&b"a\n\nb\r\nc"[..], vec![&b"a"[..], b"", b"b\r", b"c"]),
            (b"a\n", vec![b"a"]),
            (b"\n", vec![b""]),
            (b"", vec![]),
        ] {
            std::fs::write(&path, text).unwrap();
            let file = MappedFile::open(path.to_str().unwrap()).unwrap();
            assert_eq!(file.portions(DocumentUnit::Line).flatten().collect::<Vec<_>>(), want);
            assert_eq!(file.portions(DocumentUnit::File).flatten().collect::<Vec<_>>(), [text]);
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn many_lines_come_in_portions() {
        let path = std::env::temp_dir().join(format!("slmtok-portions-{}.txt", std::process::id()));
        let n = 2 * PORTION_LINES + 5;
        std::fs::write(&path, b"x\n".repeat(n)).unwrap();
        let file = MappedFile::open(path.to_str().unwrap()).unwrap();
        let sizes: Vec<usize> = file.portions(DocumentUnit::Line).map(|portion| portion.len()).collect();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(sizes, [PORTION_LINES, PORTION_LINES, 5]);
    }

    #[test]
    fn pages_that_were_let_go_come_back() {
        let path = std::env::temp_dir().join(format!("slmtok-release-{}.txt", std::process::id()));
        let text: Vec<u8> = (0..300_000u32).flat_map(u32::to_le_bytes).collect();
        std::fs::write(&path, &text).unwrap();
        let file = MappedFile::open(path.to_str().unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        let start = file.bytes().as_ptr() as usize;
        for (from, to) in [(0, text.len()), (4095, 4097), (5000, 900_000), (7, 7), (0, text.len() + 1)] {
            file.release(start + from..start + to);
            assert!(file.bytes() == text);
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = MappedFile::open("no/such/file.txt").unwrap_err();
        assert!(error.to_string().contains("no/such/file.txt"), "{error}");
    }
}
