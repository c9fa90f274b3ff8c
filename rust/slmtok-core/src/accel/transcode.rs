//! UTF-8 from code points: the encoding of a Python string without Python's own copy, which would live as long as the string.

use std::ops::Range;
use std::sync::Mutex;

#[cfg(target_arch = "x86_64")]
use super::transcode_avx512::Utf8Avx512;
use crate::cache::bloom::BloomFilter;
use crate::mem::{reserve_huge, with_capacity_huge};
use crate::parallel::lock;

/// Code points that are encoded together, through an array that stays in the L1 cache.
const WINDOW_LEN: usize = 256;
/// The longest UTF-8 of a code point.
const MAX_CHAR_BYTES: usize = 4;
/// Runs of this length are mostly ASCII, which the compiler narrows with vector instructions.
const ASCII_RUN_LEN: usize = 32;

pub(super) type Window = [u8; MAX_CHAR_BYTES * WINDOW_LEN];

/// Strings of up to this many characters are faster through the UTF-8 that their owner keeps.
const MAX_SHORT_CHARS: usize = 1 << 10;

/// Decides which strings are transcoded here. A string that occurs again uses the UTF-8 that its owner keeps, so that repeated
/// encoding transcodes it once.
pub struct TranscodePolicy {
    /// Strings that were encoded; `None` for calls that forget them.
    encoded: Option<Mutex<BloomFilter>>,
}

impl TranscodePolicy {
    /// The policy of one encoder, for all its calls.
    #[must_use]
    pub fn with_memory() -> Self {
        Self { encoded: Some(Mutex::default()) }
    }

    /// A policy for strings that are not expected to occur again.
    #[must_use]
    pub const fn without_memory() -> Self {
        Self { encoded: None }
    }

    /// Whether to transcode a string of `chars` characters at `address`, unless it is ASCII. Records the string. A string at the
    /// address of an earlier one may be taken for it, which costs memory only.
    #[must_use]
    pub fn transcodes(&self, address: usize, chars: usize) -> bool {
        if chars <= MAX_SHORT_CHARS {
            return false;
        }
        let Some(encoded) = &self.encoded else { return true };
        let hash = (address as u64 ^ (chars as u64) << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        !lock(encoded).is_ok_and(|mut filter| filter.insert(hash))
    }
}

/// UTF-8 of texts, end to end.
#[derive(Debug, Default)]
pub struct Utf8Buffer(Vec<u8>);

impl Utf8Buffer {
    /// Room for `points` code points, if they are mostly ASCII; more are possible.
    #[must_use]
    pub fn with_capacity(points: usize) -> Self {
        Self(with_capacity_huge(points + points / 8))
    }

    /// All bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Appends the UTF-8 of `points`.
    ///
    /// # Errors
    /// The index of the first surrogate or number above 0x10FFFF. Code points before it may be missing.
    pub fn push(&mut self, points: &[u32]) -> Result<(), usize> {
        let mut window = [0; MAX_CHAR_BYTES * WINDOW_LEN];
        for (begin, points) in (0_usize..).step_by(WINDOW_LEN).zip(points.chunks(WINDOW_LEN)) {
            let len = encode_window(points, &mut window).map_err(|index| begin + index)?;
            reserve_huge(&mut self.0, len);
            self.0.extend_from_slice(&window[..len]);
        }
        Ok(())
    }
}

/// Writes the UTF-8 of at most [`WINDOW_LEN`] code points to the start of `out`. Returns its length, or the index of the first
/// code point without UTF-8.
pub(super) fn encode_window(points: &[u32], out: &mut Window) -> Result<usize, usize> {
    #[cfg(target_arch = "x86_64")]
    if let Some(avx512) = Utf8Avx512::detect() {
        return avx512.encode_window(points, out);
    }
    encode_window_portably(points, out)
}

#[expect(clippy::cast_possible_truncation, reason = "ASCII fits a byte")]
fn encode_window_portably(points: &[u32], out: &mut Window) -> Result<usize, usize> {
    let mut len = 0;
    for (begin, run) in (0_usize..).step_by(ASCII_RUN_LEN).zip(points.chunks(ASCII_RUN_LEN)) {
        if run.iter().fold(0, |all, point| all | point) < 0x80 {
            out[len..].iter_mut().zip(run).for_each(|(byte, &point)| *byte = point as u8);
            len += run.len();
            continue;
        }
        for (index, &point) in (begin..).zip(run) {
            let character = char::from_u32(point).ok_or(index)?;
            len += character.encode_utf8(&mut out[len..]).len();
        }
    }
    Ok(len)
}

/// Texts in order, some borrowed and some transcoded.
#[derive(Debug, Default)]
pub struct MixedTexts<'a> {
    texts: Vec<Text<'a>>,
    utf8: Utf8Buffer,
}

#[derive(Debug)]
enum Text<'a> {
    Borrowed(&'a [u8]),
    Transcoded(Range<usize>),
}

impl<'a> MixedTexts<'a> {
    /// No texts yet, with room for `points` code points to be transcoded.
    #[must_use]
    pub fn with_capacity(points: usize) -> Self {
        Self { texts: Vec::new(), utf8: Utf8Buffer::with_capacity(points) }
    }

    /// Adds a text as its bytes, and returns their number.
    pub fn push_bytes(&mut self, bytes: &'a [u8]) -> usize {
        self.texts.push(Text::Borrowed(bytes));
        bytes.len()
    }

    /// Adds the text that `transcode` appends, and returns the number of its bytes.
    ///
    /// # Errors
    /// What `transcode` returns.
    pub fn push_transcoded<E>(&mut self, transcode: impl FnOnce(&mut Utf8Buffer) -> Result<(), E>) -> Result<usize, E> {
        let start = self.utf8.0.len();
        transcode(&mut self.utf8)?;
        let end = self.utf8.0.len();
        self.texts.push(Text::Transcoded(start..end));
        Ok(end - start)
    }

    /// The bytes of each text.
    #[must_use]
    pub fn slices(&self) -> Vec<&[u8]> {
        let texts = self.texts.iter();
        texts
            .map(|text| match text {
                Text::Borrowed(bytes) => *bytes,
                Text::Transcoded(range) => &self.utf8.0[range.clone()],
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(points: &[u32]) {
        let bad = points.iter().position(|&point| char::from_u32(point).is_none());
        let want: String = points.iter().map_while(|&point| char::from_u32(point)).collect();
        for (begin, points) in (0_usize..).step_by(WINDOW_LEN).zip(points.chunks(WINDOW_LEN)) {
            let (mut one, mut other) = ([0xFF; MAX_CHAR_BYTES * WINDOW_LEN], [0xFF; MAX_CHAR_BYTES * WINDOW_LEN]);
            let (found, portably) = (encode_window(points, &mut one), encode_window_portably(points, &mut other));
            assert_eq!(found, portably, "{points:x?} from {begin}");
            assert!(found.is_err() || found.is_ok_and(|len| one[..len] == other[..len]), "{points:x?} from {begin}");
        }
        let mut utf8 = Utf8Buffer::default();
        match bad {
            None => assert!(utf8.push(points).is_ok() && utf8.bytes() == want.as_bytes(), "{points:x?}"),
            Some(bad) => assert_eq!(utf8.push(points), Err(bad), "{points:x?}"),
        }
    }

    #[test]
    fn every_code_point_at_every_place() {
        let all: Vec<u32> = (0..=0x11_0000).chain([u32::MAX, 0x8000_0000, 0x8000_0041]).collect();
        all.chunks(17).for_each(|some| {
            some.iter().for_each(|&point| check(&[point]));
            // Without invalid ones, which would hide those after them.
            let valid: Vec<u32> = some.iter().copied().filter(|&point| char::from_u32(point).is_some()).collect();
            check(&valid);
        });
        for point in [0x41, 0xE9, 0x20AC, 0x1F600, 0xD800, 0xDFFF, 0x11_0000] {
            for length in 0..=WINDOW_LEN + 1 {
                let mut points = vec![0x61; length];
                for at in [0, length / 2, length.saturating_sub(1)] {
                    if let Some(old) = points.get_mut(at) {
                        *old = point;
                    }
                    check(&points);
                }
            }
        }
    }

    #[test]
    fn a_window_of_the_longest_characters_fits() {
        for point in [0x7F, 0x7FF, 0xFFFF, 0x10_FFFF] {
            check(&[point; WINDOW_LEN]);
        }
    }

    #[test]
    fn a_long_string_is_transcoded_here_unless_it_occurs_again() {
        let (long, policy) = (MAX_SHORT_CHARS + 1, TranscodePolicy::with_memory());
        assert!(policy.transcodes(4096, long) && policy.transcodes(8192, long));
        assert!(!policy.transcodes(4096, long) && !policy.transcodes(1 << 20, MAX_SHORT_CHARS));
        let policy = TranscodePolicy::without_memory();
        assert!(policy.transcodes(4096, long) && policy.transcodes(4096, long));
        assert!(!policy.transcodes(4096, MAX_SHORT_CHARS));
    }

    #[test]
    fn borrowed_and_transcoded_texts_keep_their_order() {
        let mut texts = MixedTexts::default();
        texts.push_bytes(b"one");
        assert_eq!(texts.push_transcoded(|utf8| utf8.push(&[0xE9, 0x4E2D])), Ok(5));
        texts.push_bytes(b"");
        assert_eq!(texts.push_transcoded(|_| Ok::<_, ()>(())), Ok(0));
        assert_eq!(texts.push_transcoded(|utf8| utf8.push(&[0x41])), Ok(1));
        assert_eq!(texts.slices(), [&b"one"[..], "é中".as_bytes(), b"", b"", b"A"]);
    }

    proptest! {
        #[test]
        fn windows_are_joined(text in "[a-z ]{0,40}([éß“中😀]{0,9}[a-z ]{0,90}){0,9}", times in 1usize..6) {
            let points: Vec<u32> = text.chars().map(u32::from).collect();
            let mut utf8 = Utf8Buffer::with_capacity(times);
            for _ in 0..times {
                prop_assert_eq!(utf8.push(&points), Ok(()));
            }
            prop_assert!(utf8.bytes() == text.repeat(times).as_bytes());
        }

        #[test]
        fn mixtures_and_the_first_invalid_code_point(points in prop::collection::vec(
            prop_oneof![8 => 0u32..0x80, 2 => 0u32..0x900, 2 => 0u32..0x1_0200, 1 => 0u32..0x11_0100], 0..=WINDOW_LEN + 40)) {
            check(&points);
        }
    }
}
