//! One document of any length, in parts: a stream that nobody can map, or a file that is mapped a window at a time.
//!
//! What has come is counted up to a certain start of a piece near its end; the rest waits for more. Such a start begins a
//! piece whatever stands to its left, and the pieces before it are those of the whole document, since a worker sees what
//! follows them. A pattern without certain starts waits for the end of the document, which is held in memory then.

use super::Counter;
use super::limits::{Cap, Limits, chars};
use crate::Result;
use crate::mapped_file::MappedFile;
use crate::parallel::{Report, Span, WorkPlan};

/// Bytes that are worth counting: some for each thread.
pub(super) const ENOUGH: usize = 8 << 20;
/// How far before the end a start is looked for first.
const NEAR: usize = 1 << 16;
/// Bytes of one batch of work: few, for all threads wait for the last of them.
const BATCH: usize = 1 << 18;
/// Bytes of a mapped document that are shared out at once. To share out is to look at each batch, and where pages are
/// large in the system's cache that maps all of them.
const WINDOW: usize = 16 << 20;

/// What has come of the document, and has not been counted.
#[derive(Default)]
pub(super) struct Part {
    text: Vec<u8>,
    /// Bytes of the document before `text`.
    before: u64,
    /// Whether something of it was counted.
    begun: bool,
    /// Characters that may still be counted of it.
    chars_left: Option<u64>,
    capped: bool,
    /// No start was found below this length.
    looked: usize,
}

impl Counter {
    /// Counts the next part of a document; it ends with the part that is the `last`. Returns as [`Counter::feed`].
    ///
    /// # Errors
    /// See [`Counter::feed`].
    pub fn feed_part(&mut self, text: &[u8], last: bool, report: Report<'_>) -> Result<bool> {
        if self.limits.reached() {
            self.part = Part::default();
            return Ok(false);
        }
        self.part.text.extend_from_slice(text);
        let length = self.part.text.len();
        if last {
            self.count_part(length, true, report)?;
            self.part = Part::default();
        } else if length >= ENOUGH.max(2 * self.part.looked) {
            match self.last_start() {
                Some(cut) => self.count_part(cut, false, report)?,
                None => self.part.looked = length,
            }
        }
        Ok(!self.limits.reached())
    }

    /// A certain start near the end of what has come.
    fn last_start(&self) -> Option<usize> {
        let text = &self.part.text;
        let far = [NEAR, 16 * NEAR, text.len()];
        far.iter().find_map(|&far| self.pattern.next_sync_point(text, text.len().saturating_sub(far)))
    }

    /// Counts the pieces that start in the first `cut` bytes, which are dropped then.
    fn count_part(&mut self, cut: usize, last: bool, report: Report<'_>) -> Result<()> {
        let text = std::mem::take(&mut self.part.text);
        let kept = self.admit_part(&text[..cut]);
        // A limit ends the document where it cuts it.
        let shown = if last || kept < cut { &text[..kept] } else { &text[..] };
        let first = (self.totals.documents - 1, self.part.before);
        if kept > 0 {
            self.count(&self.plan_part(shown, 0, kept), &[shown], None, first, report)?;
        }
        self.totals.bytes += kept as u64;
        self.part.before += cut as u64;
        self.part.looked = 0;
        self.part.text = text;
        self.part.text.drain(..cut);
        Ok(())
    }

    /// How many bytes of the next part of the document the limits allow.
    fn admit_part(&mut self, text: &[u8]) -> usize {
        if !self.part.begun {
            self.part.begun = true;
            self.part.chars_left = self.limits.document_chars;
            self.totals.documents += 1;
        }
        if self.limits.none() {
            return text.len();
        }
        let mut limits = Limits { document_chars: self.part.chars_left, ..self.limits.clone() };
        let mut capped = Cap::default();
        let kept = limits.admit(text, &mut capped).unwrap_or(&[]);
        self.part.chars_left = self.part.chars_left.map(|left| left.saturating_sub(chars(kept)));
        self.limits = Limits { document_chars: self.limits.document_chars, ..limits };
        self.totals.capped.bytes += capped.bytes;
        self.totals.capped.documents += u64::from(capped.documents > 0 && !self.part.capped);
        self.part.capped |= capped.documents > 0;
        kept.len()
    }

    /// Counts a document that lies in `file`, a window at a time.
    pub(super) fn feed_mapped(&mut self, file: &MappedFile, text: &[u8], report: Report<'_>) -> Result<bool> {
        let Some(text) = self.limits.admit(text, &mut self.totals.capped) else { return Ok(false) };
        let mut start = 0;
        while start < text.len() {
            let next = self.pattern.next_sync_point(text, start.saturating_add(WINDOW));
            let plan = self.plan_part(text, start, next.unwrap_or(text.len()));
            let first = (self.totals.documents, 0);
            self.count(&plan, &[text], Some(file), first, &mut |done| report(start as u64 + done))?;
            start = next.unwrap_or(text.len());
        }
        self.totals.documents += 1;
        self.totals.bytes += text.len() as u64;
        Ok(!self.limits.reached())
    }

    /// The work on the pieces of `text` that start between two certain starts, or its ends.
    fn plan_part(&self, text: &[u8], from: usize, until: usize) -> WorkPlan {
        let mut plan = WorkPlan { spans: Vec::new(), batches: Vec::new(), bytes: until - from };
        let mut start = from;
        while start < until {
            let next = self.pattern.next_sync_point(text, start + BATCH).filter(|&next| next < until);
            let end = next.unwrap_or(until);
            plan.batches.push(plan.spans.len()..plan.spans.len() + 1);
            plan.spans.push(Span { document: 0, range: start..end, last: end == text.len() });
            start = end;
        }
        plan
    }
}
