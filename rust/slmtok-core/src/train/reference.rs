//! Reference implementation of the trainer: recounts every pair at every step. Used by tests only.

use std::collections::HashMap;

use super::arena::TokenTable;
use super::limits::TokenLimits;
use super::pair_queue::{Candidate, PairOrder, TieBreak};

/// Merges learned from `words` (piece, count), and the count of each when it was merged.
#[must_use]
pub fn train_by_recounting(
    words: &[(Vec<u8>, u64)],
    n_merges: usize,
    tie_break: TieBreak,
    min_count: u64,
    limits: &TokenLimits,
) -> (Vec<(u32, u32)>, Vec<u64>) {
    extend_by_recounting(words, &[], n_merges, tie_break, min_count, limits)
}

/// As [`train_by_recounting`], after the merges of `replay`, which begin the result with count 0.
#[must_use]
pub fn extend_by_recounting(
    words: &[(Vec<u8>, u64)],
    replay: &[(u32, u32)],
    n_merges: usize,
    tie_break: TieBreak,
    min_count: u64,
    limits: &TokenLimits,
) -> (Vec<(u32, u32)>, Vec<u64>) {
    let mut words: Vec<(Vec<u32>, u64)> =
        words.iter().map(|(word, count)| (word.iter().map(|&byte| u32::from(byte)).collect(), *count)).collect();
    let (mut tokens, mut order) = (TokenTable::new(), PairOrder::new(tie_break, &[]));
    let (mut merges, mut counts) = (replay.to_vec(), vec![0; replay.len()]);
    for &(left, right) in replay {
        let new = tokens.push(left, right);
        order.push(None);
        for (word, _) in &mut words {
            *word = apply_merge(word, (left, right), new);
        }
    }
    while merges.len() < n_merges {
        let mut pairs: HashMap<(u32, u32), u64> = HashMap::new();
        for (word, count) in &words {
            for pair in word.windows(2) {
                *pairs.entry((pair[0], pair[1])).or_default() += count;
            }
        }
        let allowed = |left, right| limits.refuses(&tokens.joined(left, right)).is_none();
        let candidate = |(&(left, right), &bound): (&(u32, u32), &u64)| {
            (bound >= min_count.max(1) && allowed(left, right)).then(|| Candidate {
                bound,
                rank: order.rank(left, right),
                pair: 0,
                left,
                right,
            })
        };
        let better = |a: Candidate, b: Candidate| if order.before(&a, &b, &tokens) { a } else { b };
        let Some(best) = pairs.iter().filter_map(candidate).reduce(better) else { break };
        let new = tokens.push(best.left, best.right);
        order.push(None);
        merges.push((best.left, best.right));
        counts.push(best.bound);
        for (word, _) in &mut words {
            *word = apply_merge(word, (best.left, best.right), new);
        }
    }
    (merges, counts)
}

/// Replaces every occurrence of `pair` in `word`, from the left, by `new`.
#[must_use]
pub fn apply_merge(word: &[u32], pair: (u32, u32), new: u32) -> Vec<u32> {
    let (mut out, mut at) = (Vec::with_capacity(word.len()), 0);
    while at < word.len() {
        if word.get(at..at + 2) == Some(&[pair.0, pair.1]) {
            out.push(new);
            at += 2;
        } else {
            out.push(word[at]);
            at += 1;
        }
    }
    out
}
