//! Counting: documents in, `(piece, count)` out.
//!
//! Each thread counts into a table of its own. The tables are sorted and merged at the end, and spilled to disk in between if
//! memory is bounded. The result depends only on the documents: not on threads, their order, the division into calls, or the
//! budget.

mod counts;
pub mod counts_file;
mod document_stream;
mod file;
mod front_coding;
mod limits;
mod shared;
mod sorted;
mod spill;
mod table;

pub use counts::Counts;
pub use limits::{Limits, Truncation};
pub use shared::{SharedCounter, Unusable};
pub use spill::{Budget, SpillStats};
pub use table::CountTable;

use std::ops::Range;

use crate::Result;
use crate::cache::hash::KEY_BATCH_LEN;
use crate::corpus::Documents;
use crate::parallel::{ReportProgress, WorkPlan, available_threads, count_ends_up_to, for_each_batch, thread_count};
use crate::pretoken::{Gaps, Pattern, Scanner, invalid_bytes};
use crate::threads::spawn;
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
    /// Memory for a block of a file.
    block: Vec<u8>,
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
            block: Vec::new(),
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
            let own = count_ends_up_to(&self.ends[..filled], range.end);
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

    /// Records the ill-formed UTF-8 of `text` in `range`. `text` begins at `position`, (document, byte in it); `whole`: the
    /// range is the whole document.
    fn check_utf8(&mut self, text: &[u8], range: Range<usize>, position: (u64, u64), whole: bool) {
        let start = position.1 + range.start as u64;
        let (bytes, first) = invalid_bytes(&text[range]);
        if let Some(first) = first {
            self.invalid.record((position.0, start + first as u64), bytes, whole);
        }
    }
}

/// Counts the pieces of documents given in any number of calls.
pub struct Counter {
    pattern: Pattern,
    threads: usize,
    limits: Limits,
    /// Memory budget of each worker; `None` means unlimited.
    budget: Option<Budget>,
    /// Most bytes of a document that are held at once.
    max_held_bytes: usize,
    workers: Vec<Worker>,
    totals: Totals,
    stream: DocumentStream,
}

/// Most bytes of a document that are held at once without a memory budget.
const MAX_HELD_BYTES: usize = 1 << 30;
/// The same under any budget, at least.
const MIN_HELD_BYTES: usize = 1 << 20;

impl Counter {
    /// A counter for `pattern` on `threads` threads (0: all hardware threads).
    #[must_use]
    pub fn new(pattern: Pattern, threads: usize, limits: Limits) -> Self {
        Self {
            pattern,
            threads,
            limits,
            budget: None,
            max_held_bytes: MAX_HELD_BYTES,
            workers: Vec::new(),
            totals: Totals::default(),
            stream: DocumentStream::default(),
        }
    }

    /// Bounds the memory of the tables, and of text that no sync point divides: a document with more of it is an error. Otherwise
    /// the result does not change.
    #[must_use]
    pub fn with_budget(self, budget: &Budget) -> Self {
        // Threads beyond four per hardware thread rarely have work, so the budget is not divided further.
        let share = budget.share(thread_count(self.threads, 4 * available_threads()));
        let max_held_bytes = (share.bytes / 4).clamp(MIN_HELD_BYTES, MAX_HELD_BYTES);
        Self { budget: Some(share), max_held_bytes, ..self }
    }

    /// Counts `documents`. Returns false once the corpus limit is reached; later documents are ignored.
    ///
    /// # Errors
    /// A custom pattern that exceeds its limits, a document with too much text to hold at once, a count that exceeds 64 bits, a
    /// failure to write a temporary file, or an error of `report`.
    pub fn feed(&mut self, documents: &[&[u8]], report: ReportProgress<'_>) -> Result<bool> {
        let mut kept = Vec::new();
        let documents = if self.limits.is_unlimited() {
            documents
        } else {
            kept.extend(documents.iter().map_while(|text| self.limits.take(text, &mut self.totals.truncation)));
            &kept
        };
        let mut plan = WorkPlan::new(&self.pattern, documents);
        plan.is_slow |= self.pattern.is_custom();
        self.count(&plan, documents, (self.totals.documents, 0), report)?;
        self.totals.documents += documents.len() as u64;
        self.totals.bytes += plan.bytes as u64;
        Ok(!self.limits.is_reached())
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
    pub fn feed_batch(&mut self, batch: &Documents, report: ReportProgress<'_>) -> Result<bool> {
        if batch.continued > 0 || batch.partial {
            return self.feed_part(&batch.bytes, !batch.partial, report);
        }
        std::thread::scope(|scope| {
            if !batch.is_hashed() {
                // Digests that no thread computes are computed when they are needed.
                let _ = spawn(scope, || batch.digests());
            }
            self.feed(&batch.slices(), report)
        })
    }

    /// Counts the spans of `plan`. `first` is (index of the first document in the corpus, bytes of it counted by earlier
    /// calls).
    fn count(
        &mut self,
        plan: &WorkPlan,
        documents: &[&[u8]],
        first: (u64, u64),
        report: ReportProgress<'_>,
    ) -> Result<()> {
        let threads = thread_count(self.threads, plan.batches.len());
        self.workers.resize_with(self.workers.len().max(threads), Worker::default);
        let (pattern, budget) = (&self.pattern, self.budget.as_ref());
        for_each_batch(plan, &mut self.workers[..threads], report, |worker, batch| {
            let spans = &plan.spans[plan.batches[batch].clone()];
            for span in spans {
                let whole = span.first && span.last;
                let position = (first.0 + span.document as u64, first.1);
                worker.count(pattern, documents[span.document], span.range.clone(), budget)?;
                worker.check_utf8(documents[span.document], span.range.clone(), position, whole);
            }
            Ok(())
        })
    }

    /// Merges the counts of all threads.
    ///
    /// # Errors
    /// A count that exceeds 64 bits, a failure to write or read a temporary file, or an error of `report`, which receives
    /// the number of merged records.
    pub fn finish(mut self, report: ReportProgress<'_>) -> Result<Counts> {
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
