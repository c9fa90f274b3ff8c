//! The slow twin of all kernels: find the lowest id that a pair makes, leftmost of equals; replace it; repeat.

use super::pair_table::{NONE, PairTable};

/// The definition of encoding one piece.
#[must_use]
pub fn merge_by_definition(pairs: &PairTable, piece: &[u8]) -> Vec<u32> {
    let mut ids: Vec<u32> = piece.iter().map(|&byte| u32::from(byte)).collect();
    loop {
        let made = |at: usize| pairs.made(ids[at], ids[at + 1]);
        let Some(best) = (0..ids.len().saturating_sub(1)).min_by_key(|&at| (made(at), at)) else { return ids };
        let id = made(best);
        if id == NONE {
            return ids;
        }
        ids.splice(best..=best + 1, [id]);
    }
}
