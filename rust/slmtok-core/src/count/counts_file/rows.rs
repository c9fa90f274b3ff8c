//! Rows in ascending order of their pieces, from wherever they come, and their merging.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::Result;
use crate::count::pieces::{Pieces, PiecesIter};
use crate::count::table::OVERFLOW;

/// A source of rows, each piece once.
pub trait Rows {
    /// The next piece and its counts, in columns of the result; columns that it has nothing for are left as they are, which is
    /// zero. False at the end.
    ///
    /// # Errors
    /// What reading it meets.
    fn next(&mut self, piece: &mut Vec<u8>, row: &mut [u64]) -> Result<bool>;
}

/// Counts in memory, as one column.
pub struct PieceRows<'a> {
    pieces: PiecesIter<'a>,
    column: usize,
    weight: u64,
}

impl<'a> PieceRows<'a> {
    pub fn new(pieces: &'a Pieces, column: usize, weight: u64) -> Self {
        Self { pieces: pieces.iter(), column, weight }
    }
}

impl Rows for PieceRows<'_> {
    fn next(&mut self, piece: &mut Vec<u8>, row: &mut [u64]) -> Result<bool> {
        let Some(count) = self.pieces.next_into(piece) else { return Ok(false) };
        row[self.column] = count.checked_mul(self.weight).ok_or(OVERFLOW)?;
        Ok(true)
    }
}

/// The row of one source that is next in line.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    piece: Vec<u8>,
    source: usize,
    row: Vec<u64>,
}

/// What takes a piece and its row.
pub type Out<'a> = &'a mut dyn FnMut(&[u8], &[u64]) -> Result<()>;

/// Gives every distinct piece of `sources` to `out`, in order and once, with the sums of its counts.
pub fn merge(mut sources: Vec<Box<dyn Rows + '_>>, columns: usize, out: Out<'_>) -> Result<()> {
    let mut heap = BinaryHeap::with_capacity(sources.len());
    for (source, rows) in sources.iter_mut().enumerate() {
        let mut head = Head { piece: Vec::new(), source, row: vec![0; columns] };
        if rows.next(&mut head.piece, &mut head.row)? {
            heap.push(Reverse(head));
        }
    }
    let (mut piece, mut sum) = (Vec::new(), vec![0u64; columns]);
    while let Some(mut top) = heap.peek_mut() {
        let Reverse(head) = &mut *top;
        if head.piece == piece {
            for (sum, count) in sum.iter_mut().zip(&head.row) {
                *sum = sum.checked_add(*count).ok_or(OVERFLOW)?;
            }
        } else {
            if !piece.is_empty() {
                out(&piece, &sum)?;
            }
            std::mem::swap(&mut piece, &mut head.piece);
            sum.copy_from_slice(&head.row);
        }
        head.row.fill(0);
        if !sources[head.source].next(&mut head.piece, &mut head.row)? {
            PeekMut::pop(top);
        }
    }
    if piece.is_empty() { Ok(()) } else { out(&piece, &sum) }
}
