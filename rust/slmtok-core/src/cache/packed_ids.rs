//! Ids of one width, and how up to seven of them are packed into one table entry.
//!
//! | width | entry of 128 bits |
//! |---|---|
//! | `u16` | seven ids; count 1-7 in the highest 16 bits |
//! | `u32` | four ids, of which the first has 29 bits; count 1-4 in the three bits above it |
//!
//! Count 0 means *spilled*: bits 32-79 are an offset into an arena of ids, bits 80-111 how many there are.

use crate::mem::Zeroable;
use crate::mem::prefetch;

/// 128 bits, the lowest first. In four words, so that they go from table to output as one vector.
pub type Entry = [u32; 4];

/// What is no entry.
pub const NO_ENTRY: Entry = [0; 4];

fn entry_of(bits: u128) -> Entry {
    std::array::from_fn(|word| (bits >> (32 * word)) as u32)
}

/// Bits of the first wide lane that hold an id.
const WIDE_ID: u32 = (1 << 29) - 1;

/// An id as it is stored and given out: `u16` or `u32`.
pub trait Id: Zeroable + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// Ids in one entry.
    const INLINE_IDS: usize;
    /// Lanes that [`Id::unpack`] writes, those beyond the count with anything.
    const STORE_LEN: usize;

    /// Narrows a public id. The encoder has checked that all of them fit.
    fn from_id(id: u32) -> Self;
    /// Widens.
    fn to_u32(self) -> u32;
    /// An entry of `ids`, which must be 1 to [`Id::INLINE_IDS`] long.
    fn pack(ids: &[Self]) -> Entry;
    /// Writes the ids of an entry to `out`, which has at least [`Id::STORE_LEN`] places, and returns how many there are; 0 if
    /// the entry is spilled.
    fn unpack(entry: Entry, out: &mut [Self]) -> usize;
    /// Little-endian bytes of `ids`, appended to `out`.
    fn write(ids: &[Self], out: &mut Vec<u8>);
    /// What [`Id::write`] wrote: as many as `out` has.
    fn read(bytes: &[u8], out: &mut [Self]);
}

/// An entry that points into the arena.
#[must_use]
fn spill(offset: usize, count: usize) -> Entry {
    entry_of((offset as u128) << 32 | (count as u128) << 80)
}

/// (offset, count) of a spilled entry.
#[must_use]
fn spilled(entry: Entry) -> (usize, usize) {
    let bits = entry.iter().rev().fold(0, |bits, &word| bits << 32 | u128::from(word));
    ((bits >> 32) as usize & ((1 << 48) - 1), (bits >> 80) as u32 as usize)
}

/// Ids of entries that have too many for their lanes.
#[derive(Clone, Default)]
pub struct Arena<I>(Vec<I>);

impl<I: Id> Arena<I> {
    /// The entry of `ids`, which go into the arena if there are too many.
    pub fn entry(&mut self, ids: &[I]) -> Entry {
        if ids.len() <= I::INLINE_IDS {
            return I::pack(ids);
        }
        self.0.extend_from_slice(ids);
        spill(self.0.len() - ids.len(), ids.len())
    }

    /// The ids of a spilled entry.
    #[cfg(test)]
    pub fn ids(&self, entry: Entry) -> &[I] {
        let (offset, count) = spilled(entry);
        &self.0[offset..offset + count]
    }

    /// Asks for the ids of a spilled entry, and returns how many they are.
    #[inline]
    pub fn ask(&self, entry: Entry) -> usize {
        let (offset, count) = spilled(entry);
        prefetch(&self.0, offset);
        count
    }

    /// Writes the ids of a spilled entry to the begin of `out`, and nothing behind them.
    #[inline]
    pub fn copy(&self, entry: Entry, out: &mut [I]) {
        let (offset, count) = spilled(entry);
        let (ids, out) = (&self.0[offset..offset + count], &mut out[..count]);
        if !(copied_by::<8, I>(ids, out) || copied_by::<4, I>(ids, out)) {
            out.copy_from_slice(ids);
        }
    }

    /// How many ids it holds.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Copies `ids`, if they are `N` to twice as many, as the first and the last `N` of them: two copies of a fixed size are a few instructions,
/// one of another is a call.
#[inline(always)]
fn copied_by<const N: usize, I: Id>(ids: &[I], out: &mut [I]) -> bool {
    let (Some(first), Some(last)) = (ids.first_chunk::<N>(), ids.last_chunk::<N>()) else { return false };
    if ids.len() > 2 * N {
        return false;
    }
    out[..N].copy_from_slice(first);
    out[ids.len() - N..].copy_from_slice(last);
    true
}

impl Id for u16 {
    const INLINE_IDS: usize = 7;
    const STORE_LEN: usize = 8;

    #[inline(always)]
    fn from_id(id: u32) -> Self {
        id as Self
    }

    #[inline(always)]
    fn to_u32(self) -> u32 {
        u32::from(self)
    }

    fn pack(ids: &[Self]) -> Entry {
        let low = ids.iter().rev().fold(0, |entry, &id| entry << 16 | u128::from(id));
        entry_of(low | (ids.len() as u128) << 112)
    }

    #[inline(always)]
    fn unpack(entry: Entry, out: &mut [Self]) -> usize {
        for (pair, word) in out[..8].as_chunks_mut::<2>().0.iter_mut().zip(entry) {
            *pair = [word as Self, (word >> 16) as Self];
        }
        (entry[3] >> 16) as usize
    }

    fn write(ids: &[Self], out: &mut Vec<u8>) {
        out.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
    }

    #[inline(always)]
    fn read(bytes: &[u8], out: &mut [Self]) {
        for (id, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
            *id = Self::from_le_bytes(*bytes);
        }
    }
}

impl Id for u32 {
    const INLINE_IDS: usize = 4;
    const STORE_LEN: usize = 4;

    #[inline(always)]
    fn from_id(id: u32) -> Self {
        id
    }

    #[inline(always)]
    fn to_u32(self) -> u32 {
        self
    }

    fn pack(ids: &[Self]) -> Entry {
        let low = ids.iter().rev().fold(0, |entry, &id| entry << 32 | u128::from(id));
        entry_of(low | (ids.len() as u128) << 29)
    }

    #[inline(always)]
    fn unpack(entry: Entry, out: &mut [Self]) -> usize {
        let [first, rest @ ..] = entry;
        out[..4].copy_from_slice(&[first & WIDE_ID, rest[0], rest[1], rest[2]]);
        (first >> 29) as usize
    }

    fn write(ids: &[Self], out: &mut Vec<u8>) {
        out.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
    }

    #[inline(always)]
    fn read(bytes: &[u8], out: &mut [Self]) {
        for (id, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
            *id = Self::from_le_bytes(*bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<I: Id>(largest: u32) {
        for n in 1..=I::INLINE_IDS {
            let ids: Vec<I> = (0..n as u32).map(|k| I::from_id(largest - k)).collect();
            let mut out = [I::default(); 8];
            assert_eq!(I::unpack(I::pack(&ids), &mut out), n);
            assert_eq!(out[..n], ids[..]);
        }
        let mut out = [I::default(); 8];
        let mut arena = Arena::default();
        for n in I::INLINE_IDS + 1..40 {
            let ids: Vec<I> = (1..=n as u32).map(I::from_id).collect();
            let (entry, mut out) = (arena.entry(&ids), [I::default(); 41]);
            assert_eq!((arena.ask(entry), arena.ids(entry)), (n, &ids[..]));
            arena.copy(entry, &mut out);
            assert_eq!((&out[..n], out[n]), (&ids[..], I::default()), "and nothing behind");
            arena.copy(entry, &mut out[..n]);
        }
        assert_eq!(I::unpack(spill(123_456_789_012, 77), &mut out), 0);
        assert_eq!(spilled(spill(123_456_789_012, 77)), (123_456_789_012, 77));
    }

    #[test]
    fn entries_give_back_what_was_packed() {
        round_trip::<u16>(65_535);
        round_trip::<u32>((1 << 21) - 1);
    }
}
