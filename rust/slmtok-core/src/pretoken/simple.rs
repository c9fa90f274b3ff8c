//! Patterns without look-ahead: the whole segment, single characters, and runs of word characters.

use super::class::{LETTERS, MARK, N, SPACES, Set, char_len, class_at, is, run};
use super::walker::Walk;

/// The segment is one piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole;

impl Walk for Whole {
    fn advance(&self, bytes: &[u8], _: usize) -> usize {
        bytes.len()
    }
}

/// Every character alone, an undecodable byte too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Char;

impl Walk for Char {
    fn advance(&self, bytes: &[u8], at: usize) -> usize {
        at + char_len(bytes, at)
    }
}

/// Runs of letters, marks, numbers and `_`; runs of white space; every other character alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word;

const WORD: Set = LETTERS | 1 << MARK | 1 << N;

impl Walk for Word {
    fn advance(&self, bytes: &[u8], at: usize) -> usize {
        let (class, length) = class_at(bytes, at);
        if is(class, SPACES) {
            return run(bytes, at + length, SPACES);
        }
        let end = word_run(bytes, at);
        if end > at { end } else { at + length }
    }
}

/// The end of the run of word characters at `at`.
fn word_run(bytes: &[u8], mut at: usize) -> usize {
    loop {
        at = run(bytes, at, WORD);
        if bytes.get(at) != Some(&b'_') {
            return at;
        }
        at += 1;
    }
}
