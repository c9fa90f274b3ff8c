//! One thread's encoder: the hot loop and its caches.
//!
//! Three passes over small arrays: ends of up to 256 pieces from the scanner; keys and hashes, and a word to the memory that
//! their lines will be wanted; probes. Everything unusual (a long piece, a spilled entry, a miss) leaves the loop of the third
//! pass.

use std::ops::Range;

use super::Encoder;
use super::pieces::Pieces;
use super::split_points::{SplitPoints, is_clause};
use crate::Result;
use crate::accel::cache_sharing::Post;
use crate::accel::output_buffer::Places;
use crate::cache::bloom::BloomFilter;
use crate::cache::hash::{KEY_BATCH_LEN, KeyBatch};
use crate::cache::long_cache::LongCache;
use crate::cache::packed_ids::{Entry, Id, NO_ENTRY};
use crate::cache::piece_table::{MAX_SLOTS, PieceTable};
use crate::parallel::pieces_within;
use crate::pretoken::Scanner;

/// Longer pieces are remembered when they come the second time, as clauses are.
const VERY_LONG: usize = 4096;

/// Caches and scratch of one thread. What they hold changes the speed, never a result.
pub struct Worker<I> {
    scanner: Box<dyn Scanner>,
    table: PieceTable<I>,
    long: LongCache<I>,
    /// Of the pieces in work.
    prepared: KeyBatch,
    /// Ends of pieces from the scanner; empty while they are in use.
    ends: Vec<usize>,
    /// Clauses that came once.
    seen: BloomFilter,
    /// Spilled entries that were asked for, with the places of their ids.
    late: Vec<(usize, Entry)>,
    /// Ends of what a piece was cut into; empty while they are in use.
    parts: Vec<usize>,
    /// Of the parts, as those of the pieces.
    prepared_parts: KeyBatch,
    /// Whether what is prepared is parts now.
    cutting: bool,
    internal: Vec<u32>,
    public: Vec<I>,
    /// Where ids are written before they go elsewhere.
    pub(super) places: Places<I>,
    /// To and from the others of a call.
    pub(super) post: Post<I>,
    /// Pieces that were not in a cache.
    pub misses: u64,
}

impl<I: Id> Worker<I> {
    /// Cold caches for `encoder`.
    #[must_use]
    pub fn new(encoder: &Encoder) -> Self {
        Self {
            scanner: encoder.pattern.scanner(),
            table: PieceTable::new(MAX_SLOTS),
            long: LongCache::default(),
            prepared: KeyBatch::default(),
            ends: Vec::new(),
            seen: BloomFilter::default(),
            late: Vec::new(),
            parts: Vec::new(),
            prepared_parts: KeyBatch::default(),
            cutting: false,
            internal: Vec::new(),
            public: Vec::new(),
            places: Places::default(),
            post: Post::default(),
            misses: 0,
        }
    }

    /// Caches for `encoder` that hold the short pieces of another worker's.
    #[must_use]
    pub fn as_warm_as(encoder: &Encoder, other: &Self) -> Self {
        Self { table: other.table.copied(), ..Self::new(encoder) }
    }

    /// As [`Worker::new`], with a piece table of at most `slots` slots, a power of two from 4 on, so that it is wiped often.
    #[cfg(feature = "testing")]
    pub(super) fn with_slots(encoder: &Encoder, slots: usize) -> Self {
        Self { table: PieceTable::new(slots), ..Self::new(encoder) }
    }

    /// Bytes of the piece table.
    pub(super) fn table_bytes(&self) -> usize {
        self.table.bytes()
    }

    /// How often the piece table was wiped.
    #[must_use]
    pub fn wipes(&self) -> u64 {
        self.table.wipes
    }

    /// What `take` makes of the ids of `text`, which are in memory that is used again for the next.
    ///
    /// # Errors
    /// See [`Worker::encode`].
    pub fn encode_and<T>(&mut self, encoder: &Encoder, text: &[u8], take: impl FnOnce(&[I]) -> T) -> Result<T> {
        let mut ids = self.places.take(room::<I>(text.len()))?;
        let written = self.encode(encoder, text, 0..text.len(), &mut ids);
        let taken = written.map(|written| take(&ids[..written]));
        self.places.give_back(ids);
        taken
    }

    /// Writes to `out` the ids of the pieces of `text` that start in `range`, whose ends are ends of `text` or starts of
    /// pieces, and returns how many there are. `out` must be as long as [`room`] says.
    ///
    /// # Errors
    /// A custom pattern that gave up.
    pub fn encode(&mut self, encoder: &Encoder, text: &[u8], range: Range<usize>, out: &mut [I]) -> Result<usize> {
        let (mut at, mut written) = (range.start, 0);
        // What a pattern that gave up leaves behind is made anew.
        let mut ends = std::mem::take(&mut self.ends);
        ends.resize(KEY_BATCH_LEN, 0);
        while at < range.end {
            if self.post.waits() {
                self.post.read(&mut self.table, &mut self.long);
            }
            let filled = self.scanner.fill(text, at, &mut ends)?;
            let mine = pieces_within(&ends[..filled], range.end);
            let Some(&last) = ends[..mine].last() else { break };
            let pieces = Pieces { text, start: at, ends: &ends[..mine] };
            self.prepare(pieces);
            written += self.look_up(encoder, pieces, &mut out[written..]);
            at = last;
        }
        self.ends = ends;
        Ok(written)
    }

    /// Keys and hashes of pieces, whose lines are asked for.
    #[inline(always)]
    fn prepare(&mut self, Pieces { text, start, ends }: Pieces<'_>) {
        let Self { table, long, prepared, post, .. } = self;
        table.note(ends.len());
        post.note(ends.len());
        prepared.fill(text, start, ends, table.hash(), table.slots(), |piece| long.prepare(piece));
        prepared.longs.iter().for_each(|&k| long.ask(prepared.hashes[usize::from(k)]));
    }

    /// The ids of pieces whose keys and hashes are prepared.
    fn look_up(&mut self, encoder: &Encoder, pieces: Pieces<'_>, out: &mut [I]) -> usize {
        debug_assert!(self.late.is_empty());
        let (mut at, mut len) = (0, 0);
        for k in 0..self.prepared.longs.len() {
            let long = usize::from(self.prepared.longs[k]);
            len = self.look_up_short(encoder, pieces, at..long, out, len);
            len = self.look_up_long(encoder, pieces, long, out, len);
            at = long + 1;
        }
        len = self.look_up_short(encoder, pieces, at..pieces.ends.len(), out, len);
        self.settle(out);
        len
    }

    /// The ids of those pieces numbered `which`, all of which have keys, behind the `len` that `out` has. Returns how many it has then.
    fn look_up_short(
        &mut self,
        encoder: &Encoder,
        pieces: Pieces<'_>,
        mut which: Range<usize>,
        out: &mut [I],
        mut len: usize,
    ) -> usize {
        while !which.is_empty() {
            let KeyBatch { keys, hashes, .. } = &self.prepared;
            let known = self.table.known(&keys[which.clone()], &hashes[which.clone()], &mut out[len..]);
            len += known.1;
            which.start += known.0;
            let Some(at) = which.next() else { break };
            let entry = self.table.get(self.prepared.keys[at], self.prepared.hashes[at]);
            if entry == NO_ENTRY {
                self.settle(out);
                len += self.make_short(encoder, pieces.text, pieces.range(at), at, &mut out[len..]);
            } else {
                self.late.push((len, entry));
                len += self.table.ask(entry);
            }
        }
        len
    }

    /// As [`Worker::look_up_short`], for the piece numbered `at`, which has no key.
    #[inline]
    fn look_up_long(&mut self, encoder: &Encoder, pieces: Pieces<'_>, at: usize, out: &mut [I], len: usize) -> usize {
        let (piece, hash) = (pieces.range(at), self.prepared.hashes[at]);
        if let Some(written) = self.long.get(&pieces.text[piece.clone()], hash, &mut out[len..]) {
            return len + written;
        }
        self.settle(out);
        len + self.make_long(encoder, pieces.text, piece, hash, &mut out[len..])
    }

    /// Writes what was put off: ids that had to come from the memory first. To be done before anything is inserted.
    fn settle(&mut self, out: &mut [I]) {
        for (at, entry) in self.late.drain(..) {
            self.table.copy(entry, &mut out[at..]);
        }
    }

    /// The ids of a piece that has no key and is not remembered.
    #[cold]
    fn make_long(&mut self, encoder: &Encoder, text: &[u8], piece: Range<usize>, hash: u64, out: &mut [I]) -> usize {
        let bytes = &text[piece.clone()];
        let written = self.make(encoder, text, piece, out);
        // Most clauses never come again, and what is very long would drive out much else.
        let rare = is_clause(bytes) || bytes.len() > VERY_LONG;
        if !rare || self.seen.before(hash) {
            self.long.insert(bytes, hash, &out[..written]);
            self.post.add_long(bytes, &out[..written]);
        }
        written
    }

    /// The ids of a piece that has a key and is not remembered.
    #[cold]
    fn make_short(&mut self, encoder: &Encoder, text: &[u8], piece: Range<usize>, at: usize, out: &mut [I]) -> usize {
        let key = self.prepared.keys[at];
        let written = self.make(encoder, text, piece, out);
        self.table.insert(key, &out[..written]);
        self.post.add_short(key, &out[..written]);
        written
    }

    /// The ids of a piece that is not remembered.
    fn make(&mut self, encoder: &Encoder, text: &[u8], piece: Range<usize>, out: &mut [I]) -> usize {
        let bytes = &text[piece.clone()];
        let cuts = if is_clause(bytes) { encoder.model.cuts() } else { None };
        match cuts {
            Some(cuts) if cuts.next(bytes, 0) < bytes.len() => self.make_of_parts(encoder, cuts, text, piece, out),
            _ => {
                self.misses += 1;
                encoder.model.encode(bytes, &mut self.internal);
                self.public.clear();
                encoder.publish(&self.internal, &mut self.public);
                copied(&self.public, out)
            }
        }
    }

    /// The ids of a piece that can be cut: those of its parts, which cannot.
    fn make_of_parts(
        &mut self,
        encoder: &Encoder,
        cuts: &SplitPoints,
        text: &[u8],
        piece: Range<usize>,
        out: &mut [I],
    ) -> usize {
        // The keys of the pieces around this one wait. Parts cannot be cut again, so this does not come here a second time.
        debug_assert!(!self.cutting);
        self.swap_lanes();
        let mut parts = std::mem::take(&mut self.parts);
        let (mut at, mut written) = (piece.start, 0);
        while at < piece.end {
            let start = at;
            parts.clear();
            while at < piece.end && parts.len() < KEY_BATCH_LEN {
                at = cuts.next(&text[..piece.end], at);
                parts.push(at);
            }
            let pieces = Pieces { text, start, ends: &parts };
            self.prepare(pieces);
            written += self.look_up(encoder, pieces, &mut out[written..]);
        }
        self.parts = parts;
        self.swap_lanes();
        written
    }

    fn swap_lanes(&mut self) {
        self.cutting = !self.cutting;
        std::mem::swap(&mut self.prepared, &mut self.prepared_parts);
    }
}

/// Places that encoding `bytes` bytes needs: an id stands for at least one byte, and entries are written whole.
#[must_use]
pub fn room<I: Id>(bytes: usize) -> usize {
    bytes + I::STORE_LEN
}

/// Puts `ids` at the begin of `out`, and returns how many they are.
fn copied<I: Id>(ids: &[I], out: &mut [I]) -> usize {
    out[..ids.len()].copy_from_slice(ids);
    ids.len()
}
