//! Encoding against its definition: every kernel on every piece, and the whole path, cold and warm, in both widths, in
//! batches on several threads.

use slmtok_core::encode::testing::{Kernels, encode_in_batches, encode_in_slots};
use slmtok_core::Error;
use slmtok_core::encode::{Document, Encoder, Frame, Pooled, Transcode};
use slmtok_core::merges::Merges;
use slmtok_core::pretoken::{Pattern, names};

use crate::input::Input;
use crate::vocab::{BLOCK, WIDE, encoder, merges, pieces};

/// The longest text: the definition is quadratic.
const MOST: usize = 1200;

/// Texts as they are, or tokens joined, which reach corners that texts do not.
pub fn encode(data: &[u8]) {
    let mut input = Input(data);
    let pattern = Pattern::new(input.pick(&names())).expect("registered names compile");
    let (threads, size, made) = (1 + input.below(3), 1 + input.below(200), merges(&mut input, &pattern));
    let texts = match input.below(2) {
        0 => input.parts(5).into_iter().map(|text| text[..text.len().min(MOST / 5)].to_vec()).collect(),
        _ => vec![joined_tokens(&made, input.part(MOST))],
    };
    let documents: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    let kernels = Kernels::new(&made);
    let want: Vec<Vec<u32>> = documents.iter().map(|text| by_definition(&kernels, &pattern, text)).collect();
    let narrow = encoder(&pattern, &made, BLOCK);
    whole_path::<u16>(&narrow, BLOCK, &documents, &want, size, threads);
    whole_path::<u32>(&encoder(&pattern, &made, WIDE), WIDE, &documents, &want, size, threads);
    if narrow.unreachable().is_empty() {
        by_ranks(&pattern, &made, &documents, &want);
    }
}

/// Each byte names a token, or is itself.
fn joined_tokens(merges: &Merges, picks: &[u8]) -> Vec<u8> {
    let (tokens, mut text) = (merges.tokens(), Vec::new());
    for &pick in picks.iter().take(MOST / 8) {
        let id = 256 + u32::from(pick);
        text.extend_from_slice(tokens.get(if (id as usize) < tokens.len() { id } else { u32::from(pick) }));
    }
    text.truncate(MOST);
    text
}

/// Internal ids of a text. All kernels must give them.
fn by_definition(kernels: &Kernels, pattern: &Pattern, text: &[u8]) -> Vec<u32> {
    let mut all = Vec::new();
    for piece in pieces(pattern, text) {
        let ids = kernels.by_definition(piece);
        for (kernel, found) in kernels.others(piece) {
            assert_eq!(found, ids, "{kernel} on {}", piece.escape_ascii());
        }
        all.extend(ids);
    }
    all
}

fn whole_path<I: Pooled>(
    encoder: &Encoder,
    first: u32,
    documents: &[&[u8]],
    want: &[Vec<u32>],
    size: usize,
    threads: usize,
) {
    let public = |ids: &[u32]| ids.iter().map(|&id| I::from_id(id + first)).collect::<Vec<I>>();
    for (text, want) in documents.iter().zip(want) {
        let cold = encoder.encode::<I>(text).expect("named patterns do not give up");
        assert_eq!(cold, public(want), "{}", text.escape_ascii());
        assert_eq!(encoder.encode::<I>(text), Ok(cold), "the second time, warm");
    }
    let frame = Frame { bos: Some(1), eos: Some(2) };
    let batch = encode_in_batches::<I>(encoder, documents, size, threads, frame).expect("known ids");
    assert_eq!(batch.offsets.len(), documents.len() + 1);
    for (want, bounds) in want.iter().zip(batch.offsets.windows(2)) {
        let framed = [vec![I::from_id(1)], public(want), vec![I::from_id(2)]].concat();
        assert_eq!(batch.ids[bounds[0] as usize..bounds[1] as usize], framed);
    }
    // Texts in UTF-8 are transcoded, as strings of Python are.
    let strings: Vec<Option<&str>> = documents.iter().map(|bytes| str::from_utf8(bytes).ok()).collect();
    let given = documents.iter().zip(&strings).map(|(&bytes, string)| match string {
        Some(string) => Document::CodePoints(string.chars().count()),
        None => Document::Bytes(bytes),
    });
    let transcode: Transcode<'_> = &mut |index, utf8| {
        let points: Vec<u32> = strings[index].unwrap_or_default().chars().map(u32::from).collect();
        utf8.push(&points).map_err(|_| Error::Interrupted)
    };
    let given: Vec<Document<'_>> = given.collect();
    let lazily = encoder.encode_lazily::<I>(&given, threads, frame, transcode, &mut |_| Ok(())).expect("known ids");
    assert_eq!(lazily, batch);
    let slots = 4 << (size % 8);
    let (small, _) = encode_in_slots::<I>(encoder, &[documents, documents].concat(), slots).expect("as before");
    assert!(small.iter().zip(want.iter().chain(want)).all(|(ids, want)| *ids == public(want)), "{slots} slots");
    let counts = encoder.count_batch::<I>(documents, threads, &mut |_| Ok(())).expect("named patterns do not give up");
    assert!(counts.iter().zip(want).all(|(&n, want)| n == want.len() as i64), "{counts:?}");
}

/// The tokens as a rank table: merging by joined bytes is merging by pairs.
fn by_ranks(pattern: &Pattern, merges: &Merges, documents: &[&[u8]], want: &[Vec<u32>]) {
    let tokens: Vec<&[u8]> = (0..merges.tokens().len() as u32).map(|id| merges.tokens().get(id)).collect();
    let ids: Vec<u32> = (0..tokens.len() as u32).collect();
    let encoder = Encoder::from_ranks(pattern.clone(), &tokens, &ids, Vec::new()).expect("all tokens are reached");
    for (text, want) in documents.iter().zip(want) {
        assert_eq!(&encoder.encode::<u32>(text).expect("named patterns do not give up"), want);
    }
}
