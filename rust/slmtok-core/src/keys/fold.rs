//! The way of every machine: a multiplication, folded, and another, since under some seeds one alone puts numbers in a row close together.

use super::{Chunk, KeyLoop, Prepared, shift};
use crate::mem::prefetch;
use crate::piece::{LONG, MIX, folded, key_or_long};

#[inline(always)]
pub(super) fn hash(key: u128, seed: [u64; 2]) -> u64 {
    let once = folded(key, seed);
    (once ^ once >> 32).wrapping_mul(MIX[0])
}

#[inline(never)]
pub(super) fn run<L: KeyLoop>(keys: L) -> L::Found {
    keys.run()
}

#[inline(always)]
pub(super) fn fill<S>(to: &mut Prepared, chunk: Chunk<'_>, seed: [u64; 2], slots: &[S], long: impl Fn(&[u8]) -> u64) {
    let (Chunk { text, start: mut begin, ends }, shift) = (chunk, shift(slots.len()));
    let Prepared { keys, hashes, longs } = to;
    for (k, ((&end, key), hash_of)) in ends.iter().zip(&mut keys[..]).zip(&mut hashes[..]).enumerate() {
        *key = key_or_long(text, begin, end);
        *hash_of = if *key == LONG {
            longs.push(k as u8);
            long(&text[begin..end])
        } else {
            let found = hash(*key, seed);
            prefetch(slots, (found >> shift) as usize);
            found
        };
        begin = end;
    }
}
