//! For tests outside this crate: every way from a piece to its ids, one by one, and batches of any size.
//!
//! Slow, and behind the feature `testing`: nothing in the library uses it.

use super::batch::{Batch, Frame};
use super::split_points::SplitPoints;
use super::worker::room;
use super::{Encoder, Pooled, Worker};
use crate::Result;
use crate::merge::Backtrack;
use crate::merge::Merger;
use crate::merge::merge_by_heap;
use crate::merge::reference::merge_by_definition;
use crate::merge::{MAX_SYMBOLS, merge_by_scan};
use crate::merges::Merges;
use crate::parallel::{WorkPlan, no_progress};

/// All kernels of one merge list.
pub struct Kernels {
    model: Merger,
    /// Only where every token encodes to itself.
    backtrack: Option<Backtrack>,
    cuts: SplitPoints,
}

impl Kernels {
    /// Those of `merges`.
    #[must_use]
    pub fn new(merges: &Merges) -> Self {
        let model = Merger::new(merges.clone());
        let backtrack = model.unreachable().is_empty().then(|| Backtrack::new(merges));
        Self { model, backtrack, cuts: SplitPoints::new(merges.tokens()) }
    }

    /// Internal ids of `piece`, which must not be empty, by the definition.
    #[must_use]
    pub fn by_definition(&self, piece: &[u8]) -> Vec<u32> {
        merge_by_definition(&self.model.pairs, piece)
    }

    /// The same by every other way that takes a piece of this length, with its name.
    #[must_use]
    pub fn others(&self, piece: &[u8]) -> Vec<(&'static str, Vec<u32>)> {
        let bytes: Vec<u32> = piece.iter().map(|&byte| u32::from(byte)).collect();
        let mut all = Vec::new();
        if piece.len() <= MAX_SYMBOLS {
            let mut ids = Vec::new();
            merge_by_scan(&self.model.pairs, piece, &mut ids);
            all.push(("small", ids));
        }
        let mut ids = bytes;
        merge_by_heap(&self.model.pairs, &mut ids);
        all.push(("heap", ids));
        if let Some(backtrack) = &self.backtrack {
            let mut ids = Vec::new();
            backtrack.encode(&self.model.merges, &self.model.pairs, piece, &mut ids);
            all.push(("backtrack", ids));
        }
        let mut ids = Vec::new();
        self.model.encode(piece, &mut ids);
        all.push(("model", ids));
        all.push(("cuts", self.by_parts(piece)));
        all
    }

    fn by_parts(&self, piece: &[u8]) -> Vec<u32> {
        let (mut at, mut ids) = (0, Vec::new());
        while at < piece.len() {
            let end = self.cuts.next(piece, at);
            assert!(end > at && end <= piece.len(), "a cut from {at} to {end} of {}", piece.len());
            ids.extend(self.by_definition(&piece[at..end]));
            at = end;
        }
        ids
    }
}

/// The ids of each text by one thread whose table of pieces has at most `slots` slots, a power of two from 4 on; and how often
/// that was wiped.
///
/// # Errors
/// A custom pattern that gave up.
pub fn encode_in_slots<I: Pooled>(encoder: &Encoder, texts: &[&[u8]], slots: usize) -> Result<(Vec<Vec<I>>, u64)> {
    let mut worker = Worker::with_slots(encoder, slots);
    let mut all = Vec::new();
    for text in texts {
        let mut ids = vec![I::default(); room::<I>(text.len())];
        let n = worker.encode(encoder, text, 0..text.len(), &mut ids)?;
        ids.truncate(n);
        all.push(ids);
    }
    Ok((all, worker.wipes()))
}

/// As [`Encoder::encode_batch`], in batches of about `size` bytes, so that little texts keep many threads busy.
///
/// # Errors
/// See there.
pub fn encode_in_batches<I: Pooled>(
    encoder: &Encoder,
    documents: &[&[u8]],
    size: usize,
    threads: usize,
    frame: Frame,
) -> Result<Batch<I>> {
    encoder.check_frame(frame)?;
    let plan = WorkPlan::with_batch_bytes(encoder.pattern(), documents, size);
    encoder.encode_plan(&plan, documents, threads, frame, &mut no_progress)
}
