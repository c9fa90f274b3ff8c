//! For tests outside this crate: each merge kernel by itself, small piece tables, and batches of any size.

use super::batch::{EncodedDocuments, Frame};
use super::split_points::SplitPoints;
use super::worker::buffer_len;
use super::{Encoder, PooledId, Worker};
use crate::Result;
use crate::merge::reference::merge_by_definition;
use crate::merge::{Backtrack, MAX_SYMBOLS, Merger, merge_by_heap, merge_by_scan};
use crate::merges::Merges;
use crate::parallel::{WorkPlan, no_progress};

const HAS_MEMORY: &str = "a test has memory and is not interrupted";

/// All kernels of one merge list.
pub struct Kernels {
    merger: Merger,
    /// `None` if some token does not encode to itself.
    backtrack: Option<Backtrack>,
    split_points: SplitPoints,
}

impl Kernels {
    /// The kernels of `merges`.
    #[must_use]
    pub fn new(merges: &Merges) -> Self {
        let merger = Merger::new(merges.clone());
        let backtrack = merger.unreachable().expect(HAS_MEMORY).is_empty().then(|| Backtrack::new(merges));
        Self { merger, backtrack, split_points: SplitPoints::new(merges.tokens()) }
    }

    /// Internal ids of `piece`, which must not be empty, by the reference implementation.
    #[must_use]
    pub fn by_definition(&self, piece: &[u8]) -> Vec<u32> {
        merge_by_definition(&self.merger.pairs, piece)
    }

    /// The same by every kernel that takes a piece of this length, with its name.
    #[must_use]
    pub fn others(&self, piece: &[u8]) -> Vec<(&'static str, Vec<u32>)> {
        let bytes: Vec<u32> = piece.iter().map(|&byte| u32::from(byte)).collect();
        let mut all = Vec::new();
        if piece.len() <= MAX_SYMBOLS {
            let mut ids = Vec::new();
            merge_by_scan(&self.merger.pairs, piece, &mut ids);
            all.push(("scan", ids));
        }
        let mut ids = bytes;
        merge_by_heap(&self.merger.pairs, &mut ids).expect(HAS_MEMORY);
        all.push(("heap", ids));
        if let Some(backtrack) = &self.backtrack {
            let mut ids = Vec::new();
            backtrack.encode(&self.merger.merges, &self.merger.pairs, piece, &mut ids).expect(HAS_MEMORY);
            all.push(("backtrack", ids));
        }
        let mut ids = Vec::new();
        self.merger.encode(piece, &mut ids).expect(HAS_MEMORY);
        all.push(("by length", ids));
        all.push(("split points", self.by_parts(piece)));
        all
    }

    fn by_parts(&self, piece: &[u8]) -> Vec<u32> {
        let (mut at, mut ids) = (0, Vec::new());
        while at < piece.len() {
            let end = self.split_points.next(piece, at);
            assert!(end > at && end <= piece.len(), "a part from {at} to {end} of {}", piece.len());
            ids.extend(self.by_definition(&piece[at..end]));
            at = end;
        }
        ids
    }
}

/// The ids of each text by a worker whose piece table has at most `slots` slots, a power of two from 4 on, and the number of clears.
///
/// # Errors
/// A custom pattern that exceeds its backtracking limit.
pub fn encode_in_slots<I: PooledId>(encoder: &Encoder, texts: &[&[u8]], slots: usize) -> Result<(Vec<Vec<I>>, u64)> {
    let mut worker = Worker::with_slots(encoder, slots);
    let mut all = Vec::new();
    for text in texts {
        let mut ids = vec![I::default(); buffer_len::<I>(text.len())];
        let n = worker.encode(encoder, text, 0..text.len(), &mut ids)?;
        ids.truncate(n);
        all.push(ids);
    }
    Ok((all, worker.clears()))
}

/// As [`Encoder::encode_batch`], in batches of about `size` bytes, so that short texts occupy many threads.
///
/// # Errors
/// See [`Encoder::encode_batch`].
pub fn encode_in_batches<I: PooledId>(
    encoder: &Encoder,
    documents: &[&[u8]],
    size: usize,
    threads: usize,
    frame: Frame,
) -> Result<EncodedDocuments<I>> {
    encoder.check_frame(frame)?;
    let plan = WorkPlan::with_batch_bytes(encoder.pattern(), documents, size);
    encoder.encode_plan(&plan, documents, threads, frame, &mut no_progress)
}
