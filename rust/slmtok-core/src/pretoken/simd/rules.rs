//! The rules of the named patterns on bitmasks, equivalent to those in `scalar`.
//!
//! `w << 1` marks the bytes after `w`, `w >> 1` the bytes before: `w & !(w << 1)` are the first bytes of the runs of `w`.

use super::super::scalar::{ANY_CASE, Cl100k, EXACT_CASE, Gpt2, O200k, contraction};
use super::bitmask::{below, extend_downwards, extend_upwards, group_starts, lowest};
use super::classes::Classes;
use super::{BitmaskRules, PieceStarts, WIDTH, WordMasks};

impl BitmaskRules for Gpt2 {
    #[inline(always)]
    fn starts(&self, c: &Classes, block: &[u8; WIDTH]) -> PieceStarts {
        let letter = c.upper | c.lower | c.caseless;
        let other = c.other | c.mark;
        let white = c.space | c.newline | c.blank;
        let last = c.first_bytes(white & !(white >> 1));
        let runs = letter & !(letter << 1) | c.number & !(c.number << 1) | other & !(other << 1);
        let starts = (white & (!(white << 1) | last) | runs & !(c.space << 1)) & !c.continuation;
        let found = PieceStarts { starts: starts & before_trailing_white(white, c.last_byte), unresolved: 0 };
        contractions::<EXACT_CASE>(found, c, block)
    }

    #[inline(always)]
    fn word(&self, c: &Classes) -> WordMasks {
        letters(c)
    }
}

impl<const GROUP: usize, const WHOLE_END: bool> BitmaskRules for Cl100k<GROUP, WHOLE_END> {
    #[inline(always)]
    fn starts(&self, c: &Classes, block: &[u8; WIDTH]) -> PieceStarts {
        let letter = c.upper | c.lower | c.caseless;
        let other = c.other | c.mark;
        // Newlines that directly follow others belong to their run.
        let tail = extend_upwards(c.newline & other << 1, c.newline);
        let starts = common_starts::<GROUP>(c, letter, other, tail);
        let found = starts.before(c.multibyte_number);
        contractions::<ANY_CASE>(found, c, block)
    }

    #[inline(always)]
    fn word(&self, c: &Classes) -> WordMasks {
        letters(c)
    }
}

impl BitmaskRules for O200k {
    #[inline(always)]
    fn starts(&self, c: &Classes, block: &[u8; WIDTH]) -> PieceStarts {
        let letter = c.upper | c.lower | c.caseless | c.mark;
        let newline_or_slash = c.newline | c.slash;
        let tail = extend_upwards(c.newline & c.other << 1, newline_or_slash);
        let other = c.other & !tail;
        let mut found = common_starts::<3>(c, letter, other, tail);
        found.starts |= c.upper & !c.continuation & c.lower << 1;
        // A mark in a run of others belongs to the run. Whether an upper case letter after a caseless letter starts a piece
        // depends on the following text.
        let mark_in_other = c.mark & c.other << 1;
        let upper = c.upper & (c.caseless | c.mark) << 1;
        let found = found.before((mark_in_other | upper) & !c.continuation | c.multibyte_number);
        suffixes(found, c, block)
    }

    #[inline(always)]
    fn word(&self, c: &Classes) -> WordMasks {
        // A change of case may split a word, and an apostrophe may begin a contraction of it.
        WordMasks { continues: c.caseless, ends: !(c.upper | c.lower | c.caseless | c.mark | c.apostrophe) }
    }
}

/// Words are runs of letters.
#[inline(always)]
const fn letters(c: &Classes) -> WordMasks {
    let letter = c.upper | c.lower | c.caseless;
    WordMasks { continues: letter, ends: !letter }
}

/// The common rules of cl100k and o200k. `tail` are the newlines (and slashes) that belong to the run of others before them.
#[inline(always)]
fn common_starts<const GROUP: usize>(c: &Classes, letter: u64, other: u64, tail: u64) -> PieceStarts {
    let newline = c.newline & !tail;
    let blank = c.space | c.blank;
    let white = blank | newline;
    // White space up to the last newline of its run is one piece.
    let up_to_newline =
        if newline & (white << 1 | white >> 1) == 0 { newline } else { extend_downwards(newline, white) };
    let last = c.first_bytes(white & !(white >> 1));
    let mut starts = white & (!(white << 1) | !up_to_newline & (up_to_newline << 1 | last));
    let other_starts = other & !(other << 1) & !(c.space << 1) & !c.continuation;
    // One character of these may be the prefix of a word. If the run is that character alone, the word has no start of its own.
    let word_prefix = blank | c.all_bytes(other_starts);
    starts |= other_starts | letter & !(letter << 1) & !(word_prefix << 1) | group_starts::<GROUP>(c.number);
    PieceStarts { starts: starts & !c.continuation & before_trailing_white(white, c.last_byte), unresolved: 0 }
}

/// Positions up to the first of the white space run that touches the end of the block; its starts depend on the following
/// text.
#[inline(always)]
const fn before_trailing_white(white: u64, last_byte: u64) -> u64 {
    // Positions above the last byte count as part of the run.
    let above = !(below(last_byte) | last_byte);
    let run = (!(white | above)).leading_zeros();
    u64::MAX >> run.saturating_sub(1)
}

impl PieceStarts {
    /// Leaves everything from the first bit of `unresolved` on to the scalar rules.
    #[inline(always)]
    const fn before(self, unresolved: u64) -> Self {
        let unresolved = lowest(unresolved);
        Self { starts: self.starts & below(unresolved), unresolved }
    }
}

/// Apostrophes that begin a piece may be contractions, which end after their letters.
#[inline(always)]
fn contractions<const CASE: bool>(found: PieceStarts, c: &Classes, block: &[u8; WIDTH]) -> PieceStarts {
    let PieceStarts { mut starts, unresolved } = found;
    starts |= 1;
    let mut rest = c.apostrophe & starts;
    while rest != 0 {
        let apostrophe = lowest(rest);
        rest ^= apostrophe;
        if apostrophe << 3 == 0 {
            // The contraction may extend beyond the end of the block.
            starts &= below(apostrophe) | apostrophe;
            break;
        }
        starts = end_contraction(starts, apostrophe, contraction::<CASE>(block, apostrophe.trailing_zeros() as usize));
    }
    PieceStarts { starts: starts & below(unresolved), unresolved }
}

/// `starts` without those inside the contraction of `length` bytes at `apostrophe`, and with one after it.
#[inline(always)]
const fn end_contraction(starts: u64, apostrophe: u64, length: usize) -> u64 {
    if length == 0 {
        return starts;
    }
    let after = apostrophe << length;
    starts & !(after - (apostrophe << 1)) | after
}

/// An apostrophe after a word may begin a contraction, which belongs to the word; a second one does not.
#[inline(always)]
fn suffixes(found: PieceStarts, c: &Classes, block: &[u8; WIDTH]) -> PieceStarts {
    let PieceStarts { mut starts, unresolved } = found;
    let letter = c.upper | c.lower | c.caseless | c.mark;
    let mut rest = c.apostrophe & letter << 1 & below(unresolved);
    while rest != 0 {
        let apostrophe = lowest(rest);
        rest ^= apostrophe;
        if apostrophe << 3 == 0 {
            starts &= below(apostrophe);
            break;
        }
        let length = contraction::<ANY_CASE>(block, apostrophe.trailing_zeros() as usize);
        if length > 0 {
            starts = end_contraction(starts, apostrophe, length) & !apostrophe;
            rest &= !(apostrophe << length);
        }
    }
    PieceStarts { starts: starts & below(unresolved), unresolved }
}
