//! For tests outside this crate (feature `testing`): the pieces of a text by the scalar rules and by every SIMD level, and the
//! work that they need.

use std::cell::Cell;

use super::super::scalar::{Cl100k, Gpt2, O200k, ScalarRules};
use super::{BitmaskRules, Classes, PieceStarts, Scan, SimdLevel, WIDTH, WordMasks};

/// The patterns with bitmask rules.
pub const NAMES: [&str; 5] = ["slm", "gpt2", "cl100k", "cl100k-hf", "o200k"];

/// Work of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Classified blocks of 64 bytes.
    pub blocks: u64,
    /// Pieces found by the scalar rules.
    pub scalar: u64,
}

thread_local! {
    static STEPS: Cell<Steps> = const { Cell::new(Steps { blocks: 0, scalar: 0 }) };
}

/// Rules that count their calls.
#[derive(Clone, Copy, Debug)]
struct Counted<R>(R);

impl<R: ScalarRules> ScalarRules for Counted<R> {
    fn piece_end(&self, bytes: &[u8], at: usize) -> usize {
        STEPS.with(|steps| steps.set(Steps { scalar: steps.get().scalar + 1, ..steps.get() }));
        self.0.piece_end(bytes, at)
    }
}

impl<R: BitmaskRules> BitmaskRules for Counted<R> {
    fn starts(&self, classes: &Classes, block: &[u8; WIDTH]) -> PieceStarts {
        STEPS.with(|steps| steps.set(Steps { blocks: steps.get().blocks + 1, ..steps.get() }));
        self.0.starts(classes, block)
    }

    #[inline(always)]
    fn word(&self, classes: &Classes) -> WordMasks {
        self.0.word(classes)
    }
}

/// A generic function over the rules of a pattern.
trait Visit {
    type Output;
    fn visit<R: BitmaskRules>(self, rules: R) -> Self::Output;
}

fn with_rules<V: Visit>(name: &str, visit: V) -> Option<V::Output> {
    Some(match name {
        "slm" => visit.visit(Cl100k::<2, true>),
        "gpt2" => visit.visit(Gpt2),
        "cl100k" => visit.visit(Cl100k::<3, true>),
        "cl100k-hf" => visit.visit(Cl100k::<3, false>),
        "o200k" => visit.visit(O200k),
        _ => return None,
    })
}

struct ScalarScan<'a>(&'a [u8], usize);

impl Visit for ScalarScan<'_> {
    type Output = Vec<usize>;

    fn visit<R: BitmaskRules>(self, rules: R) -> Vec<usize> {
        let (mut at, mut ends) = (self.1, Vec::new());
        while at < self.0.len() {
            at = rules.piece_end(self.0, at);
            ends.push(at);
        }
        ends
    }
}

/// Piece ends from `start` on by the scalar rules; `None` for a pattern outside [`NAMES`].
#[must_use]
pub fn scalar_ends(name: &str, segment: &[u8], start: usize) -> Option<Vec<usize>> {
    with_rules(name, ScalarScan(segment, start))
}

/// Piece ends at one SIMD level, and the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scanned {
    /// Name of the level.
    pub level: String,
    /// Piece ends.
    pub ends: Vec<usize>,
    /// Work.
    pub steps: Steps,
}

struct LevelScan<'a> {
    segment: &'a [u8],
    start: usize,
    width: usize,
    room: usize,
    level: SimdLevel,
}

impl Visit for LevelScan<'_> {
    type Output = Scanned;

    fn visit<R: BitmaskRules>(self, rules: R) -> Scanned {
        let Self { segment, mut start, width, room, level } = self;
        let (mut all, mut ends) = (Vec::new(), vec![0; room]);
        STEPS.set(Steps::default());
        while start < segment.len() {
            let filled = level.run(Scan { rules: Counted(rules), segment, start, ends: &mut ends, width });
            all.extend_from_slice(&ends[..filled]);
            let Some(&last) = ends[..filled].last() else { break };
            start = last;
        }
        Scanned { level: name(level), ends: all, steps: STEPS.get() }
    }
}

/// Piece ends from `start` on at every SIMD level of this machine, with blocks of `width` (4 to 64) bytes and `room` ends per
/// call; empty for a pattern outside [`NAMES`].
#[must_use]
pub fn scanned(name: &str, segment: &[u8], start: usize, width: usize, room: usize) -> Vec<Scanned> {
    SimdLevel::all().filter_map(|level| with_rules(name, LevelScan { segment, start, width, room, level })).collect()
}

/// Name of the SIMD level that scanners use on this machine.
#[must_use]
pub fn best_level() -> String {
    name(SimdLevel::detect_best())
}

fn name(level: SimdLevel) -> String {
    format!("{level:?}").chars().take_while(|&letter| letter != '(').collect()
}
