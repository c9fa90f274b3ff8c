//! UTF-8 of sixteen code points at a time with AVX-512: each becomes four bytes in its lane, and the bytes that count are compressed.

#![allow(unsafe_code, reason = "instructions that not every machine has; each use says why the machine has them")]

use std::arch::x86_64::{
    __m512i, _mm_storeu_si128, _mm512_and_si512, _mm512_cmpeq_epi32_mask, _mm512_cmpge_epu32_mask,
    _mm512_cmpgt_epu32_mask, _mm512_cvtepi32_epi8, _mm512_mask_mov_epi32, _mm512_maskz_compress_epi8,
    _mm512_maskz_loadu_epi32, _mm512_movepi8_mask, _mm512_or_si512, _mm512_set1_epi32, _mm512_slli_epi32,
    _mm512_srli_epi32, _mm512_srlv_epi32, _mm512_storeu_si512,
};
use std::is_x86_feature_detected as has;

use super::transcode::Window;
use crate::simd_limit::{SimdSet, test_limit_allows};

/// Code points in a register.
const LANES: usize = 16;
/// Bytes of a register.
const BYTES: usize = 64;

/// Proof that the machine has AVX-512 F, BW and VBMI2, BMI 1 and 2 and POPCNT.
#[derive(Clone, Copy, Debug)]
pub struct Utf8Avx512(());

impl Utf8Avx512 {
    /// The proof, if the machine has them.
    #[inline]
    pub fn detect() -> Option<Self> {
        let avx512 = test_limit_allows(SimdSet::Avx512) && has!("avx512f") && has!("avx512bw") && has!("avx512vbmi2");
        (avx512 && has!("bmi1") && has!("bmi2") && has!("popcnt")).then_some(Self(()))
    }

    /// See [`super::transcode::encode_window`].
    #[inline]
    pub fn encode_window(self, points: &[u32], out: &mut Window) -> Result<usize, usize> {
        // SAFETY: `self` exists only where `detect` found every feature that the function is compiled for.
        unsafe { encode_window(points, out) }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi1,bmi2,popcnt")]
fn encode_window(points: &[u32], out: &mut Window) -> Result<usize, usize> {
    let mut len = 0;
    for (begin, some) in (0_usize..).step_by(LANES).zip(points.chunks(LANES)) {
        let present = u16::MAX >> (LANES - some.len());
        // SAFETY: `chunks` gives 1 to LANES code points, and the masked load reads no others.
        let lanes = unsafe { _mm512_maskz_loadu_epi32(present, some.as_ptr().cast()) };
        let long = _mm512_cmpge_epu32_mask(lanes, broadcast(0x80));
        if long == 0 {
            if let Some(place) = out[len..].first_chunk_mut::<LANES>() {
                // SAFETY: the array has as many bytes as are stored; the store needs no alignment.
                unsafe { _mm_storeu_si128(place.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(lanes)) };
            }
            len += some.len();
            continue;
        }
        let invalid = invalid_lanes(lanes);
        if invalid != 0 {
            return Err(begin + invalid.trailing_zeros() as usize);
        }
        let (bytes, kept) = spread(lanes);
        // Lanes that were not loaded hold one-byte NULs.
        let kept = kept & u64::MAX >> (BYTES - 4 * some.len());
        let mut compressed = [0; BYTES];
        // SAFETY: the array has as many bytes as are stored; the store needs no alignment.
        unsafe { _mm512_storeu_si512(compressed.as_mut_ptr().cast(), _mm512_maskz_compress_epi8(kept, bytes)) };
        let n = kept.count_ones() as usize;
        match out[len..].first_chunk_mut::<BYTES>() {
            Some(place) => *place = compressed,
            None => out[len..len + n].copy_from_slice(&compressed[..n]),
        }
        len += n;
    }
    Ok(len)
}

#[target_feature(enable = "avx512f")]
fn broadcast(point: u32) -> __m512i {
    _mm512_set1_epi32(point.cast_signed())
}

/// The lanes with surrogates or numbers above 0x10FFFF.
#[target_feature(enable = "avx512f")]
fn invalid_lanes(lanes: __m512i) -> u16 {
    let surrogate = _mm512_cmpeq_epi32_mask(_mm512_and_si512(lanes, broadcast(0xFFFF_F800)), broadcast(0xD800));
    surrogate | _mm512_cmpgt_epu32_mask(lanes, broadcast(0x10_FFFF))
}

/// The UTF-8 of each code point in the low bytes of its lane, and a mask of the bytes that count.
#[target_feature(enable = "avx512f,avx512bw")]
fn spread(lanes: __m512i) -> (__m512i, u64) {
    let six_bits = broadcast(0x3F);
    let [two, three, four] = [0x80, 0x800, 0x1_0000].map(|least| _mm512_cmpge_epu32_mask(lanes, broadcast(least)));
    // As if all had four bytes: the top bits in the first, six bits in each of the others.
    let first = _mm512_srli_epi32::<18>(lanes);
    let second = _mm512_slli_epi32::<8>(_mm512_and_si512(_mm512_srli_epi32::<12>(lanes), six_bits));
    let third = _mm512_slli_epi32::<16>(_mm512_and_si512(_mm512_srli_epi32::<6>(lanes), six_bits));
    let fourth = _mm512_slli_epi32::<24>(_mm512_and_si512(lanes, six_bits));
    let all_bits = _mm512_or_si512(_mm512_or_si512(first, second), _mm512_or_si512(third, fourth));
    // Without the leading bytes that are not needed, and with the markers of the remaining length.
    let by_length = |one: u32, of_two: u32, of_three: u32, of_four: u32| {
        let shorter = _mm512_mask_mov_epi32(broadcast(one), two, broadcast(of_two));
        _mm512_mask_mov_epi32(_mm512_mask_mov_epi32(shorter, three, broadcast(of_three)), four, broadcast(of_four))
    };
    let shifted = _mm512_srlv_epi32(all_bits, by_length(0, 16, 8, 0));
    let marked = _mm512_or_si512(shifted, by_length(0, 0x80C0, 0x80_80E0, 0x8080_80F0));
    let kept = _mm512_movepi8_mask(by_length(0x80, 0x8080, 0x80_8080, 0x8080_8080));
    // A single byte is the code point itself.
    (_mm512_mask_mov_epi32(lanes, two, marked), kept)
}
