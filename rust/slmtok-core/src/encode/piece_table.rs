//! The whole-piece table: what a short piece encodes to, remembered.
//!
//! Over 99 % of pieces of prose are answered here, with one hash and one cache line. Keys hold the whole piece, so an answer
//! is never wrong; what the table happens to hold changes the speed, never a result. It grows to a fixed size and is then
//! wiped, so its memory is bounded under any input.

use super::lanes::{Id, spill, spilled};
use crate::piece::hash;

const FIRST_SLOTS: usize = 1 << 10;
/// 64 MiB of slots.
pub(super) const MAX_SLOTS: usize = 1 << 21;
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

/// Remembers entries of short pieces.
pub struct PieceTable<I> {
    slots: Vec<Slot>,
    shift: u32,
    used: usize,
    seed: u64,
    max_slots: usize,
    spilled: Vec<I>,
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
            seed: 0,
            max_slots,
            spilled: Vec::new(),
            wipes: 0,
        }
    }

    /// The hash under which `key` is looked up now.
    #[inline(always)]
    pub fn hash(&self, key: u128) -> u64 {
        hash(key, self.seed)
    }

    /// The entry of `key`, if it is remembered.
    #[inline(always)]
    pub fn get(&self, key: u128, hash: u64) -> Option<u128> {
        let mask = self.slots.len() - 1;
        let mut at = (hash >> self.shift) as usize;
        loop {
            let slot = &self.slots[at & mask];
            if slot.key == key {
                return Some(slot.entry);
            }
            if slot.key == 0 {
                return None;
            }
            at += 1;
        }
    }

    /// The ids of a spilled entry.
    pub fn spilled(&self, entry: u128) -> &[I] {
        let (offset, count) = spilled(entry);
        &self.spilled[offset..offset + count]
    }

    /// Remembers `ids` for a key that is not there. May forget everything else.
    pub fn insert(&mut self, key: u128, ids: &[I]) {
        if self.used * 8 >= self.slots.len() * 5 {
            self.make_room();
        }
        if self.spilled.len() + ids.len() > MAX_SPILLED {
            self.wipe();
        }
        let entry = if ids.len() <= I::LANES {
            I::pack(ids)
        } else {
            self.spilled.extend_from_slice(ids);
            spill(self.spilled.len() - ids.len(), ids.len())
        };
        if !self.place(Slot { key, entry }) {
            // Forgetting under another seed is exact, bounded, and only hostile input meets it.
            self.wipe();
        }
    }

    fn place(&mut self, slot: Slot) -> bool {
        let (mask, home) = (self.slots.len() - 1, (self.hash(slot.key) >> self.shift) as usize);
        let Some(at) = (home..home + MAX_PROBE).find(|at| self.slots[at & mask].key == 0) else { return false };
        self.slots[at & mask] = slot;
        self.used += 1;
        true
    }

    #[cold]
    fn make_room(&mut self) {
        if self.slots.len() >= self.max_slots {
            return self.wipe();
        }
        let size = (self.slots.len() * 4).min(self.max_slots);
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); size]);
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
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.used = 0;
        self.wipes += 1;
    }
}
