//! Training as its definition says it, recounting everything at each step: written from the documentation, apart from the
//! twin in the core, and with required tokens and specials besides.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What the core is asked for, in plain values.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Merges that take a slot.
    pub slots: usize,
    /// 0 `rank`, 1 `bytes-greatest`, 2 `hf`: their places in `TIE_BREAKS`.
    pub tie_break: usize,
    /// Pairs below it are not merged.
    pub min_count: u64,
    /// Longest token in bytes; 0 for any.
    pub max_bytes: usize,
    /// Longest token in bytes that do not continue a character; 0 for any.
    pub max_chars: usize,
    /// Tokens in which these bytes stand are refused, if there are any.
    pub forbidden: Vec<u8>,
    /// Tokens that must be there in the end.
    pub require: Vec<Vec<u8>>,
    /// Spellings of specials.
    pub specials: Vec<Vec<u8>>,
}

impl Asked {
    /// Whether a token is within the limits.
    pub fn allows(&self, token: &[u8]) -> bool {
        let chars = token.iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
        let found =
            !self.forbidden.is_empty() && token.windows(self.forbidden.len()).any(|part| part == self.forbidden);
        !(found || self.max_bytes > 0 && token.len() > self.max_bytes || self.max_chars > 0 && chars > self.max_chars)
    }
}

/// What was learned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Learned {
    /// Pairs of ids; merge k makes 256 + k.
    pub merges: Vec<(u32, u32)>,
    /// How often each occurred.
    pub counts: Vec<u64>,
    /// (merge, special) where a merge spelled a special.
    pub reused: Vec<(u32, u32)>,
    /// Merges made for what is required.
    pub required: u32,
}

/// The plain run: the `n` most frequent pairs, one after the other.
pub fn most_frequent(words: &[(Vec<u8>, u64)], n: usize, tie_break: usize) -> Vec<(u32, u32)> {
    let asked = Asked { slots: n, tie_break: tie_break % 3, min_count: 1, ..Asked::default() };
    train(words, &asked).expect("nothing is required").merges
}

struct Run<'a> {
    asked: &'a Asked,
    words: Vec<(Vec<u32>, u64)>,
    /// The first of `words` are the required ones, and count nothing.
    required: usize,
    tokens: Vec<Vec<u8>>,
    /// Place among equals of each id.
    place: Vec<u32>,
    slots_filled: usize,
    learned: Learned,
}

/// Merges of `words`, which are different from one another; nothing if the required tokens do not fit.
pub fn train(words: &[(Vec<u8>, u64)], asked: &Asked) -> Option<Learned> {
    let mut run = Run::new(words, asked);
    if run.need() > asked.slots {
        return None;
    }
    while run.slots_filled < asked.slots {
        let (left, need) = (asked.slots - run.slots_filled, run.need());
        let chosen = if need > 0 && left <= need { None } else { run.best() };
        let (pair, count) = match chosen {
            Some(best) => best,
            None if need > 0 => {
                run.learned.required += 1;
                let pair = run.required_pair()?;
                (pair, run.count(pair))
            }
            None => break,
        };
        run.merge(pair, count);
    }
    Some(run.learned)
}

impl<'a> Run<'a> {
    fn new(words: &[(Vec<u8>, u64)], asked: &'a Asked) -> Self {
        let ids = |word: &[u8]| word.iter().map(|&byte| u32::from(byte)).collect::<Vec<_>>();
        let mut required: Vec<&Vec<u8>> = Vec::new();
        for token in asked.require.iter().filter(|token| token.len() > 1) {
            if !required.contains(&token) {
                required.push(token);
            }
        }
        let mut all: Vec<(Vec<u32>, u64)> = required.iter().map(|token| (ids(token), 0)).collect();
        all.extend(words.iter().map(|(word, count)| (ids(word), *count)));
        Self {
            asked,
            required: required.len(),
            words: all,
            tokens: (0..=255).map(|byte| vec![byte]).collect(),
            place: first_places(asked),
            slots_filled: 0,
            learned: Learned::default(),
        }
    }

    /// Merges that the required words may still take.
    fn need(&self) -> usize {
        self.words[..self.required].iter().map(|(word, _)| word.len() - 1).sum()
    }

    fn joined(&self, (left, right): (u32, u32)) -> Vec<u8> {
        [&self.tokens[left as usize][..], &self.tokens[right as usize]].concat()
    }

    fn count(&self, pair: (u32, u32)) -> u64 {
        self.words
            .iter()
            .map(|(word, count)| count * word.windows(2).filter(|two| **two == [pair.0, pair.1]).count() as u64)
            .sum()
    }

    /// The most frequent pair that is allowed, tie_break by the mode.
    fn best(&self) -> Option<((u32, u32), u64)> {
        let mut counts: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for (word, count) in &self.words {
            for two in word.windows(2) {
                *counts.entry((two[0], two[1])).or_default() += count;
            }
        }
        let least = self.asked.min_count.max(1);
        let allowed = counts.into_iter().filter(|&(pair, n)| n >= least && self.asked.allows(&self.joined(pair)));
        if self.asked.tie_break == 1 {
            let bytes = |(left, right): (u32, u32)| (&self.tokens[left as usize], &self.tokens[right as usize]);
            allowed.max_by_key(|&(pair, n)| (n, bytes(pair)))
        } else {
            let place = |(left, right): (u32, u32)| (self.place[left as usize], self.place[right as usize]);
            allowed.min_by_key(|&(pair, n)| (Reverse(n), place(pair)))
        }
    }

    /// In the first required word that is not yet whole, the leftmost pair that is allowed.
    fn required_pair(&self) -> Option<(u32, u32)> {
        let (word, _) = self.words[..self.required].iter().find(|(word, _)| word.len() > 1)?;
        word.windows(2).map(|two| (two[0], two[1])).find(|&pair| self.asked.allows(&self.joined(pair)))
    }

    fn merge(&mut self, pair: (u32, u32), count: u64) {
        let (new, token) = (self.tokens.len() as u32, self.joined(pair));
        let spelled = self.asked.specials.iter().position(|special| self.asked.tie_break == 2 && *special == token);
        match spelled {
            Some(special) => {
                self.place.push(special as u32);
                self.learned.reused.push((new - 256, special as u32));
            }
            None => {
                let merged = self.slots_filled as u32;
                self.place.push(first_merge_place(self.asked) + merged);
                self.slots_filled += 1;
            }
        }
        self.tokens.push(token);
        self.learned.merges.push(pair);
        self.learned.counts.push(count);
        for (word, _) in &mut self.words {
            *word = replaced(word, pair, new);
        }
    }
}

fn first_merge_place(asked: &Asked) -> u32 {
    256 + if asked.tie_break == 2 { asked.specials.len() as u32 } else { 0 }
}

/// Bytes by value; in mode `hf` specials first, then the bytes that are printed as they are, then the others.
fn first_places(asked: &Asked) -> Vec<u32> {
    if asked.tie_break != 2 {
        return (0..256).collect();
    }
    let shown = |byte: u32| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let order: Vec<u32> = (0..256).filter(|&byte| shown(byte)).chain((0..256).filter(|&byte| !shown(byte))).collect();
    let place = |byte: u32| order.iter().position(|&known| known == byte).expect("a permutation") as u32;
    let single = |byte: u32| asked.specials.iter().position(|special| *special == [byte as u8]);
    (0..256).map(|byte| single(byte).map_or(asked.specials.len() as u32 + place(byte), |at| at as u32)).collect()
}

/// `word` with `pair` replaced from the left.
fn replaced(word: &[u32], pair: (u32, u32), new: u32) -> Vec<u32> {
    let mut out = Vec::with_capacity(word.len());
    let mut at = 0;
    while at < word.len() {
        let here = at + 1 < word.len() && (word[at], word[at + 1]) == pair;
        out.push(if here { new } else { word[at] });
        at += if here { 2 } else { 1 };
    }
    out
}
