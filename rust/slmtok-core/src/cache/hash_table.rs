//! Open addressing over 32-byte slots, two to a cache line, with swap-to-home.
//!
//! A key is probed at its home slot, then at the other slot of the same line, then along the following lines, up to an empty
//! slot. The table is self-organising: a key that is looked up away from home is swapped into its home slot. Of two keys
//! with one home the frequent one is looked up more often, so it mostly sits there.

#![allow(unsafe_code, reason = "a slice of line-aligned pairs as a slice of slots has no safe form")]

use std::ops::{Deref, DerefMut};

use super::hash::KeyHash;
use crate::mem::filled_huge;

/// A slot with a key.
pub trait Keyed: Copy + Default {
    /// Its key; 0 if it is empty.
    fn key(&self) -> u128;
}

/// Two slots that share a cache line.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Line<S>([S; 2]);

/// An even number of slots, each pair of which is aligned to a cache line.
pub struct LineSlots<S>(Vec<Line<S>>);

impl<S: Keyed> LineSlots<S> {
    /// `slots` empty slots, an even number.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        Self(filled_huge(Line::default(), slots / 2))
    }

    /// Shrinks to `n` slots, rounded up to an even number.
    pub fn truncate(&mut self, n: usize) {
        self.0.truncate(n.div_ceil(2));
        self.0.shrink_to_fit();
    }
}

impl<S> Deref for LineSlots<S> {
    type Target = [S];

    #[inline(always)]
    fn deref(&self) -> &[S] {
        const { assert!(size_of::<Line<S>>() == 2 * size_of::<S>()) };
        // SAFETY: a line is an array of two slots without padding, by its representation and its size.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), 2 * self.0.len()) }
    }
}

impl<S> DerefMut for LineSlots<S> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [S] {
        const { assert!(size_of::<Line<S>>() == 2 * size_of::<S>()) };
        // SAFETY: as in `deref`; the lines are mutably borrowed for as long as the slots.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), 2 * self.0.len()) }
    }
}

/// The shift that turns a hash into the index of its home among `slots` slots, a power of two: the top bits name it.
#[inline(always)]
pub fn home_shift(slots: usize) -> u32 {
    64 - slots.trailing_zeros()
}

/// A longer probe means clustering, which only adversarial input causes: the table takes another seed. At the permitted loads
/// random keys stay below 150.
const MAX_PROBE_LEN: usize = 512;

/// The slot that is probed after `steps` steps; the caller wraps it around.
#[inline(always)]
fn probe_at(home: usize, steps: usize) -> usize {
    if steps < 2 { home ^ steps } else { (home & !1) + steps }
}

/// The slot of a key, or the empty slot that proves its absence. There must be an empty slot.
#[inline]
pub fn probe<S: Keyed>(slots: &[S], key: u128, home: usize) -> usize {
    let mut steps = 0;
    loop {
        let at = probe_at(home, steps) & (slots.len() - 1);
        if slots[at].key() == key || slots[at].key() == 0 {
            return at;
        }
        steps += 1;
    }
}

/// As [`probe`], for insertions: `None` after [`MAX_PROBE_LEN`] slots.
#[inline(always)]
pub fn probe_bounded<S: Keyed>(slots: &[S], key: u128, home: usize) -> Option<usize> {
    let mut probed = (0..MAX_PROBE_LEN).map(|steps| probe_at(home, steps) & (slots.len() - 1));
    probed.find(|&at| slots[at].key() == key || slots[at].key() == 0)
}

/// Looks up a key that is not in its home slot, swaps it into that slot, and returns the slot; for an absent key the empty
/// slot.
///
/// Both keys are found afterwards; section 4 of `DESIGN.md` proves it.
///
/// `hash` is the hash under which the key is looked up. If the table was rehashed since, it names no home: nothing moves.
///
/// Out of line, because the loops that call it need the registers.
#[cold]
#[inline(never)]
#[expect(clippy::cast_possible_truncation, reason = "the shifted hash is below the number of slots")]
pub fn swap_to_home<S: Keyed>(slots: &mut [S], key_hash: KeyHash, key: u128, hash: u64) -> usize {
    let home = (hash >> home_shift(slots.len())) as usize;
    let at = probe(slots, key, home);
    if slots[at].key() == 0 || key_hash.of(key) != hash {
        return at;
    }
    slots.swap(at, home & (slots.len() - 1));
    home
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Default)]
    #[repr(C, align(32))]
    struct Slot(u128);

    impl Keyed for Slot {
        fn key(&self) -> u128 {
            self.0
        }
    }

    #[test]
    fn pairs_share_a_cache_line() {
        for slots in [2, 64, 1 << 18] {
            let mut lines = LineSlots::<Slot>::new(slots);
            assert_eq!((lines.len(), lines.as_ptr() as usize % 64), (slots, 0));
            lines.iter_mut().zip(1..).for_each(|(slot, key)| slot.0 = key);
            lines.truncate(slots - 1);
            assert!(lines.len() == slots && lines.iter().zip(1..).all(|(slot, key)| slot.0 == key));
        }
    }

    #[test]
    fn every_slot_is_probed_once_and_the_line_of_the_home_first() {
        for (slots, home) in [2, 4, 16].into_iter().flat_map(|slots| (0..slots).map(move |home| (slots, home))) {
            let order: Vec<usize> = (0..slots).map(|steps| probe_at(home, steps) & (slots - 1)).collect();
            assert_eq!((order[0], order[1]), (home, home ^ 1));
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..slots).collect::<Vec<_>>(), "{order:?}");
        }
    }
}
