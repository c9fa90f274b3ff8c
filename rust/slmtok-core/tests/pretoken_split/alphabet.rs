//! One character for each cell of code points that no pattern distinguishes, and a check that there are no other cells.

use std::collections::HashMap;

use regex_automata::{meta::Regex, util::syntax};

use crate::oracle::stand_in;

/// A character: its bytes, and its form in the text of the oracle.
#[derive(Clone, Debug)]
pub struct Symbol {
    pub bytes: Vec<u8>,
    pub text: char,
}

impl From<char> for Symbol {
    fn from(text: char) -> Self {
        Self { bytes: text.to_string().into_bytes(), text }
    }
}

/// A byte that is invalid in any context.
pub fn invalid_byte() -> Symbol {
    Symbol { bytes: vec![0xFF], text: stand_in(0xFF) }
}

/// A representative of each cell.
pub const CELLS: [char; 22] = [
    'a', 's', 'l', 'v', 'e', 'A', 'S', 'L', 'V', 'E', '\u{17F}', '\u{2B0}', '\u{301}', '1', ' ', '\t', '\n', '\'', '/',
    '_', '!', '\u{4E2D}',
];

/// The cells in their other lengths: letters, marks, numbers, spaces and others of two, three and four bytes.
pub const WIDTHS: [char; 20] = [
    '\u{E9}',
    '\u{C9}',
    '\u{1E9F}',
    '\u{1E9E}',
    '\u{10428}',
    '\u{10400}',
    '\u{1C5}',
    '\u{20000}',
    '\u{20D0}',
    '\u{1E8D0}',
    '\u{662}',
    '\u{2167}',
    '\u{1D7CE}',
    '\u{A0}',
    '\u{3000}',
    '\u{A9}',
    '\u{2019}',
    '\u{1F600}',
    ' ',
    '\n',
];

/// The predicates of the patterns. `[vr]` is one, because both letters occur in `[vr]e` only.
const PREDICATES: [&str; 19] = [
    r"[\p{Lu}\p{Lt}]",
    r"\p{Ll}",
    r"[\p{Lm}\p{Lo}]",
    r"\p{M}",
    r"\p{N}",
    r"\s",
    r"\p{L}",
    "'",
    " ",
    "/",
    "_",
    r"[\r\n]",
    "[sdmt]",
    "(?i:[sdmt])",
    "(?i:l)",
    "(?i:[vr])",
    "(?i:e)",
    "[lvre]",
    r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]",
];

/// Bit k of the value of a code point: whether it satisfies predicate k.
fn cells() -> HashMap<char, u32> {
    let characters: String = ('\0'..=char::MAX).collect();
    let mut cells: HashMap<char, u32> = characters.chars().map(|character| (character, 0)).collect();
    for (bit, predicate) in PREDICATES.into_iter().enumerate() {
        let regex = Regex::builder().syntax(syntax::Config::new()).build(&format!("(?:{predicate})+")).unwrap();
        for found in regex.find_iter(&characters) {
            for character in characters[found.range()].chars() {
                *cells.get_mut(&character).unwrap() |= 1 << bit;
            }
        }
    }
    cells
}

#[test]
fn representatives_cover_all_code_points() {
    let cells = cells();
    assert_eq!(cells.len(), 0x11_0000 - 0x800);
    let known: HashMap<u32, char> = CELLS.iter().map(|cell| (cells[cell], *cell)).collect();
    assert_eq!(known.len(), CELLS.len() - 1, "U+02B0 and U+4E2D share a cell and differ in length");
    for (character, cell) in &cells {
        assert!(
            known.contains_key(cell),
            "U+{:04X} is in cell {cell:b}, which has no representative",
            u32::from(*character)
        );
    }
    assert!(known.contains_key(&cells[&stand_in(0xFF)]), "an invalid byte is in the cell of '!'");
    assert_eq!(cells[&stand_in(0xFF)], cells[&'!']);
}
