//! AVX2: 64 bytes in two registers.

#![allow(unsafe_code, reason = "instructions that not every machine has; each use states why they are available")]

use std::arch::x86_64::{
    __m256i, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256,
    _mm256_set1_epi8, _mm256_sub_epi8,
};
use std::is_x86_feature_detected as has;

use super::classes::Ascii;
use super::common_multibyte::{ByteMatcher, CommonMultibyte};
use super::level::Backend;
use super::{BitmaskRules, Scan, WIDTH};
use crate::simd_limit::{SimdSet, test_limit_allows};

/// Proof that the machine has AVX2, and BMI 1 and 2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

impl Avx2 {
    pub(super) fn detect() -> Option<Self> {
        let all = test_limit_allows(SimdSet::Avx2AesOrNeon)
            && has!("avx2")
            && has!("bmi1")
            && has!("bmi2")
            && has!("lzcnt")
            && has!("popcnt");
        all.then_some(Self(()))
    }

    pub(super) fn run<R: BitmaskRules>(self, scan: Scan<'_, R>) -> usize {
        // SAFETY: `self` exists only if `detect` found all instructions that the function is compiled for.
        unsafe { run(scan, self) }
    }
}

impl Backend for Avx2 {
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
struct Bytes([__m256i; 2], Avx2);

impl ByteMatcher for Bytes {
    #[inline(always)]
    fn is(self, byte: u8) -> u64 {
        // SAFETY: the value of type `Avx2` proves that the instructions are there.
        unsafe { bits(self.0, |bytes| is(bytes, byte)) }
    }

    #[inline(always)]
    fn among(self, first: u8, last: u8) -> u64 {
        // SAFETY: as above.
        unsafe { bits(self.0, |bytes| in_range(bytes, first, last - first + 1)) }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run<R: BitmaskRules>(scan: Scan<'_, R>, level: Avx2) -> usize {
    scan.run(level)
}

/// Not inlined: otherwise compilers keep the bitmasks in vector registers, too.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn ascii(block: &[u8; WIDTH]) -> Ascii {
    let halves = load(block);
    let newline = bits(halves, |bytes| _mm256_or_si256(is(bytes, b'\n'), is(bytes, b'\r')));
    Ascii {
        upper: bits(halves, |bytes| in_range(bytes, b'A', 26)),
        lower: bits(halves, |bytes| in_range(bytes, b'a', 26)),
        number: bits(halves, |bytes| in_range(bytes, b'0', 10)),
        space: bits(halves, |bytes| is(bytes, b' ')),
        newline,
        blank: bits(halves, |bytes| in_range(bytes, 9, 5)) & !newline,
        apostrophe: bits(halves, |bytes| is(bytes, b'\'')),
        slash: bits(halves, |bytes| is(bytes, b'/')),
        non_ascii: bits(halves, |bytes| bytes),
    }
}

/// Not inlined, as above.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn common_multibyte(block: &[u8; WIDTH]) -> CommonMultibyte {
    CommonMultibyte::new(Bytes(load(block), Avx2(())))
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(block: &[u8; WIDTH]) -> [__m256i; 2] {
    let (low, high) = block.split_at(WIDTH / 2);
    // SAFETY: each half has 32 readable bytes; the load needs no alignment.
    unsafe { [_mm256_loadu_si256(low.as_ptr().cast()), _mm256_loadu_si256(high.as_ptr().cast())] }
}

/// Top bits of the results of `test`.
#[inline]
#[target_feature(enable = "avx2")]
fn bits(halves: [__m256i; 2], test: impl Fn(__m256i) -> __m256i) -> u64 {
    let [low, high] = halves.map(|bytes| _mm256_movemask_epi8(test(bytes)).cast_unsigned());
    u64::from(low) | u64::from(high) << 32
}

#[inline]
#[target_feature(enable = "avx2")]
fn is(bytes: __m256i, byte: u8) -> __m256i {
    _mm256_cmpeq_epi8(bytes, splat(byte))
}

/// Bytes in `from..from + count`. The comparison is signed, so the range is shifted to start at the smallest value.
#[inline]
#[target_feature(enable = "avx2")]
fn in_range(bytes: __m256i, from: u8, count: u8) -> __m256i {
    let moved = _mm256_sub_epi8(bytes, splat(from.wrapping_add(0x80)));
    _mm256_cmpgt_epi8(splat(count.wrapping_add(0x80)), moved)
}

#[inline]
#[target_feature(enable = "avx2")]
fn splat(byte: u8) -> __m256i {
    _mm256_set1_epi8(byte.cast_signed())
}
