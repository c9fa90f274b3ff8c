//! Counting a file that is one document, on all threads.
//!
//! The file is divided into blocks of equal size. A worker that claims a block reads it, with some bytes before and after, into
//! a buffer that stays in its L2 cache. It counts the pieces from the first sync point in the block up to the first sync
//! point behind it, for which it may have to read on; a block without sync point is left to the block before it. So no worker
//! needs another one, and the pieces are those of the whole document.

#![expect(clippy::cast_possible_truncation, reason = "positions in a block of a file, which is in memory")]

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::{Budget, Counter, Worker};
use crate::corpus::Digest;
use crate::file_blocks::{Block, SizedFile};
use crate::parallel::{Span, WorkPlan, for_each_batch, thread_count};
use crate::pretoken::Pattern;
use crate::threads::spawn;
use crate::{Error, Result, interrupt};

/// Size of a block; small, because all threads wait for the last one.
const BLOCK_BYTES: u64 = 1 << 18;
/// Bytes before a block that are read with it: the longest character, which decides whether a sync point follows it.
const BEFORE_BYTES: u64 = 4;
/// Bytes behind a block that are read with it. Most blocks have a sync point in them.
const BEHIND_BYTES: usize = 1 << 12;
/// Bytes behind a sync point that its pieces may depend on, at least: the character after it.
const MIN_VISIBLE_BYTES: usize = 4;
/// Bytes of a part of a document that is counted part by part.
const PART_BYTES: usize = 4 << 20;
/// Files above this size are counted while the calling thread watches for signals.
const MAX_QUICK_BYTES: u64 = 32 << 20;

impl Counter {
    /// Counts a file that is one document; another thread computes its sha256 meanwhile. The digest is undefined if a limit
    /// ends the corpus. `report` receives (bytes done, total bytes).
    ///
    /// # Errors
    /// See [`Counter::feed`], and a file that cannot be read or that becomes shorter.
    pub fn feed_hashed(
        &mut self,
        path: &str,
        report: &mut dyn FnMut(u64, u64) -> Result<()>,
    ) -> Result<(bool, Digest)> {
        let file = SizedFile::open(path)?;
        let counted = AtomicU64::new(0);
        std::thread::scope(|scope| {
            let digest = spawn(scope, || hash_beside(&file, &counted))?;
            let more = self.feed_file(&file, &mut |done, total| {
                counted.store(done, Ordering::Relaxed);
                report(done, total)
            });
            counted.store(if matches!(more, Ok(true)) { ALL_COUNTED } else { STOPPED }, Ordering::Relaxed);
            let digest = digest.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok((more?, digest?))
        })
        .map_err(|error: Error| error.at(path))
    }

    fn feed_file(&mut self, file: &SizedFile, report: &mut dyn FnMut(u64, u64) -> Result<()>) -> Result<bool> {
        // Limits count characters from the start, and without sync points the document is counted as a whole.
        let size = file.size();
        if !self.limits.is_unlimited() || !self.pattern.has_sync_points() {
            return self.feed_file_in_parts(file, report);
        }
        let plan = plan(size);
        let threads = thread_count(self.threads, plan.batches.len());
        self.workers.resize_with(self.workers.len().max(threads), Worker::default);
        let (pattern, budget, document) = (&self.pattern, self.budget.as_ref(), self.totals.documents);
        let job = FileJob { file, pattern, budget, document, max_held_bytes: self.max_held_bytes };
        for_each_batch(&plan, &mut self.workers[..threads], &mut |done| report(done, size), |worker, block| {
            worker.count_block(&job, block as u64 * BLOCK_BYTES)
        })?;
        self.totals.documents += 1;
        self.totals.bytes += size;
        Ok(true)
    }

    fn feed_file_in_parts(&mut self, file: &SizedFile, report: &mut dyn FnMut(u64, u64) -> Result<()>) -> Result<bool> {
        let (mut offset, mut block) = (0, Block::default());
        loop {
            block = Block::read(file, offset, PART_BYTES, block)?;
            let end = offset + block.text().len() as u64;
            let more = self.feed_part(block.text(), end == file.size(), &mut |_| report(offset, file.size()))?;
            if !more || end == file.size() {
                return Ok(more);
            }
            offset = end;
        }
    }
}

/// One batch for each block; the spans are blocks, not pieces.
fn plan(size: u64) -> WorkPlan {
    let blocks = usize::try_from(size.div_ceil(BLOCK_BYTES)).unwrap_or(usize::MAX);
    let span = |block: usize| {
        let start = block as u64 * BLOCK_BYTES;
        let length = usize::try_from(BLOCK_BYTES.min(size - start)).unwrap_or(usize::MAX);
        Span { document: 0, range: 0..length, first: false, last: false }
    };
    WorkPlan {
        spans: (0..blocks).map(span).collect(),
        batches: (0..blocks).map(|block| block..block + 1).collect(),
        bytes: usize::try_from(size).unwrap_or(usize::MAX),
        is_slow: size > MAX_QUICK_BYTES,
    }
}

/// What the workers of one file share.
struct FileJob<'a> {
    file: &'a SizedFile,
    pattern: &'a Pattern,
    budget: Option<&'a Budget>,
    /// Index of the document in the corpus.
    document: u64,
    max_held_bytes: usize,
}

impl FileJob<'_> {
    /// The range of `buffer` to count, whose first byte is at `offset` of the file; `None` if the block of the file from
    /// `start` on has no sync point. Reads on as far as necessary.
    fn range(&self, buffer: &mut Vec<u8>, offset: u64, start: u64) -> Result<Option<Range<usize>>> {
        let (from, size) = ((start - offset) as usize, self.file.size());
        let until = from + BLOCK_BYTES.min(size - start) as usize;
        let first = match start {
            0 => Some(0),
            // The character at a sync point may end behind the block.
            _ => self.pattern.next_sync_point(&buffer[..buffer.len().min(until + MIN_VISIBLE_BYTES)], from),
        };
        let Some(first) = first.filter(|&first| first < until) else { return Ok(None) };
        let mut searched = until;
        loop {
            let at_end = offset + buffer.len() as u64 == size;
            let next = self.pattern.next_sync_point(buffer, searched);
            if at_end {
                return Ok(Some(first..next.unwrap_or(buffer.len())));
            }
            if let Some(next) = next.filter(|&next| next + MIN_VISIBLE_BYTES <= buffer.len()) {
                return Ok(Some(first..next));
            }
            if buffer.len() > self.max_held_bytes {
                return Err(Error::UndividedText { place: None, limit: self.max_held_bytes as u64 });
            }
            interrupt::check()?;
            // The last characters of the buffer may be incomplete.
            searched = searched.max(buffer.len().saturating_sub(2 * MIN_VISIBLE_BYTES));
            let more = buffer.len().min(self.max_held_bytes) / 2;
            self.file.append_to(buffer, offset + buffer.len() as u64, more)?;
        }
    }
}

impl Worker {
    /// Counts the pieces of the block that begins at `start`.
    fn count_block(&mut self, job: &FileJob<'_>, start: u64) -> Result<()> {
        let offset = start.saturating_sub(BEFORE_BYTES);
        let mut buffer = std::mem::take(&mut self.block);
        let length = (start - offset) as usize + BLOCK_BYTES as usize + BEHIND_BYTES;
        job.file.read_into(&mut buffer, offset, length)?;
        if let Some(range) = job.range(&mut buffer, offset, start)? {
            self.count(job.pattern, &buffer, range.clone(), job.budget)?;
            let whole = start == 0 && range.end as u64 == job.file.size();
            self.check_utf8(&buffer, range, (job.document, offset), whole);
        }
        if buffer.capacity() <= 4 * BLOCK_BYTES as usize {
            self.block = buffer;
        }
        Ok(())
    }
}

/// Bytes that are hashed at a time.
const HASH_BYTES: usize = 1 << 20;
/// How far hashing may be ahead of counting, so that both use the same pages of the page cache.
const MAX_HASH_LEAD_BYTES: u64 = 32 << 20;
/// Values of the position of counting: the whole file was counted, or counting ended before.
const ALL_COUNTED: u64 = u64::MAX - 1;
const STOPPED: u64 = u64::MAX;

/// The sha256 of `file`, which is counted up to `counted`.
fn hash_beside(file: &SizedFile, counted: &AtomicU64) -> Result<Digest> {
    let (mut hash, mut block, mut done) = (Sha256::new(), Vec::new(), 0);
    while done < file.size() {
        while done > counted.load(Ordering::Relaxed).saturating_add(MAX_HASH_LEAD_BYTES) {
            std::thread::sleep(Duration::from_micros(200));
        }
        if counted.load(Ordering::Relaxed) == STOPPED {
            break;
        }
        file.read_into(&mut block, done, HASH_BYTES)?;
        hash.update(&block);
        done += block.len() as u64;
    }
    Ok(hash.finalize().into())
}
