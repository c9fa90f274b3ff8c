//! Portable level: SWAR arithmetic on eight bytes per `u64`, for machines without another level.

use super::WIDTH;
use super::classes::Ascii;
use super::level::Backend;

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const TOP_BITS: u64 = 0x80 * LOW_BITS;

/// No special instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

impl Backend for Portable {
    #[inline(always)]
    fn ascii(self, block: &[u8; WIDTH]) -> Ascii {
        let mut ascii = Ascii::default();
        for (k, eight) in block.as_chunks::<8>().0.iter().enumerate() {
            let word = u64::from_le_bytes(*eight);
            let narrow = !word & TOP_BITS;
            let put = |set: &mut u64, tops: u64| *set |= gather(tops & narrow) << (8 * k);
            let newline = in_range(word, b'\n', 1) | in_range(word, b'\r', 1);
            put(&mut ascii.upper, in_range(word, b'A', 26));
            put(&mut ascii.lower, in_range(word, b'a', 26));
            put(&mut ascii.number, in_range(word, b'0', 10));
            put(&mut ascii.space, in_range(word, b' ', 1));
            put(&mut ascii.newline, newline);
            put(&mut ascii.blank, in_range(word, 9, 5) & !newline);
            put(&mut ascii.apostrophe, in_range(word, b'\'', 1));
            put(&mut ascii.slash, in_range(word, b'/', 1));
            ascii.non_ascii |= gather(word & TOP_BITS) << (8 * k);
        }
        ascii
    }
}

/// Top bit of each byte whose lower seven bits are in `from..from + count`.
#[inline(always)]
const fn in_range(word: u64, from: u8, count: u8) -> u64 {
    // The sum of seven bits and the addend stays below 256, so no byte carries into the next.
    let low = word & !TOP_BITS;
    (low + (0x80 - from as u64) * LOW_BITS) & !(low + (0x80 - from as u64 - count as u64) * LOW_BITS) & TOP_BITS
}

/// Moves the top bits of the eight bytes to the lowest eight bits.
#[inline(always)]
const fn gather(tops: u64) -> u64 {
    (tops >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}
