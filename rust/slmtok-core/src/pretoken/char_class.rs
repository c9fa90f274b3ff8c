//! Decoding of single characters, their classes, and runs of a class.
//!
//! An invalid byte (in no well-formed UTF-8 sequence) is one character of class [`OTHER`].

use super::unicode_table::{BLOCKS, DIRECT, STAGE};

/// Other: punctuation, symbols, controls, unassigned, invalid bytes.
pub(super) const OTHER: u8 = 0;
/// Upper or title case letter.
pub(super) const UPPER: u8 = 1;
/// Lower case letter.
pub(super) const LOWER: u8 = 2;
/// Letter without case, or modifier letter: matches both cases.
pub(super) const CASELESS: u8 = 3;
/// Mark. Patterns other than `o200k` treat it as [`OTHER`].
pub(super) const MARK: u8 = 4;
/// Number.
pub(super) const NUMBER: u8 = 5;
/// White space.
pub(super) const WHITE: u8 = 6;
/// In [`ASCII`] only: a byte of a multi-byte character.
const MULTIBYTE: u8 = 7;
/// Pseudo-class of the end of the segment.
pub(super) const END: u8 = 8;

/// A set of classes, bit k for class k.
pub(super) type Set = u16;
pub(super) const LETTERS: Set = 1 << UPPER | 1 << LOWER | 1 << CASELESS;
pub(super) const OTHERS: Set = 1 << OTHER | 1 << MARK;
pub(super) const NUMBERS: Set = 1 << NUMBER;
pub(super) const SPACES: Set = 1 << WHITE;
pub(super) const UPPERISH: Set = 1 << UPPER | 1 << CASELESS | 1 << MARK;
pub(super) const LOWERISH: Set = 1 << LOWER | 1 << CASELESS | 1 << MARK;

/// Whether the set contains the class.
#[inline(always)]
pub(super) const fn is(class: u8, set: Set) -> bool {
    set >> class & 1 == 1
}

/// Classes of single bytes, [`MULTIBYTE`] from 0x80.
static ASCII: [u8; 256] = {
    let mut table = [MULTIBYTE; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = DIRECT[byte];
        byte += 1;
    }
    table
};

/// Length in bytes of the character at `at`; 1 for an invalid byte, 0 at the end.
#[must_use]
pub fn char_len(bytes: &[u8], at: usize) -> usize {
    decode(bytes, at).1
}

/// The code point at `at`, `None` for an invalid byte, and its length in bytes (0 at the end).
fn decode(bytes: &[u8], at: usize) -> (Option<u32>, usize) {
    let tail = bytes.get(at..).unwrap_or_default();
    let in_range = |byte: u8, low: u8, high: u8| low <= byte && byte <= high;
    let bits = |byte: u8, keep: u8| u32::from(byte & keep);
    match *tail {
        [] => (None, 0),
        [a, ..] if a < 0x80 => (Some(u32::from(a)), 1),
        [a @ 0xC2..=0xDF, b, ..] if in_range(b, 0x80, 0xBF) => (Some(bits(a, 0x1F) << 6 | bits(b, 0x3F)), 2),
        [a @ 0xE0..=0xEF, b, c, ..] => {
            let (low, high) = match a {
                0xE0 => (0xA0, 0xBF),
                0xED => (0x80, 0x9F),
                _ => (0x80, 0xBF),
            };
            if in_range(b, low, high) && in_range(c, 0x80, 0xBF) {
                (Some(bits(a, 0x0F) << 12 | bits(b, 0x3F) << 6 | bits(c, 0x3F)), 3)
            } else {
                (None, 1)
            }
        }
        [a @ 0xF0..=0xF4, b, c, d, ..] => {
            let (low, high) = match a {
                0xF0 => (0x90, 0xBF),
                0xF4 => (0x80, 0x8F),
                _ => (0x80, 0xBF),
            };
            if in_range(b, low, high) && in_range(c, 0x80, 0xBF) && in_range(d, 0x80, 0xBF) {
                (Some(bits(a, 0x07) << 18 | bits(b, 0x3F) << 12 | bits(c, 0x3F) << 6 | bits(d, 0x3F)), 4)
            } else {
                (None, 1)
            }
        }
        _ => (None, 1),
    }
}

/// The class of a code point; [`OTHER`] beyond the last one.
pub(super) fn class_of(code: u32) -> u8 {
    let index = code as usize;
    if let Some(&class) = DIRECT.get(index) {
        return class;
    }
    let Some(&block) = STAGE.get(index >> 8) else { return OTHER };
    let pair = BLOCKS[usize::from(block)][(index & 0xFF) >> 1];
    if index & 1 == 0 { pair & 0x0F } else { pair >> 4 }
}

/// Class and length of the character at `at`; ([`END`], 0) at the end.
#[inline(always)]
pub(super) fn class_at(bytes: &[u8], at: usize) -> (u8, usize) {
    match bytes.get(at) {
        None => (END, 0),
        Some(&byte) => match ASCII[usize::from(byte)] {
            MULTIBYTE => multibyte(bytes, at),
            class => (class, 1),
        },
    }
}

/// Not inlined, to keep the hot loops small.
#[inline(never)]
fn multibyte(bytes: &[u8], at: usize) -> (u8, usize) {
    multibyte_at(bytes, at)
}

/// As [`class_at`], for a byte that is not ASCII.
#[inline(always)]
pub(super) fn multibyte_at(bytes: &[u8], at: usize) -> (u8, usize) {
    // Fast path: lead bytes for which any continuation bytes form a valid character.
    match bytes.get(at..).unwrap_or_default() {
        [a @ 0xC2..=0xDF, b @ 0x80..=0xBF, ..] => (DIRECT[usize::from(a & 0x1F) << 6 | usize::from(b & 0x3F)], 2),
        [a @ (0xE1..=0xEC | 0xEE..=0xEF), b @ 0x80..=0xBF, c @ 0x80..=0xBF, ..] => {
            let code = u32::from(a & 0x0F) << 12 | u32::from(b & 0x3F) << 6 | u32::from(c & 0x3F);
            (class_of(code), 3)
        }
        _ => {
            let (code, length) = decode(bytes, at);
            (code.map_or(OTHER, class_of), length)
        }
    }
}

/// The end of the run of characters of these classes that starts at `at`.
#[inline(always)]
pub(super) fn run_end(bytes: &[u8], mut at: usize, set: Set) -> usize {
    loop {
        let (class, length) = class_at(bytes, at);
        if !is(class, set) {
            return at;
        }
        at += length;
    }
}

/// As [`run_end`] for [`LETTERS`], eight bytes at a time while they are ASCII.
#[inline(always)]
pub(super) fn letters(bytes: &[u8], at: usize) -> usize {
    run_by_eights::<true>(bytes, at, LETTERS)
}

/// As [`run_end`] for [`LOWERISH`], eight bytes at a time while they are ASCII.
#[inline(always)]
pub(super) fn lowerish(bytes: &[u8], at: usize) -> usize {
    run_by_eights::<false>(bytes, at, LOWERISH)
}

/// As [`run_end`] for a set whose ASCII members are all letters (`ANY_CASE`) or all lower case letters.
#[inline(always)]
fn run_by_eights<const ANY_CASE: bool>(bytes: &[u8], mut at: usize, set: Set) -> usize {
    loop {
        while let Some(eight) = bytes.get(at..).and_then(|tail| tail.first_chunk::<8>()) {
            let others = not_letters::<ANY_CASE>(u64::from_le_bytes(*eight));
            if others != 0 {
                at += (others.trailing_zeros() / 8) as usize;
                break;
            }
            at += 8;
        }
        let (class, length) = class_at(bytes, at);
        if !is(class, set) {
            return at;
        }
        at += length;
    }
}

/// Top bit of each byte that is not an ASCII letter (`ANY_CASE`) or not a lower case one.
#[inline(always)]
const fn not_letters<const ANY_CASE: bool>(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const TOP: u64 = 0x80 * EACH;
    let folded = if ANY_CASE { word | (0x20 * EACH) } else { word } & !TOP;
    let from_a = folded + (0x80 - 0x61) * EACH;
    let past_z = folded + (0x80 - 0x7B) * EACH;
    (!from_a | past_z | word) & TOP
}

/// Number of invalid bytes, and the position of the first.
#[must_use]
pub fn invalid_bytes(text: &[u8]) -> (u64, Option<usize>) {
    let (mut count, mut first, mut at) = (0_u64, None, 0);
    while let Err(error) = std::str::from_utf8(&text[at..]) {
        let bad = at + error.valid_up_to();
        first.get_or_insert(bad);
        // Every byte of a maximal ill-formed part is invalid: none of them begins a well-formed sequence.
        let length = error.error_len().unwrap_or(text.len() - bad);
        count += length as u64;
        at = bad + length;
    }
    (count, first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_decode_and_truncated_ones_do_not() {
        for code in (0..=0x10_FFFF).filter_map(char::from_u32) {
            let mut buffer = [0; 4];
            let text = code.encode_utf8(&mut buffer).as_bytes();
            assert_eq!(decode(text, 0), (Some(u32::from(code)), text.len()));
            for end in 1..text.len() {
                assert_eq!(decode(&text[..end], 0), (None, 1), "{code:?} cut after {end}");
            }
        }
    }

    /// Custom patterns use `regex-syntax`, named patterns the table: both must have the same Unicode version.
    #[test]
    fn the_table_is_that_of_the_regex_engines() {
        let properties = [
            (UPPER, r"[\p{Lu}\p{Lt}]+"),
            (LOWER, r"\p{Ll}+"),
            (CASELESS, r"[\p{Lm}\p{Lo}]+"),
            (MARK, r"\p{M}+"),
            (NUMBER, r"\p{N}+"),
            (WHITE, r"\s+"),
            (OTHER, r"[^\p{L}\p{M}\p{N}\s]+"),
        ];
        let characters: String = ('\0'..=char::MAX).collect();
        let mut checked = 0;
        for (class, property) in properties {
            for run in regex_automata::meta::Regex::new(property).unwrap().find_iter(&characters) {
                for character in characters[run.range()].chars() {
                    assert_eq!(class_of(u32::from(character)), class, "{character:?} is {property}");
                    checked += 1;
                }
            }
        }
        assert_eq!(checked, 0x11_0000 - 0x800);
    }

    #[test]
    fn ill_formed_sequences_are_those_of_the_standard_library() {
        const EDGES: [u8; 14] = [0, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xE0, 0xF4, 0xFF];
        for (lead, second) in (0..=255).flat_map(|lead| (0..=255).map(move |second| (lead, second))) {
            for (third, fourth) in EDGES.into_iter().flat_map(|third| EDGES.map(|fourth| (third, fourth))) {
                let bytes = [lead, second, third, fourth];
                let valid = bytes.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
                let expected = valid.map_or((None, 1), |character| (Some(u32::from(character)), character.len_utf8()));
                assert_eq!(decode(&bytes, 0), expected, "{bytes:X?}");
            }
        }
    }

    #[test]
    fn invalid_bytes_are_counted_and_the_first_is_found() {
        let cases: [(&[u8], u64, Option<usize>); 6] = [
            ("né".as_bytes(), 0, None),
            (b"", 0, None),
            (b"a\xFFb\xE4\xB8", 3, Some(1)),
            (b"ab\xED\xA0\x80", 3, Some(2)),
            (b"\xF0\x9F\x98\xF0\x9F\x98\x80", 3, Some(0)),
            (b"\xC0\xAF\xF4\x90\x80\x80", 6, Some(0)),
        ];
        for (text, count, first) in cases {
            assert_eq!(invalid_bytes(text), (count, first), "{}", text.escape_ascii());
        }
    }

    #[test]
    fn letter_words_agree_with_bytes() {
        for byte in 0..=255_u8 {
            for lane in 0..8 {
                for fill in [b'a', b'Z', b' ', 0xFF] {
                    let mut bytes = [fill; 8];
                    bytes[lane] = byte;
                    let (word, top) = (u64::from_le_bytes(bytes), 8 * lane + 7);
                    assert_eq!(
                        not_letters::<true>(word) >> top & 1 == 0,
                        byte.is_ascii_alphabetic(),
                        "{byte} in {lane}"
                    );
                    assert_eq!(
                        not_letters::<false>(word) >> top & 1 == 0,
                        byte.is_ascii_lowercase(),
                        "{byte} in {lane}"
                    );
                }
            }
        }
    }
}
