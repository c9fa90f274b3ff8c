//! Splitting a segment into pieces: the seam on one screen.
//!
//! A *segment* is the text between special tokens or document ends; a *piece* is what the split pattern cuts out of it.
//! Pieces tile their segment: what a pattern does not match is a piece of its own. No pattern looks behind, so from the
//! start of a piece only the text to its right matters; that is why a scanner can resume at any piece start.
//!
//! To add a pattern: one file here, and one line in [`NAMED`].

use crate::Result;

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
    /// which must be the start of a piece. Returns how many were written: `ends.len()`, or fewer if the segment ended.
    ///
    /// # Errors
    /// A custom pattern that ran into its backtracking limit.
    fn fill(&mut self, segment: &[u8], start: usize, ends: &mut [usize]) -> Result<usize>;

    /// What has not been matched since the scanner was made.
    fn gaps(&self) -> Gaps {
        Gaps::default()
    }
}
