//! The priority queue of candidate pairs, and the only place that defines their order.
//!
//! The most frequent pair comes first. Among equally frequent pairs:
//!
//! | tie break | first pair | imitates |
//! |---|---|---|
//! | `rank` | smaller left id, then smaller right id; bytes by value, merges by age | rustbpe |
//! | `hf` | the same, with bytes in the order of the Hugging Face byte alphabet | `tokenizers`' `BpeTrainer` |
//! | `bytes-greatest` | lexicographically greatest (bytes of left, bytes of right) | the CS336 assignment |

use std::cmp::Ordering;

use super::arena::TokenTable;

/// The order of equally frequent pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieBreak {
    /// Smaller ids first.
    Rank,
    /// Greater byte strings first.
    BytesGreatest,
    /// The byte alphabet of Hugging Face, and its reuse of the ids of specials.
    Hf,
}

/// Every tie break with its option value.
pub const TIE_BREAKS: [(&str, TieBreak); 3] =
    [("rank", TieBreak::Rank), ("bytes-greatest", TieBreak::BytesGreatest), ("hf", TieBreak::Hf)];

impl TieBreak {
    /// The tie break with this option value.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        TIE_BREAKS.iter().find(|(known, _)| *known == name).map(|(_, tie_break)| *tie_break)
    }
}

/// An entry of the queue: a pair, an upper bound of its count, and its rank among equals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub bound: u64,
    /// Rank of the pair by ids, smaller first; unused by `bytes-greatest`.
    pub rank: u64,
    pub pair: u32,
    pub left: u32,
    pub right: u32,
}

/// The order of candidates.
pub(super) struct PairOrder {
    tie_break: TieBreak,
    /// Rank of each token; new tokens are appended.
    token_rank: Vec<u32>,
    next_rank: u32,
}

impl PairOrder {
    /// Specials rank before bytes. A special that equals a single byte gives the byte its rank (`hf` only).
    pub fn new(tie_break: TieBreak, specials: &[Vec<u8>]) -> Self {
        let first = specials.len() as u32;
        let mut token_rank = match tie_break {
            TieBreak::Hf => hf_byte_ranks().map(|rank| first + rank).to_vec(),
            TieBreak::Rank | TieBreak::BytesGreatest => (0..256).collect(),
        };
        for (special, index) in specials.iter().zip(0..) {
            if let &[byte] = &special[..] {
                token_rank[usize::from(byte)] = index;
            }
        }
        Self { tie_break, token_rank, next_rank: first + 256 }
    }

    /// Adds a token; `reused` is the special whose id it takes.
    pub fn push(&mut self, reused: Option<u32>) {
        let rank = reused.unwrap_or(self.next_rank);
        self.token_rank.push(rank);
        self.next_rank += u32::from(reused.is_none());
    }

    /// Rank of a pair among equally frequent ones.
    pub fn rank(&self, left: u32, right: u32) -> u64 {
        u64::from(self.token_rank[left as usize]) << 32 | u64::from(self.token_rank[right as usize])
    }

    /// Whether `a` is merged before `b`.
    #[inline]
    pub fn before(&self, a: &Candidate, b: &Candidate, tokens: &TokenTable) -> bool {
        if a.bound != b.bound {
            return a.bound > b.bound;
        }
        match self.tie_break {
            TieBreak::Rank | TieBreak::Hf => a.rank < b.rank,
            TieBreak::BytesGreatest => {
                let left = tokens.bytes(a.left).cmp(tokens.bytes(b.left));
                left.then_with(|| tokens.bytes(a.right).cmp(tokens.bytes(b.right))) == Ordering::Greater
            }
        }
    }
}

/// Rank of each byte in the alphabet of Hugging Face's byte-level pre-tokenizer: printable bytes map to themselves, the
/// others to characters after them in order of value; the alphabet is sorted by character.
fn hf_byte_ranks() -> [u32; 256] {
    let printable = |byte: u32| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let mut ranks = [0; 256];
    let order = (0..256u32).filter(|&byte| printable(byte)).chain((0..256).filter(|&byte| !printable(byte)));
    for (rank, byte) in order.enumerate() {
        ranks[byte as usize] = rank as u32;
    }
    ranks
}

/// A binary max-heap whose order, a strict total order `before(a, b)`, is passed to each call: comparing candidates needs
/// the token bytes, which the heap does not own.
pub(super) struct Heap<T> {
    items: Vec<T>,
}

impl<T: Copy> Heap<T> {
    /// Builds a heap of `items` in linear time.
    pub fn new(items: Vec<T>, before: impl Fn(&T, &T) -> bool) -> Self {
        let mut heap = Self { items };
        for at in (0..heap.items.len() / 2).rev() {
            heap.sift_down(at, &before);
        }
        heap
    }

    pub fn push(&mut self, item: T, before: impl Fn(&T, &T) -> bool) {
        let mut at = self.items.len();
        self.items.push(item);
        while at > 0 {
            let parent = (at - 1) / 2;
            if !before(&item, &self.items[parent]) {
                break;
            }
            self.items[at] = self.items[parent];
            at = parent;
        }
        self.items[at] = item;
    }

    pub fn pop(&mut self, before: impl Fn(&T, &T) -> bool) -> Option<T> {
        let last = self.items.pop()?;
        let Some(top) = self.items.first().copied() else { return Some(last) };
        self.items[0] = last;
        self.sift_down(0, &before);
        Some(top)
    }

    fn sift_down(&mut self, mut at: usize, before: &impl Fn(&T, &T) -> bool) {
        let item = self.items[at];
        loop {
            let mut child = 2 * at + 1;
            if child >= self.items.len() {
                break;
            }
            if child + 1 < self.items.len() && before(&self.items[child + 1], &self.items[child]) {
                child += 1;
            }
            if !before(&self.items[child], &item) {
                break;
            }
            self.items[at] = self.items[child];
            at = child;
        }
        self.items[at] = item;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hf_alphabet_starts_with_the_printable_bytes() {
        let ranks = hf_byte_ranks();
        assert_eq!((ranks[33], ranks[126], ranks[161], ranks[172]), (0, 93, 94, 105));
        assert_eq!((ranks[174], ranks[255], ranks[0], ranks[32]), (106, 187, 188, 220));
        assert_eq!((ranks[127], ranks[160], ranks[173]), (221, 254, 255));
        let mut sorted = ranks;
        sorted.sort_unstable();
        assert!(sorted.iter().enumerate().all(|(at, &rank)| at as u32 == rank), "a permutation");
    }

    proptest! {
        #[test]
        fn the_heap_pops_in_order(first in prop::collection::vec(0u32..50, 0..40), later in prop::collection::vec(0u32..50, 0..40)) {
            let before = |a: &u32, b: &u32| a > b;
            let mut heap = Heap::new(first.clone(), before);
            let mut expected = first;
            for item in later {
                heap.push(item, before);
                expected.push(item);
            }
            expected.sort_unstable_by(|a, b| b.cmp(a));
            let popped: Vec<u32> = std::iter::from_fn(|| heap.pop(before)).collect();
            prop_assert_eq!(popped, expected);
        }
    }
}
