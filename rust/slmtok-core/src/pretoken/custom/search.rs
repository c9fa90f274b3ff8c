//! Searching a text for matches, with a bound on the steps of one segment.
//!
//! `fancy-regex` backtracks, which takes exponentially many steps in some texts. It counts none but stops at a limit, so a
//! search is repeated with a limit ten times as large until it succeeds, and that limit is charged to the segment.
//! `regex-automata` takes linear time for a match.

use fancy_regex::RegexBuilder;
use regex_automata::{Input, meta};

use super::{Custom, Engine};
use crate::interrupt::read_clock_next;
use crate::pretoken::char_class::char_len;

/// Limits on the backtracking steps of one search.
const STEP_LIMITS: [usize; 5] = [100, 1000, 10_000, 100_000, 1_000_000];
/// Steps of one segment in all, above those of searches that succeed with the lowest limit: a base, and more for each byte.
const BASE_STEPS: usize = 4_000_000;
const STEPS_PER_BYTE: usize = 100;
/// A search is quick if its steps times the bytes of the text, which each step may read, are at most this many.
const MAX_QUICK_COST: usize = 1 << 28;
/// Memory of an automaton that costs as much as one step for each byte.
const AUTOMATON_STEP_BYTES: usize = 4096;

/// What a quick search found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The match, or that there is none.
    Match(Option<(usize, usize)>),
    /// The search may take long.
    Slow,
}

/// The copy of a regex that one thread searches with.
pub(super) struct Searcher {
    matcher: Matcher,
    /// Steps that the segment may still take.
    steps_left: usize,
}

enum Matcher {
    Automata {
        regex: meta::Regex,
        cache: Box<meta::Cache>,
        cost: usize,
    },
    /// The regex for each of [`STEP_LIMITS`], compiled at first use.
    Fancy {
        regex: fancy_regex::Regex,
        size_limit: usize,
        by_limit: Box<[Option<fancy_regex::Regex>; STEP_LIMITS.len()]>,
    },
}

impl Searcher {
    pub fn new(custom: &Custom) -> Box<Self> {
        let matcher = match &custom.engine {
            Engine::Automata(regex) => {
                let cost = 1 + regex.memory_usage() / AUTOMATON_STEP_BYTES;
                Matcher::Automata { regex: regex.clone(), cache: Box::new(regex.create_cache()), cost }
            }
            Engine::Fancy(regex) => {
                Matcher::Fancy { regex: regex.clone(), size_limit: custom.size_limit, by_limit: Default::default() }
            }
        };
        Box::new(Self { matcher, steps_left: BASE_STEPS })
    }

    /// Begins a segment whose text has `length` bytes.
    pub fn begin(&mut self, length: usize) {
        self.steps_left = BASE_STEPS.saturating_add(length.saturating_mul(STEPS_PER_BYTE));
    }

    /// As [`Self::find`], if it is quick.
    pub fn find_quickly(&mut self, text: &str, floor: usize) -> Result<Found, String> {
        self.find_costing(text, floor, MAX_QUICK_COST)
    }

    /// Leftmost match from `floor` on that is not empty. `\K` may move the start of a match, but not before `floor`.
    pub fn find(&mut self, text: &str, floor: usize) -> Result<Option<(usize, usize)>, String> {
        match self.find_costing(text, floor, usize::MAX)? {
            Found::Match(found) => Ok(found),
            Found::Slow => Err("its search was not finished".to_owned()),
        }
    }

    fn find_costing(&mut self, text: &str, floor: usize, max_cost: usize) -> Result<Found, String> {
        let mut from = floor;
        while from <= text.len() {
            match self.find_any(text, from, max_cost)? {
                Found::Match(Some((start, end))) if end <= start.max(floor) => {
                    let end = end.max(from);
                    from = end + char_len(text.as_bytes(), end).max(1);
                }
                Found::Match(found) => return Ok(Found::Match(found.map(|(start, end)| (start.max(floor), end)))),
                Found::Slow => return Ok(Found::Slow),
            }
        }
        Ok(Found::Match(None))
    }

    /// Leftmost match from `from` on, which may be empty.
    fn find_any(&mut self, text: &str, from: usize, max_cost: usize) -> Result<Found, String> {
        match &mut self.matcher {
            Matcher::Automata { regex, cache, cost } => {
                if text.len().saturating_mul(*cost) > max_cost {
                    return Ok(Found::Slow);
                }
                let input = Input::new(text).range(from..);
                Ok(Found::Match(regex.search_with(cache, &input).map(|found| (found.start(), found.end()))))
            }
            Matcher::Fancy { regex, size_limit, by_limit } => {
                for (limit, copy) in STEP_LIMITS.into_iter().zip(by_limit.iter_mut()) {
                    if text.len().saturating_mul(limit) > max_cost {
                        return Ok(Found::Slow);
                    }
                    if limit > STEP_LIMITS[0] {
                        read_clock_next();
                        let Some(left) = self.steps_left.checked_sub(limit) else {
                            let reason = "the segment takes more backtracking steps than its length allows";
                            return Err(format!("{reason} ({BASE_STEPS}, and {STEPS_PER_BYTE} for each byte)"));
                        };
                        self.steps_left = left;
                    }
                    let copy = copy.get_or_insert_with(|| compile(regex, *size_limit, limit));
                    match copy.find_from_pos(text, from) {
                        Ok(found) => return Ok(Found::Match(found.map(|found| (found.start(), found.end())))),
                        Err(error) if is_limit(&error) && limit < STEP_LIMITS[STEP_LIMITS.len() - 1] => {}
                        Err(error) => return Err(error.to_string()),
                    }
                }
                Ok(Found::Slow)
            }
        }
    }
}

fn is_limit(error: &fancy_regex::Error) -> bool {
    matches!(error, fancy_regex::Error::RuntimeError(fancy_regex::RuntimeError::BacktrackLimitExceeded))
}

/// A copy of `regex` with a limit on steps. A clone would share the pool of caches; compilation cannot fail here, because it
/// succeeded before.
fn compile(regex: &fancy_regex::Regex, size_limit: usize, limit: usize) -> fancy_regex::Regex {
    let mut builder = RegexBuilder::new(regex.as_str());
    builder.delegate_size_limit(size_limit).backtrack_limit(limit).build().unwrap_or_else(|_| regex.clone())
}
