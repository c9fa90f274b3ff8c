//! Splitting a segment into pieces: the seam on one screen.
//!
//! A *segment* is the text between special tokens or document ends; a *piece* is what the split pattern cuts out of it.
//! Pieces tile their segment: what a pattern does not match is a piece of its own. No named pattern looks behind, so from
//! the start of a piece only the text to its right matters; that is why a scanner can resume at any piece start. A custom
//! pattern may look behind; it always sees the whole segment.
//!
//! To add a pattern: its rules in a file here, its regex in `regexes`, and one line in [`NAMED`].

mod char_class;
mod custom;
mod regexes;
mod scalar;
mod simd;
mod sync_point;
mod unicode_table;

use std::fmt;
use std::sync::Arc;

pub use char_class::{char_len, invalid_bytes};
#[cfg(feature = "testing")]
pub use simd::testing;
pub use unicode_table::UNICODE_VERSION;

use crate::Result;
use custom::Custom;
use scalar::{Char, Cl100k, Gpt2, O200k, ScalarScanner, Whole, Word};
use simd::SimdScanner;
use sync_point::SyncPoints;

/// What a scanner left unmatched so far. Only custom patterns have gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Pieces that the pattern did not match.
    pub pieces: u64,
    /// Bytes in them.
    pub bytes: u64,
}

/// One worker's scanner. It may hold scratch state, never anything that changes a result.
pub trait Scanner: Send {
    /// Writes the ends of the next pieces, as offsets into `segment`, into `ends`; the first of them starts at `start`,
    /// which must be the start of a piece. Returns how many were written, as many as are easily found, and 0 only at the
    /// end of the segment.
    /// The segment is the same, unchanged, from a call with `start` 0 until the next such call: a custom pattern keeps
    /// what it learned of it.
    ///
    /// # Errors
    /// A custom pattern that ran into its backtracking limit.
    fn fill(&mut self, segment: &[u8], start: usize, ends: &mut [usize]) -> Result<usize>;

    /// What has not been matched since the scanner was made.
    fn gaps(&self) -> Gaps {
        Gaps::default()
    }
}

/// A pattern that has a name, and a scanner that is code.
struct Named {
    name: &'static str,
    regex: &'static str,
    /// Whether users are told of it; the others belong to the schemes of the same name.
    public: bool,
    starts: SyncPoints,
    scanner: fn() -> Box<dyn Scanner>,
}

static NAMED: [Named; 8] = [
    named("slm", regexes::SLM, true, SyncPoints::Words, || Box::new(SimdScanner::new(Cl100k::<2, true>))),
    named("gpt2", regexes::GPT2, true, SyncPoints::Words, || Box::new(SimdScanner::new(Gpt2))),
    named("cl100k", regexes::CL100K, true, SyncPoints::Words, || Box::new(SimdScanner::new(Cl100k::<3, true>))),
    named("cl100k-hf", regexes::CL100K_HF, true, SyncPoints::Words, || Box::new(SimdScanner::new(Cl100k::<3, false>))),
    named("o200k", regexes::O200K, true, SyncPoints::Words, || Box::new(SimdScanner::new(O200k))),
    named("whole", regexes::WHOLE, true, SyncPoints::None, || Box::new(ScalarScanner(Whole))),
    named("word", regexes::WORD, false, SyncPoints::Words, || Box::new(ScalarScanner(Word))),
    named("char", regexes::CHAR, false, SyncPoints::Words, || Box::new(ScalarScanner(Char))),
];

const fn named(
    name: &'static str,
    regex: &'static str,
    public: bool,
    starts: SyncPoints,
    scanner: fn() -> Box<dyn Scanner>,
) -> Named {
    Named { name, regex, public, starts, scanner }
}

/// The names of the public patterns, in the order in which they are documented.
#[must_use]
pub fn names() -> Vec<&'static str> {
    NAMED.iter().filter(|named| named.public).map(|named| named.name).collect()
}

/// A compiled split pattern: immutable, cheap to clone, shared by all workers.
#[derive(Clone)]
pub struct Pattern(Kind);

#[derive(Clone)]
enum Kind {
    Named(&'static Named),
    Custom(Arc<Custom>),
}

impl Pattern {
    /// A registered name, or a regex. A regex that spells a registered one gets the scanner of that one.
    ///
    /// # Errors
    /// [`crate::Error::InvalidPattern`] with the place, where the parser knows it.
    pub fn new(spec: &str) -> Result<Self> {
        match NAMED.iter().find(|named| named.name == spec || named.regex == spec) {
            Some(named) => Ok(Self(Kind::Named(named))),
            None => Ok(Self(Kind::Custom(Arc::new(Custom::new(spec)?)))),
        }
    }

    /// The registered name.
    #[must_use]
    pub fn name(&self) -> Option<&'static str> {
        match &self.0 {
            Kind::Named(named) => Some(named.name),
            Kind::Custom(_) => None,
        }
    }

    /// The regex that says what the pattern does.
    #[must_use]
    pub fn regex(&self) -> &str {
        match &self.0 {
            Kind::Named(named) => named.regex,
            Kind::Custom(custom) => custom.regex(),
        }
    }

    /// A new scanner; each worker needs one of its own.
    #[must_use]
    pub fn scanner(&self) -> Box<dyn Scanner> {
        match &self.0 {
            Kind::Named(named) => (named.scanner)(),
            Kind::Custom(custom) => custom.scanner(),
        }
    }

    /// The smallest position `p >= from`, `0 < p < segment.len()`, that begins a piece whatever stands to the left of the
    /// character before it. `None` if there is none, and always for `whole` and custom patterns. It reads the segment
    /// from `from` up to the answer.
    #[must_use]
    pub fn next_sync_point(&self, segment: &[u8], from: usize) -> Option<usize> {
        match &self.0 {
            Kind::Named(named) => named.starts.next(segment, from),
            Kind::Custom(_) => None,
        }
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({:?})", self.name().unwrap_or_else(|| self.regex()))
    }
}
