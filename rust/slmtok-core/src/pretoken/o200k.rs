//! The pattern of o200k: words are cut by case and take one contraction along; marks belong to words.
//!
//! *Upper-ish* is an upper case letter, a letter without case or a mark; *lower-ish* a lower case one, or those two.
//! The regex tries four words at each start; `word` spells their backtracking out. Each of its scans is bounded by the
//! two pieces that follow, so that the whole is linear.

use super::cl100k::group;
use super::class::{BOTH, LETTERS, LOWERISH, MARK, N, OTHERS, Set, UPPERISH, W, class_at, is, lowerish, run};
use super::rules::{contraction, is_newline, white_space};
use super::walker::Walk;

#[derive(Clone, Copy, Debug)]
pub(super) struct O200k;

const EITHER: Set = 1 << BOTH | 1 << MARK;

impl Walk for O200k {
    #[inline(always)]
    fn advance(&self, bytes: &[u8], at: usize) -> usize {
        let (here, length) = class_at(bytes, at);
        let byte = bytes[at];
        let prefix = if is(here, LETTERS) || here == N || is_newline(byte) { 0 } else { length };
        let end = word(bytes, at, prefix);
        if end > 0 {
            return end + suffix(bytes, end);
        }
        let next = at + length;
        if here == N {
            return group::<3>(bytes, next);
        }
        if here != W || (byte == b' ' && is(class_at(bytes, next).0, OTHERS)) {
            return newlines_and_slashes(bytes, run(bytes, next, OTHERS));
        }
        white_space::<true, false>(bytes, at)
    }
}

/// The end of the word at `at`, with or without the `prefix` bytes that may stand before it; 0 if there is none.
#[inline(always)]
fn word(bytes: &[u8], at: usize, prefix: usize) -> usize {
    let (with, without) = (at + prefix, at);
    let mut end = 0;
    if prefix > 0 {
        end = lower_word(bytes, with);
    }
    if end == 0 {
        end = lower_word(bytes, without);
    }
    if end == 0 && prefix > 0 {
        end = upper_word(bytes, with);
    }
    if end == 0 {
        end = upper_word(bytes, without);
    }
    end
}

/// `[upper-ish]*[lower-ish]+` at `at`: its end, 0 if there is none.
#[inline(always)]
fn lower_word(bytes: &[u8], at: usize) -> usize {
    let (mut end, mut last_either) = (at, 0);
    let stop = loop {
        let (class, length) = class_at(bytes, end);
        if !is(class, UPPERISH) {
            break class;
        }
        end += length;
        if is(class, EITHER) {
            last_either = end;
        }
    };
    // Behind the upper-ish run only a lower case letter can be lower-ish; else the run gives back what it must.
    if is(stop, LOWERISH) { lowerish(bytes, end) } else { last_either }
}

/// `[upper-ish]+[lower-ish]*` at `at`: its end, 0 if there is none.
#[inline(always)]
fn upper_word(bytes: &[u8], at: usize) -> usize {
    let end = run(bytes, at, UPPERISH);
    if end > at { lowerish(bytes, end) } else { 0 }
}

/// The length of the contraction that directly follows a word, 0 if there is none.
#[inline(always)]
fn suffix(bytes: &[u8], at: usize) -> usize {
    if bytes.get(at) == Some(&b'\'') { contraction::<true>(bytes, at) } else { 0 }
}

/// The end of the newlines and slashes at `at`.
#[inline(always)]
fn newlines_and_slashes(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|&byte| is_newline(byte) || byte == b'/') {
        at += 1;
    }
    at
}
