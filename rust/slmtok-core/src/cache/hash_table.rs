//! Slots of a table with open addressing, two to a line of the cache: a key is looked for at its home, then beside it in the same line, then
//! in the lines that follow, up to an empty slot.

#![allow(unsafe_code, reason = "pairs of slots as slots, which has no safe form for a type that is aligned to lines")]

use std::ops::{Deref, DerefMut};

use super::hash::KeyHash;
use crate::mem::{filled, with_capacity};

/// A slot that may have a key.
pub trait Keyed: Copy + Default {
    /// Its key; 0 if it is empty.
    fn key(&self) -> u128;
}

/// Two slots that share a line.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Line<S>([S; 2]);

/// An even number of slots, of which each pair is in one line.
pub struct LineSlots<S>(Vec<Line<S>>);

impl<S: Keyed> LineSlots<S> {
    /// So many empty slots, an even number.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        Self(filled(Line::default(), slots / 2))
    }

    /// Keeps the first `n` slots, and maybe one more.
    pub fn keep(&mut self, n: usize) {
        self.0.truncate(n.div_ceil(2));
        self.0.shrink_to_fit();
    }
}

impl<S: Keyed> Clone for LineSlots<S> {
    fn clone(&self) -> Self {
        let mut lines = with_capacity(self.0.len());
        lines.extend_from_slice(&self.0);
        Self(lines)
    }
}

impl<S> Deref for LineSlots<S> {
    type Target = [S];

    #[inline(always)]
    fn deref(&self) -> &[S] {
        const { assert!(size_of::<Line<S>>() == 2 * size_of::<S>()) };
        // SAFETY: a line is an array of two slots and nothing else, by its representation and its size.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), 2 * self.0.len()) }
    }
}

impl<S> DerefMut for LineSlots<S> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [S] {
        const { assert!(size_of::<Line<S>>() == 2 * size_of::<S>()) };
        // SAFETY: as above; and the lines are borrowed for as long as the slots.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), 2 * self.0.len()) }
    }
}

/// By how many bits a hash is shifted to name the home among so many slots, a power of two: its highest bits do.
#[inline(always)]
pub fn shift(slots: usize) -> u32 {
    64 - slots.trailing_zeros()
}

/// A longer probe means clustering (hostile input): take another seed. At the loads allowed, random keys stay below 150.
const MAX_PROBE: usize = 512;

/// Where a key is looked for after `steps` steps from its home; more than there are slots begin again at the first.
#[inline(always)]
fn probe(home: usize, steps: usize) -> usize {
    if steps < 2 { home ^ steps } else { (home & !1) + steps }
}

/// Where a key is, or the empty slot that says that it is not there. There must be one.
#[inline]
pub fn search<S: Keyed>(slots: &[S], key: u128, home: usize) -> usize {
    let mut steps = 0;
    loop {
        let at = probe(home, steps) & (slots.len() - 1);
        if slots[at].key() == key || slots[at].key() == 0 {
            return at;
        }
        steps += 1;
    }
}

/// As [`search`], for who puts keys in: nothing if the probe gets too long.
#[inline(always)]
pub fn probe_bounded<S: Keyed>(slots: &[S], key: u128, home: usize) -> Option<usize> {
    let mut places = (0..MAX_PROBE).map(|steps| probe(home, steps) & (slots.len() - 1));
    places.find(|&at| slots[at].key() == key || slots[at].key() == 0)
}

/// Where a key is that is not at home: there from now on, for it changes places with the one that is. Of two keys with one
/// home the frequent one is asked for more often, so it is what mostly stays.
///
/// Both are still found. All slots that the key was looked for in before are taken, before and after; and the other, which moves to where
/// the key was, is looked for in the same lines from there on, in the same order but for the two slots of its first line.
/// For a key that is not there: an empty slot.
///
/// `wanted` is the hash that the key is looked for under. One that is not its hash any more moves nothing: it leads to no home.
///
/// Out of the way of the loops that ask, which need the registers.
#[cold]
#[inline(never)]
pub fn swap_to_home<S: Keyed>(slots: &mut [S], hash: KeyHash, key: u128, wanted: u64) -> usize {
    let home = (wanted >> shift(slots.len())) as usize;
    let at = search(slots, key, home);
    if slots[at].key() == 0 || hash.of(key) != wanted {
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
    fn pairs_share_a_line() {
        for slots in [2, 64, 1 << 18] {
            let mut lines = LineSlots::<Slot>::new(slots);
            assert_eq!((lines.len(), lines.as_ptr() as usize % 64), (slots, 0));
            lines.iter_mut().zip(1..).for_each(|(slot, key)| slot.0 = key);
            let copy = lines.clone();
            lines.keep(slots - 1);
            assert!(copy.len() == slots && copy.iter().zip(1..).all(|(slot, key)| slot.0 == key));
            assert!(lines.len() == slots && lines.iter().zip(1..).all(|(slot, key)| slot.0 == key));
        }
    }

    #[test]
    fn every_slot_is_asked_once_and_the_line_of_the_home_first() {
        for (slots, home) in [2, 4, 16].into_iter().flat_map(|slots| (0..slots).map(move |home| (slots, home))) {
            let order: Vec<usize> = (0..slots).map(|steps| probe(home, steps) & (slots - 1)).collect();
            assert_eq!((order[0], order[1]), (home, home ^ 1));
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..slots).collect::<Vec<_>>(), "{order:?}");
        }
    }
}
