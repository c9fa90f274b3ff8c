//! Counting a file block by block on all threads equals counting its text.

use std::io::Write;

use slmtok_core::Error;
use slmtok_core::corpus::sha256;
use slmtok_core::count::{Budget, Counter, Counts, Limits};
use slmtok_core::parallel::no_progress;
use slmtok_core::pretoken::{Pattern, names};

/// Blocks of a file have 256 KiB.
const BLOCK_BYTES: usize = 1 << 18;

fn counted_file(pattern: &Pattern, path: &str, threads: usize, limits: Limits) -> (Counts, bool, [u8; 32]) {
    let mut counter = Counter::new(pattern.clone(), threads, limits);
    let (more, digest) = counter.feed_hashed(path, &mut |_, _| Ok(())).unwrap();
    (counter.finish(&mut no_progress).unwrap(), more, digest)
}

fn counted_text(pattern: &Pattern, text: &[u8], limits: Limits) -> Counts {
    let mut counter = Counter::new(pattern.clone(), 1, limits);
    counter.feed(&[text], &mut no_progress).unwrap();
    counter.finish(&mut no_progress).unwrap()
}

fn file(text: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    file
}

/// Texts whose sync points, characters and invalid bytes lie around the borders of blocks.
fn texts() -> Vec<Vec<u8>> {
    let words = "It's 12:05,  naïve 今天\u{a0}!!\n\n  \u{3000}x".as_bytes();
    let mixed = words.repeat(5 * BLOCK_BYTES / words.len());
    let mut run = mixed.clone();
    run[BLOCK_BYTES - 10..3 * BLOCK_BYTES + 10].fill(b'-');
    let mut invalid = mixed.clone();
    for border in 1..5 {
        invalid[border * BLOCK_BYTES - 3..border * BLOCK_BYTES + 3].copy_from_slice(b"\xE4\xB8\xFF\xE4\xB8\xAD");
    }
    let at_border = |before: &str, after: &str| {
        let mut text = vec![b'a'; 2 * BLOCK_BYTES - before.len()];
        text[BLOCK_BYTES - 4..BLOCK_BYTES + 4].copy_from_slice("\u{3000}a\u{3000}x".as_bytes());
        text.extend_from_slice(before.as_bytes());
        text.extend_from_slice(after.as_bytes());
        text
    };
    vec![
        Vec::new(),
        b"a b".to_vec(),
        mixed[..BLOCK_BYTES].to_vec(),
        mixed[..2 * BLOCK_BYTES + 1].to_vec(),
        run,
        invalid,
        at_border("é", " b"),
        at_border("\n", "1 \u{3000}2"),
        at_border("x\u{3000}", "\u{3000}y"),
        vec![b'\n'; 3 * BLOCK_BYTES],
    ]
}

#[test]
fn a_file_counts_as_its_text() {
    let patterns: Vec<_> = names().into_iter().chain(["word", "char", "[a-z]+"]).collect();
    for (index, text) in texts().into_iter().enumerate() {
        let file = file(&text);
        for name in &patterns {
            let pattern = Pattern::new(name).unwrap();
            let limits = Limits { max_doc_chars: Some(BLOCK_BYTES as u64 + 7), ..Limits::default() };
            for (limits, threads) in [(Limits::default(), 1), (Limits::default(), 3), (limits, 2)] {
                let want = counted_text(&pattern, &text, limits.clone());
                let (found, more, digest) = counted_file(&pattern, file.path().to_str().unwrap(), threads, limits);
                assert!(found.canonical() == want.canonical(), "text {index}, {name}, {threads} threads");
                assert_eq!(found.totals, want.totals, "text {index}, {name}, {threads} threads");
                assert!(more && digest == sha256(&text));
            }
        }
    }
}

#[test]
fn a_file_that_shrinks_is_an_error() {
    let file = file(&b"some words ".repeat(100_000));
    let path = file.path().to_str().unwrap();
    let mut counter = Counter::new(Pattern::new("slm").unwrap(), 1, Limits::default());
    let outcome = counter.feed_hashed(path, &mut |done, _| {
        assert!(done > 0);
        file.as_file().set_len(300_000).map_err(|error| Error::io(path, "truncate", &error))
    });
    assert!(matches!(&outcome, Err(Error::Shrunk { size: 1_100_000, .. })), "{outcome:?}");
}

#[test]
fn text_without_sync_points_is_held_up_to_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let budget = Budget::new(8 << 20, folder.path());
    for (name, text, fits) in [
        ("slm", vec![b'a'; 1 << 20], true),
        ("slm", vec![b'a'; 20 << 20], false),
        ("whole", b"a b ".repeat(5 << 20), false),
        ("[a-z]+", b"a b ".repeat(5 << 20), false),
        ("slm", b"a b ".repeat(5 << 20), true),
    ] {
        let (file, pattern) = (file(&text), Pattern::new(name).unwrap());
        let path = file.path().to_str().unwrap();
        let mut counter = Counter::new(pattern.clone(), 1, Limits::default()).with_budget(&budget);
        let outcome = counter.feed_hashed(path, &mut |_, _| Ok(()));
        let mut counter = Counter::new(pattern, 1, Limits::default()).with_budget(&budget);
        let parts =
            text.chunks(1 << 20).try_for_each(|part| counter.feed_part(part, false, &mut no_progress).map(drop));
        if fits {
            assert!(outcome.is_ok() && parts.is_ok(), "{name}: {outcome:?} {parts:?}");
        } else {
            let limit = 2 << 20;
            assert_eq!(outcome, Err(Error::UndividedText { place: Some(path.to_owned()), limit }));
            assert_eq!(parts, Err(Error::UndividedText { place: None, limit }));
        }
    }
}
