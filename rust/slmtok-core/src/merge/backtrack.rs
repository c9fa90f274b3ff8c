//! The linear kernel for long pieces: longest match first, taken back where merging would not have led there.
//!
//! If every token encodes to itself, ids are the encoding of their text if and only if each adjacent pair is (the idea is
//! that of the `bpe` crate of GitHub's rust-gems, whose readme proves it). So take the longest token, test it against the
//! one before, and fall back to shorter ones; each position is given up at most once, hence linear.

use super::pair_table::{NONE, PairTable};
use super::trie::Trie;
use crate::merges::Merges;

/// What the kernel needs besides the pairs; made when the first long piece comes.
pub struct Backtrack {
    trie: Trie,
    /// For each token the longest shorter token that is a prefix of it; [`NONE`] for bytes.
    next_prefix: Vec<u32>,
}

impl Backtrack {
    /// Tables for a merge list in which every token encodes to itself.
    #[must_use]
    pub fn new(merges: &Merges) -> Self {
        let tokens = merges.tokens();
        let trie = Trie::new(tokens);
        let next_prefix = (0..tokens.len() as u32).map(|id| {
            let token = tokens.get(id);
            if token.len() == 1 { NONE } else { trie.longest(&token[..token.len() - 1]) }
        });
        Self { next_prefix: next_prefix.collect(), trie }
    }

    /// Encodes `piece`, which must not be empty; `ids` receives the result.
    pub fn encode(&self, merges: &Merges, pairs: &PairTable, piece: &[u8], ids: &mut Vec<u32>) {
        let length = |id: u32| merges.tokens().get(id).len();
        let mut dead = vec![0u64; piece.len() / 64 + 1];
        let is_dead = |dead: &[u64], at: usize| dead[at / 64] >> (at % 64) & 1 == 1;
        ids.clear();
        let (mut pos, mut token) = (0, self.trie.longest(piece));
        loop {
            let end = pos + length(token);
            let fits = !is_dead(&dead, end) && ids.last().is_none_or(|&last| compatible(merges, pairs, last, token));
            if fits {
                ids.push(token);
                pos = end;
                if pos == piece.len() {
                    return;
                }
                token = self.trie.longest(&piece[pos..]);
                continue;
            }
            let shorter = self.next_prefix[token as usize];
            if shorter != NONE {
                token = shorter;
                continue;
            }
            dead[pos / 64] |= 1 << (pos % 64);
            // The first position is never given up: the encoding itself begins there.
            let Some(last) = ids.pop() else { return };
            token = last;
            pos -= length(token);
        }
    }
}

/// Whether the joined text of two tokens encodes to exactly these two: no merge ever crossed the line between them. Undoes
/// the younger of both step by step.
#[must_use]
pub fn compatible(merges: &Merges, pairs: &PairTable, left: u32, right: u32) -> bool {
    let (mut left, mut right, mut limit) = (left, right, NONE);
    loop {
        if pairs.made(left, right) < limit {
            return false;
        }
        if left > right {
            limit = left;
            match merges.parts(left) {
                Some((_, half)) => left = half,
                None => return true,
            }
        } else {
            // Equal ids: the left one merges first, so the right one may still be whole at `right` itself.
            limit = right + 1;
            match merges.parts(right) {
                Some((half, _)) => right = half,
                None => return true,
            }
        }
    }
}
