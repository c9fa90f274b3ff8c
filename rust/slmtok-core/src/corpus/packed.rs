//! The unpacked bytes of a file. One that ends too early is an error, never a shorter text.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::GzDecoder;
use liblzma::bufread::XzDecoder;

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

/// Bytes from anywhere.
pub type Source = Box<dyn Read + Send>;

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

/// Opens the file at `path`; what is taken of it is added to `taken`.
///
/// # Errors
/// A file that cannot be opened.
pub fn open(path: &str, packing: Packing, taken: &Arc<AtomicU64>) -> Result<Source> {
    let file = File::open(path).map_err(|error| failure(path, "open", &error))?;
    unpacked(file, packing, taken).map_err(|error| failure(path, "read", &error))
}

/// What `source` unpacks to.
///
/// # Errors
/// Memory that is not to be had.
pub fn unpacked(source: impl Read + Send + 'static, packing: Packing, taken: &Arc<AtomicU64>) -> io::Result<Source> {
    let counted = Counted { source, taken: Arc::clone(taken) };
    let blocks = |source| BufReader::with_capacity(BLOCK, source);
    Ok(match packing {
        Packing::Plain => Box::new(counted),
        Packing::Gz => Box::new(Members(Some(Member::Between(blocks(counted))))),
        Packing::Zst => Box::new(zstd::stream::read::Decoder::with_buffer(blocks(counted))?),
        Packing::Xz => Box::new(XzDecoder::new_multi_decoder(blocks(counted))),
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

/// All members of a gzip file.
struct Members<R>(Option<Member<R>>);

enum Member<R> {
    Between(R),
    Inside(Box<GzDecoder<R>>),
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.take() {
                None => return Ok(0),
                Some(Member::Between(mut source)) => {
                    if source.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    self.0 = Some(Member::Inside(Box::new(GzDecoder::new(source))));
                }
                Some(Member::Inside(mut decoder)) => {
                    let size = decoder.read(buffer)?;
                    if size > 0 || buffer.is_empty() {
                        self.0 = Some(Member::Inside(decoder));
                        return Ok(size);
                    }
                    let mut source = decoder.into_inner();
                    skip_zeros(&mut source)?;
                    self.0 = Some(Member::Between(source));
                }
            }
        }
    }
}

/// Passes over the zeros with which tapes fill up a block.
fn skip_zeros(source: &mut impl BufRead) -> io::Result<()> {
    loop {
        let block = source.fill_buf()?;
        let zeros = block.iter().take_while(|&&byte| byte == 0).count();
        let more = zeros == block.len() && zeros > 0;
        source.consume(zeros);
        if !more {
            return Ok(());
        }
    }
}
