//! The reference implementation of merging, quadratic: every kernel is tested against it.

use super::pair_table::{NONE, PairTable};

/// The ids of a piece by the definition of BPE: replace the pair of lowest rank, the leftmost of equals, until none is left.
#[must_use]
pub fn merge_by_definition(pairs: &PairTable, piece: &[u8]) -> Vec<u32> {
    let mut ids: Vec<u32> = piece.iter().map(|&byte| u32::from(byte)).collect();
    loop {
        let merged = |at: usize| pairs.merged(ids[at], ids[at + 1]);
        let Some(best) = (0..ids.len().saturating_sub(1)).min_by_key(|&at| (merged(at), at)) else { return ids };
        let id = merged(best);
        if id == NONE {
            return ids;
        }
        ids.splice(best..=best + 1, [id]);
    }
}
