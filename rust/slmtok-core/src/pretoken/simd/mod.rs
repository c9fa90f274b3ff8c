//! Bitmask scanning: 64 bytes at a time become one 64-bit mask per character class, and the starts of pieces are computed by
//! shifts and ands of these masks.
//!
//! The first block begins at the start of a piece, so no state is carried over (no named pattern looks behind). Starts that later bytes
//! could change are not used; the next block begins at the last start that was found. Where masks cannot decide (a piece
//! longer than the block, the end of the segment, the rare characters that the rules leave unresolved), the scalar rules take
//! one step. The scalar rules also define the result: tests compare with them at every width and SIMD level.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod bitmask;
mod classes;
mod common_multibyte;
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

/// Bytes per block.
const WIDTH: usize = 64;

/// Prefetch distance. The table lookups of the encoder disturb the hardware prefetcher.
const PREFETCH_DISTANCE_BYTES: usize = 1024;

/// The piece starts of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct PieceStarts {
    /// Final starts. Bit 0 is undefined. Starts are missing only after an apostrophe near the end, in white space that
    /// touches the end, and from `unresolved` on.
    starts: u64,
    /// The bit of the first character that needs the scalar rules, or 0. No bit of `starts` is above it.
    unresolved: u64,
}

/// Which characters extend or end a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct WordMasks {
    /// Characters that extend a word.
    continues: u64,
    /// Characters that end a word.
    ends: u64,
}

/// The splitting rules on bitmasks. In a run of at least three spaces the end of the piece must be the same from the first and
/// from the second space; [`Scan::step`] relies on this.
pub(super) trait BitmaskRules: ScalarRules {
    /// Piece starts in a block that begins at the start of a piece.
    fn starts(&self, classes: &Classes, block: &[u8; WIDTH]) -> PieceStarts;

    /// How words continue: a piece that contains a character of `continues` contains all up to the first other character.
    fn word(&self, classes: &Classes) -> WordMasks;
}

/// One call of the scanner: finds at least one piece end from `start`, the start of a piece.
struct Scan<'a, R> {
    rules: R,
    segment: &'a [u8],
    start: usize,
    ends: &'a mut [usize],
    /// [`WIDTH`]; tests use less, so that short texts have many block boundaries.
    width: usize,
}

impl<R: BitmaskRules> Scan<'_, R> {
    /// Number of ends found. Inlined into one function per SIMD level, so that it is compiled with those instructions.
    #[inline(always)]
    fn run<T: Backend>(mut self, level: T) -> usize {
        let (mut at, mut filled) = (self.start, 0);
        while self.ends.len() - filled >= WIDTH {
            let Some(block) = self.segment.get(at..).and_then(<[u8]>::first_chunk::<WIDTH>) else { break };
            (at, filled) = self.block(level, block, self.width, at, filled);
        }
        let rest = self.segment.get(at..).unwrap_or_default();
        if rest.len() < WIDTH && self.ends.len() - filled >= WIDTH && !rest.is_empty() {
            (at, filled) = self.block(level, &padded(rest), rest.len().min(self.width), at, filled);
        }
        if self.segment.len() - at < WIDTH || filled == 0 {
            while at < self.segment.len() && filled < self.ends.len() {
                (at, filled) = self.step(at, filled);
            }
        }
        filled
    }

    /// Finds at least one piece in the first `width` bytes of the block at `at`. `ends` must have [`WIDTH`] free slots.
    #[inline(always)]
    fn block<T: Backend>(
        &mut self,
        level: T,
        block: &[u8; WIDTH],
        width: usize,
        mut at: usize,
        mut filled: usize,
    ) -> (usize, usize) {
        prefetch(self.segment, at + PREFETCH_DISTANCE_BYTES);
        let classes = Classes::new(level, block, width);
        let PieceStarts { starts, unresolved } = self.rules.starts(&classes, block);
        let starts = starts & !1 & u64::MAX >> (WIDTH - width);
        let unresolved_at = at + unresolved.trailing_zeros() as usize;
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
        while unresolved != 0 && at <= unresolved_at && at < self.segment.len() && filled < self.ends.len() {
            (at, filled) = self.step(at, filled);
        }
        (at, filled)
    }

    /// End of a word that is longer than the block at `at`, if masks can decide it. In Chinese and Japanese whole clauses are
    /// words, for which the scalar rules need one step per character.
    #[inline(always)]
    fn long_word<T: Backend>(&self, level: T, classes: &Classes, at: usize, unresolved: u64) -> Option<usize> {
        // An apostrophe within 3 bytes of the end suppresses starts, so the absence of starts does not prove a long word.
        let apostrophe_near_end = classes.apostrophe >> (WIDTH - 3) != 0;
        if unresolved != 0 || apostrophe_near_end || self.rules.word(classes).continues & classes.last_byte == 0 {
            return None;
        }
        let mut pos = at + classes.len();
        loop {
            let rest = self.segment.get(pos..).filter(|rest| !rest.is_empty());
            let Some(rest) = rest else { return Some(pos) };
            let classes = match rest.first_chunk::<WIDTH>() {
                Some(block) => Classes::new(level, block, self.width),
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

    /// The next piece by the scalar rules. In a long run of spaces they start near its end, which [`BitmaskRules`] permits.
    #[inline(always)]
    fn step(&mut self, at: usize, filled: usize) -> (usize, usize) {
        let end = self.rules.piece_end(self.segment, skip_spaces(self.segment, at));
        self.ends[filled] = end;
        (end, filled + 1)
    }
}

/// `at`, or a later position in the same run of spaces that is followed by at least one more space.
#[inline(always)]
fn skip_spaces(segment: &[u8], mut at: usize) -> usize {
    // The skipped spaces, the space at the result, and the space after it.
    const SPACES: [u8; WIDTH + 2] = [b' '; WIDTH + 2];
    while segment.get(at..).is_some_and(|rest| rest.starts_with(&SPACES)) {
        at += WIDTH;
    }
    at
}

/// The last bytes of a segment, padded to a block. The padding is after `width` and ignored.
#[inline(always)]
fn padded(rest: &[u8]) -> [u8; WIDTH] {
    let mut block = [0; WIDTH];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// The scanner for the rules `R` at the best SIMD level of the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct SimdScanner<R> {
    rules: R,
    level: SimdLevel,
}

impl<R> SimdScanner<R> {
    /// Detects the SIMD level.
    pub(super) fn new(rules: R) -> Self {
        Self { rules, level: SimdLevel::detect_best() }
    }
}

impl<R: BitmaskRules> Scanner for SimdScanner<R> {
    fn fill(&mut self, segment: &[u8], start: usize, ends: &mut [usize]) -> Result<usize> {
        Ok(self.level.run(Scan { rules: self.rules, segment, start, ends, width: WIDTH }))
    }
}
