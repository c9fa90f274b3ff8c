//! Encoding against the reference implementation: every kernel on every piece; the whole path with empty and filled caches, in
//! both widths, in batches, on several threads.

use slmtok_core::Error;
use slmtok_core::encode::testing::{Kernels, encode_in_batches, encode_in_slots};
use slmtok_core::encode::{Document, Encoder, Frame, PooledId, Transcode};
use slmtok_core::merges::Merges;
use slmtok_core::pretoken::Pattern;

use crate::input::Input;
use crate::vocab::{NARROW, WIDE, encoder, merges, pick_pattern, pieces};

/// Longest text: the reference implementation is quadratic.
const MAX_BYTES: usize = 1200;

/// Texts of the input, or joined tokens, which reach states that the texts do not.
pub fn encode(data: &[u8]) {
    let mut input = Input(data);
    let pattern = pick_pattern(&mut input);
    let (threads, size, merges) = (1 + input.below(3), 1 + input.below(200), merges(&mut input, &pattern));
    let texts = match input.below(2) {
        0 => input.parts(5).into_iter().map(|text| text[..text.len().min(MAX_BYTES / 5)].to_vec()).collect(),
        _ => vec![joined_tokens(&merges, input.part(MAX_BYTES))],
    };
    let documents: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    let kernels = Kernels::new(&merges);
    let expected: Vec<Vec<u32>> = documents.iter().map(|text| internal_ids(&kernels, &pattern, text)).collect();
    let narrow = encoder(&pattern, &merges, NARROW);
    check_encoder::<u16>(&narrow, NARROW, &documents, &expected, size, threads);
    check_encoder::<u32>(&encoder(&pattern, &merges, WIDE), WIDE, &documents, &expected, size, threads);
    if narrow.unreachable().expect("memory").is_empty() {
        check_ranks(&pattern, &merges, &documents, &expected);
    }
}

/// Each byte selects a token: a merged one if there are enough, else a byte.
fn joined_tokens(merges: &Merges, picks: &[u8]) -> Vec<u8> {
    let (tokens, mut text) = (merges.tokens(), Vec::new());
    for &pick in picks.iter().take(MAX_BYTES / 8) {
        let id = 256 + u32::from(pick);
        text.extend_from_slice(tokens.get(if (id as usize) < tokens.len() { id } else { u32::from(pick) }));
    }
    text.truncate(MAX_BYTES);
    text
}

/// Internal ids of a text by the reference implementation. All kernels must return the same.
fn internal_ids(kernels: &Kernels, pattern: &Pattern, text: &[u8]) -> Vec<u32> {
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

fn check_encoder<I: PooledId>(
    encoder: &Encoder,
    first: u32,
    documents: &[&[u8]],
    expected: &[Vec<u32>],
    size: usize,
    threads: usize,
) {
    let public = |ids: &[u32]| ids.iter().map(|&id| I::from_id(id + first)).collect::<Vec<I>>();
    for (text, expected) in documents.iter().zip(expected) {
        for caches in ["empty", "filled"] {
            assert_eq!(encoder.encode::<I>(text), Ok(public(expected)), "{} with {caches} caches", text.escape_ascii());
        }
    }
    let frame = Frame { bos: Some(1), eos: Some(2) };
    let batch = encode_in_batches::<I>(encoder, documents, size, threads, frame).expect("known ids");
    assert_eq!(batch.offsets.len(), documents.len() + 1);
    for (expected, bounds) in expected.iter().zip(batch.offsets.windows(2)) {
        let framed = [vec![I::from_id(1)], public(expected), vec![I::from_id(2)]].concat();
        assert_eq!(batch.ids[bounds[0] as usize..bounds[1] as usize], framed);
    }
    // Texts in UTF-8 are transcoded, as Python strings are.
    let strings: Vec<Option<&str>> = documents.iter().map(|bytes| str::from_utf8(bytes).ok()).collect();
    let lazy = documents.iter().zip(&strings).map(|(&bytes, string)| match string {
        Some(string) => Document::CodePoints(string.chars().count()),
        None => Document::Bytes(bytes),
    });
    let transcode: Transcode<'_> = &mut |index, utf8| {
        let points: Vec<u32> = strings[index].unwrap_or_default().chars().map(u32::from).collect();
        utf8.push(&points).map_err(|_| Error::Interrupted)
    };
    let lazy: Vec<Document<'_>> = lazy.collect();
    let transcoded = encoder.encode_lazily::<I>(&lazy, threads, frame, transcode, &mut |_| Ok(())).expect("known ids");
    assert_eq!(transcoded, batch);
    let slots = 4 << (size % 8);
    let (small, _) = encode_in_slots::<I>(encoder, &[documents, documents].concat(), slots).expect("a named pattern");
    assert!(small.iter().zip(expected.iter().chain(expected)).all(|(ids, want)| *ids == public(want)), "{slots} slots");
    let counts = encoder.count_batch::<I>(documents, threads, &mut |_| Ok(())).expect("a named pattern");
    assert!(counts.iter().zip(expected).all(|(&n, want)| n == want.len() as i64), "{counts:?}");
}

/// The tokens as a rank table: merging by joined bytes equals merging by pairs.
fn check_ranks(pattern: &Pattern, merges: &Merges, documents: &[&[u8]], expected: &[Vec<u32>]) {
    let ids: Vec<u32> = merges.tokens().ids().collect();
    let tokens: Vec<&[u8]> = ids.iter().map(|&id| merges.tokens().get(id)).collect();
    let encoder = Encoder::from_ranks(pattern.clone(), &tokens, &ids, Vec::new()).expect("all tokens are reachable");
    for (text, expected) in documents.iter().zip(expected) {
        assert_eq!(encoder.encode::<u32>(text).as_ref(), Ok(expected));
    }
}
