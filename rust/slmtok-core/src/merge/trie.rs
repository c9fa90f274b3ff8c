//! The longest token that begins a text.
//!
//! Nodes are prefixes of tokens; the first 256 are the bytes. Edges lie in open addressing by node and byte.

use super::pair_table::NONE;
use crate::merges::TokenBytes;

/// Prefix tree of all tokens.
pub struct Trie {
    /// What [`edge`] gives, and the child; key 0 is empty.
    edges: Vec<(u64, u32)>,
    shift: u32,
    /// The token that a node spells, or [`NONE`].
    token_at: Vec<u32>,
}

impl Trie {
    /// The tree of `tokens`.
    #[must_use]
    pub fn new(tokens: &TokenBytes) -> Self {
        let mut trie = Self { edges: vec![(0, 0); 1 << 10], shift: 64 - 10, token_at: (0..256).collect() };
        for id in 256..tokens.len() as u32 {
            let token = tokens.get(id);
            let mut node = u32::from(token[0]);
            for &byte in &token[1..] {
                node = trie.child_or_new(node, byte);
            }
            trie.token_at[node as usize] = id;
        }
        trie
    }

    fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    fn child(&self, node: u32, byte: u8) -> Option<u32> {
        let (key, mask) = (edge(node, byte), self.edges.len() - 1);
        let mut at = self.home(key);
        loop {
            match self.edges[at & mask] {
                (0, _) => return None,
                (found, child) if found == key => return Some(child),
                _ => at += 1,
            }
        }
    }

    fn child_or_new(&mut self, node: u32, byte: u8) -> u32 {
        if let Some(child) = self.child(node, byte) {
            return child;
        }
        let child = self.token_at.len() as u32;
        self.token_at.push(NONE);
        if self.token_at.len() * 2 > self.edges.len() {
            self.grow();
        }
        self.place(edge(node, byte), child);
        child
    }

    fn place(&mut self, key: u64, child: u32) {
        let mask = self.edges.len() - 1;
        let mut at = self.home(key);
        while self.edges[at & mask].0 != 0 {
            at += 1;
        }
        self.edges[at & mask] = (key, child);
    }

    fn grow(&mut self) {
        let size = self.edges.len() * 2;
        self.shift -= 1;
        for (key, child) in std::mem::replace(&mut self.edges, vec![(0, 0); size]) {
            if key != 0 {
                self.place(key, child);
            }
        }
    }

    /// The longest token that is a prefix of `text`, which must not be empty.
    #[must_use]
    pub fn longest(&self, text: &[u8]) -> u32 {
        let mut node = u32::from(text[0]);
        let mut best = node;
        for &byte in &text[1..] {
            let Some(child) = self.child(node, byte) else { break };
            node = child;
            if self.token_at[node as usize] != NONE {
                best = self.token_at[node as usize];
            }
        }
        best
    }
}

/// The key of an edge; never 0.
fn edge(node: u32, byte: u8) -> u64 {
    (u64::from(node) << 8 | u64::from(byte)) + 1
}
