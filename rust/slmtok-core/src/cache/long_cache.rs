//! What long pieces encode to, remembered as long as there is room.
//!
//! A slot holds half of a hash and where the record is; the record holds the piece and its ids. So a question waits for two places in
//! memory, and both are asked for ahead. All bytes are compared, so an answer is never wrong. Clauses of Chinese and Japanese are put
//! in by the caller when they come the second time, for most never do.

use std::marker::PhantomData;

use super::packed_ids::Id;
use super::short_key::{equal_long, hash_long, random_seed};
use crate::mem::prefetch;
use crate::mem::{filled, reserve};

/// Bytes of slots and records that are kept.
const MAX_BYTES: usize = 48 << 20;
/// A longer piece is not worth the memory.
const MAX_PIECE: usize = 2 << 20;
/// Before the bytes of a piece: how many they are, and how many ids follow them. Four bytes each.
const HEAD: usize = 8;
/// A copy of so many ids at once is a few instructions; one of any other number is a call.
const AT_ONCE: usize = 16;

#[derive(Clone, Copy, Default)]
struct Slot {
    /// 0 if the slot is empty.
    hash: u32,
    /// Where the record begins.
    at: u32,
}

/// Remembers the ids of long pieces.
pub struct LongCache<I> {
    slots: Vec<Slot>,
    used: usize,
    /// Records, end to end.
    records: Vec<u8>,
    seed: u64,
    ids: PhantomData<I>,
}

impl<I: Id> Default for LongCache<I> {
    fn default() -> Self {
        Self { slots: vec![Slot::default(); 256], used: 0, records: Vec::new(), seed: random_seed(), ids: PhantomData }
    }
}

impl<I: Id> LongCache<I> {
    /// The hash for `get` and `insert`, 1 to 2^32 - 1; asks for the line where they will begin.
    #[cold]
    #[inline(never)]
    pub fn prepare(&self, piece: &[u8]) -> u64 {
        let hash = hash_long(piece, self.seed) >> 32 | 1;
        prefetch(&self.slots, home(&self.slots, hash as u32));
        hash
    }

    /// Asks for what [`LongCache::get`] will read besides the slot, which should be near by now.
    #[inline]
    pub fn ask(&self, hash: u64) {
        let slot = self.slots[home(&self.slots, hash as u32)];
        if slot.hash == hash as u32 {
            prefetch(&self.records, slot.at as usize);
            prefetch(&self.records, slot.at as usize + 64);
        }
    }

    /// Writes the ids of `piece` to the begin of `out`, and returns how many they are; nothing if it is not remembered. Places behind
    /// them may be left with anything.
    #[inline]
    pub fn get(&self, piece: &[u8], hash: u64, out: &mut [I]) -> Option<usize> {
        let slot = self.slots[self.find(piece, hash as u32)];
        if slot.hash == 0 {
            return None;
        }
        let [_, count] = self.head(slot);
        let ids = &self.records[slot.at as usize + HEAD + piece.len()..];
        let (size, mut done) = (size_of::<I>(), 0);
        while done < count {
            match (ids.get(done * size..(done + AT_ONCE) * size), out.get_mut(done..done + AT_ONCE)) {
                (Some(ids), Some(out)) => I::read(ids, out),
                _ => I::read(&ids[done * size..count * size], &mut out[done..count]),
            }
            done += AT_ONCE;
        }
        Some(count)
    }

    /// Remembers `ids` for a piece that is not there. May forget everything else.
    pub fn insert(&mut self, piece: &[u8], hash: u64, ids: &[I]) {
        if piece.len() > MAX_PIECE {
            return;
        }
        if !self.has_room(record_bytes(piece, ids)) {
            // Under the seed of the hash that the caller holds.
            *self = Self { seed: self.seed, ..Self::default() };
        }
        self.append(piece, hash, ids);
    }

    /// Remembers `ids` for a piece that may be there, if nothing has to be forgotten for it.
    pub fn learn(&mut self, piece: &[u8], hash: u64, ids: &[I]) {
        let known = self.slots[self.find(piece, hash as u32)].hash != 0;
        if !known && self.has_room(record_bytes(piece, ids)) {
            self.append(piece, hash, ids);
        }
    }

    /// Whether a record of so many bytes can be added.
    fn has_room(&self, record: usize) -> bool {
        let slots = self.slots.len() << usize::from(self.is_full());
        self.records.len() + record + slots * size_of::<Slot>() <= MAX_BYTES
    }

    fn append(&mut self, piece: &[u8], hash: u64, ids: &[I]) {
        if self.is_full() {
            self.grow();
        }
        let place = self.find(piece, hash as u32);
        self.slots[place] = Slot { hash: hash as u32, at: self.records.len() as u32 };
        self.used += 1;
        reserve(&mut self.records, record_bytes(piece, ids));
        self.records.extend_from_slice(&(piece.len() as u32).to_ne_bytes());
        self.records.extend_from_slice(&(ids.len() as u32).to_ne_bytes());
        self.records.extend_from_slice(piece);
        I::write(ids, &mut self.records);
    }

    /// Where `piece` is, or the empty slot that says that it is not there.
    #[inline]
    fn find(&self, piece: &[u8], hash: u32) -> usize {
        let mut place = home(&self.slots, hash);
        loop {
            let slot = self.slots[place];
            if slot.hash == 0 || (slot.hash == hash && self.is_of(slot, piece)) {
                return place;
            }
            place = (place + 1) & (self.slots.len() - 1);
        }
    }

    #[inline]
    fn is_of(&self, slot: Slot, piece: &[u8]) -> bool {
        let bytes = self.records[slot.at as usize + HEAD..].get(..self.head(slot)[0]);
        bytes.is_some_and(|bytes| equal_long(bytes, piece))
    }

    /// How many bytes and ids a record has.
    #[inline]
    fn head(&self, slot: Slot) -> [usize; 2] {
        let numbers = self.records[slot.at as usize..][..HEAD].as_chunks::<4>().0;
        [u32::from_ne_bytes(numbers[0]) as usize, u32::from_ne_bytes(numbers[1]) as usize]
    }

    fn is_full(&self) -> bool {
        self.used * 4 >= self.slots.len() * 3
    }

    fn grow(&mut self) {
        let mut slots = filled(Slot::default(), self.slots.len() * 2);
        for slot in self.slots.iter().filter(|slot| slot.hash != 0) {
            let mut place = home(&slots, slot.hash);
            while slots[place].hash != 0 {
                place = (place + 1) & (slots.len() - 1);
            }
            slots[place] = *slot;
        }
        self.slots = slots;
    }
}

fn record_bytes<I>(piece: &[u8], ids: &[I]) -> usize {
    HEAD + piece.len() + size_of_val(ids)
}

/// Where a hash is looked for first. Its lowest bit is always set.
#[inline(always)]
fn home(slots: &[Slot], hash: u32) -> usize {
    (hash >> 1) as usize & (slots.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_what_was_put_in() {
        let mut cache = LongCache::<u16>::default();
        let piece = |n: u32| format!("a piece too long for a key, number {n}").into_bytes();
        let ids = |n: u32| (0..n % 40 + 1).map(|k| (n + k) as u16).collect::<Vec<_>>();
        let mut out = [0; 60];
        for n in 0..5_000 {
            let hash = cache.prepare(&piece(n));
            assert_eq!(cache.get(&piece(n), hash, &mut out), None);
            cache.insert(&piece(n), hash, &ids(n));
            // The last record has nothing behind it.
            assert_eq!(cache.get(&piece(n), hash, &mut out), Some(ids(n).len()));
            assert_eq!(out[..ids(n).len()], ids(n));
        }
        for n in 0..5_000 {
            let (hash, ids) = (cache.prepare(&piece(n)), ids(n));
            // With places to spare, and with none.
            for room in [60, ids.len()] {
                out.fill(0);
                assert_eq!(cache.get(&piece(n), hash, &mut out[..room]), Some(ids.len()));
                assert_eq!(out[..ids.len()], ids);
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
                largest = largest.max(cache.records.len() + cache.slots.len() * size_of::<Slot>());
            }
            assert!(largest <= MAX_BYTES, "{largest}");
            assert!(cache.used < number as usize, "it was wiped");
        }
    }

    #[test]
    fn what_is_learned_is_put_in_once_and_wipes_nothing() {
        let mut cache = LongCache::<u32>::default();
        let piece = |n: u32| [&n.to_le_bytes()[..], &[b'x'; 1 << 16]].concat();
        let mut learned = 0;
        for n in 0..2000 {
            let (piece, before) = (piece(n), cache.records.len());
            for _ in 0..2 {
                cache.learn(&piece, cache.prepare(&piece), &[n]);
            }
            learned += usize::from(cache.records.len() > before);
            assert!(cache.records.len() - before <= record_bytes(&piece, &[n]), "twice");
        }
        let mut out = [0; 16];
        assert!((700..768).contains(&learned) && cache.used == learned, "{learned}");
        assert!(
            (0..learned as u32)
                .all(|n| cache.get(&piece(n), cache.prepare(&piece(n)), &mut out) == Some(1) && out[0] == n)
        );
    }
}
