//! 64 bytes in one register, compares straight into words of bits.

#![allow(unsafe_code, reason = "instructions that not every machine has; each use says why it has them")]

use std::arch::x86_64::{
    __m512i, _mm_loadu_si64, _mm512_add_epi64, _mm512_cmpeq_epi8_mask, _mm512_cmple_epu8_mask, _mm512_cmplt_epu8_mask,
    _mm512_cvtepu8_epi64, _mm512_loadu_epi8, _mm512_maskz_compress_epi8, _mm512_movepi8_mask, _mm512_set1_epi8,
    _mm512_set1_epi64, _mm512_storeu_epi8, _mm512_storeu_epi64, _mm512_sub_epi8,
};
use std::is_x86_feature_detected as has;

use super::super::classes::Ascii;
use super::super::easy::{Easy, Look};
use super::super::{Rules, Scan, WIDTH};
use super::Tier;

/// Proof that the machine has AVX-512 F, BW, VL, VBMI and VBMI2, and BMI 1 and 2. Older machines with AVX-512 take AVX2.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Avx512(());

impl Avx512 {
    pub(super) fn detect() -> Option<Self> {
        let all = has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("bmi1") && has!("bmi2");
        let all = all && has!("avx512vbmi") && has!("avx512vbmi2");
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

    #[inline(always)]
    fn easy(self, batch: &[u8; WIDTH]) -> Easy {
        // SAFETY: as in `run`.
        Easy::new(Bytes(unsafe { load(batch) }, self))
    }

    #[inline(always)]
    fn positions(self, bits: u64, base: usize, out: &mut [usize; WIDTH]) {
        // SAFETY: as in `run`.
        unsafe { positions(bits, base, out) }
    }
}

/// All 64 bytes.
#[derive(Clone, Copy)]
struct Bytes(__m512i, Avx512);

impl Look for Bytes {
    #[inline(always)]
    fn is(self, byte: u8) -> u64 {
        // SAFETY: the value of type `Avx512` proves that the instructions are there.
        unsafe { _mm512_cmpeq_epi8_mask(self.0, splat(byte)) }
    }

    #[inline(always)]
    fn among(self, first: u8, last: u8) -> u64 {
        // SAFETY: as above.
        unsafe { _mm512_cmple_epu8_mask(_mm512_sub_epi8(self.0, splat(first)), splat(last - first)) }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
fn run<R: Rules>(scan: Scan<'_, R>, tier: Avx512) -> usize {
    scan.run(tier)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
fn ascii(batch: &[u8; WIDTH]) -> Ascii {
    let bytes = load(batch);
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
#[target_feature(enable = "avx512f,avx512bw")]
fn load(batch: &[u8; WIDTH]) -> __m512i {
    // SAFETY: the reference is to 64 readable bytes; the load asks for no alignment.
    unsafe { _mm512_loadu_epi8(batch.as_ptr().cast()) }
}

/// The numbers 0 to 63 whose bit is set are moved together; then eight at a time become addresses.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
fn positions(bits: u64, base: usize, out: &mut [usize; WIDTH]) {
    const NUMBERS: [u8; WIDTH] = {
        let mut numbers = [0; WIDTH];
        let mut k = 0;
        while k < WIDTH {
            numbers[k] = k as u8;
            k += 1;
        }
        numbers
    };
    let mut packed = [0_u8; WIDTH];
    // SAFETY: both arrays are of 64 bytes.
    unsafe {
        let numbers = _mm512_loadu_epi8(NUMBERS.as_ptr().cast());
        _mm512_storeu_epi8(packed.as_mut_ptr().cast(), _mm512_maskz_compress_epi8(bits, numbers));
    }
    let base = _mm512_set1_epi64(base.cast_signed() as i64);
    let count = bits.count_ones() as usize;
    for (k, (eight, place)) in packed.as_chunks::<8>().0.iter().zip(out.as_chunks_mut::<8>().0).enumerate() {
        // As many as nearly all batches have are written without a question.
        if k > 2 && 8 * k >= count {
            break;
        }
        // SAFETY: eight bytes are read, eight words of 64 bits are written.
        unsafe {
            let wide = _mm512_cvtepu8_epi64(_mm_loadu_si64(eight.as_ptr()));
            _mm512_storeu_epi64(place.as_mut_ptr().cast(), _mm512_add_epi64(wide, base));
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn splat(byte: u8) -> __m512i {
    _mm512_set1_epi8(byte.cast_signed())
}
