//! The merge loop over the flat arena (engine: pop, recount, merge, post the newborn pairs).
//!
//! Exact because ids are fresh: a pair's stored count is an upper bound from its birth on, so a popped pair whose recount
//! equals its bound beats all others, ties included. Counting overlaps (`aaa` holds (a, a) twice), merging goes left to
//! right (`aaaa` becomes `T T`), as in all trainers whose results these must equal.

use std::collections::HashMap;

use super::arena::{Arena, DEAD, END};
use super::heap::Heap;
use super::limits::Refusal;
use super::pairs::{Births, Pairs};
use super::required::Required;
use super::tie_break::{Candidate, TieOrder, Ties};
use super::tokens::TokenTable;
use super::{Options, Outcome, Stats, Stop};
use crate::count::Counts;
use crate::merges::MAX_TOKENS;
use crate::{Error, Result};

/// Merges between two calls of the report.
const REPORT_EVERY: u32 = 256;

/// Learns merges. `report` is called with (slots filled, slots) at coarse steps; its error ends the run.
///
/// # Errors
/// A corpus that does not fit the arena, required tokens that cannot be had, or what `report` returns.
pub fn train(counts: &Counts, options: &Options, report: &mut dyn FnMut(u64, u64) -> Result<()>) -> Result<Outcome> {
    let most = (MAX_TOKENS - 256).saturating_sub(options.specials.len());
    if options.n_merges as usize > most {
        let limit = format!("at most {most} merges in a vocabulary");
        return Err(Error::InvalidOption { option: "n_merges", value: options.n_merges.to_string(), limit });
    }
    let mut run = Run::new(counts, options)?;
    run.go(report)?;
    Ok(run.finish())
}

pub(super) struct Run<'a> {
    pub(super) options: &'a Options,
    /// Pairs below it are never merged.
    least: u64,
    pub(super) arena: Arena,
    pub(super) tokens: TokenTable,
    order: TieOrder,
    pairs: Pairs,
    heap: Heap<Candidate>,
    births: Births,
    pub(super) required: Required,
    /// Specials that a merge may still spell (mode `hf`).
    spellings: HashMap<Vec<u8>, u32>,
    outcome: Outcome,
    pub(super) slots: u32,
}

impl<'a> Run<'a> {
    fn new(counts: &Counts, options: &'a Options) -> Result<Self> {
        let required = Required::new(options, &counts.pattern)?;
        let (arena, begins) = Arena::new(counts, &required.words())?;
        let specials = if options.ties == Ties::Hf { &options.specials[..] } else { &[] };
        let order = TieOrder::new(options.ties, specials);
        let least = options.min_count.max(1);
        let (pairs, candidates) = Pairs::of_bytes(&arena, &order, required.posting_threshold(least));
        let tokens = TokenTable::new();
        let candidates = candidates.into_iter().filter(|candidate| candidate.bound >= least).collect();
        let heap = Heap::new(candidates, |a, b| order.before(a, b, &tokens));
        let outcome = Outcome {
            merges: Vec::new(),
            counts: Vec::new(),
            reused: Vec::new(),
            refused: Vec::new(),
            required_merges: 0,
            stop: Stop::Full,
            next_count: 0,
            stats: Stats { arena: arena.cells.len() as u64, ..Stats::default() },
        };
        // Every merge but those that take the id of a special fills a slot.
        let most = options.n_merges as usize + specials.len() + options.replay.len();
        let births = Births::new(256 + most);
        let spellings = specials.iter().cloned().zip(0..).collect();
        let mut run =
            Self { options, least, arena, tokens, order, pairs, heap, births, required, spellings, outcome, slots: 0 };
        run.required.place(begins, &run.pairs);
        run.replay()?;
        Ok(run)
    }

    fn go(&mut self, report: &mut dyn FnMut(u64, u64) -> Result<()>) -> Result<()> {
        let total = self.options.n_merges;
        while self.slots < total {
            if self.slots.is_multiple_of(REPORT_EVERY) {
                report(u64::from(self.slots), u64::from(total))?;
            }
            if self.required.must_begin(total - self.slots, &self.arena, &self.tokens) && self.merge_required()? {
                continue;
            }
            let Some(best) = self.next() else {
                if self.merge_required()? {
                    continue;
                }
                self.outcome.stop = if self.best_left() > 0 { Stop::MinCount } else { Stop::NoPairs };
                break;
            };
            self.merge(best, None);
        }
        report(u64::from(self.slots), u64::from(total))
    }

    /// The next pair to merge, recounted, allowed, and with its postings compacted.
    fn next(&mut self) -> Option<Candidate> {
        loop {
            let Self { heap, order, tokens, .. } = self;
            let top = heap.pop(|a, b| order.before(a, b, tokens))?;
            self.outcome.stats.pops += 1;
            let length = tokens.len_of[top.left as usize] + tokens.len_of[top.right as usize];
            let count = self.recount(top.pair);
            if count < top.bound {
                if count >= self.least {
                    self.push(Candidate { bound: count, ..top });
                }
                continue;
            }
            match self.refusal(top, length) {
                Some(refusal) => self.outcome.refused.push(refusal),
                None => return Some(top),
            }
        }
    }

    fn refusal(&self, top: Candidate, length: u32) -> Option<Refusal> {
        let limits = &self.options.limits;
        if !limits.too_long(length) && limits.max_chars == 0 && limits.forbid.is_none() {
            return None;
        }
        let token = self.tokens.joined(top.left, top.right);
        limits.refuses(&token).map(|option| Refusal { token, option, count: top.bound })
    }

    fn push(&mut self, candidate: Candidate) {
        let Self { heap, order, tokens, .. } = self;
        heap.push(candidate, |a, b| order.before(a, b, tokens));
    }

    /// Keeps the live postings of a pair and returns the sum of their weights. A dead posting stays dead.
    pub(super) fn recount(&mut self, pair: u32) -> u64 {
        let entry = &mut self.pairs.list[pair as usize];
        let step = self.tokens.len_of[entry.left as usize] as usize;
        let postings = &mut self.pairs.postings[entry.offset..entry.offset + entry.n];
        self.outcome.stats.visited += postings.len() as u64;
        let (mut kept, mut count) = (0, 0);
        for at in 0..postings.len() {
            let pos = postings[at];
            let start = pos as usize;
            let cell = self.arena.cells[start];
            if cell.tok == entry.left && self.arena.cells[start + step].tok == entry.right {
                count += self.arena.weight[cell.word as usize];
                postings[kept] = pos;
                kept += 1;
            }
        }
        entry.n = kept;
        count
    }

    /// Makes a token of a pair. `known` says whether it takes the id of a special, where that was decided before.
    pub(super) fn mint(&mut self, left: u32, right: u32, count: u64, known: Option<Option<u32>>) -> u32 {
        let new = self.tokens.push(left, right);
        let reused = match known {
            Some(special) => {
                self.spellings.retain(|_, index| Some(*index) != special);
                special
            }
            None => self.spellings.remove(self.tokens.bytes(new)),
        };
        self.order.push(reused);
        match reused {
            Some(special) => self.outcome.reused.push((new - 256, special)),
            None => self.slots += 1,
        }
        self.outcome.merges.push((left, right));
        self.outcome.counts.push(count);
        new
    }

    /// Merges a pair whose postings were just recounted.
    pub(super) fn merge(&mut self, best: Candidate, known: Option<Option<u32>>) {
        let Candidate { left, right, .. } = best;
        let new = self.mint(left, right, best.bound, known);
        self.apply(best.pair, left, right, new);
        let Self { births, pairs, heap, order, tokens, required, least, .. } = self;
        births.settle(pairs, required.posting_threshold(*least), |pair, left, right, bound| {
            required.born(pair, left, right);
            if bound >= *least {
                let candidate = Candidate { bound, key: order.key(left, right), pair, left, right };
                heap.push(candidate, |a, b| order.before(a, b, tokens));
            }
        });
    }

    /// Rewrites every live occurrence and notes the pairs that arise.
    fn apply(&mut self, pair: u32, left: u32, right: u32, new: u32) {
        let Self { arena, tokens, pairs, births, .. } = self;
        let Arena { cells, weight } = arena;
        let len_of = &tokens.len_of[..];
        let (left_len, right_len) = (len_of[left as usize], len_of[right as usize]);
        let mut applied = 0;
        births.expect(pairs.slice(pair).len());
        for &pos in pairs.slice(pair) {
            let (start, middle) = (pos as usize, (pos + left_len) as usize);
            if cells[start].tok != left || cells[middle].tok != right {
                continue; // eaten by the merge just before it, in a run
            }
            let end = middle + right_len as usize;
            // In this order: `right` may be one byte long, and then `end - 1` is `middle`.
            cells[middle].tok = DEAD;
            cells[start].tok = new;
            cells[end - 1].tok = new;
            applied += 1;
            let weight = weight[cells[start].word as usize];
            let (before, after) = (cells[start - 1].tok, cells[end].tok);
            if before != END {
                births.note_left(before, new, pos - len_of[before as usize], weight);
            }
            // Where the next occurrence begins at once, it is the next live posting, for they ascend and miss none: it makes (new, new) of
            // the pair (new, after), and notes that as what now stands before it.
            let goes_on = after == left && cells[end + left_len as usize].tok == right;
            if after != END && !goes_on {
                births.note_right(new, after, pos, weight);
            }
        }
        self.outcome.stats.applied += applied;
    }

    /// One merge towards the required tokens; false if all of them are there.
    fn merge_required(&mut self) -> Result<bool> {
        let next = self.required.next_pair(&self.arena, &self.tokens, &self.options.limits)?;
        let Some((left, right)) = next else { return Ok(false) };
        let pair = self.required.pair(left, right);
        let bound = self.recount(pair);
        self.merge(Candidate { bound, key: self.order.key(left, right), pair, left, right }, None);
        self.outcome.required_merges += 1;
        Ok(true)
    }

    /// Count of the most frequent pair that is left and allowed, by looking at everything once.
    fn best_left(&self) -> u64 {
        let mut count: HashMap<(u32, u32), u64> = HashMap::new();
        let (cells, len_of) = (&self.arena.cells, &self.tokens.len_of);
        let mut pos = 1;
        while pos < cells.len() {
            let left = cells[pos].tok;
            if left == END {
                pos += 1;
                continue;
            }
            let next = pos + len_of[left as usize] as usize;
            if cells[next].tok != END {
                *count.entry((left, cells[next].tok)).or_default() += self.arena.weight_at(pos as u32);
            }
            pos = next;
        }
        let allowed = |left, right| self.options.limits.refuses(&self.tokens.joined(left, right)).is_none();
        let mut left: Vec<_> = count.into_iter().filter(|(_, count)| *count > 0).collect();
        left.sort_unstable_by_key(|&(pair, count)| (std::cmp::Reverse(count), pair));
        left.into_iter().find(|((left, right), _)| allowed(*left, *right)).map_or(0, |(_, count)| count)
    }

    fn finish(mut self) -> Outcome {
        if self.outcome.stop == Stop::MinCount {
            self.outcome.next_count = self.best_left();
        }
        self.outcome.stats.pairs = self.pairs.list.len() as u64;
        self.outcome.stats.postings = self.pairs.postings.len() as u64;
        self.outcome
    }
}
