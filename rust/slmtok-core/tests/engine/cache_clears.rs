//! More distinct pieces than the caches of a worker hold: the caches are cleared within a text, and the ids stay the same.

use slmtok_core::decode::Decoder;
use slmtok_core::merges::Merges;

use crate::encoder;

/// Letters that encode `n`.
fn word(n: u32, length: usize) -> impl Iterator<Item = u8> {
    (0..length).map(move |k| b"abcd"[(n >> (2 * (k % 12)) & 3) as usize])
}

/// Encodes twice, decodes, and compares the ids from `last` on with those of a new encoder. Returns the number of clears.
fn check(text: &[u8], last: usize) -> u64 {
    let merges = Merges::new(vec![(97, 98), (98, 97), (256, 99), (32, 97), (258, 258), (0xE4, 0xB8)]).unwrap();
    let encoder = encoder("gpt2", &merges, 0, &[]);
    let ids = encoder.encode::<u16>(text).unwrap();
    assert!(encoder.encode::<u16>(text).unwrap() == ids, "the second call differs");
    assert!(Decoder::new(&encoder).unwrap().decode(&ids).unwrap() == text, "decoding differs");
    let alone = crate::encoder("gpt2", &merges, 0, &[]).encode::<u16>(&text[last..]).unwrap();
    assert!(ids.ends_with(&alone), "a new encoder gives other ids");
    encoder.stats().iter().find(|(name, _)| *name == "clears").unwrap().1
}

#[test]
fn more_short_pieces_than_the_table_holds() {
    let mut text = Vec::new();
    for n in 0..1_500_000 {
        text.extend(std::iter::once(b' ').chain(word(n, 11)));
    }
    assert!(check(&text, text.len() - 12 * 1000) > 0, "the table was not cleared");
}

#[test]
fn more_long_pieces_than_the_cache_holds() {
    let mut text = Vec::new();
    for n in 0..20_000 {
        text.extend(std::iter::once(b' ').chain(word(n * 800, 2000)));
    }
    check(&text, text.len() - 2001 * 100);
}
