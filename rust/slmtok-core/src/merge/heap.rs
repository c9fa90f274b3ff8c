//! The heap kernel, O(n log n): correct for every merge list, for pieces of any length.
//!
//! A priority queue of (merged id, position) over a linked list of symbols. Stale entries stay in the queue and are
//! recognised when they are popped.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::pair_table::{NONE, PairTable};

/// The successor of a symbol that was merged into its left neighbour.
const REMOVED: usize = usize::MAX;

/// Merges the symbols in `ids` in place.
pub fn merge_by_heap(pairs: &PairTable, ids: &mut Vec<u32>) {
    let n = ids.len();
    let mut next: Vec<usize> = (1..=n).collect();
    let mut previous: Vec<usize> = (0..n).map(|at| at.wrapping_sub(1)).collect();
    let candidate = |ids: &[u32], left: usize, right: usize| {
        let merged = pairs.merged(ids[left], ids[right]);
        (merged != NONE).then_some(Reverse((merged, left)))
    };
    let mut queue: BinaryHeap<_> = (1..n).filter_map(|right| candidate(ids, right - 1, right)).collect();
    while let Some(Reverse((merged, left))) = queue.pop() {
        let right = next[left];
        if right == REMOVED || right >= n || pairs.merged(ids[left], ids[right]) != merged {
            continue;
        }
        ids[left] = merged;
        let after = next[right];
        (next[left], next[right]) = (after, REMOVED);
        if after < n {
            previous[after] = left;
            queue.extend(candidate(ids, left, after));
        }
        if previous[left] < n {
            queue.extend(candidate(ids, previous[left], left));
        }
    }
    let mut at = 0;
    *ids = std::iter::from_fn(|| {
        let id = *ids.get(at)?;
        at = next[at];
        Some(id)
    })
    .collect();
}
