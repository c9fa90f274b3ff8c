//! What is encoded decodes to the same bytes, for every pattern and vocabulary, at once and id by id.

use slmtok_core::decode::{Decoder, StreamDecoder};
use slmtok_core::encode::testing::encode_in_batches;
use slmtok_core::encode::{Encoder, Frame, Pooled};
use slmtok_core::merges::Merges;
use slmtok_core::pretoken::{Pattern, names};

use crate::input::Input;
use crate::vocab::{BLOCK, WIDE, encoder, merges, pieces};

/// Vocabularies of merges in both widths, one of whole pieces, and one in which some merges are silent.
pub fn round_trip(data: &[u8]) {
    let mut input = Input(data);
    let named = [&names()[..], &["word", "char"]].concat();
    let pattern = Pattern::new(input.pick(&named)).expect("registered names compile");
    let (threads, size, kind) = (1 + input.below(3), 1 + input.below(200), input.below(4));
    let made = merges(&mut input, &pattern);
    let texts = input.parts(4);
    match kind {
        0 => there_and_back::<u16>(&encoder(&pattern, &made, BLOCK), &texts, size, threads),
        1 => there_and_back::<u32>(&encoder(&pattern, &made, WIDE), &texts, size, threads),
        2 => there_and_back::<u16>(&with_silent(&pattern, &made, input.byte()), &texts, size, threads),
        _ => there_and_back::<u16>(&of_pieces(&pattern, &texts), &texts, size, threads),
    }
}

fn there_and_back<I: Pooled + Into<i64>>(encoder: &Encoder, texts: &[&[u8]], size: usize, threads: usize) {
    let decoder = Decoder::new(encoder).expect("few tokens fit");
    let frame = Frame::default();
    let batch = encode_in_batches::<I>(encoder, texts, size, threads, frame).expect("named patterns do not give up");
    let back = decoder.decode_documents(&batch.ids, &batch.offsets, threads).expect("known ids");
    assert_eq!(back, texts);
    for (text, bounds) in texts.iter().zip(batch.offsets.windows(2)) {
        let ids = encoder.encode::<I>(text).expect("named patterns do not give up");
        assert_eq!(ids, batch.ids[bounds[0] as usize..bounds[1] as usize], "alone and in a batch");
        let (mut stream, mut shown) = (StreamDecoder::default(), String::new());
        for (position, &id) in ids.iter().enumerate() {
            assert!(!encoder.is_special(id.to_u32()), "a text has no specials");
            shown += &stream.push(decoder.token(id.into(), position).expect("known ids"));
        }
        shown += &stream.finish();
        assert_eq!(shown, String::from_utf8_lossy(text));
    }
}

/// One merge in some is never given out; its parts stand for it.
fn with_silent(pattern: &Pattern, made: &Merges, every: u8) -> Encoder {
    let every = u32::from(every % 8) + 1;
    let n = made.tokens().len() as u32;
    let silent: Vec<u32> = (256..n).filter(|id| id % every == 0).collect();
    // The public ids of silent ones are no use to anybody, and repeat.
    let external = (0..n).map(|id| if silent.contains(&id) { 1 } else { id + BLOCK }).collect();
    let specials = vec![(1, b"<s>".to_vec())];
    Encoder::from_merges(pattern.clone(), made.clone(), external, specials, silent).expect("the ids are fresh")
}

/// The pieces of the first text are tokens.
fn of_pieces(pattern: &Pattern, texts: &[&[u8]]) -> Encoder {
    let mut tokens: Vec<&[u8]> = pieces(pattern, texts[0]).into_iter().filter(|piece| piece.len() > 1).collect();
    tokens.sort_unstable();
    tokens.dedup();
    let external = (BLOCK..).take(256 + tokens.len()).collect();
    Encoder::from_tokens(pattern.clone(), &tokens, external, Vec::new()).expect("the tokens are fresh")
}
