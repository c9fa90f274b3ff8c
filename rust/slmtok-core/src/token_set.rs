//! Duplicate detection for token byte strings.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::byte_hash::{hash_bytes, random_seed};

/// A set of tokens by their bytes. It holds ids only.
pub struct TokenSet {
    ids: HashTable<u32>,
    seed: u64,
}

impl TokenSet {
    /// An empty set with capacity for `tokens` tokens.
    #[must_use]
    pub fn with_capacity(tokens: usize) -> Self {
        Self { ids: HashTable::with_capacity(tokens), seed: random_seed() }
    }

    /// Adds the token `id`, whose bytes, like those of all ids in the set, are `bytes_of(id)`. Returns false if the set has
    /// a token with the same bytes.
    pub fn insert<'a>(&mut self, id: u32, bytes_of: impl Fn(u32) -> &'a [u8]) -> bool {
        let (bytes, seed) = (bytes_of(id), self.seed);
        let same_bytes = |&other: &u32| bytes_of(other) == bytes;
        match self.ids.entry(hash_bytes(bytes, seed), same_bytes, |&other| hash_bytes(bytes_of(other), seed)) {
            Entry::Occupied(_) => false,
            Entry::Vacant(slot) => {
                slot.insert(id);
                true
            }
        }
    }
}

/// Index of the first token that equals an earlier one. Empty tokens are ignored.
pub fn first_duplicate<'a>(tokens: impl ExactSizeIterator<Item = &'a [u8]>) -> Option<usize> {
    let mut set: HashTable<&[u8]> = HashTable::with_capacity(tokens.len());
    let seed = random_seed();
    let mut is_duplicate = |token: &'a [u8]| match set.entry(
        hash_bytes(token, seed),
        |&other| other == token,
        |other| hash_bytes(other, seed),
    ) {
        Entry::Occupied(_) => true,
        Entry::Vacant(slot) => {
            slot.insert(token);
            false
        }
    };
    tokens.enumerate().find(|(_, token)| !token.is_empty() && is_duplicate(token)).map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_token_is_inserted_once() {
        let words: Vec<Vec<u8>> =
            (256..5_000_u32).map(|k| format!("{k:x}").repeat(1 + k as usize % 9).into_bytes()).collect();
        let mut sorted: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let mut set = TokenSet::with_capacity(sorted.len());
        assert!((0..sorted.len() as u32).all(|id| set.insert(id, |id| sorted[id as usize])));
        assert!((0..sorted.len() as u32).all(|id| !set.insert(id, |id| sorted[id as usize])));
    }

    #[test]
    fn the_first_duplicate_is_found() {
        let find = |text: &str| first_duplicate(text.split(' ').map(str::as_bytes).collect::<Vec<_>>().into_iter());
        assert_eq!(find("a b ab ba abc"), None);
        assert_eq!(find("a b ab b a"), Some(3));
        assert_eq!(find("a   b"), None, "empty tokens");
        assert_eq!(find("a  b a"), Some(3));
        let many: Vec<String> = (0..50_000).map(|n| n.to_string()).collect();
        assert_eq!(first_duplicate(many.iter().map(String::as_bytes)), None);
        let again = many.iter().chain(&many[7..8]).map(String::as_bytes).collect::<Vec<_>>();
        assert_eq!(first_duplicate(again.into_iter()), Some(50_000));
    }
}
