//! Decompressed bytes of a file (gzip, Zstandard, xz). A truncated file is an error, never a shorter text.
//!
//! A *seek point* is a place from which decompression can start: any byte of an uncompressed file, and the start of each gzip
//! member, Zstandard frame and xz stream. A later run resumes there without decompressing what is before.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::GzDecoder;
use liblzma::stream::{Action, Status, Stream};
use zstd::stream::raw::{Decoder, Operation};

use crate::{Error, Result, interrupt};

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not compressed.
    Plain,
    /// gzip: consecutive members, zero padding after them.
    Gz,
    /// Zstandard: consecutive frames.
    Zst,
    /// xz: consecutive streams.
    Xz,
}

/// Every compression by name.
pub const COMPRESSIONS: [(&str, Compression); 4] =
    [("plain", Compression::Plain), ("gz", Compression::Gz), ("zst", Compression::Zst), ("xz", Compression::Xz)];

/// Size of one read from the file.
const READ_BYTES: usize = 1 << 17;
/// Memory limit of the xz decoder: a dictionary as large as the window of the zstd decoder (128 MiB), and 16 MiB. A header of a
/// few bytes can request 4 GiB.
const XZ_MEMORY_BYTES: u64 = (128 + 16) << 20;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A place in a file from which decompression can start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeekPoint {
    /// Bytes of the file before it.
    pub compressed: u64,
    /// Their size after decompression.
    pub uncompressed: u64,
}

/// Decompressed bytes with the last seek point at or before the read position.
pub trait Source: Read + Send {
    /// The last seek point at or before the bytes that were read.
    fn seek_point(&self) -> SeekPoint;
}

/// Opens the file at `path` at a seek point. `bytes_read` counts the bytes of the file that are consumed.
///
/// # Errors
/// A file that cannot be opened.
pub fn open(
    path: &Path,
    compression: Compression,
    bytes_read: &Arc<AtomicU64>,
    start: SeekPoint,
) -> Result<Box<dyn Source>> {
    let failed = |action, error| failure(&path.to_string_lossy(), action, &error);
    let mut file = File::open(path).map_err(|error| failed("open", error))?;
    if start.compressed > 0 {
        file.seek(SeekFrom::Start(start.compressed)).map_err(|error| failed("read", error))?;
    }
    bytes_read.store(start.compressed, Ordering::Relaxed);
    decompress(file, compression, bytes_read, start).map_err(|error| failed("read", error))
}

/// The decompressed bytes of `source`, which is positioned at a seek point.
///
/// # Errors
/// A decoder that cannot be allocated.
pub fn decompress(
    source: impl Read + Send + 'static,
    compression: Compression,
    bytes_read: &Arc<AtomicU64>,
    start: SeekPoint,
) -> io::Result<Box<dyn Source>> {
    let counted = Counted { source, bytes_read: Arc::clone(bytes_read) };
    let buffered = |source| BufReader::with_capacity(READ_BYTES, source);
    Ok(match compression {
        Compression::Plain => Box::new(Plain { source: counted, position: start }),
        Compression::Gz => Box::new(GzipMembers::new(buffered(counted), start)),
        Compression::Zst => Box::new(Frames::new(buffered(counted), start, Decoder::new()?)),
        Compression::Xz => Box::new(Frames::new(buffered(counted), start, xz_decoder()?)),
    })
}

/// The error for a file that cannot be opened, read or decompressed.
#[must_use]
pub fn failure(path: &str, action: &'static str, error: &io::Error) -> Error {
    if is_interruption(error) {
        return Error::Interrupted;
    }
    let path = path.to_owned();
    match (error.raw_os_error(), error.kind()) {
        (None, ErrorKind::UnexpectedEof) => Error::Damaged { path, reason: None },
        (None, _) if action == "read" => Error::Damaged { path, reason: Some(error.to_string()) },
        (os_error, _) => Error::Io { path, action, reason: error.to_string(), os_error },
    }
}

/// Whether `error` is [`Error::Interrupted`], which ends a read and loses nothing: a later one goes on.
#[must_use]
pub fn is_interruption(error: &io::Error) -> bool {
    error.get_ref().and_then(|inner| inner.downcast_ref()) == Some(&Error::Interrupted)
}

/// A source that counts the bytes read from it. Its reads can be interrupted: a compressed file of any size may hold no byte,
/// so that no chunk ends.
struct Counted<R> {
    source: R,
    bytes_read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        interrupt::check().map_err(io::Error::other)?;
        let size = self.source.read(buffer)?;
        self.bytes_read.fetch_add(size as u64, Ordering::Relaxed);
        Ok(size)
    }
}

/// Uncompressed bytes: every position is a seek point.
struct Plain<R> {
    source: R,
    position: SeekPoint,
}

impl<R: Read> Read for Plain<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.source.read(buffer)?;
        self.position.compressed += size as u64;
        self.position.uncompressed += size as u64;
        Ok(size)
    }
}

impl<R: Read + Send> Source for Plain<R> {
    fn seek_point(&self) -> SeekPoint {
        self.position
    }
}

/// Checks that the bytes behind a whole frame begin another one: `block` are some of them, `position` is that of the first.
///
/// # Errors
/// Bytes that do not. At the start of the file the decoder says what they are not.
fn check_follows(frame: &str, magic: &[u8], block: &[u8], position: u64) -> io::Result<()> {
    if position == 0 || block.iter().zip(magic).all(|(byte, expected)| byte == expected) {
        return Ok(());
    }
    let reason = format!("a whole {frame} ends before byte {position}, and what follows is no {frame}");
    Err(io::Error::new(ErrorKind::InvalidData, reason))
}

fn xz_decoder() -> io::Result<Stream> {
    Ok(Stream::new_stream_decoder(XZ_MEMORY_BYTES, 0)?)
}

/// A decoder of one frame after the other.
trait FrameDecoder: Send {
    /// What the format calls a frame.
    const FRAME: &str;
    /// Whether zeros may follow a frame.
    const IS_PADDED: bool;
    /// The first bytes of a frame whose first byte is `first`.
    fn magic(first: u8) -> [u8; 4];
    /// Forgets the frame before.
    fn restart(&mut self) -> io::Result<()>;
    /// The bytes that were read and written, and whether the frame ended.
    fn run(&mut self, compressed: &[u8], buffer: &mut [u8]) -> io::Result<(usize, usize, bool)>;
}

impl FrameDecoder for Decoder<'static> {
    const FRAME: &str = "Zstandard frame";
    const IS_PADDED: bool = false;

    fn magic(first: u8) -> [u8; 4] {
        // Skippable frames begin with any of 16 bytes.
        if first >> 4 == 5 { [first, 0x2a, 0x4d, 0x18] } else { [0x28, 0xb5, 0x2f, 0xfd] }
    }

    fn restart(&mut self) -> io::Result<()> {
        self.reinit()
    }

    fn run(&mut self, compressed: &[u8], buffer: &mut [u8]) -> io::Result<(usize, usize, bool)> {
        let status = self.run_on_buffers(compressed, buffer)?;
        Ok((status.bytes_read, status.bytes_written, status.remaining == 0))
    }
}

impl FrameDecoder for Stream {
    const FRAME: &str = "xz stream";
    const IS_PADDED: bool = true;

    fn magic(_first: u8) -> [u8; 4] {
        [0xfd, b'7', b'z', b'X']
    }

    fn restart(&mut self) -> io::Result<()> {
        *self = xz_decoder()?;
        Ok(())
    }

    fn run(&mut self, compressed: &[u8], buffer: &mut [u8]) -> io::Result<(usize, usize, bool)> {
        let (read, written) = (self.total_in(), self.total_out());
        let status = self.process(compressed, buffer, Action::Run)?;
        #[expect(clippy::cast_possible_truncation, reason = "at most the length of a slice")]
        let size = |total: u64| total as usize;
        Ok((size(self.total_in() - read), size(self.total_out() - written), status == Status::StreamEnd))
    }
}

/// All frames of a Zstandard file, of which skippable ones are skipped, or all streams of an xz file.
struct Frames<D, R> {
    source: Positioned<R>,
    decoder: D,
    in_frame: bool,
    uncompressed: u64,
    frame_start: SeekPoint,
}

impl<D: FrameDecoder, R: BufRead> Frames<D, R> {
    fn new(source: R, start: SeekPoint, decoder: D) -> Self {
        let source = Positioned { source, position: start.compressed };
        Self { source, decoder, in_frame: false, uncompressed: start.uncompressed, frame_start: start }
    }
}

impl<D: FrameDecoder, R: BufRead> Read for Frames<D, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if D::IS_PADDED && !self.in_frame && self.source.position > 0 {
                skip_zeros(&mut self.source)?;
            }
            let position = self.source.position;
            let compressed = self.source.fill_buf()?;
            let at_end = compressed.is_empty();
            if (at_end && !self.in_frame) || buffer.is_empty() {
                return Ok(0);
            }
            if !self.in_frame {
                check_follows(D::FRAME, &D::magic(compressed[0]), compressed, position)?;
                self.decoder.restart()?;
            }
            // At the end of the file the decoder may still hold output.
            let (read, written, ended) = self.decoder.run(compressed, buffer)?;
            self.source.consume(read);
            self.uncompressed += written as u64;
            self.in_frame = !ended;
            if ended {
                self.frame_start = SeekPoint { compressed: self.source.position, uncompressed: self.uncompressed };
            }
            if written > 0 {
                return Ok(written);
            }
            if at_end && self.in_frame {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

impl<D: FrameDecoder, R: BufRead + Send> Source for Frames<D, R> {
    fn seek_point(&self) -> SeekPoint {
        self.frame_start
    }
}

/// All members of a gzip file.
struct GzipMembers<R> {
    state: Option<Member<Positioned<R>>>,
    uncompressed: u64,
    member_start: SeekPoint,
}

enum Member<R> {
    /// Before a member, or at the end.
    Between(R),
    Inside(Box<GzDecoder<R>>),
    /// After a member: zeros may follow.
    After(R),
}

impl<R: BufRead> GzipMembers<R> {
    fn new(source: R, start: SeekPoint) -> Self {
        let source = Positioned { source, position: start.compressed };
        Self { state: Some(Member::Between(source)), uncompressed: start.uncompressed, member_start: start }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // A failed read leaves the state as it was, so that an interrupted one goes on later.
            let Some(state) = self.state.take() else { return Ok(0) };
            match state {
                Member::Between(mut source) => {
                    let position = source.position;
                    let at_end = source.fill_buf().and_then(|block| {
                        check_follows("gzip member", &GZIP_MAGIC, block, position)?;
                        Ok(block.is_empty())
                    });
                    let inside = matches!(at_end, Ok(false));
                    self.state = Some(if inside {
                        Member::Inside(Box::new(GzDecoder::new(source)))
                    } else {
                        Member::Between(source)
                    });
                    if !inside {
                        return at_end.map(|_| 0);
                    }
                }
                Member::Inside(mut decoder) => {
                    let size = decoder.read(buffer);
                    if !matches!(size, Ok(0)) || buffer.is_empty() {
                        self.uncompressed += *size.as_ref().unwrap_or(&0) as u64;
                        self.state = Some(Member::Inside(decoder));
                        return size;
                    }
                    self.state = Some(Member::After(decoder.into_inner()));
                }
                Member::After(mut source) => {
                    let skipped = skip_zeros(&mut source);
                    if skipped.is_ok() {
                        self.member_start = SeekPoint { compressed: source.position, uncompressed: self.uncompressed };
                        self.state = Some(Member::Between(source));
                    } else {
                        self.state = Some(Member::After(source));
                    }
                    skipped?;
                }
            }
        }
    }
}

impl<R: BufRead + Send> Source for GzipMembers<R> {
    fn seek_point(&self) -> SeekPoint {
        self.member_start
    }
}

/// Skips the zero padding that tape archives append.
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

/// A buffered source with the position of the next unconsumed byte, which lies before the position of the file.
struct Positioned<R> {
    source: R,
    position: u64,
}

impl<R: BufRead> Read for Positioned<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.source.read(buffer)?;
        self.position += size as u64;
        Ok(size)
    }
}

impl<R: BufRead> BufRead for Positioned<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.source.fill_buf()
    }

    fn consume(&mut self, size: usize) {
        self.source.consume(size);
        self.position += size as u64;
    }
}
