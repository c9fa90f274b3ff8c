//! The kernel for short pieces: take the smallest id that a pair makes, leftmost of equals; join; repeat.
//!
//! Symbols stay where they are, in arrays on the stack, and know their neighbours. For each pair there is one number, the id
//! that it makes above its place, so that the least of these numbers is the pair to be joined. Before the first symbol and
//! behind the last stands one that makes nothing with any other, so no join asks whether it has neighbours: both new pairs
//! are looked up at once, and the waits for memory fall together. Quadratic, so never run above [`MAX_SYMBOLS`].

use super::pair_table::{NONE, PairTable, SENTINEL};
#[cfg(target_arch = "x86_64")]
use super::scan_avx512::{Avx512, MAX_LANES};

/// Above this another kernel takes over.
pub const MAX_SYMBOLS: usize = 126;
/// Sizes of the arrays, powers of two, with the symbols at both ends: much of the time for a short piece would go into clearing
/// long ones.
const SIZES: [usize; 3] = [16, 32, MAX_SYMBOLS + 2];
/// Bits for a place.
const PLACE: u32 = 7;
/// No pair joins above this.
const LAST: u32 = NONE << PLACE;

const _: () = assert!(MAX_SYMBOLS + 2 == 1 << PLACE);

/// Symbols of `piece`, at most [`MAX_SYMBOLS`] bytes, into `ids`.
pub fn merge_by_scan(pairs: &PairTable, piece: &[u8], ids: &mut Vec<u32>) {
    #[cfg(target_arch = "x86_64")]
    if (1..=MAX_LANES).contains(&piece.len())
        && let Some(machine) = Avx512::detect()
    {
        return machine.merge(pairs, piece, ids);
    }
    merge_by_scan_portable(pairs, piece, ids);
}

/// The same on every machine.
pub fn merge_by_scan_portable(pairs: &PairTable, piece: &[u8], ids: &mut Vec<u32>) {
    match piece.len() + 2 {
        n if n <= SIZES[0] => merge_within::<{ SIZES[0] }>(pairs, piece, ids),
        n if n <= SIZES[1] => merge_within::<{ SIZES[1] }>(pairs, piece, ids),
        _ => merge_within::<{ SIZES[2] }>(pairs, piece, ids),
    }
}

/// The pair at `place`, which makes `made`, in the order of joining; at least [`LAST`] if it makes nothing.
#[inline(always)]
fn join(made: u32, place: usize) -> u32 {
    made << PLACE | place as u32 | if made == NONE { LAST } else { 0 }
}

/// The least of all, one by one where they are few: a vector would wait for the numbers that the last turn wrote to leave for
/// the cache.
#[inline(always)]
fn least_of<const N: usize>(joins: &[u32]) -> u32 {
    if N == SIZES[0] {
        return joins.iter().fold(NONE, |least, join| least.min(*std::hint::black_box(join)));
    }
    joins.iter().fold(NONE, |least, &join| least.min(join))
}

/// Symbol k stands in place k + 1.
fn merge_within<const N: usize>(pairs: &PairTable, piece: &[u8], ids: &mut Vec<u32>) {
    let n = piece.len();
    let (mut symbols, mut joins, mut next, mut before) = ([SENTINEL; N], [NONE; N], [0_u8; N], [0_u8; N]);
    for (place, &byte) in (1..).zip(piece) {
        symbols[place] = u32::from(byte);
    }
    for place in 0..=n {
        (next[place], before[place + 1]) = (place as u8 + 1, place as u8);
    }
    for (place, pair) in (1..).zip(piece.windows(2)) {
        joins[place] = join(pairs.made_of_bytes(pair[0], pair[1]), place);
    }
    loop {
        let least = least_of::<N>(&joins[..n]);
        if least >= LAST {
            break;
        }
        let (made, place) = (least >> PLACE, least as usize % N);
        let gone = usize::from(next[place]) % N;
        let (left, right) = (usize::from(before[place]) % N, usize::from(next[gone]) % N);
        let (with_left, with_right) = pairs.made_around(symbols[left], made, symbols[right]);
        symbols[place] = made;
        (next[place], before[right]) = (right as u8, place as u8);
        joins[gone] = NONE;
        joins[left] = join(with_left, left);
        joins[place] = join(with_right, place);
    }
    ids.clear();
    let mut place = 1;
    while place <= n {
        ids.push(symbols[place]);
        place = usize::from(next[place]);
    }
}
