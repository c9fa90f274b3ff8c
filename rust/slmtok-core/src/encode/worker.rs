//! One thread's encoder: the hot loop and its caches.
//!
//! Three passes over small arrays: ends of up to 256 pieces from the scanner; keys and hashes, and a word to the memory that
//! their lines will be wanted; probes. Everything unusual (a long piece, a spilled entry, a miss) leaves the third pass
//! through cold functions.

use std::ops::Range;

use super::Encoder;
use super::cuts::Cuts;
use super::lanes::Id;
use super::long_cache::LongCache;
use super::piece_table::{MAX_SLOTS, PieceTable};
use super::seen::Seen;
use crate::Result;
use crate::piece::{LONG, key_or_long};
use crate::pretoken::Scanner;
use crate::work::pieces_within;

/// Pieces, or parts of them, per round.
const CHUNK: usize = 256;

/// Caches and scratch of one thread. What they hold changes the speed, never a result.
pub struct Worker<I> {
    scanner: Box<dyn Scanner>,
    table: PieceTable<I>,
    long: LongCache<I>,
    /// Of the pieces in work. Kept, as the next two, for clearing them costs more than a short document.
    keys: Box<[u128; CHUNK]>,
    hashes: Box<[u64; CHUNK]>,
    /// Ends of pieces from the scanner; empty while they are in use.
    ends: Vec<usize>,
    /// Clauses that came once.
    seen: Seen,
    /// Ends of what a piece was cut into; empty while they are in use.
    parts: Vec<usize>,
    /// Of the parts, as those of the pieces.
    part_keys: Box<[u128; CHUNK]>,
    part_hashes: Box<[u64; CHUNK]>,
    /// Whether the keys are those of parts now.
    cutting: bool,
    internal: Vec<u32>,
    public: Vec<I>,
    /// Of a short text.
    ids: Vec<I>,
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
            keys: Box::new([0; CHUNK]),
            hashes: Box::new([0; CHUNK]),
            ends: Vec::new(),
            seen: Seen::default(),
            parts: Vec::new(),
            part_keys: Box::new([0; CHUNK]),
            part_hashes: Box::new([0; CHUNK]),
            cutting: false,
            internal: Vec::new(),
            public: Vec::new(),
            ids: Vec::new(),
            misses: 0,
        }
    }

    /// As [`Worker::new`], with a piece table of at most `slots` slots, a power of two from 4 on, so that it is wiped often.
    #[cfg(feature = "testing")]
    pub(super) fn with_slots(encoder: &Encoder, slots: usize) -> Self {
        Self { table: PieceTable::new(slots), ..Self::new(encoder) }
    }

    /// How often the piece table was wiped.
    #[must_use]
    pub fn wipes(&self) -> u64 {
        self.table.wipes
    }

    /// The ids of `text`, in memory that is used again for the next.
    ///
    /// # Errors
    /// See [`Worker::encode`].
    pub fn encode_within(&mut self, encoder: &Encoder, text: &[u8]) -> Result<&[I]> {
        let mut ids = std::mem::take(&mut self.ids);
        ids.resize(ids.len().max(room::<I>(text.len())), I::default());
        let written = self.encode(encoder, text, 0..text.len(), &mut ids);
        self.ids = ids;
        written.map(|written| &self.ids[..written])
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
        ends.resize(CHUNK, 0);
        while at < range.end {
            let filled = self.scanner.fill(text, at, &mut ends)?;
            let mine = pieces_within(&ends[..filled], range.end);
            let Some(&last) = ends[..mine].last() else { break };
            self.prepare(text, at, &ends[..mine]);
            written += self.look_up(encoder, text, at, &ends[..mine], &mut out[written..]);
            at = last;
        }
        self.ends = ends;
        Ok(written)
    }

    /// Keys and hashes of pieces, whose lines are asked for.
    #[inline(always)]
    fn prepare(&mut self, text: &[u8], start: usize, ends: &[usize]) {
        let Self { table, long, keys, hashes, .. } = self;
        table.note(ends.len());
        let table = table.view();
        let mut begin = start;
        for ((&end, key), hash) in ends.iter().zip(&mut keys[..]).zip(&mut hashes[..]) {
            *key = key_or_long(text, begin, end);
            *hash = if *key == LONG { long.prepare(&text[begin..end]) } else { table.prepare(*key) };
            begin = end;
        }
    }

    /// The ids of pieces whose keys and hashes are prepared.
    fn look_up(&mut self, encoder: &Encoder, text: &[u8], start: usize, ends: &[usize], out: &mut [I]) -> usize {
        let (mut at, mut len) = (0, 0);
        loop {
            at = self.look_up_known(at, ends.len(), out, &mut len);
            if at == ends.len() {
                return len;
            }
            let begin = if at == 0 { start } else { ends[at - 1] };
            let piece = begin..ends[at];
            len += if self.keys[at] == LONG {
                self.look_up_long(encoder, text, piece, self.hashes[at], &mut out[len..])
            } else {
                self.unusual(encoder, text, piece, at, &mut out[len..])
            };
            at += 1;
        }
    }

    /// From the piece numbered `at` on, as long as the table holds their ids. Returns where that ended. Nothing here changes
    /// the table, so where it lies stays in registers.
    #[inline(always)]
    fn look_up_known(&self, mut at: usize, n: usize, out: &mut [I], len: &mut usize) -> usize {
        let table = self.table.view();
        for (&key, &hash) in self.keys[at..n].iter().zip(&self.hashes[at..n]) {
            let entry = table.get(key, hash);
            let written = I::unpack(entry, &mut out[*len..]);
            if written == 0 {
                break;
            }
            *len += written;
            at += 1;
        }
        at
    }

    /// The ids of a piece that has no key.
    #[inline]
    fn look_up_long(&mut self, encoder: &Encoder, text: &[u8], piece: Range<usize>, hash: u64, out: &mut [I]) -> usize {
        let bytes = &text[piece.clone()];
        let entry = self.long.get(bytes, hash);
        let written = I::unpack(entry, out);
        if written > 0 {
            return written;
        }
        if entry != 0 {
            return copied(self.long.spilled(entry), out);
        }
        let written = self.make(encoder, text, piece, out);
        // Most clauses never come again.
        if !is_clause(bytes) || self.seen.before(hash) {
            self.long.insert(bytes, hash, &out[..written]);
        }
        written
    }

    /// The ids of a piece that has a key, but no entry of its own.
    #[cold]
    fn unusual(&mut self, encoder: &Encoder, text: &[u8], piece: Range<usize>, at: usize, out: &mut [I]) -> usize {
        let (key, hash) = (self.keys[at], self.hashes[at]);
        let entry = self.table.view().get(key, hash);
        if entry != 0 {
            return copied(self.table.spilled(entry), out);
        }
        let written = self.make(encoder, text, piece, out);
        self.table.insert(key, &out[..written]);
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
        cuts: &Cuts,
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
            while at < piece.end && parts.len() < CHUNK {
                at = cuts.next(&text[..piece.end], at);
                parts.push(at);
            }
            self.prepare(text, start, &parts);
            written += self.look_up(encoder, text, start, &parts, &mut out[written..]);
        }
        self.parts = parts;
        self.swap_lanes();
        written
    }

    fn swap_lanes(&mut self) {
        self.cutting = !self.cutting;
        std::mem::swap(&mut self.keys, &mut self.part_keys);
        std::mem::swap(&mut self.hashes, &mut self.part_hashes);
    }
}

/// Places that encoding `bytes` bytes needs: an id stands for at least one byte, and entries are written whole.
#[must_use]
pub fn room<I: Id>(bytes: usize) -> usize {
    bytes + I::STORED
}

/// Puts `ids` at the begin of `out`, and returns how many they are.
fn copied<I: Id>(ids: &[I], out: &mut [I]) -> usize {
    out[..ids.len()].copy_from_slice(ids);
    ids.len()
}

/// Whether a piece that begins so is better cut than merged whole. Lead bytes E3-E9 begin the kana and the common
/// ideographs, EF their punctuation: such pieces are clauses, and their parts are known where they are not.
fn is_clause(piece: &[u8]) -> bool {
    matches!(piece, [0xE3..=0xE9 | 0xEF, ..])
}
