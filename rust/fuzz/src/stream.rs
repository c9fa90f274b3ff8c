//! Decoding bytes as they come: portions of any lengths give the text as a whole, each ill-formed part one U+FFFD.

use slmtok_core::decode::StreamDecoder;

use crate::input::Input;

/// The first byte says how many portions are cut by lengths of their own; the others are all of one length.
pub fn stream(data: &[u8]) {
    let mut input = Input(data);
    let n = input.below(40);
    let lengths: Vec<usize> = (0..n).map(|_| input.below(9)).collect();
    let (step, text) = (input.below(7) + 1, input.0);
    let mut decoder = StreamDecoder::default();
    let (mut shown, mut given) = (String::new(), 0);
    for length in lengths {
        let portion = input.part(length);
        shown.push_str(&decoder.push(portion));
        given += portion.len();
        holds_back_little(&text[..given], &shown);
    }
    for portion in input.0.chunks(step) {
        shown.push_str(&decoder.push(portion));
        given += portion.len();
        holds_back_little(&text[..given], &shown);
    }
    shown.push_str(&decoder.finish());
    assert_eq!(shown, String::from_utf8_lossy(text));
    assert_eq!(decoder.finish(), "", "an end has no end");
    assert_eq!(decoder.push(b"a"), "a", "after the end it begins anew");
}

/// All is shown but the begin of a character, which at most is one U+FFFD of the text so far.
fn holds_back_little(given: &[u8], shown: &str) {
    let so_far = String::from_utf8_lossy(given);
    let rest = so_far.strip_prefix(shown).expect("what is shown stays");
    assert!(rest.is_empty() || rest == "\u{FFFD}", "{rest:?} is held back");
}
