//! The most frequent pieces: the vocabulary of the schemes `word` and `char`.

use std::collections::HashMap;

use super::limits::{MAX_REFUSALS, Refusal, TokenLimits};
use crate::count::Counts;

/// Up to `n` pieces of two bytes or more with at least `min_count` occurrences, by descending count, then by bytes. The
/// tokens of `require` come first, in their order. Returns (tokens, counts, tokens refused by the limits).
#[must_use]
pub fn frequent_pieces(
    counts: &Counts,
    n: usize,
    min_count: u64,
    limits: &TokenLimits,
    require: &[Vec<u8>],
) -> (Vec<Vec<u8>>, Vec<u64>, Vec<Refusal>) {
    let mut chosen: Vec<(Vec<u8>, u64)> = Vec::new();
    let mut index_of: HashMap<&[u8], usize> = HashMap::new();
    for token in require.iter().filter(|token| token.len() > 1) {
        index_of.entry(token).or_insert_with(|| {
            chosen.push((token.clone(), 0));
            chosen.len() - 1
        });
    }
    let mut rest = Vec::new();
    counts.for_each(|piece, count| match index_of.get(piece) {
        Some(&at) => chosen[at].1 = count,
        None if piece.len() > 1 && count >= min_count.max(1) => rest.push((piece.to_vec(), count)),
        None => {}
    });
    rest.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let mut refused = Vec::new();
    for (token, count) in rest {
        if chosen.len() >= n {
            break;
        }
        match limits.refuses(&token) {
            Some(_) if refused.len() == MAX_REFUSALS => {}
            Some(option) => refused.push(Refusal { token, option, count }),
            None => chosen.push((token, count)),
        }
    }
    let (tokens, counts) = chosen.into_iter().unzip();
    (tokens, counts, refused)
}
