//! Custom patterns: gaps, empty matches, invalid bytes, limits, and equality with the named ones.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use slmtok_core::Error;
use slmtok_core::interrupt::supervised;
use slmtok_core::pretoken::{Gaps, Pattern, names};

use crate::oracle::{ALL, pieces, split, split_by};
use crate::random::text;
use crate::thread_time::thread_time;

fn split_pieces<'a>(spec: &str, segment: &'a [u8]) -> Vec<&'a [u8]> {
    pieces(segment, &split(&Pattern::new(spec).unwrap(), segment))
}

fn gaps(spec: &str, segment: &[u8], capacity: usize) -> Gaps {
    let (mut scanner, mut ends, mut at) = (Pattern::new(spec).unwrap().scanner(), vec![0; capacity], 0);
    while at < segment.len() {
        let filled = scanner.fill(segment, at, &mut ends).unwrap();
        at = ends[filled - 1];
    }
    scanner.gaps()
}

#[test]
fn the_documented_names_exist() {
    assert_eq!(names(), ["slm", "gpt2", "cl100k", "cl100k-hf", "o200k", "whole"]);
    for name in ALL {
        let pattern = Pattern::new(name).unwrap();
        assert_eq!(pattern.name(), Some(name));
        let by_regex = Pattern::new(pattern.regex()).unwrap();
        assert_eq!(by_regex.name(), Some(name), "the regex of {name} gets its scanner");
    }
}

#[test]
fn text_between_matches_is_a_piece() {
    for spec in ["a+", "a++", "a+(?!b)|a+"] {
        assert_eq!(split_pieces(spec, b"xxaay"), [&b"xx"[..], b"aa", b"y"], "{spec}");
        for capacity in [1, 2, 256] {
            assert_eq!(gaps(spec, b"xxaay", capacity), Gaps { pieces: 2, bytes: 3 }, "{spec}");
        }
        assert_eq!(split_pieces(spec, b"xyz"), [b"xyz"], "{spec}");
        assert_eq!(gaps(spec, b"aaa", 1), Gaps::default(), "{spec}");
        assert!(split_pieces(spec, b"").is_empty(), "{spec}");
    }
}

#[test]
fn empty_matches_neither_loop_nor_split() {
    for spec in ["", "x*", "(?=a)", r"\b", "a*?", "(?<=a)|b"] {
        let segment = "aab\u{4E2D}x".as_bytes();
        let ends = split(&Pattern::new(spec).unwrap(), segment);
        assert_eq!(ends.last(), Some(&segment.len()), "{spec}");
        assert!(ends.is_sorted_by(|a, b| a < b), "{spec}");
    }
    assert_eq!(split_pieces("x*", b"aaxxb"), [&b"aa"[..], b"xx", b"b"]);
}

#[test]
fn patterns_may_look_behind() {
    for capacity in [1, 256] {
        let pattern = Pattern::new(r"(?<=a)b|[abc]").unwrap();
        assert_eq!(split_by(&pattern, b"abcb", capacity), [1, 2, 3, 4]);
        let pattern = Pattern::new(r"(?<=a)b+|\Ac").unwrap();
        assert_eq!(split_by(&pattern, b"cbabbc", capacity), [1, 3, 5, 6]);
        let pattern = Pattern::new(r"a\Kb").unwrap();
        assert_eq!(split_by(&pattern, b"abab", capacity), [1, 2, 3, 4]);
    }
}

#[test]
fn possessive_means_possessive_in_every_engine() {
    assert_eq!(split_pieces(r"\p{N}{1,3}+", b"1234567"), [&b"123"[..], b"456", b"7"]);
    assert_eq!(split_pieces("a++a|b", b"aab"), [&b"aa"[..], b"b"]);
    assert_eq!(gaps("a++a|b", b"aab", 8), Gaps { pieces: 1, bytes: 2 });
}

#[test]
fn invalid_bytes_are_single_characters_of_class_other() {
    for look in ["", r"(?!\A\z)"] {
        let other = format!(r"{look}[^\s\p{{L}}\p{{N}}]|\p{{L}}+");
        assert_eq!(
            split_pieces(&other, b"ab\xFF\xE4\xB8\xE4\xB8\xAD"),
            [&b"ab"[..], b"\xFF", b"\xE4", b"\xB8", b"\xE4\xB8\xAD"]
        );
        let letters = format!(r"{look}\p{{L}}+");
        assert_eq!(split_pieces(&letters, b"\xF5\xF6a\xFFb"), [&b"\xF5\xF6"[..], b"a", b"\xFF", b"b"]);
        assert_eq!(gaps(&letters, b"\xF5\xF6a\xFFb", 1), Gaps { pieces: 2, bytes: 3 });
    }
}

#[test]
fn scanners_keep_no_state_of_the_previous_segment() {
    let mut scanner = Pattern::new("a+").unwrap().scanner();
    let (mut segment, mut ends) = (b"aab".to_vec(), [0; 1]);
    assert_eq!(scanner.fill(&segment, 0, &mut ends), Ok(1));
    assert_eq!(ends, [2]);
    segment.copy_from_slice(b"abb");
    assert_eq!(scanner.fill(&segment, 0, &mut ends), Ok(1));
    assert_eq!(ends, [1]);
}

#[test]
fn invalid_patterns_have_a_position() {
    let cases = [
        ("a(b", None),
        ("[z-a]", Some(1)),
        ("ab)", Some(2)),
        (r"\p{Nope}", Some(0)),
        ("é*[z-a]", Some(3)),
        ("(?<!a", None),
    ];
    for (spec, at) in cases {
        match Pattern::new(spec) {
            Err(Error::InvalidPattern { pattern, reason, position }) => {
                assert_eq!(pattern, spec);
                assert!(!reason.is_empty() && !reason.contains('\n'), "{reason:?}");
                if at.is_some() {
                    assert_eq!(position, at, "{spec}: {reason}");
                }
            }
            other => panic!("{spec} gives {other:?}"),
        }
    }
}

#[test]
fn exceeding_the_backtracking_limit_is_an_error_with_an_offset() {
    let pattern = Pattern::new(r"x|(?:a+)+(?!a)b").unwrap();
    let segment = [b"xx".as_slice(), &b"a".repeat(64)].concat();
    let mut scanner = pattern.scanner();
    let outcome = scanner.fill(&segment, 0, &mut [0; 256]);
    assert!(matches!(outcome, Err(Error::PatternGaveUp { offset: 2, .. })), "{outcome:?}");
    assert_eq!(scanner.fill(b"xx", 0, &mut [0; 256]), Ok(2), "the scanner is usable after an error");
}

#[test]
fn patterns_above_the_limits_are_errors() {
    for spec in
        [r"(a)(?:\1{0}){999999999}", r"(?=a)(\w{100}){99}", r"\w{1001}", r"(?:\p{L}{999}){1}x", &"a".repeat(5000)]
    {
        let begin = thread_time();
        match Pattern::new(spec) {
            Err(Error::PatternTooLarge { pattern, .. }) => assert!(pattern.len() < 100),
            other => panic!("{spec} gives {other:?}"),
        }
        let time = thread_time().saturating_sub(begin);
        assert!(time < Duration::from_secs(5), "{spec} takes {time:?}");
    }
}

#[test]
fn the_steps_of_a_segment_are_bounded_by_its_length() {
    // Each search takes 2^13 steps; one segment may take 100 for each byte.
    let pattern = Pattern::new(r"(?:x+x+)+y(?=z)|x+| ").unwrap();
    let segment = b"xxxxxxxxxxxxx ".repeat(10_000);
    match pattern.split(&segment) {
        Err(Error::PatternGaveUp { reason, offset, .. }) => {
            assert!(
                reason.contains("more backtracking steps than its length allows") && offset > 0,
                "{reason} at {offset}"
            );
        }
        other => panic!("{:?}", other.map(|(ends, _)| ends.len())),
    }
    assert_eq!(pattern.split(b"xxxx x").unwrap().0, [0, 4, 5, 6]);
}

#[test]
fn long_segments_split_as_the_named_pattern() {
    // Above 2.7 MB a search of `fancy-regex` is never quick, so a thread of its own finds the matches.
    let named = Pattern::new("gpt2").unwrap();
    let segment = "It's 12:05,  naïve 今天\u{a0}!!\n\n".as_bytes().repeat(90_000);
    let segment = [&segment[..], b"\xFF\xFE x"].concat();
    for spec in [format!("(?:{})", named.regex()), r"\w+|\s+|[^\w\s]+".to_owned()] {
        let custom = Pattern::new(&spec).unwrap();
        let (ends, gaps) = custom.split(&segment).unwrap();
        assert_eq!((ends.last(), gaps), (Some(&(segment.len() as u64)), Gaps::default()));
        if spec.starts_with("(?:") {
            assert_eq!(ends, named.split(&segment).unwrap().0);
        }
        let mut scanner = custom.scanner();
        assert_eq!(scanner.fill(&segment, 0, &mut [0; 3]), Ok(3));
        assert_eq!(scanner.fill(b"a b", 0, &mut [0; 8]), custom.split(b"a b").map(|(ends, _)| ends.len() - 1));
    }
}

#[test]
fn a_search_without_end_is_interrupted() {
    // Each of a million steps reads the rest of the text.
    let pattern = Pattern::new(r"(?:(?=[^!]*)x)+(?!x)y|\n").unwrap();
    let segment = b"x".repeat(20 << 20);
    let (begin, mut polls) = (Instant::now(), 0);
    let outcome = supervised(
        &mut || {
            polls += 1;
            if begin.elapsed() > Duration::from_millis(300) { Err(Error::Interrupted) } else { Ok(()) }
        },
        || pattern.split(&segment),
    );
    assert_eq!(outcome.map(|(ends, _)| ends.len()), Err(Error::Interrupted));
    assert!(polls > 3 && begin.elapsed() < Duration::from_secs(5), "{polls} polls in {:?}", begin.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_custom_regex_splits_as_the_named_pattern(segment in text(80)) {
        for name in ALL {
            let named = Pattern::new(name).unwrap();
            let custom = Pattern::new(&format!("(?:{})", named.regex())).unwrap();
            prop_assert_eq!(custom.name(), None);
            let ends = split(&named, &segment);
            prop_assert_eq!(&split(&custom, &segment), &ends, "{}", name);
            prop_assert_eq!(&split_by(&custom, &segment, 1), &ends, "{}, one by one", name);
        }
    }
}
