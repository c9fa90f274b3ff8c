//! A count table put in the order of its pieces, in place: it needs no memory besides its own.

use super::record::{Record, Source};
use super::table::{CountTable, LongSlot, Slot};
use crate::Result;

impl CountTable {
    /// Moves all entries to the front, by the bytes of their pieces. Until it is cleared the table can only be read, by
    /// [`CountTable::sorted`].
    pub(super) fn sort(&mut self) -> Sorted<'_> {
        to_front(&mut self.slots, |slot| slot.key != 0);
        self.slots[..self.used].sort_unstable_by_key(|slot| slot.key.swap_bytes());
        to_front(&mut self.long_slots, |slot| slot.hash != 0);
        // The place of the hash, of no more use, holds the first bytes: most comparisons need not look into the arena.
        let (arena, long) = (&self.arena, &mut self.long_slots[..self.long_used]);
        for slot in &mut *long {
            slot.hash = slot.piece(arena).first_chunk().map_or(0, |start| u64::from_be_bytes(*start));
        }
        long.sort_unstable_by(|a, b| a.hash.cmp(&b.hash).then_with(|| a.piece(arena).cmp(b.piece(arena))));
        self.sorted()
    }

    /// The entries of a table that was sorted.
    pub(super) fn sorted(&self) -> Sorted<'_> {
        let (short, long) = (&self.slots[..self.used], &self.long_slots[..self.long_used]);
        let next_long = long.first().map(|slot| slot.record(&self.arena));
        Sorted { short, long, arena: &self.arena, next_long }
    }

    /// Gives back what a sorted table does not need, the place for more entries.
    pub(super) fn pack(&mut self) {
        self.slots.keep(self.used);
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

/// Moves the entries that count to the front, in the order in which they stand.
fn to_front<T: Copy + Default>(slots: &mut [T], counts: impl Fn(&T) -> bool) {
    let mut filled = 0;
    for at in 0..slots.len() {
        if counts(&slots[at]) {
            slots.swap(filled, at);
            filled += 1;
        }
    }
}

/// The records of a sorted table: short pieces and long ones, merged.
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
        fn sorts_as_a_map_does(pieces in prop::collection::btree_map(prop::collection::vec(0u8..3, 1..24), 1u64..9, 0..400)) {
            let mut table = CountTable::default();
            pieces.iter().for_each(|(piece, count)| table.add(piece, *count).unwrap());
            let first: Vec<_> = table.sort().map(|record| (record.piece(), record.count)).collect();
            table.pack();
            let packed: BTreeMap<_, _> = table.sorted().map(|record| (record.piece(), record.count)).collect();
            prop_assert_eq!(first, pieces.clone().into_iter().collect::<Vec<_>>());
            prop_assert_eq!(packed, pieces);
        }
    }
}
