//! Sync points begin a piece, whatever text precedes the character before them.

use proptest::prelude::*;
use regex_automata::meta::Regex;
use slmtok_core::pretoken::Pattern;

use crate::oracle::{ALL, split, stand_in};
use crate::random::text;

/// Sync points by definition: white space after a letter or number, a letter or number after a newline.
fn sync_points(segment: &[u8]) -> Vec<usize> {
    let pair = Regex::new(r"\A(?:[\p{L}\p{N}]\s|[\r\n][\p{L}\p{N}])").unwrap();
    let (mut before, mut at, mut found) = (None, 0, Vec::new());
    for chunk in segment.utf8_chunks() {
        let invalid = chunk.invalid().iter().map(|&byte| (stand_in(byte), 1));
        for (character, length) in chunk.valid().chars().map(|c| (c, c.len_utf8())).chain(invalid) {
            if before.is_some_and(|before| pair.is_match(&format!("{before}{character}"))) {
                found.push(at);
            }
            before = Some(character);
            at += length;
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn sync_points_begin_pieces_after_any_text(left in text(40), segment in text(80)) {
        let joined = [left.as_slice(), &segment].concat();
        let starts = sync_points(&segment);
        for name in ALL.into_iter().filter(|&name| name != "whole") {
            let pattern = Pattern::new(name).unwrap();
            let ends = split(&pattern, &joined);
            for from in 0..=segment.len() {
                let expected = starts.iter().copied().find(|&start| start >= from);
                prop_assert_eq!(pattern.next_sync_point(&segment, from), expected, "{} from {}", name, from);
            }
            for &start in &starts {
                // Joining may complete a truncated character; the position stays a sync point.
                prop_assert!(ends.contains(&(left.len() + start)), "{name}: {start} of {segment:?} after {left:?}");
            }
        }
    }
}

#[test]
fn whole_and_custom_patterns_have_no_sync_points() {
    for spec in ["whole", r"\w+| "] {
        assert_eq!(Pattern::new(spec).unwrap().next_sync_point(b"a b\nc", 0), None, "{spec}");
    }
}

#[test]
fn the_start_of_the_segment_is_not_a_sync_point() {
    let pattern = Pattern::new("slm").unwrap();
    assert_eq!(pattern.next_sync_point(b" a b", 0), Some(2));
    assert_eq!(pattern.next_sync_point(b"abc", 0), None);
    assert_eq!(pattern.next_sync_point(b"a ", 1), Some(1));
    assert_eq!(pattern.next_sync_point(b"a b", 7), None);
    assert_eq!(pattern.next_sync_point(b"", 0), None);
    assert_eq!(pattern.next_sync_point("\u{17F}\n".as_bytes(), 0), Some(2), "a letter of two bytes");
}
