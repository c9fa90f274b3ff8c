//! A piece and its count on the way through sorting and merging, and the iterators' common form.
//!
//! Pieces are ordered by their bytes. Most comparisons end in one register: the *head* of a piece is its first 15 bytes, the
//! first one on top, and below them its length, 16 standing for all that is longer. Zeroable-padding does no harm, since a piece
//! that equals the padded start of another is shorter than it, and so comes first by its length.

use crate::Result;
use crate::cache::short_key::{MAX_KEY_BYTES, key_bytes};

/// One piece with its count. Records compare as their pieces do, then by count.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Record {
    pub head: u128,
    /// What follows the first 15 bytes.
    pub tail: Vec<u8>,
    pub count: u64,
}

/// A source of records in ascending order of their pieces, each piece once.
pub(super) trait Source {
    fn next(&mut self) -> Result<Option<Record>>;
}

impl Record {
    /// `key` is that of the whole piece.
    pub fn of_key(key: u128, count: u64) -> Self {
        Self { head: key.swap_bytes(), tail: Vec::new(), count }
    }

    /// `piece` must not be empty.
    pub fn new(piece: &[u8], count: u64) -> Self {
        let (start, tail) = piece.split_at(piece.len().min(MAX_KEY_BYTES));
        let mut head = [0; 16];
        head[..start.len()].copy_from_slice(start);
        head[15] = piece.len().min(MAX_KEY_BYTES + 1) as u8;
        Self { head: u128::from_be_bytes(head), tail: tail.to_vec(), count }
    }

    pub fn same_piece(&self, other: &Self) -> bool {
        self.head == other.head && self.tail == other.tail
    }

    /// Whether the head is the whole piece.
    pub fn short(&self) -> bool {
        self.head as u8 <= MAX_KEY_BYTES as u8
    }

    /// Appends the bytes of the piece.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        let (bytes, length) = unhead(self.head);
        out.extend_from_slice(&bytes[..length]);
        out.extend_from_slice(&self.tail);
    }

    #[cfg(test)]
    pub fn piece(&self) -> Vec<u8> {
        let mut piece = Vec::new();
        self.append_to(&mut piece);
        piece
    }
}

/// The bytes behind a head, and how many of them count.
pub(super) fn unhead(head: u128) -> ([u8; 16], usize) {
    let (bytes, length) = key_bytes(head.swap_bytes());
    (bytes, length.min(MAX_KEY_BYTES))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn records_compare_as_their_pieces(a in prop::collection::vec(0u8..2, 1..20), b in prop::collection::vec(0u8..2, 1..20)) {
            let (left, right) = (Record::new(&a, 7), Record::new(&b, 7));
            prop_assert_eq!(left.cmp(&right), a.cmp(&b));
            prop_assert_eq!(left.same_piece(&right), a == b);
            prop_assert_eq!((left.piece(), left.short()), (a.clone(), a.len() <= MAX_KEY_BYTES));
        }
    }
}
