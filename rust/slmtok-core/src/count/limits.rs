//! Limits on what is counted: the length of a document, and the size of the corpus.
//!
//! Characters are counted as bytes that do not continue one, so the length of any byte string is defined.

/// What a cap on documents left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cap {
    /// Documents that were shortened.
    pub documents: u64,
    /// Bytes left out of them.
    pub bytes: u64,
}

/// How much may be counted; `None` is no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Characters of one document; the rest of it is left out.
    pub document_chars: Option<u64>,
    /// Characters that may still be counted.
    pub chars_left: Option<u64>,
    /// Bytes that may still be counted.
    pub bytes_left: Option<u64>,
}

impl Limits {
    pub(super) fn none(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn reached(&self) -> bool {
        self.chars_left == Some(0) || self.bytes_left == Some(0)
    }

    /// The part of `text` that is counted, or nothing when the corpus is full.
    pub(super) fn admit<'a>(&mut self, text: &'a [u8], capped: &mut Cap) -> Option<&'a [u8]> {
        if self.reached() {
            return None;
        }
        let mut kept = text;
        if let Some(most) = self.document_chars {
            kept = &kept[..prefix_of_chars(kept, most)];
            capped.documents += u64::from(kept.len() < text.len());
            capped.bytes += (text.len() - kept.len()) as u64;
        }
        if let Some(most) = self.chars_left {
            kept = &kept[..prefix_of_chars(kept, most)];
        }
        if let Some(most) = self.bytes_left {
            kept = &kept[..prefix_of_bytes(kept, most)];
        }
        self.chars_left = self.chars_left.map(|left| left.saturating_sub(chars(kept)));
        // A character that does not fit any more ends the corpus: what is left is not kept for a smaller one.
        let full = kept.len() < text.len() && self.document_chars.is_none_or(|most| chars(kept) < most);
        self.bytes_left = self.bytes_left.map(|left| if full { 0 } else { left.saturating_sub(kept.len() as u64) });
        Some(kept)
    }
}

const fn begins_char(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

/// Characters in `text`: bytes that do not continue one.
#[must_use]
pub fn chars(text: &[u8]) -> u64 {
    // Short inner sums stay in bytes, which the compiler turns into vector code.
    text.chunks(255).map(|part| u64::from(part.iter().map(|&byte| u8::from(begins_char(byte))).sum::<u8>())).sum()
}

/// Length in bytes of the first `most` characters.
fn prefix_of_chars(text: &[u8], most: u64) -> usize {
    if text.len() as u64 <= most {
        return text.len();
    }
    let (mut seen, mut at) = (0, 0);
    for part in text.chunks(255) {
        let here = chars(part);
        if seen + here > most {
            break;
        }
        (seen, at) = (seen + here, at + part.len());
    }
    for &byte in &text[at..] {
        if begins_char(byte) {
            if seen == most {
                return at;
            }
            seen += 1;
        }
        at += 1;
    }
    at
}

/// At most `most` bytes, without cutting a character.
fn prefix_of_bytes(text: &[u8], most: u64) -> usize {
    let Some(mut at) = usize::try_from(most).ok().filter(|&most| most < text.len()) else { return text.len() };
    // A character has at most three continuation bytes; more are undecodable and may be cut anywhere.
    for _ in 0..3 {
        if at > 0 && !begins_char(text[at]) {
            at -= 1;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_end_between_characters() {
        let text = "añ中😀z".as_bytes();
        let ends: Vec<usize> = (0..=6).map(|most| prefix_of_chars(text, most)).collect();
        assert_eq!(ends, [0, 1, 3, 6, 10, 11, 11]);
        let cut: Vec<usize> = (0..=11).map(|most| prefix_of_bytes(text, most)).collect();
        assert_eq!(cut, [0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11]);
    }

    #[test]
    fn long_prefixes_agree_with_the_character_iterator() {
        let text = "ab中é".repeat(300);
        for most in [0u64, 1, 254, 255, 256, 511, 1199, 1200, 5000] {
            let want: usize = text.chars().take(most as usize).map(char::len_utf8).sum();
            assert_eq!(prefix_of_chars(text.as_bytes(), most), want);
        }
        assert_eq!(chars(text.as_bytes()), 1200);
    }

    #[test]
    fn document_and_corpus_limits_add_up() {
        let mut limits = Limits { document_chars: Some(4), chars_left: Some(10), bytes_left: None };
        let mut capped = Cap::default();
        let texts: [&[u8]; 4] = [b"abcdef", b"ab", b"abcdefgh", b"x"];
        let kept: Vec<&[u8]> = texts.iter().map_while(|text| limits.admit(text, &mut capped)).collect();
        assert_eq!(kept, [&b"abcd"[..], b"ab", b"abcd"]);
        assert_eq!(capped, Cap { documents: 2, bytes: 6 });
        assert!(limits.reached());
    }

    #[test]
    fn a_byte_limit_ends_the_corpus_inside_a_document() {
        let mut limits = Limits { bytes_left: Some(4), ..Limits::default() };
        let mut capped = Cap::default();
        assert_eq!(limits.admit("ab中c".as_bytes(), &mut capped), Some(&b"ab"[..]));
        assert_eq!(limits.admit(b"c", &mut capped), None);
        assert_eq!(capped, Cap::default());
    }
}
