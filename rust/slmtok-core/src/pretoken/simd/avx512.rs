//! 64 bytes in one register, compares straight into words of bits.

#![allow(unsafe_code, reason = "instructions that not every machine has; each use says why it has them")]

use std::arch::x86_64::{
    __m512i, _mm_loadu_si64, _mm512_add_epi8, _mm512_add_epi64, _mm512_and_si512, _mm512_cvtepu8_epi64,
    _mm512_loadu_epi8, _mm512_maskz_compress_epi8, _mm512_maskz_permutex2var_epi8, _mm512_movepi8_mask,
    _mm512_permutexvar_epi8, _mm512_set1_epi8, _mm512_set1_epi64, _mm512_storeu_epi8, _mm512_storeu_epi64,
    _mm512_test_epi8_mask,
};
use std::is_x86_feature_detected as has;

use super::classes::Ascii;
use super::common_multibyte::CommonMultibyte;
use super::kinds::{self, ascii_table, table};
use super::level::Backend;
use super::{BitmaskRules, Scan, WIDTH};

/// Proof that the machine has AVX-512 F, BW, VL, VBMI and VBMI2, and BMI 1 and 2. Older machines with AVX-512 take AVX2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx512(());

impl Avx512 {
    pub(super) fn detect() -> Option<Self> {
        let all = has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("bmi1") && has!("bmi2");
        let all = all && has!("avx512vbmi") && has!("avx512vbmi2");
        (all && has!("lzcnt") && has!("popcnt")).then_some(Self(()))
    }

    pub(super) fn run<R: BitmaskRules>(self, scan: Scan<'_, R>) -> usize {
        // SAFETY: `self` exists only where `detect` found all that the function is compiled for.
        unsafe { run(scan, self) }
    }
}

impl Backend for Avx512 {
    #[inline(always)]
    fn ascii(self, batch: &[u8; WIDTH]) -> Ascii {
        // SAFETY: as in `run`.
        unsafe { ascii(batch) }
    }

    #[inline(always)]
    fn common_multibyte(self, batch: &[u8; WIDTH]) -> CommonMultibyte {
        // SAFETY: as in `run`.
        unsafe { common_multibyte(batch) }
    }

    #[inline(always)]
    fn positions(self, bits: u64, base: usize, out: &mut [usize; WIDTH]) {
        // SAFETY: as in `run`.
        unsafe { positions(bits, base, out) }
    }
}

/// A table by seven bits of a byte.
#[repr(align(64))]
struct Table([[u8; WIDTH]; 2]);

/// Classes of ASCII, in the order of their bits.
static ASCII: Table = Table(ascii_table(&[
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    b"abcdefghijklmnopqrstuvwxyz",
    b"0123456789",
    b" ",
    b"\r\n",
    b"\t\x0B\x0C",
    b"'",
    b"/",
]));
static LETTERS: [Table; 3] =
    [Table(table(&kinds::LETTERS, 0)), Table(table(&kinds::LETTERS, 1)), Table(table(&kinds::LETTERS, 2))];
static MIXED: [Table; 3] =
    [Table(table(&kinds::MIXED, 0)), Table(table(&kinds::MIXED, 1)), Table(table(&kinds::MIXED, 2))];

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
fn run<R: BitmaskRules>(scan: Scan<'_, R>, level: Avx512) -> usize {
    scan.run(level)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
fn ascii(batch: &[u8; WIDTH]) -> Ascii {
    let bytes = load(batch);
    let wide = _mm512_movepi8_mask(bytes);
    let classes = found(&ASCII, bytes, !wide);
    let class = |number: u32| _mm512_test_epi8_mask(classes, splat(1 << number));
    Ascii {
        upper: class(0),
        lower: class(1),
        number: class(2),
        space: class(3),
        newline: class(4),
        blank: class(5),
        apostrophe: class(6),
        slash: class(7),
        wide,
    }
}

/// What the tables say of each character as one that begins there. Nothing follows the end of the batch.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
fn common_multibyte(batch: &[u8; WIDTH]) -> CommonMultibyte {
    let first = load(batch);
    let wide = _mm512_movepi8_mask(first);
    let second = _mm512_permutexvar_epi8(_mm512_add_epi8(load(&NUMBERS), splat(1)), first);
    let third = _mm512_permutexvar_epi8(_mm512_add_epi8(load(&NUMBERS), splat(2)), first);
    let two =
        |tables: &[Table; 3]| _mm512_and_si512(found(&tables[0], first, wide), found(&tables[1], second, wide >> 1));
    let three = |tables: &[Table; 3], two: __m512i| _mm512_test_epi8_mask(two, found(&tables[2], third, wide >> 2));
    let mixed = two(&MIXED);
    CommonMultibyte::from_leads(
        _mm512_test_epi8_mask(mixed, splat(kinds::UPPER)),
        _mm512_test_epi8_mask(mixed, splat(kinds::LOWER)),
        three(&LETTERS, two(&LETTERS)),
        three(&MIXED, mixed),
    )
}

/// What a table says of the lowest seven bits of the bytes that `which` has, and nothing for others.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn found(table: &Table, bytes: __m512i, which: u64) -> __m512i {
    _mm512_maskz_permutex2var_epi8(which, load(&table.0[0]), bytes, load(&table.0[1]))
}

/// 0 to 63.
static NUMBERS: [u8; WIDTH] = {
    let mut numbers = [0; WIDTH];
    let mut k = 0;
    while k < WIDTH {
        numbers[k] = k as u8;
        k += 1;
    }
    numbers
};

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
    let mut packed = [0_u8; WIDTH];
    // SAFETY: the array is of 64 bytes.
    unsafe { _mm512_storeu_epi8(packed.as_mut_ptr().cast(), _mm512_maskz_compress_epi8(bits, load(&NUMBERS))) };
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
