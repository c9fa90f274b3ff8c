//! The kernel that is right for every merge list and never quadratic: a heap of (made, position) over a linked list.
//!
//! Entries are not removed when they go stale, but recognised when popped. O(n log n).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::pair_table::{NONE, PairTable};

const GONE: usize = usize::MAX;

/// Merges `ids` in place.
pub fn merge_by_heap(pairs: &PairTable, ids: &mut Vec<u32>) {
    let n = ids.len();
    let mut next: Vec<usize> = (1..=n).collect();
    let mut before: Vec<usize> = (0..n).map(|at| at.wrapping_sub(1)).collect();
    let candidate = |ids: &[u32], left: usize, right: usize| {
        let made = pairs.made(ids[left], ids[right]);
        (made != NONE).then_some(Reverse((made, left)))
    };
    let mut heap: BinaryHeap<_> = (1..n).filter_map(|right| candidate(ids, right - 1, right)).collect();
    while let Some(Reverse((made, left))) = heap.pop() {
        let right = next[left];
        if right == GONE || right >= n || pairs.made(ids[left], ids[right]) != made {
            continue;
        }
        ids[left] = made;
        let after = next[right];
        (next[left], next[right]) = (after, GONE);
        if after < n {
            before[after] = left;
            heap.extend(candidate(ids, left, after));
        }
        if before[left] < n {
            heap.extend(candidate(ids, before[left], left));
        }
    }
    let mut at = 0;
    let alive: Vec<u32> = std::iter::from_fn(|| {
        (at < n).then(|| {
            let id = ids[at];
            at = next[at];
            id
        })
    })
    .collect();
    *ids = alive;
}
