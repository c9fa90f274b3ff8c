//! 64 bytes in eight words, in plain arithmetic: for machines without one of the other tiers.

use super::WIDTH;
use super::classes::Ascii;
use super::level::Backend;

const EACH: u64 = 0x0101_0101_0101_0101;
const TOP: u64 = 0x80 * EACH;

/// Needs nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

impl Backend for Portable {
    #[inline(always)]
    fn ascii(self, batch: &[u8; WIDTH]) -> Ascii {
        let mut ascii = Ascii::default();
        for (k, eight) in batch.as_chunks::<8>().0.iter().enumerate() {
            let word = u64::from_le_bytes(*eight);
            let narrow = !word & TOP;
            let put = |set: &mut u64, tops: u64| *set |= gather(tops & narrow) << (8 * k);
            let newline = within(word, b'\n', 1) | within(word, b'\r', 1);
            put(&mut ascii.upper, within(word, b'A', 26));
            put(&mut ascii.lower, within(word, b'a', 26));
            put(&mut ascii.number, within(word, b'0', 10));
            put(&mut ascii.space, within(word, b' ', 1));
            put(&mut ascii.newline, newline);
            put(&mut ascii.blank, within(word, 9, 5) & !newline);
            put(&mut ascii.apostrophe, within(word, b'\'', 1));
            put(&mut ascii.slash, within(word, b'/', 1));
            ascii.wide |= gather(word & TOP) << (8 * k);
        }
        ascii
    }
}

/// The top bit of each byte that is, but for its own top bit, one of the `count` from `from` on.
#[inline(always)]
const fn within(word: u64, from: u8, count: u8) -> u64 {
    // Seven bits of a byte and what is added stay below 256, so no byte touches its neighbour.
    let low = word & !TOP;
    (low + (0x80 - from as u64) * EACH) & !(low + (0x80 - from as u64 - count as u64) * EACH) & TOP
}

/// The top bits of the eight bytes as the eight lowest bits.
#[inline(always)]
const fn gather(tops: u64) -> u64 {
    (tops >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}
