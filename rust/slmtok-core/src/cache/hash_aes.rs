//! The way of machines with AES: a key is made in one register, and three rounds of the cipher are its hash.
//!
//! The rounds are not there to hide anything. They mix all bits of a key into all bits of the hash in three instructions, and
//! what the seed is decides which keys meet: it goes in before the first round, for what a known round did to a key could be
//! undone, and after each.

#![allow(unsafe_code, reason = "instructions that not every machine has; each use says why it has them")]

use std::arch::x86_64::{
    __m128i, _mm_aesenc_si128, _mm_and_si128, _mm_cvtsi128_si64, _mm_loadu_si128, _mm_or_si128, _mm_set_epi64x,
    _mm_setzero_si128, _mm_storeu_si128, _mm_xor_si128,
};
use std::is_x86_feature_detected as has;

use super::hash::{Chunk, KeyBatch, KeyLoop, shift};
use super::short_key::{MAX_KEY_BYTES, short_key};
use crate::mem::prefetch;

/// Keeps the first k bytes of sixteen, and puts the length on top; index k.
#[repr(align(64))]
struct Keep([[[u8; 16]; 2]; 16]);

static KEEP: Keep = {
    let mut masks = [[[0; 16]; 2]; 16];
    let mut length = 1;
    while length < 16 {
        let mut k = 0;
        while k < length {
            masks[length][0][k] = 0xFF;
            k += 1;
        }
        masks[length][1][15] = length as u8;
        length += 1;
    }
    Keep(masks)
};

/// Proof that the machine has AES, AVX, and BMI 1 and 2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aes(());

impl Aes {
    pub(super) fn detect() -> Option<Self> {
        (has!("aes") && has!("avx") && has!("bmi1") && has!("bmi2")).then_some(Self(()))
    }

    #[inline]
    pub(super) fn hash(self, key: u128, seed: [u64; 2]) -> u64 {
        // SAFETY: `self` exists only where `detect` found all that the function is compiled for.
        unsafe { hash(key, seed) }
    }

    /// See [`super::hash::KeyHash::run`]. A shift by a number that is not known beforehand is one instruction here, and three elsewhere.
    #[inline(always)]
    pub(super) fn run<L: KeyLoop>(self, keys: L) -> L::Found {
        // SAFETY: as in `hash`.
        unsafe { run(keys) }
    }

    /// All pieces but for the first `done`, which are prepared.
    #[inline]
    pub(super) fn fill<S>(
        self,
        to: &mut KeyBatch,
        done: usize,
        chunk: Chunk<'_>,
        seed: [u64; 2],
        slots: &[S],
        long: impl Fn(&[u8]) -> u64,
    ) {
        // SAFETY: as in `hash`.
        unsafe { fill(to, done, chunk, seed, slots, long) }
    }
}

#[target_feature(enable = "aes,avx,bmi1,bmi2")]
fn hash(key: u128, seed: [u64; 2]) -> u64 {
    mixed(from_bytes(&key.to_le_bytes()), whole(seed))
}

#[inline(never)]
#[target_feature(enable = "aes,avx,bmi1,bmi2")]
fn run<L: KeyLoop>(keys: L) -> L::Found {
    keys.run()
}

#[inline]
#[target_feature(enable = "aes,avx,bmi1,bmi2")]
fn whole(seed: [u64; 2]) -> __m128i {
    _mm_set_epi64x(seed[1].cast_signed(), seed[0].cast_signed())
}

#[inline]
#[target_feature(enable = "aes,avx,bmi1,bmi2")]
fn mixed(key: __m128i, seed: __m128i) -> u64 {
    let mut state = _mm_xor_si128(key, seed);
    for _ in 0..3 {
        state = _mm_aesenc_si128(state, seed);
    }
    _mm_cvtsi128_si64(state).cast_unsigned()
}

#[inline]
#[target_feature(enable = "aes,avx,bmi1,bmi2")]
fn from_bytes(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: the reference is to 16 readable bytes; the load asks for no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

/// Not inlined, so that all that the loop needs stays in registers.
#[inline(never)]
#[target_feature(enable = "aes,avx,bmi1,bmi2")]
fn fill<S>(to: &mut KeyBatch, done: usize, chunk: Chunk<'_>, seed: [u64; 2], slots: &[S], long: impl Fn(&[u8]) -> u64) {
    let (text, mut begin, ends) = (chunk.text, chunk.begin(done), &chunk.ends[done..]);
    let (seed, shift) = (whole(seed), shift(slots.len()));
    // Places where 16 bytes begin.
    let windows = text.len().saturating_sub(15);
    let KeyBatch { keys, hashes, longs } = to;
    for (k, ((&end, place), hash)) in (done..).zip(ends.iter().zip(&mut keys[done..]).zip(&mut hashes[done..])) {
        let length = end.wrapping_sub(begin);
        let key = if length > MAX_KEY_BYTES {
            *hash = long(&text[begin..end]);
            longs.push(k as u8);
            _mm_setzero_si128()
        } else {
            let key = if begin < windows {
                // SAFETY: 16 bytes of the text begin here.
                let window = unsafe { _mm_loadu_si128(text.as_ptr().add(begin).cast()) };
                let [keep, top] = &KEEP.0[length];
                _mm_or_si128(_mm_and_si128(window, from_bytes(keep)), from_bytes(top))
            } else {
                near_end(text, begin, end)
            };
            *hash = mixed(key, seed);
            prefetch(slots, (*hash >> shift) as usize);
            key
        };
        // SAFETY: a `u128` is 16 bytes that may be written; the store asks for no alignment.
        unsafe { _mm_storeu_si128(std::ptr::from_mut(place).cast(), key) };
        begin = end;
    }
}

#[cold]
#[inline(never)]
#[target_feature(enable = "aes,avx,bmi1,bmi2")]
fn near_end(text: &[u8], begin: usize, end: usize) -> __m128i {
    from_bytes(&short_key(text, begin, end).to_le_bytes())
}
