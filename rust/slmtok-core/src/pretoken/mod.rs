//! Pretokenization: splitting a segment into pieces.
//!
//! A *segment* is the text between special tokens or document ends; a *piece* (pretoken) is a part of it, found by the split
//! pattern. Pieces tile their segment: text that the pattern does not match becomes a piece of its own. No named pattern
//! looks behind, so the end of a piece depends only on the text right of its start, and a scanner can resume at any start of
//! a piece. A custom pattern may look behind; it always receives the whole segment.
//!
//! To add a pattern: its rules in `scalar`, its regex in `regexes`, and one line in `NAMED`.

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
pub(crate) use custom::syntax_error;
#[cfg(feature = "testing")]
pub use simd::testing;
pub use unicode_table::UNICODE_VERSION;

use crate::Result;
use crate::interrupt::{self, supervised, supervised_if_slow};
use custom::Custom;
use scalar::{Char, Cl100k, Gpt2, O200k, ScalarScanner, Whole, Word};
use simd::SimdScanner;
use sync_point::SyncPoints;

/// Text that the pattern did not match. Only custom patterns have gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Unmatched pieces.
    pub pieces: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A scanner of one worker. Its state never changes a result.
pub trait Scanner: Send {
    /// Writes the ends of the next pieces to `ends`, as offsets into `segment`, from `start`, which must be the start of a
    /// piece. Returns the number of ends written, which may be less than `ends.len()` and is 0 only at the end of the segment.
    ///
    /// The segment must stay the same between two calls with `start` 0, because custom patterns cache its decoded form.
    ///
    /// # Errors
    /// A custom pattern that exceeds its backtracking limit.
    fn fill(&mut self, segment: &[u8], start: usize, ends: &mut [usize]) -> Result<usize>;

    /// Unmatched text since the scanner was created.
    fn gaps(&self) -> Gaps {
        Gaps::default()
    }
}

/// A registered pattern with a hand-written scanner.
struct Named {
    name: &'static str,
    regex: &'static str,
    /// Whether users may choose it; the others split text for vocabularies of whole words or characters.
    public: bool,
    sync_points: SyncPoints,
    scanner: fn() -> Box<dyn Scanner>,
}

/// The registered patterns. Parameters of [`Cl100k`]: the most digits in a piece, and whether white space at the end of a text
/// is one piece.
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
    sync_points: SyncPoints,
    scanner: fn() -> Box<dyn Scanner>,
) -> Named {
    Named { name, regex, public, sync_points, scanner }
}

/// Names of the public patterns, in documentation order.
#[must_use]
pub fn names() -> Vec<&'static str> {
    NAMED.iter().filter(|named| named.public).map(|named| named.name).collect()
}

/// Most searches by a custom pattern in texts up to this size end within [`interrupt::POLL_INTERVAL`]; the slowest take minutes.
const MAX_QUICK_CUSTOM_BYTES: usize = 16 << 10;

/// Distance from the end at which the search for the last sync point starts.
const SYNC_SEARCH_BYTES: usize = 1 << 16;

/// A compiled split pattern: immutable, cheap to clone, shared by all workers.
#[derive(Clone)]
pub struct Pattern(Kind);

#[derive(Clone)]
enum Kind {
    Named(&'static Named),
    Custom(Arc<Custom>),
}

impl Pattern {
    /// Compiles a registered name or a regex. A regex that equals a registered one gets its scanner.
    ///
    /// # Errors
    /// [`crate::Error::InvalidPattern`], with the position if the parser reports one.
    pub fn new(spec: &str) -> Result<Self> {
        match NAMED.iter().find(|named| named.name == spec || named.regex == spec) {
            Some(named) => Ok(Self(Kind::Named(named))),
            None => Ok(Self(Kind::Custom(Arc::new(Custom::new(spec)?)))),
        }
    }

    /// Registered name; `None` for a custom pattern.
    #[must_use]
    pub fn name(&self) -> Option<&'static str> {
        match &self.0 {
            Kind::Named(named) => Some(named.name),
            Kind::Custom(_) => None,
        }
    }

    /// The regex that defines the pattern.
    #[must_use]
    pub fn regex(&self) -> &str {
        match &self.0 {
            Kind::Named(named) => named.regex,
            Kind::Custom(custom) => custom.regex(),
        }
    }

    /// A new scanner. Each worker needs its own.
    #[must_use]
    pub fn scanner(&self) -> Box<dyn Scanner> {
        match &self.0 {
            Kind::Named(named) => (named.scanner)(),
            Kind::Custom(custom) => custom.scanner(),
        }
    }

    /// Whether a regex engine runs the pattern.
    #[must_use]
    pub fn is_custom(&self) -> bool {
        matches!(self.0, Kind::Custom(_))
    }

    /// Whether splitting `bytes` bytes should be expected to take long.
    #[must_use]
    pub(crate) fn is_slow_for(&self, bytes: usize) -> bool {
        self.is_custom() && bytes > MAX_QUICK_CUSTOM_BYTES
    }

    /// As [`Pattern::split`]; `poll` is called regularly while it takes long, and an error of `poll` ends it.
    ///
    /// # Errors
    /// As [`Pattern::split`], and errors of `poll`.
    pub fn split_polling(&self, segment: &[u8], poll: &mut dyn FnMut() -> Result<()>) -> Result<(Vec<u64>, Gaps)> {
        if segment.len() > MAX_QUICK_CUSTOM_BYTES {
            return supervised(poll, || self.split(segment));
        }
        supervised_if_slow(poll, || self.split(segment))
    }

    /// Offsets of all piece boundaries, from 0 to the length of `segment`, and the gaps.
    ///
    /// # Errors
    /// A custom pattern that exceeds its backtracking limit.
    pub fn split(&self, segment: &[u8]) -> Result<(Vec<u64>, Gaps)> {
        let (mut scanner, mut ends, mut at) = (self.scanner(), [0; 256], 0);
        let mut bounds = vec![0];
        while at < segment.len() {
            interrupt::check()?;
            let filled = scanner.fill(segment, at, &mut ends)?;
            let Some(&last) = ends[..filled].last() else { break };
            bounds.extend(ends[..filled].iter().map(|&end| end as u64));
            at = last;
        }
        Ok((bounds, scanner.gaps()))
    }

    /// The first sync point `p >= from`, `0 < p < segment.len()`: a position that begins a piece whatever text precedes the
    /// character before it. `None` if there is none, and always for `whole` and custom patterns. Reads the segment from
    /// `from` to the result.
    #[must_use]
    pub fn next_sync_point(&self, segment: &[u8], from: usize) -> Option<usize> {
        match &self.0 {
            Kind::Named(named) => named.sync_points.next(segment, from),
            Kind::Custom(_) => None,
        }
    }

    /// Whether texts have sync points under this pattern.
    #[must_use]
    pub fn has_sync_points(&self) -> bool {
        matches!(&self.0, Kind::Named(Named { sync_points: SyncPoints::Words, .. }))
    }

    /// A sync point near the end of `text`, so that the pieces before it do not depend on what follows `text`.
    #[must_use]
    pub fn last_sync_point(&self, text: &[u8]) -> Option<usize> {
        let distances = [SYNC_SEARCH_BYTES, 16 * SYNC_SEARCH_BYTES, text.len()];
        distances.iter().find_map(|&far| self.next_sync_point(text, text.len().saturating_sub(far)))
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({:?})", self.name().unwrap_or_else(|| self.regex()))
    }
}
