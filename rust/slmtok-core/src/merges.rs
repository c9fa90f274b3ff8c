//! A list of merges, checked once: what training makes and encoding needs.
//!
//! Ids in here are *internal*: 0..255 are the bytes, merge k makes 256 + k. So the order of ids is the order of merging, and
//! whatever ids the outside world uses are a translation at the edge.

use std::collections::HashSet;

use crate::token_set::TokenSet;
use crate::{Error, Result};

/// Internal ids fit 21 bits, so that a pair and what it makes fit one `u64`.
pub const MAX_TOKENS: usize = 1 << 21;
/// No token may be longer; a hostile list can double the length at each merge.
pub const MAX_TOKEN_BYTES: usize = 1 << 20;
/// Bytes of all tokens together.
const MAX_BLOB: usize = 1 << 30;

/// The bytes of every token, end to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBytes {
    blob: Vec<u8>,
    start: Vec<usize>,
}

impl TokenBytes {
    /// The 256 bytes.
    #[must_use]
    pub fn bytes_only() -> Self {
        Self { blob: (0..=255).collect(), start: (0..=256).collect() }
    }

    /// Number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.start.len() - 1
    }

    /// Never: the bytes are always there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the token with internal id `id`, which must exist.
    #[inline]
    #[must_use]
    pub fn get(&self, id: u32) -> &[u8] {
        &self.blob[self.start[id as usize]..self.start[id as usize + 1]]
    }

    fn push(&mut self, token: &[u8]) {
        self.blob.extend_from_slice(token);
        self.start.push(self.blob.len());
    }

    fn push_joined(&mut self, left: u32, right: u32) {
        for part in [left, right] {
            self.blob.extend_from_within(self.start[part as usize]..self.start[part as usize + 1]);
        }
        self.start.push(self.blob.len());
    }

    /// Appends tokens that are not merges of others (schemes `word` and `char`).
    ///
    /// # Errors
    /// An empty token, one that is there already, or too many.
    pub fn append(&mut self, tokens: &[&[u8]]) -> Result<()> {
        let mut seen: HashSet<&[u8]> = HashSet::with_capacity(tokens.len());
        for (index, &token) in tokens.iter().enumerate() {
            let fail =
                |reason: &str| Err(Error::InvalidTokens { index, token: token.to_vec(), reason: reason.to_owned() });
            if token.is_empty() {
                return fail("is empty");
            }
            if token.len() == 1 || !seen.insert(token) {
                return fail("is there twice");
            }
            if token.len() > MAX_TOKEN_BYTES || self.len() >= MAX_TOKENS || self.blob.len() + token.len() > MAX_BLOB {
                return fail("exceeds the limits of a vocabulary (2^21 tokens, 1 MiB each)");
            }
            self.push(token);
        }
        Ok(())
    }
}

/// Merges and the bytes that they spell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merges {
    pairs: Vec<(u32, u32)>,
    tokens: TokenBytes,
}

impl Merges {
    /// Checks `pairs` in order: parts before wholes, no pair twice, no two tokens with the same bytes, sane sizes.
    ///
    /// # Errors
    /// The first merge that no trainer can have made.
    pub fn new(pairs: Vec<(u32, u32)>) -> Result<Self> {
        let mut tokens = TokenBytes::bytes_only();
        let mut seen = TokenSet::with_capacity(pairs.len());
        for (index, &(left, right)) in pairs.iter().enumerate() {
            let fail = |reason: String| Err(Error::InvalidMerges { index, left, right, reason });
            let made = 256 + index;
            if left as usize >= made || right as usize >= made {
                return fail(format!("uses an id that is not made yet (it makes id {made} itself)"));
            }
            let length = tokens.get(left).len() + tokens.get(right).len();
            if length > MAX_TOKEN_BYTES || made >= MAX_TOKENS || tokens.blob.len() + length > MAX_BLOB {
                return fail("exceeds the limits of a vocabulary (2^21 tokens, 1 MiB each)".to_owned());
            }
            tokens.push_joined(left, right);
            if !seen.insert(&tokens, made as u32) {
                return fail("spells the bytes of an earlier token".to_owned());
            }
        }
        Ok(Self { pairs, tokens })
    }

    /// Both parts of each merge.
    #[must_use]
    pub fn pairs(&self) -> &[(u32, u32)] {
        &self.pairs
    }

    /// The parts of a token; nothing for a byte.
    #[must_use]
    pub fn parts(&self, id: u32) -> Option<(u32, u32)> {
        self.pairs.get(id.checked_sub(256)? as usize).copied()
    }

    /// Bytes of all tokens.
    #[must_use]
    pub fn tokens(&self) -> &TokenBytes {
        &self.tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(pairs: &[(u32, u32)]) -> String {
        Merges::new(pairs.to_vec()).unwrap_err().to_string()
    }

    #[test]
    fn accepts_what_a_trainer_makes() {
        let merges = Merges::new(vec![(97, 97), (256, 98), (257, 256)]).unwrap();
        assert_eq!(merges.tokens().get(258), b"aabaa");
        assert_eq!((merges.parts(97), merges.parts(258)), (None, Some((257, 256))));
    }

    #[test]
    fn refuses_what_no_trainer_makes() {
        assert!(fault(&[(97, 256)]).contains("not made yet"));
        assert!(fault(&[(97, 98), (97, 98)]).contains("earlier token"));
        assert!(fault(&[(97, 98), (98, 99), (256, 99), (97, 257)]).contains("earlier token"));
        let doubling: Vec<_> = std::iter::once((97, 97)).chain((256..300).map(|id| (id, id))).collect();
        assert!(fault(&doubling).contains("limits"));
    }

    #[test]
    fn appended_tokens_are_new() {
        let mut tokens = TokenBytes::bytes_only();
        tokens.append(&[b"ab", b"cd"]).unwrap();
        assert_eq!(tokens.get(257), b"cd");
        for bad in [&[&b""[..]][..], &[b"a"], &[b"ef", b"ef"]] {
            assert!(TokenBytes::bytes_only().append(bad).is_err());
        }
    }
}
