//! For tests outside this crate: the pieces of one text by the walker and by every level, and the steps that they took.
//!
//! Slow, and behind the feature `testing`: nothing in the library uses it.

use std::cell::Cell;

use super::super::scalar::{Cl100k, Gpt2, O200k, ScalarRules};
use super::{BitmaskRules, Classes, PieceStarts, Scan, SimdLevel, WIDTH, WordMasks};

/// The patterns that are scanned in words of bits.
pub const NAMES: [&str; 5] = ["slm", "gpt2", "cl100k", "cl100k-hf", "o200k"];

/// Work of one scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Batches of 64 bytes that were classified.
    pub batches: u64,
    /// Pieces for which the walker was asked.
    pub walked: u64,
}

thread_local! {
    static STEPS: Cell<Steps> = const { Cell::new(Steps { batches: 0, walked: 0 }) };
}

/// The same rules, counting how often they are asked.
#[derive(Clone, Copy, Debug)]
struct Counted<R>(R);

impl<R: ScalarRules> ScalarRules for Counted<R> {
    fn piece_end(&self, bytes: &[u8], at: usize) -> usize {
        STEPS.with(|steps| steps.set(Steps { walked: steps.get().walked + 1, ..steps.get() }));
        self.0.piece_end(bytes, at)
    }
}

impl<R: BitmaskRules> BitmaskRules for Counted<R> {
    fn starts(&self, classes: &Classes, batch: &[u8; WIDTH]) -> PieceStarts {
        STEPS.with(|steps| steps.set(Steps { batches: steps.get().batches + 1, ..steps.get() }));
        self.0.starts(classes, batch)
    }

    #[inline(always)]
    fn word(&self, classes: &Classes) -> WordMasks {
        self.0.word(classes)
    }
}

/// What is done with the rules of a pattern, whichever they are.
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

struct Walking<'a>(&'a [u8], usize);

impl Visit for Walking<'_> {
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

/// The ends of the pieces from `start` on, by one step after the other. Nothing for a pattern that is not in [`NAMES`].
#[must_use]
pub fn walked(name: &str, segment: &[u8], start: usize) -> Option<Vec<usize>> {
    with_rules(name, Walking(segment, start))
}

/// The same in a level of this machine, with its name and its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scanned {
    /// The level, as its type is called.
    pub level: String,
    /// Ends of pieces.
    pub ends: Vec<usize>,
    /// What that took.
    pub steps: Steps,
}

struct Scanning<'a> {
    segment: &'a [u8],
    start: usize,
    width: usize,
    room: usize,
    level: SimdLevel,
}

impl Visit for Scanning<'_> {
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

/// The ends of the pieces from `start` on, in batches of `width` (4 to 64) bytes and at most `room` at a time, in every level
/// of this machine. Nothing for a pattern that is not in [`NAMES`].
#[must_use]
pub fn scanned(name: &str, segment: &[u8], start: usize, width: usize, room: usize) -> Vec<Scanned> {
    SimdLevel::all().filter_map(|level| with_rules(name, Scanning { segment, start, width, room, level })).collect()
}

/// The level that scanners of this machine use.
#[must_use]
pub fn best_level() -> String {
    name(SimdLevel::detect_best())
}

fn name(level: SimdLevel) -> String {
    format!("{level:?}").chars().take_while(|&letter| letter != '(').collect()
}
