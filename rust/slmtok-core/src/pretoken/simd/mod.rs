//! Splitting 64 bytes at a time: every class of characters is a word of 64 bits, and the starts of pieces are shifts and
//! ands of these words.
//!
//! A batch begins at the start of a piece, so nothing to its left matters (no named pattern looks behind), and it ends where
//! it likes: starts that the bytes behind it could change are left to the next batch, which begins at the last start that
//! was certain. Where words cannot tell (a piece longer than the batch, the end of the segment, the rare characters that
//! the rules call unresolved), the walker of the same rules takes a step; it is also the truth that all this is tested
//! against, at every width and in every level.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod bitmask;
mod classes;
mod common_multibyte;
#[cfg(target_arch = "x86_64")]
mod kinds;
mod level;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
mod rules;

#[cfg(feature = "testing")]
pub mod testing;
#[cfg(test)]
mod tests;

use super::Scanner;
use super::scalar::ScalarRules;
use crate::Result;
use crate::mem::prefetch;
use classes::Classes;
use level::{Backend, SimdLevel};

/// Bytes of a batch.
const WIDTH: usize = 64;

/// Bytes of text that are asked for ahead: the tables of the encoder leave the memory little time for what it could guess itself.
const AHEAD: usize = 1024;

/// What the words of a batch say.
#[derive(Clone, Copy, Debug)]
pub(super) struct PieceStarts {
    /// Starts of pieces, each of them certain. The bit of the batch's begin says nothing. Others there are only behind an
    /// apostrophe near the end, in white space that touches the end, and from what is unresolved on.
    starts: u64,
    /// The first character that only the walker may judge; no start is beyond it. Its bit alone, or nothing.
    unresolved: u64,
}

/// What may follow a character of a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct WordMasks {
    /// What surely belongs to its piece, if everything from there on does.
    continues: u64,
    /// What surely does not.
    ends: u64,
}

/// BitmaskRules in both forms. Where three spaces begin, the end of a piece must be the same from the first as from the second, as it is
/// where a run of white space ends where what follows says ([`Scan::step`] relies on it).
pub(super) trait BitmaskRules: ScalarRules {
    /// The starts in a batch that begins at the start of a piece.
    fn starts(&self, classes: &Classes, batch: &[u8; WIDTH]) -> PieceStarts;

    /// How words go on: a piece that reaches to a character which goes on reaches to the first that does not.
    fn word(&self, classes: &Classes) -> WordMasks;
}

/// One scan: from `start`, the start of a piece, as many ends of pieces as are easily found, at least one.
struct Scan<'a, R> {
    rules: R,
    segment: &'a [u8],
    start: usize,
    ends: &'a mut [usize],
    /// [`WIDTH`]; less in tests, so that little texts have many edges.
    width: usize,
}

impl<R: BitmaskRules> Scan<'_, R> {
    /// How many ends were found. Inlined into a function for each level, so that all of it is compiled for that one.
    #[inline(always)]
    fn run<T: Backend>(mut self, level: T) -> usize {
        let (mut at, mut filled) = (self.start, 0);
        while self.ends.len() - filled >= WIDTH {
            let Some(batch) = self.segment.get(at..).and_then(<[u8]>::first_chunk::<WIDTH>) else { break };
            (at, filled) = self.batch(level, batch, self.width, at, filled);
        }
        let rest = self.segment.get(at..).unwrap_or_default();
        if rest.len() < WIDTH && self.ends.len() - filled >= WIDTH && !rest.is_empty() {
            (at, filled) = self.batch(level, &padded(rest), rest.len().min(self.width), at, filled);
        }
        if self.segment.len() - at < WIDTH || filled == 0 {
            while at < self.segment.len() && filled < self.ends.len() {
                (at, filled) = self.step(at, filled);
            }
        }
        filled
    }

    /// The pieces of one batch of which the first `width` bytes count, from `at` on; at least one. There must be room for
    /// [`WIDTH`] ends.
    #[inline(always)]
    fn batch<T: Backend>(
        &mut self,
        level: T,
        batch: &[u8; WIDTH],
        width: usize,
        mut at: usize,
        mut filled: usize,
    ) -> (usize, usize) {
        prefetch(self.segment, at + AHEAD);
        let classes = Classes::new(level, batch, width);
        let PieceStarts { starts, unresolved } = self.rules.starts(&classes, batch);
        let starts = starts & !1 & u64::MAX >> (WIDTH - width);
        let doubt = at + unresolved.trailing_zeros() as usize;
        match self.ends.get_mut(filled..).and_then(<[usize]>::first_chunk_mut::<WIDTH>) {
            Some(room) if starts != 0 => {
                level.positions(starts, at, room);
                filled += starts.count_ones() as usize;
                at += starts.ilog2() as usize;
            }
            _ => match self.long_word(level, &classes, at, unresolved) {
                Some(end) => {
                    self.ends[filled] = end;
                    (at, filled) = (end, filled + 1);
                }
                None => (at, filled) = self.step(at, filled),
            },
        }
        while unresolved != 0 && at <= doubt && at < self.segment.len() && filled < self.ends.len() {
            (at, filled) = self.step(at, filled);
        }
        (at, filled)
    }

    /// The end of a word that is longer than the batch at `at`, if words of bits tell it: in Chinese and Japanese words
    /// are clauses, and a walker takes a step for each of their characters.
    #[inline(always)]
    fn long_word<T: Backend>(&self, level: T, classes: &Classes, at: usize, unresolved: u64) -> Option<usize> {
        // Nothing said of starts from an apostrophe on whose letters may be beyond the end: they may be there all the same.
        let open_apostrophe = classes.apostrophe >> (WIDTH - 3) != 0;
        if unresolved != 0 || open_apostrophe || self.rules.word(classes).continues & classes.top == 0 {
            return None;
        }
        let mut pos = at + classes.len();
        loop {
            let rest = self.segment.get(pos..).filter(|rest| !rest.is_empty());
            let Some(rest) = rest else { return Some(pos) };
            let classes = match rest.first_chunk::<WIDTH>() {
                Some(batch) => Classes::new(level, batch, self.width),
                None => Classes::new(level, &padded(rest), rest.len().min(self.width)),
            };
            let WordMasks { continues, ends } = self.rules.word(&classes);
            let length = continues.trailing_ones() as usize;
            if length < classes.len() || length == 0 {
                return (ends >> length & 1 == 1).then_some(pos + length);
            }
            pos += length;
        }
    }

    /// The walker's next piece. In a long run of spaces the walker begins near the end, which gives the same end, as [`BitmaskRules`] say.
    #[inline(always)]
    fn step(&mut self, at: usize, filled: usize) -> (usize, usize) {
        let end = self.rules.piece_end(self.segment, after_spaces(self.segment, at));
        self.ends[filled] = end;
        (end, filled + 1)
    }
}

/// `at`, or a place behind it in the same run of spaces, with one space at least behind that place.
#[inline(always)]
fn after_spaces(segment: &[u8], mut at: usize) -> usize {
    // Those passed over, the one where the walker begins, and the one behind it.
    const SPACES: [u8; WIDTH + 2] = [b' '; WIDTH + 2];
    while segment.get(at..).is_some_and(|rest| rest.starts_with(&SPACES)) {
        at += WIDTH;
    }
    at
}

/// The last bytes of a segment as a batch. What follows them is no character of any class, as behind the width of a batch.
#[inline(always)]
fn padded(rest: &[u8]) -> [u8; WIDTH] {
    let mut batch = [0; WIDTH];
    batch[..rest.len()].copy_from_slice(rest);
    batch
}

/// The scanner of `R` in the best level of this machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct SimdScanner<R> {
    rules: R,
    level: SimdLevel,
}

impl<R> SimdScanner<R> {
    /// Asks the machine what it can do.
    pub(super) fn new(rules: R) -> Self {
        Self { rules, level: SimdLevel::detect_best() }
    }
}

impl<R: BitmaskRules> Scanner for SimdScanner<R> {
    fn fill(&mut self, segment: &[u8], start: usize, ends: &mut [usize]) -> Result<usize> {
        Ok(self.level.run(Scan { rules: self.rules, segment, start, ends, width: WIDTH }))
    }
}
