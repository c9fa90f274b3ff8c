//! The heap kernel, O(n log n): correct for every merge list, for pieces of any length.
//!
//! A priority queue of (merged id, position) over a linked list of symbols. Stale entries stay in the queue and are
//! recognised when they are popped.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::pair_table::{NONE, PairTable};
use crate::{Error, Result, interrupt};

/// The successor of a symbol that was merged into its left neighbour.
const REMOVED: usize = usize::MAX;

/// Merges the symbols in `ids` in place.
///
/// # Errors
/// [`Error::NoMemory`], and [`Error::Interrupted`]; `ids` then holds anything.
pub fn merge_by_heap(pairs: &PairTable, ids: &mut Vec<u32>) -> Result<()> {
    merge_with_dropout(pairs, ids, || false)
}

/// As [`merge_by_heap`], but a merge for which `is_dropped` says true is not applied at this step. This is BPE-dropout
/// (Provilkov, Emelianenko and Voita, "BPE-dropout: simple and effective subword regularization", 2020, algorithm 1): at each
/// step each possible merge is dropped with a probability, and of the others the one of lowest rank is applied, the leftmost of
/// equals; the end is a step at which all are dropped. `is_dropped` is asked in this order, and only until one is applied:
/// later draws of a step decide nothing.
///
/// # Errors
/// As [`merge_by_heap`].
pub fn merge_with_dropout(pairs: &PairTable, ids: &mut Vec<u32>, mut is_dropped: impl FnMut() -> bool) -> Result<()> {
    let n = ids.len();
    let (mut next, mut previous) = (Vec::<usize>::new(), Vec::<usize>::new());
    let (mut queue, mut dropped) = (BinaryHeap::new(), Vec::new());
    // The queue never holds more candidates than twice the symbols: each merge removes one and adds up to two.
    let reserved = next.try_reserve_exact(n).and_then(|()| previous.try_reserve_exact(n));
    let reserved = reserved.and_then(|()| queue.try_reserve(2 * n));
    reserved.map_err(|_| Error::NoMemory { bytes: 48 * n as u64 })?;
    next.extend(1..=n);
    previous.extend((0..n).map(|at| at.wrapping_sub(1)));
    let candidate = |ids: &[u32], left: usize, right: usize| {
        let merged = pairs.merged(ids[left], ids[right]);
        (merged != NONE).then_some(Reverse((merged, left)))
    };
    queue.extend((1..n).filter_map(|right| candidate(ids, right - 1, right)));
    let mut steps = 0_usize;
    while let Some(Reverse((merged, left))) = queue.pop() {
        steps += 1;
        // Of the call that this thread works for.
        interrupt::check_at(steps)?;
        let right = next[left];
        if right == REMOVED || right >= n || pairs.merged(ids[left], ids[right]) != merged {
            continue;
        }
        if is_dropped() {
            dropped.push(Reverse((merged, left)));
            continue;
        }
        queue.extend(dropped.drain(..));
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
    Ok(())
}
