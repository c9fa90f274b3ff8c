//! Custom patterns: any regex, run by a regex engine.
//!
//! `regex-automata` runs patterns without look-around, possessive and atomic parts, `fancy-regex` all others. The former
//! parses `a++` and `a{1,3}+` as nested repetitions, so patterns with such a spelling go to the latter. Both engines need
//! valid UTF-8: an invalid byte becomes one private character (U+10FF00 + byte), which has class other as in the named
//! patterns, and offsets are mapped back. Unmatched text becomes a piece of its own; empty matches are ignored.

use regex_automata::{Input, meta, util::syntax};

use super::char_class::char_len;
use super::{Gaps, Scanner};
use crate::{Error, Result};

/// A compiled custom pattern.
pub(super) struct Custom {
    regex: String,
    engine: Engine,
}

enum Engine {
    Automata(meta::Regex),
    Fancy(fancy_regex::Regex),
}

impl Custom {
    pub(super) fn new(regex: &str) -> Result<Self> {
        let possessive = ["*+", "++", "?+", "}+"].iter().any(|spelling| regex.contains(spelling));
        let engine = match meta::Regex::new(regex) {
            Ok(compiled) if !possessive => Engine::Automata(compiled),
            _ => Engine::Fancy(fancy_regex::Regex::new(regex).map_err(|error| invalid(regex, &error))?),
        };
        Ok(Self { regex: regex.to_owned(), engine })
    }

    pub(super) fn regex(&self) -> &str {
        &self.regex
    }

    /// A scanner with its own copy of the regex, because copies of one regex share a pool of caches under contention.
    pub(super) fn scanner(&self) -> Box<dyn Scanner> {
        let matcher = match &self.engine {
            Engine::Automata(regex) => {
                Matcher::Automata { regex: regex.clone(), cache: Box::new(regex.create_cache()) }
            }
            // A clone would share the pool. Compilation cannot fail here, because it succeeded before.
            Engine::Fancy(regex) => {
                Matcher::Fancy(fancy_regex::Regex::new(&self.regex).unwrap_or_else(|_| regex.clone()))
            }
        };
        Box::new(CustomScanner {
            pattern: self.regex.clone(),
            matcher,
            text: Text::default(),
            pending: None,
            gaps: Gaps::default(),
        })
    }
}

/// The error of a parser in one line, with the character position if it is known.
fn invalid(regex: &str, error: &fancy_regex::Error) -> Error {
    let (mut reason, mut position) = (error.to_string(), None);
    if let fancy_regex::Error::ParseError(at, kind) = error {
        reason = kind.to_string();
        position = Some(regex.get(..*at).map_or(*at, |before| before.chars().count()));
    }
    // `regex-syntax` reports more for patterns without look-around: the pattern, a line that marks the position, the reason.
    if let Err(error) = syntax::parse(regex) {
        let report = error.to_string();
        let lines: Vec<&str> = report.lines().collect();
        if let [_, shown, marks, why] = lines[..]
            && let (Some(pattern), Some(why)) = (shown.strip_prefix(INDENT), why.strip_prefix("error: "))
            && pattern == regex
            && !why.starts_with("look-around")
        {
            reason = why.to_owned();
            position = marks.strip_prefix(INDENT).and_then(|marks| marks.find('^'));
        }
    }
    Error::InvalidPattern { pattern: regex.to_owned(), reason: reason.replace('\n', " "), position }
}

/// Indentation of the pattern in an error report of `regex-syntax`.
const INDENT: &str = "    ";

enum Matcher {
    Automata { regex: meta::Regex, cache: Box<meta::Cache> },
    Fancy(fancy_regex::Regex),
}

impl Matcher {
    /// Leftmost match from `from` on, as offsets into `text`.
    fn find(&mut self, text: &str, from: usize) -> std::result::Result<Option<(usize, usize)>, String> {
        match self {
            Self::Automata { regex, cache } => {
                let input = Input::new(text).range(from..);
                Ok(regex.search_with(cache, &input).map(|found| (found.start(), found.end())))
            }
            Self::Fancy(regex) => match regex.find_from_pos(text, from) {
                Ok(found) => Ok(found.map(|found| (found.start(), found.end()))),
                Err(error) => Err(error.to_string()),
            },
        }
    }

    /// As [`Self::find`], without empty matches. `\K` may move the start of a match, but not before `floor`.
    fn find_nonempty(&mut self, text: &str, floor: usize) -> std::result::Result<Option<(usize, usize)>, String> {
        let mut from = floor;
        while from <= text.len() {
            match self.find(text, from)? {
                Some((start, end)) if end <= start.max(floor) => {
                    let end = end.max(from);
                    from = end + char_len(text.as_bytes(), end).max(1);
                }
                found => return Ok(found.map(|(start, end)| (start.max(floor), end))),
            }
        }
        Ok(None)
    }
}

/// A segment decoded to text, with a mapping back to its bytes.
#[derive(Debug, Default)]
struct Text {
    /// Address, length and next start of the segment: identifies a call that continues the previous one.
    key: Option<(usize, usize, usize)>,
    text: String,
    /// Positions in `text` of the placeholders of invalid bytes. A placeholder has 4 bytes instead of 1.
    placeholders: Vec<usize>,
}

const PLACEHOLDER_EXTRA_BYTES: usize = 3;

impl Text {
    fn load(&mut self, segment: &[u8]) {
        self.text.clear();
        self.placeholders.clear();
        for chunk in segment.utf8_chunks() {
            self.text.push_str(chunk.valid());
            for &byte in chunk.invalid() {
                self.placeholders.push(self.text.len());
                self.text.push(char::from_u32(0x10_FF00 + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
        }
    }

    /// The offset in the segment of an offset in the text.
    fn to_segment(&self, at: usize) -> usize {
        at - PLACEHOLDER_EXTRA_BYTES * self.placeholders.partition_point(|&placeholder| placeholder < at)
    }

    /// The offset in the text of an offset in the segment.
    fn to_text(&self, at: usize) -> usize {
        let (mut low, mut high) = (0, self.placeholders.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.placeholders[middle] - PLACEHOLDER_EXTRA_BYTES * middle < at {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        at + PLACEHOLDER_EXTRA_BYTES * low
    }
}

struct CustomScanner {
    pattern: String,
    matcher: Matcher,
    text: Text,
    /// A match whose preceding gap was returned as a piece; the match itself is the next piece. Offsets into the text.
    pending: Option<(usize, usize)>,
    gaps: Gaps,
}

impl Scanner for CustomScanner {
    fn fill(&mut self, segment: &[u8], start: usize, ends: &mut [usize]) -> Result<usize> {
        let (address, length) = (segment.as_ptr() as usize, segment.len());
        if start == 0 || self.text.key != Some((address, length, start)) {
            self.text.load(segment);
            self.pending = None;
        }
        self.text.key = None;
        let (mut at, mut filled) = (self.text.to_text(start), 0);
        for slot in ends.iter_mut() {
            if at >= self.text.text.len() {
                break;
            }
            at = self.next(at)?;
            *slot = self.text.to_segment(at);
            filled += 1;
        }
        self.text.key = Some((address, length, self.text.to_segment(at)));
        Ok(filled)
    }

    fn gaps(&self) -> Gaps {
        self.gaps
    }
}

impl CustomScanner {
    /// End of the piece at `at`, both as offsets into the text.
    fn next(&mut self, at: usize) -> Result<usize> {
        let found = match self.pending.take() {
            Some(pending) => Some(pending),
            None => self.matcher.find_nonempty(&self.text.text, at).map_err(|reason| Error::PatternGaveUp {
                pattern: self.pattern.clone(),
                offset: self.text.to_segment(at),
                reason,
            })?,
        };
        match found {
            Some((start, end)) if start == at => Ok(end),
            _ => {
                let end = found.map_or(self.text.text.len(), |(start, _)| start);
                self.pending = found;
                self.gaps.pieces += 1;
                self.gaps.bytes += (self.text.to_segment(end) - self.text.to_segment(at)) as u64;
                Ok(end)
            }
        }
    }
}
