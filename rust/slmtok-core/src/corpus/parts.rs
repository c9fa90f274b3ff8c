//! Packed files in several parts, one after another: members of gzip, frames of Zstandard. Between two parts lies a border,
//! from which a later run can go on without unpacking what is before it.

use std::io::{self, BufRead, ErrorKind, Read};

use flate2::bufread::GzDecoder;
use zstd::stream::raw::{Decoder, Operation};

use super::packed::Source;
use super::place::Border;

/// All frames of a Zstandard file; those that hold no text are passed over.
pub struct Frames<R> {
    source: R,
    decoder: Decoder<'static>,
    /// Whether a frame has begun and has not ended.
    inside: bool,
    at: Border,
    border: Border,
}

impl<R: BufRead> Frames<R> {
    /// The frames of `source`, which stands at a border.
    pub fn new(source: R, begin: Border) -> io::Result<Self> {
        Ok(Self { source, decoder: Decoder::new()?, inside: false, at: begin, border: begin })
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let packed = self.source.fill_buf()?;
            let ended = packed.is_empty();
            if (ended && !self.inside) || buffer.is_empty() {
                return Ok(0);
            }
            if !self.inside {
                self.decoder.reinit()?;
            }
            // At the end of the file it may still hold bytes that were unpacked.
            let status = self.decoder.run_on_buffers(packed, buffer)?;
            self.source.consume(status.bytes_read);
            self.at.packed += status.bytes_read as u64;
            self.at.unpacked += status.bytes_written as u64;
            self.inside = status.remaining > 0;
            if !self.inside {
                self.border = self.at;
            }
            if status.bytes_written > 0 {
                return Ok(status.bytes_written);
            }
            if ended && self.inside {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

impl<R: BufRead + Send> Source for Frames<R> {
    fn border(&self) -> Border {
        self.border
    }
}

/// All members of a gzip file.
pub struct Members<R> {
    state: Option<Member<Consumed<R>>>,
    unpacked: u64,
    border: Border,
}

enum Member<R> {
    Between(R),
    Inside(Box<GzDecoder<R>>),
}

impl<R: BufRead> Members<R> {
    /// The members of `source`, which stands at a border.
    pub fn new(source: R, begin: Border) -> Self {
        let source = Consumed { source, at: begin.packed };
        Self { state: Some(Member::Between(source)), unpacked: begin.unpacked, border: begin }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.state.take() {
                None => return Ok(0),
                Some(Member::Between(mut source)) => {
                    if source.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    self.state = Some(Member::Inside(Box::new(GzDecoder::new(source))));
                }
                Some(Member::Inside(mut decoder)) => {
                    let size = decoder.read(buffer)?;
                    if size > 0 || buffer.is_empty() {
                        self.unpacked += size as u64;
                        self.state = Some(Member::Inside(decoder));
                        return Ok(size);
                    }
                    let mut source = decoder.into_inner();
                    skip_zeros(&mut source)?;
                    self.border = Border { packed: source.at, unpacked: self.unpacked };
                    self.state = Some(Member::Between(source));
                }
            }
        }
    }
}

impl<R: BufRead + Send> Source for Members<R> {
    fn border(&self) -> Border {
        self.border
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

/// A source that knows how much of it was used, which is less than what was read.
struct Consumed<R> {
    source: R,
    at: u64,
}

impl<R: BufRead> Read for Consumed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.source.read(buffer)?;
        self.at += size as u64;
        Ok(size)
    }
}

impl<R: BufRead> BufRead for Consumed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.source.fill_buf()
    }

    fn consume(&mut self, size: usize) {
        self.source.consume(size);
        self.at += size as u64;
    }
}
