//! Pairs and where they occur: one slice of positions per pair, written once.
//!
//! Ids are fresh, so a pair arises only in the step that mints the younger of its two tokens. Its positions are laid down
//! then and there; later they only die. So a slice never grows, and the weight it had at birth bounds its count for ever.

use super::arena::{Arena, END};
use super::tie_break::{Candidate, TieOrder};
use crate::mem::reserve;

/// A pair of tokens and its slice of postings.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub left: u32,
    pub right: u32,
    pub offset: usize,
    pub n: usize,
}

#[derive(Default)]
pub(super) struct Pairs {
    pub list: Vec<Pair>,
    pub postings: Vec<u32>,
}

impl Pairs {
    pub fn slice(&self, pair: u32) -> &[u32] {
        let Pair { offset, n, .. } = self.list[pair as usize];
        &self.postings[offset..offset + n]
    }

    /// Makes a pair with room for `n` postings, and returns its index.
    fn open(&mut self, left: u32, right: u32, n: usize) -> u32 {
        self.list.push(Pair { left, right, offset: self.postings.len(), n });
        reserve(&mut self.postings, n);
        self.postings.resize(self.postings.len() + n, 0);
        (self.list.len() - 1) as u32
    }

    /// The pairs of bytes in `arena` whose count reaches `least`, and their candidates.
    pub fn of_bytes(arena: &Arena, order: &TieOrder, least: u64) -> (Self, Vec<Candidate>) {
        let cell = |pos: usize| {
            let (left, right) = (arena.cells[pos].tok, arena.cells[pos + 1].tok);
            (left != END && right != END).then_some((left as usize) << 8 | right as usize)
        };
        let (mut count, mut n) = (vec![0u64; 1 << 16], vec![0usize; 1 << 16]);
        for pos in 0..arena.cells.len() - 1 {
            if let Some(cell) = cell(pos) {
                count[cell] += arena.weight_at(pos as u32);
                n[cell] += 1;
            }
        }
        let (mut pairs, mut candidates) = (Self::default(), Vec::new());
        let mut cursor = vec![None; 1 << 16];
        for at in (0..1 << 16).filter(|&at| n[at] > 0 && count[at] >= least) {
            let (left, right) = ((at >> 8) as u32, (at & 255) as u32);
            let pair = pairs.open(left, right, n[at]);
            cursor[at] = Some(pairs.list[pair as usize].offset);
            candidates.push(Candidate { bound: count[at], key: order.key(left, right), pair, left, right });
        }
        for pos in 0..arena.cells.len() - 1 {
            if let Some(next) = cell(pos).and_then(|cell| cursor[cell].as_mut()) {
                pairs.postings[*next] = pos as u32;
                *next += 1;
            }
        }
        (pairs, candidates)
    }
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Group {
    left: u32,
    right: u32,
    n: usize,
    weight: u64,
    /// Where its next posting goes; set when the slices are opened.
    cursor: Option<usize>,
}

/// The pairs that one merge creates, grouped by neighbour without hashing: two arrays indexed by token id, cleared through
/// the list of groups.
pub(super) struct Births {
    with_left: Vec<u32>,
    with_right: Vec<u32>,
    groups: Vec<Group>,
    noted: Vec<(u32, u32)>,
}

impl Births {
    pub fn new(max_tokens: usize) -> Self {
        Self {
            with_left: vec![NONE; max_tokens],
            with_right: vec![NONE; max_tokens],
            groups: Vec::new(),
            noted: Vec::new(),
        }
    }

    /// Makes room for the neighbours of `occurrences` of a pair.
    pub fn expect(&mut self, occurrences: usize) {
        reserve(&mut self.noted, 2 * occurrences);
    }

    /// Notes that `left` now stands before the new token, the pair beginning at `pos`.
    #[inline(always)]
    pub fn note_left(&mut self, left: u32, new: u32, pos: u32, weight: u64) {
        let group = group_of(&mut self.with_left[left as usize], &mut self.groups, left, new);
        self.note(group, pos, weight);
    }

    /// Notes that `right` now stands behind the new token, which begins at `pos`.
    #[inline(always)]
    pub fn note_right(&mut self, new: u32, right: u32, pos: u32, weight: u64) {
        let group = group_of(&mut self.with_right[right as usize], &mut self.groups, new, right);
        self.note(group, pos, weight);
    }

    #[inline(always)]
    fn note(&mut self, group: u32, pos: u32, weight: u64) {
        let entry = &mut self.groups[group as usize];
        entry.n += 1;
        entry.weight += weight;
        self.noted.push((group, pos));
    }

    /// Turns the groups whose weight reaches `least` into pairs, calls `born` for each, and clears everything.
    pub fn settle(&mut self, pairs: &mut Pairs, least: u64, mut born: impl FnMut(u32, u32, u32, u64)) {
        for group in &mut self.groups {
            self.with_left[group.left as usize] = NONE;
            self.with_right[group.right as usize] = NONE;
            if group.weight >= least {
                let pair = pairs.open(group.left, group.right, group.n);
                group.cursor = Some(pairs.list[pair as usize].offset);
                born(pair, group.left, group.right, group.weight);
            }
        }
        for &(group, pos) in &self.noted {
            if let Some(cursor) = &mut self.groups[group as usize].cursor {
                pairs.postings[*cursor] = pos;
                *cursor += 1;
            }
        }
        self.groups.clear();
        self.noted.clear();
    }
}

#[inline(always)]
fn group_of(slot: &mut u32, groups: &mut Vec<Group>, left: u32, right: u32) -> u32 {
    if *slot == NONE {
        *slot = groups.len() as u32;
        groups.push(Group { left, right, n: 0, weight: 0, cursor: None });
    }
    *slot
}
