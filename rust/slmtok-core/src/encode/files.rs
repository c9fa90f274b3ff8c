//! From files straight to a file of ids, in bounded memory.
//!
//! A file is read in blocks, each while the one before it is encoded. A document that continues in the next block is cut at a
//! sync point, a line at its start. So memory is that of two blocks and their ids, however large the files are, except
//! for text that has no sync point or line feed, which `max_doc_bytes` limits. A failed call leaves no file.

use std::fs::File;
use std::io::{BufWriter, Write};

use super::batch::Frame;
use super::{Encoder, PooledId};
use crate::file_blocks::{Block, DocumentUnit, SizedFile};
use crate::parallel::{BATCH_BYTES, ReportProgress, WorkPlan};
use crate::threads::spawn;
use crate::{Error, Result};

/// Usual bytes of a block: enough batches for all threads.
const BLOCK_BYTES: usize = 8 << 20;
/// Lines that are encoded together, so that the list of them stays small.
const MAX_LINES: usize = 1 << 18;

/// How [`Encoder::encode_files`] divides and frames documents.
#[derive(Clone, Copy, Debug)]
pub struct FileOptions {
    /// What a document is.
    pub unit: DocumentUnit,
    /// Threads, 0 for all.
    pub threads: usize,
    /// Ids around each document.
    pub frame: Frame,
    /// Most bytes without a place to cut.
    pub max_doc_bytes: u64,
    /// Bytes that are read together.
    pub block_bytes: usize,
}

impl FileOptions {
    /// Documents of a unit, with the other options as usual.
    #[must_use]
    pub fn new(unit: DocumentUnit) -> Self {
        Self { unit, threads: 0, frame: Frame::default(), max_doc_bytes: u64::MAX, block_bytes: BLOCK_BYTES }
    }
}

impl Encoder {
    /// Encodes the documents of `paths` in order and writes the flat ids, little-endian, to the new file `out`. Returns the
    /// n + 1 document offsets.
    ///
    /// # Errors
    /// A file that cannot be read or becomes shorter, a document with too much text to hold at once, an existing or unwritable
    /// `out`, and the errors of [`Encoder::encode_batch`].
    pub fn encode_files<I: PooledId>(
        &self,
        paths: &[String],
        out: &str,
        options: FileOptions,
        report: ReportProgress<'_>,
    ) -> Result<Vec<i64>> {
        self.check_frame(options.frame)?;
        let file = File::create_new(out).map_err(|error| Error::io(out, "create", &error))?;
        // Declared before the writer, so that the file is closed before it is removed.
        let guard = RemoveOnDrop(Some(out));
        let fail = |error: std::io::Error| Error::io(out, "write", &error);
        let mut writer = IdWriter { sink: BufWriter::new(file), out, bytes: Vec::new(), offsets: vec![0], written: 0 };
        let mut done = 0;
        for path in paths {
            let file = SizedFile::open(path)?;
            self.encode_file::<I>(&file, options, &mut writer, &mut |now| report(done + now))?;
            done += file.size();
        }
        let IdWriter { mut sink, offsets, .. } = writer;
        sink.flush().map_err(fail)?;
        sink.into_inner().map_err(|error| fail(error.into_error()))?.sync_all().map_err(fail)?;
        guard.disarm();
        Ok(offsets)
    }

    fn encode_file<I: PooledId>(
        &self,
        file: &SizedFile,
        options: FileOptions,
        writer: &mut IdWriter<'_>,
        report: ReportProgress<'_>,
    ) -> Result<()> {
        let mut block = Block::read(file, 0, options.block_bytes, Block::default())?;
        let mut end = block.text().len() as u64;
        let (mut spare, mut done, mut is_first) = (Block::default(), 0, true);
        loop {
            let at_end = end == file.size();
            let recycled = std::mem::take(&mut spare);
            let (encoded, next) = std::thread::scope(|scope| {
                let read_ahead = || Block::read(file, end, options.block_bytes, recycled);
                let ahead = (!at_end).then(|| spawn(scope, read_ahead)).transpose()?;
                let mut encoded = 0;
                let outcome = loop {
                    let part = self.part(&block.text()[encoded..], options.unit, at_end, is_first);
                    let Some(part) = part else { break Ok(encoded) };
                    let Part { documents, plan, .. } = &part;
                    let ids = self.run_plan(plan, &mut |now| report(done + now), |report| {
                        self.encode_plan::<I>(plan, documents, options.threads, options.frame, report)
                    });
                    if let Err(error) = ids.and_then(|batch| writer.write(&batch.ids, &batch.offsets)) {
                        break Err(error);
                    }
                    (encoded, done, is_first) = (encoded + part.length, done + part.length as u64, false);
                };
                let next = ahead.map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
                Ok((outcome, next))
            })?;
            let encoded = encoded?;
            let Some(next) = next else { return Ok(()) };
            let (mut next, rest) = (next?, &block.text()[encoded..]);
            if rest.len() as u64 > options.max_doc_bytes {
                return Err(Error::DocumentTooLarge {
                    place: Some(file.path().to_owned()),
                    limit: options.max_doc_bytes,
                });
            }
            end += next.text().len() as u64;
            next.prepend(rest)?;
            spare = std::mem::replace(&mut block, next);
        }
    }

    /// What of `text` can be encoded before the rest of the file is read; `None` if nothing.
    fn part<'a>(&self, text: &'a [u8], unit: DocumentUnit, at_end: bool, is_first: bool) -> Option<Part<'a>> {
        if unit == DocumentUnit::Line {
            let (documents, length) = take_lines(text, at_end);
            let plan = WorkPlan::new(self.pattern(), &documents);
            return (!documents.is_empty()).then_some(Part { documents, plan, length });
        }
        let length = if at_end { text.len() } else { self.pattern().last_sync_point(text)? };
        // An empty file is an empty document; after the last part nothing is left.
        if length == 0 && !is_first {
            return None;
        }
        let plan = WorkPlan::for_part(self.pattern(), text, length, is_first, at_end, BATCH_BYTES);
        Some(Part { documents: vec![text], plan, length })
    }
}

/// Documents, or the beginning of one, that are encoded together.
struct Part<'a> {
    documents: Vec<&'a [u8]>,
    plan: WorkPlan,
    /// Bytes of the text that it takes.
    length: usize,
}

/// The first lines of `text` without their line feeds, and their bytes with them. The last line of a file may lack one.
fn take_lines(text: &[u8], at_end: bool) -> (Vec<&[u8]>, usize) {
    let (mut lines, mut start) = (Vec::new(), 0);
    for end in memchr::memchr_iter(b'\n', text).take(MAX_LINES) {
        lines.push(&text[start..end]);
        start = end + 1;
    }
    if at_end && lines.len() < MAX_LINES && start < text.len() {
        lines.push(&text[start..]);
        start = text.len();
    }
    (lines, start)
}

/// Writes ids, and collects the ends of documents.
struct IdWriter<'a> {
    sink: BufWriter<File>,
    out: &'a str,
    bytes: Vec<u8>,
    offsets: Vec<i64>,
    written: i64,
}

impl IdWriter<'_> {
    /// Writes `ids`; `offsets` are those of the documents that end in them, after a 0.
    fn write<I: PooledId>(&mut self, ids: &[I], offsets: &[i64]) -> Result<()> {
        self.offsets.extend(offsets[1..].iter().map(|end| self.written + end));
        self.written += ids.len() as i64;
        self.bytes.clear();
        I::write_bytes(ids, &mut self.bytes);
        self.sink.write_all(&self.bytes).map_err(|error| Error::io(self.out, "write", &error))
    }
}

/// Removes an incomplete file.
struct RemoveOnDrop<'a>(Option<&'a str>);

impl RemoveOnDrop<'_> {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for RemoveOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.0 {
            // An error here would hide the one that ended the call.
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_exclude_their_line_feeds() {
        let lines = |text: &'static [u8], at_end| take_lines(text, at_end);
        assert_eq!(lines(b"a\n\nb\r\nc", true), (vec![&b"a"[..], b"", b"b\r", b"c"], 7));
        assert_eq!(lines(b"a\n\nb\r\nc", false), (vec![&b"a"[..], b"", b"b\r"], 6));
        assert_eq!(lines(b"\n", true), (vec![&b""[..]], 1));
        assert_eq!(lines(b"", true), (vec![], 0));
        let many = b"x\n".repeat(MAX_LINES + 5);
        let (first, length) = take_lines(&many, true);
        assert_eq!((first.len(), take_lines(&many[length..], true).0.len()), (MAX_LINES, 5));
    }
}
