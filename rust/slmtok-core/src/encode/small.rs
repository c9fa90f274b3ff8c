//! The kernel for short pieces: take the smallest id that a pair makes, leftmost of equals; join; repeat.
//!
//! Symbols stay where they are, in arrays on the stack, and know their neighbours. For each pair there is one number, the id
//! that it makes above its place, so that the least of these numbers is the pair to be joined. Quadratic, so never run
//! above [`MAX_SYMBOLS`].

use super::pair_table::{NONE, PairTable};

/// Above this another kernel takes over.
pub const MAX_SYMBOLS: usize = 128;
/// Most pieces are shorter than this, and most of the time for one would go into clearing arrays for more.
const FEW: usize = 16;
/// Bits for a place.
const PLACE: u32 = 7;

const _: () = assert!(MAX_SYMBOLS == 1 << PLACE);

/// Merges `ids`, at most [`MAX_SYMBOLS`] of them, in place.
pub fn merge_small(pairs: &PairTable, ids: &mut Vec<u32>) {
    if ids.len() <= FEW { merge_within::<FEW>(pairs, ids) } else { merge_within::<MAX_SYMBOLS>(pairs, ids) }
}

fn merge_within<const N: usize>(pairs: &PairTable, ids: &mut Vec<u32>) {
    let n = ids.len();
    let (mut symbols, mut joins, mut next, mut before) = ([0; N], [NONE; N], [0_u8; N], [0_u8; N]);
    let candidate = |left: u32, right: u32, place: usize| match pairs.made(left, right) {
        NONE => NONE,
        made => made << PLACE | place as u32,
    };
    symbols[..n].copy_from_slice(ids);
    for place in 0..n {
        (next[place], before[place]) = (place as u8 + 1, (place as u8).wrapping_sub(1));
    }
    for (place, pair) in ids.windows(2).enumerate() {
        joins[place] = candidate(pair[0], pair[1], place);
    }
    loop {
        let least = joins[..n].iter().fold(NONE, |least, &join| least.min(join));
        if least == NONE {
            break;
        }
        let (made, place) = (least >> PLACE, (least as usize) % MAX_SYMBOLS % N);
        let gone = usize::from(next[place]) % N;
        let after = usize::from(next[gone]);
        symbols[place] = made;
        next[place] = after as u8;
        joins[gone] = NONE;
        joins[place] = NONE;
        if after < n {
            before[after] = place as u8;
            joins[place] = candidate(made, symbols[after], place);
        }
        if place > 0 {
            let left = usize::from(before[place]) % N;
            joins[left] = candidate(symbols[left], made, left);
        }
    }
    ids.clear();
    let mut place = 0;
    while place < n {
        ids.push(symbols[place]);
        place = usize::from(next[place]);
    }
}
