//! The way of machines with AVX-512 and AES on whole registers: four keys at a time, made and hashed as [`super::hash_aes`] does it with one.
//!
//! A key takes a third of the instructions. Fewer than four that are left over, and all from a group on of which a piece begins less than
//! 16 bytes before the end of the text, are left to the other way.

#![allow(unsafe_code, reason = "instructions that not every machine has; each use says why it has them")]

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_cvtsi32_si128, _mm_loadu_si128, _mm_set_epi64x, _mm256_alignr_epi64,
    _mm256_cmpgt_epu64_mask, _mm256_cmplt_epu64_mask, _mm256_loadu_si256, _mm256_set1_epi64x, _mm256_srl_epi64,
    _mm256_storeu_si256, _mm256_sub_epi64, _mm512_aesenc_epi128, _mm512_broadcast_i32x4, _mm512_castsi128_si512,
    _mm512_castsi512_si256, _mm512_cmplt_epu8_mask, _mm512_inserti32x4, _mm512_loadu_si512, _mm512_mask_mov_epi8,
    _mm512_maskz_mov_epi8, _mm512_permutexvar_epi8, _mm512_permutexvar_epi64, _mm512_storeu_si512, _mm512_xor_si512,
    _mm512_zextsi256_si512,
};
use std::is_x86_feature_detected as has;

use super::hash::{Chunk, KEY_BATCH_LEN, KeyBatch, shift};
use super::hash_aes::Aes;
use super::short_key::{MAX_KEY_BYTES, NO_KEY};
use crate::mem::prefetch;

/// Keys in a register.
const LANES: usize = 4;

/// A register, key by key.
#[repr(align(64))]
struct Bytes([[u8; 16]; LANES]);

/// For each byte of a key which one it is.
static NUMBERS: Bytes = Bytes([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]; LANES]);
/// For each byte of a key where its length is, in four words of 64 bits.
static LENGTHS: Bytes = Bytes([[0; 16], [8; 16], [16; 16], [24; 16]]);
/// Where the hash of each key is, its first word; the rest does not count.
static FIRST_WORDS: [u64; 8] = [0, 2, 4, 6, 0, 0, 0, 0];
/// The last byte of each key.
const TOP: u64 = 0x8000_8000_8000_8000;

/// Proof that the machine has AVX2, AVX-512 F, BW, VL and VBMI, AES on its registers (VAES), and what [`Aes`] proves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vaes(Aes);

impl Vaes {
    pub(super) fn detect() -> Option<Self> {
        let wide = has!("avx512f")
            && has!("avx512bw")
            && has!("avx512vl")
            && has!("avx512vbmi")
            && has!("vaes")
            && has!("avx2");
        Aes::detect().filter(|_| wide).map(Self)
    }

    /// One key is hashed as ever.
    #[inline(always)]
    pub(super) const fn aes(self) -> Aes {
        self.0
    }

    #[inline]
    pub(super) fn fill<S>(
        self,
        to: &mut KeyBatch,
        chunk: Chunk<'_>,
        seed: [u64; 2],
        slots: &[S],
        long: impl Fn(&[u8]) -> u64,
    ) {
        // SAFETY: `self` exists only where `detect` found all that the function is compiled for.
        let done = unsafe { fill(to, chunk, seed, slots, &long) };
        self.0.fill(to, done, chunk, seed, slots, long);
    }
}

/// Returns how many pieces it has done, the first ones.
///
/// Not inlined, so that all that the loop needs stays in registers.
#[inline(never)]
#[target_feature(enable = "aes,vaes,avx,avx2,avx512f,avx512bw,avx512vl,avx512vbmi,bmi1,bmi2")]
fn fill<S>(to: &mut KeyBatch, chunk: Chunk<'_>, seed: [u64; 2], slots: &[S], long: &impl Fn(&[u8]) -> u64) -> usize {
    let Chunk { text, start, ends } = chunk;
    let (seed, shift) = (whole(seed), _mm_cvtsi32_si128(shift(slots.len()).cast_signed()));
    let windows = whole_word(text.len().saturating_sub(15));
    let (mut before, mut begin, mut done) = (whole_word(start), start, 0);
    let KeyBatch { keys, hashes, longs } = to;
    // The pieces that have no key, to be seen to later: no call in the loop, for which all registers would have to be stored.
    let mut unkeyed = [0_u64; KEY_BATCH_LEN / 64];
    let places = keys.as_chunks_mut::<LANES>().0.iter_mut().zip(hashes.as_chunks_mut::<LANES>().0);
    for (stops, (four_keys, four_hashes)) in ends.as_chunks::<LANES>().0.iter().zip(places) {
        let after = words(stops);
        let starts = _mm256_alignr_epi64::<3>(after, before);
        if _mm256_cmplt_epu64_mask(starts, windows) != 0xF {
            break;
        }
        // SAFETY: of the text, 16 bytes begin at all four starts, which are `begin` and all stops but the last.
        let pieces =
            unsafe { [window(text, begin), window(text, stops[0]), window(text, stops[1]), window(text, stops[2])] };
        let lengths = _mm256_sub_epi64(after, starts);
        let made = make(pieces, lengths);
        let hashed = hash(made, seed);
        let mut homes = [0_u64; LANES];
        // SAFETY: four keys of 16 bytes may be written, four hashes of eight bytes, and as many homes; the stores ask for no alignment.
        unsafe {
            _mm512_storeu_si512(four_keys.as_mut_ptr().cast(), made);
            _mm256_storeu_si256(four_hashes.as_mut_ptr().cast(), hashed);
            _mm256_storeu_si256(homes.as_mut_ptr().cast(), _mm256_srl_epi64(hashed, shift));
        }
        // A piece without a key asks for a line that nobody needs.
        homes.iter().for_each(|&home| prefetch(slots, home as usize));
        unkeyed[done / 64] |= u64::from(_mm256_cmpgt_epu64_mask(lengths, whole_word(MAX_KEY_BYTES))) << (done % 64);
        (before, begin, done) = (after, stops[LANES - 1], done + LANES);
    }
    for (word, mut bits) in unkeyed.into_iter().enumerate() {
        while bits != 0 {
            let k = 64 * word + bits.trailing_zeros() as usize;
            (keys[k], hashes[k]) = (NO_KEY, long(&text[chunk.begin(k)..ends[k]]));
            longs.push(k as u8);
            bits &= bits - 1;
        }
    }
    done
}

/// The first bytes of each piece, as many as it has, with how many they are on top.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
fn make(pieces: [__m128i; LANES], lengths: __m256i) -> __m512i {
    let windows = _mm512_castsi128_si512(pieces[0]);
    let windows = _mm512_inserti32x4::<1>(windows, pieces[1]);
    let windows = _mm512_inserti32x4::<2>(windows, pieces[2]);
    let windows = _mm512_inserti32x4::<3>(windows, pieces[3]);
    let lengths = _mm512_permutexvar_epi8(bytes(&LENGTHS), _mm512_zextsi256_si512(lengths));
    let keep = _mm512_cmplt_epu8_mask(bytes(&NUMBERS), lengths);
    _mm512_mask_mov_epi8(_mm512_maskz_mov_epi8(keep, windows), TOP, lengths)
}

#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,avx512vbmi")]
fn hash(keys: __m512i, seed: __m512i) -> __m256i {
    let mut state = _mm512_xor_si512(keys, seed);
    for _ in 0..3 {
        state = _mm512_aesenc_epi128(state, seed);
    }
    // SAFETY: 64 bytes are read.
    let first_words = unsafe { _mm512_loadu_si512(FIRST_WORDS.as_ptr().cast()) };
    _mm512_castsi512_si256(_mm512_permutexvar_epi64(first_words, state))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn whole(seed: [u64; 2]) -> __m512i {
    _mm512_broadcast_i32x4(_mm_set_epi64x(seed[1].cast_signed(), seed[0].cast_signed()))
}

#[inline]
#[target_feature(enable = "avx")]
fn whole_word(word: usize) -> __m256i {
    _mm256_set1_epi64x(word.cast_signed() as i64)
}

#[inline]
#[target_feature(enable = "avx")]
fn words(words: &[usize; LANES]) -> __m256i {
    const { assert!(size_of::<usize>() == 8) };
    // SAFETY: the reference is to 32 readable bytes; the load asks for no alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn bytes(bytes: &Bytes) -> __m512i {
    // SAFETY: the reference is to 64 readable bytes.
    unsafe { _mm512_loadu_si512(bytes.0.as_ptr().cast()) }
}

/// 16 bytes of the text.
///
/// # Safety
/// As many must begin at `at`.
#[inline]
#[target_feature(enable = "sse2")]
unsafe fn window(text: &[u8], at: usize) -> __m128i {
    debug_assert!(at + 16 <= text.len());
    // SAFETY: what the caller promises; the load asks for no alignment.
    unsafe { _mm_loadu_si128(text.as_ptr().add(at).cast()) }
}
