//! Writing a body: blocks as they fill, then the index and the sums.

use super::block::{BLOCK, BlockWriter};
use super::{Sink, TOO_MANY};
use crate::{Error, Result};

/// What stands behind the index: how much there is, and how much was left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Different pieces.
    pub distinct: u64,
    /// Pieces of each column, repeats included.
    pub pieces: Vec<u64>,
    /// Different pieces that pruning left out; one may be counted for each of the files it was left out of.
    pub pruned_distinct: u64,
    /// What they counted, in each column.
    pub pruned_pieces: Vec<u64>,
}

impl Sums {
    /// Those of nothing, in `columns` columns.
    #[must_use]
    pub fn new(columns: usize) -> Self {
        Self { pieces: vec![0; columns], pruned_pieces: vec![0; columns], ..Self::default() }
    }

    /// Adds what was left out of a file, whose column i is column `columns[i]` here.
    pub(super) fn add_pruned(&mut self, other: &Self, columns: &[usize]) -> Result<()> {
        self.pruned_distinct = self.pruned_distinct.checked_add(other.pruned_distinct).ok_or(TOO_MANY)?;
        for (&column, &pieces) in columns.iter().zip(&other.pruned_pieces) {
            add(&mut self.pruned_pieces[column], pieces)?;
        }
        Ok(())
    }

    /// The bytes of the sums: little-endian, in the order of the fields, and behind them the number of blocks.
    fn encoded(&self, blocks: u64) -> Vec<u8> {
        let kept = [self.distinct].into_iter().chain(self.pieces.iter().copied());
        let left_out = [self.pruned_distinct].into_iter().chain(self.pruned_pieces.iter().copied());
        kept.chain(left_out).chain([blocks]).flat_map(u64::to_le_bytes).collect()
    }

    /// The sums of `columns` columns in bytes of just their length, and the number of blocks.
    pub(super) fn decoded(bytes: &[u8], columns: usize) -> (Self, u64) {
        let numbers: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|number| u64::from_le_bytes(*number)).collect();
        let pruned = columns + 1;
        let sums = Self {
            distinct: numbers[0],
            pieces: numbers[1..pruned].to_vec(),
            pruned_distinct: numbers[pruned],
            pruned_pieces: numbers[pruned + 1..=pruned + columns].to_vec(),
        };
        (sums, numbers[pruned + columns + 1])
    }

    /// Bytes of the sums of `columns` columns and the number of blocks.
    pub(super) fn length(columns: usize) -> u64 {
        8 * (2 * columns as u64 + 3)
    }
}

/// Adds up numbers of pieces. Fails beyond 64 bits.
pub(super) fn add(sum: &mut u64, more: u64) -> Result<()> {
    *sum = sum.checked_add(more).ok_or(TOO_MANY)?;
    Ok(())
}

/// Takes rows in order, and gives bytes away.
pub(super) struct Writer<'a> {
    least: u64,
    sink: Sink<'a>,
    block: BlockWriter,
    index: Vec<u8>,
    at: u64,
    pub sums: Sums,
}

impl<'a> Writer<'a> {
    pub fn new(columns: usize, least: u64, sink: Sink<'a>) -> Self {
        Self { least, sink, block: BlockWriter::default(), index: Vec::new(), at: 0, sums: Sums::new(columns) }
    }

    /// Adds the row of a piece that comes after all before it, or leaves it out.
    pub fn push(&mut self, piece: &[u8], row: &[u64]) -> Result<()> {
        let mut total = 0u64;
        row.iter().try_for_each(|&count| add(&mut total, count))?;
        let kept = total >= self.least;
        let (distinct, sums) = if kept {
            (&mut self.sums.distinct, &mut self.sums.pieces)
        } else {
            (&mut self.sums.pruned_distinct, &mut self.sums.pruned_pieces)
        };
        add(distinct, 1)?;
        sums.iter_mut().zip(row).try_for_each(|(sum, &count)| add(sum, count))?;
        if kept {
            self.block.push(piece, row);
            if self.block.bytes.len() >= BLOCK {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let length = self.block.bytes.len() as u64;
        if length == 0 {
            return Ok(());
        }
        // A piece beyond 4 GiB does not fit; the trainer could not address it either.
        let limit = u64::from(u32::MAX);
        let short = u32::try_from(length).map_err(|_| Error::CorpusTooLarge { bytes: length, limit })?;
        self.index.extend(self.at.to_le_bytes());
        self.index.extend(short.to_le_bytes());
        self.index.extend(self.block.rows.to_le_bytes());
        (self.sink)(&self.block.bytes)?;
        self.at += length;
        self.block.clear();
        Ok(())
    }

    /// Gives away what is left, the index and the sums.
    pub fn finish(mut self) -> Result<Sums> {
        self.flush()?;
        (self.sink)(&self.index)?;
        (self.sink)(&self.sums.encoded(self.index.len() as u64 / 16))?;
        Ok(self.sums)
    }
}
