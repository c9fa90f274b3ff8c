//! Regular files read at any position by any thread. They are not mapped: a mapped file that another process truncates ends
//! the process with SIGBUS, while a read finds it too short and fails.

use std::fs::File;
use std::io;

use crate::mem::try_reserve_huge;
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

/// A regular file with the size that it had when it was opened; bytes that are appended later are not read.
#[derive(Debug)]
pub struct SizedFile {
    file: File,
    path: String,
    size: u64,
}

impl SizedFile {
    /// Opens the regular file at `path`.
    ///
    /// # Errors
    /// A file that cannot be opened, or that is no regular file and so has no size.
    pub fn open(path: &str) -> Result<Self> {
        let fail = |action: &'static str| move |error: io::Error| Error::io(path, action, &error);
        let file = File::open(path).map_err(fail("open"))?;
        let about = file.metadata().map_err(fail("read"))?;
        if !about.is_file() {
            return Err(fail("read")(io::Error::other("it is not a regular file")));
        }
        Ok(Self { file, path: path.to_owned(), size: about.len() })
    }

    /// Its path, for errors.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its size when it was opened.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends the bytes from `offset` on to `buffer`, `length` of them or up to the end of the file.
    ///
    /// # Errors
    /// Lack of memory, a failure to read, and [`Error::Shrunk`] for a file that has become shorter.
    pub fn append_to(&self, buffer: &mut Vec<u8>, offset: u64, length: usize) -> Result<()> {
        let start = buffer.len();
        resize(buffer, start + self.length_at(offset, length))?;
        self.read_at(&mut buffer[start..], offset)
    }

    /// Makes `buffer` the bytes from `offset` on, `length` of them or up to the end of the file. Memory that is reused is not
    /// zeroed before.
    ///
    /// # Errors
    /// See [`Self::append_to`].
    pub fn read_into(&self, buffer: &mut Vec<u8>, offset: u64, length: usize) -> Result<()> {
        resize(buffer, self.length_at(offset, length))?;
        self.read_at(buffer, offset)
    }

    /// Bytes from `offset` on, at most `length`.
    fn length_at(&self, offset: u64, length: usize) -> usize {
        usize::try_from(self.size.saturating_sub(offset)).map_or(length, |left| left.min(length))
    }

    /// Fills `buffer` with the bytes from `offset` on.
    fn read_at(&self, mut buffer: &mut [u8], mut offset: u64) -> Result<()> {
        while !buffer.is_empty() {
            match read_at(&self.file, buffer, offset) {
                Ok(0) => return Err(Error::Shrunk { path: self.path.clone(), size: self.size }),
                Ok(read) => {
                    buffer = &mut buffer[read..];
                    offset += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io(&self.path, "read", &error)),
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// Makes `buffer` `length` bytes long; what it had stays, and the rest is zero.
fn resize(buffer: &mut Vec<u8>, length: usize) -> Result<()> {
    try_reserve_huge(buffer, length.saturating_sub(buffer.len()))?;
    buffer.resize(length, 0);
    Ok(())
}

/// Room before the bytes of a block for the end of the previous block.
const HEAD_BYTES: usize = 1 << 17;

/// Consecutive bytes of a file.
#[derive(Debug, Default)]
pub struct Block {
    buffer: Vec<u8>,
    start: usize,
}

impl Block {
    /// The block of about `length` bytes at `offset`, in the memory of `recycled`.
    ///
    /// # Errors
    /// See [`SizedFile::append_to`].
    pub fn read(file: &SizedFile, offset: u64, length: usize, recycled: Self) -> Result<Self> {
        let mut buffer = recycled.buffer;
        resize(&mut buffer, HEAD_BYTES + file.length_at(offset, length))?;
        file.read_at(&mut buffer[HEAD_BYTES..], offset)?;
        Ok(Self { buffer, start: HEAD_BYTES })
    }

    /// Its bytes.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Puts `head`, the end of the previous block, before its bytes.
    ///
    /// # Errors
    /// Lack of memory.
    pub fn prepend(&mut self, head: &[u8]) -> Result<()> {
        if head.len() > self.start {
            let extra = head.len() - self.start;
            try_reserve_huge(&mut self.buffer, extra)?;
            self.buffer.splice(..0, std::iter::repeat_n(0, extra));
            self.start += extra;
        }
        self.start -= head.len();
        self.buffer[self.start..][..head.len()].copy_from_slice(head);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(contents: &[u8]) -> (tempfile::NamedTempFile, SizedFile) {
        let named = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(named.path(), contents).unwrap();
        let sized = SizedFile::open(named.path().to_str().unwrap()).unwrap();
        (named, sized)
    }

    #[test]
    fn any_part_of_a_file_is_read() {
        let (_named, sized) = file(b"0123456789");
        let mut buffer = b"x".to_vec();
        sized.append_to(&mut buffer, 3, 4).unwrap();
        sized.append_to(&mut buffer, 8, 99).unwrap();
        sized.append_to(&mut buffer, 10, 1).unwrap();
        assert_eq!(buffer, b"x345689");
    }

    #[test]
    fn a_file_that_shrinks_is_an_error_and_one_that_grows_is_not_read_further() {
        let (named, sized) = file(b"0123456789");
        named.as_file().set_len(4).unwrap();
        let error = sized.append_to(&mut Vec::new(), 2, 5).unwrap_err();
        assert!(matches!(&error, Error::Shrunk { size: 10, .. }), "{error}");
        named.as_file().set_len(40).unwrap();
        let mut buffer = Vec::new();
        sized.append_to(&mut buffer, 0, 40).unwrap();
        assert_eq!(buffer.len(), 10);
    }

    #[test]
    fn blocks_take_the_end_of_the_previous_block() {
        let contents: Vec<u8> = (0..4 * HEAD_BYTES).map(|at| (at % 251) as u8).collect();
        let (_named, sized) = file(&contents);
        let mut recycled = Block::default();
        for (offset, head) in [(9, 9), (HEAD_BYTES, HEAD_BYTES), (3 * HEAD_BYTES, 2 * HEAD_BYTES + 5), (700, 0)] {
            let mut block = Block::read(&sized, offset as u64, 1000, recycled).unwrap();
            assert_eq!(block.text(), &contents[offset..offset + 1000]);
            block.prepend(&contents[offset - head..offset]).unwrap();
            assert!(block.text() == &contents[offset - head..offset + 1000]);
            recycled = block;
        }
    }

    #[test]
    fn the_error_names_a_file_that_cannot_be_read() {
        for path in ["no/such/file.txt", "."] {
            let error = SizedFile::open(path).unwrap_err();
            assert!(error.to_string().contains(path), "{error}");
        }
    }
}
