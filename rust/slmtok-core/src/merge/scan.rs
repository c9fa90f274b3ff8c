//! The scan kernel for short pieces: find the smallest merged id, the leftmost of equals; merge; repeat.
//!
//! Symbols stay in place, in arrays on the stack, as a doubly linked list. Each pair has a priority, its merged id above its
//! position, so that the pair of least priority is merged next. There is a sentinel, which merges with nothing, at either end, so
//! a merge needs no test for neighbours: both new pairs are looked up at once, and their memory stalls overlap. Quadratic, so it never
//! runs above [`MAX_SYMBOLS`].

use super::pair_table::{NONE, PairTable, SENTINEL};
#[cfg(target_arch = "x86_64")]
use super::scan_avx512::{MAX_SYMBOLS_AVX512, ScanAvx512};

/// The longest piece.
pub const MAX_SYMBOLS: usize = 126;
/// Array sizes, powers of two, including both sentinels. A short piece gets short arrays, because clearing long ones would
/// take much of its time.
const SIZES: [usize; 3] = [16, 32, MAX_SYMBOLS + 2];
/// Bits of a position, below the merged id.
const POSITION_BITS: u32 = 7;
/// Priorities of pairs that merge to nothing are at least this.
const NO_MERGE: u32 = NONE << POSITION_BITS;

const _: () = assert!(MAX_SYMBOLS + 2 == 1 << POSITION_BITS);

/// Encodes `piece`, of at most [`MAX_SYMBOLS`] bytes, into `ids`.
pub fn merge_by_scan(pairs: &PairTable, piece: &[u8], ids: &mut Vec<u32>) {
    #[cfg(target_arch = "x86_64")]
    if (1..=MAX_SYMBOLS_AVX512).contains(&piece.len())
        && let Some(avx512) = ScanAvx512::detect()
    {
        return avx512.merge(pairs, piece, ids);
    }
    merge_by_scan_portable(pairs, piece, ids);
}

/// As [`merge_by_scan`], on every machine.
pub fn merge_by_scan_portable(pairs: &PairTable, piece: &[u8], ids: &mut Vec<u32>) {
    match piece.len() + 2 {
        n if n <= SIZES[0] => merge_in_arrays::<{ SIZES[0] }>(pairs, piece, ids),
        n if n <= SIZES[1] => merge_in_arrays::<{ SIZES[1] }>(pairs, piece, ids),
        _ => merge_in_arrays::<{ SIZES[2] }>(pairs, piece, ids),
    }
}

/// The priority of the pair at `position`, the least first; at least [`NO_MERGE`] if it merges to nothing.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "positions are below 128")]
fn priority(merged: u32, position: usize) -> u32 {
    merged << POSITION_BITS | position as u32
}

/// The least priority. One by one in the shortest array: a vector load would stall on the scalar stores of the previous merge.
#[inline(always)]
fn least_of<const N: usize>(priorities: &[u32]) -> u32 {
    if N == SIZES[0] {
        return priorities.iter().fold(NONE, |least, priority| least.min(*std::hint::black_box(priority)));
    }
    priorities.iter().fold(NONE, |least, &priority| least.min(priority))
}

/// Symbol `k` is at position `k + 1`.
#[expect(clippy::cast_possible_truncation, reason = "positions are below 128")]
fn merge_in_arrays<const N: usize>(pairs: &PairTable, piece: &[u8], ids: &mut Vec<u32>) {
    let n = piece.len();
    let (mut symbols, mut priorities, mut next, mut previous) = ([SENTINEL; N], [NONE; N], [0_u8; N], [0_u8; N]);
    for (position, &byte) in (1..).zip(piece) {
        symbols[position] = u32::from(byte);
    }
    for position in 0..=n {
        (next[position], previous[position + 1]) = (position as u8 + 1, position as u8);
    }
    for (position, pair) in (1..).zip(piece.windows(2)) {
        priorities[position] = priority(pairs.merged_bytes(pair[0], pair[1]), position);
    }
    loop {
        let least = least_of::<N>(&priorities[..n]);
        if least >= NO_MERGE {
            break;
        }
        let (merged, position) = (least >> POSITION_BITS, least as usize % N);
        let removed = usize::from(next[position]) % N;
        let (left, right) = (usize::from(previous[position]) % N, usize::from(next[removed]) % N);
        let (with_left, with_right) = pairs.merged_around(symbols[left], merged, symbols[right]);
        symbols[position] = merged;
        (next[position], previous[right]) = (right as u8, position as u8);
        priorities[removed] = NONE;
        priorities[left] = priority(with_left, left);
        priorities[position] = priority(with_right, position);
    }
    ids.clear();
    let mut position = 1;
    while position <= n {
        ids.push(symbols[position]);
        position = usize::from(next[position]);
    }
}
