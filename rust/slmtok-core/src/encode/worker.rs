//! One thread's encoder: the hot loop and its caches. Start reading here.
//!
//! ```text
//! text ── split ──► ends of up to 256 pieces ── keys ──► keys, hashes; home lines prefetched ── probe ──► ids
//!                                                                             │ miss
//!                                                                             └─ merge, insert ──► ids
//! ```
//! [`Worker::encode`] runs three passes over arrays that stay in the L1 cache: the scanner splits the text and stores the ends of
//! up to 256 pieces; [`KeyBatch::fill`] computes their keys and hashes and prefetches the lines where they will be probed;
//! [`PieceTable::lookup_hits`] copies ids from the table, and returns at an overflow entry and at a miss. Pieces without a key
//! are looked up in the [`LongCache`] between its calls.

use std::ops::Range;

use super::Encoder;
use super::split_points::{SplitPoints, is_clause};
use crate::accel::cache_sharing::CacheSharing;
use crate::accel::output_buffer::BufferPool;
use crate::cache::bloom::BloomFilter;
use crate::cache::hash::{KEY_BATCH_LEN, KeyBatch, Pieces};
use crate::cache::long_cache::LongCache;
use crate::cache::packed_ids::{Entry, NO_ENTRY, TokenId};
use crate::cache::piece_table::{MAX_SLOTS, PieceTable};
use crate::parallel::count_ends_up_to;
use crate::pretoken::Scanner;
use crate::{Error, Result, interrupt};

/// At their first occurrence longer pieces are cached only where there is room.
const MAX_EAGER_BYTES: usize = 4096;

/// Caches and scratch buffers of one thread. Their contents change the speed and never a result.
pub struct Worker<I> {
    scanner: Box<dyn Scanner>,
    table: PieceTable<I>,
    long_cache: LongCache<I>,
    /// Keys of the current pieces.
    piece_keys: KeyBatch,
    /// Ends of the current pieces; empty while they are borrowed, and after an error.
    ends: Vec<usize>,
    /// Hashes of clauses without a key, and of pieces above [`MAX_EAGER_BYTES`], that occurred once and may never recur.
    first_occurrences: BloomFilter,
    /// Overflow entries whose ids are prefetched, each with its position in the output.
    pending_overflow: Vec<(usize, Entry)>,
    /// Ends of the parts of a clause; empty while they are borrowed.
    clause_ends: Vec<usize>,
    /// Keys of the parts of a clause; swapped with `piece_keys` while they are looked up.
    clause_keys: KeyBatch,
    /// Internal ids of the piece that is merged.
    internal_ids: Vec<u32>,
    /// The first error of merging. From then on ids may be incomplete, so no piece is cached; the call returns the error after
    /// the key batch.
    failure: Option<Error>,
    pub(super) buffers: BufferPool<I>,
    pub(super) sharing: CacheSharing<I>,
    /// Pieces that were merged because no cache had them.
    pub misses: u64,
}

/// Elements needed to encode `bytes` bytes: one per byte, and [`TokenId::STORE_LEN`] to store the last table entry whole.
#[must_use]
pub fn buffer_len<I: TokenId>(bytes: usize) -> usize {
    bytes + I::STORE_LEN
}

impl<I: TokenId> Worker<I> {
    /// Writes to `out` the ids of the pieces of `text` that start in `range`, and returns their number. Both ends of `range`
    /// must be ends of `text` or starts of pieces; `out` must hold `buffer_len` of the range.
    ///
    /// # Errors
    /// A custom pattern that exceeds its limits; lack of memory; interruption.
    pub fn encode(&mut self, encoder: &Encoder, text: &[u8], range: Range<usize>, out: &mut [I]) -> Result<usize> {
        self.sharing.insert_received(&mut self.table, &mut self.long_cache);
        let (mut start, mut len) = (range.start, 0);
        let mut ends = std::mem::take(&mut self.ends);
        ends.resize(KEY_BATCH_LEN, 0);
        while start < range.end {
            // A range of any length may have no sync point, and then no other place to stop.
            interrupt::check()?;
            // The scanner calls the text a segment.
            let scanned = self.scanner.fill(text, start, &mut ends)?;
            let n = count_ends_up_to(&ends[..scanned], range.end);
            let Some(&end) = ends[..n].last() else { break };
            let pieces = Pieces { text, start, ends: &ends[..n] };
            self.compute_keys(pieces);
            len += self.look_up(encoder, pieces, &mut out[len..]);
            if let Some(error) = self.failure.take() {
                return Err(error);
            }
            start = end;
        }
        self.ends = ends;
        Ok(len)
    }

    /// Computes keys and hashes of the pieces, and prefetches where they will be probed.
    #[inline(always)]
    fn compute_keys(&mut self, pieces: Pieces<'_>) {
        let Self { table, long_cache, piece_keys: keys, sharing, .. } = self;
        table.record_lookups(pieces.ends.len());
        sharing.record_lookups(pieces.ends.len());
        keys.fill(pieces, table.hash(), table.slots(), |piece| long_cache.hash_and_prefetch(piece));
        keys.long_indices.iter().for_each(|&index| long_cache.prefetch_record(keys.hashes[usize::from(index)]));
    }

    /// Writes the ids of the pieces, whose keys are computed, to `out`, and returns their number.
    fn look_up(&mut self, encoder: &Encoder, pieces: Pieces<'_>, out: &mut [I]) -> usize {
        debug_assert!(self.pending_overflow.is_empty());
        let (mut done, mut len) = (0, 0);
        for k in 0..self.piece_keys.long_indices.len() {
            let index = usize::from(self.piece_keys.long_indices[k]);
            len = self.look_up_short(encoder, pieces, done..index, out, len);
            len = self.look_up_long(encoder, pieces, index, out, len);
            done = index + 1;
        }
        len = self.look_up_short(encoder, pieces, done..pieces.ends.len(), out, len);
        self.flush_pending(out);
        len
    }

    /// Appends the ids of the pieces with these indices, all of which have keys, to the `len` ids in `out`, and returns the new
    /// length.
    fn look_up_short(
        &mut self,
        encoder: &Encoder,
        pieces: Pieces<'_>,
        mut indices: Range<usize>,
        out: &mut [I],
        mut len: usize,
    ) -> usize {
        while !indices.is_empty() {
            let KeyBatch { keys, hashes, .. } = &self.piece_keys;
            let hits = self.table.lookup_hits(&keys[indices.clone()], &hashes[indices.clone()], &mut out[len..]);
            indices.start += hits.0;
            len += hits.1;
            let Some(index) = indices.next() else { break };
            // Why the loop stopped, by a second probe: for one piece in a hundred the loop should not carry a reason.
            let entry = self.table.get(self.piece_keys.keys[index], self.piece_keys.hashes[index]);
            if entry == NO_ENTRY {
                len = self.merge_short(encoder, pieces, index, out, len);
            } else {
                self.pending_overflow.push((len, entry));
                len += self.table.prefetched_overflow_len(entry);
            }
        }
        len
    }

    /// As [`Worker::look_up_short`], for one piece without a key.
    #[inline]
    fn look_up_long(
        &mut self,
        encoder: &Encoder,
        pieces: Pieces<'_>,
        index: usize,
        out: &mut [I],
        len: usize,
    ) -> usize {
        let (piece, hash) = (&pieces.text[pieces.range(index)], self.piece_keys.hashes[index]);
        if let Some(written) = self.long_cache.get(piece, hash, &mut out[len..]) {
            return len + written;
        }
        self.merge_long(encoder, pieces, index, out, len)
    }

    /// Copies the ids of pending overflow entries to their positions. Must precede every insertion, which may clear the table and
    /// with it the overflow arena.
    fn flush_pending(&mut self, out: &mut [I]) {
        for (at, entry) in self.pending_overflow.drain(..) {
            self.table.copy_overflow(entry, &mut out[at..]);
        }
    }

    /// As [`Worker::look_up_short`], for one piece that is not in the piece table: encodes and caches it.
    #[cold]
    fn merge_short(&mut self, encoder: &Encoder, pieces: Pieces<'_>, index: usize, out: &mut [I], len: usize) -> usize {
        self.flush_pending(out);
        let (key, out) = (self.piece_keys.keys[index], &mut out[len..]);
        let n = self.encode_missed(encoder, pieces.text, pieces.range(index), out);
        if self.failure.is_none() {
            self.table.insert(key, &out[..n]);
            self.sharing.record_short(key, &out[..n]);
        }
        len + n
    }

    /// As [`Worker::look_up_long`], for a piece that is not in the long cache: encodes it, and caches it unless it is unlikely to
    /// recur.
    #[cold]
    fn merge_long(&mut self, encoder: &Encoder, pieces: Pieces<'_>, index: usize, out: &mut [I], len: usize) -> usize {
        self.flush_pending(out);
        let (range, hash, out) = (pieces.range(index), self.piece_keys.hashes[index], &mut out[len..]);
        let piece = &pieces.text[range.clone()];
        let n = self.encode_missed(encoder, pieces.text, range, out);
        if self.failure.is_some() {
            return len + n;
        }
        let (is_clause, is_large) = (is_clause(piece), piece.len() > MAX_EAGER_BYTES);
        if !(is_clause || is_large) || self.first_occurrences.insert(hash) {
            self.long_cache.insert(piece, hash, &out[..n]);
            self.sharing.record_long(piece, &out[..n]);
        } else if is_large {
            // A copy costs little beside merging, but a large piece that may never recur must not evict others.
            self.long_cache.insert_without_clearing(piece, hash, &out[..n]);
        }
        len + n
    }

    /// Encodes a piece that no cache has: a clause part by part, through the caches; any other by the encoder of pieces. Nothing
    /// may be pending.
    fn encode_missed(&mut self, encoder: &Encoder, text: &[u8], range: Range<usize>, out: &mut [I]) -> usize {
        let piece = &text[range.clone()];
        let split_points = if is_clause(piece) { encoder.piece_encoder.split_points() } else { None };
        if let Some(split_points) = split_points
            && split_points.next(piece, 0) < piece.len()
        {
            return self.encode_clause(encoder, split_points, text, range, out);
        }
        self.misses += 1;
        if let Err(error) = encoder.piece_encoder.encode(piece, &mut self.internal_ids) {
            self.failure.get_or_insert(error);
            return 0;
        }
        let mut n = 0;
        encoder.to_public_ids(&self.internal_ids, |id| {
            out[n] = id;
            n += 1;
        });
        n
    }

    /// Encodes a clause part by part, through the caches. The parts cannot be split again, so this does not recurse.
    fn encode_clause(
        &mut self,
        encoder: &Encoder,
        split_points: &SplitPoints,
        text: &[u8],
        range: Range<usize>,
        out: &mut [I],
    ) -> usize {
        // The keys of the pieces around this one are still needed.
        std::mem::swap(&mut self.piece_keys, &mut self.clause_keys);
        let mut ends = std::mem::take(&mut self.clause_ends);
        let (mut at, mut len) = (range.start, 0);
        while at < range.end {
            let start = at;
            ends.clear();
            while at < range.end && ends.len() < KEY_BATCH_LEN {
                at = split_points.next(&text[..range.end], at);
                ends.push(at);
            }
            let parts = Pieces { text, start, ends: &ends };
            self.compute_keys(parts);
            len += self.look_up(encoder, parts, &mut out[len..]);
        }
        self.clause_ends = ends;
        std::mem::swap(&mut self.piece_keys, &mut self.clause_keys);
        len
    }

    /// A worker with empty caches.
    #[must_use]
    pub fn new(encoder: &Encoder) -> Self {
        Self::with_slots(encoder, MAX_SLOTS)
    }

    /// As [`Worker::new`], with a piece table of at most `slots` slots, a power of two from 4 on.
    pub(super) fn with_slots(encoder: &Encoder, slots: usize) -> Self {
        Self {
            scanner: encoder.pattern.scanner(),
            table: PieceTable::new(slots),
            long_cache: LongCache::default(),
            piece_keys: KeyBatch::default(),
            ends: Vec::new(),
            first_occurrences: BloomFilter::default(),
            pending_overflow: Vec::new(),
            clause_ends: Vec::new(),
            clause_keys: KeyBatch::default(),
            internal_ids: Vec::new(),
            failure: None,
            buffers: BufferPool::default(),
            sharing: CacheSharing::default(),
            misses: 0,
        }
    }

    /// How often the piece table was cleared.
    #[must_use]
    pub fn clears(&self) -> u64 {
        self.table.clears
    }

    /// Encodes `text` into a pooled buffer, and returns what `take` makes of the ids.
    ///
    /// # Errors
    /// See [`Worker::encode`].
    pub fn encode_and<T>(&mut self, encoder: &Encoder, text: &[u8], take: impl FnOnce(&[I]) -> T) -> Result<T> {
        let mut ids = self.buffers.take(buffer_len::<I>(text.len()))?;
        let len = self.encode(encoder, text, 0..text.len(), &mut ids);
        let taken = len.map(|len| take(&ids[..len]));
        self.buffers.give_back(ids);
        taken
    }
}
