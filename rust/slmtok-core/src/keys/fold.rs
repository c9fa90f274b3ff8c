//! The way of every machine: one multiplication, folded.

use super::{Prepared, shift};
use crate::piece::{LONG, folded, key_or_long};
use crate::prefetch::prefetch;

#[inline(always)]
pub(super) fn fill<S>(
    to: &mut Prepared,
    text: &[u8],
    start: usize,
    ends: &[usize],
    seed: [u64; 2],
    slots: &[S],
    long: impl Fn(&[u8]) -> u64,
) {
    let (mut begin, shift) = (start, shift(slots.len()));
    for ((&end, key), hash) in ends.iter().zip(&mut to.keys[..]).zip(&mut to.hashes[..]) {
        *key = key_or_long(text, begin, end);
        *hash = if *key == LONG {
            long(&text[begin..end])
        } else {
            let hash = folded(*key, seed);
            prefetch(slots, (hash >> shift) as usize);
            hash
        };
        begin = end;
    }
}
