//! The bodies of the fuzz targets: each takes any bytes and panics where a promise of the core is broken.
//!
//! They are ordinary functions, so that `tests/regressions.rs` can replay what a fuzzer found on stable Rust.

use slmtok_core::count::{Counter, Counts, Limits};
use slmtok_core::decode::{Decoder, StreamDecoder};
use slmtok_core::encode::{Encoder, Frame};
use slmtok_core::merges::Merges;
use slmtok_core::pretoken::{self, Pattern};
use slmtok_core::train::reference::train_by_recounting;
use slmtok_core::train::{Options, TIES, TokenLimits, train as train_core};

/// One byte chooses, the rest is the text.
fn choice(data: &[u8]) -> (usize, &[u8]) {
    data.split_first().map_or((0, data), |(&first, rest)| (usize::from(first), rest))
}

fn pattern(number: usize) -> Pattern {
    let names = pretoken::names();
    Pattern::new(names[number % names.len()]).expect("registered names compile")
}

/// Pieces of every named pattern tile the text, none is empty, and scanning on from any piece gives the same ones.
pub fn split(data: &[u8]) {
    let (number, text) = choice(data);
    let pattern = pattern(number);
    let ends = pieces(&pattern, text, 0);
    let mut start = 0;
    for &end in &ends {
        assert!(end > start, "an empty piece at {start}");
        start = end;
    }
    assert_eq!(start, text.len(), "the last piece ends before the text");
    if let Some(&first) = ends.first() {
        assert_eq!(pieces(&pattern, text, first), ends[1..], "scanning on from {first} gives other pieces");
    }
}

fn pieces(pattern: &Pattern, text: &[u8], mut at: usize) -> Vec<usize> {
    let mut scanner = pattern.scanner();
    let (mut found, mut ends) = (Vec::new(), [0; 7]);
    loop {
        let filled = scanner.fill(text, at, &mut ends).expect("named patterns do not give up");
        found.extend_from_slice(&ends[..filled]);
        match ends[..filled].last() {
            Some(&end) if end < text.len() => at = end,
            _ => return found,
        }
    }
}

/// The trainer makes the merges, with the counts, of the one that recounts everything at each step.
pub fn train(data: &[u8]) {
    let (number, text) = choice(&data[..data.len().min(300)]);
    let counts = count(&pattern(number), text, 1);
    let ties = TIES[number / 8 % TIES.len()].1;
    let options = Options::new(20, ties, 1);
    let outcome = train_core(&counts, &options, &mut |_, _| Ok(())).expect("small counts train");
    let (merges, numbers) = train_by_recounting(&counts.sorted(), 20, ties, 1, &TokenLimits::default());
    assert_eq!(outcome.merges, merges);
    assert_eq!(outcome.counts, numbers);
}

fn count(pattern: &Pattern, text: &[u8], threads: usize) -> Counts {
    let mut counter = Counter::new(pattern.clone(), threads, Limits::default());
    counter.feed(&[text], &mut |_| Ok(())).expect("small texts count");
    counter.finish(&mut |_| Ok(())).expect("small texts count")
}

/// What is encoded decodes to the same bytes, alone and in a batch, whatever the number of threads.
pub fn encode(data: &[u8]) {
    let (number, text) = choice(data);
    let pattern = pattern(number);
    let counts = count(&pattern, text, 1);
    let options = Options::new(100, TIES[0].1, 1);
    let merges = train_core(&counts, &options, &mut |_, _| Ok(())).expect("small counts train").merges;
    let external = (16..16 + 256 + u32::try_from(merges.len()).expect("100 merges at most")).collect();
    let merges = Merges::new(merges).expect("trained merges are sound");
    let encoder = Encoder::from_merges(pattern, merges, external, Vec::new(), Vec::new()).expect("the ids are fresh");
    let ids = encoder.encode::<u32>(text).expect("named patterns do not give up");
    let decoder = Decoder::new(&encoder).expect("few tokens fit");
    assert_eq!(decoder.decode(&ids).expect("known ids"), text);
    let batch = encoder.encode_batch::<u32>(&[text, b"", text], 2, Frame::default(), &mut |_| Ok(()));
    let twice = batch.expect("named patterns do not give up").ids;
    assert_eq!(twice, [ids.as_slice(), ids.as_slice()].concat());
}

/// A text that arrives in portions is the text as a whole, each ill-formed part one U+FFFD.
pub fn stream(data: &[u8]) {
    let (number, text) = choice(data);
    let mut decoder = StreamDecoder::default();
    let mut shown = String::new();
    for portion in text.chunks(number % 7 + 1) {
        shown.push_str(&decoder.push(portion));
    }
    shown.push_str(&decoder.finish());
    assert_eq!(shown, String::from_utf8_lossy(text));
}
