//! The linear kernel for long pieces: the longest match first, taken back where merging would not have produced it.
//!
//! If every token encodes to itself, a sequence of ids is the encoding of its text if and only if each adjacent pair is. The
//! `bpe` crate of GitHub's rust-gems had this idea, and its readme proves it. The kernel takes the longest token, tests it
//! against the one before it, and falls back to shorter ones. Each position is abandoned at most once, so the time is linear.

use fixedbitset::FixedBitSet;

use super::pair_table::{NONE, PairTable};
use super::trie::Trie;
use crate::merges::Merges;
use crate::{Error, Result, interrupt};

/// Tables of the kernel, built once enough long pieces were encoded.
pub struct Backtrack {
    trie: Trie,
    /// For each token the longest shorter token that is its prefix; [`NONE`] for bytes.
    next_prefix: Vec<u32>,
}

impl Backtrack {
    /// Tables for a merge list in which every token encodes to itself.
    #[must_use]
    pub fn new(merges: &Merges) -> Self {
        let tokens = merges.tokens();
        let trie = Trie::new(tokens, |_| true);
        let next_prefix = tokens.ids().map(|id| {
            let token = tokens.get(id);
            if token.len() == 1 { NONE } else { trie.longest_match(&token[..token.len() - 1]) }
        });
        Self { next_prefix: next_prefix.collect(), trie }
    }

    /// Encodes `piece`, which must not be empty, into `ids`.
    ///
    /// # Errors
    /// [`Error::NoMemory`], and [`Error::Interrupted`]; `ids` then holds anything.
    pub fn encode(&self, merges: &Merges, pairs: &PairTable, piece: &[u8], ids: &mut Vec<u32>) -> Result<()> {
        let length = |id: u32| merges.tokens().get(id).len();
        let mut dead_ends = FixedBitSet::with_capacity(piece.len() + 1);
        ids.clear();
        let (mut pos, mut token) = (0, self.trie.longest_match(piece));
        loop {
            let end = pos + length(token);
            if !dead_ends.contains(end) && ids.last().is_none_or(|&last| is_compatible(merges, pairs, last, token)) {
                ids.push(token);
                pos = end;
                if pos == piece.len() {
                    return Ok(());
                }
                if ids.len() == ids.capacity() {
                    let bytes = size_of::<u32>() as u64 * 2 * ids.len() as u64;
                    ids.try_reserve(1).map_err(|_| Error::NoMemory { bytes })?;
                }
                interrupt::check_at(ids.len())?;
                token = self.trie.longest_match(&piece[pos..]);
                continue;
            }
            let shorter = self.next_prefix[token as usize];
            if shorter != NONE {
                token = shorter;
                continue;
            }
            dead_ends.insert(pos);
            // Position 0 is never a dead end: the encoding itself begins there.
            let Some(last) = ids.pop() else { return Ok(()) };
            token = last;
            pos -= length(token);
        }
    }
}

/// Whether the joined text of two tokens encodes to exactly these two, that is, whether no merge ever crosses the boundary
/// between them. Undoes the younger of both merges step by step.
fn is_compatible(merges: &Merges, pairs: &PairTable, left: u32, right: u32) -> bool {
    let (mut left, mut right, mut limit) = (left, right, NONE);
    loop {
        if pairs.merged(left, right) < limit {
            return false;
        }
        if left > right {
            limit = left;
            match merges.halves(left) {
                Some((_, half)) => left = half,
                None => return true,
            }
        } else {
            // Of equal ids the left one merges first, so the right one may still be whole at rank `right`.
            limit = right + 1;
            match merges.halves(right) {
                Some((half, _)) => right = half,
                None => return true,
            }
        }
    }
}
