//! The prefix tree of the tokens of a vocabulary.

use hashbrown::HashTable;

use super::pair_table::NONE;
use crate::merges::TokenBytes;

/// The prefix tree. Nodes 0..=255 are the bytes.
pub struct Trie {
    /// (key of an edge, child).
    edges: HashTable<(u64, u32)>,
    /// The token that a node spells, or [`NONE`].
    token_at: Vec<u32>,
}

impl Trie {
    /// The tree of the bytes and of the longer tokens that `contains` accepts.
    #[must_use]
    pub fn new(tokens: &TokenBytes, contains: impl Fn(u32) -> bool) -> Self {
        let mut trie = Self { edges: HashTable::new(), token_at: (0..256).collect() };
        for id in tokens.ids().skip(256).filter(|&id| contains(id)) {
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
        reason = "all tokens together have at most 2^25 bytes, so nodes fit u32"
    )]
    fn insert(&mut self, node: u32, byte: u8) -> u32 {
        let (key, child) = (edge_key(node, byte), self.token_at.len() as u32);
        self.token_at.push(NONE);
        self.edges.insert_unique(edge_hash(key), (key, child), |edge| edge_hash(edge.0));
        child
    }

    /// The longest token that is a prefix of `text`, which must not be empty.
    #[must_use]
    pub fn longest_match(&self, text: &[u8]) -> u32 {
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
