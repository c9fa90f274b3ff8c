//! Split points: positions inside CJK pieces that no token contains. Each part encodes as if it were alone.
//!
//! Chinese and Japanese pieces are mostly whole clauses, which rarely recur, but the one to three characters between two split
//! points do, so the piece table has their ids. A merge across a boundary makes a token that contains the boundary and agrees
//! with the text on both sides of it. A boundary between two complete characters is therefore a split point if
//!
//! * no token contains both characters, one after the other: these pairs are in a Bloom filter, whose false positives cost a
//!   split point and never a result; and
//! * no token contains the boundary and only a part of one of the characters: of these boundaries the two bytes beside them are
//!   kept as an exact set, which costs the split points at all boundaries with the same two bytes.
//!
//! Nearly every boundary between two ASCII characters is inside some token, so those boundaries are not tested.

use crate::merges::TokenBytes;
use crate::utf8::{char_len_from_lead, is_continuation};

/// Bits of the filter, as a power of two: 64 KiB.
const FILTER_BITS_LOG2: u32 = 19;

/// The split points of one vocabulary.
pub struct SplitPoints {
    /// Bloom filter of the pairs of characters inside tokens.
    pairs: Vec<u64>,
    /// A bit for the two bytes around each boundary inside a token that does not contain both characters.
    byte_pairs: Vec<u64>,
}

/// A lead byte with all its continuation bytes, or a byte of no such sequence.
#[derive(Clone, Copy)]
struct Utf8Char {
    bytes: u32,
    length: usize,
    is_complete: bool,
}

impl SplitPoints {
    /// The split points for `tokens`.
    #[must_use]
    pub fn new(tokens: &TokenBytes) -> Self {
        let mut split_points = Self { pairs: vec![0; 1 << (FILTER_BITS_LOG2 - 6)], byte_pairs: vec![0; 1 << 10] };
        for id in tokens.ids().skip(256) {
            split_points.add(tokens.get(id));
        }
        split_points
    }

    fn add(&mut self, token: &[u8]) {
        for at in 1..token.len() {
            let (before, after) = (token[at - 1], token[at]);
            let right = char_starting_at(token, at);
            if is_continuation(after) || (before < 0x80 && after < 0x80) {
                continue;
            }
            match char_before(token, at) {
                Some(left) if right.is_complete => {
                    let bit = filter_bit(left, right);
                    self.pairs[bit >> 6] |= 1 << (bit & 63);
                }
                _ => {
                    let bit = usize::from(before) << 8 | usize::from(after);
                    self.byte_pairs[bit >> 6] |= 1 << (bit & 63);
                }
            }
        }
    }

    /// The first split point of `piece` after `start`, or its end. `start` must be a split point or the start of the piece.
    #[must_use]
    pub fn next(&self, piece: &[u8], start: usize) -> usize {
        let mut left = char_starting_at(piece, start);
        let mut at = start + left.length;
        while at < piece.len() {
            let right = char_starting_at(piece, at);
            if left.is_complete && right.is_complete && self.splits(left, right, piece[at - 1], piece[at]) {
                return at;
            }
            at += right.length;
            left = right;
        }
        piece.len()
    }

    #[inline(always)]
    fn splits(&self, left: Utf8Char, right: Utf8Char, before: u8, after: u8) -> bool {
        let (pair, bytes) = (filter_bit(left, right), usize::from(before) << 8 | usize::from(after));
        let ascii = before < 0x80 && after < 0x80;
        !ascii && (self.pairs[pair >> 6] >> (pair & 63) | self.byte_pairs[bytes >> 6] >> (bytes & 63)) & 1 == 0
    }
}

/// The character that starts at `at`, which is inside `bytes`.
#[inline(always)]
fn char_starting_at(bytes: &[u8], at: usize) -> Utf8Char {
    let alone = Utf8Char { bytes: u32::from(bytes[at]), length: 1, is_complete: false };
    let length = char_len_from_lead(bytes[at]);
    let Some(all) = bytes.get(at..at + length) else { return alone };
    match *all {
        [a] => Utf8Char { bytes: u32::from(a), length: 1, is_complete: true },
        [a, b] if is_continuation(b) => {
            Utf8Char { bytes: u32::from_le_bytes([a, b, 0, 0]), length: 2, is_complete: true }
        }
        [a, b, c] if is_continuation(b) && is_continuation(c) => {
            Utf8Char { bytes: u32::from_le_bytes([a, b, c, 0]), length: 3, is_complete: true }
        }
        [a, b, c, d] if is_continuation(b) && is_continuation(c) && is_continuation(d) => {
            Utf8Char { bytes: u32::from_le_bytes([a, b, c, d]), length: 4, is_complete: true }
        }
        _ => alone,
    }
}

/// The complete character that ends at `end`, if there is one.
fn char_before(bytes: &[u8], end: usize) -> Option<Utf8Char> {
    let start = (0..end).rev().find(|&at| !is_continuation(bytes[at]))?;
    let character = char_starting_at(bytes, start);
    (character.is_complete && start + character.length == end).then_some(character)
}

#[inline(always)]
fn filter_bit(left: Utf8Char, right: Utf8Char) -> usize {
    let pair = u64::from(left.bytes) << 32 | u64::from(right.bytes);
    (pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - FILTER_BITS_LOG2)) as usize
}

/// Whether a piece is taken for a clause of Chinese or Japanese, by its first byte: E3-E9 begin kana and the common ideographs,
/// EF full-width punctuation. Clauses are better split than merged as a whole.
pub fn is_clause(piece: &[u8]) -> bool {
    matches!(piece, [0xE3..=0xE9 | 0xEF, ..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::merge::pair_table::PairTable;
    use crate::merge::reference::merge_by_definition;
    use crate::merges::Merges;
    use crate::train::reference::train_by_recounting;
    use crate::train::{Options, TieBreak};

    /// Whole characters, parts of characters and invalid bytes, so that tokens end anywhere.
    const PARTS: [&[u8]; 14] = [
        "中".as_bytes(),
        "丁".as_bytes(),
        "文".as_bytes(),
        "é".as_bytes(),
        "😀".as_bytes(),
        b"a",
        b" ",
        b"\xE4",
        b"\xB8",
        b"\xE4\xB8",
        b"\x81",
        b"\xFF",
        b"\xF0\x9F",
        "的".as_bytes(),
    ];

    fn bytes(max_parts: usize) -> impl Strategy<Value = Vec<u8>> {
        let parts = prop::collection::vec(prop::sample::select(PARTS.to_vec()), 1..max_parts);
        parts.prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn parts_encode_as_the_whole(words in prop::collection::vec((bytes(9), 1_u64..9), 1..10), n in 0_u32..60, piece in bytes(40)) {
            let learned = train_by_recounting(&words, &Options::new(n, TieBreak::Rank, 1), &|_| true).unwrap();
            let merges = Merges::new(learned.merges).unwrap();
            let (pairs, split_points) = (PairTable::new(&merges), SplitPoints::new(merges.tokens()));
            let (mut at, mut ids) = (0, Vec::new());
            while at < piece.len() {
                let end = split_points.next(&piece, at);
                ids.extend(merge_by_definition(&pairs, &piece[at..end]));
                at = end;
            }
            prop_assert_eq!(ids, merge_by_definition(&pairs, &piece));
        }
    }

    #[test]
    fn split_points_are_exactly_the_boundaries_inside_no_token() {
        // Tokens: 中, 文, 中文, and the last byte of 文 with the first of 中.
        let of = |text: &str| text.as_bytes().iter().map(|&byte| u32::from(byte)).collect::<Vec<_>>();
        let (middle, script) = (of("中"), of("文"));
        let first = |c: &[u32], id: u32| vec![(c[0], c[1]), (id, c[2])];
        let mut merges = [first(&middle, 256), first(&script, 258), vec![(257, 259)]].concat();
        let ends = |merges: &[(u32, u32)]| {
            let split_points = SplitPoints::new(Merges::new(merges.to_vec()).unwrap().tokens());
            let piece = "文中中文文".as_bytes();
            let (mut at, mut ends) = (0, Vec::new());
            while at < piece.len() {
                at = split_points.next(piece, at);
                ends.push(at);
            }
            ends
        };
        assert_eq!(ends(&merges), [3, 6, 12, 15]);
        merges.push((script[2], middle[0]));
        assert_eq!(ends(&merges), [6, 12, 15], "a token that joins parts of two characters");
    }
}
