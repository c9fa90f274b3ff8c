//! Token ids of either width (`u16` *narrow*, `u32` *wide*), and table entries of 128 bits that hold a few of them.
//!
//! | width | entry |
//! |---|---|
//! | `u16` | seven ids; count 1-7 in the top 16 bits |
//! | `u32` | four ids, the first of 29 bits; count 1-4 in the three bits above it |
//!
//! Count 0 means *overflow*: bits 32-79 are an offset into an arena of ids, bits 80-111 their number.

use crate::mem::Zeroable;
use crate::mem::prefetch;

/// 128 bits, the lowest word first. Four words, so that an entry moves from table to output as one vector.
pub type Entry = [u32; 4];

/// The entry of an empty slot.
pub const NO_ENTRY: Entry = [0; 4];

/// Bits of an id in the first word of a wide entry.
const WIDE_ID_BITS: u32 = 29;

/// A token id as it is stored and returned: `u16` or `u32`.
pub trait TokenId: Zeroable + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// Ids that fit an entry.
    const INLINE_IDS: usize;
    /// Ids that [`TokenId::unpack`] stores; those beyond the count are arbitrary.
    const STORE_LEN: usize;

    /// Narrows an id. The encoder has checked that every id of the vocabulary fits.
    fn from_id(id: u32) -> Self;
    /// Widens an id.
    fn to_u32(self) -> u32;
    /// The entry of 1 to [`TokenId::INLINE_IDS`] ids.
    fn pack(ids: &[Self]) -> Entry;
    /// Stores the ids of an entry in `out`, of at least [`TokenId::STORE_LEN`] elements, and returns their number; 0 for an
    /// overflow entry and for [`NO_ENTRY`].
    fn unpack(entry: Entry, out: &mut [Self]) -> usize;
    /// Appends the little-endian bytes of `ids`.
    fn write_bytes(ids: &[Self], out: &mut Vec<u8>);
    /// Reads what [`TokenId::write_bytes`] wrote, up to the length of `out`.
    fn read_bytes(bytes: &[u8], out: &mut [Self]);
}

/// The narrowing conversions of this file, which take the low bits of a word.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the low bits are wanted, or the encoder has checked that they are all"
)]
mod low {
    pub const fn u16(word: u32) -> u16 {
        word as u16
    }

    pub const fn u32(bits: u128) -> u32 {
        bits as u32
    }

    pub const fn index(bits: u128) -> usize {
        bits as usize
    }
}

fn entry_of(bits: u128) -> Entry {
    std::array::from_fn(|word| low::u32(bits >> (32 * word)))
}

fn overflow_entry(offset: usize, count: usize) -> Entry {
    entry_of((offset as u128) << 32 | (count as u128) << 80)
}

/// (offset, count) of an overflow entry.
fn overflow_range(entry: Entry) -> (usize, usize) {
    let bits = entry.iter().rev().fold(0, |bits, &word| bits << 32 | u128::from(word));
    (low::index(bits >> 32 & ((1 << 48) - 1)), low::index(bits >> 80 & u128::from(u32::MAX)))
}

/// Ids of the entries that hold too many to be inline.
#[derive(Clone, Default)]
pub struct OverflowArena<I>(Vec<I>);

impl<I: TokenId> OverflowArena<I> {
    /// The entry of `ids`, which are stored here if they do not fit it.
    pub fn entry(&mut self, ids: &[I]) -> Entry {
        if ids.len() <= I::INLINE_IDS {
            return I::pack(ids);
        }
        self.0.extend_from_slice(ids);
        overflow_entry(self.0.len() - ids.len(), ids.len())
    }

    /// The ids of an overflow entry.
    #[cfg(test)]
    pub fn ids(&self, entry: Entry) -> &[I] {
        let (offset, count) = overflow_range(entry);
        &self.0[offset..offset + count]
    }

    /// The number of ids of an overflow entry, which it prefetches.
    #[inline]
    pub fn prefetched_len(&self, entry: Entry) -> usize {
        let (offset, count) = overflow_range(entry);
        prefetch(&self.0, offset);
        count
    }

    /// Copies the ids of an overflow entry to the start of `out`, and writes nothing after them.
    #[inline]
    pub fn copy_to(&self, entry: Entry, out: &mut [I]) {
        let (offset, count) = overflow_range(entry);
        let (ids, out) = (&self.0[offset..offset + count], &mut out[..count]);
        if !(copy_twice::<8, I>(ids, out) || copy_twice::<4, I>(ids, out)) {
            out.copy_from_slice(ids);
        }
    }

    /// The number of ids stored.
    pub fn n_ids(&self) -> usize {
        self.0.len()
    }

    /// Removes all ids.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Copies `N` to `2 * N` ids as the first and the last `N`, which may overlap: two copies of fixed size are a few
/// instructions, one of variable size is a call.
#[inline(always)]
fn copy_twice<const N: usize, I: TokenId>(ids: &[I], out: &mut [I]) -> bool {
    let (Some(first), Some(last)) = (ids.first_chunk::<N>(), ids.last_chunk::<N>()) else { return false };
    if ids.len() > 2 * N {
        return false;
    }
    out[..N].copy_from_slice(first);
    out[ids.len() - N..].copy_from_slice(last);
    true
}

impl TokenId for u16 {
    const INLINE_IDS: usize = 7;
    const STORE_LEN: usize = 8;

    #[inline(always)]
    fn from_id(id: u32) -> Self {
        low::u16(id)
    }

    #[inline(always)]
    fn to_u32(self) -> u32 {
        u32::from(self)
    }

    fn pack(ids: &[Self]) -> Entry {
        let bits = ids.iter().rev().fold(0, |bits, &id| bits << 16 | u128::from(id));
        entry_of(bits | (ids.len() as u128) << 112)
    }

    #[inline(always)]
    fn unpack(entry: Entry, out: &mut [Self]) -> usize {
        for (pair, word) in out[..8].as_chunks_mut::<2>().0.iter_mut().zip(entry) {
            *pair = [low::u16(word), low::u16(word >> 16)];
        }
        (entry[3] >> 16) as usize
    }

    fn write_bytes(ids: &[Self], out: &mut Vec<u8>) {
        out.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
    }

    #[inline(always)]
    fn read_bytes(bytes: &[u8], out: &mut [Self]) {
        for (id, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
            *id = Self::from_le_bytes(*bytes);
        }
    }
}

impl TokenId for u32 {
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
        let bits = ids.iter().rev().fold(0, |bits, &id| bits << 32 | u128::from(id));
        entry_of(bits | (ids.len() as u128) << WIDE_ID_BITS)
    }

    #[inline(always)]
    fn unpack(entry: Entry, out: &mut [Self]) -> usize {
        let [first, rest @ ..] = entry;
        out[..4].copy_from_slice(&[first & ((1 << WIDE_ID_BITS) - 1), rest[0], rest[1], rest[2]]);
        (first >> WIDE_ID_BITS) as usize
    }

    fn write_bytes(ids: &[Self], out: &mut Vec<u8>) {
        out.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
    }

    #[inline(always)]
    fn read_bytes(bytes: &[u8], out: &mut [Self]) {
        for (id, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
            *id = Self::from_le_bytes(*bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<I: TokenId>(largest: u32) {
        for n in 1..=I::INLINE_IDS {
            let ids: Vec<I> = (0..n as u32).map(|k| I::from_id(largest - k)).collect();
            let mut out = [I::default(); 8];
            assert_eq!(I::unpack(I::pack(&ids), &mut out), n);
            assert_eq!(out[..n], ids[..]);
        }
        let mut out = [I::default(); 8];
        let mut arena = OverflowArena::default();
        for n in I::INLINE_IDS + 1..40 {
            let ids: Vec<I> = (1..=n as u32).map(I::from_id).collect();
            let (entry, mut out) = (arena.entry(&ids), [I::default(); 41]);
            assert_eq!((arena.prefetched_len(entry), arena.ids(entry)), (n, &ids[..]));
            arena.copy_to(entry, &mut out);
            assert_eq!((&out[..n], out[n]), (&ids[..], I::default()), "nothing is written after them");
            arena.copy_to(entry, &mut out[..n]);
        }
        assert_eq!(I::unpack(overflow_entry(123_456_789_012, 77), &mut out), 0);
        assert_eq!(overflow_range(overflow_entry(123_456_789_012, 77)), (123_456_789_012, 77));
    }

    #[test]
    fn entries_return_the_packed_ids() {
        round_trip::<u16>(65_535);
        round_trip::<u32>((1 << 21) - 1);
    }
}
