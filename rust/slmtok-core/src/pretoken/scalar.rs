//! Scalar rules of the named patterns, one step per piece, and the scanner that runs them.
//!
//! The rules define where pieces end; the bitmask rules of `simd` are tested against them. No named pattern looks behind:
//! the end of a piece depends only on the text to the right of its start.

use super::Scanner;
use super::char_class::{
    CASELESS, END, LETTERS, LOWERISH, MARK, NUMBER, NUMBERS, OTHERS, SPACES, Set, UPPERISH, WHITE, char_len, class_at,
    is, letters, lowerish, run_end,
};
use crate::Result;

/// The splitting rules of one pattern.
pub(super) trait ScalarRules: Copy + Send + Sync + 'static {
    /// End of the piece that starts at `at < bytes.len()`; greater than `at`.
    fn piece_end(&self, bytes: &[u8], at: usize) -> usize;
}

/// Splits a segment by the rules of `R`.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScalarScanner<R>(pub(super) R);

impl<R: ScalarRules> Scanner for ScalarScanner<R> {
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

/// For [`contraction`]: only `'s`, `'ll` and others in lower case.
pub(super) const EXACT_CASE: bool = false;
/// For [`contraction`]: also `'S`, `'Ll` and others, and U+017F as `s`.
pub(super) const ANY_CASE: bool = true;

/// Length of the contraction at the apostrophe `at`; 0 if there is none. `CASE` is [`EXACT_CASE`] or [`ANY_CASE`].
#[inline(always)]
pub(super) fn contraction<const CASE: bool>(bytes: &[u8], at: usize) -> usize {
    let fold = |byte: u8| if CASE == ANY_CASE { byte | 0x20 } else { byte };
    let tail = bytes.get(at + 1..).unwrap_or_default();
    match *tail {
        [first, ..] if matches!(fold(first), b's' | b'd' | b'm' | b't') => 2,
        [first, second, ..] => match (fold(first), fold(second)) {
            (b'l', b'l') | (b'v' | b'r', b'e') => 3,
            _ if CASE == ANY_CASE && (first, second) == (0xC5, 0xBF) => 3,
            _ => 0,
        },
        _ => 0,
    }
}

/// End of the white space piece at `at`, if the following piece does not begin with its last character.
///
/// `NEWLINES`: text up to the last newline of the run is one piece (`\s*[\r\n]`). `WHOLE_END`: a run that touches the end of
/// the segment is one piece (`\s++$`). A run has at most three pieces, so scanning it for each of them stays linear.
#[inline(always)]
pub(super) fn white_space<const NEWLINES: bool, const WHOLE_END: bool>(bytes: &[u8], at: usize) -> usize {
    let (mut end, mut last, mut after_newline) = (at, at, 0);
    let next = loop {
        let (class, length) = class_at(bytes, end);
        if class != WHITE {
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

/// GPT-2: words, numbers and others, each with at most one space before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gpt2;

impl ScalarRules for Gpt2 {
    #[inline(always)]
    fn piece_end(&self, bytes: &[u8], at: usize) -> usize {
        let (here, length) = class_at(bytes, at);
        if here == WHITE {
            let (after, more) = class_at(bytes, at + 1);
            if bytes[at] != b' ' || after == WHITE || after == END {
                return white_space::<false, true>(bytes, at);
            }
            return class_run(bytes, at + 1 + more, after);
        }
        if bytes[at] == b'\'' {
            let length = contraction::<EXACT_CASE>(bytes, at);
            if length > 0 {
                return at + length;
            }
        }
        class_run(bytes, at + length, here)
    }
}

/// End of the run of `class` that contains the character before `at`.
#[inline(always)]
fn class_run(bytes: &[u8], at: usize, class: u8) -> usize {
    if is(class, LETTERS) {
        letters(bytes, at)
    } else if class == NUMBER {
        run_end(bytes, at, NUMBERS)
    } else {
        run_end(bytes, at, OTHERS)
    }
}

/// The cl100k family (`cl100k`, `cl100k-hf`, `slm`). `GROUP`: digits per group. `WHOLE_END`: white space that touches the end
/// of the segment is one piece (`\s++$`).
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
            let length = contraction::<ANY_CASE>(bytes, at);
            if length > 0 {
                return at + length;
            }
        }
        if here == NUMBER {
            return digit_group::<GROUP>(bytes, next);
        }
        let (after, more) = class_at(bytes, next);
        if is(after, LETTERS) && !is_newline(byte) {
            return letters(bytes, next + more);
        }
        if here != WHITE || (byte == b' ' && is(after, OTHERS)) {
            return newlines(bytes, run_end(bytes, next, OTHERS));
        }
        white_space::<true, WHOLE_END>(bytes, at)
    }
}

/// End of a group of digits whose first digit ends at `at`.
#[inline(always)]
fn digit_group<const GROUP: usize>(bytes: &[u8], mut at: usize) -> usize {
    for _ in 1..GROUP {
        let (class, length) = class_at(bytes, at);
        if !is(class, NUMBERS) {
            break;
        }
        at += length;
    }
    at
}

/// End of the newlines at `at`.
#[inline(always)]
fn newlines(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|&byte| is_newline(byte)) {
        at += 1;
    }
    at
}

/// o200k: words are split by case and include a following contraction; marks belong to words.
///
/// *Upper-ish* is an upper case letter, a letter without case or a mark; *lower-ish* a lower case letter or one of those two.
/// The regex has four alternatives for a word; `word` replays their backtracking. Each of its scans ends within the next two
/// pieces, so splitting stays linear.
#[derive(Clone, Copy, Debug)]
pub(super) struct O200k;

const EITHER: Set = 1 << CASELESS | 1 << MARK;

impl ScalarRules for O200k {
    #[inline(always)]
    fn piece_end(&self, bytes: &[u8], at: usize) -> usize {
        let (here, length) = class_at(bytes, at);
        let byte = bytes[at];
        let prefix = if is(here, LETTERS) || here == NUMBER || is_newline(byte) { 0 } else { length };
        let end = word(bytes, at, prefix);
        if end > 0 {
            return end + suffix(bytes, end);
        }
        let next = at + length;
        if here == NUMBER {
            return digit_group::<3>(bytes, next);
        }
        if here != WHITE || (byte == b' ' && is(class_at(bytes, next).0, OTHERS)) {
            return newlines_and_slashes(bytes, run_end(bytes, next, OTHERS));
        }
        white_space::<true, false>(bytes, at)
    }
}

/// End of the word at `at`, with or without its prefix of `prefix` bytes; 0 if there is none.
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

/// End of `[upper-ish]*[lower-ish]+` at `at`; 0 if it does not match.
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
    // After the upper-ish run only a lower case letter is lower-ish. Otherwise the run backtracks to its last shared class.
    if is(stop, LOWERISH) { lowerish(bytes, end) } else { last_either }
}

/// End of `[upper-ish]+[lower-ish]*` at `at`; 0 if it does not match.
#[inline(always)]
fn upper_word(bytes: &[u8], at: usize) -> usize {
    let end = run_end(bytes, at, UPPERISH);
    if end > at { lowerish(bytes, end) } else { 0 }
}

/// Length of the contraction that follows a word; 0 if there is none.
#[inline(always)]
fn suffix(bytes: &[u8], at: usize) -> usize {
    if bytes.get(at) == Some(&b'\'') { contraction::<ANY_CASE>(bytes, at) } else { 0 }
}

/// End of the newlines and slashes at `at`.
#[inline(always)]
fn newlines_and_slashes(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|&byte| is_newline(byte) || byte == b'/') {
        at += 1;
    }
    at
}

/// One piece per segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole;

impl ScalarRules for Whole {
    fn piece_end(&self, bytes: &[u8], _: usize) -> usize {
        bytes.len()
    }
}

/// One piece per character or invalid byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Char;

impl ScalarRules for Char {
    fn piece_end(&self, bytes: &[u8], at: usize) -> usize {
        at + char_len(bytes, at)
    }
}

/// Runs of letters, marks, numbers and `_`; runs of white space; single other characters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word;

const WORD: Set = LETTERS | 1 << MARK | 1 << NUMBER;

impl ScalarRules for Word {
    fn piece_end(&self, bytes: &[u8], at: usize) -> usize {
        let (class, length) = class_at(bytes, at);
        if is(class, SPACES) {
            return run_end(bytes, at + length, SPACES);
        }
        let end = word_run(bytes, at);
        if end > at { end } else { at + length }
    }
}

/// End of the run of word characters at `at`.
fn word_run(bytes: &[u8], mut at: usize) -> usize {
    loop {
        at = run_end(bytes, at, WORD);
        if bytes.get(at) != Some(&b'_') {
            return at;
        }
        at += 1;
    }
}
