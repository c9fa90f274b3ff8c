//! What long pieces encode to, remembered as long as there is room.
//!
//! Hash first, then all bytes are compared, so an answer is never wrong. Clauses of Chinese and Japanese are put in by the
//! caller when they come the second time, for most never do.

use super::lanes::{Arena, Entry, Id};
use crate::pages::filled;
use crate::piece::{fresh_seed, hash_long, same_long};
use crate::prefetch::prefetch;

/// Bytes of slots, pieces and ids that are kept.
const MAX_BYTES: usize = 32 << 20;
/// A longer piece is not worth the memory.
const MAX_PIECE: usize = 2 << 20;

#[derive(Clone, Copy, Default)]
#[repr(C, align(32))]
struct Slot {
    /// 0 if the slot is empty.
    hash: u64,
    /// Where the bytes of the piece begin.
    text: u32,
    length: u32,
    entry: Entry,
}

/// Remembers entries of long pieces.
pub struct LongCache<I> {
    slots: Vec<Slot>,
    used: usize,
    text: Vec<u8>,
    spilled: Arena<I>,
    seed: u64,
}

impl<I: Id> Default for LongCache<I> {
    fn default() -> Self {
        Self {
            slots: vec![Slot::default(); 256],
            used: 0,
            text: Vec::new(),
            spilled: Arena::default(),
            seed: fresh_seed(),
        }
    }
}

impl<I: Id> LongCache<I> {
    /// The hash for `get` and `insert`, 1 to 2^32 - 1; asks for the line where they will begin.
    #[cold]
    #[inline(never)]
    pub fn prepare(&self, piece: &[u8]) -> u64 {
        let hash = hash_long(piece, self.seed) >> 32 | 1;
        prefetch(&self.slots, self.home(hash));
        hash
    }

    #[inline(always)]
    fn home(&self, hash: u64) -> usize {
        (hash >> 1) as usize & (self.slots.len() - 1)
    }

    #[inline]
    fn find(&self, piece: &[u8], hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = self.home(hash);
        loop {
            let slot = &self.slots[at];
            let bytes = || &self.text[slot.text as usize..][..slot.length as usize];
            if slot.hash == 0 || (slot.hash == hash && same_long(bytes(), piece)) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// The entry of `piece`; `NO_ENTRY` if it is not remembered.
    #[inline]
    pub fn get(&self, piece: &[u8], hash: u64) -> Entry {
        self.slots[self.find(piece, hash)].entry
    }

    /// Asks for what [`LongCache::get`] will read besides the slot, which should be near by now.
    #[inline]
    pub fn ask(&self, hash: u64) {
        let slot = &self.slots[self.home(hash)];
        if slot.hash == hash {
            prefetch(&self.text, slot.text as usize);
            self.spilled.ask(slot.entry);
        }
    }

    /// The ids of a spilled entry.
    #[cfg(test)]
    pub fn spilled(&self, entry: Entry) -> &[I] {
        self.spilled.ids(entry)
    }

    /// Writes the ids of a spilled entry to the begin of `out`, and returns how many they are.
    #[inline]
    pub fn copy(&self, entry: Entry, out: &mut [I]) -> usize {
        self.spilled.copy(entry, out)
    }

    /// Remembers `ids` for a piece that is not there.
    pub fn insert(&mut self, piece: &[u8], hash: u64, ids: &[I]) {
        if piece.len() > MAX_PIECE {
            return;
        }
        let slots = self.slots.len() << usize::from(self.is_full());
        let ids_held = (self.spilled.len() + ids.len()) * size_of::<I>();
        if self.text.len() + piece.len() + ids_held + slots * size_of::<Slot>() > MAX_BYTES {
            // Under the seed of the hash that the caller holds.
            *self = Self { seed: self.seed, ..Self::default() };
        }
        if self.is_full() {
            self.grow();
        }
        let entry = self.spilled.entry(ids);
        let at = self.find(piece, hash);
        self.slots[at] = Slot { hash, text: self.text.len() as u32, length: piece.len() as u32, entry };
        self.text.extend_from_slice(piece);
        self.used += 1;
    }

    fn is_full(&self) -> bool {
        self.used * 4 >= self.slots.len() * 3
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 2;
        let mut slots = filled(Slot::default(), size);
        for slot in self.slots.iter().filter(|slot| slot.hash != 0) {
            let mut at = (slot.hash >> 1) as usize & (size - 1);
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
    use super::super::lanes::NO_ENTRY;
    use super::*;

    #[test]
    fn what_is_remembered_is_what_was_put_in() {
        let mut cache = LongCache::<u16>::default();
        let piece = |n: u32| format!("a piece too long for a key, number {n}").into_bytes();
        let ids = |n: u32| (0..n % 12 + 1).map(|k| (n + k) as u16).collect::<Vec<_>>();
        for n in 0..5_000 {
            let hash = cache.prepare(&piece(n));
            assert_eq!(cache.get(&piece(n), hash), NO_ENTRY);
            cache.insert(&piece(n), hash, &ids(n));
        }
        for n in 0..5_000 {
            let entry = cache.get(&piece(n), cache.prepare(&piece(n)));
            let mut out = [0; 8];
            match u16::unpack(entry, &mut out) {
                0 => assert_eq!(cache.spilled(entry), ids(n)),
                count => assert_eq!(out[..count], ids(n)),
            }
        }
    }

    #[test]
    fn its_memory_is_bounded() {
        let mut cache = LongCache::<u32>::default();
        let mut largest = 0;
        let pieces = [(20_000, 4000, 100), (1_000_000, 20, 3)];
        for (number, length, count) in pieces {
            for n in 0..number {
                let piece = [&u32::to_le_bytes(n)[..], &vec![b'x'; length]].concat();
                cache.insert(&piece, cache.prepare(&piece), &vec![n; count]);
                let slots = cache.slots.len() * size_of::<Slot>();
                largest = largest.max(cache.text.len() + 4 * cache.spilled.len() + slots);
            }
            assert!(largest <= MAX_BYTES, "{largest}");
            assert!(cache.used < number as usize, "it was wiped");
        }
    }
}
