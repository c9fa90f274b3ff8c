//! A temporary file for counts that do not fit into memory. It has no name while it is in use, so that nothing is left of
//! it however the process ends; where a system does not allow that, it is removed when it is dropped.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::cache::short_key::random_seed;
use crate::{Error, Result};

/// A file that only grows, and can be read at any place.
#[derive(Debug)]
pub(super) struct Scratch {
    file: File,
    folder: PathBuf,
    length: u64,
    /// Its name, where it still has one.
    named: Option<PathBuf>,
}

impl Scratch {
    /// An empty file in `folder`, which only its owner can read: it holds words of the corpus.
    pub fn new(folder: &Path) -> Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let fail = |error| failure(folder, 0, "make a temporary file in", &error);
        loop {
            let path = folder.join(format!(".slmtok-{}-{:016x}.counts", std::process::id(), random_seed()));
            match options.open(&path) {
                Ok(file) => {
                    let named = std::fs::remove_file(&path).is_err().then_some(path);
                    return Ok(Self { file, folder: folder.to_owned(), length: 0, named });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(fail(error)),
            }
        }
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| {
            failure(&self.folder, self.length + bytes.len() as u64, "write a temporary file in", &error)
        })?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    pub fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        read_exact_at(&self.file, at, into).map_err(|error| self.unreadable(&error))
    }

    /// The error for what cannot be read back.
    pub fn unreadable(&self, error: &std::io::Error) -> Error {
        failure(&self.folder, self.length, "read back a temporary file in", error)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(path) = &self.named {
            // Nobody is left to be told of a failure.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn failure(folder: &Path, bytes: u64, action: &'static str, error: &std::io::Error) -> Error {
    let folder = folder.to_string_lossy().into_owned();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Error::NoSpace { folder, bytes },
        _ => Error::Io { path: folder, action, reason: error.to_string(), os_error: error.raw_os_error() },
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, at: u64, into: &mut [u8]) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, at)
}

/// Only called when nothing is written any more, so that the cursor which it moves does not matter.
#[cfg(not(unix))]
fn read_exact_at(mut file: &File, at: u64, into: &mut [u8]) -> std::io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};

    file.seek(SeekFrom::Start(at))?;
    file.read_exact(into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_be_seen_of_it() {
        let folder = std::env::temp_dir().join(format!("slmtok-scratch-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut scratch = Scratch::new(&folder).unwrap();
        scratch.append(b"hello ").unwrap();
        scratch.append(b"world").unwrap();
        let names = || std::fs::read_dir(&folder).unwrap().count();
        assert_eq!(names(), usize::from(cfg!(not(unix))));
        let mut back = [0; 5];
        scratch.read(4, &mut back).unwrap();
        assert_eq!((&back, scratch.length()), (b"o wor", 11));
        assert!(scratch.read(8, &mut back).unwrap_err().to_string().contains("read back"));
        drop(scratch);
        assert_eq!(names(), 0);
        std::fs::remove_dir(&folder).unwrap();
        let error = Scratch::new(&folder).unwrap_err();
        assert!(matches!(&error, Error::Io { action: "make a temporary file in", .. }), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_told_as_such() {
        let file = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut scratch = Scratch { file, folder: "/dev".into(), length: 70, named: None };
        let error = scratch.append(b"0123456789").unwrap_err();
        assert_eq!(error, Error::NoSpace { folder: "/dev".to_owned(), bytes: 80 });
    }
}
