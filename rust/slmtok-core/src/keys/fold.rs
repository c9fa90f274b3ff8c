//! The way of every machine: one multiplication, folded.

use super::{Homes, Prepared};
use crate::piece::{LONG, folded, key_or_long};
use crate::prefetch::prefetch;

#[inline(always)]
pub(super) fn hash(key: u128, seed: [u64; 2]) -> u64 {
    folded(key, seed)
}

#[inline(always)]
pub(super) fn fill<S>(
    to: &mut Prepared,
    text: &[u8],
    start: usize,
    ends: &[usize],
    seed: [u64; 2],
    homes: Homes<'_, S>,
    long: impl Fn(&[u8]) -> u64,
) {
    let mut begin = start;
    for ((&end, key), hash) in ends.iter().zip(&mut to.keys[..]).zip(&mut to.hashes[..]) {
        *key = key_or_long(text, begin, end);
        *hash = if *key == LONG {
            long(&text[begin..end])
        } else {
            let hash = folded(*key, seed);
            prefetch(homes.slots, (hash >> homes.shift) as usize);
            hash
        };
        begin = end;
    }
}
