//! Counting in bounded memory and of partial documents, against a plain map of pieces.

use std::collections::BTreeMap;

use proptest::prelude::*;
use slmtok_core::Error;
use slmtok_core::count::{Budget, Counter, Counts, Limits};
use slmtok_core::parallel::no_progress;
use slmtok_core::pretoken::Pattern;

use crate::pieces;

const PATTERNS: [&str; 4] = ["gpt2", "cl100k", "o200k", "[a-z]+"];

/// Pieces of the documents with their counts.
fn counted_by_map(pattern: &Pattern, documents: &[Vec<u8>]) -> Vec<(Vec<u8>, u64)> {
    let mut counts = BTreeMap::new();
    for piece in documents.iter().flat_map(|text| pieces(pattern, text)) {
        *counts.entry(piece.to_vec()).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

fn budget(pieces: usize) -> Budget {
    Budget { max_pieces: pieces, ..Budget::new(usize::MAX, std::env::temp_dir()) }
}

fn counted(mut counter: Counter, calls: &[Vec<Vec<u8>>]) -> Counts {
    for documents in calls {
        let documents: Vec<&[u8]> = documents.iter().map(Vec::as_slice).collect();
        counter.feed(&documents, &mut no_progress).unwrap();
    }
    counter.finish(&mut no_progress).unwrap()
}

/// Words of two letters, some longer than a key, between spaces, newlines and invalid bytes.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        8 => "[ab]{1,9}",
        2 => "[ab]{14,40}",
        4 => "( |\n|\\. |  \n)",
        1 => "(é|中|\u{200b})",
    ];
    prop::collection::vec((part, prop::bool::weighted(0.05)), 0..120).prop_map(|parts| {
        let mut text = Vec::new();
        for (part, invalid) in parts {
            text.extend_from_slice(part.as_bytes());
            text.extend(invalid.then_some(0xFF));
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn spilling_does_not_change_the_counts(calls in prop::collection::vec(prop::collection::vec(text(), 0..6), 1..8),
                                pattern in 0usize..4, threads in 1usize..4) {
        let pattern = Pattern::new(PATTERNS[pattern]).unwrap();
        let want = counted_by_map(&pattern, &calls.concat());
        let free = counted(Counter::new(pattern.clone(), threads, Limits::default()), &calls);
        for max_pieces in [1, 64] {
            let bound = counted(Counter::new(pattern.clone(), threads, Limits::default()).with_budget(&budget(max_pieces)), &calls);
            prop_assert_eq!(bound.sorted(), want.clone());
            prop_assert_eq!(bound.totals, free.totals);
            let texts = calls.iter().flatten().filter(|text| !text.is_empty()).count();
            prop_assert!(max_pieces > 1 || threads > 1 || texts < 2 || bound.spills.runs > 0);
        }
        prop_assert_eq!(free.sorted(), want);
        prop_assert_eq!(free.spills.runs, 0);
    }
}

/// Text of about `size` bytes in which most words differ.
fn many_words(size: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(size + 64);
    let mut state = 88_172_645_463_325_252u64;
    while text.len() < size {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let word = format!(
            "{:x}{}",
            state >> 40,
            ["\n", " ", " longer words than a key holds and ", "\u{4e2d} "][state as usize % 4]
        );
        text.extend_from_slice(word.as_bytes());
    }
    text
}

#[test]
fn a_budget_in_bytes_is_kept_by_spilling() {
    let pattern = Pattern::new("gpt2").unwrap();
    let documents = vec![vec![many_words(6 << 20)]];
    let free = counted(Counter::new(pattern.clone(), 2, Limits::default()), &documents);
    let folder = tempfile::tempdir().unwrap();
    for (bytes, runs) in [(1 << 20, 10..), (4 << 20, 2..), (1 << 30, 0..)] {
        for threads in [1, 2, 3] {
            let counter = Counter::new(pattern.clone(), threads, Limits::default())
                .with_budget(&Budget::new(bytes, folder.path()));
            let bound = counted(counter, &documents);
            assert!(bound.canonical() == free.canonical(), "{bytes} bytes, {threads} threads");
            assert!(
                bound.spills.runs >= runs.start && (runs.start > 0 || bound.spills.runs == 0),
                "{:?}",
                bound.spills
            );
            assert_eq!((bound.spills.runs > 0, bound.totals), (bound.spills.bytes > 0, free.totals));
        }
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn many_runs_are_merged_early() {
    let pattern = Pattern::new("gpt2").unwrap();
    let documents = vec![vec![many_words(1 << 20)]];
    let free = counted(Counter::new(pattern.clone(), 1, Limits::default()), &documents);
    let bound = counted(Counter::new(pattern, 1, Limits::default()).with_budget(&budget(1)), &documents);
    assert!(bound.spills.runs > 600 && bound.canonical() == free.canonical(), "{:?}", bound.spills);
}

#[test]
fn an_error_names_a_missing_folder() {
    let budget = Budget { folder: "no/such/folder".into(), ..budget(1) };
    let mut counter = Counter::new(Pattern::new("gpt2").unwrap(), 1, Limits::default()).with_budget(&budget);
    let words = many_words(10_000);
    let error = counter.feed(&[&words], &mut no_progress).unwrap_err();
    assert!(matches!(&error, Error::Io { path, .. } if path == "no/such/folder"), "{error}");
}

fn in_parts(pattern: &Pattern, limits: Limits, text: &[u8], sizes: &[usize]) -> Counts {
    let mut counter = Counter::new(pattern.clone(), 2, limits);
    counter.feed(&[b"before \xFF"], &mut no_progress).unwrap();
    let (mut at, mut sizes) = (0, sizes.iter().cycle());
    while at < text.len() {
        let end = (at + sizes.next().unwrap()).min(text.len());
        if !counter.feed_part(&text[at..end], false, &mut no_progress).unwrap() {
            break;
        }
        at = end;
    }
    let _ = counter.feed_part(b"", true, &mut no_progress).unwrap();
    counter.finish(&mut no_progress).unwrap()
}

fn at_once(pattern: &Pattern, limits: Limits, text: &[u8]) -> Counts {
    let mut counter = Counter::new(pattern.clone(), 2, limits);
    counter.feed(&[b"before \xFF"], &mut no_progress).unwrap();
    counter.feed(&[text], &mut no_progress).unwrap();
    counter.finish(&mut no_progress).unwrap()
}

#[test]
fn partial_documents_count_as_the_whole() {
    let mut text = many_words(20 << 20);
    // Runs without sync points, an invalid byte, and white space where a part may end.
    text.splice(9 << 20..9 << 20, "中".repeat(1 << 20).bytes());
    text.splice(13 << 20..13 << 20, b"   \n\n \xFF  \n".repeat(1000));
    text.extend(b"\n \n  ");
    for name in ["gpt2", "cl100k", "cl100k-hf", "slm", "o200k", "whole", "word", "char"] {
        let pattern = Pattern::new(name).unwrap();
        let want = at_once(&pattern, Limits::default(), &text);
        for sizes in [&[1 << 20][..], &[700_001, 3], &[usize::MAX / 2]] {
            let got = in_parts(&pattern, Limits::default(), &text, sizes);
            assert!(got.canonical() == want.canonical(), "{name} {sizes:?}");
            assert_eq!(got.totals, want.totals, "{name} {sizes:?}");
        }
    }
    let empty = in_parts(&Pattern::new("slm").unwrap(), Limits::default(), b"", &[1]);
    assert_eq!(empty.totals, at_once(&Pattern::new("slm").unwrap(), Limits::default(), b"").totals);
}

#[test]
fn limits_truncate_partial_documents_as_whole_ones() {
    let text = many_words(20 << 20);
    let pattern = Pattern::new("cl100k").unwrap();
    for limit in [1, 1000, (8 << 20) + 5, 15 << 20, 100 << 20] {
        let limits = [
            Limits { max_doc_chars: Some(limit), ..Limits::default() },
            Limits { chars_left: Some(limit), ..Limits::default() },
            Limits { bytes_left: Some(limit), ..Limits::default() },
            Limits { max_doc_chars: Some(limit), chars_left: Some(10 << 20), bytes_left: Some(12 << 20) },
        ];
        for limits in limits {
            let got = in_parts(&pattern, limits.clone(), &text, &[1 << 20]);
            let want = at_once(&pattern, limits.clone(), &text);
            assert!(got.canonical() == want.canonical(), "{limits:?}");
            assert_eq!(
                (got.totals.documents, got.totals.bytes),
                (want.totals.documents, want.totals.bytes),
                "{limits:?}"
            );
            assert_eq!(got.totals.truncation.documents, want.totals.truncation.documents, "{limits:?}");
        }
    }
}
