//! Texts on which look-ahead and backtracking would be quadratic.
//!
//! A quadratic scanner needs 10^12 steps here, which takes minutes. The limit is 100 times the time of a linear scanner, so
//! that a slow machine passes.

use std::time::Duration;

use slmtok_core::pretoken::Pattern;

use crate::oracle::{ALL, split, split_by};
use crate::thread_time::thread_time;

const MILLION: usize = 1_000_000;
const LIMIT: Duration = Duration::from_secs(5);

/// (description, text)
fn texts() -> Vec<(&'static str, String)> {
    let repeat = |unit: &str| unit.repeat(MILLION / unit.chars().count());
    vec![
        ("spaces", repeat(" ")),
        ("spaces, then a letter", repeat(" ") + "a"),
        ("newlines", repeat("\n")),
        ("newline and space", "\n ".repeat(100_000)),
        ("a newline, then spaces", format!("\n{}!", repeat(" "))),
        ("spaces, then newlines, then spaces", format!("{}{}{}x", repeat(" "), repeat("\n"), repeat("\t"))),
        ("wide spaces", repeat("\u{3000}") + "a"),
        ("lower case", repeat("a")),
        ("upper case", repeat("A")),
        ("upper case after a mark", format!("\u{301}{}", repeat("A"))),
        ("upper case after an ideograph", format!("\u{4E2D}{}", repeat("A"))),
        ("upper case, then lower case", repeat("A") + &repeat("a")),
        ("camel case", repeat("Aa")),
        ("marks", repeat("\u{301}")),
        ("marks and upper case", repeat("\u{301}A")),
        ("ideographs", repeat("\u{4E2D}")),
        ("apostrophes", repeat("'")),
        ("contractions", repeat("'s")),
        ("contractions of a word", format!("a{}", repeat("'s"))),
        ("digits", repeat("1")),
        ("slashes", repeat("/")),
        ("slashes and newlines", repeat("!\n/")),
        ("punctuation", repeat("!")),
        ("space and punctuation", repeat(" !")),
        ("underscores", repeat("_")),
    ]
}

#[test]
fn a_million_repetitions_take_linear_time() {
    let invalid = [("invalid bytes", vec![0xFF; MILLION]), ("lead bytes", vec![0xF0; MILLION])];
    for (what, text) in texts().into_iter().map(|(what, text)| (what, text.into_bytes())).chain(invalid) {
        for name in ALL {
            let pattern = Pattern::new(name).unwrap();
            let begin = thread_time();
            let ends = split(&pattern, &text);
            let time = thread_time().saturating_sub(begin);
            assert!(time < LIMIT, "{name} took {time:?} for {what}");
            assert_eq!(ends.last(), Some(&text.len()), "{name} on {what}");
        }
    }
}

#[test]
fn resuming_after_every_piece_takes_linear_time() {
    for (what, text) in texts() {
        for name in ["slm", "gpt2", "o200k", r"\p{L}+|\s+(?!\S)|\s", r"[0-9a-zA-Z]"] {
            let pattern = Pattern::new(name).unwrap();
            let text = &text.as_bytes()[..text.floor_char_boundary(100_000)];
            let begin = thread_time();
            let ends = split_by(&pattern, text, 1);
            let time = thread_time().saturating_sub(begin);
            assert!(time < LIMIT, "{name} took {time:?} for {what}");
            assert_eq!(ends.last(), Some(&text.len()), "{name} on {what}");
        }
    }
}
