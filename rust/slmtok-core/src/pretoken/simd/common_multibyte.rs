//! Characters of two and three bytes whose class a few compares of all 64 bytes tell: typographic quotes and dashes, the
//! letters of western Europe and Cyrillic ones, kana, the common ideographs and their punctuation, hangul. All others are
//! looked up one by one.

use super::WIDTH;

/// Characters, each with its class on all of its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CommonMultibyte {
    /// Upper case letters.
    pub upper: u64,
    /// Lower case letters.
    pub lower: u64,
    /// Letters without case.
    pub both: u64,
    /// Marks of punctuation.
    pub other: u64,
    /// Bytes that a character does not begin with.
    pub inside: u64,
}

/// Looks at all bytes of a batch: bit k for byte k.
pub(super) trait ByteMatcher: Copy {
    /// Bytes that are this one.
    fn is(self, byte: u8) -> u64;

    /// Bytes from the first to the last of a range, which is less than half of all bytes.
    fn among(self, first: u8, last: u8) -> u64;
}

impl CommonMultibyte {
    /// Those of two bytes with their lead bytes in `upper` and `lower`, and those of three in `both` and `other`.
    #[inline(always)]
    pub(super) const fn from_leads(upper: u64, lower: u64, both: u64, other: u64) -> Self {
        let leads = upper | lower | both | other;
        let (upper, lower) = (with_next(upper), with_next(lower));
        let (both, other) = (with_two(both), with_two(other));
        Self { upper, lower, both, other, inside: (upper | lower | both | other) & !leads }
    }

    /// The easy characters that are whole in the batch.
    ///
    /// Why each class is right for all of a range, a test over all code points shows.
    #[inline(always)]
    pub(super) fn new(look: impl ByteMatcher) -> Self {
        let continues = look.among(0x80, 0xBF);
        let (capital, small) = letters_of_two(look, continues);
        let whole = continues >> 1 & continues >> 2;
        let quotes = look.is(0xE2) & look.is(0x80) >> 1;
        // U+2000 to U+200A, U+2028, U+2029 and U+202F are white space.
        let mut marks = quotes & look.among(0x8B, 0xBF) >> 2 & !((look.among(0xA8, 0xA9) | look.is(0xAF)) >> 2);
        let (east, wide) = (look.among(0xE3, 0xED), look.is(0xEF));
        let mut letters = 0;
        if east | wide != 0 {
            letters = whole & eastern(look, east);
            marks |= whole & eastern_marks(look, east, wide);
        }
        Self::from_leads(capital, small, letters, marks)
    }

    /// All their bytes.
    #[inline(always)]
    pub(super) const fn all(&self) -> u64 {
        self.upper | self.lower | self.both | self.other
    }

    /// Those of them that end within the first `width` bytes.
    #[inline(always)]
    pub(super) const fn within(self, width: usize) -> Self {
        if width == WIDTH {
            return self;
        }
        let Self { upper, lower, both, other, inside } = self;
        // A character that goes on beyond the width has a byte inside at the width.
        let mut keep = (1 << width) - 1;
        if inside >> width & 1 == 1 {
            let open = !inside & keep;
            keep = (1 << open.ilog2()) - 1;
        }
        Self { upper: upper & keep, lower: lower & keep, both: both & keep, other: other & keep, inside: inside & keep }
    }
}

/// Lead bytes of upper and of lower case letters of two bytes: of western Europe, and Cyrillic ones.
#[inline(always)]
fn letters_of_two(look: impl ByteMatcher, continues: u64) -> (u64, u64) {
    // Multiplication and division are not letters.
    let latin = look.is(0xC3) & continues >> 1 & !((look.is(0x97) | look.is(0xB7)) >> 1);
    let latin_capital = latin & look.among(0x80, 0x9E) >> 1;
    let (first, second) = (look.is(0xD0) & continues >> 1, look.is(0xD1) & look.among(0x80, 0x9F) >> 1);
    let first_capital = first & look.among(0x80, 0xAF) >> 1;
    (latin_capital | first_capital, latin & !latin_capital | first & !first_capital | second)
}

/// Lead bytes of punctuation: U+3001 to U+3004, U+3008 to U+3020, and that of full width but for letters and digits.
#[inline(always)]
fn eastern_marks(look: impl ByteMatcher, east: u64, wide: u64) -> u64 {
    let ideographic = (look.among(0x81, 0x84) | look.among(0x88, 0xA0)) >> 2;
    let full_width = (look.among(0x81, 0x8F) | look.among(0x9A, 0xA0) | look.among(0xBB, 0xBF)) >> 2;
    look.is(0xE3) & east & look.is(0x80) >> 1 & ideographic | wide & look.is(0xBC) >> 1 & full_width
}

/// Lead bytes of letters without case among those of `east`, the bytes E3 to ED.
#[inline(always)]
fn eastern(look: impl ByteMatcher, east: u64) -> u64 {
    let second = |first: u8, last: u8| look.among(first, last) >> 1;
    let lead = |byte: u8| look.is(byte) & east;
    // Hiragana from U+3041 to U+3096, katakana from U+30A1 but for U+30FB, and the ideographs from U+3400 on.
    let from_81 = look.among(0x81, 0xBF) >> 2;
    let early = look.among(0x81, 0x96) >> 2 | look.among(0xA1, 0xBF) >> 2;
    let kana = second(0x81, 0x81) & from_81 | second(0x82, 0x82) & early | second(0x83, 0x83) & !(look.is(0xBB) >> 2);
    let first = lead(0xE3) & (kana | second(0x90, 0xBF));
    // U+4DC0 to U+4DFF are hexagrams; hangul goes from U+AC00 to U+D7A3, of which the last blocks are left out.
    let ideographs = lead(0xE4) & !second(0xB7, 0xB7) | look.among(0xE5, 0xE9);
    let hangul = lead(0xEA) & second(0xB0, 0xBF) | look.among(0xEB, 0xEC) | lead(0xED) & second(0x80, 0x9D);
    first | ideographs | hangul
}

/// The bits, and the one after each.
#[inline(always)]
const fn with_next(leads: u64) -> u64 {
    leads | leads << 1
}

/// The bits, and the two after each.
#[inline(always)]
const fn with_two(leads: u64) -> u64 {
    leads | leads << 1 | leads << 2
}

#[cfg(test)]
mod tests {
    use super::super::super::char_class::{self, class_at};
    use super::super::level::SimdLevel;
    use super::*;
    use crate::utf8::is_continuation;

    /// The definition: one byte at a time.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Slow<'a>(pub &'a [u8; WIDTH]);

    impl ByteMatcher for Slow<'_> {
        fn is(self, byte: u8) -> u64 {
            self.among(byte, byte)
        }

        fn among(self, first: u8, last: u8) -> u64 {
            (0..WIDTH).filter(|&k| (first..=last).contains(&self.0[k])).fold(0, |set, k| set | 1 << k)
        }
    }

    /// What `easy` says of the batch must be true of each character in it, whole, and nothing else; and all tiers must say it.
    fn check(batch: &[u8; WIDTH]) -> u64 {
        let easy = CommonMultibyte::new(Slow(batch));
        for level in SimdLevel::all().filter(|level| level.has_common_multibyte()) {
            assert_eq!(level.common_multibyte(batch), easy, "{batch:X?} in {level:?}");
        }
        let (mut at, mut told) = (0, 0);
        while at < WIDTH {
            let (class, length) = class_at(batch, at);
            let bytes = (at..at + length).fold(0_u64, |set, k| set | 1 << k);
            let sets = [
                (easy.upper, char_class::UPPER),
                (easy.lower, char_class::LOWER),
                (easy.both, char_class::BOTH),
                (easy.other, char_class::O),
            ];
            for (set, of) in sets {
                assert!(set & bytes == 0 || (set & bytes == bytes && of == class), "{} in {batch:X?}", at);
            }
            if easy.all() & bytes != 0 {
                assert_eq!(easy.inside & bytes, bytes & !(1 << at));
                told |= bytes;
            }
            at += length;
        }
        assert_eq!((easy.all(), easy.inside & !told), (told, 0));
        told
    }

    #[test]
    fn every_character_of_two_or_three_bytes_beside_every_kind() {
        let mut told = 0;
        for character in '\u{80}'..='\u{FFFF}' {
            let mut batch = [b'a'; WIDTH];
            let mut buffer = [0; 4];
            let text = character.encode_utf8(&mut buffer).as_bytes();
            let shift = character as usize % 5;
            for (k, before) in ["", "中", "’", "é", "か", "\u{301}", "。"].iter().enumerate() {
                batch[8 * k + shift..][..before.len()].copy_from_slice(before.as_bytes());
                batch[8 * k + shift + before.len()..][..text.len()].copy_from_slice(text);
            }
            batch[WIDTH - text.len()..].copy_from_slice(text);
            told += u32::from(check(&batch) >> 63 & 1 == 1);
        }
        assert!(
            told > 38_100,
            "{told} are easy: ideographs, hangul, kana, letters with accents, Cyrillic, punctuation"
        );
    }

    #[test]
    fn broken_characters_are_not_easy() {
        let good = "“é中Éか가、Яж！".as_bytes();
        for (at, byte) in (0..good.len()).flat_map(|at| (0..=255).map(move |byte| (at, byte))) {
            let mut batch = [b'a'; WIDTH];
            for start in [3, WIDTH - good.len()] {
                batch[start..start + good.len()].copy_from_slice(good);
                batch[start + at] = byte;
            }
            check(&batch);
            // And cut off at the end.
            let mut batch = [b' '; WIDTH];
            batch[WIDTH - at..].copy_from_slice(&good[..at]);
            let easy = check(&batch);
            assert!(at == 0 || !is_continuation(good[at]) || easy >> 63 == 0);
        }
    }

    #[test]
    fn a_narrower_batch_has_only_what_is_whole_in_it() {
        let text = "aé中’b가ÉЯかな“xyz漢字жな、じり文。".as_bytes();
        let batch: [u8; WIDTH] = std::array::from_fn(|k| text.get(k).copied().unwrap_or(b'!'));
        for width in 4..=WIDTH {
            let mut cut = [b'!'; WIDTH];
            let whole = (0..=width).rev().find(|&end| end == WIDTH || !is_continuation(batch[end])).unwrap();
            cut[..whole].copy_from_slice(&batch[..whole]);
            assert_eq!(
                CommonMultibyte::new(Slow(&batch)).within(width),
                CommonMultibyte::new(Slow(&cut)),
                "width {width}"
            );
        }
    }

    #[test]
    fn tiers_see_what_a_slow_look_sees() {
        let kinds =
            ["a", " ", "é", "É", "×", "中", "か", "ー", "・", "가", "“", "\u{2009}", "\u{3000}", "😀", "\u{301}"];
        let mut seed = 1_u64;
        for _ in 0..20_000 {
            let mut text = Vec::new();
            while text.len() < WIDTH + 4 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.extend(kinds[(seed >> 33) as usize % kinds.len()].as_bytes());
            }
            let batch = text[(seed >> 60) as usize % 4..].first_chunk::<WIDTH>().unwrap();
            for level in SimdLevel::all() {
                let easy = level.common_multibyte(batch);
                assert!(
                    easy == CommonMultibyte::new(Slow(batch))
                        || (easy == CommonMultibyte::default() && !level.has_common_multibyte()),
                    "{level:?}"
                );
            }
        }
    }
}
