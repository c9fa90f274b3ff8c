//! The linear kernel for long pieces: the longest match first, taken back where merging would not have produced it.
//!
//! If every token encodes to itself, a sequence of ids is the encoding of its text if and only if each adjacent pair is. The
//! `bpe` crate of GitHub's rust-gems had this idea, and its readme proves it. The kernel takes the longest token, tests it
//! against the one before it, and falls back to shorter ones. Each position is abandoned at most once, so the time is linear.

use fixedbitset::FixedBitSet;
use hashbrown::HashTable;

use super::pair_table::{NONE, PairTable};
use crate::merges::{Merges, TokenBytes};
use crate::{Error, Result, interrupt};

/// Ids between two checks for an interrupt.
const CHECK_INTERVAL: usize = 1 << 16;

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
        let trie = Trie::new(tokens);
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
                if ids.len().is_multiple_of(CHECK_INTERVAL) {
                    interrupt::check()?;
                }
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
            match merges.parts(left) {
                Some((_, half)) => left = half,
                None => return true,
            }
        } else {
            // Of equal ids the left one merges first, so the right one may still be whole at rank `right`.
            limit = right + 1;
            match merges.parts(right) {
                Some((half, _)) => right = half,
                None => return true,
            }
        }
    }
}

/// The prefix tree of all tokens. Nodes 0..=255 are the bytes.
struct Trie {
    /// (key of an edge, child).
    edges: HashTable<(u64, u32)>,
    /// The token that a node spells, or [`NONE`].
    token_at: Vec<u32>,
}

impl Trie {
    fn new(tokens: &TokenBytes) -> Self {
        let mut trie = Self { edges: HashTable::new(), token_at: (0..256).collect() };
        for id in tokens.ids().skip(256) {
            let token = tokens.get(id);
            let mut node = u32::from(token[0]);
            for &byte in &token[1..] {
                node = trie.child(node, byte).unwrap_or_else(|| trie.insert(node, byte));
            }
            trie.token_at[node as usize] = id;
        }
        trie
    }

    fn child(&self, node: u32, byte: u8) -> Option<u32> {
        let key = edge_key(node, byte);
        self.edges.find(edge_hash(key), |edge| edge.0 == key).map(|edge| edge.1)
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "all tokens together have at most 2^30 bytes, so nodes fit u32"
    )]
    fn insert(&mut self, node: u32, byte: u8) -> u32 {
        let (key, child) = (edge_key(node, byte), self.token_at.len() as u32);
        self.token_at.push(NONE);
        self.edges.insert_unique(edge_hash(key), (key, child), |edge| edge_hash(edge.0));
        child
    }

    /// The longest token that is a prefix of `text`, which must not be empty.
    fn longest_match(&self, text: &[u8]) -> u32 {
        let mut node = u32::from(text[0]);
        let mut longest = node;
        for &byte in &text[1..] {
            let Some(child) = self.child(node, byte) else { break };
            node = child;
            if self.token_at[node as usize] != NONE {
                longest = self.token_at[node as usize];
            }
        }
        longest
    }
}

fn edge_key(node: u32, byte: u8) -> u64 {
    u64::from(node) << 8 | u64::from(byte)
}

fn edge_hash(key: u64) -> u64 {
    let product = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 32
}
