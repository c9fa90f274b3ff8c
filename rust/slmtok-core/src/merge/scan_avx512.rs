//! The scan kernel for pieces of up to 16 bytes with AVX-512: the priorities of all pairs are in one register.
//!
//! A vector load stalls on recent scalar stores to the same address, and the portable kernel stores three priorities before it
//! takes each minimum. Here a priority is inserted into its lane of the register, and a bitmask holds the remaining symbols, so
//! neighbours are found without a linked list.

#![allow(unsafe_code, reason = "instructions that not every machine has; each use says why the machine has them")]

use std::arch::x86_64::{
    __m512i, _mm_maskz_loadu_epi8, _mm512_cvtepu8_epi32, _mm512_loadu_si512, _mm512_mask_set1_epi32,
    _mm512_mask_storeu_epi32, _mm512_maskz_compress_epi32, _mm512_reduce_min_epu32, _mm512_storeu_si512,
};
use std::is_x86_feature_detected as has;

use super::pair_table::{NONE, PairTable, SENTINEL};
use crate::simd_limit::{SimdSet, test_limit_allows};

/// The longest piece: one symbol a lane.
pub const MAX_SYMBOLS_AVX512: usize = 1 << LANE_BITS;
/// Bits of the index of a lane, below the merged id.
const LANE_BITS: u32 = 4;
/// Symbols with a sentinel at both ends; a power of two, so that a mask replaces the bounds check.
const POSITIONS: usize = 32;

/// Proof that the machine has AVX-512 F, BW and VL, BMI 1 and 2, LZCNT and POPCNT.
#[derive(Clone, Copy, Debug)]
pub struct ScanAvx512(());

impl ScanAvx512 {
    /// The proof, if the machine has them.
    #[inline]
    pub fn detect() -> Option<Self> {
        let avx512 = test_limit_allows(SimdSet::Avx512) && has!("avx512f") && has!("avx512bw") && has!("avx512vl");
        (avx512 && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt")).then_some(Self(()))
    }

    /// Encodes `piece`, of 1 to [`MAX_SYMBOLS_AVX512`] bytes, into `ids`.
    #[inline]
    pub fn merge(self, pairs: &PairTable, piece: &[u8], ids: &mut Vec<u32>) {
        ids.clear();
        ids.extend_from_slice(&[0; MAX_SYMBOLS_AVX512]);
        if let Some(lanes) = ids.first_chunk_mut() {
            // SAFETY: `self` exists only where `detect` found every feature that the function is compiled for.
            let n = unsafe { merge(pairs, piece, lanes) };
            ids.truncate(n);
        }
    }
}

/// The priority of a pair, the least first: its merged id above its lane; [`NONE`] if it merges to
/// nothing.
#[inline(always)]
fn priority(merged: u32, lane: u32) -> u32 {
    if merged == NONE { NONE } else { merged << LANE_BITS | lane }
}

/// Stores the remaining symbols in `out`, and returns their number.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
#[expect(clippy::cast_possible_truncation, reason = "masks of lanes have 16 bits, positions are below 32")]
fn merge(pairs: &PairTable, piece: &[u8], out: &mut [u32; MAX_SYMBOLS_AVX512]) -> usize {
    debug_assert!((1..=MAX_SYMBOLS_AVX512).contains(&piece.len()));
    // A bit for each remaining symbol: that of its first byte.
    let mut remaining = (1_u32 << piece.len()) - 1;
    let mut first = [NONE; MAX_SYMBOLS_AVX512];
    for ((pair, lane), position) in piece.windows(2).zip(0..).zip(&mut first) {
        *position = priority(pairs.merged_bytes(pair[0], pair[1]), lane);
    }
    // The symbols twice: in a register, to be stored at the end, and in an array, to be read one by one.
    // SAFETY: only the bytes of the piece are read.
    let mut all = _mm512_cvtepu8_epi32(unsafe { _mm_maskz_loadu_epi8(remaining as u16, piece.as_ptr().cast()) });
    let mut symbols = [SENTINEL; POSITIONS];
    // SAFETY: the array has more than 16 elements after the first.
    unsafe { _mm512_mask_storeu_epi32(symbols[1..].as_mut_ptr().cast(), remaining as u16, all) };
    let at = |position: u32| position as usize % POSITIONS;
    let mut priorities = load(&first);
    loop {
        let least = _mm512_reduce_min_epu32(priorities);
        if least == NONE {
            break;
        }
        let (merged, lane) = (least >> LANE_BITS, least & (MAX_SYMBOLS_AVX512 as u32 - 1));
        let after = remaining & (!1 << lane);
        let removed = after & after.wrapping_neg();
        remaining ^= removed;
        // The position of a symbol is its lane + 1; without a neighbour on a side it is the position of a sentinel.
        let right = (after ^ removed | 1 << MAX_SYMBOLS_AVX512).trailing_zeros() + 1;
        let left = 32 - (remaining & ((1 << lane) - 1)).leading_zeros();
        let (with_left, with_right) = pairs.merged_around(symbols[at(left)], merged, symbols[at(right)]);
        symbols[at(lane + 1)] = merged;
        let here = 1 << lane;
        all = _mm512_mask_set1_epi32(all, here, merged.cast_signed());
        priorities = _mm512_mask_set1_epi32(priorities, removed as u16, NONE.cast_signed());
        priorities = _mm512_mask_set1_epi32(priorities, here, priority(with_right, lane).cast_signed());
        let before = ((1_u32 << left) >> 1) as u16;
        priorities =
            _mm512_mask_set1_epi32(priorities, before, priority(with_left, left.wrapping_sub(1)).cast_signed());
    }
    // SAFETY: the array is of 64 bytes.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), _mm512_maskz_compress_epi32(remaining as u16, all)) };
    remaining.count_ones() as usize
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(lanes: &[u32; MAX_SYMBOLS_AVX512]) -> __m512i {
    // SAFETY: the reference is to 64 readable bytes; the load needs no alignment.
    unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
}
