//! What the machine offers to look at 64 bytes, chosen at run time.
//!
//! To add a tier: a file here that proves where it may run, and one line each in [`Best`].

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

use super::bits::positions;
use super::classes::Ascii;
use super::easy::Easy;
use super::{Rules, Scan, WIDTH};

#[cfg(target_arch = "x86_64")]
use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
use avx512::Avx512;
#[cfg(target_arch = "aarch64")]
use neon::Neon;
use portable::Portable;

/// Instructions that are there: a value of such a type is the proof.
pub(super) trait Tier: Copy {
    /// The classes of the bytes as ASCII.
    fn ascii(self, batch: &[u8; WIDTH]) -> Ascii;

    /// The characters of several bytes that are common enough to be told by compares, where compares are cheap.
    #[inline(always)]
    fn easy(self, _batch: &[u8; WIDTH]) -> Easy {
        Easy::default()
    }

    /// Writes `base` plus the position of each bit, in order; the places after them hold anything.
    #[inline(always)]
    fn positions(self, bits: u64, base: usize, out: &mut [usize; WIDTH]) {
        positions(bits, base, out);
    }
}

/// One of the tiers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Best {
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
    Portable(Portable),
}

impl Best {
    /// All that this machine can run, the fastest first.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let tiers = [
            #[cfg(target_arch = "x86_64")]
            Avx512::detect().map(Self::Avx512),
            #[cfg(target_arch = "x86_64")]
            Avx2::detect().map(Self::Avx2),
            #[cfg(target_arch = "aarch64")]
            Neon::detect().map(Self::Neon),
            Some(Self::Portable(Portable)),
        ];
        tiers.into_iter().flatten()
    }

    /// The fastest.
    pub(super) fn of_this_machine() -> Self {
        Self::all().next().unwrap_or(Self::Portable(Portable))
    }

    /// Runs the scan in code that was compiled for the tier.
    #[inline(always)]
    pub(super) fn run<R: Rules>(self, scan: Scan<'_, R>) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(tier) => tier.run(scan),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(tier) => tier.run(scan),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(tier) => tier.run(scan),
            Self::Portable(tier) => scan.run(tier),
        }
    }
}

#[cfg(test)]
impl Best {
    fn ascii(self, batch: &[u8; WIDTH]) -> Ascii {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(tier) => tier.ascii(batch),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(tier) => tier.ascii(batch),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(tier) => tier.ascii(batch),
            Self::Portable(tier) => tier.ascii(batch),
        }
    }

    pub(super) fn easy(self, batch: &[u8; WIDTH]) -> Easy {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(tier) => tier.easy(batch),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(tier) => tier.easy(batch),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(tier) => tier.easy(batch),
            Self::Portable(tier) => tier.easy(batch),
        }
    }

    /// Whether the tier tells easy characters at all.
    pub(super) fn has_easy(self) -> bool {
        let batch = [[0xC3, 0xA9]; WIDTH / 2];
        self.easy(batch.as_flattened().first_chunk().unwrap()) != Easy::default()
    }

    fn positions(self, bits: u64, base: usize, out: &mut [usize; WIDTH]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(tier) => tier.positions(bits, base, out),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(tier) => tier.positions(bits, base, out),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(tier) => tier.positions(bits, base, out),
            Self::Portable(tier) => tier.positions(bits, base, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: one byte at a time.
    fn slow(batch: &[u8; WIDTH]) -> Ascii {
        let mut ascii = Ascii::default();
        for (k, &byte) in batch.iter().enumerate() {
            let set = match byte {
                b'A'..=b'Z' => &mut ascii.upper,
                b'a'..=b'z' => &mut ascii.lower,
                b'0'..=b'9' => &mut ascii.number,
                b' ' => &mut ascii.space,
                b'\r' | b'\n' => &mut ascii.newline,
                9 | 11 | 12 => &mut ascii.blank,
                b'\'' => &mut ascii.apostrophe,
                b'/' => &mut ascii.slash,
                0x80.. => &mut ascii.wide,
                _ => continue,
            };
            *set |= 1 << k;
        }
        ascii
    }

    #[test]
    fn every_byte_in_every_place_in_every_tier() {
        for byte in 0..=255 {
            for place in 0..WIDTH {
                for fill in [0, b'a', 0xFF, 0x80, 0x7F] {
                    let mut batch = [fill; WIDTH];
                    batch[place] = byte;
                    for tier in Best::all() {
                        assert_eq!(tier.ascii(&batch), slow(&batch), "{byte} at {place} among {fill} in {tier:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn neighbours_do_not_touch_each_other() {
        let mut seed = 1_u64;
        for _ in 0..20_000 {
            let batch = std::array::from_fn(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 56) as u8
            });
            for tier in Best::all() {
                assert_eq!(tier.ascii(&batch), slow(&batch), "{batch:?} in {tier:?}");
            }
        }
    }

    #[test]
    fn positions_are_those_of_the_bits() {
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
            let want: Vec<usize> = (0..64).filter(|k| bits >> k & 1 == 1).map(|k| base + k).collect();
            for tier in Best::all() {
                let mut out = [0; WIDTH];
                tier.positions(bits, base, &mut out);
                assert_eq!(out[..want.len()], want, "{bits:x} in {tier:?}");
            }
        }
    }
}
