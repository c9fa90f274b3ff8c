//! `Counts`: what counting gives, and training takes.

use super::pieces::Pieces;
use super::record::Source;
use super::spill::Spills;
use super::table::CountTable;
use super::{Totals, merge::merge};
use crate::pretoken::Pattern;
use crate::{Error, Result};

/// Bytes that [`Counts::columns`] hands out at once, about.
const BLOCK: usize = 1 << 20;

/// TokenSet pieces with their counts, and what else was seen.
pub struct Counts {
    /// The pattern that cut the pieces.
    pub pattern: Pattern,
    /// Sums over the corpus.
    pub totals: Totals,
    /// What went to disk on the way.
    pub spills: Spills,
    pub(super) pieces: Pieces,
}

impl Counts {
    /// Counts that were made elsewhere; repeated pieces add up, empty ones are ignored.
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
        let mut pieces = Pieces::default();
        let sorted: Box<dyn Source> = Box::new(table.sort());
        let mut keep = |record: &_| {
            pieces.push(record);
            Ok(())
        };
        merge(vec![sorted], &mut keep, &mut |_| Ok(()))?;
        let totals = Totals { documents, bytes, pieces: number, ..Totals::default() };
        Ok(Self { pattern, totals, spills: Spills::default(), pieces })
    }

    /// Counts of these sorted pieces.
    pub(super) fn of_pieces(pattern: Pattern, totals: Totals, pieces: Pieces) -> Self {
        Self { pattern, totals, spills: Spills::default(), pieces }
    }

    /// TokenSet pieces.
    #[must_use]
    pub fn distinct(&self) -> usize {
        self.pieces.len()
    }

    /// Calls `visit` with every piece and its count, in the order of their bytes.
    pub fn for_each(&self, visit: impl FnMut(&[u8], u64)) {
        self.pieces.for_each(visit);
    }

    /// All pieces, sorted by their bytes.
    #[must_use]
    pub fn sorted(&self) -> Vec<(Vec<u8>, u64)> {
        let mut items = Vec::with_capacity(self.distinct());
        self.for_each(|piece, count| items.push((piece.to_vec(), count)));
        items
    }

    /// The counts as bytes, the same for the same counts: for each piece, in order, its length as u32, its bytes, its count
    /// as u64, little-endian.
    #[must_use]
    pub fn canonical(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.for_each(|piece, count| {
            out.extend((piece.len() as u32).to_le_bytes());
            out.extend(piece);
            out.extend(count.to_le_bytes());
        });
        out
    }

    /// Calls `visit` with blocks of what a digest of the counts is taken over, in columns: the length of each piece as u32,
    /// then each count as u64, little-endian, then all bytes of the pieces.
    ///
    /// # Errors
    /// What `visit` returns.
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
        let (mut block, mut outcome) = (Vec::with_capacity(BLOCK), Ok(()));
        self.for_each(|piece, count| {
            append(piece, count, &mut block);
            if block.len() >= BLOCK && outcome.is_ok() {
                outcome = visit(&block);
                block.clear();
            }
        });
        outcome.and_then(|()| visit(&block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_hold_what_the_rows_hold() {
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
}
