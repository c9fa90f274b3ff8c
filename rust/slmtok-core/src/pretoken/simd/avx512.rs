//! AVX-512: 64 bytes in one register, comparisons into 64-bit masks.

#![allow(unsafe_code, reason = "instructions that not every machine has; each use states why they are available")]

use std::arch::x86_64::{
    __m512i, _mm_loadu_si64, _mm512_add_epi8, _mm512_add_epi64, _mm512_and_si512, _mm512_cvtepu8_epi64,
    _mm512_loadu_epi8, _mm512_maskz_compress_epi8, _mm512_maskz_permutex2var_epi8, _mm512_movepi8_mask,
    _mm512_permutexvar_epi8, _mm512_set1_epi8, _mm512_set1_epi64, _mm512_storeu_epi8, _mm512_storeu_epi64,
    _mm512_test_epi8_mask,
};
use std::is_x86_feature_detected as has;

use super::classes::Ascii;
use super::common_multibyte::CommonMultibyte;
use super::level::Backend;
use super::{BitmaskRules, Scan, WIDTH};
use crate::simd_limit::{SimdSet, test_limit_allows};

/// Proof that the machine has AVX-512 F, BW, VL, VBMI and VBMI2, and BMI 1 and 2. Older machines with AVX-512 take AVX2.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockAvx512(());

impl BlockAvx512 {
    pub(super) fn detect() -> Option<Self> {
        let all = test_limit_allows(SimdSet::Avx512)
            && has!("avx512f")
            && has!("avx512bw")
            && has!("avx512vl")
            && has!("bmi1")
            && has!("bmi2");
        let all = all && has!("avx512vbmi") && has!("avx512vbmi2");
        (all && has!("lzcnt") && has!("popcnt")).then_some(Self(()))
    }

    pub(super) fn run<R: BitmaskRules>(self, scan: Scan<'_, R>) -> usize {
        // SAFETY: `self` exists only if `detect` found all instructions that the function is compiled for.
        unsafe { run(scan, self) }
    }
}

impl Backend for BlockAvx512 {
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

    #[inline(always)]
    fn positions(self, bits: u64, base: usize, out: &mut [usize; WIDTH]) {
        // SAFETY: as in `run`.
        unsafe { positions(bits, base, out) }
    }
}

/// Bytes from the first to the last of each range.
type Bytes = &'static [(u8, u8)];

/// Eight kinds of characters, each a set of first bytes, of second bytes and of third bytes. Three table lookups by byte give the
/// possible kinds, one bit each; their intersection is the kind. After the error tables of Keiser and Lemire, "Validating UTF-8
/// In Less Than One Instruction Per Byte" (2021).
type Kinds = [[Bytes; 3]; 8];

/// Any continuation byte.
const ANY: Bytes = &[(0x80, 0xBF)];

/// Letters without case: kana, common ideographs and hangul, with the ranges of [`CommonMultibyte::new`].
const CASELESS: Kinds = [
    [&[(0xE3, 0xE3)], &[(0x81, 0x81)], &[(0x81, 0xBF)]],
    [&[(0xE3, 0xE3)], &[(0x82, 0x82)], &[(0x81, 0x96), (0xA1, 0xBF)]],
    [&[(0xE3, 0xE3)], &[(0x83, 0x83)], &[(0x80, 0xBA), (0xBC, 0xBF)]],
    [&[(0xE3, 0xE3)], &[(0x90, 0xBF)], ANY],
    [&[(0xE4, 0xE4)], &[(0x80, 0xB6), (0xB8, 0xBF)], ANY],
    [&[(0xE5, 0xE9), (0xEB, 0xEC)], ANY, ANY],
    [&[(0xEA, 0xEA)], &[(0xB0, 0xBF)], ANY],
    [&[(0xED, 0xED)], &[(0x80, 0x9D)], ANY],
];

/// Kinds of [`CASED_OR_PUNCTUATION`] that are upper case letters.
const UPPER_KINDS: u8 = 0b0000_0011;
/// Kinds of [`CASED_OR_PUNCTUATION`] that are lower case letters.
const LOWER_KINDS: u8 = 0b0001_1100;

/// Letters with case, of two bytes, and punctuation, of three bytes.
const CASED_OR_PUNCTUATION: Kinds = [
    [&[(0xC3, 0xC3)], &[(0x80, 0x96), (0x98, 0x9E)], &[]],
    [&[(0xD0, 0xD0)], &[(0x80, 0xAF)], &[]],
    [&[(0xC3, 0xC3)], &[(0x9F, 0xB6), (0xB8, 0xBF)], &[]],
    [&[(0xD0, 0xD0)], &[(0xB0, 0xBF)], &[]],
    [&[(0xD1, 0xD1)], &[(0x80, 0x9F)], &[]],
    [&[(0xE2, 0xE2)], &[(0x80, 0x80)], &[(0x8B, 0xA7), (0xAA, 0xAE), (0xB0, 0xBF)]],
    [&[(0xE3, 0xE3)], &[(0x80, 0x80)], &[(0x81, 0x84), (0x88, 0xA0)]],
    [&[(0xEF, 0xEF)], &[(0xBC, 0xBC)], &[(0x81, 0x8F), (0x9A, 0xA0), (0xBB, 0xBF)]],
];

/// For each byte from 0x80, the kinds that have it at position `place` (0 to 2), in two halves.
const fn kind_table(kinds: &Kinds, place: usize) -> [[u8; 64]; 2] {
    let mut table = [[0; 64]; 2];
    let mut kind = 0;
    while kind < kinds.len() {
        let ranges = kinds[kind][place];
        let mut range = 0;
        while range < ranges.len() {
            let (mut byte, last) = ranges[range];
            while byte <= last {
                let index = byte as usize - 0x80;
                table[index / 64][index % 64] |= 1 << kind;
                byte += 1;
            }
            range += 1;
        }
        kind += 1;
    }
    table
}

/// For each byte below 0x80, the bit of its class, in two halves.
const fn ascii_table(classes: &[&[u8]; 8]) -> [[u8; 64]; 2] {
    let mut table = [[0; 64]; 2];
    let mut class = 0;
    while class < classes.len() {
        let mut k = 0;
        while k < classes[class].len() {
            let byte = classes[class][k] as usize;
            table[byte / 64][byte % 64] |= 1 << class;
            k += 1;
        }
        class += 1;
    }
    table
}

/// A lookup table indexed by the lowest seven bits of a byte.
#[repr(align(64))]
struct Table([[u8; WIDTH]; 2]);

/// ASCII classes, in the order of their bits.
static ASCII_TABLE: Table = Table(ascii_table(&[
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    b"abcdefghijklmnopqrstuvwxyz",
    b"0123456789",
    b" ",
    b"\r\n",
    b"\t\x0B\x0C",
    b"'",
    b"/",
]));
static CASELESS_TABLES: [Table; 3] =
    [Table(kind_table(&CASELESS, 0)), Table(kind_table(&CASELESS, 1)), Table(kind_table(&CASELESS, 2))];
static CASED_TABLES: [Table; 3] = [
    Table(kind_table(&CASED_OR_PUNCTUATION, 0)),
    Table(kind_table(&CASED_OR_PUNCTUATION, 1)),
    Table(kind_table(&CASED_OR_PUNCTUATION, 2)),
];

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
fn run<R: BitmaskRules>(scan: Scan<'_, R>, level: BlockAvx512) -> usize {
    scan.run(level)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
fn ascii(block: &[u8; WIDTH]) -> Ascii {
    let bytes = load(block);
    let non_ascii = _mm512_movepi8_mask(bytes);
    let classes = lookup(&ASCII_TABLE, bytes, !non_ascii);
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
        non_ascii,
    }
}

/// Looks up the three bytes from each position. Bytes after the block match nothing.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
fn common_multibyte(block: &[u8; WIDTH]) -> CommonMultibyte {
    let first = load(block);
    let non_ascii = _mm512_movepi8_mask(first);
    let second = _mm512_permutexvar_epi8(_mm512_add_epi8(load(&INDICES), splat(1)), first);
    let third = _mm512_permutexvar_epi8(_mm512_add_epi8(load(&INDICES), splat(2)), first);
    let two = |tables: &[Table; 3]| {
        _mm512_and_si512(lookup(&tables[0], first, non_ascii), lookup(&tables[1], second, non_ascii >> 1))
    };
    let three =
        |tables: &[Table; 3], two: __m512i| _mm512_test_epi8_mask(two, lookup(&tables[2], third, non_ascii >> 2));
    let mixed = two(&CASED_TABLES);
    CommonMultibyte::from_leads(
        _mm512_test_epi8_mask(mixed, splat(UPPER_KINDS)),
        _mm512_test_epi8_mask(mixed, splat(LOWER_KINDS)),
        three(&CASELESS_TABLES, two(&CASELESS_TABLES)),
        three(&CASED_TABLES, mixed),
    )
}

/// Table entries of the bytes selected by `which`; 0 for others.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn lookup(table: &Table, bytes: __m512i, which: u64) -> __m512i {
    _mm512_maskz_permutex2var_epi8(which, load(&table.0[0]), bytes, load(&table.0[1]))
}

/// 0 to 63.
static INDICES: [u8; WIDTH] = {
    let mut indices = [0; WIDTH];
    let mut k = 0;
    while k < WIDTH {
        #[expect(clippy::cast_possible_truncation, reason = "k is below 64")]
        let index = k as u8;
        indices[k] = index;
        k += 1;
    }
    indices
};

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load(block: &[u8; WIDTH]) -> __m512i {
    // SAFETY: the reference is to 64 readable bytes; the load needs no alignment.
    unsafe { _mm512_loadu_epi8(block.as_ptr().cast()) }
}

/// Compresses the indices 0 to 63 whose bits are set, then widens eight at a time and adds `base`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
fn positions(bits: u64, base: usize, out: &mut [usize; WIDTH]) {
    let mut packed = [0_u8; WIDTH];
    // SAFETY: the array has 64 bytes.
    unsafe { _mm512_storeu_epi8(packed.as_mut_ptr().cast(), _mm512_maskz_compress_epi8(bits, load(&INDICES))) };
    let base = _mm512_set1_epi64(base.cast_signed() as i64);
    let count = bits.count_ones() as usize;
    for (k, (eight, slots)) in packed.as_chunks::<8>().0.iter().zip(out.as_chunks_mut::<8>().0).enumerate() {
        // Nearly all blocks have at most 24 starts; these are written without a branch on the count.
        if k > 2 && 8 * k >= count {
            break;
        }
        // SAFETY: eight bytes are read and eight 64-bit integers are written, within the arrays.
        unsafe {
            let offsets = _mm512_cvtepu8_epi64(_mm_loadu_si64(eight.as_ptr()));
            _mm512_storeu_epi64(slots.as_mut_ptr().cast(), _mm512_add_epi64(offsets, base));
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn splat(byte: u8) -> __m512i {
    _mm512_set1_epi8(byte.cast_signed())
}
