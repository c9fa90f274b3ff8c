//! The order among equally frequent pairs: the one place that knows it.
//!
//! | mode | first of equals | imitates |
//! |---|---|---|
//! | `rank` | smaller left id, then smaller right id; bytes by value, merges by age | rustbpe |
//! | `hf` | the same, with bytes in the order of the Hugging Face byte alphabet | `tokenizers`' `BpeTrainer` |
//! | `bytes-greatest` | lexicographically greatest (bytes of left, bytes of right) | the CS336 assignment's rule |

use std::cmp::Ordering;

use super::tokens::TokenTable;

/// A rule that orders pairs of equal count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// Smaller ids first.
    Rank,
    /// Greater byte strings first.
    BytesGreatest,
    /// Hugging Face's alphabet, and its reuse of a special's id.
    Hf,
}

/// Every mode with the name by which it is chosen.
pub const TIES: [(&str, Ties); 3] = [("rank", Ties::Rank), ("bytes-greatest", Ties::BytesGreatest), ("hf", Ties::Hf)];

impl Ties {
    /// The mode called `name`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        TIES.iter().find(|(known, _)| *known == name).map(|(_, ties)| *ties)
    }
}

/// What the heap holds: a pair, an upper bound of its count, and its place among equals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub bound: u64,
    /// Order of the pair by ids, smaller first; unused by `bytes-greatest`.
    pub key: u64,
    pub pair: u32,
    pub left: u32,
    pub right: u32,
}

/// Where an id stands in ties, and how candidates compare.
pub(super) struct TieOrder {
    ties: Ties,
    /// Place of each id among equals; merges are appended as they are made.
    place: Vec<u32>,
    next_place: u32,
}

impl TieOrder {
    /// The ids of `specials` stand before those of the bytes; one that spells a byte is that byte (`hf` only).
    pub fn new(ties: Ties, specials: &[Vec<u8>]) -> Self {
        let first = specials.len() as u32;
        let mut place = match ties {
            Ties::Hf => hf_byte_places().map(|place| first + place).to_vec(),
            Ties::Rank | Ties::BytesGreatest => (0..256).collect(),
        };
        for (special, index) in specials.iter().zip(0..) {
            if let &[byte] = &special[..] {
                place[usize::from(byte)] = index;
            }
        }
        Self { ties, place, next_place: first + 256 }
    }

    /// Notes a new id; `reused` is the special whose place it takes.
    pub fn push(&mut self, reused: Option<u32>) {
        let place = reused.unwrap_or(self.next_place);
        self.place.push(place);
        self.next_place += u32::from(reused.is_none());
    }

    /// The key of a candidate.
    pub fn key(&self, left: u32, right: u32) -> u64 {
        u64::from(self.place[left as usize]) << 32 | u64::from(self.place[right as usize])
    }

    /// Whether `a` is to be merged before `b`.
    #[inline]
    pub fn before(&self, a: &Candidate, b: &Candidate, tokens: &TokenTable) -> bool {
        if a.bound != b.bound {
            return a.bound > b.bound;
        }
        match self.ties {
            Ties::Rank | Ties::Hf => a.key < b.key,
            Ties::BytesGreatest => {
                let left = tokens.bytes(a.left).cmp(tokens.bytes(b.left));
                left.then_with(|| tokens.bytes(a.right).cmp(tokens.bytes(b.right))) == Ordering::Greater
            }
        }
    }
}

/// Place of each byte in the alphabet of Hugging Face's byte-level pre-tokenizer: printable bytes stand for themselves,
/// the others are mapped behind them in order of value, and the alphabet is sorted by the characters that result.
fn hf_byte_places() -> [u32; 256] {
    let shown = |byte: u32| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let mut places = [0; 256];
    let order = (0..256u32).filter(|&byte| shown(byte)).chain((0..256).filter(|&byte| !shown(byte)));
    for (place, byte) in order.enumerate() {
        places[byte as usize] = place as u32;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hf_alphabet_starts_with_the_printable_bytes() {
        let places = hf_byte_places();
        assert_eq!((places[33], places[126], places[161], places[172]), (0, 93, 94, 105));
        assert_eq!((places[174], places[255], places[0], places[32]), (106, 187, 188, 220));
        assert_eq!((places[127], places[160], places[173]), (221, 254, 255));
        let mut sorted = places;
        sorted.sort_unstable();
        assert!(sorted.iter().enumerate().all(|(at, &place)| at as u32 == place), "a permutation");
    }
}
