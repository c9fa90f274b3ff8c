//! Counting one document in parts that arrive one after another.
//!
//! Text is counted up to a sync point near its end; the rest waits for the next part. A sync point begins a piece whatever
//! precedes it, and a worker reads beyond its span, so the pieces are those of the whole document. For a pattern without sync
//! points the whole document is buffered.

use super::Counter;
use super::limits::{Limits, Truncation};
use crate::mem::try_reserve_huge;
use crate::parallel::{ReportProgress, WorkPlan};
use crate::utf8::count_chars;
use crate::{Error, Result};

/// Buffered bytes that start a round of counting: enough work for every thread.
const MIN_ROUND_BYTES: usize = 8 << 20;
/// Bytes of a batch; small, because all threads wait for the last batch of a round.
const BATCH_BYTES: usize = 1 << 18;

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
    pub fn feed_part(&mut self, text: &[u8], last: bool, report: ReportProgress<'_>) -> Result<bool> {
        if self.limits.is_reached() {
            self.stream = DocumentStream::default();
            return Ok(false);
        }
        try_reserve_huge(&mut self.stream.text, text.len())?;
        self.stream.text.extend_from_slice(text);
        let length = self.stream.text.len();
        if last {
            self.count_part(length, true, report)?;
            self.stream = DocumentStream::default();
        } else if length >= MIN_ROUND_BYTES.max(self.stream.searched + self.stream.searched / 4) {
            match self.pattern.last_sync_point(&self.stream.text) {
                Some(end) => self.count_part(end, false, report)?,
                None if length > self.max_held_bytes => return Err(self.too_large()),
                None => self.stream.searched = length,
            }
        }
        Ok(!self.limits.is_reached())
    }

    /// Counts the pieces that start in the first `length` bytes, and drops these bytes.
    fn count_part(&mut self, length: usize, last: bool, report: ReportProgress<'_>) -> Result<()> {
        let text = std::mem::take(&mut self.stream.text);
        let kept = self.take_part(&text[..length]);
        // If a limit cuts the document here, the pieces must not depend on the text after the cut.
        let visible = if last || kept < length { &text[..kept] } else { &text[..] };
        let first = (self.totals.documents - 1, self.stream.offset);
        if kept > 0 {
            let (begins, ends) = (self.stream.offset == 0, last && kept == length);
            let plan = WorkPlan::for_part(&self.pattern, visible, kept, begins, ends, BATCH_BYTES);
            self.count(&plan, &[visible], first, report)?;
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

    pub(super) fn too_large(&self) -> Error {
        Error::UndividedText { place: None, limit: self.max_held_bytes as u64 }
    }
}
