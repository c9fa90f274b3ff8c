//! The merge list, validated once: the output of training and the input of encoding.
//!
//! Ids here are *internal*: 0..=255 are the bytes, merge k creates id 256 + k. So the order of ids is the order of merging.
//! The encoder maps internal ids to public ones.

use crate::token_set::{TokenSet, first_duplicate};
use crate::{Error, Result};

/// Internal ids fit 21 bits, so that a pair and its product fit one `u64`.
pub const MAX_TOKENS: usize = 1 << 21;
/// Longest token. An adversarial merge list can double the length at each merge.
pub const MAX_TOKEN_BYTES: usize = 1 << 20;
/// Total length of all tokens.
pub const MAX_TOTAL_BYTES: usize = 32 << 20;

const BEYOND_LIMITS: &str = "exceeds the limits of a vocabulary (2^21 tokens, 1 MiB each, 32 MiB together)";

/// The bytes of every token, concatenated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBytes {
    blob: Vec<u8>,
    start: Vec<usize>,
}

impl TokenBytes {
    /// The 256 single-byte tokens.
    #[must_use]
    pub fn bytes_only() -> Self {
        Self { blob: (0..=255).collect(), start: (0..=256).collect() }
    }

    /// Number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.start.len() - 1
    }

    /// Always false: the 256 single-byte tokens are always present.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Length of all tokens together.
    #[must_use]
    pub fn total_bytes(&self) -> usize {
        self.blob.len()
    }

    /// All internal ids.
    #[expect(clippy::cast_possible_truncation, reason = "there are at most `MAX_TOKENS`")]
    pub fn ids(&self) -> impl ExactSizeIterator<Item = u32> + use<> {
        0..self.len() as u32
    }

    /// Bytes of the token with internal id `id`, which must be less than [`TokenBytes::len`].
    #[inline]
    #[must_use]
    pub fn get(&self, id: u32) -> &[u8] {
        &self.blob[self.start[id as usize]..self.start[id as usize + 1]]
    }

    fn push(&mut self, token: &[u8]) {
        self.blob.extend_from_slice(token);
        self.start.push(self.blob.len());
    }

    /// Appends the concatenation of two tokens.
    pub(crate) fn push_joined(&mut self, left: u32, right: u32) {
        for part in [left, right] {
            self.blob.extend_from_within(self.start[part as usize]..self.start[part as usize + 1]);
        }
        self.start.push(self.blob.len());
    }

    /// Appends tokens that are not merges (schemes `word` and `char`).
    ///
    /// # Errors
    /// An empty token, a duplicate, or too many tokens.
    pub fn append(&mut self, tokens: &[&[u8]]) -> Result<()> {
        let duplicate = first_duplicate(tokens.iter().copied());
        for (index, &token) in tokens.iter().enumerate() {
            let fail =
                |reason: &str| Err(Error::InvalidTokens { index, token: token.to_vec(), reason: reason.to_owned() });
            if token.is_empty() {
                return fail("is empty");
            }
            if token.len() == 1 || duplicate == Some(index) {
                return fail("is a duplicate");
            }
            if token.len() > MAX_TOKEN_BYTES
                || self.len() >= MAX_TOKENS
                || self.blob.len() + token.len() > MAX_TOTAL_BYTES
            {
                return fail(BEYOND_LIMITS);
            }
            self.push(token);
        }
        Ok(())
    }
}

/// A valid merge list and the bytes of its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merges {
    pairs: Vec<(u32, u32)>,
    tokens: TokenBytes,
}

impl Merges {
    /// Validates `pairs` in order: each half exists before its merge, no two tokens have the same bytes, sizes are within
    /// the limits.
    ///
    /// # Errors
    /// The first merge that violates this.
    #[expect(clippy::cast_possible_truncation, reason = "ids are below MAX_TOKENS")]
    pub fn new(pairs: Vec<(u32, u32)>) -> Result<Self> {
        let mut tokens = TokenBytes::bytes_only();
        let mut distinct = TokenSet::with_capacity(pairs.len());
        for (index, &(left, right)) in pairs.iter().enumerate() {
            let fail = |reason: String| Err(Error::InvalidMerges { index, left, right, reason });
            let id = 256 + index;
            if left as usize >= id || right as usize >= id {
                return fail(format!("uses an id that does not exist yet (it creates id {id} itself)"));
            }
            let length = tokens.get(left).len() + tokens.get(right).len();
            if length > MAX_TOKEN_BYTES || id >= MAX_TOKENS || tokens.blob.len() + length > MAX_TOTAL_BYTES {
                return fail(BEYOND_LIMITS.to_owned());
            }
            tokens.push_joined(left, right);
            if !distinct.insert(id as u32, |id| tokens.get(id)) {
                return fail("has the bytes of an earlier token".to_owned());
            }
        }
        Ok(Self { pairs, tokens })
    }

    /// The pair of each merge.
    #[must_use]
    pub fn pairs(&self) -> &[(u32, u32)] {
        &self.pairs
    }

    /// The two tokens that a token was merged from; `None` for a byte.
    #[must_use]
    pub fn halves(&self, id: u32) -> Option<(u32, u32)> {
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
    fn accepts_a_trained_list() {
        let merges = Merges::new(vec![(97, 97), (256, 98), (257, 256)]).unwrap();
        assert_eq!(merges.tokens().get(258), b"aabaa");
        assert_eq!((merges.halves(97), merges.halves(258)), (None, Some((257, 256))));
    }

    #[test]
    fn refuses_inconsistent_lists() {
        assert!(fault(&[(97, 256)]).contains("does not exist yet"));
        assert!(fault(&[(97, 98), (97, 98)]).contains("earlier token"));
        assert!(fault(&[(97, 98), (98, 99), (256, 99), (97, 257)]).contains("earlier token"));
        let doubling: Vec<_> = std::iter::once((97, 97)).chain((256..300).map(|id| (id, id))).collect();
        assert!(fault(&doubling).contains("limits"));
        // Each of 512 tokens of 256 KiB and a byte is within its limit; their sum is not.
        let almost: Vec<_> = std::iter::once((97, 97)).chain((256..274).map(|id| (id, id))).collect();
        let long = (0..=255).map(|byte| (274, byte)).chain((0..=255).map(|byte| (byte, 274)));
        let many: Vec<_> = almost.into_iter().chain(long).collect();
        assert!(fault(&many).contains("32 MiB together"));
    }

    #[test]
    fn appended_tokens_are_distinct() {
        let mut tokens = TokenBytes::bytes_only();
        tokens.append(&[b"ab", b"cd"]).unwrap();
        assert_eq!(tokens.get(257), b"cd");
        for bad in [&[&b""[..]][..], &[b"a"], &[b"ef", b"ef"]] {
            assert!(TokenBytes::bytes_only().append(bad).is_err());
        }
    }
}
