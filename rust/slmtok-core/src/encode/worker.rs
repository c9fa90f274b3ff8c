//! One thread's encoder: the hot loop and its caches.
//!
//! Three passes over small arrays: ends of up to 256 pieces from the scanner; keys and hashes; probes. Everything unusual (a
//! long piece, a spilled entry, a miss) leaves the third pass through cold functions.

use std::ops::Range;

use super::Encoder;
use super::lanes::Id;
use super::long_cache::LongCache;
use super::piece_table::{MAX_SLOTS, PieceTable};
use crate::Result;
use crate::piece::{MAX_KEY_BYTES, key};
use crate::pretoken::Scanner;

/// Pieces per round.
const CHUNK: usize = 256;
/// Instead of a key for pieces that have none.
const LONG: u128 = 0;

/// Caches and scratch of one thread. What they hold changes the speed, never a result.
pub struct Worker<I> {
    scanner: Box<dyn Scanner>,
    table: PieceTable<I>,
    long: LongCache<I>,
    /// Of the chunk in work; kept, for clearing them costs more than a short document.
    keys: Box<[u128; CHUNK]>,
    hashes: Box<[u64; CHUNK]>,
    ends: Box<[usize; CHUNK]>,
    internal: Vec<u32>,
    made: Vec<u32>,
    public: Vec<I>,
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
            ends: Box::new([0; CHUNK]),
            internal: Vec::new(),
            made: Vec::new(),
            public: Vec::new(),
            misses: 0,
        }
    }

    /// How often the piece table was wiped.
    #[must_use]
    pub fn wipes(&self) -> u64 {
        self.table.wipes
    }

    /// Writes to `out` the ids of the pieces of `text` that start in `range`, whose ends are ends of `text` or starts of
    /// pieces, and returns how many there are. `out` must be as long as [`room`] says.
    ///
    /// # Errors
    /// A custom pattern that gave up.
    pub fn encode(&mut self, encoder: &Encoder, text: &[u8], range: Range<usize>, out: &mut [I]) -> Result<usize> {
        let (mut at, mut written) = (range.start, 0);
        while at < range.end {
            let filled = self.scanner.fill(text, at, &mut self.ends[..])?;
            let mine = self.ends[..filled].partition_point(|&end| end <= range.end);
            let Some(&last) = self.ends[..mine].last() else { break };
            written += self.encode_chunk(encoder, text, at, mine, &mut out[written..]);
            at = last;
        }
        Ok(written)
    }

    /// The first `n` of `self.ends`, the first piece beginning at `start`.
    fn encode_chunk(&mut self, encoder: &Encoder, text: &[u8], start: usize, n: usize, out: &mut [I]) -> usize {
        let mut begin = start;
        for ((&end, slot), hash) in self.ends[..n].iter().zip(&mut self.keys[..]).zip(&mut self.hashes[..]) {
            *slot = if end - begin <= MAX_KEY_BYTES { key(text, begin, end) } else { LONG };
            *hash = self.table.hash(*slot);
            self.table.prefetch(*hash);
            begin = end;
        }
        let mut len = 0;
        begin = start;
        for at in 0..n {
            let (end, key) = (self.ends[at], self.keys[at]);
            let known = if key == LONG { None } else { self.table.get(key, self.hashes[at]) };
            let written = known.map_or(0, |entry| I::unpack(entry, &mut out[len..len + I::STORED]));
            if written > 0 {
                len += written;
            } else {
                let ids = self.unusual(encoder, &text[begin..end], key, known);
                out[len..len + ids.len()].copy_from_slice(ids);
                len += ids.len();
            }
            begin = end;
        }
        len
    }

    /// The ids of a piece that the fast path could not answer.
    #[cold]
    fn unusual(&mut self, encoder: &Encoder, piece: &[u8], key: u128, spilled: Option<u128>) -> &[I] {
        if let Some(entry) = spilled {
            return self.table.spilled(entry);
        }
        if key != LONG {
            self.merge(encoder, piece);
            self.table.insert(key, &self.public);
            return &self.public;
        }
        if begins_with_cjk(piece) {
            self.merge(encoder, piece);
            return &self.public;
        }
        let hash = self.long.hash(piece);
        if self.long.get(piece, hash).is_none() {
            self.merge(encoder, piece);
            self.long.insert(piece, hash, &self.public);
            return &self.public;
        }
        self.long.get(piece, hash).unwrap_or(&[])
    }

    fn merge(&mut self, encoder: &Encoder, piece: &[u8]) {
        self.misses += 1;
        encoder.model.encode(piece, &mut self.internal, &mut self.made);
        self.public.clear();
        encoder.publish(&self.internal, &mut self.public);
    }
}

/// Places that encoding `bytes` bytes needs: an id stands for at least one byte, and entries are written whole.
#[must_use]
pub fn room<I: Id>(bytes: usize) -> usize {
    bytes + I::STORED
}

/// Lead bytes E3-E9 begin the kana and the common ideographs: such pieces are clauses and never repeat.
fn begins_with_cjk(piece: &[u8]) -> bool {
    matches!(piece, [0xE3..=0xE9, ..])
}
