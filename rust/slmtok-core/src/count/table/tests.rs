//! The table against a plain map.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::keys::CHUNK;

fn collected(table: &mut CountTable) -> BTreeMap<Vec<u8>, u64> {
    let mut all = BTreeMap::new();
    table.sort().for_each(|record| assert_eq!(all.insert(record.piece(), record.count), None));
    all
}

proptest! {
    #[test]
    fn counts_like_a_map(pieces in prop::collection::vec((prop::collection::vec(0u8..3, 1..40), 1u64..9), 0..600)) {
        let (mut table, mut want) = (CountTable::default(), BTreeMap::new());
        for (piece, count) in &pieces {
            table.add(piece, *count).unwrap();
            *want.entry(piece.clone()).or_insert(0) += count;
        }
        prop_assert_eq!(table.distinct(), want.len());
        prop_assert_eq!(collected(&mut table), want);
    }

    #[test]
    fn chunks_are_counted_like_a_map(picks in prop::collection::vec(prop_oneof![0usize..30, 0usize..3000], 1..6000), chunk in 1usize..=CHUNK) {
        // Enough words to fill the first slots, so that some are not at home and change places.
        let words: Vec<String> = picks.iter().map(|n| if n % 97 == 5 { format!("{n:020}") } else { format!("{n:x} ") }).collect();
        let (mut table, mut want) = (CountTable::default(), BTreeMap::new());
        words.iter().for_each(|word| *want.entry(word.clone().into_bytes()).or_insert(0) += 1);
        for words in words.chunks(chunk) {
            let ends: Vec<usize> = words.iter().scan(0, |at, word| { *at += word.len(); Some(*at) }).collect();
            table.add_chunk(words.concat().as_bytes(), 0, &ends).unwrap();
        }
        prop_assert_eq!(collected(&mut table), want);
    }
}

#[test]
fn grows_past_its_first_size_as_it_said_it_would() {
    let mut table = CountTable::default();
    for n in 0..20_000u32 {
        let (short, long) = (format!("{n:x}"), format!("a long piece number {n:x}"));
        for (piece, count) in [(&short, 1), (&long, 2), (&short, 1 << 40)] {
            let most = table.needs(1, piece.len());
            table.add(piece.as_bytes(), count).unwrap();
            assert!(table.needs(0, 0) <= most);
        }
    }
    let all = collected(&mut table);
    assert_eq!(all.len(), 40_000);
    assert_eq!(all[b"1f".as_slice()], 1 + (1 << 40));
    table.clear();
    table.add(b"1f", 3).unwrap();
    assert_eq!(collected(&mut table), BTreeMap::from([(b"1f".to_vec(), 3)]));
}

#[test]
fn overflow_is_an_error() {
    for piece in [&b"a"[..], b"a piece that is longer than a key"] {
        let mut table = CountTable::default();
        table.add(piece, u64::MAX).unwrap();
        assert_eq!(table.add(piece, 1), Err(OVERFLOW));
    }
}
