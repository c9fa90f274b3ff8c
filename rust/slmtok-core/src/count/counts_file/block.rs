//! One block: rows of pieces, each told by what it shares with the one before it in the block.
//!
//! A row: how many bytes the piece shares with the one before, how many follow, those bytes, one count for each column;
//! numbers as in [`crate::count::varint`]. The first piece of a block shares nothing. Pieces ascend, and no row is all zeros.

use super::super::varint::{put, take};

/// A block is full when it reaches so many bytes: it exceeds them by less than a row.
pub const BLOCK: usize = 64 << 10;

/// Rows on their way into a block.
#[derive(Default)]
pub struct BlockWriter {
    pub bytes: Vec<u8>,
    pub rows: u32,
    last: Vec<u8>,
}

impl BlockWriter {
    pub fn push(&mut self, piece: &[u8], row: &[u64]) {
        let shared = piece.iter().zip(&self.last).take_while(|(a, b)| a == b).count();
        put(&mut self.bytes, shared as u64);
        put(&mut self.bytes, (piece.len() - shared) as u64);
        self.bytes.extend_from_slice(&piece[shared..]);
        row.iter().for_each(|&count| put(&mut self.bytes, count));
        self.last.truncate(shared);
        self.last.extend_from_slice(&piece[shared..]);
        self.rows += 1;
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.last.clear();
        self.rows = 0;
    }
}

/// Rows on their way out of a block.
#[derive(Default)]
pub struct BlockReader {
    pub bytes: Vec<u8>,
    at: usize,
    pub piece: Vec<u8>,
}

impl BlockReader {
    /// Begins with the first row of `bytes`. The last piece of the block before stays, to be compared with.
    pub fn begin(&mut self) {
        self.at = 0;
    }

    pub fn done(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The next row, its piece in `self.piece`. Nothing where the bytes say what no writer writes.
    pub fn next(&mut self, row: &mut [u64]) -> Option<()> {
        let first = self.at == 0;
        let shared = usize::try_from(take(&self.bytes, &mut self.at)?).ok()?;
        let more = usize::try_from(take(&self.bytes, &mut self.at)?).ok()?;
        let bytes = self.bytes.get(self.at..self.at.checked_add(more)?)?;
        self.at += more;
        if first && shared > 0 || shared > self.piece.len() || bytes <= &self.piece[shared..] {
            return None;
        }
        self.piece.truncate(shared);
        self.piece.extend_from_slice(bytes);
        for count in &mut *row {
            *count = take(&self.bytes, &mut self.at)?;
        }
        row.iter().any(|&count| count > 0).then_some(())
    }
}
