//! The whole-piece table: what a short piece encodes to, remembered.
//!
//! Over 99 % of pieces of prose are answered here, with one hash and one cache line. Keys hold the whole piece, so an answer
//! is never wrong; what the table happens to hold changes the speed, never a result. It grows to a fixed size and is then
//! wiped, so its memory is bounded under any input. Where pieces seldom come again (random letters) it is wiped before it
//! is larger than the caches: to remember more of them would cost more than it saves.

use super::lanes::{Arena, Entry, Id, NO_ENTRY};
use crate::keys::{KeyHash, KeyLoop, Keyed, Lines, brought_home, search, search_near, shift};
use crate::mem::prefetch;

const FIRST_SLOTS: usize = 1 << 10;
/// 64 MiB of slots.
pub(super) const MAX_SLOTS: usize = 1 << 21;
/// A table of this size (8 MiB) grows only if it has paid, and then by less: fresh memory costs more than putting all in again.
const MUST_PAY: usize = 1 << 18;
/// To have paid is to have been asked so often for each piece that it holds.
pub(super) const PAYS: u64 = 4;
/// Spilled ids are rare; this many end a table too.
const MAX_SPILLED: usize = 1 << 22;

#[derive(Clone, Copy, Default)]
#[repr(C, align(32))]
pub struct Slot {
    key: u128,
    entry: Entry,
}

impl Keyed for Slot {
    #[inline(always)]
    fn key(&self) -> u128 {
        self.key
    }
}

/// Remembers entries of short pieces.
pub struct PieceTable<I> {
    slots: Lines<Slot>,
    used: usize,
    /// Questions since it was empty.
    asked: u64,
    hash: KeyHash,
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
            slots: Lines::new(size),
            used: 0,
            asked: 0,
            hash: KeyHash::fresh(),
            max_slots,
            spilled: Arena::default(),
            wipes: 0,
        }
    }

    /// What it takes, but for spilled ids.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&self.slots[..])
    }

    /// Another that holds the same, and counts anew.
    #[must_use]
    pub fn copied(&self) -> Self {
        Self { slots: self.slots.clone(), spilled: self.spilled.clone(), wipes: 0, ..*self }
    }

    /// Notes that so many pieces will be looked up.
    #[inline(always)]
    pub fn note(&mut self, pieces: usize) {
        self.asked += pieces as u64;
    }

    /// The hash under which keys are looked up now.
    #[inline(always)]
    pub fn hash(&self) -> KeyHash {
        self.hash
    }

    /// Where they will be looked for.
    #[inline(always)]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The entry of `key`, which has this hash; [`super::lanes::NO_ENTRY`] if it is not remembered.
    #[inline]
    pub fn get(&self, key: u128, hash: u64) -> Entry {
        self.slots[search(&self.slots, key, (hash >> shift(self.slots.len())) as usize)].entry
    }

    /// The ids of the pieces with these keys and hashes, up to the first whose entry is spilled or not there. Returns how many
    /// pieces and how many ids they were. `out` must have places for all their ids, and
    /// [`Id::STORED`] besides. Pieces without a key
    /// ([`crate::piece::LONG`]) are never there.
    pub fn known(&mut self, keys: &[u128], hashes: &[u64], out: &mut [I]) -> (usize, usize) {
        self.hash.run(Known { slots: &mut self.slots, hash: self.hash, keys, hashes, out })
    }

    /// Asks for the ids of a spilled entry, and returns how many they are.
    #[inline]
    pub fn ask(&self, entry: Entry) -> usize {
        self.spilled.ask(entry)
    }

    /// Writes the ids of a spilled entry to the begin of `out`, and nothing behind them. Entries are spilled until something is inserted.
    #[inline]
    pub fn copy(&self, entry: Entry, out: &mut [I]) {
        self.spilled.copy(entry, out);
    }

    /// The hash of a key that will be learned; asks for the line where it will be looked for.
    #[inline]
    pub fn prepare(&self, key: u128) -> u64 {
        let hash = self.hash.of(key);
        prefetch(&self.slots, (hash >> shift(self.slots.len())) as usize);
        hash
    }

    /// Remembers `ids` for a key that may be there, if nothing has to be forgotten for it.
    pub fn learn(&mut self, key: u128, ids: &[I]) {
        let forgets = (self.is_full() && !self.may_grow()) || self.spilled.len() + ids.len() > MAX_SPILLED;
        if !forgets && self.get(key, self.hash.of(key)) == NO_ENTRY {
            self.insert(key, ids);
        }
    }

    /// Remembers `ids` for a key that is not there. May forget everything else.
    pub fn insert(&mut self, key: u128, ids: &[I]) {
        if self.is_full() {
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
        let home = (self.hash.of(slot.key) >> shift(self.slots.len())) as usize;
        let Some(at) = search_near(&self.slots, slot.key, home) else { return false };
        self.slots[at] = slot;
        self.used += 1;
        true
    }

    fn is_full(&self) -> bool {
        self.used * 8 >= self.slots.len() * 5
    }

    fn may_grow(&self) -> bool {
        let idle = self.slots.len() >= MUST_PAY && self.asked < PAYS * self.used as u64;
        !idle && self.slots.len() < self.max_slots
    }

    #[cold]
    fn make_room(&mut self) {
        if !self.may_grow() {
            return self.wipe();
        }
        let times = if self.slots.len() < MUST_PAY { 4 } else { 2 };
        let size = (self.slots.len() * times).min(self.max_slots);
        let old = std::mem::replace(&mut self.slots, Lines::new(size));
        self.used = 0;
        if !old.iter().filter(|slot| slot.key != 0).all(|slot| self.place(*slot)) {
            self.wipe();
        }
    }

    #[cold]
    fn wipe(&mut self) {
        self.slots.fill(Slot::default());
        self.spilled.clear();
        self.hash = KeyHash::fresh();
        (self.used, self.asked) = (0, 0);
        self.wipes += 1;
    }
}

/// [`PieceTable::known`]. Nothing here can move the table.
struct Known<'a, I> {
    slots: &'a mut [Slot],
    hash: KeyHash,
    keys: &'a [u128],
    hashes: &'a [u64],
    out: &'a mut [I],
}

impl<I: Id> KeyLoop for Known<'_, I> {
    type Found = (usize, usize);

    #[inline(always)]
    fn run(self) -> (usize, usize) {
        let Self { slots, hash: way, keys, hashes, out } = self;
        assert!(out.len() >= I::STORED, "no room for an entry");
        let (mask, by, last) = (slots.len() - 1, shift(slots.len()), out.len() - I::STORED);
        let (mut pieces, mut ids) = (0, 0);
        for (&key, &hash) in keys.iter().zip(hashes) {
            let home = (hash >> by) as usize;
            let at = if slots[home & mask].key == key { home } else { brought_home(slots, way, key, hash) };
            // One comparison; to take what is left, and to ask how much that is, would be two.
            assert!(ids <= last, "no room for an entry");
            let written = I::unpack(slots[at & mask].entry, &mut out[ids..]);
            if written == 0 {
                break;
            }
            ids += written;
            pieces += 1;
        }
        (pieces, ids)
    }
}

#[cfg(test)]
#[path = "piece_table_tests.rs"]
mod tests;
