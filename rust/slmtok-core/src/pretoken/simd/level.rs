//! SIMD levels and their detection at run time.
//!
//! To add a level: a file with a [`Backend`], and one line in each `match` of [`SimdLevel`].

use super::bitmask::positions;
use super::classes::Ascii;
use super::common_multibyte::CommonMultibyte;
use super::{BitmaskRules, Scan, WIDTH};

#[cfg(target_arch = "x86_64")]
use super::avx2::Avx2;
#[cfg(target_arch = "x86_64")]
use super::avx512::BlockAvx512;
#[cfg(target_arch = "aarch64")]
use super::neon::Neon;
use super::portable::Portable;

/// The operations of a SIMD level. A value proves that the machine has its instructions.
pub(super) trait Backend: Copy {
    /// Classes of single bytes.
    fn ascii(self, block: &[u8; WIDTH]) -> Ascii;

    /// Classes of common multi-byte characters; none where byte comparisons are not cheap.
    #[inline(always)]
    fn common_multibyte(self, _block: &[u8; WIDTH]) -> CommonMultibyte {
        CommonMultibyte::default()
    }

    /// Writes `base` plus the position of each set bit, in order; later slots of `out` are undefined.
    #[inline(always)]
    fn positions(self, bits: u64, base: usize, out: &mut [usize; WIDTH]) {
        positions(bits, base, out);
    }
}

/// A detected SIMD level.
#[derive(Clone, Copy, Debug)]
pub(super) enum SimdLevel {
    #[cfg(target_arch = "x86_64")]
    Avx512(BlockAvx512),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
    Portable(Portable),
}

impl SimdLevel {
    /// All levels of this machine, fastest first.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let levels = [
            #[cfg(target_arch = "x86_64")]
            BlockAvx512::detect().map(Self::Avx512),
            #[cfg(target_arch = "x86_64")]
            Avx2::detect().map(Self::Avx2),
            #[cfg(target_arch = "aarch64")]
            Neon::detect().map(Self::Neon),
            Some(Self::Portable(Portable)),
        ];
        levels.into_iter().flatten()
    }

    /// The fastest level of this machine.
    pub(super) fn detect_best() -> Self {
        Self::all().next().unwrap_or(Self::Portable(Portable))
    }

    /// Runs the scan in code compiled for the level.
    #[inline(always)]
    pub(super) fn run<R: BitmaskRules>(self, scan: Scan<'_, R>) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(level) => level.run(scan),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(level) => level.run(scan),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(level) => level.run(scan),
            Self::Portable(level) => scan.run(level),
        }
    }
}

#[cfg(test)]
impl SimdLevel {
    fn ascii(self, block: &[u8; WIDTH]) -> Ascii {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(level) => level.ascii(block),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(level) => level.ascii(block),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(level) => level.ascii(block),
            Self::Portable(level) => level.ascii(block),
        }
    }

    pub(super) fn common_multibyte(self, block: &[u8; WIDTH]) -> CommonMultibyte {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(level) => level.common_multibyte(block),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(level) => level.common_multibyte(block),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(level) => level.common_multibyte(block),
            Self::Portable(level) => level.common_multibyte(block),
        }
    }

    /// Whether the level classifies common multi-byte characters.
    pub(super) fn has_common_multibyte(self) -> bool {
        let block = [[0xC3, 0xA9]; WIDTH / 2];
        self.common_multibyte(block.as_flattened().first_chunk().unwrap()) != CommonMultibyte::default()
    }

    fn positions(self, bits: u64, base: usize, out: &mut [usize; WIDTH]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(level) => level.positions(bits, base, out),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(level) => level.positions(bits, base, out),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(level) => level.positions(bits, base, out),
            Self::Portable(level) => level.positions(bits, base, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference: one byte at a time.
    fn reference(block: &[u8; WIDTH]) -> Ascii {
        let mut ascii = Ascii::default();
        for (k, &byte) in block.iter().enumerate() {
            let set = match byte {
                b'A'..=b'Z' => &mut ascii.upper,
                b'a'..=b'z' => &mut ascii.lower,
                b'0'..=b'9' => &mut ascii.number,
                b' ' => &mut ascii.space,
                b'\r' | b'\n' => &mut ascii.newline,
                9 | 11 | 12 => &mut ascii.blank,
                b'\'' => &mut ascii.apostrophe,
                b'/' => &mut ascii.slash,
                0x80.. => &mut ascii.non_ascii,
                _ => continue,
            };
            *set |= 1 << k;
        }
        ascii
    }

    #[test]
    fn every_byte_at_every_position_at_every_level() {
        for byte in 0..=255 {
            for position in 0..WIDTH {
                for fill in [0, b'a', 0xFF, 0x80, 0x7F] {
                    let mut block = [fill; WIDTH];
                    block[position] = byte;
                    for level in SimdLevel::all() {
                        assert_eq!(
                            level.ascii(&block),
                            reference(&block),
                            "{byte} at {position} among {fill} in {level:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn neighbouring_bytes_are_independent() {
        let mut seed = 1_u64;
        for _ in 0..20_000 {
            let block = std::array::from_fn(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 56) as u8
            });
            for level in SimdLevel::all() {
                assert_eq!(level.ascii(&block), reference(&block), "{block:?} in {level:?}");
            }
        }
    }

    #[test]
    fn positions_equal_the_set_bits() {
        let mut seed = 1_u64;
        for round in 0..20_000_u64 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // From no bits to all.
            let bits = match round % 5 {
                0 => seed & seed.rotate_left(21) & seed.rotate_left(40),
                1 => seed | seed.rotate_left(21) | seed.rotate_left(40),
                2 => u64::MAX >> (seed >> 58),
                3 => 1 << (seed >> 58),
                _ => seed,
            };
            let base = (seed >> 20) as usize;
            let expected: Vec<usize> = (0..64).filter(|k| bits >> k & 1 == 1).map(|k| base + k).collect();
            for level in SimdLevel::all() {
                let mut out = [0; WIDTH];
                level.positions(bits, base, &mut out);
                assert_eq!(out[..expected.len()], expected, "{bits:x} in {level:?}");
            }
        }
    }
}
