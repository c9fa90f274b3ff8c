//! Incremental decoding: chunks of any lengths give the text of the whole, and each ill-formed sequence one U+FFFD.

use slmtok_core::decode::StreamDecoder;

use crate::input::Input;

/// The first byte is the number of chunks with lengths of their own; the others have equal lengths.
pub fn stream(data: &[u8]) {
    let mut input = Input(data);
    let n = input.below(40);
    let lengths: Vec<usize> = (0..n).map(|_| input.below(9)).collect();
    let (step, text) = (input.below(7) + 1, input.0);
    let mut chunks: Vec<&[u8]> = lengths.into_iter().map(|length| input.part(length)).collect();
    chunks.extend(input.0.chunks(step));
    let mut decoder = StreamDecoder::default();
    let (mut decoded, mut len) = (String::new(), 0);
    for chunk in chunks {
        decoded.push_str(&decoder.push(chunk));
        len += chunk.len();
        check_pending(&text[..len], &decoded);
    }
    decoded.push_str(&decoder.finish());
    assert_eq!(decoded, String::from_utf8_lossy(text));
    assert_eq!(decoder.finish(), "", "a second end adds nothing");
    assert_eq!(decoder.push(b"a"), "a", "the decoder is reusable after the end");
}

/// Everything is decoded except for an incomplete character at the end.
fn check_pending(bytes: &[u8], decoded: &str) {
    let lossy = String::from_utf8_lossy(bytes);
    let pending = lossy.strip_prefix(decoded).expect("decoded text is final");
    assert!(pending.is_empty() || pending == "\u{FFFD}", "{pending:?} is pending");
}
