//! Positions that begin a piece whatever stands to their left: where a long document may be cut for several workers.
//!
//! In every named pattern but `whole` that is white space after a letter or number, and a letter or number after a
//! newline. UTF-8 tells its starts by itself, so one look at the character before a position suffices.

use super::class::{END, LETTERS, NUMBERS, Set, W, char_len, class_at, is};
use super::rules::is_newline;

/// Which positions are certain.
#[derive(Clone, Copy, Debug)]
pub(super) enum Starts {
    /// None.
    None,
    /// White space after a letter or number, a letter or number after a newline.
    Words,
}

const WORDS: Set = LETTERS | NUMBERS;

impl Starts {
    /// The first certain position from `from` on, the trivial 0 excepted.
    pub(super) fn next(self, segment: &[u8], from: usize) -> Option<usize> {
        match self {
            Self::None => None,
            Self::Words => (from.max(1)..segment.len()).find(|&at| is_certain(segment, at)),
        }
    }
}

/// Whether a piece starts at `at`, which is neither the start nor the end of the segment.
fn is_certain(segment: &[u8], at: usize) -> bool {
    let after = class_at(segment, at).0;
    (after == W && is(class_before(segment, at), WORDS)) || (is_newline(segment[at - 1]) && is(after, WORDS))
}

/// The class of the character that ends at `at`. A well-formed sequence is one character, whatever surrounds it, so the
/// longest that ends here is it; a byte of none is one by itself.
fn class_before(segment: &[u8], at: usize) -> u8 {
    (1..=at.min(4))
        .rev()
        .map(|length| at - length)
        .find(|&start| char_len(segment, start) == at - start)
        .map_or(END, |start| class_at(segment, start).0)
}
