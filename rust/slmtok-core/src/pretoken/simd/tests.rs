//! Bitmask rules against the scalar rules, which are tested against the regexes.

use proptest::prelude::*;

use super::super::scalar::{Cl100k, Gpt2, O200k};
use super::*;

/// One character of every class that a rule distinguishes, in all lengths, and invalid bytes.
const ALPHABET: [&[u8]; 30] = [
    b"a",
    b"s",
    b"L",
    b"e",
    b"v",
    b"'",
    b" ",
    b"\n",
    b"\r",
    b"\t",
    b"/",
    b"!",
    b"1",
    b"2",
    "é".as_bytes(),
    "É".as_bytes(),
    "ſ".as_bytes(),
    "ʰ".as_bytes(),
    "中".as_bytes(),
    "\u{301}".as_bytes(),
    "“".as_bytes(),
    "٣".as_bytes(),
    "\u{a0}".as_bytes(),
    "\u{3000}".as_bytes(),
    "😀".as_bytes(),
    "𝟙".as_bytes(),
    "𝒜".as_bytes(),
    b"\xFF",
    b"\xE4\xB8",
    b"\x80",
];

/// Piece ends by the scalar rules.
fn scalar_ends<R: BitmaskRules>(rules: R, segment: &[u8]) -> Vec<usize> {
    let (mut at, mut ends) = (0, Vec::new());
    while at < segment.len() {
        at = rules.piece_end(segment, at);
        ends.push(at);
    }
    ends
}

/// Piece ends with blocks of `width` bytes.
fn scanned<R: BitmaskRules>(rules: R, segment: &[u8], level: SimdLevel, width: usize) -> Vec<usize> {
    let (mut start, mut all, mut ends) = (0, Vec::new(), [0; 100]);
    loop {
        let filled = level.run(Scan { rules, segment, start, ends: &mut ends, width });
        all.extend_from_slice(&ends[..filled]);
        match all.last() {
            Some(&last) if filled > 0 => start = last,
            _ => return all,
        }
    }
}

fn check_rules<R: BitmaskRules + std::fmt::Debug>(rules: R, segment: &[u8], widths: &[usize]) {
    let expected = scalar_ends(rules, segment);
    for level in SimdLevel::all() {
        for &width in widths {
            let found = scanned(rules, segment, level, width);
            assert_eq!(found, expected, "{} by {rules:?} in {level:?} at width {width}", segment.escape_ascii());
        }
    }
}

fn check(segment: &[u8], widths: &[usize]) {
    check_rules(Gpt2, segment, widths);
    check_rules(Cl100k::<2, true>, segment, widths);
    check_rules(Cl100k::<3, true>, segment, widths);
    check_rules(Cl100k::<3, false>, segment, widths);
    check_rules(O200k, segment, widths);
}

fn joined(indices: &[usize]) -> Vec<u8> {
    indices.iter().flat_map(|&k| ALPHABET[k % ALPHABET.len()]).copied().collect()
}

/// A block needs 64 bytes, so each string is followed by 64 others.
#[test]
fn all_strings_of_three_characters_with_edges_everywhere() {
    for (first, second) in (0..ALPHABET.len()).flat_map(|k| (0..ALPHABET.len()).map(move |j| (k, j))) {
        let mut segment = Vec::new();
        for third in 0..ALPHABET.len() {
            segment.extend(joined(&[first, second, third]));
        }
        segment.extend([b'x'; WIDTH]);
        check(&segment, &[4, 5, 7, 64]);
    }
}

#[test]
fn all_short_segments_of_three_characters() {
    for k in 0..ALPHABET.len().pow(3) {
        let (first, second, third) = (k / 900, k / 30 % 30, k % 30);
        let all = joined(&[first, second, third]);
        check(&all, &[64]);
        check(&all[..all.len() - 1], &[64]);
    }
}

/// Words that end near the end of the first or second block, followed by every kind of character.
#[test]
fn long_words_end_correctly() {
    for letter in ["a", "A", "é", "ʰ", "א", "中", "한", "e\u{301}", "अ"] {
        for length in (56..72).chain(120..136) {
            let word: String = letter
                .chars()
                .cycle()
                .scan(0, |bytes, c| {
                    *bytes += c.len_utf8();
                    (*bytes <= length).then_some(c)
                })
                .collect();
            // At the end of the segment, complete or followed by a truncated character.
            check(word.as_bytes(), &[64]);
            for last in ALPHABET {
                check(&[word.as_bytes(), last].concat(), &[64]);
            }
            for (first, second) in (0..ALPHABET.len()).flat_map(|k| [0, 2, 5, 6, 7, 12, 14, 17, 18].map(|j| (k, j))) {
                let mut segment = [word.as_bytes(), &joined(&[first, second])].concat();
                check(&segment, &[64]);
                segment.extend(b" b".repeat(70));
                check(&segment, &[64]);
            }
        }
    }
}

/// Indents slightly longer than the skipped spaces, followed by every kind of character.
#[test]
fn long_indents_end_correctly() {
    for (before, length) in
        ["", "a", "!\n"].into_iter().flat_map(|before| (63..69).chain(127..133).map(move |n| (before, n)))
    {
        let indent = [before.as_bytes(), &b" ".repeat(length)].concat();
        check(&indent, &[64]);
        for (first, second) in (0..ALPHABET.len()).flat_map(|k| [0, 2, 5, 6, 7, 9, 10, 11, 12, 22].map(|j| (k, j))) {
            let mut segment = [&indent, &joined(&[first, second])[..]].concat();
            check(&segment, &[64]);
            segment.extend(b" b".repeat(70));
            check(&segment, &[64]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn random_strings_at_any_width(
        indices in prop::collection::vec(0_usize..30, 0..150), few in prop::collection::vec(0_usize..30, 1..4), width in 4_usize..=64,
    ) {
        check(&joined(&indices), &[width, 64]);
        // Long runs of up to three characters, with others in between.
        let runs: Vec<usize> = indices.iter().flat_map(|&k| std::iter::repeat_n(few[k % few.len()], k % 9).chain([k; 1])).collect();
        check(&joined(&runs), &[width, 64]);
    }
}

#[test]
fn every_character_in_context() {
    let mut segment = Vec::new();
    for (k, character) in ('\0'..=char::MAX).enumerate() {
        let place = ["", "a", " ", "'", "!", "1", "\n", "A"][k % 8];
        let mut buffer = [0; 4];
        let text = character.encode_utf8(&mut buffer).as_bytes();
        for before in ["a", place] {
            segment.extend(before.as_bytes());
            segment.extend(text);
        }
        if segment.len() > 4000 {
            check(&segment, &[64]);
            segment.clear();
        }
    }
}
