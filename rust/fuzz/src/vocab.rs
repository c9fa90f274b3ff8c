//! Small vocabularies from the bytes of a fuzzer.

use std::collections::{BTreeMap, BTreeSet};

use slmtok_core::encode::Encoder;
use slmtok_core::merges::Merges;
use slmtok_core::pretoken::{Pattern, names};
use slmtok_core::train::reference::train_by_recounting;
use slmtok_core::train::{Options, TIE_BREAKS};

use crate::input::Input;

/// First id of an encoder, after the specials.
pub const NARROW: u32 = 16;
/// First id of an encoder whose ids need 32 bits.
pub const WIDE: u32 = 70_000;

/// One of the named patterns.
pub fn pick_pattern(input: &mut Input<'_>) -> Pattern {
    Pattern::new(input.pick(&names())).expect("registered names compile")
}

/// Merges learned from a text, or, in one of four cases, pairs that a trainer may never learn.
pub fn merges(input: &mut Input<'_>, pattern: &Pattern) -> Merges {
    let (kind, n, length) = (input.below(4), input.below(64), 2 * usize::from(input.byte()));
    let sample = input.part(length);
    if kind == 0 { arbitrary(sample, n) } else { learned(pattern, sample, n, kind) }
}

fn learned(pattern: &Pattern, sample: &[u8], n: usize, tie_break: usize) -> Merges {
    let mut counts: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for piece in pieces(pattern, sample) {
        *counts.entry(piece.to_vec()).or_default() += 1;
    }
    let words: Vec<(Vec<u8>, u64)> = counts.into_iter().collect();
    let options = Options::new(n as u32, TIE_BREAKS[tie_break % TIE_BREAKS.len()].1, 1);
    let learned = train_by_recounting(&words, &options, &|_| true).expect("no token is required");
    Merges::new(learned.merges).expect("trained merges are valid")
}

/// Each two bytes select two tokens, later ones with a higher probability. Pairs with the bytes of an earlier token are left out.
fn arbitrary(sample: &[u8], n: usize) -> Merges {
    let (mut pairs, mut tokens) = (Vec::new(), (0..=255).map(|byte| vec![byte]).collect::<Vec<Vec<u8>>>());
    let mut distinct: BTreeSet<Vec<u8>> = tokens.iter().cloned().collect();
    for two in sample.chunks_exact(2).take(n) {
        let select = |byte: u8| if byte < 128 { usize::from(byte) } else { tokens.len() - 1 - usize::from(byte - 128) };
        let (left, right) = (select(two[0]), select(two[1]));
        let token = [&tokens[left][..], &tokens[right]].concat();
        if token.len() < 200 && distinct.insert(token.clone()) {
            tokens.push(token);
            pairs.push((left as u32, right as u32));
        }
    }
    Merges::new(pairs).expect("parts precede their merges, and tokens are distinct")
}

/// The encoder of `merges` whose ids begin at `first`.
pub fn encoder(pattern: &Pattern, merges: &Merges, first: u32) -> Encoder {
    let public_ids = merges.tokens().ids().map(|id| id + first).collect();
    let specials = vec![(1, b"<s>".to_vec()), (2, b"</s>".to_vec())];
    Encoder::from_merges(pattern.clone(), merges.clone(), public_ids, specials, Vec::new()).expect("distinct ids")
}

/// The pieces of `text`.
pub fn pieces<'a>(pattern: &Pattern, text: &'a [u8]) -> Vec<&'a [u8]> {
    let (bounds, _) = pattern.split(text).expect("a named pattern");
    bounds.windows(2).map(|two| &text[two[0] as usize..two[1] as usize]).collect()
}
