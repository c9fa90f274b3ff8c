//! Required tokens: byte strings that must be in the vocabulary.
//!
//! They are words of weight 0 in the arena, so merges apply to them without changing counts. A word of k tokens needs at most
//! k - 1 merges. When the remaining merges are just enough, the run merges the pairs of the required words, first word first,
//! left to right. Such a pair occurs in a text under the merges so far, like every learned pair, so the properties that
//! encoding relies on hold for these merges too.

use std::collections::{HashMap, HashSet};

use super::Options;
use super::arena::{Arena, END, TokenTable};
use super::limits::TokenLimits;
use super::pairs::Pairs;
use crate::pretoken::Pattern;
use crate::{Error, Result};

#[derive(Default)]
pub(super) struct Required {
    words: Vec<Vec<u8>>,
    begins: Vec<u32>,
    /// Whether `pairs` is maintained: for required words or during a replay.
    is_indexed: bool,
    /// Index of each pair, by its tokens.
    pairs: HashMap<(u32, u32), u32>,
    /// Upper bound of `merges_needed`.
    max_needed: u32,
}

impl Required {
    /// Validates each required token against the pattern and the limits.
    pub fn new(options: &Options, pattern: &Pattern) -> Result<Self> {
        let mut words: Vec<Vec<u8>> = Vec::new();
        let mut distinct = HashSet::new();
        for token in options.require.iter().filter(|token| token.len() > 1) {
            if !distinct.insert(token) {
                continue;
            }
            check(token, options, pattern)?;
            words.push(token.clone());
        }
        if let Some(empty) = options.require.iter().find(|token| token.is_empty()) {
            return Err(Error::RequiredToken { token: empty.clone(), reason: "is empty".to_owned() });
        }
        let is_indexed = !words.is_empty() || !options.replay.is_empty();
        Ok(Self { words, is_indexed, ..Self::default() })
    }

    pub fn words(&self) -> Vec<&[u8]> {
        self.words.iter().map(Vec::as_slice).collect()
    }

    /// Least weight of pairs that get postings: 0 while any pair may be looked up.
    pub fn posting_threshold(&self, min_count: u64) -> u64 {
        if self.is_indexed { 0 } else { min_count }
    }

    /// Ends the replay: the index stays only for required words.
    pub fn end_replay(&mut self) {
        if self.words.is_empty() {
            self.is_indexed = false;
            self.pairs = HashMap::new();
        }
    }

    pub fn set_words(&mut self, begins: Vec<u32>, pairs: &Pairs) {
        if !self.is_indexed {
            return;
        }
        self.begins = begins;
        self.pairs = pairs.list.iter().zip(0..).map(|(pair, index)| ((pair.left, pair.right), index)).collect();
    }

    pub fn add_pair(&mut self, pair: u32, left: u32, right: u32) {
        if self.is_indexed {
            self.pairs.insert((left, right), pair);
        }
    }

    pub fn pair(&self, left: u32, right: u32) -> u32 {
        self.pairs[&(left, right)]
    }

    pub fn find(&self, left: u32, right: u32) -> Option<u32> {
        self.pairs.get(&(left, right)).copied()
    }

    /// Upper bound of the merges that all words need.
    fn merges_needed(&self, arena: &Arena, tokens: &TokenTable) -> u32 {
        self.begins.iter().map(|&begin| word_tokens(arena, tokens, begin).count() as u32 - 1).sum()
    }

    /// Fails if `slots` merges may not suffice.
    pub fn check_room(&self, slots: u32, arena: &Arena, tokens: &TokenTable) -> Result<()> {
        let needed = u64::from(self.merges_needed(arena, tokens));
        if needed > u64::from(slots) {
            return Err(Error::RequiredTooMany { needed, available: u64::from(slots) });
        }
        Ok(())
    }

    /// Whether the remaining `slots` are just enough. The words are scanned only if that is possible: each merge since the last
    /// scan reduced the slots by one and did not increase the need.
    pub fn must_start(&mut self, slots: u32, arena: &Arena, tokens: &TokenTable) -> bool {
        if self.words.is_empty() || slots > self.max_needed && self.max_needed > 0 {
            return false;
        }
        let needed = self.merges_needed(arena, tokens);
        self.max_needed = needed.max(1);
        needed > 0 && slots <= needed
    }

    /// The next pair to merge: the leftmost that the limits allow in the first word that is not a token yet; `None` if every
    /// word is a token.
    pub fn next_pair(&self, arena: &Arena, tokens: &TokenTable, limits: &TokenLimits) -> Result<Option<(u32, u32)>> {
        for (word, &begin) in self.words.iter().zip(&self.begins) {
            let ids: Vec<u32> = word_tokens(arena, tokens, begin).collect();
            if ids.len() < 2 {
                continue;
            }
            let allowed = |pair: &&[u32]| limits.refuses(&tokens.joined(pair[0], pair[1])).is_none();
            let found = ids.windows(2).find(|pair| allowed(pair)).map(|pair| (pair[0], pair[1]));
            let reason = || "needs a part that the limits forbid".to_owned();
            return match found {
                Some(pair) => Ok(Some(pair)),
                None => Err(Error::RequiredToken { token: word.clone(), reason: reason() }),
            };
        }
        Ok(None)
    }
}

/// Token ids of the word that begins at `begin`.
fn word_tokens<'a>(arena: &'a Arena, tokens: &'a TokenTable, begin: u32) -> impl Iterator<Item = u32> + 'a {
    let mut pos = begin as usize;
    std::iter::from_fn(move || {
        let id = arena.cells[pos].token;
        (id != END).then(|| {
            pos += tokens.len_of[id as usize] as usize;
            id
        })
    })
}

fn check(token: &[u8], options: &Options, pattern: &Pattern) -> Result<()> {
    let fail = |reason: String| Err(Error::RequiredToken { token: token.to_vec(), reason });
    let mut ends = [0];
    pattern.scanner().fill(token, 0, &mut ends)?;
    if ends[0] != token.len() {
        let first = token[..ends[0]].escape_ascii();
        return fail(format!("is split by the pattern after b\"{first}\"; merges do not cross pieces"));
    }
    if let Some(option) = options.limits.refuses(token) {
        return fail(format!("is refused by {option}"));
    }
    Ok(())
}
