//! Sorted streams of (piece, count) records and their k-way merge.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::table::{CountTable, LongSlot, OVERFLOW, Slot};
use crate::cache::short_key::{MAX_KEY_BYTES, key_bytes};
use crate::{Error, Result};

/// A piece with its count. Records compare by the bytes of their pieces, then by count.
///
/// Most comparisons need only the *head*: the first 15 bytes, big-endian and zero-padded, and in the lowest byte the length,
/// 16 for all longer pieces. Padding keeps the order: a piece that equals the padded prefix of another is shorter, and the
/// length byte sorts it first.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Record {
    pub head: u128,
    /// Bytes after the first 15.
    pub tail: Vec<u8>,
    pub count: u64,
}

/// A source of records with ascending, distinct pieces.
pub(super) trait Source {
    fn next(&mut self) -> Result<Option<Record>>;
}

impl Record {
    /// `key` is the short key of the piece.
    pub fn of_key(key: u128, count: u64) -> Self {
        Self { head: key.swap_bytes(), tail: Vec::new(), count }
    }

    /// `piece` must not be empty.
    #[expect(clippy::cast_possible_truncation, reason = "the length byte is at most 16")]
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
    #[expect(clippy::cast_possible_truncation, reason = "the lowest byte is the length")]
    pub fn is_short(&self) -> bool {
        self.head as u8 <= MAX_KEY_BYTES as u8
    }

    pub fn append_to(&self, out: &mut Vec<u8>) {
        let (bytes, length) = head_bytes(self.head);
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

/// The bytes of a head, and how many of them are valid.
pub(super) fn head_bytes(head: u128) -> ([u8; 16], usize) {
    let (bytes, length) = key_bytes(head.swap_bytes());
    (bytes, length.min(MAX_KEY_BYTES))
}

/// Records between two progress reports.
const REPORT_INTERVAL: u64 = 1 << 14;

/// K-way merge: passes every distinct piece of `sources` to `out`, in ascending order, with the sum of its counts. `report`
/// receives the number of records merged so far.
///
/// # Errors
/// A sum that exceeds 64 bits, and errors of the sources, of `out` and of `report`.
pub(super) fn merge<'a>(
    mut sources: Vec<Box<dyn Source + 'a>>,
    out: &mut dyn FnMut(&Record) -> Result<()>,
    report: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    let mut heap = BinaryHeap::with_capacity(sources.len());
    for (index, source) in sources.iter_mut().enumerate() {
        if let Some(record) = source.next()? {
            heap.push(Reverse((record, index)));
        }
    }
    let (mut current, mut merged) = (None::<Record>, 0);
    while let Some(mut top) = heap.peek_mut() {
        let record = match sources[top.0.1].next()? {
            Some(next) => std::mem::replace(&mut top.0.0, next),
            None => PeekMut::pop(top).0.0,
        };
        match &mut current {
            Some(sum) if sum.same_piece(&record) => {
                sum.count = sum.count.checked_add(record.count).ok_or(OVERFLOW)?;
            }
            _ => {
                if let Some(done) = current.replace(record) {
                    out(&done)?;
                }
            }
        }
        merged += 1;
        if merged % REPORT_INTERVAL == 0 {
            report(merged)?;
        }
    }
    current.as_ref().map_or(Ok::<(), Error>(()), out)
}

impl CountTable {
    /// Sorts the entries in place, at the front of the slots, without extra memory. Until the table is cleared it is
    /// readable by [`CountTable::sorted`] only.
    pub(super) fn sort(&mut self) -> Sorted<'_> {
        compact(&mut self.slots, |slot| slot.key != 0);
        self.slots[..self.used].sort_unstable_by_key(|slot| slot.key.swap_bytes());
        compact(&mut self.long_slots, |slot| slot.hash != 0);
        // The hash is no longer needed. Its field holds the first 8 bytes, so that most comparisons skip the arena.
        let (arena, long) = (&self.arena, &mut self.long_slots[..self.long_used]);
        for slot in &mut *long {
            slot.hash = slot.piece(arena).first_chunk().map_or(0, |start| u64::from_be_bytes(*start));
        }
        long.sort_unstable_by(|a, b| a.hash.cmp(&b.hash).then_with(|| a.piece(arena).cmp(b.piece(arena))));
        self.sorted()
    }

    /// The entries of a table after [`CountTable::sort`].
    pub(super) fn sorted(&self) -> Sorted<'_> {
        let (short, long) = (&self.slots[..self.used], &self.long_slots[..self.long_used]);
        let next_long = long.first().map(|slot| slot.record(&self.arena));
        Sorted { short, long, arena: &self.arena, next_long }
    }

    /// Frees the empty slots of a sorted table.
    pub(super) fn shrink(&mut self) {
        self.slots.truncate(self.used);
        self.long_slots.truncate(self.long_used);
        self.long_slots.shrink_to_fit();
    }
}

impl LongSlot {
    fn piece<'a>(&self, arena: &'a [u8]) -> &'a [u8] {
        &arena[self.offset..self.offset + self.length]
    }

    fn record(&self, arena: &[u8]) -> Record {
        Record::new(self.piece(arena), self.count)
    }
}

/// Moves the used slots to the front, in their order.
fn compact<T: Copy + Default>(slots: &mut [T], is_used: impl Fn(&T) -> bool) {
    let mut filled = 0;
    for at in 0..slots.len() {
        if is_used(&slots[at]) {
            slots.swap(filled, at);
            filled += 1;
        }
    }
}

/// The records of a sorted table: short and long pieces, merged.
pub(super) struct Sorted<'a> {
    short: &'a [Slot],
    long: &'a [LongSlot],
    arena: &'a [u8],
    next_long: Option<Record>,
}

impl Iterator for Sorted<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        let short = self.short.first().map(|slot| slot.key.swap_bytes());
        match (short, &self.next_long) {
            (Some(head), Some(long)) if head > long.head => self.take_long(),
            (Some(_), _) => {
                let (slot, rest) = self.short.split_first()?;
                self.short = rest;
                Some(Record::of_key(slot.key, slot.count))
            }
            (None, _) => self.take_long(),
        }
    }
}

impl Sorted<'_> {
    fn take_long(&mut self) -> Option<Record> {
        let (_, rest) = self.long.split_first()?;
        self.long = rest;
        std::mem::replace(&mut self.next_long, rest.first().map(|slot| slot.record(self.arena)))
    }
}

impl Source for Sorted<'_> {
    fn next(&mut self) -> Result<Option<Record>> {
        Ok(Iterator::next(self))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn records_compare_like_their_pieces(a in prop::collection::vec(0u8..2, 1..20), b in prop::collection::vec(0u8..2, 1..20)) {
            let (left, right) = (Record::new(&a, 7), Record::new(&b, 7));
            prop_assert_eq!(left.cmp(&right), a.cmp(&b));
            prop_assert_eq!(left.same_piece(&right), a == b);
            prop_assert_eq!((left.piece(), left.is_short()), (a.clone(), a.len() <= MAX_KEY_BYTES));
        }

        #[test]
        fn sorting_equals_an_ordered_map(pieces in prop::collection::btree_map(prop::collection::vec(0u8..3, 1..24), 1u64..9, 0..400)) {
            let mut table = CountTable::default();
            pieces.iter().for_each(|(piece, count)| table.add(piece, *count).unwrap());
            let first: Vec<_> = table.sort().map(|record| (record.piece(), record.count)).collect();
            table.shrink();
            let shrunk: BTreeMap<_, _> = table.sorted().map(|record| (record.piece(), record.count)).collect();
            prop_assert_eq!(first, pieces.clone().into_iter().collect::<Vec<_>>());
            prop_assert_eq!(shrunk, pieces);
        }
    }
}
