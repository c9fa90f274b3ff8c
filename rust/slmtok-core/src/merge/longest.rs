//! Greedy longest match: from the left, always the longest token that fits, whatever the order of the merges.
//!
//! Another inference method for the vocabulary that merging learned. Bostrom and Durrett ("Byte pair encoding is suboptimal
//! for language model pretraining", 2020) ask what the greedy order of merges costs a model; Uzan, Schmidt, Tanner and Pinter
//! ("Greed is all you need: an evaluation of tokenizer inference methods", 2024) compare inference methods on one vocabulary,
//! this one among them.

use super::trie::Trie;
use crate::merges::Merges;
use crate::{Error, Result, interrupt};

/// A vocabulary that encodes by longest match.
pub struct LongestMatch {
    /// The merges, which say what the tokens are.
    pub merges: Merges,
    trie: Trie,
}

impl LongestMatch {
    /// The tables for the tokens of a merge list that `contains` accepts; bytes are always among them.
    #[must_use]
    pub fn new(merges: Merges, contains: impl Fn(u32) -> bool) -> Self {
        Self { trie: Trie::new(merges.tokens(), contains), merges }
    }

    /// Encodes `piece` into `ids`, which are internal ids. Takes a step for each byte of the longest token that could begin at
    /// each id.
    ///
    /// # Errors
    /// Lack of memory and interruption, for a long piece; `ids` then holds anything.
    pub fn encode(&self, piece: &[u8], ids: &mut Vec<u32>) -> Result<()> {
        ids.clear();
        ids.try_reserve(piece.len()).map_err(|_| Error::NoMemory { bytes: 4 * piece.len() as u64 })?;
        let mut pos = 0;
        while pos < piece.len() {
            let token = self.trie.longest_match(&piece[pos..]);
            ids.push(token);
            pos += self.merges.tokens().get(token).len();
            interrupt::check_at(ids.len())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_longest_token_where_merging_takes_an_earlier_one() {
        // (b, c) merges first, so merging cuts "abc" into "a", "bc"; the longest token at its start is "ab".
        let longest = LongestMatch::new(Merges::new(vec![(98, 99), (97, 98)]).unwrap(), |_| true);
        let mut ids = Vec::new();
        longest.encode(b"abcabbc", &mut ids).unwrap();
        assert_eq!(ids, [257, 99, 257, 256]);
    }

    #[test]
    fn tokens_that_are_not_accepted_are_not_used() {
        let merges = Merges::new(vec![(97, 98), (256, 99)]).unwrap();
        let mut ids = Vec::new();
        LongestMatch::new(merges, |id| id != 257).encode(b"abc", &mut ids).unwrap();
        assert_eq!(ids, [256, 99]);
    }
}
