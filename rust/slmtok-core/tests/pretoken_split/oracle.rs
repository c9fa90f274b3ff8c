//! The oracle of every scanner: the literal regex, run by `fancy-regex` over decoded text.

use std::sync::LazyLock;

use fancy_regex::Regex;
use slmtok_core::pretoken::Pattern;

/// Every registered pattern, including those of the schemes.
pub const ALL: [&str; 8] = ["slm", "gpt2", "cl100k", "cl100k-hf", "o200k", "whole", "word", "char"];

/// First of the characters of class other that stand for invalid bytes.
const STAND_IN: u32 = 0x10_FF00;

/// The regex of a pattern, and the pattern itself.
pub struct Oracle {
    pub name: &'static str,
    pub pattern: Pattern,
    regex: Regex,
}

impl Oracle {
    pub fn new(name: &'static str) -> Self {
        let pattern = Pattern::new(name).unwrap();
        let regex = Regex::new(pattern.regex()).unwrap();
        Self { name, pattern, regex }
    }

    /// The oracles of all patterns, compiled once, because compiling takes longer than most tests.
    pub fn all() -> &'static [Self] {
        static ORACLES: LazyLock<Vec<Oracle>> = LazyLock::new(|| ALL.into_iter().map(Oracle::new).collect());
        &ORACLES
    }

    /// Byte offsets in `text` at which matches end. The matches tile it, or this panics.
    pub fn ends_in_text(&self, text: &str, ends: &mut Vec<usize>) {
        ends.clear();
        let mut at = 0;
        while at < text.len() {
            let found = self.regex.find_from_pos(text, at).unwrap().unwrap();
            assert_eq!(found.start(), at, "{} leaves a gap in {text:?}", self.name);
            assert!(found.end() > at, "{} matches nothing in {text:?}", self.name);
            at = found.end();
            ends.push(at);
        }
    }

    /// Byte offsets in `segment` at which pieces end.
    pub fn ends(&self, segment: &[u8]) -> Vec<usize> {
        let (mut text, mut back) = (String::new(), vec![0]);
        for chunk in segment.utf8_chunks() {
            let stand_ins = chunk.invalid().iter().map(|&byte| (stand_in(byte), 1));
            for (character, length) in chunk.valid().chars().map(|c| (c, c.len_utf8())).chain(stand_ins) {
                text.push(character);
                let end = back.last().unwrap() + length;
                back.resize(text.len() + 1, end);
            }
        }
        let mut ends = Vec::new();
        self.ends_in_text(&text, &mut ends);
        ends.into_iter().map(|end| back[end]).collect()
    }
}

/// The character that stands for an invalid byte.
pub fn stand_in(byte: u8) -> char {
    char::from_u32(STAND_IN + u32::from(byte)).unwrap()
}

/// Piece ends by the scanner, up to `capacity` in each call.
pub fn split_by(pattern: &Pattern, segment: &[u8], capacity: usize) -> Vec<usize> {
    let (mut scanner, mut buffer, mut all) = (pattern.scanner(), vec![0; capacity], Vec::new());
    loop {
        let start = all.last().copied().unwrap_or(0);
        let filled = scanner.fill(segment, start, &mut buffer).unwrap();
        // An empty piece would loop forever.
        assert!(filled == 0 || (start < buffer[0] && buffer[..filled].is_sorted_by(|a, b| a < b)));
        all.extend_from_slice(&buffer[..filled]);
        if filled == 0 {
            return all;
        }
    }
}

/// Piece ends by the scanner.
pub fn split(pattern: &Pattern, segment: &[u8]) -> Vec<usize> {
    split_by(pattern, segment, 256)
}

/// The pieces between ends.
pub fn pieces<'a>(segment: &'a [u8], ends: &[usize]) -> Vec<&'a [u8]> {
    let mut start = 0;
    ends.iter().map(|&end| &segment[std::mem::replace(&mut start, end)..end]).collect()
}

/// Pieces as readable text.
pub fn show(segment: &[u8], ends: &[usize]) -> String {
    pieces(segment, ends).iter().map(|piece| format!("\"{}\"", piece.escape_ascii())).collect::<Vec<_>>().join(" ")
}
