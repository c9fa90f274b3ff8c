//! One thread's encoder: the hot loop and its caches.
//!
//! Three passes over small arrays: ends of up to 256 pieces from the scanner; keys and hashes, and a word to the memory that
//! their lines will be wanted; probes. Everything unusual (a long piece, a spilled entry, a miss) leaves the third pass
//! through cold functions.

use std::ops::Range;

use super::Encoder;
use super::lanes::Id;
use super::long_cache::LongCache;
use super::piece_table::{MAX_SLOTS, PieceTable};
use crate::Result;
use crate::piece::{MAX_KEY_BYTES, key};
use crate::pretoken::Scanner;

/// Pieces, or parts of them, per round.
const CHUNK: usize = 256;
/// Instead of a key for pieces that have none.
const LONG: u128 = 0;

/// Caches and scratch of one thread. What they hold changes the speed, never a result.
pub struct Worker<I> {
    scanner: Box<dyn Scanner>,
    table: PieceTable<I>,
    long: LongCache<I>,
    /// Of the parts in work: pieces, or what they were cut into. Kept, for clearing them costs more than a short document.
    keys: Box<[u128; CHUNK]>,
    hashes: Box<[u64; CHUNK]>,
    parts: Box<[usize; CHUNK]>,
    /// Ends of pieces from the scanner.
    ends: Box<[usize; CHUNK]>,
    internal: Vec<u32>,
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
            parts: Box::new([0; CHUNK]),
            ends: Box::new([0; CHUNK]),
            internal: Vec::new(),
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
            written += self.encode_pieces(encoder, text, at, mine, &mut out[written..]);
            at = last;
        }
        Ok(written)
    }

    /// The first `n` of `self.ends`, the first piece beginning at `start`.
    fn encode_pieces(&mut self, encoder: &Encoder, text: &[u8], start: usize, n: usize, out: &mut [I]) -> usize {
        let (mut begin, mut done, mut first, mut len, mut written) = (start, 0, start, 0, 0);
        while done < n {
            let taken = self.put_whole(text, begin, done..n, len);
            (done, len) = (done + taken, len + taken);
            if taken > 0 {
                begin = self.ends[done - 1];
            }
            if done < n {
                // The chunk is full, or this piece is better cut.
                let end = self.ends[done];
                while len < CHUNK && begin < end {
                    let part = encoder.model.cuts().map_or(end, |cuts| cuts.next(&text[..end], begin));
                    self.put(text, begin, part, len);
                    (begin, len) = (part, len + 1);
                }
                done += usize::from(begin == end);
            }
            if len == CHUNK || done == n {
                written += self.look_up(encoder, text, first, len, &mut out[written..]);
                (first, len) = (begin, 0);
            }
        }
        written
    }

    /// Puts pieces into the chunk, from place `len` on, until it is full or the next piece is better cut. Returns how many.
    #[inline(always)]
    fn put_whole(&mut self, text: &[u8], start: usize, pieces: Range<usize>, len: usize) -> usize {
        let (mut begin, mut taken) = (start, 0);
        let places = self.keys[len..].iter_mut().zip(&mut self.hashes[len..]).zip(&mut self.parts[len..]);
        for (&end, ((slot, hash), part)) in self.ends[pieces].iter().zip(places) {
            if better_cut(text[begin]) {
                break;
            }
            *slot = if end - begin <= MAX_KEY_BYTES { key(text, begin, end) } else { LONG };
            *hash = self.table.hash(*slot);
            self.table.prefetch(*hash);
            *part = end;
            begin = end;
            taken += 1;
        }
        taken
    }

    /// Puts one part of a piece into the chunk.
    #[inline(always)]
    fn put(&mut self, text: &[u8], begin: usize, end: usize, place: usize) {
        let key = if end - begin <= MAX_KEY_BYTES { key(text, begin, end) } else { LONG };
        let hash = self.table.hash(key);
        self.table.prefetch(hash);
        (self.keys[place], self.hashes[place], self.parts[place]) = (key, hash, end);
    }

    /// The ids of the first `n` parts of the chunk, the first of which begins at `start`.
    fn look_up(&mut self, encoder: &Encoder, text: &[u8], start: usize, n: usize, out: &mut [I]) -> usize {
        let (mut begin, mut len) = (start, 0);
        for at in 0..n {
            let (end, key) = (self.parts[at], self.keys[at]);
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
        if better_cut(piece[0]) {
            // What cannot be cut here is a clause, and does not come again.
            self.merge(encoder, piece);
            return &self.public;
        }
        let hash = self.long.hash(piece);
        if let Some(found) = self.long.get(piece, hash) {
            return self.long.ids(found);
        }
        self.merge(encoder, piece);
        self.long.insert(piece, hash, &self.public);
        &self.public
    }

    fn merge(&mut self, encoder: &Encoder, piece: &[u8]) {
        self.misses += 1;
        encoder.model.encode(piece, &mut self.internal);
        self.public.clear();
        encoder.publish(&self.internal, &mut self.public);
    }
}

/// Places that encoding `bytes` bytes needs: an id stands for at least one byte, and entries are written whole.
#[must_use]
pub fn room<I: Id>(bytes: usize) -> usize {
    bytes + I::STORED
}

/// Whether a piece that begins so is better cut than looked up whole. Lead bytes E3-E9 begin the kana and the common
/// ideographs, EF their punctuation: such pieces are clauses and never repeat.
#[inline(always)]
const fn better_cut(first: u8) -> bool {
    matches!(first, 0xE3..=0xE9 | 0xEF)
}
