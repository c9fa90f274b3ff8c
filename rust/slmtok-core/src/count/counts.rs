//! `Counts`: the result of counting and the input of training.

use memchr::memmem::Finder;

use super::Totals;
use super::sorted::{Record, Source, head_bytes, merge};
use super::spill::SpillStats;
use super::table::CountTable;
use crate::cache::short_key::MAX_KEY_BYTES;
use crate::mem::try_reserve_huge;
use crate::pretoken::Pattern;
use crate::{Error, Result};

/// Approximate size of a block of [`Counts::columns`].
const BLOCK_BYTES: usize = 1 << 20;

/// A piece and its count.
pub type Counted = (Vec<u8>, u64);

/// Distinct pieces with their counts, and totals of the corpus.
pub struct Counts {
    /// The pattern that produced the pieces.
    pub pattern: Pattern,
    /// Totals of the corpus.
    pub totals: Totals,
    /// Data spilled to disk while counting.
    pub spills: SpillStats,
    pub(super) pieces: SortedPieces,
}

impl Counts {
    /// Counts from (piece, count) pairs. Counts of equal pieces are added; empty pieces are ignored.
    ///
    /// # Errors
    /// A count that exceeds 64 bits.
    pub fn from_items<'a>(
        pattern: Pattern,
        items: impl IntoIterator<Item = (&'a [u8], u64)>,
        documents: u64,
        bytes: u64,
    ) -> Result<Self> {
        let (mut table, mut number) = (CountTable::default(), 0u64);
        for (piece, count) in items {
            if !piece.is_empty() && count > 0 {
                table.add(piece, count)?;
                number = number.checked_add(count).ok_or(Error::CountOverflow { what: "the number of pieces" })?;
            }
        }
        let mut pieces = SortedPieces::default();
        let sorted: Box<dyn Source> = Box::new(table.sort());
        merge(vec![sorted], &mut |record| pieces.push(record), &mut |_| Ok(()))?;
        let totals = Totals { documents, bytes, pieces: number, ..Totals::default() };
        Ok(Self { pattern, totals, spills: SpillStats::default(), pieces })
    }

    pub(super) fn from_sorted(pattern: Pattern, totals: Totals, pieces: SortedPieces) -> Self {
        Self { pattern, totals, spills: SpillStats::default(), pieces }
    }

    /// Number of distinct pieces.
    #[must_use]
    pub fn distinct(&self) -> usize {
        self.pieces.len()
    }

    /// Calls `visit` with every piece and its count, in ascending order of the bytes.
    pub fn for_each(&self, visit: impl FnMut(&[u8], u64)) {
        self.pieces.for_each(visit);
    }

    /// How often `needle` occurs in the corpus, occurrences that cross pieces not counted.
    #[must_use]
    pub fn occurrences(&self, needle: &[u8]) -> u64 {
        let (finder, mut found) = (Finder::new(needle), 0);
        self.for_each(|piece, count| found += finder.find_iter(piece).count() as u64 * count);
        found
    }

    /// All pieces with their counts, in ascending order of the bytes.
    #[must_use]
    pub fn sorted(&self) -> Vec<Counted> {
        let mut items = Vec::with_capacity(self.distinct());
        self.for_each(|piece, count| items.push((piece.to_vec(), count)));
        items
    }

    /// Calls `visit` with up to `n` pieces and their counts at a time, in ascending order of the bytes.
    ///
    /// # Errors
    /// Errors of `visit`.
    pub fn blocks(&self, n: usize, visit: &mut dyn FnMut(&[Counted]) -> Result<()>) -> Result<()> {
        let (mut block, mut outcome) = (Vec::new(), Ok(()));
        self.for_each(|piece, count| {
            if outcome.is_ok() {
                block.push((piece.to_vec(), count));
                if block.len() >= n {
                    outcome = visit(&block);
                    block.clear();
                }
            }
        });
        outcome?;
        if block.is_empty() { Ok(()) } else { visit(&block) }
    }

    /// Canonical serialisation: for each piece in order its length (u32), its bytes and its count (u64), little-endian.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a piece is shorter than 4 GiB: no counts file and no trainer takes a longer one"
    )]
    pub fn canonical(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.for_each(|piece, count| {
            out.extend((piece.len() as u32).to_le_bytes());
            out.extend(piece);
            out.extend(count.to_le_bytes());
        });
        out
    }

    /// Calls `visit` with blocks of the columnar serialisation over which digests are computed: all lengths (u32), all counts
    /// (u64), all bytes, little-endian.
    ///
    /// # Errors
    /// Errors of `visit`.
    #[expect(clippy::cast_possible_truncation, reason = "as for `canonical`")]
    pub fn columns(&self, visit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.column(visit, |piece, _, out| out.extend((piece.len() as u32).to_le_bytes()))?;
        self.column(visit, |_, count, out| out.extend(count.to_le_bytes()))?;
        self.column(visit, |piece, _, out| out.extend_from_slice(piece))
    }

    fn column(
        &self,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
        append: impl Fn(&[u8], u64, &mut Vec<u8>),
    ) -> Result<()> {
        let (mut block, mut outcome) = (Vec::with_capacity(BLOCK_BYTES), Ok(()));
        self.for_each(|piece, count| {
            append(piece, count, &mut block);
            if block.len() >= BLOCK_BYTES && outcome.is_ok() {
                outcome = visit(&block);
                block.clear();
            }
        });
        outcome.and_then(|()| visit(&block))
    }
}

/// A piece of at most 15 bytes. The head is split in two, because the alignment of a u128 would add 8 bytes.
struct Short {
    head: [u64; 2],
    count: u64,
}

struct Long {
    /// End of its bytes in the arena; they begin at the end of the previous long piece.
    end: usize,
    count: u64,
}

/// The upper and the lower half.
#[expect(clippy::cast_possible_truncation, reason = "each half has 64 bits")]
fn halves(head: u128) -> [u64; 2] {
    [(head >> 64) as u64, head as u64]
}

/// Distinct pieces with their counts, in ascending order of the bytes. A piece of at most 15 bytes takes 24 bytes.
#[derive(Default)]
pub(super) struct SortedPieces {
    short: Vec<Short>,
    long: Vec<Long>,
    arena: Vec<u8>,
}

impl SortedPieces {
    /// Appends a record that is greater than all before it.
    ///
    /// # Errors
    /// [`Error::NoMemory`].
    pub fn push(&mut self, record: &Record) -> Result<()> {
        if record.is_short() {
            try_reserve_huge(&mut self.short, 1)?;
            self.short.push(Short { head: halves(record.head), count: record.count });
        } else {
            try_reserve_huge(&mut self.arena, record.tail.len() + 16)?;
            try_reserve_huge(&mut self.long, 1)?;
            record.append_to(&mut self.arena);
            self.long.push(Long { end: self.arena.len(), count: record.count });
        }
        Ok(())
    }

    /// Memory that a piece takes.
    pub fn bytes_of(piece: &[u8]) -> u64 {
        let is_short = piece.len() <= MAX_KEY_BYTES;
        (if is_short { size_of::<Short>() } else { piece.len() + size_of::<Long>() }) as u64
    }

    pub fn push_piece(&mut self, piece: &[u8], count: u64) -> Result<()> {
        self.push(&Record::new(piece, count))
    }

    pub fn len(&self) -> usize {
        self.short.len() + self.long.len()
    }

    pub fn iter(&self) -> PiecesIter<'_> {
        PiecesIter { short: &self.short, long: &self.long, arena: &self.arena, start: 0 }
    }

    pub fn for_each(&self, mut visit: impl FnMut(&[u8], u64)) {
        let (mut iter, mut short) = (self.iter(), ([0; 16], 0));
        while let Some((long, count)) = iter.step(&mut short) {
            visit(long.unwrap_or(&short.0[..short.1]), count);
        }
    }
}

/// An iterator over [`SortedPieces`] that merges short and long pieces.
pub(super) struct PiecesIter<'a> {
    short: &'a [Short],
    long: &'a [Long],
    arena: &'a [u8],
    /// Start of the next long piece in the arena.
    start: usize,
}

impl<'a> PiecesIter<'a> {
    /// Copies the next piece into `piece` and returns its count.
    pub fn next_into(&mut self, piece: &mut Vec<u8>) -> Option<u64> {
        let mut short = ([0; 16], 0);
        let (long, count) = self.step(&mut short)?;
        piece.clear();
        piece.extend_from_slice(long.unwrap_or(&short.0[..short.1]));
        Some(count)
    }

    /// The next piece and its count. A long piece is returned; a short one is written to `short` with its length.
    #[inline]
    fn step(&mut self, short: &mut ([u8; 16], usize)) -> Option<(Option<&'a [u8]>, u64)> {
        if let Some((first, rest)) = self.short.split_first() {
            *short = head_bytes(u128::from(first.head[0]) << 64 | u128::from(first.head[1]));
            let long_first =
                self.long.first().is_some_and(|long| self.arena[self.start..long.end] < short.0[..short.1]);
            if !long_first {
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

    #[test]
    fn columns_equal_rows() {
        let words: Vec<String> = (0..300_000).map(|n| format!("{n:05}{}", "x".repeat(n % 13))).collect();
        let items = words.iter().zip(1..).map(|(word, count)| (word.as_bytes(), count));
        let counts = Counts::from_items(Pattern::new("whole").unwrap(), items, 1, 0).unwrap();
        let (mut lengths, mut numbers, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        counts.for_each(|piece, count| {
            lengths.extend((piece.len() as u32).to_le_bytes());
            numbers.extend(count.to_le_bytes());
            bytes.extend_from_slice(piece);
        });
        let mut seen = Vec::new();
        let mut blocks = 0;
        let mut visit = |block: &[u8]| {
            seen.extend_from_slice(block);
            blocks += 1;
            Ok(())
        };
        counts.columns(&mut visit).unwrap();
        assert!(seen == [lengths, numbers, bytes].concat() && blocks > 5);
        assert_eq!(counts.columns(&mut |_| Err(Error::Interrupted)), Err(Error::Interrupted));
    }
    proptest! {
        #[test]
        fn sorted_pieces_round_trip(pieces in prop::collection::btree_map(prop::collection::vec(0u8..3, 1..24), 1u64..9, 0..400)) {
            let mut all = SortedPieces::default();
            pieces.iter().for_each(|(piece, count)| all.push(&Record::new(piece, *count)).unwrap());
            let mut read = Vec::new();
            all.for_each(|piece, count| read.push((piece.to_vec(), count)));
            prop_assert_eq!(all.len(), pieces.len());
            prop_assert_eq!(read, pieces.into_iter().collect::<Vec<_>>());
        }
    }
}
