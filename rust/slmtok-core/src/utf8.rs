//! Properties of single UTF-8 bytes, and lengths in characters.
//!
//! The length in characters of any byte string is the number of its bytes that are no continuation bytes, so it is
//! defined for ill-formed text as well.

/// Whether `byte` is a continuation byte (10xxxxxx).
#[inline(always)]
#[must_use]
pub const fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Length in bytes of a well-formed character that begins with `lead`; 0 if no character begins with it.
#[inline(always)]
#[must_use]
pub const fn char_len_from_lead(lead: u8) -> usize {
    match lead {
        0..0x80 => 1,
        0x80..0xC2 | 0xF5.. => 0,
        0xC2..0xE0 => 2,
        0xE0..0xF0 => 3,
        0xF0..0xF5 => 4,
    }
}

/// Length of `text` in characters.
#[must_use]
pub fn count_chars(text: &[u8]) -> u64 {
    // At most 255 bytes, so that each inner sum fits a byte, which the compiler vectorises.
    text.chunks(255).map(|part| u64::from(part.iter().map(|&byte| u8::from(!is_continuation(byte))).sum::<u8>())).sum()
}

/// Length in bytes of the first `max_chars` characters of `text`.
#[must_use]
pub fn char_prefix_len(text: &[u8], max_chars: u64) -> usize {
    if text.len() as u64 <= max_chars {
        return text.len();
    }
    let (mut chars, mut at) = (0, 0);
    for part in text.chunks(255) {
        let more = count_chars(part);
        if chars + more > max_chars {
            break;
        }
        (chars, at) = (chars + more, at + part.len());
    }
    for &byte in &text[at..] {
        if !is_continuation(byte) {
            if chars == max_chars {
                return at;
            }
            chars += 1;
        }
        at += 1;
    }
    at
}

/// Length in bytes of the longest prefix of `text` that has at most `max_bytes` bytes and ends between two characters.
#[must_use]
pub fn byte_prefix_len(text: &[u8], max_bytes: u64) -> usize {
    let Some(mut at) = usize::try_from(max_bytes).ok().filter(|&max| max < text.len()) else { return text.len() };
    // A character has at most three continuation bytes; a fourth is invalid and may be cut off anywhere.
    for _ in 0..3 {
        if at > 0 && is_continuation(text[at]) {
            at -= 1;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_equal_those_of_the_standard_library() {
        let mut lengths = [0; 256];
        for character in '\0'..=char::MAX {
            let mut buffer = [0; 4];
            let bytes = character.encode_utf8(&mut buffer).as_bytes();
            lengths[usize::from(bytes[0])] = bytes.len();
            assert!(!is_continuation(bytes[0]) && bytes[1..].iter().all(|&byte| is_continuation(byte)));
        }
        assert!((0..=255).all(|lead| char_len_from_lead(lead) == lengths[usize::from(lead)]));
    }

    #[test]
    fn prefixes_end_between_characters() {
        let text = "añ中😀z".as_bytes();
        let ends: Vec<usize> = (0..=6).map(|max| char_prefix_len(text, max)).collect();
        assert_eq!(ends, [0, 1, 3, 6, 10, 11, 11]);
        let ends: Vec<usize> = (0..=11).map(|max| byte_prefix_len(text, max)).collect();
        assert_eq!(ends, [0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11]);
    }

    #[test]
    fn long_prefixes_agree_with_the_character_iterator() {
        let text = "ab中é".repeat(300);
        for max in [0_u64, 1, 254, 255, 256, 511, 1199, 1200, 5000] {
            let expected: usize = text.chars().take(max as usize).map(char::len_utf8).sum();
            assert_eq!(char_prefix_len(text.as_bytes(), max), expected);
        }
        assert_eq!(count_chars(text.as_bytes()), 1200);
    }
}
