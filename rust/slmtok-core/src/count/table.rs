//! The count table of one worker: short pieces by key, long pieces by hash and bytes.
//!
//! Counts are exact: a key contains the whole piece, long pieces are compared byte by byte, and nothing is evicted.

use crate::byte_hash::{hash_bytes, random_seed};
use crate::cache::hash::{KeyBatch, KeyHash, KeyLoop, Pieces};
use crate::cache::hash_table::{Keyed, LineSlots, home_shift, probe_bounded, swap_to_home};
use crate::cache::short_key::{NO_KEY, equal_long, short_key};
use crate::mem::reserve_huge;
use crate::{Error, Result};

const INITIAL_SLOTS: usize = 1 << 12;
const INITIAL_LONG_SLOTS: usize = 64;

/// A count by short key; key 0 marks an empty slot. 32 bytes, so that no slot crosses a cache line.
#[derive(Clone, Copy, Default)]
#[repr(C, align(32))]
pub(super) struct Slot {
    pub key: u128,
    pub count: u64,
}

impl Keyed for Slot {
    #[inline(always)]
    fn key(&self) -> u128 {
        self.key
    }
}

/// A count by hash of a long piece; hash 0 marks an empty slot. The bytes of the piece lie in the arena.
#[derive(Clone, Copy, Default)]
#[repr(C, align(32))]
pub(super) struct LongSlot {
    pub hash: u64,
    pub offset: usize,
    pub length: usize,
    pub count: u64,
}

/// A hash table from piece to count.
pub struct CountTable {
    pub(super) slots: LineSlots<Slot>,
    pub(super) used: usize,
    pub(super) long_slots: Vec<LongSlot>,
    pub(super) long_used: usize,
    pub(super) arena: Vec<u8>,
    hash: KeyHash,
    long_seed: u64,
    /// Keys and hashes of the current batch.
    batch: KeyBatch,
}

impl Default for CountTable {
    fn default() -> Self {
        Self {
            slots: LineSlots::new(INITIAL_SLOTS),
            used: 0,
            long_slots: vec![LongSlot::default(); INITIAL_LONG_SLOTS],
            long_used: 0,
            arena: Vec::new(),
            hash: KeyHash::with_random_seed(),
            long_seed: random_seed(),
            batch: KeyBatch::default(),
        }
    }
}

/// Home slot of a hash: its top bits.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the shifted hash is below the number of slots")]
fn home(hash: u64, slots: usize) -> usize {
    (hash >> home_shift(slots)) as usize
}

/// Increments the counts of known keys, up to the first unknown one; returns their number. The table is not resized.
struct IncrementKnown<'a> {
    slots: &'a mut [Slot],
    hash: KeyHash,
    keys: &'a [u128],
    hashes: &'a [u64],
}

impl KeyLoop for IncrementKnown<'_> {
    type Output = usize;

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the shifted hash is below the number of slots")]
    fn run(self) -> usize {
        let Self { slots, hash: backend, keys, hashes } = self;
        let (mask, shift) = (slots.len() - 1, home_shift(slots.len()));
        let mut known = 0;
        for (&key, &hash) in keys.iter().zip(hashes) {
            let home = (hash >> shift) as usize;
            let at = if slots[home & mask].key == key { home } else { swap_to_home(slots, backend, key, hash) };
            let slot = &mut slots[at & mask];
            if slot.key == 0 || slot.count == u64::MAX {
                break;
            }
            slot.count += 1;
            known += 1;
        }
        known
    }
}

impl CountTable {
    /// Adds the consecutive pieces of `segment` from `start` to `ends`; at most `KEY_BATCH_LEN` pieces.
    ///
    /// A first loop computes keys and hashes and prefetches the slots, so that the memory stalls of the batch overlap.
    ///
    /// # Errors
    /// A count that exceeds 64 bits.
    pub fn add_batch(&mut self, segment: &[u8], start: usize, ends: &[usize]) -> Result<()> {
        self.batch.fill(Pieces { text: segment, start, ends }, self.hash, &self.slots, |_| 0);
        let mut at = 0;
        loop {
            at = self.add_known(at, ends.len());
            if at == ends.len() {
                return Ok(());
            }
            match self.batch.keys[at] {
                NO_KEY => self.add_long(&segment[if at == 0 { start } else { ends[at - 1] }..ends[at]], 1)?,
                key => self.add_key(key, 1)?,
            }
            at += 1;
        }
    }

    /// Counts pieces of the batch from index `at` while their keys are in the table; returns the index of the first other
    /// piece. After a rehash the hashes of the batch are stale; a key is then not found, and the caller adds it.
    fn add_known(&mut self, at: usize, n: usize) -> usize {
        let Self { slots, batch: KeyBatch { keys, hashes, .. }, hash, .. } = self;
        at + hash.dispatch(IncrementKnown { slots, hash: *hash, keys: &keys[at..n], hashes: &hashes[at..n] })
    }

    /// Adds `count` occurrences of `piece`, which must not be empty.
    ///
    /// # Errors
    /// A count that exceeds 64 bits.
    pub fn add(&mut self, piece: &[u8], count: u64) -> Result<()> {
        match short_key(piece, 0, piece.len()) {
            NO_KEY => self.add_long(piece, count),
            key => self.add_key(key, count),
        }
    }

    fn add_key(&mut self, key: u128, count: u64) -> Result<()> {
        self.add_hashed(key, self.hash.of(key), count)
    }

    /// `hash` is the hash of `key` under the current seed.
    #[inline(always)]
    fn add_hashed(&mut self, key: u128, hash: u64, count: u64) -> Result<()> {
        let Some(at) = probe_bounded(&self.slots, key, home(hash, self.slots.len())) else {
            self.rehash();
            return self.add_key(key, count);
        };
        let slot = &mut self.slots[at];
        if slot.key == key {
            slot.count = slot.count.checked_add(count).ok_or(OVERFLOW)?;
            return Ok(());
        }
        *slot = Slot { key, count };
        self.used += 1;
        if self.used * 8 > self.slots.len() * 5 {
            self.rebuild(self.slots.len() * 2, self.hash);
        }
        Ok(())
    }

    /// After a probe that exceeded its bound: a new seed, and twice the slots if more than half are used.
    #[cold]
    fn rehash(&mut self) {
        let crowded = self.used * 2 > self.slots.len();
        let size = if crowded { self.slots.len() * 2 } else { self.slots.len() };
        self.rebuild(size, KeyHash::with_random_seed());
    }

    /// Moves all keys to `size` slots under `hash`; tries new seeds and sizes until no probe exceeds its bound.
    #[cold]
    fn rebuild(&mut self, size: usize, hash: KeyHash) {
        let (mut size, mut hash) = (size, hash);
        loop {
            if let Some(slots) = rehashed(&self.slots, size, hash) {
                (self.slots, self.hash) = (slots, hash);
                return;
            }
            hash = KeyHash::with_random_seed();
            // Under a new seed a table that is two thirds empty rarely exceeds the bound; growing guarantees termination.
            size *= if self.used * 3 > size { 2 } else { 1 };
        }
    }

    fn add_long(&mut self, piece: &[u8], count: u64) -> Result<()> {
        let hash = hash_bytes(piece, self.long_seed) | 1;
        let mask = self.long_slots.len() - 1;
        let mut at = home(hash, self.long_slots.len());
        loop {
            let slot = &mut self.long_slots[at & mask];
            if slot.hash == 0 {
                *slot = LongSlot { hash, offset: self.arena.len(), length: piece.len(), count };
                break;
            }
            if slot.hash == hash && equal_long(&self.arena[slot.offset..slot.offset + slot.length], piece) {
                slot.count = slot.count.checked_add(count).ok_or(OVERFLOW)?;
                return Ok(());
            }
            at += 1;
        }
        reserve_huge(&mut self.arena, piece.len());
        self.arena.extend_from_slice(piece);
        self.long_used += 1;
        if self.long_used * 4 > self.long_slots.len() * 3 {
            self.grow_long();
        }
        Ok(())
    }

    #[cold]
    fn grow_long(&mut self) {
        let size = self.long_slots.len() * 2;
        let mut slots = vec![LongSlot::default(); size];
        for slot in self.long_slots.iter().filter(|slot| slot.hash != 0) {
            let mut at = home(slot.hash, size);
            while slots[at & (size - 1)].hash != 0 {
                at += 1;
            }
            slots[at & (size - 1)] = *slot;
        }
        self.long_slots = slots;
    }

    /// Number of distinct pieces.
    #[must_use]
    pub fn distinct(&self) -> usize {
        self.used + self.long_used
    }

    /// Peak bytes while `pieces` more pieces of `bytes` bytes in total are added. A growing table holds its old slots until
    /// all keys have moved.
    pub(super) fn bytes_needed(&self, pieces: usize, bytes: usize) -> usize {
        let short = peak_slots(self.slots.len(), |slots| (self.used + pieces) * 8 <= slots * 5);
        let long = peak_slots(self.long_slots.len(), |slots| (self.long_used + pieces) * 4 <= slots * 3);
        short * size_of::<Slot>() + long * size_of::<LongSlot>() + self.arena.len() + bytes
    }

    /// Removes all pieces and keeps the slots.
    pub(super) fn clear(&mut self) {
        self.slots.fill(Slot::default());
        self.long_slots.fill(LongSlot::default());
        self.arena = Vec::new();
        (self.used, self.long_used) = (0, 0);
    }
}

/// Peak number of slots while `slots` double until `is_enough`.
fn peak_slots(slots: usize, is_enough: impl Fn(usize) -> bool) -> usize {
    let mut size = slots;
    while !is_enough(size) {
        size *= 2;
    }
    if size == slots { size } else { size + size / 2 }
}

pub(super) const OVERFLOW: Error = Error::CountOverflow { what: "the count of a piece" };

/// The entries of `old` in `size` new slots; `None` if a probe exceeded its bound.
fn rehashed(old: &[Slot], size: usize, hash: KeyHash) -> Option<LineSlots<Slot>> {
    let mut slots = LineSlots::<Slot>::new(size);
    for slot in old.iter().filter(|slot| slot.key != 0) {
        let at = probe_bounded(&slots, slot.key, home(hash.of(slot.key), size))?;
        slots[at] = *slot;
    }
    Some(slots)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::cache::hash::KEY_BATCH_LEN;

    fn collected(table: &mut CountTable) -> BTreeMap<Vec<u8>, u64> {
        let mut all = BTreeMap::new();
        table.sort().for_each(|record| assert_eq!(all.insert(record.piece(), record.count), None));
        all
    }

    proptest! {
        #[test]
        fn counts_equal_a_map(pieces in prop::collection::vec((prop::collection::vec(0u8..3, 1..40), 1u64..9), 0..600)) {
            let (mut table, mut want) = (CountTable::default(), BTreeMap::new());
            for (piece, count) in &pieces {
                table.add(piece, *count).unwrap();
                *want.entry(piece.clone()).or_insert(0) += count;
            }
            prop_assert_eq!(table.distinct(), want.len());
            prop_assert_eq!(collected(&mut table), want);
        }

        #[test]
        fn batches_count_like_a_map(picks in prop::collection::vec(prop_oneof![0usize..30, 0usize..3000], 1..6000), chunk in 1usize..=KEY_BATCH_LEN) {
            // More words than initial slots, so that some keys leave their home slots.
            let words: Vec<String> = picks.iter().map(|n| if n % 97 == 5 { format!("{n:020}") } else { format!("{n:x} ") }).collect();
            let (mut table, mut want) = (CountTable::default(), BTreeMap::new());
            words.iter().for_each(|word| *want.entry(word.clone().into_bytes()).or_insert(0) += 1);
            for words in words.chunks(chunk) {
                let ends: Vec<usize> = words.iter().scan(0, |at, word| { *at += word.len(); Some(*at) }).collect();
                table.add_batch(words.concat().as_bytes(), 0, &ends).unwrap();
            }
            prop_assert_eq!(collected(&mut table), want);
        }
    }

    #[test]
    fn growth_stays_within_the_predicted_memory() {
        let mut table = CountTable::default();
        for n in 0..20_000u32 {
            let (short, long) = (format!("{n:x}"), format!("a long piece number {n:x}"));
            for (piece, count) in [(&short, 1), (&long, 2), (&short, 1 << 40)] {
                let most = table.bytes_needed(1, piece.len());
                table.add(piece.as_bytes(), count).unwrap();
                assert!(table.bytes_needed(0, 0) <= most);
            }
        }
        let all = collected(&mut table);
        assert_eq!(all.len(), 40_000);
        assert_eq!(all[b"1f".as_slice()], 1 + (1 << 40));
        table.clear();
        table.add(b"1f", 3).unwrap();
        assert_eq!(collected(&mut table), BTreeMap::from([(b"1f".to_vec(), 3)]));
    }

    #[test]
    fn overflow_is_an_error() {
        for piece in [&b"a"[..], b"a piece that is longer than a key"] {
            let mut table = CountTable::default();
            table.add(piece, u64::MAX).unwrap();
            assert_eq!(table.add(piece, 1), Err(OVERFLOW));
        }
    }
}
