//! Short pieces as integers, and the comparison of long ones.
//!
//! A piece of up to 15 bytes is one `u128`: its bytes, zero-padded, with its length in the top byte. A key is therefore
//! never 0, which marks an empty slot, and `"a"` differs from `"a\0"`.

use crate::byte_hash::{low_half, padded};

/// The longest piece that fits a key.
pub const MAX_KEY_BYTES: usize = 15;

/// The key of a piece that is too long for one.
pub const NO_KEY: u128 = 0;

/// What makes a key of a 16-byte load, in one cache line.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(super) struct KeyMask {
    /// The bits of the piece's bytes.
    pub bytes: u128,
    /// The length, in the top byte.
    pub length: u128,
}

/// The mask of each length.
pub(super) static KEY_MASKS: [KeyMask; MAX_KEY_BYTES + 1] = {
    let mut masks = [KeyMask { bytes: 0, length: 0 }; MAX_KEY_BYTES + 1];
    let mut n = 1;
    while n <= MAX_KEY_BYTES {
        masks[n] = KeyMask { bytes: (1 << (8 * n)) - 1, length: (n as u128) << 120 };
        n += 1;
    }
    masks
};

/// The key of `text[start..end]`, which must be 1 to 15 bytes long.
#[inline(always)]
#[must_use]
fn key(text: &[u8], start: usize, end: usize) -> u128 {
    let length = end - start;
    debug_assert!((1..=MAX_KEY_BYTES).contains(&length));
    let Some(loaded) = text.get(start..start + 16).and_then(<[u8]>::first_chunk::<16>) else {
        return padded(&text[start..end]) | (length as u128) << 120;
    };
    // In halves: the multiplicative hash would have to split a vector again.
    let loaded = u128::from_le_bytes(*loaded);
    let KeyMask { bytes, length } = KEY_MASKS[length & 15];
    let high = low_half(loaded >> 64) & low_half(bytes >> 64) | low_half(length >> 64);
    u128::from(low_half(loaded) & low_half(bytes)) | u128::from(high) << 64
}

/// The key of `text[start..end]`, which must not be empty, or [`NO_KEY`].
#[inline(always)]
#[must_use]
pub fn short_key(text: &[u8], start: usize, end: usize) -> u128 {
    if end - start <= MAX_KEY_BYTES { key(text, start, end) } else { NO_KEY }
}

/// The bytes of a key, and how many of the 16 belong to the piece.
#[must_use]
pub fn key_bytes(key: u128) -> ([u8; 16], usize) {
    let bytes = key.to_le_bytes();
    (bytes, usize::from(bytes[15]))
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
    fn long_comparisons_see_every_byte() {
        for length in 16..100 {
            let base = vec![7u8; length];
            assert!(equal_long(&base, &base.clone()));
            for at in 0..length {
                let mut other = base.clone();
                other[at] ^= 1;
                assert!(!equal_long(&base, &other), "byte {at} of {length}");
            }
            assert!(!equal_long(&[&base[..], &[7]].concat(), &base));
        }
    }
}
