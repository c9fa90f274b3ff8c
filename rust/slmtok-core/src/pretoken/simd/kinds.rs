//! The easy characters as kinds: each is a set of first bytes, one of second and one of third. So three tables by byte tell which
//! kinds a character may be of, eight kinds to an entry, and what all three agree on is its kind.
//!
//! After the tables of Keiser and Lemire, "Validating UTF-8 In Less Than One Instruction Per Byte" (2021), which tell errors so.

/// Bytes from the first to the last of each range.
type Bytes = &'static [(u8, u8)];

/// Eight kinds, each by its first, second and third bytes.
pub(super) type Kinds = [[Bytes; 3]; 8];

/// What continues a character.
const ANY: Bytes = &[(0x80, 0xBF)];

/// Letters without case: kana, the common ideographs and hangul, as far as [`super::common_multibyte::CommonMultibyte`] has them.
pub(super) const LETTERS: Kinds = [
    [&[(0xE3, 0xE3)], &[(0x81, 0x81)], &[(0x81, 0xBF)]],
    [&[(0xE3, 0xE3)], &[(0x82, 0x82)], &[(0x81, 0x96), (0xA1, 0xBF)]],
    [&[(0xE3, 0xE3)], &[(0x83, 0x83)], &[(0x80, 0xBA), (0xBC, 0xBF)]],
    [&[(0xE3, 0xE3)], &[(0x90, 0xBF)], ANY],
    [&[(0xE4, 0xE4)], &[(0x80, 0xB6), (0xB8, 0xBF)], ANY],
    [&[(0xE5, 0xE9), (0xEB, 0xEC)], ANY, ANY],
    [&[(0xEA, 0xEA)], &[(0xB0, 0xBF)], ANY],
    [&[(0xED, 0xED)], &[(0x80, 0x9D)], ANY],
];

/// Kinds of [`MIXED`] that are upper case letters, of two bytes;
pub(super) const UPPER: u8 = 0b0000_0011;
/// those that are lower case letters, of two bytes;
pub(super) const LOWER: u8 = 0b0001_1100;

/// Letters with case, and punctuation, of three bytes.
pub(super) const MIXED: Kinds = [
    [&[(0xC3, 0xC3)], &[(0x80, 0x96), (0x98, 0x9E)], &[]],
    [&[(0xD0, 0xD0)], &[(0x80, 0xAF)], &[]],
    [&[(0xC3, 0xC3)], &[(0x9F, 0xB6), (0xB8, 0xBF)], &[]],
    [&[(0xD0, 0xD0)], &[(0xB0, 0xBF)], &[]],
    [&[(0xD1, 0xD1)], &[(0x80, 0x9F)], &[]],
    [&[(0xE2, 0xE2)], &[(0x80, 0x80)], &[(0x8B, 0xA7), (0xAA, 0xAE), (0xB0, 0xBF)]],
    [&[(0xE3, 0xE3)], &[(0x80, 0x80)], &[(0x81, 0x84), (0x88, 0xA0)]],
    [&[(0xEF, 0xEF)], &[(0xBC, 0xBC)], &[(0x81, 0x8F), (0x9A, 0xA0), (0xBB, 0xBF)]],
];

/// For each byte from 0x80 on, the kinds that have it in this place (0 to 2): bit k for kind k. In two halves.
pub(super) const fn table(kinds: &Kinds, place: usize) -> [[u8; 64]; 2] {
    let mut table = [[0; 64]; 2];
    let mut kind = 0;
    while kind < kinds.len() {
        let ranges = kinds[kind][place];
        let mut range = 0;
        while range < ranges.len() {
            let (mut byte, last) = ranges[range];
            while byte <= last {
                let index = byte as usize - 0x80;
                table[index / 64][index % 64] |= 1 << kind;
                byte += 1;
            }
            range += 1;
        }
        kind += 1;
    }
    table
}

/// For each byte below 0x80, the class of ASCII that has it: bit k for the class numbered k. In two halves.
pub(super) const fn ascii_table(classes: &[&[u8]; 8]) -> [[u8; 64]; 2] {
    let mut table = [[0; 64]; 2];
    let mut class = 0;
    while class < classes.len() {
        let mut k = 0;
        while k < classes[class].len() {
            let byte = classes[class][k] as usize;
            table[byte / 64][byte % 64] |= 1 << class;
            k += 1;
        }
        class += 1;
    }
    table
}
