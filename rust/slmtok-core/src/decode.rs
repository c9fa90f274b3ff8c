//! Decoding: ids in, bytes out; [`StreamDecoder`] turns the bytes into text as soon as characters are complete.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::encode::Encoder;
use crate::fork_safe_once;
use crate::mem::try_with_capacity_huge;
use crate::parallel::thread_count;
use crate::threads::spawn;
use crate::{Error, Result};

/// Tokens up to this length are copied by one fixed-size copy of this many bytes.
const COPY_BYTES: usize = 16;
/// Fewer ids do not pay for another thread.
const MIN_IDS_PER_THREAD: usize = 1 << 18;

/// The bytes of every id in one array, padded so that a fixed-size copy never reads past its end.
pub struct Decoder {
    blob: Vec<u8>,
    start: Vec<u32>,
    /// Whether an id has no token.
    is_hole: Vec<bool>,
}

impl Decoder {
    /// The decoder of an encoder. Specials decode to their text.
    ///
    /// # Errors
    /// Tokens of more than 4 GiB in total.
    pub fn new(encoder: &Encoder) -> Result<Self> {
        let (mut blob, mut start, mut is_hole) = (Vec::new(), vec![0], Vec::new());
        for id in 0..encoder.n_vocab() {
            let token = encoder.token(id);
            is_hole.push(token.is_none());
            blob.extend_from_slice(token.unwrap_or(&[]));
            let end = u32::try_from(blob.len())
                .map_err(|_| Error::CorpusTooLarge { bytes: blob.len() as u64, limit: u64::from(u32::MAX) })?;
            start.push(end);
        }
        blob.resize(blob.len() + COPY_BYTES, 0);
        Ok(Self { blob, start, is_hole })
    }

    /// Largest id + 1.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the encoder numbers ids with 32 bits")]
    pub fn n_vocab(&self) -> u32 {
        self.is_hole.len() as u32
    }

    /// The bytes of one id.
    ///
    /// # Errors
    /// An id that is not in the vocabulary; the error contains `position`.
    pub fn token(&self, id: i64, position: usize) -> Result<&[u8]> {
        let (start, end) = self.bounds(id, position)?;
        Ok(&self.blob[start..end])
    }

    #[inline(always)]
    fn bounds(&self, id: i64, position: usize) -> Result<(usize, usize)> {
        match usize::try_from(id) {
            Ok(at) if at < self.is_hole.len() && !self.is_hole[at] => {
                Ok((self.start[at] as usize, self.start[at + 1] as usize))
            }
            _ => Err(Error::UnknownId { id, position, n_vocab: self.n_vocab() }),
        }
    }

    /// The concatenated bytes of `ids`.
    ///
    /// # Errors
    /// An id that is not in the vocabulary, with its position; [`Error::NoMemory`].
    pub fn decode<T: Copy + Into<i64>>(&self, ids: &[T]) -> Result<Vec<u8>> {
        let mut length = 0usize;
        for (position, &id) in ids.iter().enumerate() {
            let (start, end) = self.bounds(id.into(), position)?;
            length = length.saturating_add(end - start);
        }
        let mut out = try_with_capacity_huge(length.saturating_add(COPY_BYTES))?;
        out.resize(length + COPY_BYTES, 0);
        let mut at = 0;
        for (position, &id) in ids.iter().enumerate() {
            let (start, end) = self.bounds(id.into(), position)?;
            if end - start <= COPY_BYTES {
                out[at..at + COPY_BYTES].copy_from_slice(&self.blob[start..start + COPY_BYTES]);
            } else {
                out[at..at + end - start].copy_from_slice(&self.blob[start..end]);
            }
            at += end - start;
        }
        out.truncate(length);
        Ok(out)
    }

    /// The bytes of each document of `ids`, on up to `threads` threads (0: all hardware threads).
    ///
    /// # Errors
    /// Offsets that do not ascend within `ids`, and the errors of [`Decoder::decode`].
    pub fn decode_documents<T: Copy + Into<i64> + Sync>(
        &self,
        ids: &[T],
        offsets: &[i64],
        threads: usize,
    ) -> Result<Vec<Vec<u8>>> {
        let bounds: Vec<&[i64]> = offsets.windows(2).collect();
        let threads = thread_count(threads, ids.len() / MIN_IDS_PER_THREAD);
        if threads == 1 || bounds.is_empty() {
            return bounds.iter().map(|pair| self.decode_one(ids, pair)).collect();
        }
        let parts = std::thread::scope(|scope| {
            let decode = |part: &[&[i64]]| part.iter().map(|pair| self.decode_one(ids, pair)).collect();
            let share = bounds.len().div_ceil(threads);
            let start = |part| spawn(scope, move || decode(part));
            let handles = bounds.chunks(share).map(start).collect::<Result<Vec<_>>>()?;
            let joined = handles.into_iter().map(std::thread::ScopedJoinHandle::join);
            joined
                .map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect::<Result<Vec<Vec<_>>>>()
        })?;
        Ok(parts.into_iter().flatten().collect())
    }

    fn decode_one<T: Copy + Into<i64>>(&self, ids: &[T], bounds: &[i64]) -> Result<Vec<u8>> {
        let at = |offset: i64| usize::try_from(offset).ok().filter(|&at| at <= ids.len());
        match (at(bounds[0]), at(bounds[1])) {
            (Some(start), Some(end)) if start <= end => self.decode(&ids[start..end]),
            _ => Err(Error::InvalidOption {
                option: "offsets",
                value: format!("{}..{}", bounds[0], bounds[1]),
                limit: format!("ascending, 0 to {}", ids.len()),
            }),
        }
    }
}

/// Length in bytes of every id of `encoder`; 0 for specials and ids without a token.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "tokens are shorter than MAX_TOKEN_BYTES")]
pub fn byte_lengths(encoder: &Encoder) -> Vec<u32> {
    let mut lengths = vec![0; encoder.n_vocab() as usize];
    for (id, token) in encoder.ordinary_tokens() {
        lengths[id as usize] = token.len() as u32;
    }
    lengths
}

/// The id of a token by its bytes, for ordinary tokens. Built at the first lookup.
#[derive(Debug, Default)]
pub struct TokenIndex(OnceLock<HashMap<Vec<u8>, u32>>);

impl TokenIndex {
    /// The id of `token` in `encoder`, which must be the same in all calls.
    #[must_use]
    pub fn find(&self, encoder: &Encoder, token: &[u8]) -> Option<u32> {
        let build = || encoder.ordinary_tokens().map(|(id, token)| (token.to_vec(), id)).collect();
        fork_safe_once::get_or_init(&self.0, build).get(token).copied()
    }
}

/// An incremental UTF-8 decoder: bytes in, text out.
///
/// At most three bytes are pending, the beginning of a character. Each maximal ill-formed part becomes one U+FFFD (Unicode,
/// section 3.9, like Python's `errors="replace"`), so the concatenated output equals the text decoded at once.
#[derive(Clone, Debug, Default)]
pub struct StreamDecoder {
    pending: Vec<u8>,
    /// Ids that were decoded, for errors.
    position: usize,
}

impl StreamDecoder {
    /// Adds the next id, and returns the text that is complete. `decoder` must be the same in all calls.
    ///
    /// # Errors
    /// An id that is not in the vocabulary, with its position. It is not added.
    pub fn push_id(&mut self, decoder: &Decoder, id: i64) -> Result<String> {
        let token = decoder.token(id, self.position)?;
        self.position += 1;
        Ok(self.push(token))
    }

    /// Adds the bytes of a token and returns the text that is complete.
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
        fn parts_concatenate_to_the_whole(
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
