//! The engine through its public interface, against definitions and limits.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "tests panic on errors, and their numbers are small"
)]

use slmtok_core::count::{Counter, Counts, Limits};
use slmtok_core::encode::Encoder;
use slmtok_core::merges::Merges;
use slmtok_core::parallel::no_progress;
use slmtok_core::pretoken::Pattern;
use tempfile::NamedTempFile;

mod cache_clears;
mod corpus_seek;
mod count_bounded;
mod count_file;
mod counts_file;
mod encode_equals_definition;
#[cfg(feature = "testing")]
mod engine_work;
#[cfg(target_os = "linux")]
mod guard_page;
mod known_traps;
mod layers;
mod train_equals_recount;

/// The counts of some documents.
fn count(pattern: &Pattern, documents: &[&[u8]]) -> Counts {
    let mut counter = Counter::new(pattern.clone(), 1, Limits::default());
    counter.feed(documents, &mut no_progress).unwrap();
    counter.finish(&mut no_progress).unwrap()
}

/// The pieces of a text, whose ends the scanner gives seven at a time.
fn pieces<'a>(pattern: &Pattern, text: &'a [u8]) -> Vec<&'a [u8]> {
    let (mut scanner, mut ends, mut at, mut pieces) = (pattern.scanner(), [0; 7], 0, Vec::new());
    while at < text.len() {
        let filled = scanner.fill(text, at, &mut ends).unwrap();
        for &end in &ends[..filled] {
            pieces.push(&text[at..end]);
            at = end;
        }
    }
    pieces
}

/// An encoder whose public ids are the internal ones, counted from `first`.
fn encoder(pattern: &str, merges: &Merges, first: u32, specials: &[(u32, &[u8])]) -> Encoder {
    let public_ids = (0..merges.tokens().len() as u32).map(|id| id + first).collect();
    let specials = specials.iter().map(|&(id, text)| (id, text.to_vec())).collect();
    Encoder::from_merges(Pattern::new(pattern).unwrap(), merges.clone(), public_ids, specials, Vec::new()).unwrap()
}

/// A file with this content, deleted on drop.
fn temp_file(content: &[u8]) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), content).unwrap();
    file
}
