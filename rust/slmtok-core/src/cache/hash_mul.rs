//! The way of every machine: a multiplication, multiply_fold, and another, since under some seeds one alone puts numbers in a row close together.

use super::hash::{Chunk, KeyBatch, KeyLoop, shift};
use super::short_key::{MIX_CONSTANTS, NO_KEY, multiply_fold, short_key};
use crate::mem::prefetch;

#[inline(always)]
pub(super) fn hash(key: u128, seed: [u64; 2]) -> u64 {
    let once = multiply_fold(key, seed);
    (once ^ once >> 32).wrapping_mul(MIX_CONSTANTS[0])
}

#[inline(never)]
pub(super) fn run<L: KeyLoop>(keys: L) -> L::Found {
    keys.run()
}

#[inline(always)]
pub(super) fn fill<S>(to: &mut KeyBatch, chunk: Chunk<'_>, seed: [u64; 2], slots: &[S], long: impl Fn(&[u8]) -> u64) {
    let (Chunk { text, start: mut begin, ends }, shift) = (chunk, shift(slots.len()));
    let KeyBatch { keys, hashes, longs } = to;
    for (k, ((&end, key), hash_of)) in ends.iter().zip(&mut keys[..]).zip(&mut hashes[..]).enumerate() {
        *key = short_key(text, begin, end);
        *hash_of = if *key == NO_KEY {
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
