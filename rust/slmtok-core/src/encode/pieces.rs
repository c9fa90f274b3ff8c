//! Some pieces of a text, one behind the other.

use std::ops::Range;

/// As the scanner gives them: where the first begins, and where each ends.
#[derive(Clone, Copy)]
pub struct Pieces<'a> {
    pub text: &'a [u8],
    pub start: usize,
    pub ends: &'a [usize],
}

impl Pieces<'_> {
    /// Where the piece numbered `at` is.
    #[inline(always)]
    pub fn range(self, at: usize) -> Range<usize> {
        (if at == 0 { self.start } else { self.ends[at - 1] })..self.ends[at]
    }
}
