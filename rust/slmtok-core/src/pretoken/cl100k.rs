//! The patterns of the cl100k family: `cl100k`, the dialect of its converted files `cl100k-hf`, and `slm`.
//!
//! They differ in how many digits make a group and in white space that touches the end of the segment.

use super::class::{LETTERS, N, NUMBERS, OTHERS, W, class_at, is, letters, run};
use super::rules::{contraction, is_newline, white_space};
use super::walker::Walk;

/// `GROUP` digits in a group; `WHOLE_END`: white space that touches the end is one piece (`\s++$`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Cl100k<const GROUP: usize, const WHOLE_END: bool>;

impl<const GROUP: usize, const WHOLE_END: bool> Walk for Cl100k<GROUP, WHOLE_END> {
    #[inline(always)]
    fn advance(&self, bytes: &[u8], at: usize) -> usize {
        let (here, length) = class_at(bytes, at);
        let next = at + length;
        if is(here, LETTERS) {
            return letters(bytes, next);
        }
        let byte = bytes[at];
        if byte == b'\'' {
            let length = contraction::<true>(bytes, at);
            if length > 0 {
                return at + length;
            }
        }
        if here == N {
            return group::<GROUP>(bytes, next);
        }
        let (after, more) = class_at(bytes, next);
        if is(after, LETTERS) && !is_newline(byte) {
            return letters(bytes, next + more);
        }
        if here != W || (byte == b' ' && is(after, OTHERS)) {
            return newlines(bytes, run(bytes, next, OTHERS));
        }
        white_space::<true, WHOLE_END>(bytes, at)
    }
}

/// The end of a group of digits, the first of which ends at `at`.
#[inline(always)]
pub(super) fn group<const GROUP: usize>(bytes: &[u8], mut at: usize) -> usize {
    for _ in 1..GROUP {
        let (class, length) = class_at(bytes, at);
        if !is(class, NUMBERS) {
            break;
        }
        at += length;
    }
    at
}

/// The end of the newlines at `at`.
#[inline(always)]
fn newlines(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|&byte| is_newline(byte)) {
        at += 1;
    }
    at
}
