//! Counting and training against their definitions: all tie modes, limits, required tokens, specials, any number of threads,
//! tables in memory and on disk.

use std::collections::BTreeMap;

use slmtok_core::Error;
use slmtok_core::count::{Budget, Counter, Counts, Limits};
use slmtok_core::pretoken::{Pattern, names};
use slmtok_core::train::reference::train_by_recounting;
use slmtok_core::train::{Options, Outcome, Stop, TIE_BREAKS, TokenLimits, train as train_core};

use crate::input::Input;
use crate::naive::{Asked, Learned, train as train_naively};
use crate::vocab::pieces;

/// The longest text: the definition recounts it at every step.
const MOST: usize = 600;

/// Options first, then documents.
pub fn train(data: &[u8]) {
    let mut input = Input(data);
    let pattern = Pattern::new(input.pick(&names())).expect("registered names compile");
    let (threads, factor) = (1 + input.below(3), input.pick(&[1, 1, 1, 3_000_000_000, 1 << 40]));
    let asked = asked(&mut input);
    let documents: Vec<&[u8]> = input.parts(4).into_iter().map(|text| &text[..text.len().min(MOST / 4)]).collect();
    let words = counted_naively(&pattern, &documents);
    assert_eq!(count(&pattern, &documents, threads, None).sorted(), words);
    if data.len() % 16 == 1 {
        // Seldom, for it writes files: every table goes to disk after so many pieces.
        let spilled = count(&pattern, &documents, threads, Some(1 + words.len() / 7));
        assert_eq!(spilled.sorted(), words);
    }
    let multiplied: Vec<(Vec<u8>, u64)> = words.into_iter().map(|(word, count)| (word, count * factor)).collect();
    let items = multiplied.iter().map(|(word, count)| (word.as_slice(), *count));
    let counts = Counts::from_items(pattern, items, 1, 0).expect("no count overflows");
    compare(&counts, &multiplied, &asked);
}

fn asked(input: &mut Input<'_>) -> Asked {
    let (slots, tie_break, min_count) = (input.below(48), input.below(TIE_BREAKS.len()), input.below(4) as u64);
    let limits = input.byte();
    let mut asked = Asked { slots, tie_break, min_count, ..Asked::default() };
    if limits & 1 > 0 {
        asked.max_bytes = input.below(9);
    }
    if limits & 2 > 0 {
        asked.max_chars = input.below(6);
    }
    if limits & 4 > 0 {
        let length = 1 + input.below(3);
        asked.forbidden = input.part(length).to_vec();
    }
    if limits & 8 > 0 {
        asked.require = few(input);
    }
    if limits & 16 > 0 {
        asked.specials = few(input);
        asked.specials.retain(|special| !special.is_empty());
        asked.specials.sort_unstable();
        asked.specials.dedup();
    }
    asked
}

fn few(input: &mut Input<'_>) -> Vec<Vec<u8>> {
    (0..input.below(4))
        .map(|_| 1 + input.below(6))
        .collect::<Vec<_>>()
        .into_iter()
        .map(|n| input.part(n).to_vec())
        .collect()
}

fn counted_naively(pattern: &Pattern, documents: &[&[u8]]) -> Vec<(Vec<u8>, u64)> {
    let mut counts: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for piece in documents.iter().flat_map(|text| pieces(pattern, text)) {
        *counts.entry(piece.to_vec()).or_default() += 1;
    }
    counts.into_iter().collect()
}

fn count(pattern: &Pattern, documents: &[&[u8]], threads: usize, spill: Option<usize>) -> Counts {
    let mut counter = Counter::new(pattern.clone(), threads, Limits::default());
    if let Some(pieces) = spill {
        counter = counter.within(&Budget { max_pieces: pieces, ..Budget::new(usize::MAX, std::env::temp_dir()) });
    }
    for some in documents.chunks(2) {
        counter.feed(some, &mut |_| Ok(())).expect("small texts count");
    }
    counter.finish(&mut |_| Ok(())).expect("small texts count")
}

fn options(asked: &Asked) -> Options {
    let forbidden: String = asked.forbidden.iter().map(|byte| format!("\\x{byte:02x}")).collect();
    let forbid = (!forbidden.is_empty()).then(|| format!("(?s-u:{forbidden})"));
    let limits = TokenLimits::new(asked.max_bytes as u32, asked.max_chars as u32, forbid.as_deref());
    let mut options = Options::new(asked.slots as u32, TIE_BREAKS[asked.tie_break].1, asked.min_count);
    options.limits = limits.expect("bytes compile");
    options.require.clone_from(&asked.require);
    options.specials.clone_from(&asked.specials);
    options
}

fn compare(counts: &Counts, words: &[(Vec<u8>, u64)], asked: &Asked) {
    let options = options(asked);
    let want = train_naively(words, asked);
    match (train_core(counts, &options, &mut |_, _| Ok(())), want) {
        (Ok(outcome), Some(want)) => same(&outcome, &want, &options, words),
        // These words are never one token under this pattern or these limits.
        (Err(Error::RequiredToken { .. }), _) => assert!(!asked.require.is_empty()),
        (Err(Error::RequiredTooMany { needed, available }), None) => assert!(needed > available),
        (outcome, want) => panic!("{:?} instead of {want:?}", outcome.map(|outcome| outcome.merges)),
    }
}

fn same(outcome: &Outcome, want: &Learned, options: &Options, words: &[(Vec<u8>, u64)]) {
    let Outcome { merges, counts, reused, required_merges, .. } = outcome.clone();
    assert_eq!(Learned { merges, counts, reused, required: required_merges }, *want);
    assert_eq!(outcome.stop == Stop::Full, want.merges.len() - want.reused.len() == options.n_merges as usize);
    if options.require.is_empty() && want.reused.is_empty() && options.specials.is_empty() {
        let n = options.n_merges as usize;
        let twin = train_by_recounting(words, n, options.tie_break, options.min_count, &options.limits);
        assert_eq!((&outcome.merges, &outcome.counts), (&twin.0, &twin.1), "the twin in the core");
    }
}
