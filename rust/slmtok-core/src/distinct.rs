//! Does an earlier token have these bytes? Open addressing over 32-bit slots, a quarter to a half of them used.
//!
//! A slot holds an id and ten bits of the hash, so nearly all others are told apart without a look at their bytes. The bytes are
//! compared before two tokens are called equal. A set of owned byte strings took half of the time of loading a vocabulary.

use crate::merges::TokenBytes;
use crate::piece::{fresh_seed, hash_long};

/// Bits for an id + 1; 0 is an empty slot.
const ID_BITS: u32 = 22;
const ID_MASK: u32 = (1 << ID_BITS) - 1;

/// Tokens, no two of which have the same bytes.
pub struct Distinct {
    slots: Vec<u32>,
    shift: u32,
    seed: u64,
}

impl Distinct {
    /// With room for `tokens` tokens.
    #[must_use]
    pub fn with_capacity(tokens: usize) -> Self {
        let size = (2 * tokens.max(8)).next_power_of_two();
        Self { slots: vec![0; size], shift: 64 - size.trailing_zeros(), seed: fresh_seed() }
    }

    /// Adds the token `id` of `tokens`. False, and nothing is done, if one with the same bytes is there.
    pub fn insert(&mut self, tokens: &TokenBytes, id: u32) -> bool {
        let bytes = tokens.get(id);
        let hash = hash_long(bytes, self.seed);
        let (mask, tag) = (self.slots.len() - 1, hash as u32 & (u32::MAX >> ID_BITS));
        let mut at = (hash >> self.shift) as usize;
        loop {
            let slot = self.slots[at & mask];
            if slot == 0 {
                self.slots[at & mask] = tag << ID_BITS | (id + 1);
                return true;
            }
            if slot >> ID_BITS == tag && tokens.get((slot & ID_MASK) - 1) == bytes {
                return false;
            }
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_is_there_twice() {
        let words: Vec<Vec<u8>> =
            (256..5_000_u32).map(|k| format!("{k:x}").repeat(1 + k as usize % 9).into_bytes()).collect();
        let mut sorted: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let mut tokens = TokenBytes::bytes_only();
        tokens.append(&sorted).unwrap();
        let mut distinct = Distinct::with_capacity(tokens.len());
        assert!((0..tokens.len() as u32).all(|id| distinct.insert(&tokens, id)));
        assert!((0..tokens.len() as u32).all(|id| !distinct.insert(&tokens, id)));
    }
}
