//! The whole-piece table: what a short piece encodes to, remembered.
//!
//! Over 99 % of pieces of prose are answered here, with one hash and one cache line. Keys hold the whole piece, so an answer
//! is never wrong; what the table happens to hold changes the speed, never a result. It grows to a fixed size and is then
//! wiped, so its memory is bounded under any input. Where pieces seldom come again (random letters) it is wiped before it
//! is larger than the caches: to remember more of them would cost more than it saves.

use super::hash::{KeyHash, KeyLoop, Keyed, LineSlots, probe_bounded, search, shift, swap_to_home};
use super::packed_ids::{Arena, Entry, Id, NO_ENTRY};
use crate::mem::prefetch;

const FIRST_SLOTS: usize = 1 << 10;
/// 64 MiB of slots.
pub const MAX_SLOTS: usize = 1 << 21;
/// A table of this size (8 MiB) grows only if it has paid, and then by less: fresh memory costs more than putting all in again.
const MUST_PAY: usize = 1 << 18;
/// To have paid is to have been asked so often for each piece that it holds.
pub const PAYS: u64 = 4;
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
    slots: LineSlots<Slot>,
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
            slots: LineSlots::new(size),
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

    /// The entry of `key`, which has this hash; [`NO_ENTRY`] if it is not remembered.
    #[inline]
    pub fn get(&self, key: u128, hash: u64) -> Entry {
        self.slots[search(&self.slots, key, (hash >> shift(self.slots.len())) as usize)].entry
    }

    /// The ids of the pieces with these keys and hashes, up to the first whose entry is spilled or not there. Returns how many
    /// pieces and how many ids they were. `out` must have places for all their ids, and
    /// [`Id::STORE_LEN`] besides. Pieces without a key
    /// ([`crate::cache::short_key::NO_KEY`]) are never there.
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
        let Some(at) = probe_bounded(&self.slots, slot.key, home) else { return false };
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
        let old = std::mem::replace(&mut self.slots, LineSlots::new(size));
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
        assert!(out.len() >= I::STORE_LEN, "no room for an entry");
        let (mask, by, last) = (slots.len() - 1, shift(slots.len()), out.len() - I::STORE_LEN);
        let (mut pieces, mut ids) = (0, 0);
        for (&key, &hash) in keys.iter().zip(hashes) {
            let home = (hash >> by) as usize;
            let at = if slots[home & mask].key == key { home } else { swap_to_home(slots, way, key, hash) };
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cache::short_key::NO_KEY;

    fn ids(key: u128) -> Vec<u16> {
        (0..key % 11 + 1).map(|k| (key + k) as u16).collect()
    }

    /// What the table says of a key, asked as the hot loop asks.
    fn asked(table: &mut PieceTable<u16>, key: u128) -> Option<Vec<u16>> {
        let (hash, mut out) = (table.hash().of(key), [0; 8]);
        let (pieces, n) = table.known(&[key], &[hash], &mut out);
        if pieces == 1 {
            return Some(out[..n].to_vec());
        }
        let entry = table.get(key, hash);
        (entry != NO_ENTRY).then(|| table.spilled.ids(entry).to_vec())
    }

    proptest! {
        #[test]
        fn what_is_remembered_is_what_was_put_in(picks in prop::collection::vec(1u128..3000, 0..4000)) {
            let mut table = PieceTable::<u16>::new(FIRST_SLOTS);
            for key in picks {
                match asked(&mut table, key) {
                    Some(found) => prop_assert_eq!(found, ids(key)),
                    None => table.insert(key, &ids(key)),
                }
                prop_assert!(table.slots.len() <= FIRST_SLOTS && table.used * 8 <= table.slots.len() * 5 + 8);
            }
        }

        #[test]
        fn keys_that_change_places_are_all_still_there(picks in prop::collection::vec(1u128..600, 0..4000)) {
            let mut table = PieceTable::<u16>::new(FIRST_SLOTS);
            (1..600).for_each(|key| table.insert(key, &ids(key)));
            for key in picks {
                prop_assert_eq!(asked(&mut table, key), Some(ids(key)));
                let home = (table.hash().of(key) >> shift(table.slots.len())) as usize;
                prop_assert!(ids(key).len() > 7 || table.slots[home].key == key, "not at home after it was asked for");
            }
            prop_assert_eq!((table.wipes, table.used), (0, 599));
            prop_assert!((1..600).all(|key| asked(&mut table, key) == Some(ids(key))));
        }
    }

    #[test]
    fn a_full_table_forgets_all_and_a_stale_hash_only_misses() {
        let mut table = PieceTable::<u32>::new(FIRST_SLOTS);
        let stale: Vec<u64> = (1..=FIRST_SLOTS as u128).map(|key| table.hash().of(key)).collect();
        for key in 1..=FIRST_SLOTS as u128 {
            table.insert(key, &[key as u32; 9]);
        }
        assert_eq!(table.wipes, 1);
        assert!(table.spilled.len() < 9 * FIRST_SLOTS, "what was spilled goes with the slots");
        for (key, hash) in (1..=FIRST_SLOTS as u128).zip(stale) {
            let entry = table.get(key, hash);
            assert!(entry == NO_ENTRY || table.spilled.ids(entry) == [key as u32; 9]);
        }
    }

    #[test]
    fn a_copy_holds_the_same_and_goes_its_own_way() {
        let mut table = PieceTable::<u16>::new(1 << 14);
        (1..3000).for_each(|key| table.insert(key, &ids(key)));
        let mut copy = table.copied();
        (3000..6000).for_each(|key| copy.insert(key, &ids(key)));
        assert!((1..3000).all(|key| asked(&mut table, key) == Some(ids(key))));
        assert!((1..6000).all(|key| asked(&mut copy, key) == Some(ids(key))));
        assert!((3000..6000).all(|key| asked(&mut table, key).is_none()));
    }

    #[test]
    fn long_pieces_are_not_there() {
        let mut table = PieceTable::<u32>::new(FIRST_SLOTS);
        for key in 1..=FIRST_SLOTS as u128 / 2 {
            table.insert(key, &[1]);
            assert!((0..1_u64 << 32).step_by(1 << 28).all(|hash| table.get(NO_KEY, hash) == NO_ENTRY));
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
        assert!(
            (1..=10_000u128).all(|key| {
                u16::unpack(table.get(key, table.hash().of(key)), &mut out) == 1 && out[0] == key as u16
            })
        );
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

    #[test]
    fn what_is_learned_is_put_in_once_and_wipes_nothing() {
        let mut table = PieceTable::<u16>::new(FIRST_SLOTS);
        for key in (1..=FIRST_SLOTS as u128).chain(1..=FIRST_SLOTS as u128) {
            table.learn(key, &ids(key));
        }
        let room = FIRST_SLOTS * 5 / 8;
        assert_eq!((table.used, table.wipes, table.slots.len()), (room, 0, FIRST_SLOTS));
        let spilled = (1..=room as u128).map(|key| ids(key).len()).filter(|&n| n > u16::INLINE_IDS).sum::<usize>();
        assert_eq!(table.spilled.len(), spilled);
        assert!((1..=room as u128).all(|key| asked(&mut table, key) == Some(ids(key))));
    }

    #[test]
    fn every_way_to_hash_finds_many_keys_at_once() {
        for hash in KeyHash::all_backends() {
            let mut table = PieceTable::<u16>::new(FIRST_SLOTS);
            table.hash = hash;
            let keys: Vec<u128> = (1..200).filter(|&key| ids(key).len() <= u16::INLINE_IDS).collect();
            keys.iter().for_each(|&key| table.insert(key, &ids(key)));
            let hashes: Vec<u64> = keys.iter().map(|&key| hash.of(key)).collect();
            let expected: Vec<u16> = keys.iter().flat_map(|&key| ids(key)).collect();
            let mut out = vec![0; expected.len() + u16::STORE_LEN];
            assert_eq!(table.known(&keys, &hashes, &mut out), (keys.len(), expected.len()), "{hash:?}");
            assert_eq!(out[..expected.len()], expected);
            // What is spilled, and what is not there, ends it.
            table.insert(10, &ids(10));
            for end in [10, 1000] {
                let (some, hashes) = ([1, 2, end, 3], [1, 2, end, 3].map(|key| hash.of(key)));
                assert_eq!(table.known(&some, &hashes, &mut out), (2, ids(1).len() + ids(2).len()), "{hash:?}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "no room for an entry")]
    fn an_entry_that_has_no_room_is_not_written() {
        let mut table = PieceTable::<u16>::new(FIRST_SLOTS);
        table.insert(1, &[1, 2, 3, 4]);
        table.insert(2, &[5]);
        let hashes = [table.hash().of(1), table.hash().of(2)];
        table.known(&[1, 2], &hashes, &mut [0; u16::STORE_LEN]);
    }
}
