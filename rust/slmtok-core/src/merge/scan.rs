//! The scan kernel for short pieces: find the smallest merged id, the leftmost of equals; merge; repeat.
//!
//! Symbols stay in place, in arrays on the stack, as a doubly linked list. Each pair has one number, its merged id above its
//! place, so that the least number is the pair to merge. Sentinels that merge with nothing stand at both ends, so a merge
//! needs no test for neighbours: both new pairs are looked up at once, and their cache misses overlap. Quadratic, so it never
//! runs above [`MAX_SYMBOLS`].

use super::pair_table::{NONE, PairTable, SENTINEL};
#[cfg(target_arch = "x86_64")]
use super::scan_avx512::{Avx512, MAX_SYMBOLS_AVX512};

/// The longest piece.
pub const MAX_SYMBOLS: usize = 126;
/// Array sizes, powers of two, including both sentinels. A short piece gets short arrays, because clearing long ones would
/// take much of its time.
const SIZES: [usize; 3] = [16, 32, MAX_SYMBOLS + 2];
/// Bits of a place.
const PLACE_BITS: u32 = 7;
/// Numbers of pairs that merge to nothing are at least this.
const NO_MERGE: u32 = NONE << PLACE_BITS;

const _: () = assert!(MAX_SYMBOLS + 2 == 1 << PLACE_BITS);

/// Encodes `piece`, of at most [`MAX_SYMBOLS`] bytes, into `ids`.
pub fn merge_by_scan(pairs: &PairTable, piece: &[u8], ids: &mut Vec<u32>) {
    #[cfg(target_arch = "x86_64")]
    if (1..=MAX_SYMBOLS_AVX512).contains(&piece.len())
        && let Some(avx512) = Avx512::detect()
    {
        return avx512.merge(pairs, piece, ids);
    }
    merge_by_scan_portable(pairs, piece, ids);
}

/// As [`merge_by_scan`], on every machine.
pub fn merge_by_scan_portable(pairs: &PairTable, piece: &[u8], ids: &mut Vec<u32>) {
    match piece.len() + 2 {
        n if n <= SIZES[0] => merge_within::<{ SIZES[0] }>(pairs, piece, ids),
        n if n <= SIZES[1] => merge_within::<{ SIZES[1] }>(pairs, piece, ids),
        _ => merge_within::<{ SIZES[2] }>(pairs, piece, ids),
    }
}

/// The number of the pair at `place`, which orders pairs by merge priority; at least [`NO_MERGE`] if it merges to nothing.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "places are below 128")]
fn priority(merged: u32, place: usize) -> u32 {
    merged << PLACE_BITS | place as u32 | if merged == NONE { NO_MERGE } else { 0 }
}

/// The least number. One by one in the shortest array: a vector load would stall on the scalar stores of the previous merge.
#[inline(always)]
fn least_of<const N: usize>(priorities: &[u32]) -> u32 {
    if N == SIZES[0] {
        return priorities.iter().fold(NONE, |least, priority| least.min(*std::hint::black_box(priority)));
    }
    priorities.iter().fold(NONE, |least, &priority| least.min(priority))
}

/// Symbol `k` is in place `k + 1`.
#[expect(clippy::cast_possible_truncation, reason = "places are below 128")]
fn merge_within<const N: usize>(pairs: &PairTable, piece: &[u8], ids: &mut Vec<u32>) {
    let n = piece.len();
    let (mut symbols, mut priorities, mut next, mut previous) = ([SENTINEL; N], [NONE; N], [0_u8; N], [0_u8; N]);
    for (place, &byte) in (1..).zip(piece) {
        symbols[place] = u32::from(byte);
    }
    for place in 0..=n {
        (next[place], previous[place + 1]) = (place as u8 + 1, place as u8);
    }
    for (place, pair) in (1..).zip(piece.windows(2)) {
        priorities[place] = priority(pairs.merged_bytes(pair[0], pair[1]), place);
    }
    loop {
        let least = least_of::<N>(&priorities[..n]);
        if least >= NO_MERGE {
            break;
        }
        let (merged, place) = (least >> PLACE_BITS, least as usize % N);
        let removed = usize::from(next[place]) % N;
        let (left, right) = (usize::from(previous[place]) % N, usize::from(next[removed]) % N);
        let (with_left, with_right) = pairs.merged_around(symbols[left], merged, symbols[right]);
        symbols[place] = merged;
        (next[place], previous[right]) = (right as u8, place as u8);
        priorities[removed] = NONE;
        priorities[left] = priority(with_left, left);
        priorities[place] = priority(with_right, place);
    }
    ids.clear();
    let mut place = 1;
    while place <= n {
        ids.push(symbols[place]);
        place = usize::from(next[place]);
    }
}
