//! What single bytes say about the characters that they are part of.

/// Whether this is a continuation byte.
#[inline(always)]
#[must_use]
pub const fn continues(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// How many bytes the character has that begins with this one, if it is well-formed; 0 if none begins so.
#[inline(always)]
#[must_use]
pub const fn expected_length(lead: u8) -> usize {
    match lead {
        0..0x80 => 1,
        0x80..0xC2 | 0xF5.. => 0,
        0xC2..0xE0 => 2,
        0xE0..0xF0 => 3,
        0xF0..0xF5 => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_the_standard_library() {
        let mut seen = [0; 256];
        for character in '\0'..=char::MAX {
            let mut buffer = [0; 4];
            let bytes = character.encode_utf8(&mut buffer).as_bytes();
            seen[usize::from(bytes[0])] = bytes.len();
            assert!(!continues(bytes[0]) && bytes[1..].iter().all(|&byte| continues(byte)));
        }
        assert!((0..=255).all(|lead| expected_length(lead) == seen[usize::from(lead)]));
    }
}
