//! Custom patterns: gaps, empty matches, undecodable bytes, limits, and equality with the named ones.

use proptest::prelude::*;
use slmtok_core::Error;
use slmtok_core::pretoken::{Gaps, Pattern, names};

use crate::oracle::{ALL, pieces, split, split_by};
use crate::random::text;

fn cut<'a>(spec: &str, segment: &'a [u8]) -> Vec<&'a [u8]> {
    pieces(segment, &split(&Pattern::new(spec).unwrap(), segment))
}

fn gaps(spec: &str, segment: &[u8], room: usize) -> Gaps {
    let (mut scanner, mut ends, mut at) = (Pattern::new(spec).unwrap().scanner(), vec![0; room], 0);
    while at < segment.len() {
        let filled = scanner.fill(segment, at, &mut ends).unwrap();
        at = ends[filled - 1];
    }
    scanner.gaps()
}

#[test]
fn names_are_those_that_are_documented() {
    assert_eq!(names(), ["slm", "gpt2", "cl100k", "cl100k-hf", "o200k", "whole"]);
    for name in ALL {
        let pattern = Pattern::new(name).unwrap();
        assert_eq!(pattern.name(), Some(name));
        let spelled = Pattern::new(pattern.regex()).unwrap();
        assert_eq!(spelled.name(), Some(name), "the regex of {name} gets its scanner");
    }
}

#[test]
fn text_between_matches_is_a_piece() {
    for spec in ["a+", "a++", "a+(?!b)|a+"] {
        assert_eq!(cut(spec, b"xxaay"), [&b"xx"[..], b"aa", b"y"], "{spec}");
        for room in [1, 2, 256] {
            assert_eq!(gaps(spec, b"xxaay", room), Gaps { pieces: 2, bytes: 3 }, "{spec}");
        }
        assert_eq!(cut(spec, b"xyz"), [b"xyz"], "{spec}");
        assert_eq!(gaps(spec, b"aaa", 1), Gaps::default(), "{spec}");
        assert!(cut(spec, b"").is_empty(), "{spec}");
    }
}

#[test]
fn empty_matches_never_loop_nor_cut() {
    for spec in ["", "x*", "(?=a)", r"\b", "a*?", "(?<=a)|b"] {
        let segment = "aab\u{4E2D}x".as_bytes();
        let ends = split(&Pattern::new(spec).unwrap(), segment);
        assert_eq!(ends.last(), Some(&segment.len()), "{spec}");
        assert!(ends.is_sorted_by(|a, b| a < b), "{spec}");
    }
    assert_eq!(cut("x*", b"aaxxb"), [&b"aa"[..], b"xx", b"b"]);
}

#[test]
fn patterns_may_look_behind() {
    for room in [1, 256] {
        let pattern = Pattern::new(r"(?<=a)b|[abc]").unwrap();
        assert_eq!(split_by(&pattern, b"abcb", room), [1, 2, 3, 4]);
        let pattern = Pattern::new(r"(?<=a)b+|\Ac").unwrap();
        assert_eq!(split_by(&pattern, b"cbabbc", room), [1, 3, 5, 6]);
        let pattern = Pattern::new(r"a\Kb").unwrap();
        assert_eq!(split_by(&pattern, b"abab", room), [1, 2, 3, 4]);
    }
}

#[test]
fn possessive_means_possessive_in_every_engine() {
    assert_eq!(cut(r"\p{N}{1,3}+", b"1234567"), [&b"123"[..], b"456", b"7"]);
    assert_eq!(cut("a++a|b", b"aab"), [&b"aa"[..], b"b"]);
    assert_eq!(gaps("a++a|b", b"aab", 8), Gaps { pieces: 1, bytes: 2 });
}

#[test]
fn undecodable_bytes_are_single_characters_of_class_other() {
    for look in ["", r"(?!\A\z)"] {
        let other = format!(r"{look}[^\s\p{{L}}\p{{N}}]|\p{{L}}+");
        assert_eq!(
            cut(&other, b"ab\xFF\xE4\xB8\xE4\xB8\xAD"),
            [&b"ab"[..], b"\xFF", b"\xE4", b"\xB8", b"\xE4\xB8\xAD"]
        );
        let letters = format!(r"{look}\p{{L}}+");
        assert_eq!(cut(&letters, b"\xF5\xF6a\xFFb"), [&b"\xF5\xF6"[..], b"a", b"\xFF", b"b"]);
        assert_eq!(gaps(&letters, b"\xF5\xF6a\xFFb", 1), Gaps { pieces: 2, bytes: 3 });
    }
}

#[test]
fn scanners_forget_the_segment_before() {
    let mut scanner = Pattern::new("a+").unwrap().scanner();
    let (mut segment, mut ends) = (b"aab".to_vec(), [0; 1]);
    assert_eq!(scanner.fill(&segment, 0, &mut ends), Ok(1));
    assert_eq!(ends, [2]);
    segment.copy_from_slice(b"abb");
    assert_eq!(scanner.fill(&segment, 0, &mut ends), Ok(1));
    assert_eq!(ends, [1]);
}

#[test]
fn invalid_patterns_tell_where() {
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
fn giving_up_is_an_error_with_its_offset() {
    let pattern = Pattern::new(r"x|(?:a+)+(?!a)b").unwrap();
    let segment = [b"xx".as_slice(), &b"a".repeat(64)].concat();
    let mut scanner = pattern.scanner();
    let outcome = scanner.fill(&segment, 0, &mut [0; 256]);
    assert!(matches!(outcome, Err(Error::PatternGaveUp { offset: 2, .. })), "{outcome:?}");
    assert_eq!(scanner.fill(b"xx", 0, &mut [0; 256]), Ok(2), "the scanner lives on");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_custom_regex_cuts_as_the_named_pattern(segment in text(80)) {
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
