//! Counting: documents in, `(piece, how often)` out. That is all that training needs of a corpus.
//!
//! Each thread counts into a table of its own; tables are sorted and merged at the end, and where memory is bounded also on
//! the way. The result depends on the documents alone, not on threads, not on their order, not on the calls in which they
//! came, not on the bound.

mod counts;
pub mod counts_file;
mod document_stream;
mod invalid;
mod limits;
mod merge;
mod pieces;
mod record;
mod run;
mod scratch;
mod sorted;
mod spill;
mod table;
mod varint;

pub use counts::Counts;
pub use limits::{Cap, Limits, chars};
pub use spill::{Budget, Spills};
pub use table::CountTable;

use std::ops::Range;

use crate::Result;
use crate::cache::hash::KEY_BATCH_LEN;
use crate::mapped_file::{DocumentUnit, MappedFile};
use crate::parallel::{Report, WorkPlan, available_threads, pieces_within, run, thread_count};
use crate::pretoken::{Gaps, Pattern, Scanner, invalid_bytes};
use document_stream::Part;
use invalid::Invalid;
use spill::{Spilled, gather};

/// What was seen besides the pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Documents, empty ones included.
    pub documents: u64,
    /// Bytes that were counted, after caps.
    pub bytes: u64,
    /// Pieces, repeats included.
    pub pieces: u64,
    /// Bytes in no well-formed UTF-8 sequence.
    pub invalid_bytes: u64,
    /// Documents with such bytes.
    pub invalid_documents: u64,
    /// The first of them: (document, byte in it).
    pub first_invalid: Option<(u64, u64)>,
    /// What the pattern did not match.
    pub gaps: Gaps,
    /// Documents shortened by the cap, and the bytes left out of them.
    pub capped: Cap,
}

/// One thread's share.
struct Worker {
    ends: Box<[usize; KEY_BATCH_LEN]>,
    table: CountTable,
    scanner: Option<Box<dyn Scanner>>,
    spilled: Spilled,
    pieces: u64,
    invalid: Invalid,
}

impl Default for Worker {
    fn default() -> Self {
        Self {
            ends: Box::new([0; KEY_BATCH_LEN]),
            table: CountTable::default(),
            scanner: None,
            spilled: Spilled::default(),
            pieces: 0,
            invalid: Invalid::default(),
        }
    }
}

impl Worker {
    /// Counts the pieces of `text` that start in `range`; `share` is what the table may take.
    fn count(&mut self, pattern: &Pattern, text: &[u8], range: Range<usize>, share: Option<&Budget>) -> Result<()> {
        let scanner = self.scanner.get_or_insert_with(|| pattern.scanner());
        let mut at = range.start;
        while at < range.end {
            let filled = scanner.fill(text, at, &mut self.ends[..])?;
            let mine = pieces_within(&self.ends[..filled], range.end);
            let Some(&end) = self.ends[..mine].last() else { break };
            if let Some(share) = share {
                self.spilled.make_room(&mut self.table, share, mine, end - at)?;
            }
            self.table.add_chunk(text, at, &self.ends[..mine])?;
            self.pieces += mine as u64;
            at = end;
        }
        Ok(())
    }
}

/// Counts documents that arrive in any number of calls.
pub struct Counter {
    pattern: Pattern,
    threads: usize,
    limits: Limits,
    /// What the table of each worker may take; `None` is all that there is.
    share: Option<Budget>,
    workers: Vec<Worker>,
    totals: Totals,
    part: Part,
}

impl Counter {
    /// A counter for `pattern` on `threads` threads (0: all).
    #[must_use]
    pub fn new(pattern: Pattern, threads: usize, limits: Limits) -> Self {
        let part = Part::default();
        Self { pattern, threads, limits, share: None, workers: Vec::new(), totals: Totals::default(), part }
    }

    /// The same with tables that take no more memory than `budget`, which does not change the result.
    #[must_use]
    pub fn within(self, budget: &Budget) -> Self {
        // More threads than the machine has share its memory no further: few of them ever have work.
        let share = budget.share(thread_count(self.threads, 4 * available_threads()));
        Self { share: Some(share), ..self }
    }

    /// Counts `documents`. Returns false once a limit on the corpus is reached: what follows is not counted.
    ///
    /// # Errors
    /// A custom pattern that gave up, a count that exceeds 64 bits, a temporary file that cannot be written, or what
    /// `report` returns.
    pub fn feed(&mut self, documents: &[&[u8]], report: Report<'_>) -> Result<bool> {
        self.feed_from(None, documents, report)
    }

    /// Counts the documents of a file, some at a time. `report` is called with (bytes done, bytes in all).
    ///
    /// # Errors
    /// See [`Counter::feed`].
    pub fn feed_file(
        &mut self,
        file: &MappedFile,
        unit: DocumentUnit,
        report: &mut dyn FnMut(u64, u64) -> Result<()>,
    ) -> Result<bool> {
        let (mut before, total) = (0, file.bytes().len() as u64);
        if unit == DocumentUnit::File {
            return self.feed_mapped(file, file.bytes(), &mut |done| report(done, total));
        }
        for documents in file.batches(unit) {
            if !self.feed_from(Some(file), &documents, &mut |done| report(before + done, total))? {
                return Ok(false);
            }
            before += documents.iter().map(|text| text.len() as u64).sum::<u64>();
        }
        Ok(true)
    }

    fn feed_from(&mut self, file: Option<&MappedFile>, documents: &[&[u8]], report: Report<'_>) -> Result<bool> {
        let mut capped = Vec::new();
        let documents = if self.limits.none() {
            documents
        } else {
            capped.extend(documents.iter().map_while(|text| self.limits.admit(text, &mut self.totals.capped)));
            &capped
        };
        let plan = WorkPlan::new(&self.pattern, documents);
        self.count(&plan, documents, file, (self.totals.documents, 0), report)?;
        self.totals.documents += documents.len() as u64;
        self.totals.bytes += plan.bytes as u64;
        Ok(!self.limits.reached())
    }

    /// Counts what `plan` covers. The first of the documents is number `first.0` of the corpus, and `first.1` bytes of it
    /// came before. They lie in `file`, whose pages are let go behind the workers.
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
        let (pattern, share) = (&self.pattern, self.share.as_ref());
        run(plan, &mut self.workers[..threads], report, |worker, batch| {
            let spans = &plan.spans[plan.batches[batch].clone()];
            for span in spans {
                let text = documents[span.document];
                worker.count(pattern, text, span.range.clone(), share)?;
                let (bytes, bad) = invalid_bytes(&text[span.range.clone()]);
                if let Some(bad) = bad {
                    let place = (first.0 + span.document as u64, first.1 + (span.range.start + bad) as u64);
                    worker.invalid.note(place, bytes, span.first() && span.last && first.1 == 0);
                }
            }
            if let (Some(file), Some(from), Some(to)) = (file, spans.first(), spans.last()) {
                let place = |document: usize, at: usize| documents[document].as_ptr() as usize + at;
                file.release(place(from.document, from.range.start)..place(to.document, to.range.end));
            }
            Ok(())
        })
    }

    /// Adds up what all threads counted.
    ///
    /// # Errors
    /// A count that exceeds 64 bits, a temporary file that cannot be written or read back, or what `report` returns, which
    /// is called with a number that rises.
    pub fn finish(mut self, report: Report<'_>) -> Result<Counts> {
        let mut workers = std::mem::take(&mut self.workers);
        workers.resize_with(workers.len().max(1), Worker::default);
        let (mut totals, mut invalid, mut shares) = (self.totals, Invalid::default(), Vec::new());
        for worker in workers {
            let gaps = worker.scanner.as_ref().map_or(Gaps::default(), |scanner| scanner.gaps());
            totals.gaps.pieces += gaps.pieces;
            totals.gaps.bytes += gaps.bytes;
            totals.pieces += worker.pieces;
            invalid.absorb(worker.invalid);
            shares.push((worker.table, worker.spilled));
        }
        (totals.invalid_bytes, totals.first_invalid) = (invalid.bytes, invalid.first);
        totals.invalid_documents = invalid.documents();
        let (pieces, spills) = gather(shares, self.share.as_ref().map(|share| share.folder.as_path()), report)?;
        Ok(Counts { pattern: self.pattern, totals, spills, pieces })
    }
}
