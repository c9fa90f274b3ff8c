//! The counts of a corpus when counting is over: all distinct pieces in the order of their bytes, in as little memory as
//! still allows to walk through them at once, 24 bytes for a piece of up to 15.

use super::record::{Record, unhead};
use crate::mem::reserve;

/// A piece of up to 15 bytes: the two halves of its head, which alone would be aligned to 16, and its count.
struct Short {
    head: [u64; 2],
    count: u64,
}

struct Long {
    /// Where its bytes end in the arena; they begin where those of the long piece before it end.
    end: usize,
    count: u64,
}

/// TokenSet pieces with their counts, sorted by bytes.
#[derive(Default)]
pub(super) struct Pieces {
    short: Vec<Short>,
    long: Vec<Long>,
    arena: Vec<u8>,
}

impl Pieces {
    /// Adds a record that comes after all that are here.
    pub fn push(&mut self, record: &Record) {
        if record.short() {
            reserve(&mut self.short, 1);
            self.short.push(Short { head: [(record.head >> 64) as u64, record.head as u64], count: record.count });
        } else {
            reserve(&mut self.arena, record.tail.len() + 16);
            record.append_to(&mut self.arena);
            self.long.push(Long { end: self.arena.len(), count: record.count });
        }
    }

    /// The same for a piece as it is.
    pub fn push_piece(&mut self, piece: &[u8], count: u64) {
        self.push(&Record::new(piece, count));
    }

    pub fn len(&self) -> usize {
        self.short.len() + self.long.len()
    }

    /// All pieces and their counts, in order.
    pub fn iter(&self) -> PiecesIter<'_> {
        PiecesIter { short: &self.short, long: &self.long, arena: &self.arena, start: 0 }
    }

    /// Calls `visit` with every piece and its count, in order.
    pub fn for_each(&self, mut visit: impl FnMut(&[u8], u64)) {
        let (mut iter, mut short) = (self.iter(), ([0; 16], 0));
        while let Some((long, count)) = iter.step(&mut short) {
            visit(long.unwrap_or(&short.0[..short.1]), count);
        }
    }
}

/// A walk over [`Pieces`].
pub(super) struct PiecesIter<'a> {
    short: &'a [Short],
    long: &'a [Long],
    arena: &'a [u8],
    /// Where the next long piece begins in the arena.
    start: usize,
}

impl<'a> PiecesIter<'a> {
    /// Puts the next piece into `piece` and returns its count.
    pub fn next_into(&mut self, piece: &mut Vec<u8>) -> Option<u64> {
        let mut short = ([0; 16], 0);
        let (long, count) = self.step(&mut short)?;
        piece.clear();
        piece.extend_from_slice(long.unwrap_or(&short.0[..short.1]));
        Some(count)
    }

    /// The count of the next piece, and the piece if it is a long one; a short one is left in `short`, with its length.
    #[inline]
    fn step(&mut self, short: &mut ([u8; 16], usize)) -> Option<(Option<&'a [u8]>, u64)> {
        if let Some((first, rest)) = self.short.split_first() {
            *short = unhead(u128::from(first.head[0]) << 64 | u128::from(first.head[1]));
            let before = self.long.first().is_some_and(|long| self.arena[self.start..long.end] < short.0[..short.1]);
            if !before {
                self.short = rest;
                return Some((None, first.count));
            }
        }
        let (next, rest) = self.long.split_first()?;
        let piece = &self.arena[self.start..next.end];
        (self.long, self.start) = (rest, next.end);
        Some((Some(piece), next.count))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn gives_back_what_came_in(pieces in prop::collection::btree_map(prop::collection::vec(0u8..3, 1..24), 1u64..9, 0..400)) {
            let mut all = Pieces::default();
            pieces.iter().for_each(|(piece, count)| all.push(&Record::new(piece, *count)));
            let mut seen = Vec::new();
            all.for_each(|piece, count| seen.push((piece.to_vec(), count)));
            prop_assert_eq!(all.len(), pieces.len());
            prop_assert_eq!(seen, pieces.into_iter().collect::<Vec<_>>());
        }
    }
}
