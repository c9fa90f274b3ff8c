//! Positions that begin a piece whatever stands to their left: where a long document may be cut for several workers.
//!
//! In every named pattern but `whole` that is white space after a letter or number, and a letter or number after a
//! newline. UTF-8 tells its starts by itself, so one look at the character before a position suffices.

use super::char_class::{END, LETTERS, NUMBERS, Set, W, char_len, class_at, is};
use super::scalar::is_newline;

/// Which positions are certain.
#[derive(Clone, Copy, Debug)]
pub(super) enum SyncPoints {
    /// None.
    None,
    /// White space after a letter or number, a letter or number after a newline.
    Words,
}

const WORDS: Set = LETTERS | NUMBERS;

impl SyncPoints {
    /// The first certain position from `from` on, the trivial 0 excepted.
    pub(super) fn next(self, segment: &[u8], from: usize) -> Option<usize> {
        match self {
            Self::None => None,
            Self::Words => (from.max(1)..segment.len()).step_by(BLOCK).find_map(|at| {
                let end = segment.len().min(at + BLOCK);
                let none = has_no_sync_point(&segment[at - 1..end]);
                if none { None } else { (at..end).find(|&at| is_sync_point(segment, at)) }
            }),
        }
    }
}

/// Positions that are looked at together: most texts have a certain one among the first, some have none for megabytes.
const BLOCK: usize = 64;

/// Whether it is plain that no position between the bytes of `block` is certain; `false` says only that one must look. Bytes up to the
/// space, C2, and E1 to E3 may begin white space, and without any nothing is certain. Nor is anything in a block of one byte, which is
/// of ASCII, so that no character begins in it and ends behind it.
#[inline]
fn has_no_sync_point(block: &[u8]) -> bool {
    // Loops that look at all bytes become vectors; such as end early do not.
    let white =
        block.iter().fold(false, |any, &byte| any | (byte <= b' ') | (byte == 0xC2) | (0xE1..=0xE3).contains(&byte));
    let differ = block.iter().fold(0, |bits, &byte| bits | (byte ^ block[0]));
    !white || (differ == 0 && block[0].is_ascii())
}

/// Whether a piece starts at `at`, which is neither the start nor the end of the segment.
fn is_sync_point(segment: &[u8], at: usize) -> bool {
    let after = class_at(segment, at).0;
    (after == W && is(class_before(segment, at), WORDS)) || (is_newline(segment[at - 1]) && is(after, WORDS))
}

/// The class of the character that ends at `at`. A well-formed sequence is one character, whatever surrounds it, so the
/// longest that ends here is it; a byte of none is one by itself.
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
    fn white_space_of_every_kind_is_seen() {
        let mut seen = 0;
        for character in '\0'..=char::MAX {
            let mut text = [b'a'; 6];
            character.encode_utf8(&mut text[2..]);
            if class_at(&text, 2).0 == W {
                assert!(!has_no_sync_point(&text[..3]), "{character:?}");
                assert_eq!(SyncPoints::Words.next(&text, 0), Some(2), "{character:?}");
                seen += 1;
            }
        }
        assert_eq!(seen, 25);
    }

    #[test]
    fn a_newline_before_the_first_of_a_block_counts() {
        for at in 1..200 {
            let text = ["!".repeat(at - 1), "a".repeat(100)].join("\n");
            for from in [1, at.saturating_sub(BLOCK), at - 1, at] {
                assert_eq!(SyncPoints::Words.next(text.as_bytes(), from), Some(at), "from {from}");
            }
        }
    }

    proptest! {
        #[test]
        fn in_blocks_as_one_by_one(
            parts in prop::collection::vec((0_usize..12, prop_oneof![1_usize..4, 50_usize..200]), 0..8), from in 0_usize..300,
        ) {
            let kinds = ["a", " ", "\n", "1", "!", "中", "か", "\u{a0}", "é", "\u{3000}", "\t", "-"];
            let text: String = parts.iter().map(|&(kind, n)| kinds[kind].repeat(n)).collect();
            // A cut may be inside a character.
            for segment in [text.as_bytes(), &text.as_bytes()[text.len().min(1)..]] {
                let one_by_one = (from.max(1)..segment.len()).find(|&at| is_sync_point(segment, at));
                prop_assert_eq!(SyncPoints::Words.next(segment, from), one_by_one);
            }
        }
    }
}
