//! Custom patterns: any regex, run by a regex engine.
//!
//! `regex-automata` runs patterns without look-around, possessive and atomic parts, `fancy-regex` all others. The former
//! parses `a++` and `a{1,3}+` as nested repetitions, so patterns with such a spelling go to the latter. Both engines need
//! valid UTF-8: an invalid byte becomes one private character (U+10FF00 + byte), which has class other as in the named
//! patterns, and offsets are mapped back. Unmatched text becomes a piece of its own; empty matches are ignored.
//!
//! A pattern may come from a file that nobody checked, so its size, and the steps that it takes on a segment, are bounded
//! ([`limits`], [`search`]), and a search that may take long runs where it can be interrupted ([`background`]).

mod background;
mod limits;
mod search;

use std::sync::Arc;

use fancy_regex::RegexBuilder;
use regex_automata::{meta, util::syntax};

use self::background::{BackgroundSearch, Stopped};
use self::search::{Found, Searcher};
use super::{Gaps, Scanner};
use crate::{Error, Result, interrupt};

/// A compiled custom pattern.
pub(super) struct Custom {
    regex: String,
    engine: Engine,
    /// Size limit of the automata, with which scanners compile their copies.
    size_limit: usize,
}

enum Engine {
    Automata(meta::Regex),
    Fancy(fancy_regex::Regex),
}

impl Custom {
    pub(super) fn new(regex: &str) -> Result<Self> {
        let size_limit = limits::check(regex)?;
        let possessive = ["*+", "++", "?+", "}+"].iter().any(|spelling| regex.contains(spelling));
        let config = meta::Config::new().nfa_size_limit(Some(size_limit));
        let engine = match meta::Builder::new().configure(config).build(regex) {
            Ok(compiled) if !possessive => Engine::Automata(compiled),
            _ => {
                let compiled = RegexBuilder::new(regex).delegate_size_limit(size_limit).build();
                Engine::Fancy(compiled.map_err(|error| match exceeds_size(&error) {
                    true => limits::automaton_too_large(regex, size_limit),
                    false => invalid(regex, &error),
                })?)
            }
        };
        Ok(Self { regex: regex.to_owned(), engine, size_limit })
    }

    pub(super) fn regex(&self) -> &str {
        &self.regex
    }

    /// A scanner with its own copy of the regex, because copies of one regex share a pool of caches under contention.
    pub(super) fn scanner(self: &Arc<Self>) -> Box<dyn Scanner> {
        Box::new(CustomScanner {
            custom: Arc::clone(self),
            searcher: None,
            background: None,
            text: Text::default(),
            pending: None,
            gaps: Gaps::default(),
        })
    }
}

/// Whether an automaton exceeded the size limit.
fn exceeds_size(error: &fancy_regex::Error) -> bool {
    let fancy_regex::Error::CompileError(error) = error else { return false };
    matches!(&**error, fancy_regex::CompileError::InnerError(error) if error.size_limit().is_some())
}

/// The error of a parser in one line, with the character position if it is known.
fn invalid(regex: &str, error: &fancy_regex::Error) -> Error {
    let (mut reason, mut position) = (error.to_string(), None);
    if let fancy_regex::Error::ParseError(at, kind) = error {
        reason = kind.to_string();
        position = Some(regex.get(..*at).map_or(*at, |before| before.chars().count()));
    }
    // `regex-syntax` reports more for patterns without look-around.
    if let Some((why, at)) = syntax_error(regex).filter(|(why, _)| !why.starts_with("look-around")) {
        (reason, position) = (why, at);
    }
    Error::InvalidPattern { pattern: regex.to_owned(), reason: reason.replace('\n', " "), position }
}

/// Why `regex-syntax` refuses a pattern, and the character position. Its report is the pattern, a line that marks the position,
/// and the reason.
pub(crate) fn syntax_error(regex: &str) -> Option<(String, Option<usize>)> {
    let report = syntax::parse(regex).err()?.to_string();
    let [_, shown, marks, why] = report.lines().collect::<Vec<_>>()[..] else { return None };
    let why = why.strip_prefix("error: ").filter(|_| shown.strip_prefix(INDENT) == Some(regex))?;
    Some((why.to_owned(), marks.strip_prefix(INDENT).and_then(|marks| marks.find('^'))))
}

/// Indentation of the pattern in an error report of `regex-syntax`.
const INDENT: &str = "    ";

/// A segment decoded to text, with a mapping back to its bytes.
#[derive(Debug, Default)]
struct Text {
    /// Address, length and next start of the segment: identifies a call that continues the previous one.
    key: Option<(usize, usize, usize)>,
    /// Shared with a search in the background.
    text: Arc<String>,
    /// Positions in `text` of the placeholders of invalid bytes. A placeholder has 4 bytes instead of 1.
    placeholders: Vec<usize>,
}

const PLACEHOLDER_EXTRA_BYTES: usize = 3;

impl Text {
    fn load(&mut self, segment: &[u8]) -> Result<()> {
        let invalid: usize = segment.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
        let bytes = segment.len() + PLACEHOLDER_EXTRA_BYTES * invalid;
        if Arc::get_mut(&mut self.text).is_none() {
            self.text = Arc::default();
        }
        self.placeholders.clear();
        let Some(text) = Arc::get_mut(&mut self.text) else { return Ok(()) };
        text.clear();
        let reserved = text.try_reserve(bytes).and_then(|()| self.placeholders.try_reserve(invalid));
        reserved.map_err(|_| Error::NoMemory { bytes: bytes as u64 })?;
        for chunk in segment.utf8_chunks() {
            text.push_str(chunk.valid());
            for &byte in chunk.invalid() {
                self.placeholders.push(text.len());
                text.push(char::from_u32(0x10_FF00 + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
        }
        Ok(())
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
    custom: Arc<Custom>,
    /// Made at first use, and again after a background search has taken it.
    searcher: Option<Box<Searcher>>,
    /// Finds the matches from the first slow one of the segment on.
    background: Option<BackgroundSearch>,
    text: Text,
    /// A match whose preceding gap was returned as a piece; the match itself is the next piece. Offsets into the text.
    pending: Option<(usize, usize)>,
    gaps: Gaps,
}

impl Scanner for CustomScanner {
    fn fill(&mut self, segment: &[u8], start: usize, ends: &mut [usize]) -> Result<usize> {
        let (address, length) = (segment.as_ptr() as usize, segment.len());
        if start == 0 || self.text.key != Some((address, length, start)) {
            self.begin(segment)?;
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
    /// Decodes a new segment.
    fn begin(&mut self, segment: &[u8]) -> Result<()> {
        (self.pending, self.background) = (None, None);
        self.text.load(segment)?;
        self.searcher.get_or_insert_with(|| Searcher::new(&self.custom)).begin(self.text.text.len());
        Ok(())
    }

    /// End of the piece at `at`, both as offsets into the text.
    fn next(&mut self, at: usize) -> Result<usize> {
        let found = match self.pending.take() {
            Some(pending) => Some(pending),
            None => self.find(at)?,
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

    /// The first match that is not empty, from `at` on, which is the end of the previous one.
    fn find(&mut self, at: usize) -> Result<Option<(usize, usize)>> {
        interrupt::check()?;
        let Self { custom, searcher, background, text, .. } = self;
        if background.is_none() {
            let mut own = searcher.take().unwrap_or_else(|| Searcher::new(custom));
            match own.find_quickly(&text.text, at) {
                Ok(Found::Slow) => *background = Some(BackgroundSearch::start(own, Arc::clone(&text.text), at)),
                quick => {
                    *searcher = Some(own);
                    return match quick {
                        Ok(Found::Match(found)) => Ok(found),
                        Ok(Found::Slow) => Ok(None),
                        Err(reason) => Err(self.gave_up(at, reason)),
                    };
                }
            }
        }
        match background.as_mut().map_or(Ok(None), BackgroundSearch::next_match) {
            Ok(found) => Ok(found),
            Err(Stopped::Interrupted) => Err(Error::Interrupted),
            Err(Stopped::GaveUp(reason)) => Err(self.gave_up(at, reason)),
        }
    }

    fn gave_up(&self, at: usize, reason: String) -> Error {
        Error::PatternGaveUp { pattern: self.custom.regex.clone(), offset: self.text.to_segment(at), reason }
    }
}
