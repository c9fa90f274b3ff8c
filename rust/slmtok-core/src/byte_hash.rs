//! A seeded hash of byte strings, fast for the lengths of tokens and pieces.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// The low half of 128 bits.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
pub(crate) const fn low_half(bits: u128) -> u64 {
    bits as u64
}

/// At most 15 bytes as an integer, zero-padded.
#[cold]
pub(crate) fn padded(piece: &[u8]) -> u128 {
    let mut padded = [0; 16];
    padded[..piece.len()].copy_from_slice(piece);
    u128::from_le_bytes(padded)
}

/// Odd constants without structure: the fractions of the square roots of 2 and 3.
pub const MIX_CONSTANTS: [u64; 2] = [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b];

/// An unpredictable seed: without it, adversarial text could make all its pieces collide. Results never depend on hashes, so
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

/// The hash of a byte string of any length: of its blocks of 16 bytes, and of its last 16 bytes, which may overlap a block.
#[inline]
#[must_use]
pub fn hash_bytes(bytes: &[u8], seed: u64) -> u64 {
    let hash = |block: u128, seed: u64| multiply_fold(block, [seed, seed.rotate_left(32)]);
    let start = hash(bytes.len() as u128, seed);
    let Some(last) = bytes.last_chunk::<16>() else { return hash(padded(bytes), start) };
    let blocks = bytes[..bytes.len() - 1].as_chunks::<16>().0;
    let state = blocks.iter().fold(start, |state, block| hash(u128::from_le_bytes(*block), state));
    hash(u128::from_le_bytes(*last), state)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_block_cancels_another() {
        // With a factor that the text alone decides these all had the hash 0.
        let seed = random_seed();
        let piece = |n: u64| [n.to_le_bytes(), MIX_CONSTANTS[1].to_le_bytes()].concat();
        let hashes: HashSet<u64> = (0..1000).map(|n| hash_bytes(&piece(n), seed)).collect();
        assert_eq!(hashes.len(), 1000);
    }

    #[test]
    fn every_byte_and_the_length_change_the_hash() {
        for length in 16..100 {
            let base = vec![7u8; length];
            for at in 0..length {
                let mut other = base.clone();
                other[at] ^= 1;
                assert_ne!(hash_bytes(&base, 0), hash_bytes(&other, 0), "byte {at} of {length}");
            }
            assert_ne!(hash_bytes(&base[..length - 1], 0), hash_bytes(&base, 0));
        }
        let short: HashSet<u64> = (0..16).map(|length| hash_bytes(&[0; 16][..length], 0)).collect();
        assert_eq!(short.len(), 16);
    }
}
