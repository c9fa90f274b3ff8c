//! Scanner = regex on random and ill-formed text, for any capacity of the array of ends.

use proptest::prelude::*;

use crate::alphabet::{CELLS, WIDTHS};
use crate::oracle::{Oracle, show, split, split_by};

/// Up to `max_bytes` bytes of characters, digits, truncated characters and random bytes.
pub fn text(max_bytes: usize) -> impl Strategy<Value = Vec<u8>> {
    let character = prop_oneof![prop::sample::select(&CELLS[..]), prop::sample::select(&WIDTHS[..]), any::<char>()];
    let bytes = |character: char| character.to_string().into_bytes();
    let part = prop_oneof![
        6 => character.clone().prop_map(bytes),
        1 => (character, 1..4_usize).prop_map(move |(c, keep)| bytes(c).into_iter().take(keep).collect()),
        1 => prop::collection::vec(any::<u8>(), 1..3),
        1 => ("[ \n]{1,9}|[0-9\u{662}]{1,9}|[A-Z]{1,9}|[a-z]{1,20}").prop_map(String::into_bytes),
        1 => prop::sample::select(vec![&b"\xED\xA0\x80"[..], b"\xC0\xAF", b"\xE0\x80\x80", b"\xF4\x90\x80\x80"])
            .prop_map(<[u8]>::to_vec),
        1 => (0x80..=0xFF_u8).prop_map(|byte| vec![byte]),
    ];
    prop::collection::vec(part, 0..max_bytes / 4).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn pieces_tile_and_equal_the_regex(segment in text(120)) {
        for oracle in Oracle::all() {
            let ends = split(&oracle.pattern, &segment);
            prop_assert!(ends.is_sorted_by(|a, b| a < b), "{} gives an empty piece: {ends:?}", oracle.name);
            prop_assert_eq!(ends.last().copied().unwrap_or(0), segment.len());
            let expected = oracle.ends(&segment);
            prop_assert_eq!(&ends, &expected, "{}: {} is not {}", oracle.name, show(&segment, &ends), show(&segment, &expected));
        }
    }

    #[test]
    fn resuming_at_any_piece_start_changes_nothing(segment in text(200)) {
        for oracle in Oracle::all() {
            let ends = split(&oracle.pattern, &segment);
            for capacity in [1, 3, 64, 100, 256] {
                prop_assert_eq!(&split_by(&oracle.pattern, &segment, capacity), &ends, "{} by {}", oracle.name, capacity);
            }
            for (index, &start) in ends.iter().enumerate() {
                let mut first = [0];
                let filled = oracle.pattern.scanner().fill(&segment, start, &mut first).unwrap();
                prop_assert_eq!(&first[..filled], ends.get(index + 1).map(std::slice::from_ref).unwrap_or_default());
            }
        }
    }
}
