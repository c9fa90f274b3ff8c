//! Memory-mapped files, whole or line by line.

#![allow(unsafe_code, reason = "a file mapping has no safe form; each use states why it is sound")]

use std::fs::File;
use std::ops::Range;

use memmap2::{Advice, Mmap};

use crate::{Error, Result};

/// Which part of a text file is one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentUnit {
    /// The whole file.
    File,
    /// One line, without its line feed.
    Line,
}

/// Every unit with its option value.
pub const DOCUMENT_UNITS: [(&str, DocumentUnit); 2] = [("file", DocumentUnit::File), ("line", DocumentUnit::Line)];

const MAX_BATCH_LINES: usize = 1 << 18;
const MAX_BATCH_BYTES: usize = 64 << 20;

impl DocumentUnit {
    /// The unit with this option value.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        DOCUMENT_UNITS.iter().find(|(known, _)| *known == name).map(|(_, unit)| *unit)
    }
}

/// Total size of the files at `paths`; a file that cannot be read counts as empty.
#[must_use]
pub fn total_bytes(paths: &[String]) -> u64 {
    paths.iter().filter_map(|path| std::fs::metadata(path).ok()).map(|found| found.len()).sum()
}

/// A read-only mapping of a regular file.
#[derive(Debug)]
pub struct MappedFile {
    /// `None` for an empty file, which cannot be mapped.
    map: Option<Mmap>,
}

impl MappedFile {
    /// Maps the regular file at `path`.
    ///
    /// # Errors
    /// The file cannot be opened or mapped.
    pub fn open(path: &str) -> Result<Self> {
        let fail = |action: &'static str| move |error: std::io::Error| Error::io(path, action, &error);
        let file = File::open(path).map_err(fail("open"))?;
        let length = file.metadata().map_err(fail("read"))?.len();
        if length == 0 {
            return Ok(Self { map: None });
        }
        // SAFETY: the mapping is read-only and lives as long as `self`. If another process truncates the file, access
        // raises SIGBUS, as in every program that maps files. If another process changes bytes, this crate reads the new
        // bytes; its memory safety never relies on two reads of the input being equal.
        let map = unsafe { Mmap::map(&file) }.map_err(fail("map"))?;
        // The advice is an optimisation; a refusal changes nothing.
        let _ = map.advise(Advice::Sequential);
        Ok(Self { map: Some(map) })
    }

    /// Contents of the file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or(&[])
    }

    /// Drops the resident pages at `addresses`, which must lie in [`MappedFile::bytes`]: mapped pages count as memory of
    /// the process. A later read loads them again.
    pub fn release(&self, addresses: Range<usize>) {
        let bytes = self.bytes().as_ptr_range();
        let inside = bytes.start as usize <= addresses.start && addresses.end <= bytes.end as usize;
        if let Some(map) = self.map.as_ref().filter(|_| inside && addresses.start < addresses.end) {
            madvise_dontneed(map, addresses.start - bytes.start as usize, addresses.len());
        }
    }

    /// Documents in batches, so that the list of the lines of a file stays small. A line feed at the end of the file does
    /// not begin another line.
    pub fn batches(&self, unit: DocumentUnit) -> impl Iterator<Item = Vec<&[u8]>> {
        let mut rest = Some(self.bytes());
        std::iter::from_fn(move || {
            let text = rest.take()?;
            let batch = match unit {
                DocumentUnit::File => vec![text],
                DocumentUnit::Line => {
                    let (lines, after) = take_lines(text);
                    rest = (!after.is_empty()).then_some(after);
                    lines
                }
            };
            (!batch.is_empty()).then_some(batch)
        })
    }
}

#[cfg(unix)]
fn madvise_dontneed(map: &Mmap, offset: usize, length: usize) {
    // SAFETY: MADV_DONTNEED discards changes to private pages. This mapping is read-only, so every page equals the file and
    // a later read in any thread gets the same bytes. After a failure the pages stay resident, which is harmless.
    let _ = unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, offset, length) };
}

#[cfg(not(unix))]
fn madvise_dontneed(_map: &Mmap, _offset: usize, _length: usize) {}

/// The first lines of `text`, up to the limits of a batch, and the rest of it.
fn take_lines(text: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let (mut lines, mut start) = (Vec::new(), 0);
    for end in memchr::memchr_iter(b'\n', text) {
        lines.push(&text[start..end]);
        start = end + 1;
        if lines.len() >= MAX_BATCH_LINES || start >= MAX_BATCH_BYTES {
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

    /// Maps a temporary file with these contents; its name is removed at once.
    fn mapped(name: &str, text: &[u8]) -> MappedFile {
        let path = std::env::temp_dir().join(format!("slmtok-{name}-{}.txt", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let file = MappedFile::open(path.to_str().unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        file
    }

    #[test]
    fn lines_exclude_their_line_feeds() {
        for (text, expected) in [
            (&b"a\n\nb\r\nc"[..], vec![&b"a"[..], b"", b"b\r", b"c"]),
            (b"a\n", vec![b"a"]),
            (b"\n", vec![b""]),
            (b"", vec![]),
        ] {
            let file = mapped("lines", text);
            assert_eq!(file.batches(DocumentUnit::Line).flatten().collect::<Vec<_>>(), expected);
            assert_eq!(file.batches(DocumentUnit::File).flatten().collect::<Vec<_>>(), [text]);
        }
    }

    #[test]
    fn many_lines_come_in_batches() {
        let file = mapped("batches", &b"x\n".repeat(2 * MAX_BATCH_LINES + 5));
        let sizes: Vec<usize> = file.batches(DocumentUnit::Line).map(|batch| batch.len()).collect();
        assert_eq!(sizes, [MAX_BATCH_LINES, MAX_BATCH_LINES, 5]);
    }

    #[test]
    fn released_pages_are_loaded_again() {
        let text: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
        let file = mapped("release", &text);
        let start = file.bytes().as_ptr() as usize;
        for (from, to) in [(0, text.len()), (4095, 4097), (5000, 900_000), (7, 7), (0, text.len() + 1)] {
            file.release(start + from..start + to);
            assert!(file.bytes() == text);
        }
    }

    #[test]
    fn the_error_names_a_missing_file() {
        let error = MappedFile::open("no/such/file.txt").unwrap_err();
        assert!(error.to_string().contains("no/such/file.txt"), "{error}");
    }
}
