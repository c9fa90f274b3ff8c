//! Slots of a table with open addressing: a key is looked for from its home on, up to an empty slot.

use super::KeyHash;

/// A slot that may have a key.
pub trait Keyed: Copy {
    /// Its key; 0 if it is empty.
    fn key(&self) -> u128;
}

/// By how many bits a hash is shifted to name the home among so many slots, a power of two: its highest bits do.
#[inline(always)]
pub fn shift(slots: usize) -> u32 {
    64 - slots.trailing_zeros()
}

/// Where a key is, or the empty slot that says that it is not there. There must be one.
#[inline]
pub fn search<S: Keyed>(slots: &[S], key: u128, home: usize) -> usize {
    let mask = slots.len() - 1;
    let mut at = home & mask;
    while slots[at].key() != key && slots[at].key() != 0 {
        at = (at + 1) & mask;
    }
    at
}

/// Where a key is that is not at home: there from now on, for it changes places with the one that is. Of two keys with one
/// home the frequent one is asked for more often, so it is what mostly stays. All slots between home and place are taken,
/// before and after, so both are still found. For a key that is not there: an empty slot.
///
/// `wanted` is the hash that the key is looked for under. One that is not its hash any more moves nothing: it leads to no home.
///
/// Out of the way of the loops that ask, which need the registers.
#[cold]
#[inline(never)]
pub fn brought_home<S: Keyed>(slots: &mut [S], hash: KeyHash, key: u128, wanted: u64) -> usize {
    let home = (wanted >> shift(slots.len())) as usize;
    let at = search(slots, key, home);
    if slots[at].key() == 0 || hash.of(key) != wanted {
        return at;
    }
    slots.swap(at, home & (slots.len() - 1));
    home
}
