//! What long pieces encode to, remembered as long as there is room.
//!
//! Hash first, then all bytes are compared, so an answer is never wrong. Pieces that begin with a CJK character are clauses
//! and do not repeat; the caller keeps them out.

use std::ops::Range;

use crate::piece::{fresh_seed, hash_long};

/// Bytes of slots, pieces and ids that are kept.
const MAX_BYTES: usize = 32 << 20;
/// A longer piece is not worth the memory.
const MAX_PIECE: usize = 4096;

#[derive(Clone, Copy, Default)]
struct Slot {
    hash: u64,
    text: usize,
    text_len: usize,
    ids: usize,
    ids_len: usize,
}

/// Remembers ids of long pieces.
pub struct LongCache<I> {
    slots: Vec<Slot>,
    used: usize,
    text: Vec<u8>,
    ids: Vec<I>,
    seed: u64,
}

impl<I> Default for LongCache<I> {
    fn default() -> Self {
        Self { slots: vec![Slot::default(); 256], used: 0, text: Vec::new(), ids: Vec::new(), seed: fresh_seed() }
    }
}

impl<I: Copy> LongCache<I> {
    /// The hash for `get` and `insert`; never 0, which marks an empty slot.
    #[must_use]
    pub fn hash(&self, piece: &[u8]) -> u64 {
        hash_long(piece, self.seed) | 1
    }

    fn find(&self, piece: &[u8], hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = (hash >> 32) as usize & mask;
        loop {
            let slot = &self.slots[at];
            let same = slot.hash == hash && self.text[slot.text..slot.text + slot.text_len] == *piece;
            if slot.hash == 0 || same {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Where the ids of `piece` are, if remembered.
    #[must_use]
    pub fn get(&self, piece: &[u8], hash: u64) -> Option<Range<usize>> {
        let slot = &self.slots[self.find(piece, hash)];
        (slot.hash != 0).then(|| slot.ids..slot.ids + slot.ids_len)
    }

    /// What [`LongCache::get`] found, if nothing was put in since.
    #[must_use]
    pub fn ids(&self, found: Range<usize>) -> &[I] {
        &self.ids[found]
    }

    /// Remembers `ids` for a piece that is not there.
    pub fn insert(&mut self, piece: &[u8], hash: u64, ids: &[I]) {
        if piece.len() > MAX_PIECE {
            return;
        }
        let slots = self.slots.len() * size_of::<Slot>();
        if self.text.len() + self.ids.len() * size_of::<I>() + slots > MAX_BYTES {
            // Under the seed of the hash that the caller holds.
            *self = Self { seed: self.seed, ..Self::default() };
        }
        if self.used * 4 >= self.slots.len() * 3 {
            self.grow();
        }
        let at = self.find(piece, hash);
        self.slots[at] =
            Slot { hash, text: self.text.len(), text_len: piece.len(), ids: self.ids.len(), ids_len: ids.len() };
        self.text.extend_from_slice(piece);
        self.ids.extend_from_slice(ids);
        self.used += 1;
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 2;
        let mut slots = vec![Slot::default(); size];
        for slot in self.slots.iter().filter(|slot| slot.hash != 0) {
            let mut at = (slot.hash >> 32) as usize & (size - 1);
            while slots[at].hash != 0 {
                at = (at + 1) & (size - 1);
            }
            slots[at] = *slot;
        }
        self.slots = slots;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_what_was_put_in() {
        let mut cache = LongCache::<u16>::default();
        let piece = |n: u32| format!("a piece too long for a key, number {n}").into_bytes();
        for n in 0..5_000 {
            let hash = cache.hash(&piece(n));
            assert_eq!(cache.get(&piece(n), hash), None);
            cache.insert(&piece(n), hash, &[n as u16, 7]);
        }
        for n in 0..5_000 {
            let found = cache.get(&piece(n), cache.hash(&piece(n)));
            assert_eq!(found.map(|found| cache.ids(found)), Some(&[n as u16, 7][..]));
        }
    }

    #[test]
    fn its_memory_is_bounded() {
        let mut cache = LongCache::<u32>::default();
        let mut largest = 0;
        for n in 0..20_000u32 {
            let piece = [&n.to_le_bytes()[..], &[b'x'; 4000]].concat();
            cache.insert(&piece, cache.hash(&piece), &[n; 100]);
            largest = largest.max(cache.text.len() + 4 * cache.ids.len() + cache.slots.len() * size_of::<Slot>());
        }
        assert!(largest <= MAX_BYTES + 4096 + 4 * 100 + (cache.slots.len() + 256) * size_of::<Slot>(), "{largest}");
        assert!(cache.used < 20_000, "it was wiped");
    }
}
