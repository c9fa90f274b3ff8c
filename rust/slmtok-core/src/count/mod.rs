//! Counting: documents in, `(piece, how often)` out. That is all that training needs of a corpus.
//!
//! Each thread counts into a table of its own; tables are added up at the end. The result depends on the documents alone,
//! not on threads, not on their order, not on the calls in which they came.

mod cap;
mod table;

pub use cap::{Cap, Limits, chars};
use table::CHUNK;
pub use table::CountTable;

use crate::mapped::{Document, MappedFile};
use crate::pretoken::{Gaps, Pattern, Scanner, invalid_bytes};
use crate::work::{Plan, Report, run, thread_count};
use crate::{Error, Result};

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

/// Distinct pieces with their counts, and what else was seen.
pub struct Counts {
    /// The pattern that cut the pieces.
    pub pattern: Pattern,
    /// Sums over the corpus.
    pub totals: Totals,
    table: CountTable,
}

impl Counts {
    /// Counts that were made elsewhere; repeated pieces add up, empty ones are ignored.
    ///
    /// # Errors
    /// A count that exceeds 64 bits.
    pub fn from_items<'a>(
        pattern: Pattern,
        items: impl IntoIterator<Item = (&'a [u8], u64)>,
        documents: u64,
        bytes: u64,
    ) -> Result<Self> {
        let (mut table, mut pieces) = (CountTable::default(), 0u64);
        for (piece, count) in items {
            if !piece.is_empty() && count > 0 {
                table.add(piece, count)?;
                pieces = pieces.checked_add(count).ok_or(Error::CountOverflow { what: "the number of pieces" })?;
            }
        }
        Ok(Self { pattern, totals: Totals { documents, bytes, pieces, ..Totals::default() }, table })
    }

    /// Distinct pieces.
    #[must_use]
    pub fn distinct(&self) -> usize {
        self.table.distinct()
    }

    /// Calls `visit` with every piece and its count, in no particular order.
    pub fn for_each(&self, visit: impl FnMut(&[u8], u64)) {
        self.table.for_each(visit);
    }

    /// All pieces, sorted by their bytes.
    #[must_use]
    pub fn sorted(&self) -> Vec<(Vec<u8>, u64)> {
        let mut items = Vec::with_capacity(self.distinct());
        self.for_each(|piece, count| items.push((piece.to_vec(), count)));
        items.sort_unstable();
        items
    }

    /// The counts as bytes, the same for the same counts: for each piece, in order, its length as u32, its bytes, its count
    /// as u64, little-endian. What a digest of the counts is taken over.
    #[must_use]
    pub fn canonical(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (piece, count) in self.sorted() {
            out.extend((piece.len() as u32).to_le_bytes());
            out.extend(piece);
            out.extend(count.to_le_bytes());
        }
        out
    }
}

/// One thread's share.
struct Worker {
    ends: Box<[usize; CHUNK]>,
    table: CountTable,
    scanner: Option<Box<dyn Scanner>>,
    pieces: u64,
    invalid: Vec<(u64, u64, u64)>,
}

impl Default for Worker {
    fn default() -> Self {
        let table = CountTable::default();
        Self { ends: Box::new([0; CHUNK]), table, scanner: None, pieces: 0, invalid: Vec::new() }
    }
}

impl Worker {
    fn count(&mut self, pattern: &Pattern, text: &[u8], range: std::ops::Range<usize>) -> Result<()> {
        let scanner = self.scanner.get_or_insert_with(|| pattern.scanner());
        let mut at = range.start;
        while at < range.end {
            let filled = scanner.fill(text, at, &mut self.ends[..])?;
            // The range ends at the start of a piece, so no piece straddles it.
            let mine = self.ends[..filled].partition_point(|&end| end <= range.end);
            self.table.add_chunk(text, at, &self.ends[..mine])?;
            self.pieces += mine as u64;
            let Some(&end) = self.ends[..mine].last() else { break };
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
    workers: Vec<Worker>,
    totals: Totals,
}

impl Counter {
    /// A counter for `pattern` on `threads` threads (0: all).
    #[must_use]
    pub fn new(pattern: Pattern, threads: usize, limits: Limits) -> Self {
        Self { pattern, threads, limits, workers: Vec::new(), totals: Totals::default() }
    }

    /// Counts `documents`. Returns false once a limit on the corpus is reached: what follows is not counted.
    ///
    /// # Errors
    /// A custom pattern that gave up, a count that exceeds 64 bits, or what `report` returns.
    pub fn feed(&mut self, documents: &[&[u8]], report: Report<'_>) -> Result<bool> {
        let mut capped = Vec::new();
        let documents = if self.limits.none() {
            documents
        } else {
            capped.extend(documents.iter().map_while(|text| self.limits.admit(text, &mut self.totals.capped)));
            &capped
        };
        let plan = Plan::new(&self.pattern, documents);
        let threads = thread_count(self.threads, plan.batches.len());
        self.workers.resize_with(self.workers.len().max(threads), Worker::default);
        let (pattern, before) = (&self.pattern, self.totals.documents);
        run(&plan, &mut self.workers[..threads], report, |worker, batch| {
            for span in &plan.spans[plan.batches[batch].clone()] {
                let text = documents[span.document];
                worker.count(pattern, text, span.range.clone())?;
                let (invalid, first) = invalid_bytes(&text[span.range.clone()]);
                if let Some(first) = first {
                    let document = before + span.document as u64;
                    worker.invalid.push((document, (span.range.start + first) as u64, invalid));
                }
            }
            Ok(())
        })?;
        self.totals.documents += documents.len() as u64;
        self.totals.bytes += plan.bytes as u64;
        Ok(!self.limits.reached())
    }

    /// Counts the documents of a file, some at a time. `report` is called with (bytes done, bytes in all).
    ///
    /// # Errors
    /// See [`Counter::feed`].
    pub fn feed_file(
        &mut self,
        file: &MappedFile,
        unit: Document,
        report: &mut dyn FnMut(u64, u64) -> Result<()>,
    ) -> Result<bool> {
        let (mut before, total) = (0, file.bytes().len() as u64);
        for documents in file.portions(unit) {
            if !self.feed(&documents, &mut |done| report(before + done, total))? {
                return Ok(false);
            }
            before += documents.iter().map(|text| text.len() as u64).sum::<u64>();
        }
        Ok(true)
    }

    /// Adds up what all threads counted.
    ///
    /// # Errors
    /// A count that exceeds 64 bits.
    pub fn finish(mut self) -> Result<Counts> {
        let mut workers = std::mem::take(&mut self.workers).into_iter();
        let mut all = workers.next().unwrap_or_default();
        let mut gaps = all.scanner.as_ref().map_or(Gaps::default(), |scanner| scanner.gaps());
        for worker in workers {
            all.table.absorb(&worker.table)?;
            all.pieces += worker.pieces;
            all.invalid.extend(worker.invalid);
            let more = worker.scanner.as_ref().map_or(Gaps::default(), |scanner| scanner.gaps());
            gaps = Gaps { pieces: gaps.pieces + more.pieces, bytes: gaps.bytes + more.bytes };
        }
        all.invalid.sort_unstable();
        let mut totals = Totals { pieces: all.pieces, gaps, ..self.totals };
        totals.invalid_bytes = all.invalid.iter().map(|(_, _, bytes)| bytes).sum();
        totals.first_invalid = all.invalid.first().map(|&(document, offset, _)| (document, offset));
        all.invalid.dedup_by_key(|(document, _, _)| *document);
        totals.invalid_documents = all.invalid.len() as u64;
        Ok(Counts { pattern: self.pattern, totals, table: all.table })
    }
}
