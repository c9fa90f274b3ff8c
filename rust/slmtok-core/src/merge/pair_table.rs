//! The pair table: from two neighbouring ids to the id that they merge to.
//!
//! Pairs of bytes are looked up in a 256 x 256 grid; all others by open addressing over `left << 42 | right << 21 | merged`,
//! up to four fifths full, because a small table in a near cache saves more than short probes. Internal ids follow merge
//! order, so "the pair of lowest rank" is "the smallest merged id".
//!
//! 90 % of the pairs looked up do not exist. A one-hash Bloom filter, small enough for the L1 or L2 cache, answers
//! for most of them without reading the slots.

use crate::mem::{filled_huge, prefetch};
use crate::merges::Merges;

/// No id. Larger than every id, so a minimum needs no special case.
pub const NONE: u32 = u32::MAX;
/// A symbol that merges with no other: merged ids are larger than their halves, so the largest id is part of no pair.
pub const SENTINEL: u32 = (1 << ID_BITS) - 1;

const ID_BITS: u32 = 21;
const ID_MASK: u64 = (1 << ID_BITS) - 1;
const EMPTY: u64 = u64::MAX;
/// Filter bits per slot, as a power of two.
const FILTER_BITS_LOG2: u32 = 3;

/// Merged ids by pair.
pub struct PairTable {
    byte_pairs: Vec<u32>,
    slots: Vec<u64>,
    shift: u32,
    /// Bloom filter of the hashes in `slots`.
    filter: Vec<u64>,
}

impl PairTable {
    /// The table of a merge list.
    #[must_use]
    pub fn new(merges: &Merges) -> Self {
        let mut table = Self::with_capacity(merges.pairs().len());
        for (&(left, right), merged) in merges.pairs().iter().zip(256..) {
            table.insert(left, right, merged);
        }
        table
    }

    /// An empty table with room for `pairs` pairs.
    pub(crate) fn with_capacity(pairs: usize) -> Self {
        let size = (pairs.max(8) * 5 / 4).next_power_of_two();
        Self {
            byte_pairs: vec![NONE; 1 << 16],
            slots: filled_huge(EMPTY, size),
            shift: 64 - size.trailing_zeros(),
            filter: vec![0; (size << FILTER_BITS_LOG2) / 64],
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the top bits of a hash name a slot")]
    pub(crate) fn insert(&mut self, left: u32, right: u32, merged: u32) {
        if left < 256 && right < 256 {
            self.byte_pairs[(left << 8 | right) as usize] = merged;
            return;
        }
        let pair = pair_of(left, right);
        let mask = self.slots.len() - 1;
        let hash = hash(pair);
        let bit = hash >> (self.shift - FILTER_BITS_LOG2);
        self.filter[(bit >> 6) as usize] |= 1 << (bit & 63);
        let mut at = (hash >> self.shift) as usize;
        while self.slots[at & mask] != EMPTY {
            at += 1;
        }
        self.slots[at & mask] = pair << ID_BITS | u64::from(merged);
    }

    /// The id that `left` and `right` merge to, or [`NONE`].
    #[inline(always)]
    #[must_use]
    pub fn merged(&self, left: u32, right: u32) -> u32 {
        if left < 256 && right < 256 {
            return self.byte_pairs[(left << 8 | right) as usize];
        }
        let pair = pair_of(left, right);
        let hash = hash(pair);
        if self.may_contain(hash) { self.find(pair, hash) } else { NONE }
    }

    /// The id that two bytes merge to, or [`NONE`].
    #[inline(always)]
    #[must_use]
    pub fn merged_bytes(&self, left: u8, right: u8) -> u32 {
        self.byte_pairs[usize::from(left) << 8 | usize::from(right)]
    }

    /// The ids that `middle` merges to with `left` and with `right`. `middle` must not be a byte; the others may be
    /// [`SENTINEL`]. The memory stalls of both lookups overlap.
    #[inline(always)]
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the top bits of a hash name a slot")]
    pub fn merged_around(&self, left: u32, middle: u32, right: u32) -> (u32, u32) {
        debug_assert!(middle > 255);
        let (with_left, with_right) = (pair_of(left, middle), pair_of(middle, right));
        let (left_hash, right_hash) = (hash(with_left), hash(with_right));
        // Before the filter has answered, so that its memory stall and those of both slots overlap.
        prefetch(&self.slots, (left_hash >> self.shift) as usize);
        prefetch(&self.slots, (right_hash >> self.shift) as usize);
        let (left, right) = (self.may_contain(left_hash), self.may_contain(right_hash));
        (
            if left { self.find(with_left, left_hash) } else { NONE },
            if right { self.find(with_right, right_hash) } else { NONE },
        )
    }

    /// Whether a pair with this hash may exist.
    #[inline(always)]
    fn may_contain(&self, hash: u64) -> bool {
        let bit = hash >> (self.shift - FILTER_BITS_LOG2);
        self.filter[(bit >> 6) as usize] >> (bit & 63) & 1 == 1
    }

    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the top bits of a hash name a slot, the low bits of a slot are an id"
    )]
    fn find(&self, pair: u64, hash: u64) -> u32 {
        let mask = self.slots.len() - 1;
        let mut at = (hash >> self.shift) as usize;
        loop {
            let slot = self.slots[at & mask];
            if slot >> ID_BITS == pair {
                return (slot & ID_MASK) as u32;
            }
            if slot == EMPTY {
                return NONE;
            }
            at += 1;
        }
    }
}

#[inline(always)]
fn pair_of(left: u32, right: u32) -> u64 {
    u64::from(left) << ID_BITS | u64::from(right)
}

#[inline(always)]
const fn hash(pair: u64) -> u64 {
    pair.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_all_pairs_and_no_others() {
        let pairs: Vec<(u32, u32)> = (0..255).map(|b| (b, b + 1)).chain((0..200).map(|k| (256 + k, 250))).collect();
        let merges = Merges::new(pairs.clone()).unwrap();
        let table = PairTable::new(&merges);
        for left in 0..500 {
            for right in 0..500 {
                let want = pairs.iter().position(|&pair| pair == (left, right)).map_or(NONE, |at| 256 + at as u32);
                assert_eq!(table.merged(left, right), want, "({left}, {right})");
                if left > 255 {
                    assert_eq!(table.merged_around(right, left, SENTINEL), (table.merged(right, left), NONE));
                    assert_eq!(table.merged_around(SENTINEL, left, right), (NONE, want));
                }
            }
        }
    }
}
