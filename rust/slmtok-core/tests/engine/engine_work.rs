//! Amount of work for generated texts, in the engine's own statistics: a lost fast path fails a test on every machine.
//!
//! Limits are slightly above the values when they were set. Raise one only with a reason. Needs the feature `testing`.

#[path = "../../benches/instructions/texts.rs"]
mod texts;

use slmtok_core::count::Counts;
use slmtok_core::encode::{Encoder, Frame, PooledId};
use slmtok_core::merges::Merges;
use slmtok_core::pretoken::{Pattern, testing};
use slmtok_core::train::{Options, Stats, TIE_BREAKS, TieBreak, train};

use crate::{count, encoder};

const SIZE: usize = 100_000;

fn trained(counts: &Counts, tie_break: TieBreak) -> (Merges, Stats) {
    let outcome = train(counts, &Options::new(1000, tie_break, 2), &mut |_, _| Ok(())).unwrap();
    (Merges::new(outcome.merges).unwrap(), outcome.stats)
}

/// (kind, text)
fn texts() -> [(&'static str, String); 5] {
    [
        ("prose", texts::prose(SIZE)),
        ("code", texts::code(SIZE)),
        ("multilingual", texts::multilingual(SIZE)),
        ("clauses", texts::clauses(SIZE)),
        ("long", texts::long_pieces(SIZE)),
    ]
}

/// A block has 64 bytes and begins at the last piece start in the block before, so some bytes are scanned twice. The scalar
/// scanner handles unresolved characters (multi-byte digits, marks beside upper case) and pieces longer than a block.
#[test]
fn the_scalar_scanner_is_rarely_used() {
    let min_blocks = (SIZE / 64) as u64;
    // Per kind: blocks in percent of the minimum, and steps of the scalar scanner.
    let limits = [("prose", 110, 30), ("code", 110, 30), ("multilingual", 125, 700), ("clauses", 145, 30)];
    for ((kind, text), (_, blocks, scalar)) in texts().iter().zip(limits) {
        for name in testing::NAMES {
            let all = testing::scanned(name, text.as_bytes(), 0, 64, 256);
            for testing::Scanned { level, steps, .. } in &all {
                assert_eq!(
                    *steps, all[0].steps,
                    "{name} on {kind}: the steps of {level} differ from those of {}",
                    all[0].level
                );
                assert!(steps.blocks * 100 <= min_blocks * blocks, "{name} on {kind}: {steps:?}, minimum {min_blocks}");
                assert!(steps.scalar <= scalar, "{name} on {kind}: {steps:?}");
            }
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_highest_available_level_is_used() {
    use std::is_x86_feature_detected as has;
    let bits = has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt");
    let limit = std::env::var("SLMTOK_SIMD").ok();
    let best = match limit.as_deref() {
        Some("portable") => "Portable",
        None if bits && has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("avx512vbmi2") => "Avx512",
        _ if bits && has!("avx2") => "Avx2",
        _ => "Portable",
    };
    assert_eq!(testing::best_level(), best);
}

fn stat(encoder: &Encoder, name: &str) -> u64 {
    encoder.stats().iter().find(|(known, _)| *known == name).unwrap().1
}

fn check_misses<I: PooledId>(encoder: &Encoder, distinct: usize, kind: &str, text: &str) {
    let documents = [text.as_bytes()];
    let encode = || encoder.encode_batch::<I>(&documents, 1, Frame::default(), &mut |_| Ok(())).unwrap();
    let first = encode();
    let first_misses = stat(encoder, "misses");
    assert!(first_misses <= distinct as u64, "{kind}: {first_misses} misses, {distinct} distinct pieces");
    assert_eq!(encode(), first);
    let second_misses = stat(encoder, "misses") - first_misses;
    assert_eq!((second_misses, stat(encoder, "clears")), (0, 0), "{kind}: misses and clears of the second call");
}

/// Clauses too: their parts recur.
#[test]
fn merged_pieces_are_cached() {
    let pattern = Pattern::new("cl100k").unwrap();
    for (kind, text) in texts() {
        let counts = count(&pattern, &[text.as_bytes()]);
        let (merges, _) = trained(&counts, TieBreak::Rank);
        check_misses::<u16>(&encoder("cl100k", &merges, 16, &[]), counts.distinct(), kind, &text);
        check_misses::<u32>(&encoder("cl100k", &merges, 70_000, &[]), counts.distinct(), kind, &text);
    }
}

/// Large pieces are cached at their first occurrence, but never evict others for it.
#[test]
fn large_pieces_are_merged_once_and_clear_no_cache() {
    let pattern = Pattern::new("cl100k").unwrap();
    let (merges, _) = trained(&count(&pattern, &[texts::prose(SIZE).as_bytes()]), TieBreak::Rank);
    let encoder = encoder("cl100k", &merges, 16, &[]);
    let misses_of = |piece: &str| {
        let before = stat(&encoder, "misses");
        encoder.encode::<u16>(piece.as_bytes()).unwrap();
        stat(&encoder, "misses") - before
    };
    let common = "internationalizations";
    for piece in [common, &"ab".repeat(1 << 9), &"ab".repeat(1 << 12), &"ab".repeat(1 << 19)] {
        assert_eq!([misses_of(piece), misses_of(piece)], [1, 0], "{} bytes", piece.len());
    }
    // More than the cache may hold.
    for n in 0..60 {
        misses_of(&"a".repeat(1_000_000 + n));
    }
    assert_eq!(misses_of(common), 0, "it was evicted");
}

#[test]
fn training_visits_few_postings_per_merge() {
    let pattern = Pattern::new("cl100k").unwrap();
    // Per kind: postings visited per ten merged occurrences, and candidates popped per ten merges.
    let limits = [("prose", 33, 36), ("code", 30, 33), ("multilingual", 30, 26), ("clauses", 30, 40), ("long", 57, 48)];
    for ((kind, text), (_, visited, pops)) in texts().iter().zip(limits) {
        let counts = count(&pattern, &[text.as_bytes()]);
        for (name, tie_break) in TIE_BREAKS {
            let (merges, stats) = trained(&counts, tie_break);
            let n = merges.pairs().len() as u64;
            assert!(n > 800 && stats.applied > 0, "{kind}, {name}: {n} merges, {stats:?}");
            assert!(stats.visited * 10 <= stats.applied * visited, "{kind}, {name}: {stats:?}");
            assert!(stats.pops * 10 <= n * pops, "{kind}, {name}: {n} merges, {stats:?}");
            assert!(stats.postings <= 2 * stats.arena, "{kind}, {name}: {stats:?}");
        }
    }
}
