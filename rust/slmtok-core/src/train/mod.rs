//! Training: piece counts in, merges out.
//!
//! Each step merges the most frequent pair of adjacent tokens, ties by [`TieBreak`], into a new token. Counts in the queue are
//! upper bounds: a popped pair is recounted, and merged if its count equals its bound, because then no other pair exceeds it.
//! The inner loop uses flat arrays only, no hash table and no list per pair. [`mod@reference`] recounts all pairs at every step
//! and defines the result.

#![cfg_attr(
    not(test),
    expect(
        clippy::cast_possible_truncation,
        reason = "the arena refuses corpora whose positions exceed 32 bits, and a vocabulary has at most 2^21 tokens"
    )
)]

mod arena;
mod frequent_pieces;
mod limits;
mod merge_loop;
mod pair_queue;
mod pairs;
mod progress;
pub mod reference;
mod required;

pub use frequent_pieces::frequent_pieces;
pub use limits::{MAX_REFUSALS, Refusal, TokenLimits};
pub use merge_loop::train;
pub use pair_queue::{TIE_BREAKS, TieBreak};

use crate::count::Counts;

/// Options of a training run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Merges that get a new id, including those of `replay`.
    pub n_merges: u32,
    /// Order of equally frequent pairs.
    pub tie_break: TieBreak,
    /// Pairs below this count are not merged.
    pub min_count: u64,
    /// Limits on tokens.
    pub limits: TokenLimits,
    /// Tokens that must be in the vocabulary, each within one piece.
    pub require: Vec<Vec<u8>>,
    /// Bytes of the specials; with tie break `hf` a merge that equals one takes its id.
    pub specials: Vec<Vec<u8>>,
    /// Merges to apply first: those of a vocabulary that is extended.
    pub replay: Vec<Replayed>,
}

impl Options {
    /// A run without limits and required tokens.
    #[must_use]
    pub fn new(n_merges: u32, tie_break: TieBreak, min_count: u64) -> Self {
        let limits = TokenLimits::default();
        Self { n_merges, tie_break, min_count, limits, require: Vec::new(), specials: Vec::new(), replay: Vec::new() }
    }
}

/// A merge of [`Options::replay`]. It goes through the same step as a learned merge, so ids, ties and the arena are as when
/// the vocabulary was trained. A pair that does not occur in these counts becomes a token nevertheless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Internal id of the left part.
    pub left: u32,
    /// Internal id of the right part.
    pub right: u32,
    /// The special whose id it takes, an index into [`Options::specials`] (tie break `hf`).
    pub special: Option<u32>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// All merges were learned.
    Full,
    /// No pair remains.
    NoPairs,
    /// The most frequent remaining pair is below the minimum count.
    MinCount,
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Internal ids of both parts; merge k creates id 256 + k.
    pub merges: Vec<(u32, u32)>,
    /// Count of each pair when it was merged.
    pub counts: Vec<u64>,
    /// (merge, special): merges that took the id of a special.
    pub reused: Vec<(u32, u32)>,
    /// Tokens refused by the limits, in the order of their counts, the first [`MAX_REFUSALS`].
    pub refused: Vec<Refusal>,
    /// Merges forced by required tokens.
    pub required_merges: u32,
    /// Why the run ended.
    pub stop: Stop,
    /// Count of the most frequent remaining pair; 0 if there is none.
    pub next_count: u64,
    /// Amount of work.
    pub stats: Stats,
}

/// Amount of work of a run. Tests pin it, so that a lost fast path is noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Positions in the arena.
    pub arena: u64,
    /// Candidates popped from the queue.
    pub pops: u64,
    /// Postings visited by recounts.
    pub visited: u64,
    /// Occurrences merged.
    pub applied: u64,
    /// Pairs created.
    pub pairs: u64,
    /// Postings written.
    pub postings: u64,
}

/// Bytes of one cell of the arena.
const CELL_BYTES: u64 = 8;
/// Bytes of the postings per position. Texts write 1.7 to 2.2 postings of 4 bytes per position, and at most 3.
const POSTING_BYTES: u64 = 10;
/// Bytes per position for the new pairs of the largest step, the pairs and the queue.
const PAIR_BYTES: u64 = 4;
/// Bytes per piece while the arena is laid out: sort entry and weight.
const WORD_BYTES: u64 = 32;

/// Estimated peak memory of [`train`] in bytes, without the counts themselves. Measured runs need 50 to 100 % of it.
#[must_use]
pub fn merge_memory(counts: &Counts) -> u64 {
    let (mut bytes, mut pieces) = (0, 0);
    counts.for_each(|piece, _| {
        if piece.len() > 1 {
            bytes += piece.len() as u64;
            pieces += 1;
        }
    });
    // The layout of the arena copies the text once.
    (bytes + pieces) * (CELL_BYTES + POSTING_BYTES + PAIR_BYTES) + bytes + pieces * WORD_BYTES
}
