//! Counting: documents in, `(piece, count)` out.
//!
//! Each thread counts into a table of its own. The tables are sorted and merged at the end, and spilled to disk in between if
//! memory is bounded. The result depends only on the documents: not on threads, their order, the division into calls, or the
//! budget.

mod counts;
pub mod counts_file;
mod document_stream;
mod front_coding;
mod limits;
mod sorted;
mod spill;
mod table;

pub use counts::Counts;
pub use limits::{Limits, Truncation};
pub use spill::{Budget, SpillStats};
pub use table::CountTable;

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::cache::hash::KEY_BATCH_LEN;
use crate::corpus::{Digest, Documents};
use crate::mapped_file::{DocumentUnit, MappedFile};
use crate::parallel::{Report, WorkPlan, available_threads, for_each_batch, pieces_within, thread_count};
use crate::pretoken::{Gaps, Pattern, Scanner, invalid_bytes};
use crate::{Error, Result};
use document_stream::DocumentStream;
use spill::{SortedRuns, merge_workers};

/// Totals of a corpus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Documents, including empty ones.
    pub documents: u64,
    /// Counted bytes, after truncation.
    pub bytes: u64,
    /// Occurrences of pieces.
    pub pieces: u64,
    /// Bytes outside well-formed UTF-8 sequences.
    pub invalid_bytes: u64,
    /// Documents with such bytes.
    pub invalid_documents: u64,
    /// Position of the first such byte: (document, byte in it).
    pub first_invalid: Option<(u64, u64)>,
    /// Text that the pattern did not match.
    pub gaps: Gaps,
    /// Text that the limit on document length cut off.
    pub truncation: Truncation,
}

/// Ill-formed UTF-8 found by one worker. Memory does not grow with the number of documents.
#[derive(Default)]
struct InvalidUtf8 {
    bytes: u64,
    /// (document, byte in it).
    first: Option<(u64, u64)>,
    /// Affected documents that one span covered completely.
    whole_documents: u64,
    /// Documents of affected partial spans, with repeats.
    partial_documents: Vec<u64>,
}

impl InvalidUtf8 {
    /// Records `bytes` invalid bytes of a span, the first at `position`. `whole`: the span covers its document.
    fn record(&mut self, position: (u64, u64), bytes: u64, whole: bool) {
        self.bytes += bytes;
        self.first = Some(self.first.map_or(position, |first| first.min(position)));
        match whole {
            true => self.whole_documents += 1,
            false => self.partial_documents.push(position.0),
        }
    }

    fn merge(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.first = self.first.into_iter().chain(other.first).min();
        self.whole_documents += other.whole_documents;
        self.partial_documents.extend(other.partial_documents);
    }

    /// Number of affected documents.
    fn into_documents(mut self) -> u64 {
        self.partial_documents.sort_unstable();
        self.partial_documents.dedup();
        self.whole_documents + self.partial_documents.len() as u64
    }
}

/// The state of one thread.
struct Worker {
    ends: Box<[usize; KEY_BATCH_LEN]>,
    table: CountTable,
    scanner: Option<Box<dyn Scanner>>,
    runs: SortedRuns,
    pieces: u64,
    invalid: InvalidUtf8,
}

impl Default for Worker {
    fn default() -> Self {
        Self {
            ends: Box::new([0; KEY_BATCH_LEN]),
            table: CountTable::default(),
            scanner: None,
            runs: SortedRuns::default(),
            pieces: 0,
            invalid: InvalidUtf8::default(),
        }
    }
}

impl Worker {
    /// Counts the pieces of `text` that start in `range`, within `budget`.
    fn count(&mut self, pattern: &Pattern, text: &[u8], range: Range<usize>, budget: Option<&Budget>) -> Result<()> {
        let scanner = self.scanner.get_or_insert_with(|| pattern.scanner());
        let mut at = range.start;
        while at < range.end {
            let filled = scanner.fill(text, at, &mut self.ends[..])?;
            let own = pieces_within(&self.ends[..filled], range.end);
            let Some(&end) = self.ends[..own].last() else { break };
            if let Some(budget) = budget {
                self.runs.reserve(&mut self.table, budget, own, end - at)?;
            }
            self.table.add_batch(text, at, &self.ends[..own])?;
            self.pieces += own as u64;
            at = end;
        }
        Ok(())
    }
}

/// Counts the pieces of documents given in any number of calls.
pub struct Counter {
    pattern: Pattern,
    threads: usize,
    limits: Limits,
    /// Memory budget of each worker; `None` means unlimited.
    budget: Option<Budget>,
    workers: Vec<Worker>,
    totals: Totals,
    stream: DocumentStream,
}

impl Counter {
    /// A counter for `pattern` on `threads` threads (0: all hardware threads).
    #[must_use]
    pub fn new(pattern: Pattern, threads: usize, limits: Limits) -> Self {
        let (workers, totals, stream) = (Vec::new(), Totals::default(), DocumentStream::default());
        Self { pattern, threads, limits, budget: None, workers, totals, stream }
    }

    /// Bounds the memory of the tables. The result does not change.
    #[must_use]
    pub fn within(self, budget: &Budget) -> Self {
        // Threads beyond four per hardware thread rarely have work, so the budget is not divided further.
        let share = budget.share(thread_count(self.threads, 4 * available_threads()));
        Self { budget: Some(share), ..self }
    }

    /// Counts `documents`. Returns false once the corpus limit is reached; later documents are ignored.
    ///
    /// # Errors
    /// A custom pattern that exceeds its backtracking limit, a count that exceeds 64 bits, a failure to write a temporary
    /// file, or an error of `report`.
    pub fn feed(&mut self, documents: &[&[u8]], report: Report<'_>) -> Result<bool> {
        self.feed_from(None, documents, report)
    }

    /// Documents that have been counted.
    #[must_use]
    pub fn documents(&self) -> u64 {
        self.totals.documents
    }

    /// Counts a batch of a corpus, which may be a part of one document; another thread hashes its documents meanwhile.
    ///
    /// # Errors
    /// See [`Counter::feed`].
    pub fn feed_batch(&mut self, batch: &Documents, report: Report<'_>) -> Result<bool> {
        if batch.continued > 0 || batch.partial {
            return self.feed_part(&batch.bytes, !batch.partial, report);
        }
        std::thread::scope(|scope| {
            if !batch.is_hashed() {
                scope.spawn(|| batch.digests());
            }
            self.feed(&batch.slices(), report)
        })
    }

    /// Counts a file that is one document; another thread computes its sha256 meanwhile. The digest is
    /// undefined if a limit ends the corpus.
    ///
    /// # Errors
    /// See [`Counter::feed`].
    pub fn feed_hashed(
        &mut self,
        path: &str,
        report: &mut dyn FnMut(u64, u64) -> Result<()>,
    ) -> Result<(bool, Digest)> {
        let file = MappedFile::open(path)?;
        let counted = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let digest = scope.spawn(|| hash_beside(path, &counted));
            let more = self.feed_file(&file, DocumentUnit::File, &mut |done, total| {
                counted.store(usize::try_from(done).unwrap_or(ALL_COUNTED), Ordering::Relaxed);
                report(done, total)
            });
            counted.store(if matches!(more, Ok(true)) { ALL_COUNTED } else { STOPPED }, Ordering::Relaxed);
            let digest = digest.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok((more?, digest?))
        })
    }

    /// Counts the documents of a file in batches. `report` receives (bytes done, total bytes).
    ///
    /// # Errors
    /// See [`Counter::feed`].
    pub fn feed_file(
        &mut self,
        file: &MappedFile,
        unit: DocumentUnit,
        report: &mut dyn FnMut(u64, u64) -> Result<()>,
    ) -> Result<bool> {
        let (mut done_before, total) = (0, file.bytes().len() as u64);
        if unit == DocumentUnit::File {
            return self.feed_mapped(file, file.bytes(), &mut |done| report(done, total));
        }
        for documents in file.batches(unit) {
            if !self.feed_from(Some(file), &documents, &mut |done| report(done_before + done, total))? {
                return Ok(false);
            }
            done_before += documents.iter().map(|text| text.len() as u64).sum::<u64>();
        }
        Ok(true)
    }

    fn feed_from(&mut self, file: Option<&MappedFile>, documents: &[&[u8]], report: Report<'_>) -> Result<bool> {
        let mut kept = Vec::new();
        let documents = if self.limits.is_unlimited() {
            documents
        } else {
            kept.extend(documents.iter().map_while(|text| self.limits.take(text, &mut self.totals.truncation)));
            &kept
        };
        let plan = WorkPlan::new(&self.pattern, documents);
        self.count(&plan, documents, file, (self.totals.documents, 0), report)?;
        self.totals.documents += documents.len() as u64;
        self.totals.bytes += plan.bytes as u64;
        Ok(!self.limits.is_reached())
    }

    /// Counts the spans of `plan`. `first` is (index of the first document in the corpus, bytes of it counted by earlier
    /// calls). Pages of `file`, which contains the documents, are released after use.
    fn count(
        &mut self,
        plan: &WorkPlan,
        documents: &[&[u8]],
        file: Option<&MappedFile>,
        first: (u64, u64),
        report: Report<'_>,
    ) -> Result<()> {
        let threads = thread_count(self.threads, plan.batches.len());
        self.workers.resize_with(self.workers.len().max(threads), Worker::default);
        let (pattern, budget) = (&self.pattern, self.budget.as_ref());
        for_each_batch(plan, &mut self.workers[..threads], report, |worker, batch| {
            let spans = &plan.spans[plan.batches[batch].clone()];
            for span in spans {
                let text = documents[span.document];
                worker.count(pattern, text, span.range.clone(), budget)?;
                let (bytes, first_bad) = invalid_bytes(&text[span.range.clone()]);
                if let Some(bad) = first_bad {
                    let position = (first.0 + span.document as u64, first.1 + (span.range.start + bad) as u64);
                    worker.invalid.record(position, bytes, span.first() && span.last && first.1 == 0);
                }
            }
            if let (Some(file), Some(from), Some(to)) = (file, spans.first(), spans.last()) {
                let address = |document: usize, at: usize| documents[document].as_ptr() as usize + at;
                file.release(address(from.document, from.range.start)..address(to.document, to.range.end));
            }
            Ok(())
        })
    }

    /// Merges the counts of all threads.
    ///
    /// # Errors
    /// A count that exceeds 64 bits, a failure to write or read a temporary file, or an error of `report`, which receives
    /// the number of merged records.
    pub fn finish(mut self, report: Report<'_>) -> Result<Counts> {
        let mut workers = std::mem::take(&mut self.workers);
        workers.resize_with(workers.len().max(1), Worker::default);
        let (mut totals, mut invalid, mut tables) = (self.totals, InvalidUtf8::default(), Vec::new());
        for worker in workers {
            let gaps = worker.scanner.as_ref().map_or(Gaps::default(), |scanner| scanner.gaps());
            totals.gaps.pieces += gaps.pieces;
            totals.gaps.bytes += gaps.bytes;
            totals.pieces += worker.pieces;
            invalid.merge(worker.invalid);
            tables.push((worker.table, worker.runs));
        }
        (totals.invalid_bytes, totals.first_invalid) = (invalid.bytes, invalid.first);
        totals.invalid_documents = invalid.into_documents();
        let (pieces, spills) =
            merge_workers(tables, self.budget.as_ref().map(|budget| budget.folder.as_path()), report)?;
        Ok(Counts { pattern: self.pattern, totals, spills, pieces })
    }
}

/// Bytes that are hashed at a time.
const HASH_BYTES: usize = 1 << 20;
/// How far hashing may be ahead of counting, so that both use the same pages of the page cache.
const MAX_HASH_LEAD_BYTES: usize = 32 << 20;
/// Values of the position of counting: the whole file was counted, or counting ended before.
const ALL_COUNTED: usize = usize::MAX - 1;
const STOPPED: usize = usize::MAX;

/// The sha256 of the file at `path`, which is counted up to `counted`. It reads the page cache: faults on the mapping would
/// contend with those of the counting threads.
fn hash_beside(path: &str, counted: &AtomicUsize) -> Result<Digest> {
    let fail = |error: std::io::Error| Error::io(path, "read", &error);
    let mut file = File::open(path).map_err(fail)?;
    let (mut hash, mut block, mut done) = (Sha256::new(), vec![0; HASH_BYTES], 0);
    loop {
        while done > counted.load(Ordering::Relaxed).saturating_add(MAX_HASH_LEAD_BYTES) {
            std::thread::sleep(Duration::from_micros(200));
        }
        if counted.load(Ordering::Relaxed) == STOPPED {
            break;
        }
        match file.read(&mut block) {
            Ok(0) => break,
            Ok(size) => {
                hash.update(&block[..size]);
                done += size;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(fail(error)),
        }
    }
    Ok(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_spans_of_one_document_count_once() {
        let (mut one, mut other) = (InvalidUtf8::default(), InvalidUtf8::default());
        one.record((3, 9), 2, false);
        one.record((5, 0), 1, true);
        other.record((3, 4), 7, false);
        other.record((4, 1), 1, false);
        one.merge(other);
        assert_eq!((one.bytes, one.first), (11, Some((3, 4))));
        assert_eq!(one.into_documents(), 3);
    }
}
