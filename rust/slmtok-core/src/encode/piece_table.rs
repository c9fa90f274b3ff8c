//! The whole-piece table: what a short piece encodes to, remembered.
//!
//! Over 99 % of pieces of prose are answered here, with one hash and one cache line. Keys hold the whole piece, so an answer
//! is never wrong; what the table happens to hold changes the speed, never a result. It grows to a fixed size and is then
//! wiped, so its memory is bounded under any input. Where pieces seldom come again (random letters) it is wiped before it
//! is larger than the caches: to remember more of them would cost more than it saves.

use super::lanes::{Arena, Id};
use crate::pages::filled;
use crate::piece::{fresh_seed, hash};
use crate::prefetch::prefetch;

const FIRST_SLOTS: usize = 1 << 10;
/// 64 MiB of slots.
pub(super) const MAX_SLOTS: usize = 1 << 21;
/// A table of this size (8 MiB) grows only if it has paid,
const MUST_PAY: usize = 1 << 18;
/// which is to have been asked so often for each piece that it holds.
const PAYS: u64 = 4;
/// Spilled ids are rare; this many end a table too.
const MAX_SPILLED: usize = 1 << 22;
/// A longer probe means clustering (hostile input): the next seed. At the load allowed, random keys stay below 150.
const MAX_PROBE: usize = 512;

#[derive(Clone, Copy, Default)]
#[repr(C, align(32))]
struct Slot {
    key: u128,
    entry: u128,
}

/// The table as it lies now: a copy of what a look-up needs, for loops that keep it in registers.
#[derive(Clone, Copy)]
pub struct View<'a> {
    slots: &'a [Slot],
    shift: u32,
    seed: u64,
}

impl View<'_> {
    /// The hash under which `key` is looked up now; asks for the line where that will begin.
    #[inline(always)]
    pub fn prepare(self, key: u128) -> u64 {
        let hash = hash(key, self.seed);
        prefetch(self.slots, (hash >> self.shift) as usize);
        hash
    }

    /// The entry of `key`; 0, which is no entry, if it is not remembered. Nor is [`LONG`], which with a hash below 2^32 is
    /// looked for in the first slots, which are always near: so these pieces need no question of their own in the loop.
    #[inline(always)]
    pub fn get(self, key: u128, hash: u64) -> u128 {
        let mask = self.slots.len() - 1;
        let mut at = (hash >> self.shift) as usize;
        loop {
            let slot = &self.slots[at & mask];
            if slot.key == key {
                return slot.entry;
            }
            if slot.key == 0 {
                return 0;
            }
            at += 1;
        }
    }
}

/// Remembers entries of short pieces.
pub struct PieceTable<I> {
    slots: Vec<Slot>,
    shift: u32,
    used: usize,
    /// Questions since it was empty.
    asked: u64,
    seed: u64,
    max_slots: usize,
    spilled: Arena<I>,
    /// How often everything was forgotten.
    pub wipes: u64,
}

impl<I: Id> PieceTable<I> {
    /// A table of at most `max_slots` slots (a power of two).
    #[must_use]
    pub fn new(max_slots: usize) -> Self {
        let size = FIRST_SLOTS.min(max_slots);
        Self {
            slots: vec![Slot::default(); size],
            shift: 64 - size.trailing_zeros(),
            used: 0,
            asked: 0,
            seed: fresh_seed(),
            max_slots,
            spilled: Arena::default(),
            wipes: 0,
        }
    }

    /// Notes that so many pieces will be looked up.
    #[inline(always)]
    pub fn note(&mut self, pieces: usize) {
        self.asked += pieces as u64;
    }

    /// For looking up.
    #[inline(always)]
    pub fn view(&self) -> View<'_> {
        View { slots: &self.slots, shift: self.shift, seed: self.seed }
    }

    /// The ids of a spilled entry.
    pub fn spilled(&self, entry: u128) -> &[I] {
        self.spilled.ids(entry)
    }

    /// Remembers `ids` for a key that is not there. May forget everything else.
    pub fn insert(&mut self, key: u128, ids: &[I]) {
        if self.used * 8 >= self.slots.len() * 5 {
            self.make_room();
        }
        if self.spilled.len() + ids.len() > MAX_SPILLED {
            self.wipe();
        }
        let entry = self.spilled.entry(ids);
        if !self.place(Slot { key, entry }) {
            // Forgetting under another seed is exact, bounded, and only hostile input meets it.
            self.wipe();
        }
    }

    fn place(&mut self, slot: Slot) -> bool {
        let (mask, home) = (self.slots.len() - 1, (hash(slot.key, self.seed) >> self.shift) as usize);
        let Some(at) = (home..home + MAX_PROBE).find(|at| self.slots[at & mask].key == 0) else { return false };
        self.slots[at & mask] = slot;
        self.used += 1;
        true
    }

    #[cold]
    fn make_room(&mut self) {
        let idle = self.slots.len() >= MUST_PAY && self.asked < PAYS * self.used as u64;
        if idle || self.slots.len() >= self.max_slots {
            return self.wipe();
        }
        let size = (self.slots.len() * 4).min(self.max_slots);
        let old = std::mem::replace(&mut self.slots, filled(Slot::default(), size));
        self.shift = 64 - size.trailing_zeros();
        self.used = 0;
        if !old.iter().filter(|slot| slot.key != 0).all(|slot| self.place(*slot)) {
            self.wipe();
        }
    }

    #[cold]
    fn wipe(&mut self) {
        self.slots.fill(Slot::default());
        self.spilled.clear();
        self.seed = fresh_seed();
        (self.used, self.asked) = (0, 0);
        self.wipes += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::piece::LONG;

    proptest! {
        #[test]
        fn what_is_remembered_is_what_was_put_in(picks in prop::collection::vec((1u128..3000, 1usize..12), 0..4000)) {
            let mut table = PieceTable::<u16>::new(FIRST_SLOTS);
            let ids = |key: u128| (0..key % 11 + 1).map(|k| (key + k) as u16).collect::<Vec<_>>();
            for (key, _) in picks {
                let entry = table.view().get(key, table.view().prepare(key));
                let found = (entry != 0).then(|| {
                    let mut out = [0; 8];
                    match u16::unpack(entry, &mut out) {
                        0 => table.spilled(entry).to_vec(),
                        n => out[..n].to_vec(),
                    }
                });
                match found {
                    Some(found) => prop_assert_eq!(found, ids(key)),
                    None => table.insert(key, &ids(key)),
                }
                prop_assert!(table.slots.len() <= FIRST_SLOTS && table.used * 8 <= table.slots.len() * 5 + 8);
            }
        }
    }

    #[test]
    fn a_full_table_forgets_all_and_a_stale_hash_only_misses() {
        let mut table = PieceTable::<u32>::new(FIRST_SLOTS);
        let stale: Vec<u64> = (1..=FIRST_SLOTS as u128).map(|key| table.view().prepare(key)).collect();
        for key in 1..=FIRST_SLOTS as u128 {
            table.insert(key, &[key as u32; 9]);
        }
        assert_eq!(table.wipes, 1);
        assert!(table.spilled.len() < 9 * FIRST_SLOTS, "what was spilled goes with the slots");
        for (key, hash) in (1..=FIRST_SLOTS as u128).zip(stale) {
            let entry = table.view().get(key, hash);
            assert!(entry == 0 || table.spilled(entry) == [key as u32; 9]);
        }
    }

    #[test]
    fn long_pieces_are_not_there() {
        let mut table = PieceTable::<u32>::new(FIRST_SLOTS);
        for key in 1..=FIRST_SLOTS as u128 / 2 {
            table.insert(key, &[1]);
            assert!((0..1_u64 << 32).step_by(1 << 28).all(|hash| table.view().get(LONG, hash) == 0));
        }
    }

    #[test]
    fn it_grows_to_its_limit_without_forgetting() {
        let mut table = PieceTable::<u16>::new(1 << 14);
        for key in 1..=10_000u128 {
            table.insert(key, &[key as u16]);
        }
        assert_eq!((table.wipes, table.slots.len()), (0, 1 << 14));
        let mut out = [0; 8];
        assert!((1..=10_000u128).all(|key| {
            u16::unpack(table.view().get(key, table.view().prepare(key)), &mut out) == 1 && out[0] == key as u16
        }));
    }
    #[test]
    fn a_large_table_grows_only_if_it_is_asked() {
        for (pieces, slots, wipes) in [(1, MUST_PAY, 3), (8, 4 * MUST_PAY, 0)] {
            let mut table = PieceTable::<u16>::new(MAX_SLOTS);
            for key in 1..=600_000u128 {
                table.note(pieces);
                table.insert(key, &[1]);
            }
            assert_eq!((table.slots.len(), table.wipes), (slots, wipes));
        }
    }
}
