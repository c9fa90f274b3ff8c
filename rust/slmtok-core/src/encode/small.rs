//! The kernel for short pieces: scan for the smallest id that a pair makes, leftmost of equals; shift down; repeat.
//!
//! Quadratic, so never run above [`MAX_SYMBOLS`].

use super::pair_table::{NONE, PairTable};

/// Above this another kernel takes over.
pub const MAX_SYMBOLS: usize = 128;

/// Merges `ids` in place; `made` is scratch.
pub fn merge_small(pairs: &PairTable, ids: &mut Vec<u32>, made: &mut Vec<u32>) {
    made.clear();
    made.extend(ids.windows(2).map(|pair| pairs.made(pair[0], pair[1])));
    loop {
        let (mut best, mut at) = (NONE, 0);
        for (index, &id) in made.iter().enumerate() {
            if id < best {
                (best, at) = (id, index);
            }
        }
        if best == NONE {
            return;
        }
        ids[at] = best;
        ids.remove(at + 1);
        made.remove(at);
        if at > 0 {
            made[at - 1] = pairs.made(ids[at - 1], best);
        }
        if at < made.len() {
            made[at] = pairs.made(best, ids[at + 1]);
        }
    }
}
