//! Pairs and their postings: one slice of positions per pair, written once.
//!
//! A pair arises only in the step that creates the younger of its two tokens. Its postings are complete then, and later can
//! only become invalid. So a slice never grows, and its initial weight bounds the count of the pair forever.

use super::arena::{Arena, END};
use super::pair_queue::{Candidate, PairOrder};
use super::progress::{Progress, STEPS};
use crate::Result;
use crate::mem::{reserve_huge, try_with_capacity_huge};

/// A pair of tokens and its slice of the postings.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub left: u32,
    pub right: u32,
    pub offset: usize,
    pub len: usize,
}

#[derive(Default)]
pub(super) struct Pairs {
    pub list: Vec<Pair>,
    pub postings: Vec<u32>,
}

impl Pairs {
    pub fn slice(&self, pair: u32) -> &[u32] {
        let Pair { offset, len, .. } = self.list[pair as usize];
        &self.postings[offset..offset + len]
    }

    /// Adds a pair with `len` postings, which the caller fills in; returns its index.
    fn add(&mut self, left: u32, right: u32, len: usize) -> u32 {
        self.list.push(Pair { left, right, offset: self.postings.len(), len });
        reserve_huge(&mut self.postings, len);
        self.postings.resize(self.postings.len() + len, 0);
        (self.list.len() - 1) as u32
    }

    /// The pairs of bytes in `arena` whose count is at least `min_count`, and their candidates.
    ///
    /// # Errors
    /// Lack of memory, and those of `progress`.
    pub fn of_bytes(
        arena: &Arena,
        order: &PairOrder,
        min_count: u64,
        progress: &mut Progress<'_>,
    ) -> Result<(Self, Vec<Candidate>)> {
        let index = |pos: usize| {
            let (left, right) = (arena.cells[pos].token, arena.cells[pos + 1].token);
            (left != END && right != END).then_some((left as usize) << 8 | right as usize)
        };
        let (mut count, mut len) = (vec![0u64; 1 << 16], vec![0usize; 1 << 16]);
        let last = arena.cells.len() - 1;
        for block in (0..last).step_by(STEPS) {
            progress.report()?;
            for pos in block..last.min(block + STEPS) {
                if let Some(at) = index(pos) {
                    count[at] += arena.weight_at(pos as u32);
                    len[at] += 1;
                }
            }
        }
        let (mut pairs, mut candidates) = (Self::default(), Vec::new());
        let kept = len.iter().zip(&count).filter(|(_, count)| **count >= min_count);
        pairs.postings = try_with_capacity_huge(kept.map(|(len, _)| len).sum())?;
        let mut cursor = vec![None; 1 << 16];
        for at in (0..1 << 16).filter(|&at| len[at] > 0 && count[at] >= min_count) {
            let (left, right) = ((at >> 8) as u32, (at & 255) as u32);
            let pair = pairs.add(left, right, len[at]);
            cursor[at] = Some(pairs.list[pair as usize].offset);
            candidates.push(Candidate { bound: count[at], rank: order.rank(left, right), pair, left, right });
        }
        for block in (0..last).step_by(STEPS) {
            progress.report()?;
            for pos in block..last.min(block + STEPS) {
                if let Some(next) = index(pos).and_then(|at| cursor[at].as_mut()) {
                    pairs.postings[*next] = pos as u32;
                    *next += 1;
                }
            }
        }
        Ok((pairs, candidates))
    }
}

const NO_GROUP: u32 = u32::MAX;

/// A new pair while its occurrences are collected.
#[derive(Clone, Copy)]
struct Group {
    left: u32,
    right: u32,
    len: usize,
    weight: u64,
    /// Index of its next posting; `None` if the pair is too rare to be kept.
    cursor: Option<usize>,
}

/// The pairs that one merge creates, grouped by neighbour without hashing: two arrays indexed by token id, reset through the
/// list of groups.
pub(super) struct NewPairs {
    with_left: Vec<u32>,
    with_right: Vec<u32>,
    groups: Vec<Group>,
    /// (group, position) of every occurrence, in ascending order of positions.
    occurrences: Vec<(u32, u32)>,
}

impl NewPairs {
    pub fn new(max_tokens: usize) -> Self {
        Self {
            with_left: vec![NO_GROUP; max_tokens],
            with_right: vec![NO_GROUP; max_tokens],
            groups: Vec::new(),
            occurrences: Vec::new(),
        }
    }

    /// Reserves capacity for both neighbours of `merges` occurrences.
    pub fn reserve(&mut self, merges: usize) {
        reserve_huge(&mut self.occurrences, 2 * merges);
    }

    /// Records the pair (left, new) at `pos`.
    #[inline(always)]
    pub fn add_left(&mut self, left: u32, new: u32, pos: u32, weight: u64) {
        let group = group_of(&mut self.with_left[left as usize], &mut self.groups, left, new);
        self.add(group, pos, weight);
    }

    /// Records the pair (new, right) at `pos`.
    #[inline(always)]
    pub fn add_right(&mut self, new: u32, right: u32, pos: u32, weight: u64) {
        let group = group_of(&mut self.with_right[right as usize], &mut self.groups, new, right);
        self.add(group, pos, weight);
    }

    #[inline(always)]
    fn add(&mut self, group: u32, pos: u32, weight: u64) {
        let entry = &mut self.groups[group as usize];
        entry.len += 1;
        entry.weight += weight;
        self.occurrences.push((group, pos));
    }

    /// Turns the groups of at least `min_weight` into pairs, calls `created` for each, and clears the groups.
    pub fn flush(&mut self, pairs: &mut Pairs, min_weight: u64, mut created: impl FnMut(u32, u32, u32, u64)) {
        for group in &mut self.groups {
            self.with_left[group.left as usize] = NO_GROUP;
            self.with_right[group.right as usize] = NO_GROUP;
            if group.weight >= min_weight {
                let pair = pairs.add(group.left, group.right, group.len);
                group.cursor = Some(pairs.list[pair as usize].offset);
                created(pair, group.left, group.right, group.weight);
            }
        }
        for &(group, pos) in &self.occurrences {
            if let Some(cursor) = &mut self.groups[group as usize].cursor {
                pairs.postings[*cursor] = pos;
                *cursor += 1;
            }
        }
        self.groups.clear();
        self.occurrences.clear();
    }
}

#[inline(always)]
fn group_of(slot: &mut u32, groups: &mut Vec<Group>, left: u32, right: u32) -> u32 {
    if *slot == NO_GROUP {
        *slot = groups.len() as u32;
        groups.push(Group { left, right, len: 0, weight: 0, cursor: None });
    }
    *slot
}
