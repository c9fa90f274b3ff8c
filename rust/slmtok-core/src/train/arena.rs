//! All distinct pieces end to end: the flat array in which merging happens.
//!
//! `cells[pos].tok` holds a token's id on its first and on its last byte, [`END`] between words, [`DEAD`] on a byte that once
//! began a token and now lies inside one. Neighbours need no links: right of the token at `s` is `s + len`, left of it
//! `s - len_of[tok[s-1]]`, because `s - 1` is the last byte of the token before.

use crate::count::Counts;
use crate::mem::with_capacity;
use crate::{Error, Result};

/// Between words.
pub(super) const END: u32 = u32::MAX;
/// Where a token began that has been merged into the one before it.
pub(super) const DEAD: u32 = u32::MAX - 1;

/// Positions are `u32`.
const MAX_BYTES: u64 = u32::MAX as u64;

/// One byte of the pieces. Both numbers are wanted for every occurrence, and so stand together.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    pub tok: u32,
    /// Which piece it is in.
    pub word: u32,
}

pub(super) struct Arena {
    pub cells: Vec<Cell>,
    /// How often each piece occurs.
    pub weight: Vec<u64>,
}

impl Arena {
    /// Lays out the pieces of two bytes or more, the most frequent first (they are touched together), and behind them
    /// `extra` words of weight 0. Returns the arena and where each extra word begins.
    pub fn new(counts: &Counts, extra: &[&[u8]]) -> Result<(Self, Vec<u32>)> {
        let (bytes, words) = checked_size(counts, extra, MAX_BYTES)?;
        let mut text = with_capacity(bytes);
        let mut order: Vec<(u64, usize, usize)> = Vec::with_capacity(words);
        counts.for_each(|piece, count| {
            if piece.len() > 1 {
                order.push((count, text.len(), piece.len()));
                text.extend_from_slice(piece);
            }
        });
        order.sort_unstable_by(|a, b| {
            let bytes = |&(_, start, length): &(u64, usize, usize)| &text[start..start + length];
            b.0.cmp(&a.0).then_with(|| bytes(a).cmp(bytes(b)))
        });
        let mut arena = Self { cells: with_capacity(bytes + words + 1), weight: Vec::with_capacity(words) };
        arena.push_end();
        for &(count, start, length) in &order {
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
        self.cells.extend(word.iter().map(|&byte| Cell { tok: u32::from(byte), word: index }));
        self.weight.push(weight);
        self.push_end();
    }

    fn push_end(&mut self) {
        self.cells.push(Cell { tok: END, word: 0 });
    }

    /// What one occurrence at `pos` counts.
    #[inline(always)]
    pub fn weight_at(&self, pos: u32) -> u64 {
        self.weight[self.cells[pos as usize].word as usize]
    }
}

/// Bytes and number of the words, when all positions fit 32 bits and no sum of weights can overflow.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pretoken::Pattern;

    #[test]
    fn the_arena_and_its_limit() {
        let items = [(&b"ab"[..], 3), (b"z", 9), (b"cde", 5)];
        let counts = Counts::from_items(Pattern::new("whole").unwrap(), items, 1, 6).unwrap();
        let (arena, begins) = Arena::new(&counts, &[b"xy"]).unwrap();
        let ids = |text: &[u8]| text.iter().map(|&byte| u32::from(byte)).collect::<Vec<_>>();
        let toks: Vec<u32> = arena.cells.iter().map(|cell| cell.tok).collect();
        assert_eq!(toks, [&[END][..], &ids(b"cde"), &[END], &ids(b"ab"), &[END], &ids(b"xy"), &[END]].concat());
        assert_eq!((begins, arena.weight_at(1), arena.weight_at(5), arena.weight_at(8)), (vec![8], 5, 3, 0));
        assert_eq!(checked_size(&counts, &[b"xy"], 12).unwrap(), (7, 3));
        assert_eq!(checked_size(&counts, &[b"xy"], 11).unwrap_err(), Error::CorpusTooLarge { bytes: 7, limit: 11 });
    }
}
