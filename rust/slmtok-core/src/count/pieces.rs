//! The counts of a corpus when counting is over: all distinct pieces in the order of their bytes, in as little memory as
//! still allows to walk through them at once, 24 bytes for a piece of up to 15.

use super::record::{Record, unhead};
use crate::pages::reserve;

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

/// Distinct pieces with their counts, sorted by bytes.
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

    pub fn len(&self) -> usize {
        self.short.len() + self.long.len()
    }

    /// Calls `visit` with every piece and its count, in order.
    pub fn for_each(&self, mut visit: impl FnMut(&[u8], u64)) {
        let (mut long, mut start) = (self.long.iter().peekable(), 0);
        for short in &self.short {
            let (bytes, length) = unhead(u128::from(short.head[0]) << 64 | u128::from(short.head[1]));
            let piece = &bytes[..length];
            while let Some(next) = long.next_if(|next| self.arena[start..next.end] < *piece) {
                visit(&self.arena[start..next.end], next.count);
                start = next.end;
            }
            visit(piece, short.count);
        }
        for next in long {
            visit(&self.arena[start..next.end], next.count);
            start = next.end;
        }
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
