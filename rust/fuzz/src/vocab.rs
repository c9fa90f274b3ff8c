//! Small vocabularies out of the bytes of a fuzzer: learned from a text, or pairs picked at will.

use std::collections::{BTreeMap, BTreeSet};

use slmtok_core::encode::Encoder;
use slmtok_core::merges::Merges;
use slmtok_core::pretoken::Pattern;

use crate::input::Input;
use crate::naive;

/// Ids of the encoders made here begin after a block for specials.
pub const BLOCK: u32 = 16;
/// Ids from here on need 32 bits.
pub const WIDE: u32 = 70_000;

/// Merges of a text under a pattern, or, in one of four cases, pairs that no trainer need ever have made.
pub fn merges(input: &mut Input, pattern: &Pattern) -> Merges {
    let (kind, n, length) = (input.below(4), input.below(64), 2 * usize::from(input.byte()));
    let sample = input.part(length);
    if kind == 0 { picked(sample, n) } else { learned(pattern, sample, n, kind) }
}

fn learned(pattern: &Pattern, sample: &[u8], n: usize, tie_break: usize) -> Merges {
    let mut counts: BTreeMap<&[u8], u64> = BTreeMap::new();
    for piece in pieces(pattern, sample) {
        *counts.entry(piece).or_default() += 1;
    }
    let words: Vec<(Vec<u8>, u64)> = counts.into_iter().map(|(piece, count)| (piece.to_vec(), count)).collect();
    Merges::new(naive::most_frequent(&words, n, tie_break)).expect("a trainer's merges are sound")
}

/// Each two bytes name two tokens, the later ones more easily; a pair that spells what is there already is left out.
fn picked(sample: &[u8], n: usize) -> Merges {
    let (mut pairs, mut tokens) = (Vec::new(), (0..=255).map(|byte| vec![byte]).collect::<Vec<Vec<u8>>>());
    let mut seen: BTreeSet<Vec<u8>> = tokens.iter().cloned().collect();
    for two in sample.chunks_exact(2).take(n) {
        let name = |byte: u8| if byte < 128 { usize::from(byte) } else { tokens.len() - 1 - usize::from(byte - 128) };
        let (left, right) = (name(two[0]), name(two[1]));
        let token = [&tokens[left][..], &tokens[right]].concat();
        if token.len() < 200 && seen.insert(token.clone()) {
            tokens.push(token);
            pairs.push((left as u32, right as u32));
        }
    }
    Merges::new(pairs).expect("parts come before wholes, and nothing is spelled twice")
}

/// The encoder of merges whose ids begin at `first`.
pub fn encoder(pattern: &Pattern, merges: &Merges, first: u32) -> Encoder {
    let external = (0..merges.tokens().len() as u32).map(|id| id + first).collect();
    let specials = vec![(1, b"<s>".to_vec()), (2, b"</s>".to_vec())];
    Encoder::from_merges(pattern.clone(), merges.clone(), external, specials, Vec::new()).expect("the ids are fresh")
}

/// The pieces of `text`.
pub fn pieces<'a>(pattern: &Pattern, text: &'a [u8]) -> Vec<&'a [u8]> {
    let (mut scanner, mut ends, mut pieces, mut at) = (pattern.scanner(), [0; 64], Vec::new(), 0);
    while at < text.len() {
        let filled = scanner.fill(text, at, &mut ends).expect("named patterns do not give up");
        for &end in &ends[..filled] {
            pieces.push(&text[at..end]);
            at = end;
        }
    }
    pieces
}
