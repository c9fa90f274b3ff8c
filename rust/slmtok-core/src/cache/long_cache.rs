//! The long cache: the ids of pieces without a key, in bounded memory.
//!
//! A slot holds 31 bits of a hash, a bit that is set, and the offset of a record; the record holds the piece and its ids. A
//! lookup therefore stalls on memory in two arrays: the home slot is prefetched, and if it has the hash of the piece, so are the
//! first two lines of the record. All bytes are compared, so a hit is always right. The caller inserts CJK
//! clauses (those too long for a key) at their second occurrence, because most of them never recur.

use std::marker::PhantomData;

use super::packed_ids::TokenId;
use super::short_key::equal_long;
use crate::byte_hash::{hash_bytes, random_seed};
use crate::mem::{filled_huge, prefetch, reserve_huge};

/// Bytes of slots and records together.
const MAX_BYTES: usize = 48 << 20;
/// Longer pieces never clear the cache: they are inserted only where there is room.
const MAX_CLEARING_BYTES: usize = 2 << 20;
/// The header of a record: the lengths of piece and ids, four bytes each.
const HEADER_BYTES: usize = 8;
/// Ids that are copied together: a copy of fixed size is a few instructions, one of variable size is a call.
const COPY_IDS: usize = 16;

#[derive(Clone, Copy, Default)]
struct Slot {
    /// 0 if the slot is empty.
    hash: u32,
    /// Offset of the record.
    offset: u32,
}

/// Ids of long pieces.
pub struct LongCache<I> {
    slots: Vec<Slot>,
    used: usize,
    /// Records, end to end.
    records: Vec<u8>,
    seed: u64,
    ids: PhantomData<I>,
}

impl<I: TokenId> Default for LongCache<I> {
    fn default() -> Self {
        Self { slots: vec![Slot::default(); 256], used: 0, records: Vec::new(), seed: random_seed(), ids: PhantomData }
    }
}

impl<I: TokenId> LongCache<I> {
    /// The hash of a piece for `get` and `insert`, 1 to 2^32 - 1. Prefetches its home slot.
    #[cold]
    #[inline(never)]
    pub fn hash_and_prefetch(&self, piece: &[u8]) -> u64 {
        let hash = hash_bytes(piece, self.seed) >> 32 | 1;
        prefetch(&self.slots, home(&self.slots, low_32(hash)));
        hash
    }

    /// Prefetches the record that [`LongCache::get`] will compare. The home slot should be in the L1 cache by now.
    #[inline]
    pub fn prefetch_record(&self, hash: u64) {
        let slot = self.slots[home(&self.slots, low_32(hash))];
        if slot.hash == low_32(hash) {
            prefetch(&self.records, slot.offset as usize);
            prefetch(&self.records, slot.offset as usize + 64);
        }
    }

    /// Writes the ids of `piece` to the start of `out`, and returns their number; `None` if the piece is absent. Elements
    /// after the ids may be overwritten.
    #[inline]
    pub fn get(&self, piece: &[u8], hash: u64, out: &mut [I]) -> Option<usize> {
        let slot = self.slots[self.find(piece, low_32(hash))];
        if slot.hash == 0 {
            return None;
        }
        let [_, count] = self.header(slot);
        let ids = &self.records[slot.offset as usize + HEADER_BYTES + piece.len()..];
        let (size, mut done) = (size_of::<I>(), 0);
        while done < count {
            match (ids.get(done * size..(done + COPY_IDS) * size), out.get_mut(done..done + COPY_IDS)) {
                (Some(ids), Some(out)) => I::read_bytes(ids, out),
                _ => I::read_bytes(&ids[done * size..count * size], &mut out[done..count]),
            }
            done += COPY_IDS;
        }
        Some(count)
    }

    /// Inserts an absent piece. May clear the cache before, unless the piece has more than [`MAX_CLEARING_BYTES`].
    pub fn insert(&mut self, piece: &[u8], hash: u64, ids: &[I]) {
        if !self.has_room(record_bytes(piece, ids)) {
            if piece.len() > MAX_CLEARING_BYTES {
                return;
            }
            // The caller's hash stays valid.
            *self = Self { seed: self.seed, ..Self::default() };
        }
        self.append(piece, hash, ids);
    }

    /// Inserts a piece that may be present, unless that would clear the cache.
    pub fn insert_without_clearing(&mut self, piece: &[u8], hash: u64, ids: &[I]) {
        let present = self.slots[self.find(piece, low_32(hash))].hash != 0;
        if !present && self.has_room(record_bytes(piece, ids)) {
            self.append(piece, hash, ids);
        }
    }

    /// Whether a record of `record` bytes can be added without clearing the cache.
    fn has_room(&self, record: usize) -> bool {
        let slots = self.slots.len() << usize::from(self.is_full());
        self.records.len() + record + slots * size_of::<Slot>() <= MAX_BYTES
    }

    #[expect(clippy::cast_possible_truncation, reason = "records, and so pieces, are below MAX_BYTES")]
    fn append(&mut self, piece: &[u8], hash: u64, ids: &[I]) {
        if self.is_full() {
            self.grow();
        }
        let at = self.find(piece, low_32(hash));
        self.slots[at] = Slot { hash: low_32(hash), offset: self.records.len() as u32 };
        self.used += 1;
        reserve_huge(&mut self.records, record_bytes(piece, ids));
        self.records.extend_from_slice(&(piece.len() as u32).to_ne_bytes());
        self.records.extend_from_slice(&(ids.len() as u32).to_ne_bytes());
        self.records.extend_from_slice(piece);
        I::write_bytes(ids, &mut self.records);
    }

    /// The slot of `piece`, or the empty slot that proves its absence.
    #[inline]
    fn find(&self, piece: &[u8], hash: u32) -> usize {
        let mut at = home(&self.slots, hash);
        loop {
            let slot = self.slots[at];
            if slot.hash == 0 || (slot.hash == hash && self.holds(slot, piece)) {
                return at;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    #[inline]
    fn holds(&self, slot: Slot, piece: &[u8]) -> bool {
        let bytes = self.records[slot.offset as usize + HEADER_BYTES..].get(..self.header(slot)[0]);
        bytes.is_some_and(|bytes| equal_long(bytes, piece))
    }

    /// The numbers of bytes and of ids in a record.
    #[inline]
    fn header(&self, slot: Slot) -> [usize; 2] {
        let numbers = self.records[slot.offset as usize..][..HEADER_BYTES].as_chunks::<4>().0;
        [u32::from_ne_bytes(numbers[0]) as usize, u32::from_ne_bytes(numbers[1]) as usize]
    }

    fn is_full(&self) -> bool {
        self.used * 4 >= self.slots.len() * 3
    }

    fn grow(&mut self) {
        let mut slots = filled_huge(Slot::default(), self.slots.len() * 2);
        for slot in self.slots.iter().filter(|slot| slot.hash != 0) {
            let mut at = home(&slots, slot.hash);
            while slots[at].hash != 0 {
                at = (at + 1) & (slots.len() - 1);
            }
            slots[at] = *slot;
        }
        self.slots = slots;
    }
}

fn record_bytes<I>(piece: &[u8], ids: &[I]) -> usize {
    HEADER_BYTES + piece.len() + size_of_val(ids)
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "hashes of long pieces have 32 bits")]
fn low_32(hash: u64) -> u32 {
    hash as u32
}

/// The home slot of a hash, whose lowest bit is always set.
#[inline(always)]
fn home(slots: &[Slot], hash: u32) -> usize {
    (hash >> 1) as usize & (slots.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookups_return_what_was_inserted() {
        let mut cache = LongCache::<u16>::default();
        let piece = |n: u32| format!("a piece too long for a key, number {n}").into_bytes();
        let ids = |n: u32| (0..n % 40 + 1).map(|k| (n + k) as u16).collect::<Vec<_>>();
        let mut out = [0; 60];
        for n in 0..5_000 {
            let hash = cache.hash_and_prefetch(&piece(n));
            assert_eq!(cache.get(&piece(n), hash, &mut out), None);
            cache.insert(&piece(n), hash, &ids(n));
            // The last record has nothing after it.
            assert_eq!(cache.get(&piece(n), hash, &mut out), Some(ids(n).len()));
            assert_eq!(out[..ids(n).len()], ids(n));
        }
        for n in 0..5_000 {
            let (hash, ids) = (cache.hash_and_prefetch(&piece(n)), ids(n));
            // With room after the ids, and without.
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
                cache.insert(&piece, cache.hash_and_prefetch(&piece), &vec![n; count]);
                largest = largest.max(cache.records.len() + cache.slots.len() * size_of::<Slot>());
            }
            assert!(largest <= MAX_BYTES, "{largest}");
            assert!(cache.used < number as usize, "it was cleared");
        }
    }

    #[test]
    fn the_longest_pieces_are_inserted_only_where_there_is_room() {
        let mut cache = LongCache::<u32>::default();
        let longest = vec![b'x'; MAX_CLEARING_BYTES + 1];
        let (hash, mut out) = (cache.hash_and_prefetch(&longest), [0; 16]);
        cache.insert(&longest, hash, &[7]);
        assert_eq!(cache.get(&longest, hash, &mut out), Some(1));
        cache.insert(b"a short piece without a key", 9, &[8]);
        for n in 0..40_u8 {
            let piece = [&[n][..], &longest].concat();
            let hash = cache.hash_and_prefetch(&piece);
            cache.insert(&piece, hash, &[n.into()]);
            let fits = usize::from(n) < MAX_BYTES / MAX_CLEARING_BYTES - 2;
            assert_eq!(cache.get(&piece, hash, &mut out).is_some(), fits, "{n}");
        }
        assert_eq!(cache.get(b"a short piece without a key", 9, &mut out), Some(1), "it was not cleared");
        // A piece of exactly the limit clears it.
        cache.insert(&longest[1..], cache.hash_and_prefetch(&longest[1..]), &[9]);
        assert_eq!((cache.used, cache.get(&longest, hash, &mut out)), (1, None));
    }

    #[test]
    fn insert_without_clearing_inserts_once() {
        let mut cache = LongCache::<u32>::default();
        let piece = |n: u32| [&n.to_le_bytes()[..], &[b'x'; 1 << 16]].concat();
        let mut inserted = 0;
        for n in 0..2000 {
            let (piece, before) = (piece(n), cache.records.len());
            for _ in 0..2 {
                cache.insert_without_clearing(&piece, cache.hash_and_prefetch(&piece), &[n]);
            }
            inserted += usize::from(cache.records.len() > before);
            assert!(cache.records.len() - before <= record_bytes(&piece, &[n]), "twice");
        }
        let mut out = [0; 16];
        assert!((700..768).contains(&inserted) && cache.used == inserted, "{inserted}");
        let found = |n| cache.get(&piece(n), cache.hash_and_prefetch(&piece(n)), &mut out) == Some(1) && out[0] == n;
        assert!((0..inserted as u32).all(found));
    }
}
