//! Counting and training against reference implementations: all tie breaks, limits, required tokens, specials, any number of
//! threads, tables in memory and on disk.

use std::collections::BTreeMap;

use slmtok_core::Error;
use slmtok_core::count::{Budget, Counter, Counts, Limits};
use slmtok_core::pretoken::Pattern;
use slmtok_core::train::reference::{Learned, train_by_recounting};
use slmtok_core::train::{Options, Outcome, Stop, TIE_BREAKS, TokenLimits, train as train_by_arena};

use crate::input::Input;
use crate::vocab::{pick_pattern, pieces};

/// Longest text: the reference implementation recounts it at every step.
const MAX_BYTES: usize = 600;

type Words = Vec<(Vec<u8>, u64)>;

/// Options first, then documents.
pub fn train(data: &[u8]) {
    let mut input = Input(data);
    let pattern = pick_pattern(&mut input);
    let (threads, factor) = (1 + input.below(3), input.pick(&[1, 1, 1, 3_000_000_000, 1 << 40]));
    let (options, forbidden) = options(&mut input);
    let documents: Vec<&[u8]> = input.parts(4).into_iter().map(|text| &text[..text.len().min(MAX_BYTES / 4)]).collect();
    let words = counted_by_map(&pattern, &documents);
    assert_eq!(count(&pattern, &documents, threads, None).sorted(), words);
    if data.len() % 16 == 1 {
        // Rarely, because it writes files: every table is spilled after this many pieces.
        let spilled = count(&pattern, &documents, threads, Some(1 + words.len() / 7));
        assert_eq!(spilled.sorted(), words);
    }
    let words: Words = words.into_iter().map(|(word, count)| (word, count * factor)).collect();
    let items = words.iter().map(|(word, count)| (word.as_slice(), *count));
    let counts = Counts::from_items(pattern, items, 1, 0).expect("no count overflows");
    check_training(&counts, &words, &options, &forbidden);
}

/// Options of a run, and the byte string that they forbid in tokens, if it is not empty.
fn options(input: &mut Input<'_>) -> (Options, Vec<u8>) {
    let (n_merges, tie_break, min_count) = (input.below(48), input.pick(&TIE_BREAKS).1, input.below(4));
    let flags = input.byte();
    let mut options = Options::new(n_merges as u32, tie_break, min_count as u64);
    let max_bytes = if flags & 1 > 0 { input.below(9) } else { 0 };
    let max_chars = if flags & 2 > 0 { input.below(6) } else { 0 };
    let mut forbidden = Vec::new();
    if flags & 4 > 0 {
        let length = 1 + input.below(3);
        forbidden = input.part(length).to_vec();
    }
    let regex: String = forbidden.iter().map(|byte| format!("\\x{byte:02x}")).collect();
    let regex = (!regex.is_empty()).then(|| format!("(?s-u:{regex})"));
    options.limits = TokenLimits::new(max_bytes as u32, max_chars as u32, regex.as_deref()).expect("bytes compile");
    if flags & 8 > 0 {
        options.require = tokens(input);
    }
    if flags & 16 > 0 {
        options.specials = tokens(input);
        options.specials.retain(|special| !special.is_empty());
        options.specials.sort_unstable();
        options.specials.dedup();
    }
    (options, forbidden)
}

fn tokens(input: &mut Input<'_>) -> Vec<Vec<u8>> {
    let lengths: Vec<usize> = (0..input.below(4)).map(|_| 1 + input.below(6)).collect();
    lengths.into_iter().map(|n| input.part(n).to_vec()).collect()
}

fn counted_by_map(pattern: &Pattern, documents: &[&[u8]]) -> Words {
    let mut counts: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for piece in documents.iter().flat_map(|text| pieces(pattern, text)) {
        *counts.entry(piece.to_vec()).or_default() += 1;
    }
    counts.into_iter().collect()
}

fn count(pattern: &Pattern, documents: &[&[u8]], threads: usize, max_pieces: Option<usize>) -> Counts {
    let mut counter = Counter::new(pattern.clone(), threads, Limits::default());
    if let Some(max_pieces) = max_pieces {
        counter = counter.with_budget(&Budget { max_pieces, ..Budget::new(usize::MAX, std::env::temp_dir()) });
    }
    for some in documents.chunks(2) {
        counter.feed(some, &mut |_| Ok(())).expect("a named pattern");
    }
    counter.finish(&mut |_| Ok(())).expect("small counts")
}

fn check_training(counts: &Counts, words: &Words, options: &Options, forbidden: &[u8]) {
    let expected = train_by_recounting(words, options, &|token| allows(options, forbidden, token));
    match (train_by_arena(counts, options, &mut |_, _| Ok(())), expected) {
        (Ok(outcome), Some(expected)) => {
            let new_ids = expected.merges.len() - expected.reused.len();
            assert_eq!(outcome.stop == Stop::Full, new_ids == options.n_merges as usize);
            let Outcome { merges, counts, reused, required_merges, .. } = outcome;
            assert_eq!(Learned { merges, counts, reused, required_merges }, expected);
        }
        // The pattern or the limits exclude a required token.
        (Err(Error::RequiredToken { .. }), _) => assert!(!options.require.is_empty()),
        (Err(Error::RequiredTooMany { needed, available }), None) => assert!(needed > available),
        (outcome, expected) => panic!("{:?} instead of {expected:?}", outcome.map(|outcome| outcome.merges)),
    }
}

/// Whether the limits allow a token, without the code of the limits.
fn allows(options: &Options, forbidden: &[u8], token: &[u8]) -> bool {
    let n_chars = token.iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
    let is_forbidden = !forbidden.is_empty() && token.windows(forbidden.len()).any(|part| part == forbidden);
    let exceeds = |n: usize, limit: u32| limit > 0 && n > limit as usize;
    !is_forbidden && !exceeds(token.len(), options.limits.max_bytes) && !exceeds(n_chars, options.limits.max_chars)
}
