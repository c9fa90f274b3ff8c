//! NEON: 64 bytes in four registers. NEON has no movemask instruction: each byte keeps one bit, a different one in each of eight
//! neighbours, and three pairwise additions combine them.

#![allow(unsafe_code, reason = "instructions that not every machine has; each use states why they are available")]

use std::arch::aarch64::{
    uint8x16_t, vandq_u8, vceqq_u8, vcltq_u8, vdupq_n_u8, vgetq_lane_u64, vld1q_u8, vorrq_u8, vpaddq_u8,
    vreinterpretq_u64_u8, vsubq_u8,
};
use std::arch::is_aarch64_feature_detected as has;

use super::classes::Ascii;
use super::common_multibyte::{ByteMatcher, CommonMultibyte};
use super::level::Backend;
use super::{BitmaskRules, Scan, WIDTH};
use crate::simd_limit::{SimdSet, test_limit_allows};

/// The bit kept by each of eight neighbours.
const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

/// Proof that the machine has NEON.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neon(());

impl Neon {
    pub(super) fn detect() -> Option<Self> {
        (test_limit_allows(SimdSet::Avx2AesOrNeon) && has!("neon")).then_some(Self(()))
    }

    pub(super) fn run<R: BitmaskRules>(self, scan: Scan<'_, R>) -> usize {
        // SAFETY: `self` exists only if `detect` found the instructions that the function is compiled for.
        unsafe { run(scan, self) }
    }
}

impl Backend for Neon {
    #[inline(always)]
    fn ascii(self, block: &[u8; WIDTH]) -> Ascii {
        // SAFETY: as in `run`.
        unsafe { ascii(block) }
    }

    #[inline(always)]
    fn common_multibyte(self, block: &[u8; WIDTH]) -> CommonMultibyte {
        // SAFETY: as in `run`.
        unsafe { common_multibyte(block) }
    }
}

/// The 64 bytes of a block, with the proof of the instructions.
#[derive(Clone, Copy)]
struct Bytes([uint8x16_t; 4], Neon);

impl ByteMatcher for Bytes {
    #[inline(always)]
    fn is(self, byte: u8) -> u64 {
        // SAFETY: the value of type `Neon` proves that the instructions are there.
        unsafe { bits(self.0, |bytes| is(bytes, byte)) }
    }

    #[inline(always)]
    fn among(self, first: u8, last: u8) -> u64 {
        // SAFETY: as above.
        unsafe { bits(self.0, |bytes| in_range(bytes, first, last - first + 1)) }
    }
}

#[target_feature(enable = "neon")]
fn run<R: BitmaskRules>(scan: Scan<'_, R>, level: Neon) -> usize {
    scan.run(level)
}

#[inline]
#[target_feature(enable = "neon")]
fn ascii(block: &[u8; WIDTH]) -> Ascii {
    let quarters = load(block);
    let newline = bits(quarters, |bytes| vorrq_u8(is(bytes, b'\n'), is(bytes, b'\r')));
    Ascii {
        upper: bits(quarters, |bytes| in_range(bytes, b'A', 26)),
        lower: bits(quarters, |bytes| in_range(bytes, b'a', 26)),
        number: bits(quarters, |bytes| in_range(bytes, b'0', 10)),
        space: bits(quarters, |bytes| is(bytes, b' ')),
        newline,
        blank: bits(quarters, |bytes| in_range(bytes, 9, 5)) & !newline,
        apostrophe: bits(quarters, |bytes| is(bytes, b'\'')),
        slash: bits(quarters, |bytes| is(bytes, b'/')),
        non_ascii: bits(quarters, |bytes| in_range(bytes, 0x80, 0x80)),
    }
}

#[target_feature(enable = "neon")]
fn common_multibyte(block: &[u8; WIDTH]) -> CommonMultibyte {
    CommonMultibyte::new(Bytes(load(block), Neon(())))
}

#[inline]
#[target_feature(enable = "neon")]
fn load(block: &[u8; WIDTH]) -> [uint8x16_t; 4] {
    // SAFETY: each quarter has 16 readable bytes; the load needs no alignment.
    [0, 16, 32, 48].map(|at| unsafe { vld1q_u8(block[at..at + 16].as_ptr()) })
}

/// One bit per byte that `test` sets to 0xFF.
#[inline]
#[target_feature(enable = "neon")]
fn bits(quarters: [uint8x16_t; 4], test: impl Fn(uint8x16_t) -> uint8x16_t) -> u64 {
    // SAFETY: the array has 16 readable bytes; the load needs no alignment.
    let kept = unsafe { vld1q_u8(BITS.as_ptr()) };
    let [a, b, c, d] = quarters.map(|bytes| vandq_u8(test(bytes), kept));
    let fours = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
    vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(fours, fours)))
}

#[inline]
#[target_feature(enable = "neon")]
fn is(bytes: uint8x16_t, byte: u8) -> uint8x16_t {
    vceqq_u8(bytes, vdupq_n_u8(byte))
}

/// Bytes in `from..from + count`.
#[inline]
#[target_feature(enable = "neon")]
fn in_range(bytes: uint8x16_t, from: u8, count: u8) -> uint8x16_t {
    vcltq_u8(vsubq_u8(bytes, vdupq_n_u8(from)), vdupq_n_u8(count))
}
