//! Scalar rules of the named patterns, one step per piece, and the scanner that runs them.
//!
//! The rules define where pieces end; the bitmask rules of `simd` are tested against them. No named pattern looks behind:
//! the end of a piece depends only on the text to the right of its start.

use super::Scanner;
use super::char_class::{
    BOTH, END, LETTERS, LOWERISH, MARK, N, NUMBERS, OTHERS, SPACES, Set, UPPERISH, W, char_len, class_at, is, letters,
    lowerish, run,
};
use crate::Result;

/// The rules of one pattern.
pub(super) trait ScalarRules: Copy + Send + Sync + 'static {
    /// The end of the piece that starts at `at`, which is inside `bytes`. It is greater than `at`.
    fn piece_end(&self, bytes: &[u8], at: usize) -> usize;
}

/// Walks over a segment by the rules of `W`.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScalarScanner<W>(pub(super) W);

impl<W: ScalarRules> Scanner for ScalarScanner<W> {
    fn fill(&mut self, segment: &[u8], start: usize, ends: &mut [usize]) -> Result<usize> {
        let (mut at, mut filled) = (start, 0);
        for slot in ends {
            if at >= segment.len() {
                break;
            }
            at = self.0.piece_end(segment, at);
            *slot = at;
            filled += 1;
        }
        Ok(filled)
    }
}

/// Length of the contraction at the apostrophe `at`, 0 if there is none. `FOLD`: in any case, U+017F being an `s`.
#[inline(always)]
pub(super) fn contraction<const FOLD: bool>(bytes: &[u8], at: usize) -> usize {
    let fold = |byte: u8| if FOLD { byte | 0x20 } else { byte };
    let tail = bytes.get(at + 1..).unwrap_or_default();
    match *tail {
        [first, ..] if matches!(fold(first), b's' | b'd' | b'm' | b't') => 2,
        [first, second, ..] => match (fold(first), fold(second)) {
            (b'l', b'l') | (b'v' | b'r', b'e') => 3,
            _ if FOLD && (first, second) == (0xC5, 0xBF) => 3,
            _ => 0,
        },
        _ => 0,
    }
}

/// The end of a piece of white space that starts at `at`, where nothing to its right wants its last character.
///
/// `NEWLINES`: up to its last newline it is one piece (`\s*[\r\n]`). `WHOLE_END`: touching the end of the segment it is
/// one piece before all else (`\s++$`). A run makes at most three pieces, so looking at all of it each time is linear.
#[inline(always)]
pub(super) fn white_space<const NEWLINES: bool, const WHOLE_END: bool>(bytes: &[u8], at: usize) -> usize {
    let (mut end, mut last, mut after_newline) = (at, at, 0);
    let next = loop {
        let (class, length) = class_at(bytes, end);
        if class != W {
            break class;
        }
        last = end;
        end += length;
        if NEWLINES && is_newline(bytes[last]) {
            after_newline = end;
        }
    };
    if WHOLE_END && next == END {
        end
    } else if NEWLINES && after_newline > 0 {
        after_newline
    } else if next == END || last == at {
        end
    } else {
        last
    }
}

/// `\r` or `\n`.
#[inline(always)]
pub(super) const fn is_newline(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Gpt2;

impl ScalarRules for Gpt2 {
    #[inline(always)]
    fn piece_end(&self, bytes: &[u8], at: usize) -> usize {
        let (here, length) = class_at(bytes, at);
        if here == W {
            let (after, more) = class_at(bytes, at + 1);
            if bytes[at] != b' ' || after == W || after == END {
                return white_space::<false, true>(bytes, at);
            }
            return rest(bytes, at + 1 + more, after);
        }
        if bytes[at] == b'\'' {
            let length = contraction::<false>(bytes, at);
            if length > 0 {
                return at + length;
            }
        }
        rest(bytes, at + length, here)
    }
}

/// The end of a run of this class, of which the characters before `at` are part.
#[inline(always)]
fn rest(bytes: &[u8], at: usize, class: u8) -> usize {
    if is(class, LETTERS) {
        letters(bytes, at)
    } else if class == N {
        run(bytes, at, NUMBERS)
    } else {
        run(bytes, at, OTHERS)
    }
}

/// `GROUP` digits in a group; `WHOLE_END`: white space that touches the end is one piece (`\s++$`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Cl100k<const GROUP: usize, const WHOLE_END: bool>;

impl<const GROUP: usize, const WHOLE_END: bool> ScalarRules for Cl100k<GROUP, WHOLE_END> {
    #[inline(always)]
    fn piece_end(&self, bytes: &[u8], at: usize) -> usize {
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

#[derive(Clone, Copy, Debug)]
pub(super) struct O200k;

const EITHER: Set = 1 << BOTH | 1 << MARK;

impl ScalarRules for O200k {
    #[inline(always)]
    fn piece_end(&self, bytes: &[u8], at: usize) -> usize {
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

/// The segment is one piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole;

impl ScalarRules for Whole {
    fn piece_end(&self, bytes: &[u8], _: usize) -> usize {
        bytes.len()
    }
}

/// Every character alone, an undecodable byte too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Char;

impl ScalarRules for Char {
    fn piece_end(&self, bytes: &[u8], at: usize) -> usize {
        at + char_len(bytes, at)
    }
}

/// Runs of letters, marks, numbers and `_`; runs of white space; every other character alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word;

const WORD: Set = LETTERS | 1 << MARK | 1 << N;

impl ScalarRules for Word {
    fn piece_end(&self, bytes: &[u8], at: usize) -> usize {
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
