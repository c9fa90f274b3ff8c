//! The trainer against the reference implementation, which recounts every pair at each step.

use proptest::prelude::*;
use slmtok_core::Error;
use slmtok_core::count::{Counter, Counts, Limits};
use slmtok_core::merge::pair_table::PairTable;
use slmtok_core::merge::reference::merge_by_definition;
use slmtok_core::merges::Merges;
use slmtok_core::pretoken::Pattern;
use slmtok_core::train::reference::{Learned, train_by_recounting};
use slmtok_core::train::{MAX_REFUSALS, Options, Outcome, Replayed, Stop, TIE_BREAKS, TieBreak, TokenLimits, train};

type Words = Vec<(Vec<u8>, u64)>;

fn counts(words: &Words) -> Counts {
    let items = words.iter().map(|(word, count)| (word.as_slice(), *count));
    Counts::from_items(Pattern::new("whole").unwrap(), items, 1, 0).unwrap()
}

fn run(words: &Words, options: &Options) -> Outcome {
    train(&counts(words), options, &mut |_, _| Ok(())).unwrap()
}

/// The result of the reference implementation under the limits of the trainer.
fn recounted(words: &Words, options: &Options) -> Learned {
    train_by_recounting(words, options, &|token| options.limits.refuses(token).is_none()).unwrap()
}

/// The part of an outcome that the reference implementation has too.
fn learned(outcome: &Outcome) -> Learned {
    let Outcome { merges, counts, reused, required_merges, .. } = outcome.clone();
    Learned { merges, counts, reused, required_merges }
}

/// Distinct words in ascending order.
fn words() -> impl Strategy<Value = Words> {
    let letters = prop::sample::select(vec![&b"ab"[..], b"abc", b"aab", b"abcdefgh", b"a", &[0xE4, 0xB8, 0xAD, 0x20]]);
    letters.prop_flat_map(|letters| {
        let word = prop::collection::vec(prop::sample::select(letters.to_vec()), 1..15);
        let count = prop::sample::select(vec![1u64, 1, 2, 3, 7, 3_000_000_000, 1 << 40]);
        prop::collection::btree_map(word, count, 1..12).prop_map(|words| words.into_iter().collect())
    })
}

/// Words of repeated short units.
fn periodic_words() -> impl Strategy<Value = Words> {
    let part = ("[ab]{1,3}", 1usize..70).prop_map(|(unit, n)| unit.repeat(n).into_bytes());
    let word = prop::collection::vec(part, 1..4).prop_map(|parts| parts.concat());
    prop::collection::btree_map(word, 1u64..4, 1..4).prop_map(|words| words.into_iter().collect())
}

proptest! {
    #[test]
    fn periodic_words_equal_a_recount(words in periodic_words(), n in 0u32..40, tie_break in 0usize..3) {
        let options = Options::new(n, TIE_BREAKS[tie_break].1, 1);
        prop_assert_eq!(learned(&run(&words, &options)), recounted(&words, &options));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn merges_and_counts_equal_a_recount(words in words(), n in 0u32..30, min_count in 0u64..4, tie_break in 0usize..3,
                                         max_bytes in 0u32..8, max_chars in 0u32..5) {
        let mut options = Options::new(n, TIE_BREAKS[tie_break].1, min_count);
        options.limits = TokenLimits::new(max_bytes, max_chars, None).unwrap();
        let got = run(&words, &options);
        prop_assert_eq!(learned(&got), recounted(&words, &options));
        prop_assert_eq!(got.stop == Stop::Full, got.merges.len() == n as usize);
    }

    #[test]
    fn extending_equals_a_recount(first in words(), second in words(), before in 0u32..20, more in 0u32..20,
                                  min_count in 0u64..4, tie_break in 0usize..3) {
        let tie_break = TIE_BREAKS[tie_break].1;
        let old = run(&first, &Options::new(before, tie_break, 1)).merges;
        let replay = old.iter().map(|&(left, right)| Replayed { left, right, special: None }).collect();
        let options = Options { replay, ..Options::new(old.len() as u32 + more, tie_break, min_count) };
        let got = run(&second, &options);
        prop_assert_eq!(learned(&got), recounted(&second, &options));
        prop_assert!(got.merges.starts_with(&old));
    }

    #[test]
    fn extending_with_the_same_counts_is_training(words in words(), before in 0u32..20, more in 0u32..20, tie_break in 0usize..3) {
        let mut options = Options::new(before, TIE_BREAKS[tie_break].1, 1);
        options.specials = vec![b"ab".to_vec(), b"cab".to_vec()];
        let old = run(&words, &options);
        let special = |merge: usize| old.reused.iter().find(|(index, _)| *index as usize == merge).map(|&(_, special)| special);
        let replay = |(merge, &(left, right)): (usize, &(u32, u32))| Replayed { left, right, special: special(merge) };
        let whole = Options { n_merges: before + more, ..options.clone() };
        let extended = Options { replay: old.merges.iter().enumerate().map(replay).collect(), ..whole.clone() };
        prop_assert_eq!(learned(&run(&words, &extended)), learned(&run(&words, &whole)));
    }

    #[test]
    fn next_count_is_the_count_of_the_next_merge(words in words(), min_count in 2u64..5) {
        let options = Options::new(1000, TieBreak::Rank, min_count);
        let got = run(&words, &options);
        let n = got.merges.len() + 1;
        let all = recounted(&words, &Options::new(n as u32, TieBreak::Rank, 1));
        prop_assert_eq!(got.next_count, all.counts.get(n - 1).copied().unwrap_or(0));
        prop_assert_eq!(got.stop, if got.next_count > 0 { Stop::MinCount } else { Stop::NoPairs });
    }

    #[test]
    fn no_token_contains_a_forbidden_match(words in words()) {
        let mut options = Options::new(40, TieBreak::Rank, 1);
        options.limits = TokenLimits::new(0, 0, Some("ab|c$")).unwrap();
        let got = run(&words, &options);
        for token in &tokens(&got.merges)[256..] {
            let text = String::from_utf8_lossy(token);
            prop_assert!(!text.contains("ab") && !text.ends_with('c'), "{:?}", text);
        }
        prop_assert_eq!(learned(&got), recounted(&words, &options));
    }

    #[test]
    fn required_tokens_are_in_the_vocabulary(words in words(), require in prop::collection::vec("[a-d]{1,6}", 0..5), n in 0u32..40) {
        let mut options = Options::new(n, TieBreak::Rank, 2);
        options.require = require.iter().map(|token| token.clone().into_bytes()).collect();
        match train(&counts(&words), &options, &mut |_, _| Ok(())) {
            Ok(got) => {
                let tokens = tokens(&got.merges);
                for token in &options.require {
                    prop_assert!(tokens.contains(token), "{:?} is missing", token);
                }
                prop_assert!(got.merges.len() <= n as usize);
                prop_assert_eq!(learned(&got), recounted(&words, &options));
            }
            Err(Error::RequiredTooMany { needed, available }) => prop_assert!(needed > available),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn threads_and_order_do_not_matter(texts in prop::collection::vec("[ab ñ中\n]{0,40}", 0..20), seed in any::<u64>()) {
        let pattern = Pattern::new("slm").unwrap();
        let count = |threads: usize, texts: &[&[u8]], step: usize| {
            let mut counter = Counter::new(pattern.clone(), threads, Limits::default());
            for part in texts.chunks(step) {
                counter.feed(part, &mut |_| Ok(())).unwrap();
            }
            counter.finish(&mut |_| Ok(())).unwrap()
        };
        let ordered: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        let mut shuffled = ordered.clone();
        shuffled.sort_unstable_by_key(|text| slmtok_core::byte_hash::hash_bytes(text, seed));
        let (one, other) = (count(1, &ordered, 100), count(3, &shuffled, 1 + (seed % 5) as usize));
        prop_assert_eq!(one.canonical(), other.canonical());
        prop_assert_eq!(one.totals.pieces, other.totals.pieces);
    }
}

/// The bytes of every internal id.
fn tokens(merges: &[(u32, u32)]) -> Vec<Vec<u8>> {
    let mut tokens: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    for &(left, right) in merges {
        tokens.push([&tokens[left as usize][..], &tokens[right as usize][..]].concat());
    }
    tokens
}

#[test]
fn known_answer() {
    let text = b"aaabdaaabac";
    let got = run(&vec![(text.to_vec(), 1)], &Options::new(3, TieBreak::Rank, 1));
    assert_eq!(got.merges, [(97, 97), (97, 98), (256, 257)]);
    assert_eq!(got.counts, [4, 2, 2]);
    let pairs = PairTable::new(&Merges::new(got.merges).unwrap());
    assert_eq!(merge_by_definition(&pairs, text), [258, 100, 258, 97, 99]);
}

#[test]
fn equal_counts_follow_the_tie_break() {
    let words: Words = (b'a'..=b'h').map(|letter| (vec![letter, b'z'], 5)).collect();
    let first = |tie_break| run(&words, &Options::new(1, tie_break, 1)).merges[0];
    assert_eq!(first(TieBreak::Rank), (97, 122));
    assert_eq!(first(TieBreak::BytesGreatest), (104, 122));
}

#[test]
fn with_hf_alone_a_merge_takes_the_id_of_an_equal_special() {
    let words: Words = vec![(b"abab".to_vec(), 9), (b"cd".to_vec(), 2)];
    let mut options = Options::new(2, TieBreak::Hf, 1);
    options.specials = vec![b"<s>".to_vec(), b"ab".to_vec()];
    let got = run(&words, &options);
    assert_eq!(got.reused, [(0, 1)]);
    assert_eq!(got.merges.len(), 3, "the reused merge takes no slot");
    options.tie_break = TieBreak::Rank;
    let plain = run(&words, &options);
    assert_eq!((plain.reused.len(), plain.merges.len()), (0, 2));
}

#[test]
fn counts_above_32_bits_are_exact() {
    let words: Words = vec![(b"ab".to_vec(), 3_000_000_000), (b"cd".to_vec(), 1 << 40)];
    let got = run(&words, &Options::new(2, TieBreak::Rank, 1));
    assert_eq!(got.merges, [(99, 100), (97, 98)]);
    assert_eq!(got.counts, [1 << 40, 3_000_000_000]);
}

#[test]
fn a_sum_of_weights_above_63_bits_is_an_error() {
    let words: Words = vec![(b"ab".to_vec(), 1 << 62)];
    let error = train(&counts(&words), &Options::new(1, TieBreak::Rank, 1), &mut |_, _| Ok(())).unwrap_err();
    assert!(matches!(error, Error::CountOverflow { .. }), "{error}");
}

#[test]
fn impossible_required_tokens_are_errors() {
    let pattern = Pattern::new("slm").unwrap();
    let counts = Counts::from_items(pattern, [(&b"hello"[..], 5)], 1, 5).unwrap();
    let fault = |token: &[u8], limits: TokenLimits| {
        let options = Options { require: vec![token.to_vec()], limits, ..Options::new(50, TieBreak::Rank, 1) };
        train(&counts, &options, &mut |_, _| Ok(())).unwrap_err().to_string()
    };
    assert!(fault(b"new york", TokenLimits::default()).contains("split by the pattern"));
    assert!(fault(b"", TokenLimits::default()).contains("empty"));
    assert!(fault(b"abcdef", TokenLimits::new(4, 0, None).unwrap()).contains("max_token_bytes"));
    assert!(fault(b"abcdef", TokenLimits::new(0, 0, Some("^..$")).unwrap()).contains("the limits forbid"));
}

#[test]
fn an_error_of_report_ends_the_run() {
    let words: Words = vec![(b"abcabc".to_vec(), 5)];
    let stopped = train(&counts(&words), &Options::new(3, TieBreak::Rank, 1), &mut |_, _| Err(Error::Interrupted));
    assert_eq!(stopped.unwrap_err(), Error::Interrupted);
}

#[test]
fn the_list_of_refused_tokens_has_an_end() {
    let letters = 0..50u8;
    let words: Words = letters
        .clone()
        .flat_map(|a| letters.clone().flat_map(move |b| (0..50u8).map(move |c| (vec![a, b, 100 + c], 1))))
        .collect();
    let limits = TokenLimits::new(2, 0, None).unwrap();
    let got = run(&words, &Options { limits, ..Options::new(10_000, TieBreak::Rank, 1) });
    // Each pair of letters is merged, and none of the 125,000 words.
    assert_eq!((got.merges.len(), got.refused.len(), got.stop), (2500, MAX_REFUSALS, Stop::NoPairs));
}

#[test]
fn tokens_without_limits_fit_a_vocabulary() {
    let got = run(&vec![(vec![b'a'; 5 << 20], 1)], &Options::new(64, TieBreak::Rank, 1));
    assert_eq!(got.refused[0].token.len(), 2 << 20);
    let merges = Merges::new(got.merges).unwrap();
    assert_eq!((0..merges.tokens().len() as u32).map(|id| merges.tokens().get(id).len()).max(), Some(1 << 20));
}

#[test]
fn one_long_run_takes_linear_work() {
    let words: Words = vec![(vec![b'a'; 1 << 18], 1)];
    let stats = run(&words, &Options::new(64, TieBreak::Rank, 1)).stats;
    assert!(stats.visited < 8 * stats.arena, "{stats:?}");
    // Each level of tokens is posted once; pairs that the next occurrence breaks at once are not posted.
    assert!(stats.postings * 10 < 22 * stats.arena, "{stats:?}");
}

#[test]
fn a_replayed_merge_must_use_earlier_ids() {
    let replay = vec![Replayed { left: 97, right: 256, special: None }];
    let options = Options { replay, ..Options::new(5, TieBreak::Rank, 1) };
    let error = train(&counts(&vec![(b"ab".to_vec(), 3)]), &options, &mut |_, _| Ok(())).unwrap_err();
    assert!(matches!(error, Error::InvalidMerges { index: 0, left: 97, right: 256, .. }), "{error}");
}
