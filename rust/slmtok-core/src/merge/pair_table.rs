//! Which token two neighbours make, if any.
//!
//! Pairs of bytes are looked up in a grid, all others in open addressing over `a << 42 | b << 21 | made`, up to four fifths
//! full: a small table stays in a near cache, and that saves more than short searches would. Internal ids follow the order of
//! merging, so "the pair of lowest rank" is "the smallest id made".
//!
//! Most pairs that are asked for do not exist. A bit for each hash, small enough for the nearest caches, says so of nine in ten
//! of them without a look at the slots.

use crate::mem::filled;
use crate::mem::prefetch;
use crate::merges::Merges;

/// No token: larger than every id, so that a minimum needs no special case.
pub const NONE: u32 = u32::MAX;
/// A symbol that makes nothing with any other: parts are smaller than what they make, so the largest id is in no pair.
pub const SENTINEL: u32 = (1 << ID_BITS) - 1;

const ID_BITS: u32 = 21;
const ID_MASK: u64 = (1 << ID_BITS) - 1;
const EMPTY: u64 = u64::MAX;
/// Bits of the filter for a slot, as a power of two.
const FILTER: u32 = 3;

/// Lookup of pairs.
pub struct PairTable {
    of_bytes: Vec<u32>,
    slots: Vec<u64>,
    shift: u32,
    /// [`FILTER`] bits for each slot: those of the hashes that are there.
    filter: Vec<u64>,
}

impl PairTable {
    /// The table of a merge list.
    #[must_use]
    pub fn new(merges: &Merges) -> Self {
        let mut table = Self::with_capacity(merges.pairs().len());
        for (&(left, right), made) in merges.pairs().iter().zip(256..) {
            table.insert(left, right, made);
        }
        table
    }

    /// An empty table with room for `pairs` pairs.
    pub(crate) fn with_capacity(pairs: usize) -> Self {
        let size = (pairs.max(8) * 5 / 4).next_power_of_two();
        Self {
            of_bytes: vec![NONE; 1 << 16],
            slots: filled(EMPTY, size),
            shift: 64 - size.trailing_zeros(),
            filter: vec![0; (size << FILTER) / 64],
        }
    }

    pub(crate) fn insert(&mut self, left: u32, right: u32, made: u32) {
        if left < 256 && right < 256 {
            self.of_bytes[(left << 8 | right) as usize] = made;
            return;
        }
        let pair = joined(left, right);
        let mask = self.slots.len() - 1;
        let hash = hash(pair);
        let bit = hash >> (self.shift - FILTER);
        self.filter[(bit >> 6) as usize] |= 1 << (bit & 63);
        let mut at = (hash >> self.shift) as usize;
        while self.slots[at & mask] != EMPTY {
            at += 1;
        }
        self.slots[at & mask] = pair << ID_BITS | u64::from(made);
    }

    /// The id that `left` and `right` make, or [`NONE`].
    #[inline(always)]
    #[must_use]
    pub fn made(&self, left: u32, right: u32) -> u32 {
        if left < 256 && right < 256 {
            return self.of_bytes[(left << 8 | right) as usize];
        }
        let pair = joined(left, right);
        let hash = hash(pair);
        if self.may_contain(hash) { self.find(pair, hash) } else { NONE }
    }

    /// The id that two bytes make, or [`NONE`].
    #[inline(always)]
    #[must_use]
    pub fn made_of_bytes(&self, left: u8, right: u8) -> u32 {
        self.of_bytes[usize::from(left) << 8 | usize::from(right)]
    }

    /// What `middle`, which must not be a byte, makes with `left` and with `right`, which may be [`SENTINEL`]. One question
    /// does not wait for the answer to the other.
    #[inline(always)]
    #[must_use]
    pub fn made_around(&self, left: u32, middle: u32, right: u32) -> (u32, u32) {
        debug_assert!(middle > 255);
        let (with_left, with_right) = (joined(left, middle), joined(middle, right));
        let (left_hash, right_hash) = (hash(with_left), hash(with_right));
        // Asked for before the filter has answered: the wait for it and for both slots is then one.
        prefetch(&self.slots, (left_hash >> self.shift) as usize);
        prefetch(&self.slots, (right_hash >> self.shift) as usize);
        let (left, right) = (self.may_contain(left_hash), self.may_contain(right_hash));
        (
            if left { self.find(with_left, left_hash) } else { NONE },
            if right { self.find(with_right, right_hash) } else { NONE },
        )
    }

    /// Whether the filter knows of a pair with this hash.
    #[inline(always)]
    fn may_contain(&self, hash: u64) -> bool {
        let bit = hash >> (self.shift - FILTER);
        self.filter[(bit >> 6) as usize] >> (bit & 63) & 1 == 1
    }

    #[inline(always)]
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
fn joined(left: u32, right: u32) -> u64 {
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
                assert_eq!(table.made(left, right), want, "({left}, {right})");
                if left > 255 {
                    assert_eq!(table.made_around(right, left, SENTINEL), (table.made(right, left), NONE));
                    assert_eq!(table.made_around(SENTINEL, left, right), (NONE, want));
                }
            }
        }
    }
}
