//! A fixed workload whose instructions are counted: `make instructions` runs it under callgrind and compares with the stored
//! counts, so that a lost fast path shows on a busy machine too. One thread; no times.
//!
//! Only the calls of [`measured`] are counted. Prints the SIMD level of the scanners and the names of the cases in their order.
//! Callgrind emulates no AVX-512.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "tests panic on errors, and their numbers are small"
)]

mod texts;

use std::hint::black_box;

use slmtok_core::count::{Counter, Counts, Limits};
use slmtok_core::decode::Decoder;
use slmtok_core::encode::{Encoder, Frame, PooledId};
use slmtok_core::merges::Merges;
use slmtok_core::pretoken::{Pattern, testing};
use slmtok_core::train::{Options, TieBreak, train};

const SIZE: usize = 200_000;
const N_MERGES: u32 = 3000;

/// Counting begins when this function is entered, and ends when it returns.
#[inline(never)]
fn measured(work: &mut dyn FnMut()) {
    work();
}

/// One case: its name, and the work.
fn case<T>(name: &str, mut work: impl FnMut() -> T) -> T {
    let mut result = None;
    measured(&mut || result = Some(black_box(work())));
    println!("case {name}");
    result.unwrap()
}

fn main() {
    println!("tier {}", testing::best_level());
    let texts = [
        ("prose", texts::prose(SIZE)),
        ("code", texts::code(SIZE)),
        ("multilingual", texts::multilingual(SIZE)),
        ("clauses", texts::clauses(SIZE)),
        ("long", texts::long_pieces(SIZE)),
    ];
    for name in testing::NAMES {
        let pattern = Pattern::new(name).unwrap();
        for (kind, text) in &texts[..4] {
            case(&format!("scan {name} {kind}"), || scan(&pattern, text.as_bytes()));
        }
    }
    let pattern = Pattern::new("cl100k").unwrap();
    let all: Vec<&[u8]> = texts.iter().map(|(_, text)| text.as_bytes()).collect();
    let counts = case("count", || count(&pattern, &all));
    let options = Options::new(N_MERGES, TieBreak::Rank, 2);
    let outcome = case("train", || train(&counts, &options, &mut |_, _| Ok(())).unwrap());
    let merges = Merges::new(outcome.merges).unwrap();
    for (kind, text) in &texts {
        encode::<u16>(&encoder(&pattern, &merges, 16), &format!("u16 {kind}"), text.as_bytes());
    }
    encode::<u32>(&encoder(&pattern, &merges, 70_000), "u32 prose", texts[0].1.as_bytes());
    runs(&pattern, &merges);
    short_texts(&encoder(&pattern, &merges, 16), &texts[0].1);
}

fn scan(pattern: &Pattern, text: &[u8]) -> usize {
    let (mut scanner, mut ends, mut at, mut n) = (pattern.scanner(), [0; 256], 0, 0);
    while at < text.len() {
        let filled = scanner.fill(text, at, &mut ends).unwrap();
        n += filled;
        at = ends[filled - 1];
    }
    n
}

fn count(pattern: &Pattern, documents: &[&[u8]]) -> Counts {
    let mut counter = Counter::new(pattern.clone(), 1, Limits::default());
    counter.feed(documents, &mut |_| Ok(())).unwrap();
    counter.finish(&mut |_| Ok(())).unwrap()
}

fn encoder(pattern: &Pattern, merges: &Merges, first: u32) -> Encoder {
    let public_ids = (0..merges.tokens().len() as u32).map(|id| id + first).collect();
    Encoder::from_merges(pattern.clone(), merges.clone(), public_ids, Vec::new(), Vec::new()).unwrap()
}

/// Encodes with empty and with filled caches, then decodes.
fn encode<I: PooledId + Into<i64>>(encoder: &Encoder, name: &str, text: &[u8]) {
    let documents = [text];
    let mut once = || encoder.encode_batch::<I>(&documents, 1, Frame::default(), &mut |_| Ok(())).unwrap();
    let cold = case(&format!("encode cold {name}"), &mut once);
    let warm = case(&format!("encode warm {name}"), &mut once);
    assert_eq!(cold, warm);
    let decoder = Decoder::new(encoder).unwrap();
    assert_eq!(case(&format!("decode {name}"), || decoder.decode(&cold.ids).unwrap()), text);
}

/// Runs of one letter and of spaces: scanning, merging, training, and the search for sync points.
fn runs(pattern: &Pattern, merges: &Merges) {
    let (letters, spaces) = ("a".repeat(SIZE), " ".repeat(SIZE));
    for (kind, text) in [("letters", letters.as_bytes()), ("spaces", spaces.as_bytes())] {
        encode::<u16>(&encoder(pattern, merges, 16), &format!("u16 {kind}"), text);
        assert_eq!(case(&format!("sync point in {kind}"), || pattern.next_sync_point(text, 1)), None);
        let counts = count(pattern, &[text]);
        case(&format!("train {kind}"), || {
            train(&counts, &Options::new(8, TieBreak::Rank, 2), &mut |_, _| Ok(())).unwrap()
        });
    }
}

/// One sentence per call: the cost of a call apart from its text.
fn short_texts(encoder: &Encoder, text: &str) {
    let sentences: Vec<&[u8]> = text.as_bytes().chunks(60).take(1000).collect();
    let one = |text: &&[u8]| encoder.encode_and::<u16, _>(text, <[u16]>::len).unwrap();
    let all = || sentences.iter().map(one).sum::<usize>();
    all();
    case("encode 1000 short texts", all);
}
