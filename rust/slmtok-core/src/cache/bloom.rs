//! A one-hash Bloom filter: false positives cost memory or time; false negatives do not occur until it is cleared.

/// Bits, as a power of two: 256 KiB.
const BITS_LOG2: u32 = 21;
/// The filter is cleared when an eighth of its bits are set: false positives would become frequent.
const MAX_SET_BITS: usize = 1 << (BITS_LOG2 - 3);

/// A set of hashes, approximately.
#[derive(Default)]
pub struct BloomFilter {
    /// Empty until the first insertion.
    bits: Vec<u64>,
    set_bits: usize,
}

impl BloomFilter {
    /// Inserts a hash, of which the low 32 bits count; returns whether it was present before.
    pub fn insert(&mut self, hash: u64) -> bool {
        if self.bits.is_empty() {
            self.bits = vec![0; 1 << (BITS_LOG2 - 6)];
        } else if self.set_bits == MAX_SET_BITS {
            self.bits.fill(0);
            self.set_bits = 0;
        }
        let bit = (hash & u64::from(u32::MAX)) >> (32 - BITS_LOG2);
        let word = &mut self.bits[(bit >> 6) as usize];
        let present = *word >> (bit & 63) & 1 == 1;
        *word |= 1 << (bit & 63);
        self.set_bits += usize::from(!present);
        present
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn false_negatives_do_not_occur_until_it_is_cleared() {
        let mut filter = BloomFilter::default();
        let hash = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let new = (0..10_000).filter(|&n| !filter.insert(hash(n))).count();
        assert!(new > 9_800, "{new} of 10,000 were new");
        assert!((0..10_000).all(|n| filter.insert(hash(n))));
        let new = (0..1_000_000).filter(|&n| !filter.insert(hash(n))).count();
        assert!(new > 900_000, "{new}: it is cleared before it is full");
    }
}
