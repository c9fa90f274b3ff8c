//! The rules of the named patterns in words of bits. Their walkers say the same in scalar code.
//!
//! `w & !(w >> 1)` and the like: bit k - 1 is the character before, bit k + 1 the one behind.

use super::super::scalar::{Cl100k, Gpt2, O200k, contraction};
use super::bitmask::{below, group_starts, lowest, spread_down, spread_up};
use super::classes::Classes;
use super::{BitmaskRules, PieceStarts, WIDTH, WordMasks};

impl BitmaskRules for Gpt2 {
    #[inline(always)]
    fn starts(&self, c: &Classes, batch: &[u8; WIDTH]) -> PieceStarts {
        let letter = c.upper | c.lower | c.both;
        let other = c.other | c.mark;
        let white = c.space | c.newline | c.blank;
        let last = c.first_bytes(white & !(white >> 1));
        let runs = letter & !(letter << 1) | c.number & !(c.number << 1) | other & !(other << 1);
        let starts = (white & (!(white << 1) | last) | runs & !(c.space << 1)) & !c.inside;
        let found = PieceStarts { starts: starts & before_open_white(white, c.top), unresolved: 0 };
        contractions::<false>(found, c, batch)
    }

    #[inline(always)]
    fn word(&self, c: &Classes) -> WordMasks {
        letters(c)
    }
}

impl<const GROUP: usize, const WHOLE_END: bool> BitmaskRules for Cl100k<GROUP, WHOLE_END> {
    #[inline(always)]
    fn starts(&self, c: &Classes, batch: &[u8; WIDTH]) -> PieceStarts {
        let letter = c.upper | c.lower | c.both;
        let other = c.other | c.mark;
        let tail = spread_up(c.newline & other << 1, c.newline);
        let starts = words::<GROUP>(c, letter, other, tail);
        let found = starts.but_not_from(c.wide_number);
        contractions::<true>(found, c, batch)
    }

    #[inline(always)]
    fn word(&self, c: &Classes) -> WordMasks {
        letters(c)
    }
}

impl BitmaskRules for O200k {
    #[inline(always)]
    fn starts(&self, c: &Classes, batch: &[u8; WIDTH]) -> PieceStarts {
        let letter = c.upper | c.lower | c.both | c.mark;
        let swallowed = c.newline | c.slash;
        let tail = spread_up(c.newline & c.other << 1, swallowed);
        let other = c.other & !tail;
        let mut found = words::<3>(c, letter, other, tail);
        found.starts |= c.upper & !c.inside & c.lower << 1;
        // A mark in a run of others belongs to it; what an upper case letter after a letter of both cases begins depends
        // on what follows.
        let marks = c.mark & c.other << 1;
        let upper = c.upper & (c.both | c.mark) << 1;
        let found = found.but_not_from((marks | upper) & !c.inside | c.wide_number);
        suffixes(found, c, batch)
    }

    #[inline(always)]
    fn word(&self, c: &Classes) -> WordMasks {
        // Case may divide a word, and an apostrophe may begin a suffix of it.
        WordMasks { continues: c.both, ends: !(c.upper | c.lower | c.both | c.mark | c.apostrophe) }
    }
}

/// A word is a run of letters.
#[inline(always)]
const fn letters(c: &Classes) -> WordMasks {
    let letter = c.upper | c.lower | c.both;
    WordMasks { continues: letter, ends: !letter }
}

/// What cl100k and o200k share: `tail` are the newlines, and what goes with them, that a run of others took along.
#[inline(always)]
fn words<const GROUP: usize>(c: &Classes, letter: u64, other: u64, tail: u64) -> PieceStarts {
    let newline = c.newline & !tail;
    let blank = c.space | c.blank;
    let white = blank | newline;
    // Up to the last newline of a run of white space: one piece.
    let lines = if newline & (white << 1 | white >> 1) == 0 { newline } else { spread_down(newline, white) };
    let last = c.first_bytes(white & !(white >> 1));
    let mut starts = white & (!(white << 1) | !lines & (lines << 1 | last));
    let alone = other & !(other << 1) & !(c.space << 1) & !c.inside;
    // A single character of these may stand before a word: then the run is it alone, and the word has no start.
    let prefix = blank | c.whole(alone);
    starts |= alone | letter & !(letter << 1) & !(prefix << 1) | group_starts::<GROUP>(c.number);
    PieceStarts { starts: starts & !c.inside & before_open_white(white, c.top), unresolved: 0 }
}

/// All positions up to the first of the run of white space that touches the end of the batch: what of it are starts depends
/// on what follows.
#[inline(always)]
const fn before_open_white(white: u64, top: u64) -> u64 {
    // Nothing is white above the top, so that all there counts as part of the run.
    let above = !(below(top) | top);
    let run = (!(white | above)).leading_zeros();
    u64::MAX >> run.saturating_sub(1)
}

impl PieceStarts {
    /// The same, with everything from the first of `unresolved` on left to the walker.
    #[inline(always)]
    const fn but_not_from(self, unresolved: u64) -> Self {
        let unresolved = lowest(unresolved);
        Self { starts: self.starts & below(unresolved), unresolved }
    }
}

/// Apostrophes that begin a piece may be contractions, which end after their letters.
#[inline(always)]
fn contractions<const FOLD: bool>(found: PieceStarts, c: &Classes, batch: &[u8; WIDTH]) -> PieceStarts {
    let PieceStarts { mut starts, unresolved } = found;
    starts |= 1;
    let mut rest = c.apostrophe & starts;
    while rest != 0 {
        let apostrophe = lowest(rest);
        rest ^= apostrophe;
        if apostrophe << 3 == 0 {
            // Its letters, or what follows them, may be beyond the end.
            starts &= below(apostrophe) | apostrophe;
            break;
        }
        starts = ended(starts, apostrophe, contraction::<FOLD>(batch, apostrophe.trailing_zeros() as usize));
    }
    PieceStarts { starts: starts & below(unresolved), unresolved }
}

/// `starts`, with no start inside the contraction of `length` bytes at `apostrophe`, and one after it.
#[inline(always)]
const fn ended(starts: u64, apostrophe: u64, length: usize) -> u64 {
    if length == 0 {
        return starts;
    }
    let after = apostrophe << length;
    starts & !(after - (apostrophe << 1)) | after
}

/// An apostrophe after a word may begin a contraction that belongs to the word; one of them, not two.
#[inline(always)]
fn suffixes(found: PieceStarts, c: &Classes, batch: &[u8; WIDTH]) -> PieceStarts {
    let PieceStarts { mut starts, unresolved } = found;
    let letter = c.upper | c.lower | c.both | c.mark;
    let mut rest = c.apostrophe & letter << 1 & below(unresolved);
    while rest != 0 {
        let apostrophe = lowest(rest);
        rest ^= apostrophe;
        if apostrophe << 3 == 0 {
            starts &= below(apostrophe);
            break;
        }
        let length = contraction::<true>(batch, apostrophe.trailing_zeros() as usize);
        if length > 0 {
            starts = ended(starts, apostrophe, length) & !apostrophe;
            rest &= !(apostrophe << length);
        }
    }
    PieceStarts { starts: starts & below(unresolved), unresolved }
}
