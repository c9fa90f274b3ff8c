//! Counting one document in parts: a stream, or a mapped file in windows.
//!
//! Text is counted up to a sync point near its end; the rest waits for the next part. A sync point begins a piece whatever
//! precedes it, and a worker reads beyond its span, so the pieces are those of the whole document. For a pattern without sync
//! points the whole document is buffered.

use super::Counter;
use super::limits::{Limits, Truncation};
use crate::Result;
use crate::mapped_file::MappedFile;
use crate::parallel::{Report, Span, WorkPlan};
use crate::utf8::count_chars;

/// Buffered bytes that start a round of counting: enough work for every thread.
const MIN_ROUND_BYTES: usize = 8 << 20;
/// Distance from the end at which the search for a sync point starts.
const SYNC_SEARCH_BYTES: usize = 1 << 16;
/// Bytes of a batch; small, because all threads wait for the last batch of a round.
const BATCH_BYTES: usize = 1 << 18;
/// Bytes of a mapped document per round. Planning a round touches every batch and so maps its pages.
const WINDOW_BYTES: usize = 16 << 20;

/// The document that is being received.
#[derive(Default)]
pub(super) struct DocumentStream {
    /// Received and not yet counted.
    text: Vec<u8>,
    /// Bytes of the document before `text`.
    offset: u64,
    /// Whether the document is in the totals already.
    begun: bool,
    /// Characters of the document that may still be counted.
    chars_left: Option<u64>,
    truncated: bool,
    /// Length of `text` in which no sync point was found.
    searched: usize,
}

impl Counter {
    /// Counts the next part of a document; `last` ends the document. Returns as [`Counter::feed`].
    ///
    /// # Errors
    /// See [`Counter::feed`].
    pub fn feed_part(&mut self, text: &[u8], last: bool, report: Report<'_>) -> Result<bool> {
        if self.limits.is_reached() {
            self.stream = DocumentStream::default();
            return Ok(false);
        }
        self.stream.text.extend_from_slice(text);
        let length = self.stream.text.len();
        if last {
            self.count_part(length, true, report)?;
            self.stream = DocumentStream::default();
        } else if length >= MIN_ROUND_BYTES.max(2 * self.stream.searched) {
            match self.last_sync_point() {
                Some(end) => self.count_part(end, false, report)?,
                None => self.stream.searched = length,
            }
        }
        Ok(!self.limits.is_reached())
    }

    /// A sync point near the end of the buffered text.
    fn last_sync_point(&self) -> Option<usize> {
        let text = &self.stream.text;
        let distances = [SYNC_SEARCH_BYTES, 16 * SYNC_SEARCH_BYTES, text.len()];
        distances.iter().find_map(|&far| self.pattern.next_sync_point(text, text.len().saturating_sub(far)))
    }

    /// Counts the pieces that start in the first `length` bytes, and drops these bytes.
    fn count_part(&mut self, length: usize, last: bool, report: Report<'_>) -> Result<()> {
        let text = std::mem::take(&mut self.stream.text);
        let kept = self.take_part(&text[..length]);
        // If a limit cuts the document here, the pieces must not depend on the text after the cut.
        let visible = if last || kept < length { &text[..kept] } else { &text[..] };
        let first = (self.totals.documents - 1, self.stream.offset);
        if kept > 0 {
            self.count(&self.plan_part(visible, 0, kept), &[visible], None, first, report)?;
        }
        self.totals.bytes += kept as u64;
        self.stream.offset += length as u64;
        self.stream.searched = 0;
        self.stream.text = text;
        self.stream.text.drain(..length);
        Ok(())
    }

    /// Number of bytes of the next part that the limits allow.
    fn take_part(&mut self, text: &[u8]) -> usize {
        if !self.stream.begun {
            self.stream.begun = true;
            self.stream.chars_left = self.limits.max_doc_chars;
            self.totals.documents += 1;
        }
        if self.limits.is_unlimited() {
            return text.len();
        }
        let mut limits = Limits { max_doc_chars: self.stream.chars_left, ..self.limits.clone() };
        let mut truncation = Truncation::default();
        let kept = limits.take(text, &mut truncation).unwrap_or(&[]);
        self.stream.chars_left = self.stream.chars_left.map(|left| left.saturating_sub(count_chars(kept)));
        self.limits = Limits { max_doc_chars: self.limits.max_doc_chars, ..limits };
        self.totals.truncation.bytes += truncation.bytes;
        self.totals.truncation.documents += u64::from(truncation.documents > 0 && !self.stream.truncated);
        self.stream.truncated |= truncation.documents > 0;
        kept.len()
    }

    /// Counts the document `text` of `file`, in windows.
    pub(super) fn feed_mapped(&mut self, file: &MappedFile, text: &[u8], report: Report<'_>) -> Result<bool> {
        let Some(text) = self.limits.take(text, &mut self.totals.truncation) else { return Ok(false) };
        let mut start = 0;
        while start < text.len() {
            let next = self.pattern.next_sync_point(text, start.saturating_add(WINDOW_BYTES));
            let plan = self.plan_part(text, start, next.unwrap_or(text.len()));
            let first = (self.totals.documents, 0);
            self.count(&plan, &[text], Some(file), first, &mut |done| report(start as u64 + done))?;
            start = next.unwrap_or(text.len());
        }
        self.totals.documents += 1;
        self.totals.bytes += text.len() as u64;
        Ok(!self.limits.is_reached())
    }

    /// The plan for the pieces of `text` that start in `from..until`; both are sync points or ends of the text.
    fn plan_part(&self, text: &[u8], from: usize, until: usize) -> WorkPlan {
        let mut plan = WorkPlan { spans: Vec::new(), batches: Vec::new(), bytes: until - from };
        let mut start = from;
        while start < until {
            let next = self.pattern.next_sync_point(text, start + BATCH_BYTES).filter(|&next| next < until);
            let end = next.unwrap_or(until);
            plan.batches.push(plan.spans.len()..plan.spans.len() + 1);
            plan.spans.push(Span { document: 0, range: start..end, last: end == text.len() });
            start = end;
        }
        plan
    }
}
