//! The piece table: the ids of short pieces, by key.
//!
//! Over 99 % of the pieces of prose are answered here, with one hash and one cache line. A key holds the whole piece, so a
//! hit is always right. The table grows to a fixed size and is then cleared, so its memory is bounded for any input. Where
//! lookups seldom hit (random letters) it is cleared before it outgrows the processor's caches: a larger table would cost more
//! than its hits save.

use super::hash::{KeyHash, KeyLoop};
use super::hash_table::{Keyed, LineSlots, home_shift, probe, probe_bounded, swap_to_home};
use super::packed_ids::{Entry, NO_ENTRY, OverflowArena, TokenId};
use crate::mem::prefetch;

const INITIAL_SLOTS: usize = 1 << 10;
/// 64 MiB of slots.
pub const MAX_SLOTS: usize = 1 << 21;
/// From this size on (8 MiB) a table grows only at [`MIN_LOOKUPS_PER_ENTRY`], and twofold instead of fourfold: fresh memory
/// costs more than inserting the pieces again.
const LARGE_SLOTS: usize = 1 << 18;
/// Lookups per entry that justify a larger table.
pub const MIN_LOOKUPS_PER_ENTRY: usize = 4;
/// The overflow arena is bounded as well; overflow is rare.
const MAX_OVERFLOW_IDS: usize = 1 << 22;

/// A key and its ids.
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

/// Ids of short pieces.
pub struct PieceTable<I> {
    slots: LineSlots<Slot>,
    used: usize,
    /// Lookups of pieces, also of those without a key, since the table was empty.
    lookups: usize,
    hash: KeyHash,
    max_slots: usize,
    overflow: OverflowArena<I>,
    /// How often the table was cleared.
    pub clears: u64,
}

impl<I: TokenId> PieceTable<I> {
    /// A table of at most `max_slots` slots, a power of two.
    #[must_use]
    pub fn new(max_slots: usize) -> Self {
        Self {
            slots: LineSlots::new(INITIAL_SLOTS.min(max_slots)),
            used: 0,
            lookups: 0,
            hash: KeyHash::with_random_seed(),
            max_slots,
            overflow: OverflowArena::default(),
            clears: 0,
        }
    }

    /// Records that `n` pieces will be looked up.
    #[inline(always)]
    pub fn record_lookups(&mut self, n: usize) {
        self.lookups += n;
    }

    /// The hash under which keys are probed now.
    #[inline(always)]
    pub fn hash(&self) -> KeyHash {
        self.hash
    }

    /// The slots, to be prefetched.
    #[inline(always)]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The entry of a key with this hash, or [`NO_ENTRY`].
    #[inline]
    pub fn get(&self, key: u128, hash: u64) -> Entry {
        self.slots[probe(&self.slots, key, self.home(hash))].entry
    }

    /// Writes the ids of consecutive pieces to `out`, up to the first piece that is absent or has an overflow entry. Returns
    /// the number of pieces and of ids. `out` needs room for all ids and [`TokenId::STORE_LEN`] more.
    pub fn lookup_hits(&mut self, keys: &[u128], hashes: &[u64], out: &mut [I]) -> (usize, usize) {
        // Compiled once for the instructions of each hash backend; the loop is `LookupHits::run`.
        self.hash.dispatch(LookupHits { slots: &mut self.slots, key_hash: self.hash, keys, hashes, out })
    }

    /// The number of ids of an overflow entry, which it prefetches.
    #[inline]
    pub fn prefetched_overflow_len(&self, entry: Entry) -> usize {
        self.overflow.prefetched_len(entry)
    }

    /// Copies the ids of an overflow entry to the start of `out`, and writes nothing after them. Clearing the table
    /// invalidates overflow entries.
    #[inline]
    pub fn copy_overflow(&self, entry: Entry, out: &mut [I]) {
        self.overflow.copy_to(entry, out);
    }

    /// Prefetches the home line of a key that [`PieceTable::insert_without_clearing`] will probe.
    #[inline]
    pub fn prefetch(&self, key: u128) {
        prefetch(&self.slots, self.home(self.hash.of(key)));
    }

    /// Inserts a key that may be present, unless that would clear the table.
    pub fn insert_without_clearing(&mut self, key: u128, ids: &[I]) {
        let clears = (self.is_full() && !self.may_grow()) || self.overflow.n_ids() + ids.len() > MAX_OVERFLOW_IDS;
        if !clears && self.get(key, self.hash.of(key)) == NO_ENTRY {
            self.insert(key, ids);
        }
    }

    /// Inserts a key, or replaces its ids. May clear the table before.
    pub fn insert(&mut self, key: u128, ids: &[I]) {
        if self.is_full() {
            self.make_room();
        }
        if self.overflow.n_ids() + ids.len() > MAX_OVERFLOW_IDS {
            self.clear();
        }
        let entry = self.overflow.entry(ids);
        if !self.store(Slot { key, entry }) {
            // The probe was too long: only adversarial input gets here, and a cleared table under a new seed stays exact.
            self.clear();
        }
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the shifted hash is below the number of slots")]
    fn home(&self, hash: u64) -> usize {
        (hash >> home_shift(self.slots.len())) as usize
    }

    fn store(&mut self, slot: Slot) -> bool {
        let home = self.home(self.hash.of(slot.key));
        let Some(at) = probe_bounded(&self.slots, slot.key, home) else { return false };
        // A key may be present: after the table was cleared, the other hashes of a key batch are stale, and its keys are inserted
        // once per occurrence.
        self.used += usize::from(self.slots[at].key == 0);
        self.slots[at] = slot;
        true
    }

    fn is_full(&self) -> bool {
        self.used * 8 >= self.slots.len() * 5
    }

    fn may_grow(&self) -> bool {
        let reused = self.slots.len() < LARGE_SLOTS || self.lookups >= MIN_LOOKUPS_PER_ENTRY * self.used;
        reused && self.slots.len() < self.max_slots
    }

    #[cold]
    fn make_room(&mut self) {
        if !self.may_grow() {
            return self.clear();
        }
        let factor = if self.slots.len() < LARGE_SLOTS { 4 } else { 2 };
        let size = (self.slots.len() * factor).min(self.max_slots);
        let old = std::mem::replace(&mut self.slots, LineSlots::new(size));
        self.used = 0;
        if !old.iter().filter(|slot| slot.key != 0).all(|slot| self.store(*slot)) {
            self.clear();
        }
    }

    #[cold]
    fn clear(&mut self) {
        self.slots.fill(Slot::default());
        self.overflow.clear();
        self.hash = KeyHash::with_random_seed();
        (self.used, self.lookups) = (0, 0);
        self.clears += 1;
    }
}

/// [`PieceTable::lookup_hits`]: the innermost loop of encoding. Nothing in it can rehash the table.
struct LookupHits<'a, I> {
    slots: &'a mut [Slot],
    key_hash: KeyHash,
    keys: &'a [u128],
    hashes: &'a [u64],
    out: &'a mut [I],
}

impl<I: TokenId> KeyLoop for LookupHits<'_, I> {
    type Output = (usize, usize);

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the shifted hash is below the number of slots")]
    fn run(self) -> (usize, usize) {
        let Self { slots, key_hash, keys, hashes, out } = self;
        assert!(out.len() >= I::STORE_LEN, "no room for an entry");
        let (mask, shift, last) = (slots.len() - 1, home_shift(slots.len()), out.len() - I::STORE_LEN);
        let (mut pieces, mut ids) = (0, 0);
        for (&key, &hash) in keys.iter().zip(hashes) {
            let home = (hash >> shift) as usize;
            let at = if slots[home & mask].key == key { home } else { swap_to_home(slots, key_hash, key, hash) };
            // One comparison. Slicing the rest of `out` and checking its length would be two.
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

    use super::super::short_key::NO_KEY;
    use super::*;

    fn ids(key: u128) -> Vec<u16> {
        (0..key % 11 + 1).map(|k| (key + k) as u16).collect()
    }

    /// The ids of a key, looked up as the hot loop does.
    fn lookup(table: &mut PieceTable<u16>, key: u128) -> Option<Vec<u16>> {
        let (hash, mut out) = (table.hash().of(key), [0; 8]);
        let (pieces, n) = table.lookup_hits(&[key], &[hash], &mut out);
        if pieces == 1 {
            return Some(out[..n].to_vec());
        }
        let entry = table.get(key, hash);
        (entry != NO_ENTRY).then(|| table.overflow.ids(entry).to_vec())
    }

    proptest! {
        #[test]
        fn lookups_return_what_was_inserted(picks in prop::collection::vec(1u128..3000, 0..4000)) {
            let mut table = PieceTable::<u16>::new(INITIAL_SLOTS);
            for key in picks {
                match lookup(&mut table, key) {
                    Some(found) => prop_assert_eq!(found, ids(key)),
                    None => table.insert(key, &ids(key)),
                }
                prop_assert!(table.slots.len() <= INITIAL_SLOTS && table.used * 8 <= table.slots.len() * 5 + 8);
            }
        }

        #[test]
        fn swapping_to_home_loses_no_key(picks in prop::collection::vec(1u128..600, 0..4000)) {
            let mut table = PieceTable::<u16>::new(INITIAL_SLOTS);
            (1..600).for_each(|key| table.insert(key, &ids(key)));
            for key in picks {
                prop_assert_eq!(lookup(&mut table, key), Some(ids(key)));
                let home = table.home(table.hash().of(key));
                prop_assert!(ids(key).len() > 7 || table.slots[home].key == key, "not at home after a lookup");
            }
            prop_assert_eq!((table.clears, table.used), (0, 599));
            prop_assert!((1..600).all(|key| lookup(&mut table, key) == Some(ids(key))));
        }
    }

    #[test]
    fn a_full_table_is_cleared_and_a_stale_hash_only_misses() {
        let mut table = PieceTable::<u32>::new(INITIAL_SLOTS);
        let stale: Vec<u64> = (1..=INITIAL_SLOTS as u128).map(|key| table.hash().of(key)).collect();
        for key in 1..=INITIAL_SLOTS as u128 {
            table.insert(key, &[key as u32; 9]);
        }
        assert_eq!(table.clears, 1);
        assert!(table.overflow.n_ids() < 9 * INITIAL_SLOTS, "the overflow arena is cleared as well");
        for (key, hash) in (1..=INITIAL_SLOTS as u128).zip(stale) {
            let entry = table.get(key, hash);
            assert!(entry == NO_ENTRY || table.overflow.ids(entry) == [key as u32; 9]);
        }
    }

    #[test]
    fn pieces_without_a_key_are_absent() {
        let mut table = PieceTable::<u32>::new(INITIAL_SLOTS);
        for key in 1..=INITIAL_SLOTS as u128 / 2 {
            table.insert(key, &[1]);
            assert!((0..1_u64 << 32).step_by(1 << 28).all(|hash| table.get(NO_KEY, hash) == NO_ENTRY));
        }
    }

    #[test]
    fn it_grows_to_its_limit_without_being_cleared() {
        let mut table = PieceTable::<u16>::new(1 << 14);
        for key in 1..=10_000u128 {
            table.insert(key, &[key as u16]);
        }
        assert_eq!((table.clears, table.slots.len()), (0, 1 << 14));
        assert!((1..=10_000u128).all(|key| lookup(&mut table, key) == Some(vec![key as u16])));
    }

    #[test]
    fn a_large_table_grows_only_if_lookups_hit() {
        for (lookups, slots, clears) in [(1, LARGE_SLOTS, 3), (8, 4 * LARGE_SLOTS, 0)] {
            let mut table = PieceTable::<u16>::new(MAX_SLOTS);
            for key in 1..=600_000u128 {
                table.record_lookups(lookups);
                table.insert(key, &[1]);
            }
            assert_eq!((table.slots.len(), table.clears), (slots, clears));
        }
    }

    #[test]
    fn insert_without_clearing_inserts_once() {
        let mut table = PieceTable::<u16>::new(INITIAL_SLOTS);
        for key in (1..=INITIAL_SLOTS as u128).chain(1..=INITIAL_SLOTS as u128) {
            table.insert_without_clearing(key, &ids(key));
        }
        let room = INITIAL_SLOTS * 5 / 8;
        assert_eq!((table.used, table.clears, table.slots.len()), (room, 0, INITIAL_SLOTS));
        let overflow = (1..=room as u128).map(|key| ids(key).len()).filter(|&n| n > u16::INLINE_IDS).sum::<usize>();
        assert_eq!(table.overflow.n_ids(), overflow);
        assert!((1..=room as u128).all(|key| lookup(&mut table, key) == Some(ids(key))));
    }

    #[test]
    fn every_hash_backend_finds_runs_of_keys() {
        for hash in KeyHash::all_backends() {
            let mut table = PieceTable::<u16>::new(INITIAL_SLOTS);
            table.hash = hash;
            let keys: Vec<u128> = (1..200).filter(|&key| ids(key).len() <= u16::INLINE_IDS).collect();
            keys.iter().for_each(|&key| table.insert(key, &ids(key)));
            let hashes: Vec<u64> = keys.iter().map(|&key| hash.of(key)).collect();
            let expected: Vec<u16> = keys.iter().flat_map(|&key| ids(key)).collect();
            let mut out = vec![0; expected.len() + u16::STORE_LEN];
            assert_eq!(table.lookup_hits(&keys, &hashes, &mut out), (keys.len(), expected.len()), "{hash:?}");
            assert_eq!(out[..expected.len()], expected);
            // An overflow entry and an absent key end a run.
            table.insert(10, &ids(10));
            for end in [10, 1000] {
                let (some, hashes) = ([1, 2, end, 3], [1, 2, end, 3].map(|key| hash.of(key)));
                assert_eq!(table.lookup_hits(&some, &hashes, &mut out), (2, ids(1).len() + ids(2).len()), "{hash:?}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "no room for an entry")]
    fn an_entry_without_room_is_not_stored() {
        let mut table = PieceTable::<u16>::new(INITIAL_SLOTS);
        table.insert(1, &[1, 2, 3, 4]);
        table.insert(2, &[5]);
        let hashes = [table.hash().of(1), table.hash().of(2)];
        table.lookup_hits(&[1, 2], &hashes, &mut [0; u16::STORE_LEN]);
    }
}
