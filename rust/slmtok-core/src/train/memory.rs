//! What the merge loop will need of memory, before it starts: for people who must know whether a machine is large enough.

use crate::count::Counts;

/// One position of the arena: a cell.
const POSITION: u64 = 8;
/// The postings of one position, laid down at its birth and by the merges after. Texts write 1.7 to 2.2 of 4 bytes each;
/// text in which all positions merge writes 3, the most that there can be.
const POSTINGS: u64 = 10;
/// Births noted in the largest step, pairs, and candidates of the heap, shared out among the positions.
const STEPS: u64 = 4;
/// A piece while the arena is laid out: its place in the order by counts, and its weight.
const PIECE: u64 = 32;

/// About how many bytes training from `counts` takes, the counts themselves not included. An estimate: measured runs stay
/// between half of it and all of it.
#[must_use]
pub fn merge_memory(counts: &Counts) -> u64 {
    let (mut bytes, mut pieces) = (0, 0);
    counts.for_each(|piece, _| {
        if piece.len() > 1 {
            bytes += piece.len() as u64;
            pieces += 1;
        }
    });
    // The text is copied into the order before it becomes cells.
    (bytes + pieces) * (POSITION + POSTINGS + STEPS) + bytes + pieces * PIECE
}
