//! Has this been here before? A bit for each hash: may say yes wrongly, which costs a little memory, and never no.

/// Bits, as a power of two: 256 kB of them.
const BITS: u32 = 21;
/// With more than this many marks the answers are worth too little, and all is forgotten.
const MOST: usize = 1 << (BITS - 3);

/// What was seen of late.
#[derive(Default)]
pub struct BloomFilter {
    /// Empty until the first question.
    bits: Vec<u64>,
    marks: usize,
}

impl BloomFilter {
    /// Whether something with this hash, whose lowest 32 bits count, was asked for before; from now on it was.
    pub fn before(&mut self, hash: u64) -> bool {
        if self.bits.is_empty() {
            // Untouched, so that who asks a few questions does not pay for all bits.
            self.bits = vec![0; 1 << (BITS - 6)];
        } else if self.marks == MOST {
            self.bits.fill(0);
            self.marks = 0;
        }
        let bit = hash as u32 >> (32 - BITS);
        let word = &mut self.bits[(bit >> 6) as usize];
        let before = *word >> (bit & 63) & 1 == 1;
        *word |= 1 << (bit & 63);
        self.marks += usize::from(!before);
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_is_never_wrong_until_all_is_forgotten() {
        let mut seen = BloomFilter::default();
        let hash = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let fresh = (0..10_000).filter(|&n| !seen.before(hash(n))).count();
        assert!(fresh > 9_800, "{fresh} of 10,000 were new");
        assert!((0..10_000).all(|n| seen.before(hash(n))));
        let fresh = (0..1_000_000).filter(|&n| !seen.before(hash(n))).count();
        assert!(fresh > 900_000, "{fresh}: it is emptied before it is full");
    }
}
