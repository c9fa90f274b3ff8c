//! Training: piece counts in, merges out. The loop has no hash, no set and no list per pair.
//!
//! Each step merges the most frequent pair of adjacent tokens, ties by [`Ties`], and mints a fresh id. Counts in the heap
//! are upper bounds: a popped pair is recounted, and merged if its count equals its bound, for then it beats every other
//! bound. `reference.rs` is the slow twin that recounts everything at each step.

mod arena;
mod frequent_pieces;
mod heap;
mod limits;
mod memory;
mod merge_loop;
mod pairs;
pub mod reference;
mod replay;
mod required;
mod tie_break;
mod tokens;

pub use frequent_pieces::frequent_pieces;
pub use limits::{Refusal, TokenLimits};
pub use memory::merge_memory;
pub use merge_loop::train;
pub use replay::Replayed;
pub use tie_break::{TIES, Ties};

/// What to train.
#[derive(Clone, Debug)]
pub struct Options {
    /// Merges that take a slot of the vocabulary, those of `replay` among them.
    pub n_merges: u32,
    /// Order of equals.
    pub ties: Ties,
    /// Pairs below this count are not merged.
    pub min_count: u64,
    /// Bounds on tokens.
    pub limits: TokenLimits,
    /// Tokens that must be in the vocabulary, each within one piece.
    pub require: Vec<Vec<u8>>,
    /// Spellings of specials; in mode `hf` a merge that spells one takes its id instead of a slot.
    pub specials: Vec<Vec<u8>>,
    /// Merges to begin with: those of a vocabulary that is to be extended.
    pub replay: Vec<Replayed>,
}

impl Options {
    /// The plain run: no bounds, nothing required.
    #[must_use]
    pub fn new(n_merges: u32, ties: Ties, min_count: u64) -> Self {
        let limits = TokenLimits::default();
        Self { n_merges, ties, min_count, limits, require: Vec::new(), specials: Vec::new(), replay: Vec::new() }
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// All slots are filled.
    Full,
    /// No pair is left.
    NoPairs,
    /// The best pair left is below the minimum count.
    MinCount,
}

/// What a run did.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Internal ids of both parts; merge k makes id 256 + k.
    pub merges: Vec<(u32, u32)>,
    /// How often each pair occurred when it was chosen.
    pub counts: Vec<u64>,
    /// (merge, special): merges that took the id of a special and no slot.
    pub reused: Vec<(u32, u32)>,
    /// What the limits kept out, in the order in which it came up.
    pub refused: Vec<Refusal>,
    /// Merges that were made for required tokens.
    pub required_merges: u32,
    /// Why it ended.
    pub stop: Stop,
    /// Count of the best pair left; 0 if there is none.
    pub next_count: u64,
    /// Work that was done.
    pub stats: Stats,
}

/// Work that a run did. Pinned by tests, so that a lost fast path shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Positions in the arena.
    pub arena: u64,
    /// Candidates popped.
    pub pops: u64,
    /// Postings looked at by recounts.
    pub visited: u64,
    /// Occurrences merged.
    pub applied: u64,
    /// Pairs ever posted.
    pub pairs: u64,
    /// Postings ever written.
    pub postings: u64,
}
