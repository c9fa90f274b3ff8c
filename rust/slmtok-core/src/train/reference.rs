//! The slow twin of the trainer: recounts every pair at every step. Obviously right; never used in production.

use std::collections::HashMap;

use super::limits::TokenLimits;
use super::tie_break::{Candidate, TieOrder, Ties};
use super::tokens::TokenTable;

/// Merges learned from `words` (piece, count), and the count of each when it was chosen.
#[must_use]
pub fn train_by_recounting(
    words: &[(Vec<u8>, u64)],
    n_merges: usize,
    ties: Ties,
    min_count: u64,
    limits: &TokenLimits,
) -> (Vec<(u32, u32)>, Vec<u64>) {
    extend_by_recounting(words, &[], n_merges, ties, min_count, limits)
}

/// The same after the merges of `replay`, which are the first of the result, with count 0.
#[must_use]
pub fn extend_by_recounting(
    words: &[(Vec<u8>, u64)],
    replay: &[(u32, u32)],
    n_merges: usize,
    ties: Ties,
    min_count: u64,
    limits: &TokenLimits,
) -> (Vec<(u32, u32)>, Vec<u64>) {
    let mut words: Vec<(Vec<u32>, u64)> =
        words.iter().map(|(word, count)| (word.iter().map(|&byte| u32::from(byte)).collect(), *count)).collect();
    let (mut tokens, mut order) = (TokenTable::new(), TieOrder::new(ties, &[]));
    let (mut merges, mut counts) = (replay.to_vec(), vec![0; replay.len()]);
    for &(left, right) in replay {
        let new = tokens.push(left, right);
        order.push(None);
        for (word, _) in &mut words {
            *word = merged(word, (left, right), new);
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
                key: order.key(left, right),
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
            *word = merged(word, (best.left, best.right), new);
        }
    }
    (merges, counts)
}

/// `word` with every occurrence of `pair`, from the left, replaced by `new`.
#[must_use]
pub fn merged(word: &[u32], pair: (u32, u32), new: u32) -> Vec<u32> {
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
