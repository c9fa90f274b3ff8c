//! What the named patterns share: contractions and white space, as rules about the start of a piece.
//!
//! No named pattern looks behind: from the start of a piece only the text to its right matters.

use super::class::{END, W, class_at};

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
