//! Short pieces as integers, and hashes of long ones.
//!
//! A piece of up to 15 bytes is one `u128`: its bytes, zero-padded, with its length in the top byte. A key is therefore
//! never 0, which marks an empty slot, and `"a"` differs from `"a\0"`.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// The longest piece that fits a key.
pub const MAX_KEY_BYTES: usize = 15;

/// The key of a piece that is too long for one.
pub const NO_KEY: u128 = 0;

/// Masks for the low `n` bytes of a 16-byte load, in two halves, and the length in the top byte; index `n`.
const MASKS: [[u64; 3]; MAX_KEY_BYTES + 1] = masks();

const fn masks() -> [[u64; 3]; MAX_KEY_BYTES + 1] {
    let mut masks = [[0; 3]; MAX_KEY_BYTES + 1];
    let mut n = 1;
    while n <= MAX_KEY_BYTES {
        let mask: u128 = (1 << (8 * n)) - 1;
        masks[n] = [low_half(mask), low_half(mask >> 64), (n as u64) << 56];
        n += 1;
    }
    masks
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
const fn low_half(bits: u128) -> u64 {
    bits as u64
}

/// The key of `segment[start..end]`, which must be 1 to 15 bytes long.
#[inline(always)]
#[must_use]
fn key(segment: &[u8], start: usize, end: usize) -> u128 {
    let length = end - start;
    debug_assert!((1..=MAX_KEY_BYTES).contains(&length));
    let Some(window) = segment.get(start..start + 16).and_then(<[u8]>::first_chunk::<16>) else {
        return padded(&segment[start..end]) | (length as u128) << 120;
    };
    // In halves: the multiplicative hash would have to split a vector again.
    let window = u128::from_le_bytes(*window);
    let [low, high, top] = MASKS[length & 15];
    u128::from(low_half(window) & low) | u128::from(low_half(window >> 64) & high | top) << 64
}

/// The key of `segment[start..end]`, which must not be empty, or [`NO_KEY`].
#[inline(always)]
#[must_use]
pub fn short_key(segment: &[u8], start: usize, end: usize) -> u128 {
    if end - start <= MAX_KEY_BYTES { key(segment, start, end) } else { NO_KEY }
}

#[cold]
fn padded(piece: &[u8]) -> u128 {
    let mut padded = [0; 16];
    padded[..piece.len()].copy_from_slice(piece);
    u128::from_le_bytes(padded)
}

/// The bytes of a key, and how many of the 16 belong to the piece.
#[must_use]
pub fn key_bytes(key: u128) -> ([u8; 16], usize) {
    let bytes = key.to_le_bytes();
    (bytes, usize::from(bytes[15]))
}

/// Odd constants without structure: the fractions of the square roots of 2 and 3.
pub const MIX_CONSTANTS: [u64; 2] = [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b];

/// An unpredictable seed: without it, hostile text could make all its pieces collide. Results never depend on hashes, so
/// the seed changes only the time.
#[must_use]
pub fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Multiply and fold. The seed enters both factors: a known factor could be made zero, which would cancel the other one.
#[inline(always)]
#[must_use]
pub fn multiply_fold(block: u128, seed: [u64; 2]) -> u64 {
    let low = low_half(block) ^ MIX_CONSTANTS[0] ^ seed[0];
    let high = low_half(block >> 64) ^ MIX_CONSTANTS[1] ^ seed[1];
    let product = u128::from(low).wrapping_mul(u128::from(high));
    low_half(product >> 64) ^ low_half(product)
}

/// The hash of a piece of any length: of its blocks of 16 bytes, and of its last 16 bytes, which may overlap a block.
#[inline]
#[must_use]
pub fn hash_long(piece: &[u8], seed: u64) -> u64 {
    let hash = |block: u128, seed: u64| multiply_fold(block, [seed, seed.rotate_left(32)]);
    let start = hash(piece.len() as u128, seed);
    let Some(last) = piece.last_chunk::<16>() else { return hash(padded(piece), start) };
    let blocks = piece[..piece.len() - 1].as_chunks::<16>().0;
    let state = blocks.iter().fold(start, |state, block| hash(u128::from_le_bytes(*block), state));
    hash(u128::from_le_bytes(*last), state)
}

/// Whether two pieces are equal, neither of which fits a key.
#[inline]
#[must_use]
pub fn equal_long(a: &[u8], b: &[u8]) -> bool {
    debug_assert!(a.len() > MAX_KEY_BYTES);
    // Without a call to memcmp: most pieces are not much longer than a key.
    a.len() == b.len()
        && a.last_chunk::<16>() == b.last_chunk()
        && a.as_chunks::<16>().0.iter().zip(b.as_chunks().0).all(|(a, b)| a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_length_and_trailing_zeros_apart() {
        let text = b"a\0\0bcdefghijklmnopqrstuvwxyz";
        assert_ne!(key(text, 0, 1), key(text, 0, 2));
        assert_ne!(key(text, 0, 2), key(text, 0, 3));
        assert_ne!(key(&[0; 20], 0, 1), 0);
        assert_eq!((short_key(text, 0, 15), short_key(text, 0, 16)), (key(text, 0, 15), NO_KEY));
    }

    #[test]
    fn a_key_does_not_depend_on_what_follows() {
        for length in 1..=MAX_KEY_BYTES {
            let near_end = key(&b"abcdefghijklmnop"[..length], 0, length);
            assert_eq!(near_end, key(b"abcdefghijklmnopqrstuvwxyz....", 0, length));
            let (bytes, n) = key_bytes(near_end);
            assert_eq!(&bytes[..n], &b"abcdefghijklmnop"[..length]);
        }
    }

    #[test]
    fn no_part_of_a_key_can_hide_another() {
        // With a factor that the text alone decides these all had the hash 0.
        let seed = random_seed();
        let piece = |n: u64| [n.to_le_bytes(), MIX_CONSTANTS[1].to_le_bytes()].concat();
        let hashes: std::collections::HashSet<u64> = (0..1000).map(|n| hash_long(&piece(n), seed)).collect();
        assert_eq!(hashes.len(), 1000);
    }

    #[test]
    fn long_hashes_and_comparisons_see_every_byte() {
        for length in 16..100 {
            let base = vec![7u8; length];
            assert!(equal_long(&base, &base.clone()));
            for at in 0..length {
                let mut other = base.clone();
                other[at] ^= 1;
                assert_ne!(hash_long(&base, 0), hash_long(&other, 0), "byte {at} of {length}");
                assert!(!equal_long(&base, &other), "byte {at} of {length}");
            }
            assert_ne!(hash_long(&base[..length - 1], 0), hash_long(&base, 0));
            assert!(!equal_long(&[&base[..], &[7]].concat(), &base));
        }
        let short: std::collections::HashSet<u64> = (0..16).map(|length| hash_long(&[0; 16][..length], 0)).collect();
        assert_eq!(short.len(), 16);
    }
}
