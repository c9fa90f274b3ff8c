//! Characters and runs against the standard library's own, and against steps one by one.

use super::*;

#[test]
fn every_character_is_itself_and_every_other_byte_alone() {
    for code in (0..=0x10_FFFF).filter_map(char::from_u32) {
        let mut buffer = [0; 4];
        let text = code.encode_utf8(&mut buffer).as_bytes();
        assert_eq!(decode(text, 0), (Some(u32::from(code)), text.len()));
        for end in 1..text.len() {
            assert_eq!(decode(&text[..end], 0), (None, 1), "{code:?} cut after {end}");
        }
    }
}

/// Custom patterns ask `regex-syntax`, named ones the table: both must know the same Unicode.
#[test]
fn the_table_is_that_of_the_regex_engines() {
    let properties = [
        (UPPER, r"[\p{Lu}\p{Lt}]+"),
        (LOWER, r"\p{Ll}+"),
        (BOTH, r"[\p{Lm}\p{Lo}]+"),
        (MARK, r"\p{M}+"),
        (N, r"\p{N}+"),
        (W, r"\s+"),
        (O, r"[^\p{L}\p{M}\p{N}\s]+"),
    ];
    let characters: String = ('\0'..=char::MAX).collect();
    let mut seen = 0;
    for (class, property) in properties {
        for run in regex_automata::meta::Regex::new(property).unwrap().find_iter(&characters) {
            for character in characters[run.range()].chars() {
                assert_eq!(class_of(u32::from(character)), class, "{character:?} is {property}");
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 0x11_0000 - 0x800);
}

#[test]
fn ill_formed_sequences_are_those_of_the_standard_library() {
    const EDGES: [u8; 14] = [0, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xE0, 0xF4, 0xFF];
    for (lead, second) in (0..=255).flat_map(|lead| (0..=255).map(move |second| (lead, second))) {
        for (third, fourth) in EDGES.into_iter().flat_map(|third| EDGES.map(|fourth| (third, fourth))) {
            let bytes = [lead, second, third, fourth];
            let valid = bytes.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
            let expected = valid.map_or((None, 1), |character| (Some(u32::from(character)), character.len_utf8()));
            assert_eq!(decode(&bytes, 0), expected, "{bytes:X?}");
        }
    }
}

#[test]
fn invalid_bytes_are_counted_and_the_first_is_found() {
    let cases: [(&[u8], u64, Option<usize>); 6] = [
        ("né".as_bytes(), 0, None),
        (b"", 0, None),
        (b"a\xFFb\xE4\xB8", 3, Some(1)),
        (b"ab\xED\xA0\x80", 3, Some(2)),
        (b"\xF0\x9F\x98\xF0\x9F\x98\x80", 3, Some(0)),
        (b"\xC0\xAF\xF4\x90\x80\x80", 6, Some(0)),
    ];
    for (text, count, first) in cases {
        assert_eq!(invalid_bytes(text), (count, first), "{}", text.escape_ascii());
    }
}

#[test]
fn letter_words_agree_with_bytes() {
    for byte in 0..=255_u8 {
        for lane in 0..8 {
            for fill in [b'a', b'Z', b' ', 0xFF] {
                let mut bytes = [fill; 8];
                bytes[lane] = byte;
                let (word, top) = (u64::from_le_bytes(bytes), 8 * lane + 7);
                assert_eq!(not_letters::<true>(word) >> top & 1 == 0, byte.is_ascii_alphabetic(), "{byte} in {lane}");
                assert_eq!(not_letters::<false>(word) >> top & 1 == 0, byte.is_ascii_lowercase(), "{byte} in {lane}");
            }
        }
    }
}
