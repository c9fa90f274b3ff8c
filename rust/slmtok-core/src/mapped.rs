//! Files as byte slices, and documents in them.
#![allow(unsafe_code)]

use std::fs::File;

use memmap2::{Advice, Mmap};

use crate::{Error, Result};

/// What is a document in a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// The whole file.
    File,
    /// What stands between line feeds, without them.
    Line,
}

/// Every unit with the name by which it is chosen.
pub const DOCUMENTS: [(&str, Document); 2] = [("file", Document::File), ("line", Document::Line)];

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

    /// Its documents. A line feed at the end of the file does not begin another line.
    #[must_use]
    pub fn documents(&self, unit: Document) -> Vec<&[u8]> {
        let text = self.bytes();
        match unit {
            Document::File => vec![text],
            Document::Line => {
                let mut start = 0;
                let mut lines = Vec::new();
                for end in memchr::memchr_iter(b'\n', text) {
                    lines.push(&text[start..end]);
                    start = end + 1;
                }
                if start < text.len() {
                    lines.push(&text[start..]);
                }
                lines
            }
        }
    }
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
            assert_eq!(file.documents(Document::Line), want);
            assert_eq!(file.documents(Document::File), [text]);
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = MappedFile::open("no/such/file.txt").unwrap_err();
        assert!(error.to_string().contains("no/such/file.txt"), "{error}");
    }
}
