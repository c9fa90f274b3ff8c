//! Decoding inverts encoding for every pattern and vocabulary, for whole texts and id by id.

use slmtok_core::decode::{Decoder, StreamDecoder};
use slmtok_core::encode::testing::encode_in_batches;
use slmtok_core::encode::{Encoder, Frame, PooledId};
use slmtok_core::merges::Merges;
use slmtok_core::pretoken::{Pattern, names};

use crate::input::Input;
use crate::vocab::{NARROW, WIDE, encoder, merges, pieces};

/// Merge lists in both widths, one with non-emitting merges, and a vocabulary of whole pieces.
pub fn round_trip(data: &[u8]) {
    let mut input = Input(data);
    let patterns = [&names()[..], &["word", "char"]].concat();
    let pattern = Pattern::new(input.pick(&patterns)).expect("registered names compile");
    let (threads, size, kind) = (1 + input.below(3), 1 + input.below(200), input.below(4));
    let merges = merges(&mut input, &pattern);
    let texts = input.parts(4);
    match kind {
        0 => check::<u16>(&encoder(&pattern, &merges, NARROW), &texts, size, threads),
        1 => check::<u32>(&encoder(&pattern, &merges, WIDE), &texts, size, threads),
        2 => check::<u16>(&with_non_emitting(&pattern, &merges, input.byte()), &texts, size, threads),
        _ => check::<u16>(&of_pieces(&pattern, texts[0]), &texts, size, threads),
    }
}

fn check<I: PooledId + Into<i64>>(encoder: &Encoder, texts: &[&[u8]], size: usize, threads: usize) {
    let decoder = Decoder::new(encoder).expect("few tokens fit");
    let batch = encode_in_batches::<I>(encoder, texts, size, threads, Frame::default()).expect("a named pattern");
    assert_eq!(decoder.decode_documents(&batch.ids, &batch.offsets, threads).expect("known ids"), texts);
    for (text, bounds) in texts.iter().zip(batch.offsets.windows(2)) {
        let ids = encoder.encode::<I>(text).expect("a named pattern");
        assert_eq!(ids, batch.ids[bounds[0] as usize..bounds[1] as usize], "alone and in a batch");
        let (mut stream, mut decoded) = (StreamDecoder::default(), String::new());
        for (position, &id) in ids.iter().enumerate() {
            assert!(!encoder.is_special(id.to_u32()), "text is never encoded to specials");
            decoded += &stream.push(decoder.token(id.into(), position).expect("known ids"));
        }
        decoded += &stream.finish();
        assert_eq!(decoded, String::from_utf8_lossy(text));
    }
}

/// Every n-th merge is non-emitting.
fn with_non_emitting(pattern: &Pattern, merges: &Merges, n: u8) -> Encoder {
    let n = u32::from(n % 8) + 1;
    let ids = || merges.tokens().ids();
    let non_emitting: Vec<u32> = ids().skip(256).filter(|id| id % n == 0).collect();
    // The public ids of non-emitting merges are unused and may repeat.
    let public_ids = ids().map(|id| if non_emitting.contains(&id) { 1 } else { id + NARROW }).collect();
    let specials = vec![(1, b"<s>".to_vec())];
    Encoder::from_merges(pattern.clone(), merges.clone(), public_ids, specials, non_emitting).expect("distinct ids")
}

/// The pieces of `text` are the tokens.
fn of_pieces(pattern: &Pattern, text: &[u8]) -> Encoder {
    let mut tokens: Vec<&[u8]> = pieces(pattern, text).into_iter().filter(|piece| piece.len() > 1).collect();
    tokens.sort_unstable();
    tokens.dedup();
    let public_ids = (NARROW..).take(256 + tokens.len()).collect();
    Encoder::from_tokens(pattern.clone(), &tokens, public_ids, Vec::new()).expect("distinct tokens")
}
