//! Sync points: positions that begin a piece whatever text precedes the character before them. Documents are
//! divided there.
//!
//! In every named pattern except `whole` these are white space after a letter or number, and a letter or number after a
//! newline. UTF-8 is self-synchronising, so only the character before a position needs to be decoded.

use super::char_class::{END, LETTERS, NUMBERS, Set, WHITE, char_len, class_at, is};
use super::scalar::is_newline;

/// The sync points of a pattern.
#[derive(Clone, Copy, Debug)]
pub(super) enum SyncPoints {
    /// No position.
    None,
    /// White space after a letter or number, a letter or number after a newline.
    Words,
}

const WORD_CLASSES: Set = LETTERS | NUMBERS;

impl SyncPoints {
    /// The first sync point from `from` on, except 0.
    pub(super) fn next(self, segment: &[u8], from: usize) -> Option<usize> {
        match self {
            Self::None => None,
            Self::Words => (from.max(1)..segment.len()).step_by(BLOCK_LEN).find_map(|at| {
                let end = segment.len().min(at + BLOCK_LEN);
                let none = has_no_sync_point(&segment[at - 1..end]);
                if none { None } else { (at..end).find(|&at| is_sync_point(segment, at)) }
            }),
        }
    }
}

/// Positions per block. Most texts have a sync point in the first block; some have none for megabytes.
const BLOCK_LEN: usize = 64;

/// A fast test that no position inside `block` is a sync point; false if it must be searched. White space begins with a byte
/// up to 0x20, 0xC2 or 0xE1 to 0xE3, and without white space there is no sync point. A block of one repeated ASCII byte has
/// none either.
#[inline]
fn has_no_sync_point(block: &[u8]) -> bool {
    // Folds over all bytes are vectorised; early exits would prevent that.
    let white =
        block.iter().fold(false, |any, &byte| any | (byte <= b' ') | (byte == 0xC2) | (0xE1..=0xE3).contains(&byte));
    let differs = block.iter().fold(0, |bits, &byte| bits | (byte ^ block[0]));
    !white || (differs == 0 && block[0].is_ascii())
}

/// Whether `at`, which is inside the segment, is a sync point.
fn is_sync_point(segment: &[u8], at: usize) -> bool {
    let after = class_at(segment, at).0;
    (after == WHITE && is(class_before(segment, at), WORD_CLASSES))
        || (is_newline(segment[at - 1]) && is(after, WORD_CLASSES))
}

/// Class of the character that ends at `at`: the longest well-formed sequence that ends there, or one invalid byte.
fn class_before(segment: &[u8], at: usize) -> u8 {
    (1..=at.min(4))
        .rev()
        .map(|length| at - length)
        .find(|&start| char_len(segment, start) == at - start)
        .map_or(END, |start| class_at(segment, start).0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn all_white_space_is_recognised() {
        let mut found = 0;
        for character in '\0'..=char::MAX {
            let mut text = [b'a'; 6];
            character.encode_utf8(&mut text[2..]);
            if class_at(&text, 2).0 == WHITE {
                assert!(!has_no_sync_point(&text[..3]), "{character:?}");
                assert_eq!(SyncPoints::Words.next(&text, 0), Some(2), "{character:?}");
                found += 1;
            }
        }
        assert_eq!(found, 25);
    }

    #[test]
    fn a_newline_at_the_end_of_the_previous_block_counts() {
        for at in 1..200 {
            let text = ["!".repeat(at - 1), "a".repeat(100)].join("\n");
            for from in [1, at.saturating_sub(BLOCK_LEN), at - 1, at] {
                assert_eq!(SyncPoints::Words.next(text.as_bytes(), from), Some(at), "from {from}");
            }
        }
    }

    proptest! {
        #[test]
        fn blocks_equal_a_scan_of_single_positions(
            parts in prop::collection::vec((0_usize..12, prop_oneof![1_usize..4, 50_usize..200]), 0..8), from in 0_usize..300,
        ) {
            let kinds = ["a", " ", "\n", "1", "!", "中", "か", "\u{a0}", "é", "\u{3000}", "\t", "-"];
            let text: String = parts.iter().map(|&(kind, n)| kinds[kind].repeat(n)).collect();
            // The segment may start inside a character.
            for segment in [text.as_bytes(), &text.as_bytes()[text.len().min(1)..]] {
                let one_by_one = (from.max(1)..segment.len()).find(|&at| is_sync_point(segment, at));
                prop_assert_eq!(SyncPoints::Words.next(segment, from), one_by_one);
            }
        }
    }
}
