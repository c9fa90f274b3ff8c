//! Merges that are there before training begins: a vocabulary that is to be extended.
//!
//! They go through the same step as learned ones, in their order, so ids, ties and the state of the text are what they were
//! when the vocabulary was made. A pair that does not occur in these counts becomes a token all the same.

use super::merge_loop::Run;
use super::tie_break::Candidate;
use crate::{Error, Result};

/// One merge: internal ids of both parts, and the special whose id it takes, an index into `Options::specials`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Left part.
    pub left: u32,
    /// Right part.
    pub right: u32,
    /// The special that it spells (mode `hf`).
    pub special: Option<u32>,
}

impl Run<'_> {
    /// Makes the merges of `Options::replay`.
    pub(super) fn replay(&mut self) -> Result<()> {
        for (index, &Replayed { left, right, special }) in self.options.replay.iter().enumerate() {
            if left.max(right) as usize >= 256 + index {
                let reason = format!("names a part that merge {index} or a later one makes");
                return Err(Error::InvalidMerges { index, left, right, reason });
            }
            match self.required.find(left, right) {
                Some(pair) => {
                    let bound = self.recount(pair);
                    self.merge(Candidate { bound, key: 0, pair, left, right }, Some(special));
                }
                None => {
                    self.mint(left, right, 0, Some(special));
                }
            }
        }
        self.required.forget_names();
        self.required.check_room(self.options.n_merges.saturating_sub(self.slots), &self.arena, &self.tokens)
    }
}
