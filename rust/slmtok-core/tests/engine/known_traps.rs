//! Known bugs of other engines, each as its smallest case.

use slmtok_core::count::Counts;
use slmtok_core::merges::Merges;
use slmtok_core::pretoken::Pattern;
use slmtok_core::train::{Options, Stop, TIE_BREAKS, train};

use crate::{encoder, pieces};

/// Groups are counted in characters: a multi-byte digit shifts them, wherever the run begins in a block of 64 bytes.
#[test]
fn a_multibyte_digit_first_at_every_offset_in_a_block() {
    for (name, groups) in [("cl100k", &[4, 2][..]), ("cl100k-hf", &[4, 2]), ("o200k", &[4, 2]), ("slm", &[3, 2, 1])] {
        let pattern = Pattern::new(name).unwrap();
        for before in 1..200 {
            let text = format!("{}\u{662}1234{}", "x".repeat(before), "y".repeat(100));
            let want = [&[before], groups, &[100]].concat();
            let lengths: Vec<usize> = pieces(&pattern, text.as_bytes()).iter().map(|piece| piece.len()).collect();
            assert_eq!(lengths, want, "{name}, {before} letters before");
        }
    }
}

#[test]
fn a_corpus_of_one_word() {
    for (name, tie_break) in TIE_BREAKS {
        let counts = Counts::from_items(Pattern::new("slm").unwrap(), [(&b"abab"[..], 7)], 1, 28).unwrap();
        let outcome = train(&counts, &Options::new(100, tie_break, 1), &mut |_, _| Ok(())).unwrap();
        assert_eq!((outcome.merges, outcome.counts), (vec![(97, 98), (256, 256)], vec![14, 7]), "{name}");
        assert_eq!((outcome.stop, outcome.next_count), (Stop::NoPairs, 0));
    }
}

#[test]
fn the_text_of_a_special_is_ordinary_text() {
    let merges = Merges::new(vec![(u32::from(b'<'), u32::from(b's')), (256, u32::from(b'>'))]).unwrap();
    let encoder = encoder("whole", &merges, 16, &[(1, b"<s>")]);
    assert_eq!(encoder.encode::<u16>(b"<s><s").unwrap(), [16 + 257, 16 + 256]);
}

/// Two ideographs of which only parts are tokens, and a token of bytes of both: a kernel that starts from characters fails.
#[test]
fn tokens_cross_character_boundaries() {
    let text = "的件的件";
    let [a, b, c, d, e, f] = *"的件".as_bytes() else { unreachable!("two characters of three bytes") };
    let pairs: Vec<(u32, u32)> = [(c, d), (a, b), (e, f)].map(|(x, y)| (u32::from(x), u32::from(y))).to_vec();
    let crossing = [pairs.clone(), vec![(257, 256), (257, u32::from(c))]].concat();
    let encode = |pairs: &[(u32, u32)]| {
        let merges = Merges::new(pairs.to_vec()).unwrap();
        encoder("cl100k", &merges, 0, &[]).encode::<u16>(text.as_bytes()).unwrap()
    };
    assert_eq!(encode(&pairs), [257, 256, 258, 257, 256, 258]);
    assert_eq!(encode(&crossing), [259, 258, 259, 258]);
}
