//! Reference implementation of the trainer: recounts every pair at every step. Used by tests only.
//!
//! Written from the definition; shares neither data structures nor the order of pairs with the trainer.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Options, Replayed, TieBreak};

/// A trained merge list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Learned {
    /// Internal ids of both parts; merge k creates id 256 + k.
    pub merges: Vec<(u32, u32)>,
    /// Count of each pair when it was merged.
    pub counts: Vec<u64>,
    /// (merge, special): merges that took the id of a special.
    pub reused: Vec<(u32, u32)>,
    /// Merges forced by required tokens.
    pub required_merges: u32,
}

/// Learns merges from `words`, which are distinct. `allows` stands for the limits of `options`, which are not read. `None` if the
/// required tokens do not fit.
pub fn train_by_recounting(
    words: &[(Vec<u8>, u64)],
    options: &Options,
    allows: &dyn Fn(&[u8]) -> bool,
) -> Option<Learned> {
    let mut run = Run::new(words, options, allows);
    for &Replayed { left, right, special } in &options.replay {
        run.merge((left, right), special);
    }
    if run.merges_needed() > run.free_slots() {
        return None;
    }
    while run.free_slots() > 0 {
        let needed = run.merges_needed();
        let best = if needed > 0 && run.free_slots() <= needed { None } else { run.best() };
        let pair = match best {
            Some(pair) => pair,
            None if needed > 0 => {
                run.learned.required_merges += 1;
                run.required_pair()?
            }
            None => break,
        };
        run.merge(pair, run.special(pair));
    }
    Some(run.learned)
}

struct Run<'a> {
    options: &'a Options,
    allows: &'a dyn Fn(&[u8]) -> bool,
    /// Empty unless the tie break is `hf`.
    specials: &'a [Vec<u8>],
    /// The first `n_required` are the required tokens, with count 0.
    words: Vec<(Vec<u32>, u64)>,
    n_required: usize,
    tokens: Vec<Vec<u8>>,
    /// Rank of each token among equally frequent ones.
    rank: Vec<u32>,
    learned: Learned,
}

impl<'a> Run<'a> {
    fn new(words: &[(Vec<u8>, u64)], options: &'a Options, allows: &'a dyn Fn(&[u8]) -> bool) -> Self {
        let ids = |word: &[u8]| word.iter().map(|&byte| u32::from(byte)).collect::<Vec<_>>();
        let mut required: Vec<&Vec<u8>> = Vec::new();
        for token in options.require.iter().filter(|token| token.len() > 1) {
            if !required.contains(&token) {
                required.push(token);
            }
        }
        let mut all: Vec<(Vec<u32>, u64)> = required.iter().map(|token| (ids(token), 0)).collect();
        all.extend(words.iter().map(|(word, count)| (ids(word), *count)));
        let specials = if options.tie_break == TieBreak::Hf { &options.specials[..] } else { &[] };
        Self {
            options,
            allows,
            specials,
            n_required: required.len(),
            words: all,
            tokens: (0..=255).map(|byte| vec![byte]).collect(),
            rank: byte_ranks(options.tie_break, specials),
            learned: Learned::default(),
        }
    }

    fn free_slots(&self) -> usize {
        (self.options.n_merges as usize).saturating_sub(self.learned.merges.len() - self.learned.reused.len())
    }

    /// Most merges that the required tokens still need.
    fn merges_needed(&self) -> usize {
        self.words[..self.n_required].iter().map(|(word, _)| word.len() - 1).sum()
    }

    fn joined(&self, (left, right): (u32, u32)) -> Vec<u8> {
        [&self.tokens[left as usize][..], &self.tokens[right as usize]].concat()
    }

    fn count(&self, pair: (u32, u32)) -> u64 {
        let occurrences = |word: &[u32]| word.windows(2).filter(|two| **two == [pair.0, pair.1]).count() as u64;
        self.words.iter().map(|(word, count)| count * occurrences(word)).sum()
    }

    /// The special that has the bytes of a pair.
    fn special(&self, pair: (u32, u32)) -> Option<u32> {
        let token = self.joined(pair);
        self.specials.iter().position(|special| *special == token).map(|index| index as u32)
    }

    /// The most frequent allowed pair, the first among equals by the tie break.
    fn best(&self) -> Option<(u32, u32)> {
        let mut counts: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for (word, count) in &self.words {
            for two in word.windows(2) {
                *counts.entry((two[0], two[1])).or_default() += count;
            }
        }
        let min_count = self.options.min_count.max(1);
        let allowed = counts.into_iter().filter(|&(pair, n)| n >= min_count && (self.allows)(&self.joined(pair)));
        let best = if self.options.tie_break == TieBreak::BytesGreatest {
            let bytes = |(left, right): (u32, u32)| (&self.tokens[left as usize], &self.tokens[right as usize]);
            allowed.max_by_key(|&(pair, n)| (n, bytes(pair)))
        } else {
            let rank = |(left, right): (u32, u32)| (self.rank[left as usize], self.rank[right as usize]);
            allowed.min_by_key(|&(pair, n)| (Reverse(n), rank(pair)))
        };
        best.map(|(pair, _)| pair)
    }

    /// The leftmost allowed pair of the first required token that does not exist yet.
    fn required_pair(&self) -> Option<(u32, u32)> {
        let (word, _) = self.words[..self.n_required].iter().find(|(word, _)| word.len() > 1)?;
        word.windows(2).map(|two| (two[0], two[1])).find(|&pair| (self.allows)(&self.joined(pair)))
    }

    /// Merges `pair` into a new token, which takes the id of `special`.
    fn merge(&mut self, pair: (u32, u32), special: Option<u32>) {
        let new = self.tokens.len() as u32;
        match special {
            Some(special) => {
                self.rank.push(special);
                self.learned.reused.push((new - 256, special));
            }
            None => self.rank.push(new + self.specials.len() as u32 - self.learned.reused.len() as u32),
        }
        self.learned.counts.push(self.count(pair));
        self.learned.merges.push(pair);
        self.tokens.push(self.joined(pair));
        for (word, _) in &mut self.words {
            *word = replaced(word, pair, new);
        }
    }
}

/// Bytes by value; with `hf` specials first, then printable bytes, then the others.
fn byte_ranks(tie_break: TieBreak, specials: &[Vec<u8>]) -> Vec<u32> {
    if tie_break != TieBreak::Hf {
        return (0..256).collect();
    }
    let printable = |byte: &u8| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let (first, others): (Vec<u8>, Vec<u8>) = (0..=255).partition(printable);
    let order: Vec<Vec<u8>> =
        specials.iter().cloned().chain([first, others].concat().into_iter().map(|byte| vec![byte])).collect();
    // `position` finds a special before the byte that it equals.
    (0..=255).filter_map(|byte| order.iter().position(|known| *known == [byte])).map(|rank| rank as u32).collect()
}

/// `word` with `pair` replaced by `new`, from the left.
fn replaced(word: &[u32], pair: (u32, u32), new: u32) -> Vec<u32> {
    let (mut out, mut at) = (Vec::with_capacity(word.len()), 0);
    while at < word.len() {
        let found = word.get(at..at + 2) == Some(&[pair.0, pair.1]);
        out.push(if found { new } else { word[at] });
        at += if found { 2 } else { 1 };
    }
    out
}
