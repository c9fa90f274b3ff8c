//! Common characters of two and three bytes, classified by byte comparisons of the whole block: typographic quotes and dashes,
//! Latin-1 and Cyrillic letters, kana, common ideographs and their punctuation, hangul. All others are looked up one by one.

use super::WIDTH;

/// Classes of common characters, at all of their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CommonMultibyte {
    /// Upper case letters.
    pub upper: u64,
    /// Lower case letters.
    pub lower: u64,
    /// Letters without case.
    pub caseless: u64,
    /// Punctuation.
    pub other: u64,
    /// Bytes after the first of a character.
    pub continuation: u64,
}

/// Compares all bytes of a block; bit k is byte k.
pub(super) trait ByteMatcher: Copy {
    /// Bytes equal to `byte`.
    fn is(self, byte: u8) -> u64;

    /// Bytes in `first..=last`, a range of at most 127 values.
    fn among(self, first: u8, last: u8) -> u64;
}

impl CommonMultibyte {
    /// From lead bytes: `upper` and `lower` lead two bytes, `caseless` and `other` lead three.
    #[inline(always)]
    pub(super) const fn from_leads(upper: u64, lower: u64, caseless: u64, other: u64) -> Self {
        let leads = upper | lower | caseless | other;
        let (upper, lower) = (with_next(upper), with_next(lower));
        let (caseless, other) = (with_two(caseless), with_two(other));
        Self { upper, lower, caseless, other, continuation: (upper | lower | caseless | other) & !leads }
    }

    /// The common characters that lie completely in the block. A test checks the ranges against all code points.
    #[inline(always)]
    pub(super) fn new(bytes: impl ByteMatcher) -> Self {
        let continues = bytes.among(0x80, 0xBF);
        let (upper, lower) = letters_of_two(bytes, continues);
        let whole = continues >> 1 & continues >> 2;
        let quotes = bytes.is(0xE2) & bytes.is(0x80) >> 1;
        // U+2000 to U+200A, U+2028, U+2029 and U+202F are white space.
        let mut punctuation =
            quotes & bytes.among(0x8B, 0xBF) >> 2 & !((bytes.among(0xA8, 0xA9) | bytes.is(0xAF)) >> 2);
        let (e3_to_ed, ef) = (bytes.among(0xE3, 0xED), bytes.is(0xEF));
        let mut letters = 0;
        if e3_to_ed | ef != 0 {
            letters = whole & cjk_letters(bytes, e3_to_ed);
            punctuation |= whole & cjk_punctuation(bytes, e3_to_ed, ef);
        }
        Self::from_leads(upper, lower, letters, punctuation)
    }

    /// All bytes of the characters.
    #[inline(always)]
    pub(super) const fn all(&self) -> u64 {
        self.upper | self.lower | self.caseless | self.other
    }

    /// The characters that end within the first `width` bytes.
    #[inline(always)]
    pub(super) const fn truncated(self, width: usize) -> Self {
        if width == WIDTH {
            return self;
        }
        let Self { upper, lower, caseless, other, continuation } = self;
        // A character that crosses the width has a byte after its first at the width.
        let mut keep = (1 << width) - 1;
        if continuation >> width & 1 == 1 {
            let firsts = !continuation & keep;
            keep = (1 << firsts.ilog2()) - 1;
        }
        Self {
            upper: upper & keep,
            lower: lower & keep,
            caseless: caseless & keep,
            other: other & keep,
            continuation: continuation & keep,
        }
    }
}

/// Lead bytes of upper and lower case letters of two bytes: Latin-1 and Cyrillic.
#[inline(always)]
fn letters_of_two(bytes: impl ByteMatcher, continues: u64) -> (u64, u64) {
    // U+00D7 and U+00F7 (multiplication and division) are not letters.
    let latin = bytes.is(0xC3) & continues >> 1 & !((bytes.is(0x97) | bytes.is(0xB7)) >> 1);
    let latin_capital = latin & bytes.among(0x80, 0x9E) >> 1;
    let (first, second) = (bytes.is(0xD0) & continues >> 1, bytes.is(0xD1) & bytes.among(0x80, 0x9F) >> 1);
    let first_capital = first & bytes.among(0x80, 0xAF) >> 1;
    (latin_capital | first_capital, latin & !latin_capital | first & !first_capital | second)
}

/// Lead bytes of punctuation: U+3001 to U+3004, U+3008 to U+3020, and full-width forms except letters and digits.
#[inline(always)]
fn cjk_punctuation(bytes: impl ByteMatcher, e3_to_ed: u64, ef: u64) -> u64 {
    let ideographic = (bytes.among(0x81, 0x84) | bytes.among(0x88, 0xA0)) >> 2;
    let full_width = (bytes.among(0x81, 0x8F) | bytes.among(0x9A, 0xA0) | bytes.among(0xBB, 0xBF)) >> 2;
    bytes.is(0xE3) & e3_to_ed & bytes.is(0x80) >> 1 & ideographic | ef & bytes.is(0xBC) >> 1 & full_width
}

/// Lead bytes of letters without case; `e3_to_ed` are the bytes E3 to ED.
#[inline(always)]
fn cjk_letters(bytes: impl ByteMatcher, e3_to_ed: u64) -> u64 {
    let second = |first: u8, last: u8| bytes.among(first, last) >> 1;
    let lead = |byte: u8| bytes.is(byte) & e3_to_ed;
    // Hiragana U+3041 to U+3096, katakana from U+30A1 except U+30FB, ideographs from U+3400.
    let from_81 = bytes.among(0x81, 0xBF) >> 2;
    let early = bytes.among(0x81, 0x96) >> 2 | bytes.among(0xA1, 0xBF) >> 2;
    let kana = second(0x81, 0x81) & from_81 | second(0x82, 0x82) & early | second(0x83, 0x83) & !(bytes.is(0xBB) >> 2);
    let first = lead(0xE3) & (kana | second(0x90, 0xBF));
    // U+4DC0 to U+4DFF are hexagrams. Hangul is U+AC00 to U+D7A3; the last blocks are left to the table.
    let ideographs = lead(0xE4) & !second(0xB7, 0xB7) | bytes.among(0xE5, 0xE9);
    let hangul = lead(0xEA) & second(0xB0, 0xBF) | bytes.among(0xEB, 0xEC) | lead(0xED) & second(0x80, 0x9D);
    first | ideographs | hangul
}

/// Each bit and the next one.
#[inline(always)]
const fn with_next(leads: u64) -> u64 {
    leads | leads << 1
}

/// Each bit and the next two.
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

    /// Reference: one byte at a time.
    #[derive(Clone, Copy)]
    struct Reference<'a>(&'a [u8; WIDTH]);

    impl ByteMatcher for Reference<'_> {
        fn is(self, byte: u8) -> u64 {
            self.among(byte, byte)
        }

        fn among(self, first: u8, last: u8) -> u64 {
            (0..WIDTH).filter(|&k| (first..=last).contains(&self.0[k])).fold(0, |set, k| set | 1 << k)
        }
    }

    /// Every classified character has its true class at all of its bytes, and all levels agree. Returns the classified bytes.
    fn check(block: &[u8; WIDTH]) -> u64 {
        let common = CommonMultibyte::new(Reference(block));
        for level in SimdLevel::all().filter(|level| level.has_common_multibyte()) {
            assert_eq!(level.common_multibyte(block), common, "{block:X?} in {level:?}");
        }
        let (mut at, mut classified) = (0, 0);
        while at < WIDTH {
            let (class, length) = class_at(block, at);
            let bytes = (at..at + length).fold(0_u64, |set, k| set | 1 << k);
            let sets = [
                (common.upper, char_class::UPPER),
                (common.lower, char_class::LOWER),
                (common.caseless, char_class::CASELESS),
                (common.other, char_class::OTHER),
            ];
            for (set, of) in sets {
                assert!(set & bytes == 0 || (set & bytes == bytes && of == class), "{} in {block:X?}", at);
            }
            if common.all() & bytes != 0 {
                assert_eq!(common.continuation & bytes, bytes & !(1 << at));
                classified |= bytes;
            }
            at += length;
        }
        assert_eq!((common.all(), common.continuation & !classified), (classified, 0));
        classified
    }

    #[test]
    fn every_character_of_two_or_three_bytes_in_every_context() {
        let mut classified = 0;
        for character in '\u{80}'..='\u{FFFF}' {
            let mut block = [b'a'; WIDTH];
            let mut buffer = [0; 4];
            let text = character.encode_utf8(&mut buffer).as_bytes();
            let shift = character as usize % 5;
            for (k, before) in ["", "中", "’", "é", "か", "\u{301}", "。"].iter().enumerate() {
                block[8 * k + shift..][..before.len()].copy_from_slice(before.as_bytes());
                block[8 * k + shift + before.len()..][..text.len()].copy_from_slice(text);
            }
            block[WIDTH - text.len()..].copy_from_slice(text);
            classified += u32::from(check(&block) >> 63 & 1 == 1);
        }
        assert!(
            classified > 38_100,
            "{classified} are common: ideographs, hangul, kana, letters with accents, Cyrillic, punctuation"
        );
    }

    #[test]
    fn truncated_characters_are_not_classified() {
        let good = "“é中Éか가、Яж！".as_bytes();
        for (at, byte) in (0..good.len()).flat_map(|at| (0..=255).map(move |byte| (at, byte))) {
            let mut block = [b'a'; WIDTH];
            for start in [3, WIDTH - good.len()] {
                block[start..start + good.len()].copy_from_slice(good);
                block[start + at] = byte;
            }
            check(&block);
            // Truncated at the end of the block.
            let mut block = [b' '; WIDTH];
            block[WIDTH - at..].copy_from_slice(&good[..at]);
            let classified = check(&block);
            assert!(at == 0 || !is_continuation(good[at]) || classified >> 63 == 0);
        }
    }

    #[test]
    fn a_narrower_batch_has_only_complete_characters() {
        let text = "aé中’b가ÉЯかな“xyz漢字жな、じり文。".as_bytes();
        let block: [u8; WIDTH] = std::array::from_fn(|k| text.get(k).copied().unwrap_or(b'!'));
        for width in 4..=WIDTH {
            let mut cut = [b'!'; WIDTH];
            let whole = (0..=width).rev().find(|&end| end == WIDTH || !is_continuation(block[end])).unwrap();
            cut[..whole].copy_from_slice(&block[..whole]);
            assert_eq!(
                CommonMultibyte::new(Reference(&block)).truncated(width),
                CommonMultibyte::new(Reference(&cut)),
                "width {width}"
            );
        }
    }

    #[test]
    fn all_levels_equal_the_reference() {
        let kinds =
            ["a", " ", "é", "É", "×", "中", "か", "ー", "・", "가", "“", "\u{2009}", "\u{3000}", "😀", "\u{301}"];
        let mut seed = 1_u64;
        for _ in 0..20_000 {
            let mut text = Vec::new();
            while text.len() < WIDTH + 4 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.extend(kinds[(seed >> 33) as usize % kinds.len()].as_bytes());
            }
            let block = text[(seed >> 60) as usize % 4..].first_chunk::<WIDTH>().unwrap();
            for level in SimdLevel::all() {
                let common = level.common_multibyte(block);
                assert!(
                    common == CommonMultibyte::new(Reference(block))
                        || (common == CommonMultibyte::default() && !level.has_common_multibyte()),
                    "{level:?}"
                );
            }
        }
    }
}
