//! Required tokens: strings that must end up in the vocabulary.
//!
//! They lie in the arena as words of weight 0, so merges act on them and count nothing. A word of k symbols needs at most
//! k - 1 merges to become a token; as soon as no more slots are left than all of them may need, the run turns to them and
//! merges their pairs, first word first, left to right. Such a pair occurs in a text under the merges made so far, like any
//! pair that a trainer picks, so the facts that encoding relies on hold for these merges too.

use std::collections::HashMap;

use super::Options;
use super::arena::{Arena, END};
use super::limits::TokenLimits;
use super::pairs::Pairs;
use super::tokens::TokenTable;
use crate::pretoken::Pattern;
use crate::{Error, Result};

#[derive(Default)]
pub(super) struct Required {
    words: Vec<Vec<u8>>,
    begins: Vec<u32>,
    /// Whether pairs are asked for by name, here or by a replay.
    by_name: bool,
    /// Pairs by their tokens.
    pairs: HashMap<(u32, u32), u32>,
    /// An upper bound of what `need` would find; exact when it was last computed.
    slack: u32,
}

impl Required {
    /// Checks each required token against the pattern and the limits.
    pub fn new(options: &Options, pattern: &Pattern) -> Result<Self> {
        let mut words: Vec<Vec<u8>> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for token in options.require.iter().filter(|token| token.len() > 1) {
            if !seen.insert(token) {
                continue;
            }
            check(token, options, pattern)?;
            words.push(token.clone());
        }
        if let Some(empty) = options.require.iter().find(|token| token.is_empty()) {
            return Err(Error::RequiredToken { token: empty.clone(), reason: "is empty".to_owned() });
        }
        let by_name = !words.is_empty() || !options.replay.is_empty();
        Ok(Self { words, by_name, ..Self::default() })
    }

    pub fn words(&self) -> Vec<&[u8]> {
        self.words.iter().map(Vec::as_slice).collect()
    }

    /// All pairs are posted where any may be asked for by name.
    pub fn posting_threshold(&self, least: u64) -> u64 {
        if self.by_name { 0 } else { least }
    }

    /// A replay is over: names matter only if something is required.
    pub fn forget_names(&mut self) {
        if self.words.is_empty() {
            self.by_name = false;
            self.pairs = HashMap::new();
        }
    }

    pub fn place(&mut self, begins: Vec<u32>, pairs: &Pairs) {
        if !self.by_name {
            return;
        }
        self.begins = begins;
        self.pairs = pairs.list.iter().zip(0..).map(|(pair, index)| ((pair.left, pair.right), index)).collect();
    }

    pub fn born(&mut self, pair: u32, left: u32, right: u32) {
        if self.by_name {
            self.pairs.insert((left, right), pair);
        }
    }

    pub fn pair(&self, left: u32, right: u32) -> u32 {
        self.pairs[&(left, right)]
    }

    pub fn find(&self, left: u32, right: u32) -> Option<u32> {
        self.pairs.get(&(left, right)).copied()
    }

    /// Merges that all words together need at most.
    fn need(&self, arena: &Arena, tokens: &TokenTable) -> u32 {
        self.begins.iter().map(|&begin| symbols(arena, tokens, begin).count() as u32 - 1).sum()
    }

    /// Whether there are slots enough at all.
    pub fn check_room(&self, slots: u32, arena: &Arena, tokens: &TokenTable) -> Result<()> {
        let needed = u64::from(self.need(arena, tokens));
        if needed > u64::from(slots) {
            return Err(Error::RequiredTooMany { needed, available: u64::from(slots) });
        }
        Ok(())
    }

    /// Whether `slots` are just what may be needed. Looks at the words only when that can be so: each slot that was filled
    /// since the last look lowered the slots by one and never raised the need.
    pub fn must_begin(&mut self, slots: u32, arena: &Arena, tokens: &TokenTable) -> bool {
        if self.words.is_empty() || slots > self.slack && self.slack > 0 {
            return false;
        }
        let need = self.need(arena, tokens);
        self.slack = need.max(1);
        need > 0 && slots <= need
    }

    /// The pair to merge next: in the first word that is not one token, the leftmost that the limits allow. Nothing when
    /// every word is a token.
    pub fn next_pair(&self, arena: &Arena, tokens: &TokenTable, limits: &TokenLimits) -> Result<Option<(u32, u32)>> {
        for (word, &begin) in self.words.iter().zip(&self.begins) {
            let ids: Vec<u32> = symbols(arena, tokens, begin).collect();
            if ids.len() < 2 {
                continue;
            }
            let allowed = |pair: &&[u32]| limits.refuses(&tokens.joined(pair[0], pair[1])).is_none();
            let found = ids.windows(2).find(|pair| allowed(pair)).map(|pair| (pair[0], pair[1]));
            let reason = || "can only be built through tokens that are forbidden".to_owned();
            return match found {
                Some(pair) => Ok(Some(pair)),
                None => Err(Error::RequiredToken { token: word.clone(), reason: reason() }),
            };
        }
        Ok(None)
    }
}

/// Ids of the tokens of the word that begins at `begin`.
fn symbols<'a>(arena: &'a Arena, tokens: &'a TokenTable, begin: u32) -> impl Iterator<Item = u32> + 'a {
    let mut pos = begin as usize;
    std::iter::from_fn(move || {
        let id = arena.cells[pos].tok;
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
        return fail(format!("is cut by the pattern after b\"{first}\"; merges never cross pieces"));
    }
    if let Some(option) = options.limits.refuses(token) {
        return fail(format!("is refused by {option}"));
    }
    Ok(())
}
