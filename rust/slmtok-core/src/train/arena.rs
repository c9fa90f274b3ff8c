//! The arena: all distinct pieces (*words*) concatenated in one flat array, in which merging happens.
//!
//! `cells[pos].token` is the id of a token at its first and its last byte, [`END`] between words, and [`DEAD`] at a byte that
//! began a token and now lies inside one. So neighbours need no links: the token at `s` is followed by `s + len` and preceded
//! by `s - len_of[cells[s - 1].token]`, because `s - 1` is the last byte of the previous token.

use std::cmp::Reverse;

use super::progress::{Progress, STEPS};
use crate::count::Counts;
use crate::mem::try_with_capacity_huge;
use crate::merges::TokenBytes;
use crate::{Error, Result};

/// Separates words.
pub(super) const END: u32 = u32::MAX;
/// First byte of a token that was merged into the token before it.
pub(super) const DEAD: u32 = u32::MAX - 1;

/// Positions are `u32`.
const MAX_BYTES: u64 = u32::MAX as u64;

/// One byte of a word. Every occurrence reads both fields, so they share a cache line.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    pub token: u32,
    /// Index of the word.
    pub word: u32,
}

pub(super) struct Arena {
    pub cells: Vec<Cell>,
    /// Count of each word.
    pub weight: Vec<u64>,
}

impl Arena {
    /// Lays out the pieces of two bytes or more, the most frequent first for locality, and after them `extra` words of
    /// weight 0. Returns the arena and the start of each extra word.
    pub fn new(counts: &Counts, extra: &[&[u8]], progress: &mut Progress<'_>) -> Result<(Self, Vec<u32>)> {
        let (bytes, words) = checked_size(counts, extra, MAX_BYTES)?;
        let mut text = try_with_capacity_huge(bytes)?;
        let mut order: Vec<(u64, usize, usize)> = try_with_capacity_huge(words)?;
        counts.for_each(|piece, count| {
            if piece.len() > 1 {
                order.push((count, text.len(), piece.len()));
                text.extend_from_slice(piece);
            }
        });
        // Words of one count stay in ascending order of their bytes, as the counts have them.
        order.sort_unstable_by_key(|&(count, start, _)| (Reverse(count), start));
        let mut arena =
            Self { cells: try_with_capacity_huge(bytes + words + 1)?, weight: try_with_capacity_huge(words)? };
        arena.push_end();
        let mut next_report = 0;
        for &(count, start, length) in &order {
            if arena.cells.len() >= next_report {
                progress.report()?;
                next_report = arena.cells.len() + STEPS;
            }
            arena.push_word(&text[start..start + length], count);
        }
        let mut begins = Vec::with_capacity(extra.len());
        for word in extra {
            begins.push(arena.cells.len() as u32);
            arena.push_word(word, 0);
        }
        Ok((arena, begins))
    }

    fn push_word(&mut self, word: &[u8], weight: u64) {
        let index = self.weight.len() as u32;
        self.cells.extend(word.iter().map(|&byte| Cell { token: u32::from(byte), word: index }));
        self.weight.push(weight);
        self.push_end();
    }

    fn push_end(&mut self) {
        self.cells.push(Cell { token: END, word: 0 });
    }

    /// Weight of an occurrence at `pos`.
    #[inline(always)]
    pub fn weight_at(&self, pos: u32) -> u64 {
        self.weight[self.cells[pos as usize].word as usize]
    }
}

/// Total length and number of the words. Fails if a position exceeds 32 bits or a sum of weights could overflow.
fn checked_size(counts: &Counts, extra: &[&[u8]], limit: u64) -> Result<(usize, usize)> {
    let (mut bytes, mut words, mut mass) = (0u64, 0u64, Some(0u64));
    counts.for_each(|piece, count| {
        if piece.len() > 1 {
            bytes += piece.len() as u64;
            words += 1;
            mass = mass.and_then(|mass| count.checked_mul(piece.len() as u64)?.checked_add(mass));
        }
    });
    bytes += extra.iter().map(|word| word.len() as u64).sum::<u64>();
    words += extra.len() as u64;
    mass.filter(|&mass| i64::try_from(mass).is_ok())
        .ok_or(Error::CountOverflow { what: "the sum of count times length over all pieces" })?;
    if bytes + words + 1 >= limit {
        return Err(Error::CorpusTooLarge { bytes, limit });
    }
    Ok((bytes as usize, words as usize))
}

/// Bytes and lengths of the tokens so far; internal ids 0..=255 are the bytes.
pub(super) struct TokenTable {
    bytes: TokenBytes,
    /// Length of each token in bytes, apart from the bytes, because the merge loop reads little else.
    pub len_of: Vec<u32>,
}

impl TokenTable {
    pub fn new() -> Self {
        Self { bytes: TokenBytes::bytes_only(), len_of: vec![1; 256] }
    }

    pub fn bytes(&self, id: u32) -> &[u8] {
        self.bytes.get(id)
    }

    /// Bytes of the concatenation of two tokens.
    pub fn joined(&self, left: u32, right: u32) -> Vec<u8> {
        [self.bytes(left), self.bytes(right)].concat()
    }

    /// Adds the concatenation of two tokens and returns its id.
    pub fn push(&mut self, left: u32, right: u32) -> u32 {
        self.bytes.push_joined(left, right);
        self.len_of.push(self.len_of[left as usize] + self.len_of[right as usize]);
        (self.len_of.len() - 1) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pretoken::Pattern;

    #[test]
    fn layout_and_limit() {
        let items = [(&b"ab"[..], 3), (b"z", 9), (b"cde", 5)];
        let counts = Counts::from_items(Pattern::new("whole").unwrap(), items, 1, 6).unwrap();
        let (arena, begins) = Arena::new(&counts, &[b"xy"], &mut Progress::new(&mut |_, _| Ok(()), 0)).unwrap();
        let ids = |text: &[u8]| text.iter().map(|&byte| u32::from(byte)).collect::<Vec<_>>();
        let toks: Vec<u32> = arena.cells.iter().map(|cell| cell.token).collect();
        assert_eq!(toks, [&[END][..], &ids(b"cde"), &[END], &ids(b"ab"), &[END], &ids(b"xy"), &[END]].concat());
        assert_eq!((begins, arena.weight_at(1), arena.weight_at(5), arena.weight_at(8)), (vec![8], 5, 3, 0));
        assert_eq!(checked_size(&counts, &[b"xy"], 12).unwrap(), (7, 3));
        assert_eq!(checked_size(&counts, &[b"xy"], 11).unwrap_err(), Error::CorpusTooLarge { bytes: 7, limit: 11 });
    }
}
