//! The unsafe code of this crate through its safe interface, small enough for Miri. `make sanitize` runs this file under Miri and
//! AddressSanitizer, which detect out-of-bounds accesses that an ordinary run may survive. Needs the feature `testing`.
//!
//! Each text is an allocation of exactly its length. Miri supports neither files nor madvise; the sanitizer covers them.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "tests panic on errors, and their numbers are small"
)]

use slmtok_core::accel::transcode::Utf8Buffer;
use slmtok_core::count::{Counter, Limits};
use slmtok_core::encode::{Encoder, Frame};
use slmtok_core::merge::pair_table::PairTable;
use slmtok_core::merge::reference::merge_by_definition;
use slmtok_core::merges::Merges;
use slmtok_core::pretoken::{Pattern, testing};

/// Characters of all classes and all lengths.
const SAMPLE: &str = "It's  A1234 test--\r\n\t“é”É中文の。😀 d\u{301}ʰ\u{a0}٣٤/\n𝟙DON'T aB  ";

fn sample(length: usize) -> Box<[u8]> {
    SAMPLE.bytes().chain([0xFF, 0xE4, 0xB8]).cycle().take(length).collect()
}

fn lengths() -> impl Iterator<Item = usize> {
    // Every character is at the end of some text; the largest texts span two blocks.
    (0..if cfg!(miri) { 4 } else { 200 }).chain([63, 64, 65, 127, 128, 140])
}

#[test]
fn every_level_of_the_scanner() {
    for length in lengths() {
        let text = sample(length);
        for name in testing::NAMES {
            let expected = testing::scalar_ends(name, &text, 0).unwrap();
            let all = testing::scanned(name, &text, 0, 64, 64);
            let wide = usize::from(cfg!(target_feature = "avx2")) + usize::from(cfg!(target_feature = "avx512vbmi2"));
            assert!(all.len() > wide, "the instruction sets of the compiler are levels");
            for scanned in all {
                assert_eq!(scanned.ends, expected, "{name}, {length} bytes in {}", scanned.level);
            }
        }
    }
}

/// Prefetching, in counting and in encoding.
#[test]
fn tables_prefetch_lines() {
    let pattern = Pattern::new("cl100k").unwrap();
    let public_ids = (0..258).collect();
    let merges = Merges::new(vec![(0xE4, 0xB8), (97, 97)]).unwrap();
    let encoder = Encoder::from_merges(pattern.clone(), merges, public_ids, Vec::new(), Vec::new()).unwrap();
    let text = sample(300);
    let mut counter = Counter::new(pattern, 1, Limits::default());
    counter.feed(&[&text], &mut |_| Ok(())).unwrap();
    assert!(counter.finish(&mut |_| Ok(())).unwrap().distinct() > 20);
    let batch = encoder.encode_batch::<u16>(&[&text, &text], 1, Frame::default(), &mut |_| Ok(())).unwrap();
    let half = batch.ids.len() / 2;
    assert_eq!(batch.ids[..half], batch.ids[half..]);
}

/// Keys of pieces that end where the text ends, with every hash backend of the machine, and merging in registers.
#[test]
fn keys_and_kernels_at_the_end_of_a_text() {
    let merges = || Merges::new(vec![(97, 98), (256, 99), (257, 257), (32, 258), (98, 99), (99, 97)]).unwrap();
    let encoder = |pattern: &str| {
        let pattern = Pattern::new(pattern).unwrap();
        Encoder::from_merges(pattern, merges(), (0..262).collect(), Vec::new(), Vec::new()).unwrap()
    };
    let (words, pairs) = (encoder("gpt2"), PairTable::new(&merges()));
    for length in 1..=if cfg!(miri) { 20 } else { 140 } {
        let word: Box<[u8]> = b"abcabcbcaabccb".iter().copied().cycle().take(length).collect();
        assert_eq!(words.encode::<u32>(&word).unwrap(), merge_by_definition(&pairs, &word), "{length} letters");
        let text: Box<[u8]> = [&b"abc ab "[..], &word].concat().into();
        let mut want =
            [&b"abc"[..], b" ab", &[b" ", &word[..]].concat()].map(|piece| merge_by_definition(&pairs, piece)).concat();
        assert_eq!(words.encode::<u32>(&text).unwrap(), want, "after other words, {length} letters");
        assert_eq!(words.encode::<u32>(&text).unwrap(), want, "from the cache");
        let mut counter = Counter::new(Pattern::new("gpt2").unwrap(), 1, Limits::default());
        counter.feed(&[&text], &mut |_| Ok(())).unwrap();
        let counts = counter.finish(&mut |_| Ok(())).unwrap();
        want.clear();
        counts.for_each(|piece, count| want.push(piece.len() as u32 * count as u32));
        assert_eq!(want.iter().sum::<u32>() as usize, text.len());
    }
}

/// Code points that end where their array ends.
#[test]
fn code_points_to_utf8() {
    let points: Vec<u32> = SAMPLE.chars().map(u32::from).collect();
    for length in lengths() {
        let some: Box<[u32]> = points.iter().copied().cycle().skip(length % 7).take(length).collect();
        let mut utf8 = Utf8Buffer::default();
        utf8.push(&some).unwrap();
        let want: String = some.iter().filter_map(|&point| char::from_u32(point)).collect();
        assert_eq!(utf8.bytes(), want.as_bytes());
    }
}

/// Large arrays, which request huge pages.
#[test]
#[cfg(not(miri))]
fn large_arrays() {
    let pattern = Pattern::new("gpt2").unwrap();
    let merges = Merges::new(vec![(97, 97), (256, 256)]).unwrap();
    let encoder = Encoder::from_merges(pattern, merges, (0..258).collect(), Vec::new(), Vec::new()).unwrap();
    let text = sample(3 << 20);
    let ids = encoder.encode::<u32>(&text).unwrap();
    assert!(ids.len() > 1 << 20 && ids.iter().all(|&id| id < 258));
}
