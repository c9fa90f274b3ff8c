//! The AES hash backend: a key is built in one register, and three AES rounds are its hash.
//!
//! The rounds do not encrypt; they mix all bits of a key into all bits of the hash in three instructions. The seed decides
//! which keys collide: it enters before the first round, because the effect of a known round on a key could be undone, and
//! after each round.

#![allow(unsafe_code, reason = "instructions that not every machine has; each use says why the machine has them")]

use std::arch::x86_64::{
    __m128i, _mm_aesenc_si128, _mm_and_si128, _mm_cvtsi128_si64, _mm_loadu_si128, _mm_or_si128, _mm_set_epi64x,
    _mm_setzero_si128, _mm_storeu_si128, _mm_xor_si128,
};
use std::is_x86_feature_detected as has;

use super::hash::{KeyBatch, KeyLoop, Pieces};
use super::hash_table::home_shift;
use super::short_key::{KEY_MASKS, KeyMask, MAX_KEY_BYTES, short_key};
use crate::mem::prefetch;
use crate::simd_limit::{SimdSet, test_limit_allows};

/// Proof that the machine has AES, AVX, and BMI 1 and 2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aes(());

impl Aes {
    /// None also where a test has the machine pass for an older one.
    pub(super) fn detect() -> Option<Self> {
        (test_limit_allows(SimdSet::Avx2AesOrNeon) && has!("aes") && has!("avx") && has!("bmi1") && has!("bmi2"))
            .then_some(Self(()))
    }

    #[inline]
    pub(super) fn hash(self, key: u128, seed: [u64; 2]) -> u64 {
        // SAFETY: `self` exists only where `detect` found every feature that the function is compiled for.
        unsafe { hash(key, seed) }
    }

    /// See [`super::hash::KeyHash::dispatch`]. With BMI2 a variable shift is one instruction instead of three.
    #[inline(always)]
    pub(super) fn run<L: KeyLoop>(self, keys: L) -> L::Output {
        // SAFETY: as in `hash`.
        unsafe { run(keys) }
    }

    /// See [`KeyBatch::fill`].
    #[inline]
    pub(super) fn fill<S>(
        self,
        batch: &mut KeyBatch,
        pieces: Pieces<'_>,
        seed: [u64; 2],
        slots: &[S],
        hash_long: impl Fn(&[u8]) -> u64,
    ) {
        // SAFETY: as in `hash`.
        unsafe { fill(batch, pieces, seed, slots, hash_long) }
    }
}

#[target_feature(enable = "aes,avx,bmi1,bmi2")]
fn hash(key: u128, seed: [u64; 2]) -> u64 {
    mix(load(&key), seed_register(seed))
}

#[inline(never)]
#[target_feature(enable = "aes,avx,bmi1,bmi2")]
fn run<L: KeyLoop>(keys: L) -> L::Output {
    keys.run()
}

#[inline]
#[target_feature(enable = "aes,avx,bmi1,bmi2")]
fn seed_register(seed: [u64; 2]) -> __m128i {
    _mm_set_epi64x(seed[1].cast_signed(), seed[0].cast_signed())
}

#[inline]
#[target_feature(enable = "aes,avx,bmi1,bmi2")]
fn mix(key: __m128i, seed: __m128i) -> u64 {
    let mut state = _mm_xor_si128(key, seed);
    for _ in 0..3 {
        state = _mm_aesenc_si128(state, seed);
    }
    _mm_cvtsi128_si64(state).cast_unsigned()
}

#[inline]
#[target_feature(enable = "aes,avx,bmi1,bmi2")]
fn load(key: &u128) -> __m128i {
    // SAFETY: the reference is to 16 readable bytes; the load needs no alignment.
    unsafe { _mm_loadu_si128(std::ptr::from_ref(key).cast()) }
}

/// Not inlined, so that all state of the loop stays in registers.
#[inline(never)]
#[target_feature(enable = "aes,avx,bmi1,bmi2")]
#[expect(clippy::cast_possible_truncation, reason = "a batch has at most 256 pieces; this machine has 64 bits")]
fn fill<S>(batch: &mut KeyBatch, pieces: Pieces<'_>, seed: [u64; 2], slots: &[S], hash_long: impl Fn(&[u8]) -> u64) {
    let Pieces { text, start: mut begin, ends } = pieces;
    let (seed, shift) = (seed_register(seed), home_shift(slots.len()));
    // The number of positions from which 16 bytes can be loaded.
    let windows = text.len().saturating_sub(15);
    let KeyBatch { keys, hashes, long_indices } = batch;
    for (index, ((&end, place), hash)) in ends.iter().zip(&mut keys[..]).zip(&mut hashes[..]).enumerate() {
        let length = end.wrapping_sub(begin);
        let key = if length > MAX_KEY_BYTES {
            *hash = hash_long(&text[begin..end]);
            long_indices.push(index as u8);
            _mm_setzero_si128()
        } else {
            let key = if begin < windows {
                // SAFETY: 16 bytes of the text begin at `begin`.
                let window = unsafe { _mm_loadu_si128(text.as_ptr().add(begin).cast()) };
                let KeyMask { bytes, length } = &KEY_MASKS[length];
                _mm_or_si128(_mm_and_si128(window, load(bytes)), load(length))
            } else {
                key_near_end(text, begin, end)
            };
            *hash = mix(key, seed);
            prefetch(slots, (*hash >> shift) as usize);
            key
        };
        // SAFETY: a `u128` is 16 writable bytes; the store needs no alignment.
        unsafe { _mm_storeu_si128(std::ptr::from_mut(place).cast(), key) };
        begin = end;
    }
}

#[cold]
#[inline(never)]
#[target_feature(enable = "aes,avx,bmi1,bmi2")]
fn key_near_end(text: &[u8], begin: usize, end: usize) -> __m128i {
    load(&short_key(text, begin, end))
}
