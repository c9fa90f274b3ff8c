//! Text as soon as it is complete.
//!
//! At most three bytes wait: the beginning of a character. Each maximal ill-formed part becomes one U+FFFD (Unicode, section
//! 3.9, the practice that Python's `errors="replace"` follows), so the pieces put together are the text decoded at once.

/// Bytes in, text out.
#[derive(Clone, Debug, Default)]
pub struct StreamDecoder {
    pending: Vec<u8>,
}

impl StreamDecoder {
    /// Adds the bytes of a token and returns what is complete now.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let mut text = String::new();
        let mut start = 0;
        loop {
            match std::str::from_utf8(&self.pending[start..]) {
                Ok(valid) => {
                    text.push_str(valid);
                    self.pending.clear();
                    return text;
                }
                Err(error) => {
                    let end = start + error.valid_up_to();
                    text.push_str(&String::from_utf8_lossy(&self.pending[start..end]));
                    let Some(bad) = error.error_len() else {
                        self.pending.drain(..end);
                        return text;
                    };
                    text.push(char::REPLACEMENT_CHARACTER);
                    start = end + bad;
                }
            }
        }
    }

    /// Ends the text: an unfinished character becomes one U+FFFD.
    pub fn finish(&mut self) -> String {
        let unfinished = !self.pending.is_empty();
        self.pending.clear();
        if unfinished { char::REPLACEMENT_CHARACTER.to_string() } else { String::new() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_put_together_are_the_whole(
            bytes in prop::collection::vec(prop::sample::select(vec![b'a', 0xC3, 0xA9, 0xE4, 0xB8, 0xAD, 0xF0, 0x9F, 0x98, 0x80, 0xFF, 0xED, 0xA0]), 0..30),
            cuts in prop::collection::vec(0usize..30, 0..8),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let mut stream = StreamDecoder::default();
            let mut text = String::new();
            for pair in cuts.windows(2) {
                text += &stream.push(&bytes[pair[0]..pair[1]]);
                prop_assert!(stream.pending.len() <= 3);
            }
            text += &stream.finish();
            prop_assert_eq!(text, String::from_utf8_lossy(&bytes));
        }
    }
}
