//! Does an earlier token have these bytes? Open addressing over 32-bit slots, a quarter to a half of them used.
//!
//! A slot holds an id and ten bits of the hash, so nearly all others are told apart without a look at their bytes. The bytes are
//! compared before two tokens are called equal. A set of owned byte strings took half of the time of loading a vocabulary.

use crate::cache::short_key::{hash_long, random_seed};
use crate::merges::TokenBytes;

/// Bits for an id + 1; 0 is an empty slot.
const ID_BITS: u32 = 22;
const ID_MASK: u32 = (1 << ID_BITS) - 1;

/// Tokens, no two of which have the same bytes.
pub struct TokenSet {
    slots: Vec<u32>,
    shift: u32,
    seed: u64,
}

impl TokenSet {
    /// With room for `tokens` tokens.
    #[must_use]
    pub fn with_capacity(tokens: usize) -> Self {
        let size = (2 * tokens.max(8)).next_power_of_two();
        Self { slots: vec![0; size], shift: 64 - size.trailing_zeros(), seed: random_seed() }
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

/// The index of the first token that equals one before it. Empty tokens are passed over.
pub fn first_duplicate<'a>(tokens: impl ExactSizeIterator<Item = &'a [u8]>) -> Option<usize> {
    let size = (2 * tokens.len()).next_power_of_two();
    let mut seen: Vec<&[u8]> = vec![&[]; size];
    let seed = random_seed();
    let mut known = |token: &'a [u8]| {
        let mut at = hash_long(token, seed) as usize;
        loop {
            let slot = &mut seen[at & (size - 1)];
            if slot.is_empty() {
                *slot = token;
                return false;
            }
            if *slot == token {
                return true;
            }
            at += 1;
        }
    };
    tokens.enumerate().find(|(_, token)| !token.is_empty() && known(token)).map(|(index, _)| index)
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
        let mut distinct = TokenSet::with_capacity(tokens.len());
        assert!((0..tokens.len() as u32).all(|id| distinct.insert(&tokens, id)));
        assert!((0..tokens.len() as u32).all(|id| !distinct.insert(&tokens, id)));
    }
    #[test]
    fn the_first_that_comes_again() {
        let repeat = |text: &str| first_duplicate(text.split(' ').map(str::as_bytes).collect::<Vec<_>>().into_iter());
        assert_eq!(repeat("a b ab ba abc"), None);
        assert_eq!(repeat("a b ab b a"), Some(3));
        assert_eq!(repeat("a   b"), None, "empty ones");
        assert_eq!(repeat("a  b a"), Some(3));
        let many: Vec<String> = (0..50_000).map(|n| n.to_string()).collect();
        assert_eq!(first_duplicate(many.iter().map(String::as_bytes)), None);
        assert_eq!(
            first_duplicate(many.iter().chain(&many[7..8]).map(String::as_bytes).collect::<Vec<_>>().into_iter()),
            Some(50_000)
        );
    }
}
