//! The characters of a batch as sets of positions.
//!
//! A character of several bytes has its class on all of them, so that "the byte before" means "the character before". One
//! that would straddle the end is left to the next batch.

use super::super::char_class::{self, wide_at};
use super::WIDTH;
use super::common_multibyte::CommonMultibyte;
use super::level::Backend;
use crate::utf8::char_len_from_lead;

/// What one look at the bytes tells, bit k for byte k.
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
    pub wide: u64,
}

/// The classes of a batch.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Classes {
    /// Upper and title case letters.
    pub upper: u64,
    /// Lower case letters.
    pub lower: u64,
    /// Letters without case.
    pub both: u64,
    /// Marks.
    pub mark: u64,
    /// Numbers.
    pub number: u64,
    /// Those of several bytes.
    pub wide_number: u64,
    /// U+0020.
    pub space: u64,
    /// `\r` and `\n`.
    pub newline: u64,
    /// All other white space.
    pub blank: u64,
    /// All the rest.
    pub other: u64,
    /// `'`, which is also in `other`.
    pub apostrophe: u64,
    /// `/`, which is also in `other`.
    pub slash: u64,
    /// Bytes that a character does not begin with.
    pub inside: u64,
    /// The last byte of the batch.
    pub top: u64,
}

impl Classes {
    /// The first `width` bytes of the batch, or a few less.
    #[inline(always)]
    pub(super) fn new<T: Backend>(level: T, batch: &[u8; WIDTH], width: usize) -> Self {
        let Ascii { upper, lower, number, space, newline, blank, apostrophe, slash, wide } = level.ascii(batch);
        let known = upper | lower | number | space | newline | blank | wide;
        let mut classes = Self {
            upper,
            lower,
            both: 0,
            mark: 0,
            number,
            wide_number: 0,
            space,
            newline,
            blank,
            other: !known,
            apostrophe,
            slash,
            inside: 0,
            top: 1 << 63,
        };
        // All of this is inlined but for what works on copies: the words of a batch stay in registers only if nobody has
        // their address.
        let wide = wide & u64::MAX >> (WIDTH - width);
        if wide != 0 {
            let easy = level.common_multibyte(batch).within(width);
            classes.add_easy(easy);
            let rest = wide & !easy.all();
            if let Some(length) = open_end(batch, rest, width) {
                // Its bytes are of no class yet, and what is not of the batch begins behind them.
                classes.top = 1 << (length - 1);
            } else if rest != 0 || width < WIDTH {
                let rare = Rare::new(batch, rest, width);
                classes.add_rare(&rare);
                classes.cut(rare.length);
            }
        } else if width < WIDTH {
            classes.cut(width);
        }
        classes
    }

    #[inline(always)]
    fn add_easy(&mut self, easy: CommonMultibyte) {
        let CommonMultibyte { upper, lower, both, other, inside } = easy;
        self.upper |= upper;
        self.lower |= lower;
        self.both |= both;
        self.other |= other;
        self.inside |= inside;
    }

    #[inline(always)]
    fn add_rare(&mut self, rare: &Rare) {
        let of = |class: u8| rare.sets[usize::from(class)];
        self.upper |= of(char_class::UPPER);
        self.lower |= of(char_class::LOWER);
        self.both |= of(char_class::BOTH);
        self.mark |= of(char_class::MARK);
        self.number |= of(char_class::N);
        self.wide_number |= of(char_class::N);
        self.blank |= of(char_class::W);
        self.other |= of(char_class::O);
        self.inside |= rare.inside;
    }

    /// Forgets what is not in the first `length` bytes: all, where a text of few bytes breaks off in its first character.
    #[inline(always)]
    fn cut(&mut self, length: usize) {
        let keep = if length == 0 { 0 } else { u64::MAX >> (WIDTH - length) };
        self.upper &= keep;
        self.lower &= keep;
        self.both &= keep;
        self.mark &= keep;
        self.number &= keep;
        self.wide_number &= keep;
        self.space &= keep;
        self.newline &= keep;
        self.blank &= keep;
        self.other &= keep;
        self.apostrophe &= keep;
        self.slash &= keep;
        self.inside &= keep;
        self.top = keep ^ (keep >> 1);
    }

    /// How many bytes the batch has.
    #[inline(always)]
    pub(super) const fn len(&self) -> usize {
        WIDTH - self.top.leading_zeros() as usize
    }

    /// The first byte of each character that has its last byte in `ends`.
    #[inline(always)]
    pub(super) const fn first_bytes(&self, mut ends: u64) -> u64 {
        if self.inside != 0 {
            let mut step = 0;
            while step < 3 {
                ends = ends & !self.inside | (ends & self.inside) >> 1;
                step += 1;
            }
        }
        ends
    }

    /// All bytes of each character that has its first byte in `starts`.
    #[inline(always)]
    pub(super) const fn whole(&self, mut starts: u64) -> u64 {
        if self.inside != 0 {
            let mut step = 0;
            while step < 3 {
                starts |= (starts << 1) & self.inside;
                step += 1;
            }
        }
        starts
    }
}

/// Where a whole batch ends, if all that is not known of it is a character that goes on behind it, as two in three batches of
/// Chinese have one.
#[inline(always)]
fn open_end(batch: &[u8; WIDTH], rest: u64, width: usize) -> Option<usize> {
    let at = rest.trailing_zeros() as usize;
    let open = width == WIDTH && at < WIDTH && rest == u64::MAX << at;
    (open && at + char_len_from_lead(batch[at]) > WIDTH).then_some(at)
}

/// Characters of several bytes, and bytes that are none, looked up one by one.
struct Rare {
    /// Their bytes, by class.
    sets: [u64; 8],
    /// Those of them that a character does not begin with.
    inside: u64,
    /// Where the batch must end.
    length: usize,
}

impl Rare {
    #[inline(never)]
    fn new(batch: &[u8; WIDTH], mut wide: u64, width: usize) -> Self {
        let mut rare = Self { sets: [0; 8], inside: 0, length: width };
        while wide != 0 {
            let at = wide.trailing_zeros() as usize;
            if at + char_len_from_lead(batch[at]) > width {
                rare.length = at;
                break;
            }
            let (class, length) = wide_at(batch, at);
            let first = 1_u64 << at;
            let all = (first << length).wrapping_sub(first);
            rare.sets[usize::from(class & 7)] |= all;
            rare.inside |= all & !first;
            wide &= !all;
        }
        rare
    }
}
