//! Cutting long pieces where no token can stand across the cut: each part encodes as if it were alone.
//!
//! Chinese and Japanese come in clauses that never repeat, but the one to three characters between two cuts do, so the piece
//! table answers for them. A merge across a place makes a token that has this place inside and agrees with the text on both
//! sides. So a place between two whole characters is safe to cut if
//!
//! * no token has both characters, one after the other, inside: those pairs are kept in a filter that may answer "may_contain"
//!   wrongly, which costs a cut and never a result; and
//! * no token that has only a part of one of them ends or begins there: of those the two bytes are kept, exactly.
//!
//! Between two ASCII characters tokens stand nearly everywhere, so there it is not tried.

use crate::merges::TokenBytes;
use crate::utf8::{char_len_from_lead, is_continuation};

/// Bits of the filter: 64 kB of them.
const FILTER_BITS: u32 = 19;

/// Where the tokens of one vocabulary can be.
pub struct SplitPoints {
    /// A bit for a hash of two characters.
    pairs: Vec<u64>,
    /// A bit for the two bytes at a place where a token has less than the two characters.
    parts: Vec<u64>,
}

/// A well-formed lead byte with as many continuation bytes as it asks for, or a byte that is not part of any such character.
#[derive(Clone, Copy)]
struct Unit {
    bytes: u32,
    length: usize,
    whole: bool,
}

impl SplitPoints {
    /// For all of `tokens`.
    #[must_use]
    pub fn new(tokens: &TokenBytes) -> Self {
        let mut cuts = Self { pairs: vec![0; 1 << (FILTER_BITS - 6)], parts: vec![0; 1 << 10] };
        for id in 256..tokens.len() as u32 {
            cuts.add(tokens.get(id));
        }
        cuts
    }

    fn add(&mut self, token: &[u8]) {
        for at in 1..token.len() {
            let (before, after) = (token[at - 1], token[at]);
            let right = unit(token, at);
            if is_continuation(after) || (before < 0x80 && after < 0x80) {
                continue;
            }
            match unit_before(token, at) {
                Some(left) if right.whole => {
                    let bit = filter_bit(left, right);
                    self.pairs[bit >> 6] |= 1 << (bit & 63);
                }
                _ => {
                    let bit = usize::from(before) << 8 | usize::from(after);
                    self.parts[bit >> 6] |= 1 << (bit & 63);
                }
            }
        }
    }

    /// The end of the part of `piece` that begins at `start`, a cut or the piece's begin: the next cut, or the end.
    #[must_use]
    pub fn next(&self, piece: &[u8], start: usize) -> usize {
        let mut left = unit(piece, start);
        let mut at = start + left.length;
        while at < piece.len() {
            let right = unit(piece, at);
            if left.whole && right.whole && self.separates(left, right, piece[at - 1], piece[at]) {
                return at;
            }
            at += right.length;
            left = right;
        }
        piece.len()
    }

    #[inline(always)]
    fn separates(&self, left: Unit, right: Unit, before: u8, after: u8) -> bool {
        let (pair, part) = (filter_bit(left, right), usize::from(before) << 8 | usize::from(after));
        let narrow = before < 0x80 && after < 0x80;
        !narrow && (self.pairs[pair >> 6] >> (pair & 63) | self.parts[part >> 6] >> (part & 63)) & 1 == 0
    }
}

/// The unit at `at`, which is inside `bytes`.
#[inline(always)]
fn unit(bytes: &[u8], at: usize) -> Unit {
    let alone = Unit { bytes: u32::from(bytes[at]), length: 1, whole: false };
    let length = char_len_from_lead(bytes[at]);
    let Some(all) = bytes.get(at..at + length) else { return alone };
    match *all {
        [a] => Unit { bytes: u32::from(a), length: 1, whole: true },
        [a, b] if is_continuation(b) => Unit { bytes: u32::from_le_bytes([a, b, 0, 0]), length: 2, whole: true },
        [a, b, c] if is_continuation(b) && is_continuation(c) => {
            Unit { bytes: u32::from_le_bytes([a, b, c, 0]), length: 3, whole: true }
        }
        [a, b, c, d] if is_continuation(b) && is_continuation(c) && is_continuation(d) => {
            Unit { bytes: u32::from_le_bytes([a, b, c, d]), length: 4, whole: true }
        }
        _ => alone,
    }
}

/// The whole unit that ends at `end`, if there is one.
fn unit_before(bytes: &[u8], end: usize) -> Option<Unit> {
    let start = (0..end).rev().find(|&at| !is_continuation(bytes[at]))?;
    let unit = unit(bytes, start);
    (unit.whole && start + unit.length == end).then_some(unit)
}

#[inline(always)]
fn filter_bit(left: Unit, right: Unit) -> usize {
    let pair = u64::from(left.bytes) << 32 | u64::from(right.bytes);
    (pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - FILTER_BITS)) as usize
}

/// Whether a piece that begins so is better cut than merged whole. Lead bytes E3-E9 begin the kana and the common
/// ideographs, EF their punctuation: such pieces are clauses, and their parts are known where they are not.
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
    use crate::train::{Ties, TokenLimits};

    /// Whole characters, parts of them, and bytes that are none; so that tokens end anywhere.
    const BITS: [&[u8]; 14] = [
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

    fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
        let bits = prop::collection::vec(prop::sample::select(BITS.to_vec()), 1..most);
        bits.prop_map(|bits| bits.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn parts_encode_as_the_whole(words in prop::collection::vec((bytes(9), 1_u64..9), 1..10), n in 0_usize..60, piece in bytes(40)) {
            let merges = Merges::new(train_by_recounting(&words, n, Ties::Rank, 1, &TokenLimits::default()).0).unwrap();
            let (pairs, cuts) = (PairTable::new(&merges), SplitPoints::new(merges.tokens()));
            let (mut at, mut ids) = (0, Vec::new());
            while at < piece.len() {
                let end = cuts.next(&piece, at);
                ids.extend(merge_by_definition(&pairs, &piece[at..end]));
                at = end;
            }
            prop_assert_eq!(ids, merge_by_definition(&pairs, &piece));
        }
    }

    #[test]
    fn cuts_are_made_where_no_token_is_and_only_there() {
        // Tokens: 中, 文, 中文, and the last byte of 文 with the first of 中.
        let of = |text: &str| text.as_bytes().iter().map(|&byte| u32::from(byte)).collect::<Vec<_>>();
        let (middle, script) = (of("中"), of("文"));
        let first = |c: &[u32], id: u32| vec![(c[0], c[1]), (id, c[2])];
        let mut merges = [first(&middle, 256), first(&script, 258), vec![(257, 259)]].concat();
        let cuts = |merges: &[(u32, u32)]| {
            let cuts = SplitPoints::new(Merges::new(merges.to_vec()).unwrap().tokens());
            let piece = "文中中文文".as_bytes();
            let (mut at, mut ends) = (0, Vec::new());
            while at < piece.len() {
                at = cuts.next(piece, at);
                ends.push(at);
            }
            ends
        };
        assert_eq!(cuts(&merges), [3, 6, 12, 15]);
        merges.push((script[2], middle[0]));
        assert_eq!(cuts(&merges), [6, 12, 15], "a token of a part of each");
    }
}
