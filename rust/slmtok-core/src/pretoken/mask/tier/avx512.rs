//! 64 bytes in one register, compares straight into words of bits.

#![allow(unsafe_code, reason = "instructions that not every machine has; each use says why it has them")]

use std::arch::x86_64::{
    __m512i, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_loadu_epi8, _mm512_movepi8_mask, _mm512_set1_epi8,
    _mm512_sub_epi8,
};
use std::is_x86_feature_detected as has;

use super::super::classes::Ascii;
use super::super::{Rules, Scan, WIDTH};
use super::Tier;

/// Proof that the machine has AVX-512 F, BW and VL, and BMI 1 and 2.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Avx512(());

impl Avx512 {
    pub(super) fn detect() -> Option<Self> {
        let all = has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("bmi1") && has!("bmi2");
        (all && has!("lzcnt") && has!("popcnt")).then_some(Self(()))
    }

    pub(super) fn run<R: Rules>(self, scan: Scan<'_, R>) -> usize {
        // SAFETY: `self` exists only where `detect` found all that the function is compiled for.
        unsafe { run(scan, self) }
    }
}

impl Tier for Avx512 {
    #[inline(always)]
    fn ascii(self, batch: &[u8; WIDTH]) -> Ascii {
        // SAFETY: as in `run`.
        unsafe { ascii(batch) }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
fn run<R: Rules>(scan: Scan<'_, R>, tier: Avx512) -> usize {
    scan.run(tier)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
fn ascii(batch: &[u8; WIDTH]) -> Ascii {
    // SAFETY: the reference is to 64 readable bytes; the load asks for no alignment.
    let bytes = unsafe { _mm512_loadu_epi8(batch.as_ptr().cast()) };
    let is = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, splat(byte));
    let within = |from: u8, count: u8| _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, splat(from)), splat(count));
    let newline = is(b'\n') | is(b'\r');
    Ascii {
        upper: within(b'A', 26),
        lower: within(b'a', 26),
        number: within(b'0', 10),
        space: is(b' '),
        newline,
        blank: within(9, 5) & !newline,
        apostrophe: is(b'\''),
        slash: is(b'/'),
        wide: _mm512_movepi8_mask(bytes),
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn splat(byte: u8) -> __m512i {
    _mm512_set1_epi8(byte.cast_signed())
}
