//! Digests: the sha256 of a document, and the sum of many, which does not depend on their order.

use sha2::{Digest as _, Sha256};

/// 256 bits, most significant byte first.
pub type Digest = [u8; 32];

/// The sha256 of `text`.
#[must_use]
pub fn sha256(text: &[u8]) -> Digest {
    Sha256::digest(text).into()
}

/// `a + b` modulo 2^256.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "the carry has the upper bits")]
pub fn add(a: &Digest, b: &Digest) -> Digest {
    let mut sum = *a;
    let mut carry = 0;
    for (byte, &other) in sum.iter_mut().zip(b).rev() {
        let total = u16::from(*byte) + u16::from(other) + carry;
        *byte = total as u8;
        carry = total >> 8;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_carry_and_wrap() {
        let (mut one, max) = ([0; 32], [0xFF; 32]);
        one[31] = 1;
        assert_eq!(add(&max, &one), [0; 32]);
        let mut carried = [0; 32];
        carried[30] = 1;
        let mut low_byte_full = [0; 32];
        low_byte_full[31] = 0xFF;
        assert_eq!(add(&low_byte_full, &one), carried);
        assert_eq!(add(&max, &max)[31], 0xFE);
    }

    #[test]
    fn digest_of_empty_input() {
        assert_eq!(sha256(b"")[..4], [0xE3, 0xB0, 0xC4, 0x42]);
    }
}
