//! The merge loop: pop a pair, recount it, merge it, add the new pairs.
//!
//! The result is exact because every merge creates a new id: the stored count of a pair is an upper bound from its creation
//! on, so a popped pair whose recount equals its bound precedes all others, ties included. Counting includes overlaps (`aaa`
//! has (a, a) twice) and merging goes left to right (`aaaa` becomes `T T`), as in the trainers that the tie breaks imitate.

use std::collections::HashMap;

use super::arena::{Arena, DEAD, END, TokenTable};
use super::limits::{MAX_REFUSALS, Refusal};
use super::pair_queue::{Candidate, Heap, PairOrder, TieBreak};
use super::pairs::{NewPairs, Pairs};
use super::progress::Progress;
use super::required::Required;
use super::{Options, Outcome, Replayed, Stats, Stop};
use crate::count::Counts;
use crate::merges::MAX_TOKENS;
use crate::{Error, Result};

/// Merges between two progress reports.
const REPORT_INTERVAL: u32 = 16;

/// Learns merges from `counts`. `report` receives (merges learned, merges wanted); its error ends the run.
///
/// # Errors
/// A corpus that exceeds the arena, required tokens that cannot be built, or an error of `report`.
pub fn train(counts: &Counts, options: &Options, report: &mut dyn FnMut(u64, u64) -> Result<()>) -> Result<Outcome> {
    let max = (MAX_TOKENS - 256).saturating_sub(options.specials.len());
    if options.n_merges as usize > max {
        let limit = format!("at most {max} merges in a vocabulary");
        return Err(Error::InvalidOption { option: "n_merges", value: options.n_merges.to_string(), limit });
    }
    let mut run = Run::new(counts, options, Progress::new(report, options.n_merges))?;
    run.run()?;
    Ok(run.finish())
}

struct Run<'a> {
    options: &'a Options,
    progress: Progress<'a>,
    min_count: u64,
    arena: Arena,
    tokens: TokenTable,
    order: PairOrder,
    pairs: Pairs,
    queue: Heap<Candidate>,
    new_pairs: NewPairs,
    required: Required,
    /// Specials whose id a merge may still take (tie break `hf`).
    specials: HashMap<Vec<u8>, u32>,
    outcome: Outcome,
    /// Merges that got a new id.
    slots: u32,
}

impl<'a> Run<'a> {
    fn new(counts: &Counts, options: &'a Options, mut progress: Progress<'a>) -> Result<Self> {
        let required = Required::new(options, &counts.pattern)?;
        let (arena, begins) = Arena::new(counts, &required.words(), &mut progress)?;
        let specials = if options.tie_break == TieBreak::Hf { &options.specials[..] } else { &[] };
        let order = PairOrder::new(options.tie_break, specials);
        let min_count = options.min_count.max(1);
        let threshold = required.posting_threshold(min_count);
        let (pairs, candidates) = Pairs::of_bytes(&arena, &order, threshold, &mut progress)?;
        let tokens = TokenTable::new();
        let candidates = candidates.into_iter().filter(|candidate| candidate.bound >= min_count).collect();
        let queue = Heap::new(candidates, |a, b| order.before(a, b, &tokens));
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
        // Merges that take the id of a special are not part of `n_merges`.
        let max_merges = options.n_merges as usize + specials.len() + options.replay.len();
        let new_pairs = NewPairs::new(256 + max_merges);
        let specials = specials.iter().cloned().zip(0..).collect();
        let mut run = Self {
            options,
            progress,
            min_count,
            arena,
            tokens,
            order,
            pairs,
            queue,
            new_pairs,
            required,
            specials,
            outcome,
            slots: 0,
        };
        run.required.set_words(begins, &run.pairs);
        run.replay()?;
        Ok(run)
    }

    /// Applies the merges of `Options::replay`.
    fn replay(&mut self) -> Result<()> {
        for (index, &Replayed { left, right, special }) in self.options.replay.iter().enumerate() {
            if left.max(right) as usize >= 256 + index {
                let reason = format!("uses a part that merge {index} or a later one creates");
                return Err(Error::InvalidMerges { index, left, right, reason });
            }
            self.progress.takes(1)?;
            match self.required.find(left, right) {
                Some(pair) => {
                    let bound = self.recount(pair)?;
                    self.merge(Candidate { bound, rank: 0, pair, left, right }, Some(special))?;
                }
                None => {
                    self.new_token(left, right, 0, Some(special));
                }
            }
        }
        self.required.end_replay();
        self.required.check_room(self.options.n_merges.saturating_sub(self.slots), &self.arena, &self.tokens)
    }

    fn run(&mut self) -> Result<()> {
        let total = self.options.n_merges;
        while self.slots < total {
            if self.slots.is_multiple_of(REPORT_INTERVAL) {
                self.progress.learned(self.slots)?;
            }
            if self.required.must_start(total - self.slots, &self.arena, &self.tokens) && self.merge_required()? {
                continue;
            }
            let Some(best) = self.next()? else {
                if self.merge_required()? {
                    continue;
                }
                self.outcome.next_count = self.best_remaining()?;
                self.outcome.stop = if self.outcome.next_count > 0 { Stop::MinCount } else { Stop::NoPairs };
                break;
            };
            self.merge(best, None)?;
        }
        self.progress.learned(self.slots)
    }

    /// The next pair to merge: recounted, allowed, and with compacted postings.
    fn next(&mut self) -> Result<Option<Candidate>> {
        loop {
            let Self { queue, order, tokens, .. } = self;
            let Some(top) = queue.pop(|a, b| order.before(a, b, tokens)) else { return Ok(None) };
            self.outcome.stats.pops += 1;
            let length = tokens.len_of[top.left as usize] + tokens.len_of[top.right as usize];
            let count = self.recount(top.pair)?;
            if count < top.bound {
                if count >= self.min_count {
                    self.push(Candidate { bound: count, ..top });
                }
                continue;
            }
            match self.refusal(top, length) {
                Some(refusal) => {
                    self.progress.takes(refusal.token.len())?;
                    if self.outcome.refused.len() < MAX_REFUSALS {
                        self.outcome.refused.push(refusal);
                    }
                }
                None => return Ok(Some(top)),
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
        let Self { queue, order, tokens, .. } = self;
        queue.push(candidate, |a, b| order.before(a, b, tokens));
    }

    /// Keeps the live postings of a pair and returns the sum of their weights. A dead posting never becomes live again.
    fn recount(&mut self, pair: u32) -> Result<u64> {
        let entry = &mut self.pairs.list[pair as usize];
        let step = self.tokens.len_of[entry.left as usize] as usize;
        let postings = &mut self.pairs.postings[entry.offset..entry.offset + entry.len];
        self.outcome.stats.visited += postings.len() as u64;
        self.progress.takes(1 + postings.len())?;
        let (mut kept, mut count) = (0, 0);
        for at in 0..postings.len() {
            self.progress.at(at)?;
            let pos = postings[at];
            let start = pos as usize;
            let cell = self.arena.cells[start];
            if cell.token == entry.left && self.arena.cells[start + step].token == entry.right {
                count += self.arena.weight[cell.word as usize];
                postings[kept] = pos;
                kept += 1;
            }
        }
        entry.len = kept;
        Ok(count)
    }

    /// Creates the token of a pair. `known` is the special whose id it takes, if a replay has decided that.
    fn new_token(&mut self, left: u32, right: u32, count: u64, known: Option<Option<u32>>) -> u32 {
        let new = self.tokens.push(left, right);
        let reused = match known {
            Some(special) => {
                self.specials.retain(|_, index| Some(*index) != special);
                special
            }
            None => self.specials.remove(self.tokens.bytes(new)),
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

    /// Merges a pair right after its recount.
    fn merge(&mut self, best: Candidate, known: Option<Option<u32>>) -> Result<()> {
        let Candidate { left, right, .. } = best;
        let new = self.new_token(left, right, best.bound, known);
        self.apply(best.pair, left, right, new)?;
        let Self { new_pairs, pairs, queue, order, tokens, required, min_count, .. } = self;
        new_pairs.flush(pairs, required.posting_threshold(*min_count), |pair, left, right, bound| {
            required.add_pair(pair, left, right);
            if bound >= *min_count {
                let candidate = Candidate { bound, rank: order.rank(left, right), pair, left, right };
                queue.push(candidate, |a, b| order.before(a, b, tokens));
            }
        });
        Ok(())
    }

    /// Rewrites every live occurrence and records the new pairs.
    fn apply(&mut self, pair: u32, left: u32, right: u32, new: u32) -> Result<()> {
        let Self { arena, tokens, pairs, new_pairs, progress, .. } = self;
        let Arena { cells, weight } = arena;
        let len_of = &tokens.len_of[..];
        let (left_len, right_len) = (len_of[left as usize], len_of[right as usize]);
        let mut applied = 0;
        new_pairs.reserve(pairs.slice(pair).len());
        for (index, &pos) in pairs.slice(pair).iter().enumerate() {
            progress.at(index)?;
            let (start, middle) = (pos as usize, (pos + left_len) as usize);
            if cells[start].token != left || cells[middle].token != right {
                continue; // overlapped by the occurrence before it, in a run
            }
            let end = middle + right_len as usize;
            // The order matters: if `right` has one byte, `end - 1` is `middle`.
            cells[middle].token = DEAD;
            cells[start].token = new;
            cells[end - 1].token = new;
            applied += 1;
            let weight = weight[cells[start].word as usize];
            let (before, after) = (cells[start - 1].token, cells[end].token);
            if before != END {
                new_pairs.add_left(before, new, pos - len_of[before as usize], weight);
            }
            // If the next occurrence is adjacent, it is the next live posting, because postings ascend and are complete. It turns
            // the pair (new, after) into (new, new) and records that as its left neighbour.
            let adjacent = after == left && cells[end + left_len as usize].token == right;
            if after != END && !adjacent {
                new_pairs.add_right(new, after, pos, weight);
            }
        }
        self.outcome.stats.applied += applied;
        Ok(())
    }

    /// Merges one pair of a required token; false if all required tokens exist.
    fn merge_required(&mut self) -> Result<bool> {
        let next = self.required.next_pair(&self.arena, &self.tokens, &self.options.limits)?;
        let Some((left, right)) = next else { return Ok(false) };
        let pair = self.required.pair(left, right);
        let bound = self.recount(pair)?;
        self.merge(Candidate { bound, rank: self.order.rank(left, right), pair, left, right }, None)?;
        self.outcome.required_merges += 1;
        Ok(true)
    }

    /// Count of the most frequent remaining pair that the limits allow, by one pass over the arena.
    fn best_remaining(&mut self) -> Result<u64> {
        let mut count: HashMap<(u32, u32), u64> = HashMap::new();
        let (cells, len_of) = (&self.arena.cells, &self.tokens.len_of);
        let mut pos = 1;
        while pos < cells.len() {
            self.progress.takes(1)?;
            let left = cells[pos].token;
            if left == END {
                pos += 1;
                continue;
            }
            let next = pos + len_of[left as usize] as usize;
            if cells[next].token != END {
                *count.entry((left, cells[next].token)).or_default() += self.arena.weight_at(pos as u32);
            }
            pos = next;
        }
        let mut best = 0;
        for ((left, right), count) in count {
            self.progress.takes(1)?;
            if count > best {
                let token = self.tokens.joined(left, right);
                self.progress.takes(token.len())?;
                best = if self.options.limits.refuses(&token).is_none() { count } else { best };
            }
        }
        Ok(best)
    }

    fn finish(mut self) -> Outcome {
        self.outcome.stats.pairs = self.pairs.list.len() as u64;
        self.outcome.stats.postings = self.pairs.postings.len() as u64;
        self.outcome
    }
}
