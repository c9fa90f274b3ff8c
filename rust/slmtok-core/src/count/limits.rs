//! Limits on counted text: length of one document, and size of the corpus.

use crate::utf8::{byte_prefix_len, char_prefix_len, count_chars};

/// What the limit on document length cut off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truncation {
    /// Documents that were shortened.
    pub documents: u64,
    /// Bytes cut off.
    pub bytes: u64,
}

/// Limits of a corpus; `None` means unlimited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Characters counted of each document.
    pub max_doc_chars: Option<u64>,
    /// Characters left before the corpus is full.
    pub chars_left: Option<u64>,
    /// Bytes left before the corpus is full.
    pub bytes_left: Option<u64>,
}

impl Limits {
    pub(super) fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn is_reached(&self) -> bool {
        self.chars_left == Some(0) || self.bytes_left == Some(0)
    }

    /// The prefix of `text` that is counted; `None` if the corpus is full.
    pub(super) fn take<'a>(&mut self, text: &'a [u8], truncation: &mut Truncation) -> Option<&'a [u8]> {
        if self.is_reached() {
            return None;
        }
        let mut kept = text;
        if let Some(max) = self.max_doc_chars {
            kept = &kept[..char_prefix_len(kept, max)];
            truncation.documents += u64::from(kept.len() < text.len());
            truncation.bytes += (text.len() - kept.len()) as u64;
        }
        if let Some(max) = self.chars_left {
            kept = &kept[..char_prefix_len(kept, max)];
        }
        if let Some(max) = self.bytes_left {
            kept = &kept[..byte_prefix_len(kept, max)];
        }
        self.chars_left = self.chars_left.map(|left| left.saturating_sub(count_chars(kept)));
        // A character that exceeds the bytes left ends the corpus; the remaining bytes are not offered to later documents.
        let full = kept.len() < text.len() && self.max_doc_chars.is_none_or(|max| count_chars(kept) < max);
        self.bytes_left = self.bytes_left.map(|left| if full { 0 } else { left.saturating_sub(kept.len() as u64) });
        Some(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_and_corpus_limits_combine() {
        let mut limits = Limits { max_doc_chars: Some(4), chars_left: Some(10), bytes_left: None };
        let mut truncation = Truncation::default();
        let texts: [&[u8]; 4] = [b"abcdef", b"ab", b"abcdefgh", b"x"];
        let kept: Vec<&[u8]> = texts.iter().map_while(|text| limits.take(text, &mut truncation)).collect();
        assert_eq!(kept, [&b"abcd"[..], b"ab", b"abcd"]);
        assert_eq!(truncation, Truncation { documents: 2, bytes: 6 });
        assert!(limits.is_reached());
    }

    #[test]
    fn a_byte_limit_ends_the_corpus_inside_a_document() {
        let mut limits = Limits { bytes_left: Some(4), ..Limits::default() };
        let mut truncation = Truncation::default();
        assert_eq!(limits.take("ab中c".as_bytes(), &mut truncation), Some(&b"ab"[..]));
        assert_eq!(limits.take(b"c", &mut truncation), None);
        assert_eq!(truncation, Truncation::default());
    }
}
