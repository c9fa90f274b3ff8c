//! The scanner of a pattern whose rules are code: one step per piece, no state between pieces.

use super::Scanner;
use crate::Result;

/// The rules of one pattern.
pub(super) trait Walk: Copy + Send + Sync + 'static {
    /// The end of the piece that starts at `at`, which is inside `bytes`. It is greater than `at`.
    fn advance(&self, bytes: &[u8], at: usize) -> usize;
}

/// Walks over a segment by the rules of `W`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walker<W>(pub(super) W);

impl<W: Walk> Scanner for Walker<W> {
    fn fill(&mut self, segment: &[u8], start: usize, ends: &mut [usize]) -> Result<usize> {
        let (mut at, mut filled) = (start, 0);
        for slot in ends {
            if at >= segment.len() {
                break;
            }
            at = self.0.advance(segment, at);
            *slot = at;
            filled += 1;
        }
        Ok(filled)
    }
}
