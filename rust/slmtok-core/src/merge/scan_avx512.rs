//! The kernel for pieces of up to 16 bytes on machines with AVX-512: as `small`, with all pairs in one register.
//!
//! A vector that is loaded soon after single numbers were written to its place waits until they have left for the cache, and
//! the loop of `small` writes three numbers before it takes a minimum. Here a number is put into its lane of the register, and
//! which symbols are left is a word of bits, so that neighbours are found without arrays.

#![allow(unsafe_code, reason = "instructions that not every machine has; each use says why it has them")]

use std::arch::x86_64::{
    __m512i, _mm_maskz_loadu_epi8, _mm512_cvtepu8_epi32, _mm512_loadu_si512, _mm512_mask_set1_epi32,
    _mm512_mask_storeu_epi32, _mm512_maskz_compress_epi32, _mm512_reduce_min_epu32, _mm512_storeu_si512,
};
use std::is_x86_feature_detected as has;

use super::pair_table::{NONE, PairTable, SENTINEL};

/// The longest piece.
pub const MAX_LANES: usize = 16;
/// Bits for a lane below the id that its pair makes.
const LANE: u32 = 5;
/// Symbols, and one before and behind that makes nothing with any other; a power of two, so that no place is outside.
const PLACES: usize = 32;

/// Proof that the machine has AVX-512 F, BW and VL, and the rest that the kernel is compiled for.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

impl Avx512 {
    /// The proof, if there is one.
    #[inline]
    pub fn detect() -> Option<Self> {
        let wide = has!("avx512f") && has!("avx512bw") && has!("avx512vl");
        (wide && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt")).then_some(Self(()))
    }

    /// Symbols of `piece`, 1 to [`MAX_LANES`] bytes, into `ids`.
    #[inline]
    pub fn merge(self, pairs: &PairTable, piece: &[u8], ids: &mut Vec<u32>) {
        ids.clear();
        ids.extend_from_slice(&[0; MAX_LANES]);
        if let Some(lanes) = ids.first_chunk_mut() {
            // SAFETY: `self` exists only where `detect` found all that the function is compiled for.
            let n = unsafe { merge(pairs, piece, lanes) };
            ids.truncate(n);
        }
    }
}

/// What stands in the lane of a pair: the id that it makes above the number of the lane, so that the least of these is the pair to
/// be joined. Nothing is larger than what makes nothing.
#[inline(always)]
fn join(made: u32, lane: u32) -> u32 {
    if made == NONE { NONE } else { made << LANE | lane }
}

/// The symbols that are left, and how many.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
fn merge(pairs: &PairTable, piece: &[u8], out: &mut [u32; MAX_LANES]) -> usize {
    debug_assert!((1..=MAX_LANES).contains(&piece.len()));
    // A bit for each symbol that is left: that of its first byte.
    let mut left_over = (1_u32 << piece.len()) - 1;
    let mut first = [NONE; MAX_LANES];
    for ((pair, lane), place) in piece.windows(2).zip(0..).zip(&mut first) {
        *place = join(pairs.made_of_bytes(pair[0], pair[1]), lane);
    }
    // The symbols twice: in a register for the end, and where they are read one by one.
    // SAFETY: only the bytes of the piece are read.
    let mut all = _mm512_cvtepu8_epi32(unsafe { _mm_maskz_loadu_epi8(left_over as u16, piece.as_ptr().cast()) });
    let mut symbols = [SENTINEL; PLACES];
    // SAFETY: there are more than 16 places behind the first.
    unsafe { _mm512_mask_storeu_epi32(symbols[1..].as_mut_ptr().cast(), left_over as u16, all) };
    let at = |place: u32| place as usize % PLACES;
    let mut joins = load(&first);
    loop {
        let least = _mm512_reduce_min_epu32(joins);
        if least == NONE {
            break;
        }
        let (made, lane) = (least >> LANE, least & (MAX_LANES as u32 - 1));
        let behind = left_over & (!1 << lane);
        let gone = behind & behind.wrapping_neg();
        left_over ^= gone;
        // Places are lanes and one more; with nobody left on a side it is the place of one who makes nothing.
        let right = (behind ^ gone | 1 << MAX_LANES).trailing_zeros() + 1;
        let left = 32 - (left_over & ((1 << lane) - 1)).leading_zeros();
        let (with_left, with_right) = pairs.made_around(symbols[at(left)], made, symbols[at(right)]);
        symbols[at(lane + 1)] = made;
        let here = 1 << lane;
        all = _mm512_mask_set1_epi32(all, here, made.cast_signed());
        joins = _mm512_mask_set1_epi32(joins, gone as u16, NONE.cast_signed());
        joins = _mm512_mask_set1_epi32(joins, here, join(with_right, lane).cast_signed());
        let before = ((1_u32 << left) >> 1) as u16;
        joins = _mm512_mask_set1_epi32(joins, before, join(with_left, left.wrapping_sub(1)).cast_signed());
    }
    // SAFETY: the array is of 64 bytes.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), _mm512_maskz_compress_epi32(left_over as u16, all)) };
    left_over.count_ones() as usize
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(lanes: &[u32; MAX_LANES]) -> __m512i {
    // SAFETY: the reference is to 64 readable bytes; the load asks for no alignment.
    unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
}
