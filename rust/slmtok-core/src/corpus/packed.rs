//! The unpacked bytes of a file. One that ends too early is an error, never a shorter text.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use liblzma::bufread::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};

use super::parts::{Frames, Members};
use super::place::Border;
use crate::{Error, Result};

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// gzip: members one after another, zeros behind them.
    Gz,
    /// Zstandard: frames one after another.
    Zst,
    /// xz: streams one after another.
    Xz,
}

/// Every packing with the name by which it is chosen.
pub const PACKINGS: [(&str, Packing); 4] =
    [("plain", Packing::Plain), ("gz", Packing::Gz), ("zst", Packing::Zst), ("xz", Packing::Xz)];

/// Bytes of the file that are read at once.
const BLOCK: usize = 1 << 17;
/// The most memory that unpacking xz takes: enough for the largest dictionary that is written. A header of a few bytes can ask for
/// 4 GiB.
const XZ_MEMORY: u64 = (1536 + 16) << 20;

/// Unpacked bytes from anywhere.
pub trait Source: Read + Send {
    /// The last border at or before the bytes that were read.
    fn border(&self) -> Border;
}

/// Bytes as they are.
struct Plain<R> {
    source: R,
    at: Border,
}

impl<R: Read> Read for Plain<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.source.read(buffer)?;
        self.at.packed += size as u64;
        self.at.unpacked += size as u64;
        Ok(size)
    }
}

impl<R: Read + Send> Source for Plain<R> {
    fn border(&self) -> Border {
        self.at
    }
}

/// What can be unpacked from its beginning only.
struct Whole<R> {
    source: R,
    begin: Border,
}

impl<R: Read> Read for Whole<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.source.read(buffer)
    }
}

impl<R: Read + Send> Source for Whole<R> {
    fn border(&self) -> Border {
        self.begin
    }
}

/// A source that counts what is taken from it.
struct Counted<R> {
    source: R,
    taken: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.source.read(buffer)?;
        self.taken.fetch_add(size as u64, Ordering::Relaxed);
        Ok(size)
    }
}

/// Opens the file at `path` at a border; `taken` is the number of bytes before what is taken of it next.
///
/// # Errors
/// A file that cannot be opened.
pub fn open(path: &str, packing: Packing, taken: &Arc<AtomicU64>, begin: Border) -> Result<Box<dyn Source>> {
    let mut file = File::open(path).map_err(|error| failure(path, "open", &error))?;
    if begin.packed > 0 {
        file.seek(SeekFrom::Start(begin.packed)).map_err(|error| failure(path, "read", &error))?;
    }
    taken.store(begin.packed, Ordering::Relaxed);
    unpacked(file, packing, taken, begin).map_err(|error| failure(path, "read", &error))
}

/// What `source` unpacks to, which stands at a border.
///
/// # Errors
/// Memory that is not to be had.
pub fn unpacked(
    source: impl Read + Send + 'static,
    packing: Packing,
    taken: &Arc<AtomicU64>,
    begin: Border,
) -> io::Result<Box<dyn Source>> {
    let counted = Counted { source, taken: Arc::clone(taken) };
    let blocks = |source| BufReader::with_capacity(BLOCK, source);
    Ok(match packing {
        Packing::Plain => Box::new(Plain { source: counted, at: begin }),
        Packing::Gz => Box::new(Members::new(blocks(counted), begin)),
        Packing::Zst => Box::new(Frames::new(blocks(counted), begin)?),
        Packing::Xz => {
            let decoder = Stream::new_stream_decoder(XZ_MEMORY, CONCATENATED)?;
            Box::new(Whole { source: XzDecoder::new_stream(blocks(counted), decoder), begin })
        }
    })
}

/// The error for a file whose bytes did not come.
#[must_use]
pub fn failure(path: &str, action: &'static str, error: &io::Error) -> Error {
    let path = path.to_owned();
    match (error.raw_os_error(), error.kind()) {
        (None, ErrorKind::UnexpectedEof) => Error::Damaged { path, reason: None },
        (None, _) if action == "read" => Error::Damaged { path, reason: Some(error.to_string()) },
        (os_error, _) => Error::Io { path, action, reason: error.to_string(), os_error },
    }
}
