//! The character classes of a block, as bitmasks.
//!
//! A multi-byte character has its class at all of its bytes, so that the previous byte is the previous character. A character
//! that crosses the end belongs to the next block.

use super::super::char_class::{self, multibyte_at};
use super::WIDTH;
use super::common_multibyte::CommonMultibyte;
use super::level::Backend;
use crate::utf8::char_len_from_lead;

/// Classes of single bytes; bit k is byte k.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ascii {
    /// A-Z.
    pub upper: u64,
    /// a-z.
    pub lower: u64,
    /// 0-9.
    pub number: u64,
    /// The space.
    pub space: u64,
    /// `\r` and `\n`.
    pub newline: u64,
    /// `\t`, `\v`, `\f`.
    pub blank: u64,
    /// `'`.
    pub apostrophe: u64,
    /// `/`.
    pub slash: u64,
    /// Bytes from 0x80.
    pub non_ascii: u64,
}

/// The character classes of a block.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Classes {
    /// Upper and title case letters.
    pub upper: u64,
    /// Lower case letters.
    pub lower: u64,
    /// Letters without case.
    pub caseless: u64,
    /// Marks.
    pub mark: u64,
    /// Numbers.
    pub number: u64,
    /// Multi-byte numbers.
    pub multibyte_number: u64,
    /// U+0020.
    pub space: u64,
    /// `\r` and `\n`.
    pub newline: u64,
    /// Other white space.
    pub blank: u64,
    /// All other characters.
    pub other: u64,
    /// `'`; also in `other`.
    pub apostrophe: u64,
    /// `/`; also in `other`.
    pub slash: u64,
    /// Bytes after the first of a character.
    pub continuation: u64,
    /// The last byte of the block.
    pub last_byte: u64,
}

impl Classes {
    /// Classifies the first `width` bytes of the block, without an incomplete character at the end.
    #[inline(always)]
    pub(super) fn new<T: Backend>(level: T, block: &[u8; WIDTH], width: usize) -> Self {
        let Ascii { upper, lower, number, space, newline, blank, apostrophe, slash, non_ascii } = level.ascii(block);
        let known = upper | lower | number | space | newline | blank | non_ascii;
        let mut classes = Self {
            upper,
            lower,
            caseless: 0,
            mark: 0,
            number,
            multibyte_number: 0,
            space,
            newline,
            blank,
            other: !known,
            apostrophe,
            slash,
            continuation: 0,
            last_byte: 1 << 63,
        };
        // Everything that takes a reference to `classes` is inlined, so that the masks stay in registers.
        let non_ascii = non_ascii & u64::MAX >> (WIDTH - width);
        if non_ascii != 0 {
            let common = level.common_multibyte(block).truncated(width);
            classes.add_common(common);
            let rest = non_ascii & !common.all();
            if let Some(length) = incomplete_end(block, rest, width) {
                // The bytes of the incomplete character have no class yet, and the block ends before them.
                classes.last_byte = 1 << (length - 1);
            } else if rest != 0 || width < WIDTH {
                let rare = Rare::new(block, rest, width);
                classes.add_rare(&rare);
                classes.truncate(rare.length);
            }
        } else if width < WIDTH {
            classes.truncate(width);
        }
        classes
    }

    #[inline(always)]
    fn add_common(&mut self, common: CommonMultibyte) {
        let CommonMultibyte { upper, lower, caseless, other, continuation } = common;
        self.upper |= upper;
        self.lower |= lower;
        self.caseless |= caseless;
        self.other |= other;
        self.continuation |= continuation;
    }

    #[inline(always)]
    fn add_rare(&mut self, rare: &Rare) {
        let of = |class: u8| rare.sets[usize::from(class)];
        self.upper |= of(char_class::UPPER);
        self.lower |= of(char_class::LOWER);
        self.caseless |= of(char_class::CASELESS);
        self.mark |= of(char_class::MARK);
        self.number |= of(char_class::NUMBER);
        self.multibyte_number |= of(char_class::NUMBER);
        self.blank |= of(char_class::WHITE);
        self.other |= of(char_class::OTHER);
        self.continuation |= rare.continuation;
    }

    /// Clears all bits beyond the first `length` bytes; `length` is 0 if a short text ends inside its first character.
    #[inline(always)]
    fn truncate(&mut self, length: usize) {
        let keep = if length == 0 { 0 } else { u64::MAX >> (WIDTH - length) };
        self.upper &= keep;
        self.lower &= keep;
        self.caseless &= keep;
        self.mark &= keep;
        self.number &= keep;
        self.multibyte_number &= keep;
        self.space &= keep;
        self.newline &= keep;
        self.blank &= keep;
        self.other &= keep;
        self.apostrophe &= keep;
        self.slash &= keep;
        self.continuation &= keep;
        self.last_byte = keep ^ (keep >> 1);
    }

    /// Number of bytes in the block.
    #[inline(always)]
    pub(super) const fn len(&self) -> usize {
        WIDTH - self.last_byte.leading_zeros() as usize
    }

    /// First bytes of the characters whose last bytes are `ends`.
    #[inline(always)]
    pub(super) const fn first_bytes(&self, mut ends: u64) -> u64 {
        if self.continuation != 0 {
            let mut step = 0;
            while step < 3 {
                ends = ends & !self.continuation | (ends & self.continuation) >> 1;
                step += 1;
            }
        }
        ends
    }

    /// All bytes of the characters whose first bytes are `starts`.
    #[inline(always)]
    pub(super) const fn all_bytes(&self, mut starts: u64) -> u64 {
        if self.continuation != 0 {
            let mut step = 0;
            while step < 3 {
                starts |= (starts << 1) & self.continuation;
                step += 1;
            }
        }
        starts
    }
}

/// Length of a full block whose only unclassified bytes are an incomplete character at its end; two of three blocks of Chinese
/// text end like this.
#[inline(always)]
fn incomplete_end(block: &[u8; WIDTH], rest: u64, width: usize) -> Option<usize> {
    let at = rest.trailing_zeros() as usize;
    let at_end = width == WIDTH && at < WIDTH && rest == u64::MAX << at;
    (at_end && at + char_len_from_lead(block[at]) > WIDTH).then_some(at)
}

/// Multi-byte characters and invalid bytes that are looked up one by one.
struct Rare {
    /// Masks by class.
    sets: [u64; 8],
    /// Bytes after the first of a character.
    continuation: u64,
    /// End of the block, before an incomplete character.
    length: usize,
}

impl Rare {
    #[inline(never)]
    fn new(block: &[u8; WIDTH], mut non_ascii: u64, width: usize) -> Self {
        let mut rare = Self { sets: [0; 8], continuation: 0, length: width };
        while non_ascii != 0 {
            let at = non_ascii.trailing_zeros() as usize;
            if at + char_len_from_lead(block[at]) > width {
                rare.length = at;
                break;
            }
            let (class, length) = multibyte_at(block, at);
            let first = 1_u64 << at;
            let all = (first << length).wrapping_sub(first);
            rare.sets[usize::from(class & 7)] |= all;
            rare.continuation |= all & !first;
            non_ascii &= !all;
        }
        rare
    }
}
