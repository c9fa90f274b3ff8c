//! A regular expression as a deterministic automaton over bytes: which bytes may follow a text that is to match in the end.
//!
//! Generation that is constrained by a regular expression lifts it to tokens. `regex-automata` builds it; here it is cut to
//! the states from which a match can still be reached.

use std::collections::HashMap;

use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::{primitives::StateID, start};
use regex_automata::{Anchored, MatchKind};

use crate::{Error, Result, pretoken};

/// Limit of the automata while they are built, in bytes each. Bounds memory, and the time to about 1 s.
const MAX_AUTOMATON_BYTES: usize = 8 << 20;

/// States 0 (the start) to n - 1. Each can reach a match.
#[derive(Debug)]
pub struct ByteAutomaton {
    /// The class of each byte. Bytes of one class lead to the same state.
    pub classes: [u8; 256],
    /// The next state of each state and class, state by state; [`ByteAutomaton::DEAD`] where no match can follow.
    pub transitions: Vec<u32>,
    /// Of each state: whether the text so far matches as a whole.
    pub accepting: Vec<bool>,
}

impl ByteAutomaton {
    /// No state.
    pub const DEAD: u32 = u32::MAX;

    /// The automaton of the texts that `regex` matches from their first byte to their last.
    ///
    /// # Errors
    /// [`Error::InvalidPattern`], also for look-around and for an expression that matches nothing;
    /// [`Error::PatternTooLarge`].
    pub fn new(regex: &str) -> Result<Self> {
        let dfa = build(regex)?;
        let invalid = |reason: &str| Error::InvalidPattern {
            pattern: regex.to_owned(),
            reason: reason.to_owned(),
            position: None,
        };
        let config = start::Config::new().anchored(Anchored::Yes);
        let first = dfa.start_state(&config).map_err(|error| invalid(&error.to_string()))?;
        let mut classes = [0; 256];
        let mut bytes = Vec::new();
        for byte in 0..=u8::MAX {
            let class = dfa.byte_classes().get(byte);
            classes[usize::from(byte)] = class;
            if usize::from(class) == bytes.len() {
                bytes.push(byte);
            }
        }
        let mut all = Self::reachable(&dfa, first, &bytes);
        all.classes = classes;
        let live = all.live(bytes.len());
        if !live[0] {
            return Err(invalid("it matches no text"));
        }
        Ok(all.kept(&live, bytes.len()))
    }

    /// All states that can be reached, in the order of a breadth-first search. `bytes`: one of each class.
    fn reachable(dfa: &dense::DFA<Vec<u32>>, first: StateID, bytes: &[u8]) -> Self {
        let mut numbers = HashMap::from([(first, 0)]);
        let (mut states, mut transitions, mut accepting) = (vec![first], Vec::new(), Vec::new());
        let mut at = 0;
        while at < states.len() {
            let state = states[at];
            accepting.push(dfa.is_match_state(dfa.next_eoi_state(state)));
            for &byte in bytes {
                let next = dfa.next_state(state, byte);
                transitions.push(match dfa.is_dead_state(next) {
                    true => Self::DEAD,
                    false => *numbers.entry(next).or_insert_with(|| {
                        states.push(next);
                        // The size limit keeps the number of states below 2^32.
                        u32::try_from(states.len() - 1).unwrap_or(Self::DEAD)
                    }),
                });
            }
            at += 1;
        }
        Self { classes: [0; 256], transitions, accepting }
    }

    /// Of each state, whether a match can be reached from it.
    fn live(&self, n_classes: usize) -> Vec<bool> {
        let mut before = vec![Vec::new(); self.accepting.len()];
        for (at, &next) in self.transitions.iter().enumerate().filter(|&(_, &next)| next != Self::DEAD) {
            before[next as usize].push(at / n_classes);
        }
        let mut live = self.accepting.clone();
        let mut open: Vec<usize> = (0..live.len()).filter(|&state| live[state]).collect();
        while let Some(state) = open.pop() {
            for &earlier in &before[state] {
                if !live[earlier] {
                    live[earlier] = true;
                    open.push(earlier);
                }
            }
        }
        live
    }

    /// The live states alone, numbered anew in their order.
    fn kept(&self, live: &[bool], n_classes: usize) -> Self {
        let mut next_number = 0;
        let numbers: Vec<u32> = live
            .iter()
            .map(|&is_live| {
                next_number += u32::from(is_live);
                if is_live { next_number - 1 } else { Self::DEAD }
            })
            .collect();
        let rows = self.transitions.chunks(n_classes).zip(live).filter(|&(_, &is_live)| is_live);
        let renumbered = |&next: &u32| numbers.get(next as usize).copied().unwrap_or(Self::DEAD);
        Self {
            classes: self.classes,
            transitions: rows.flat_map(|(row, _)| row.iter().map(renumbered)).collect(),
            accepting: self.accepting.iter().zip(live).filter(|&(_, &is_live)| is_live).map(|(&end, _)| end).collect(),
        }
    }
}

/// The automaton of all matches that begin at the start of a text, not only of the one that a search prefers.
fn build(regex: &str) -> Result<dense::DFA<Vec<u32>>> {
    let too_large = || Error::PatternTooLarge {
        pattern: regex.to_owned(),
        what: "needs too many states as an automaton over bytes".to_owned(),
        limit: format!("{MAX_AUTOMATON_BYTES} bytes"),
    };
    let invalid = |error: &dyn std::fmt::Display| {
        let (reason, position) = pretoken::syntax_error(regex).unwrap_or_else(|| (error.to_string(), None));
        Error::InvalidPattern { pattern: regex.to_owned(), reason: reason.replace('\n', " "), position }
    };
    let limits = thompson::Config::new().nfa_size_limit(Some(MAX_AUTOMATON_BYTES));
    let nfa = thompson::Compiler::new().configure(limits).build(regex);
    let nfa = nfa.map_err(|error| if error.size_limit().is_some() { too_large() } else { invalid(&error) })?;
    let config = dense::Config::new()
        .start_kind(StartKind::Anchored)
        .match_kind(MatchKind::All)
        .dfa_size_limit(Some(MAX_AUTOMATON_BYTES))
        .determinize_size_limit(Some(MAX_AUTOMATON_BYTES));
    let dfa = dense::Builder::new().configure(config).build_from_nfa(&nfa);
    dfa.map_err(|error| if error.is_size_limit_exceeded() { too_large() } else { invalid(&error) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Some(whether it matches)` for a text from which a match can be reached.
    fn run(automaton: &ByteAutomaton, text: &[u8]) -> Option<bool> {
        let n_classes = automaton.transitions.len() / automaton.accepting.len();
        let mut state = 0;
        for &byte in text {
            let class = usize::from(automaton.classes[usize::from(byte)]);
            let next = automaton.transitions[state * n_classes + class];
            if next == ByteAutomaton::DEAD {
                return None;
            }
            state = next as usize;
        }
        Some(automaton.accepting[state])
    }

    #[test]
    fn texts_and_their_beginnings() {
        for (regex, text, expected) in [
            ("a|ab", "", Some(false)),
            ("a|ab", "a", Some(true)),
            ("a|ab", "ab", Some(true)),
            ("a|ab", "abc", None),
            ("a*?", "aaa", Some(true)),
            (r"\d{3}-\d{2}", "123-4", Some(false)),
            (r"\d{3}-\d{2}", "1234", None),
            ("é+", "é", Some(true)),
            ("^a$", "a", Some(true)),
            ("a$b", "a", None),
            ("(?m)a$\nb", "a\n", Some(false)),
            ("x[^\\s\\S]|y", "x", None),
            ("(?i)ja|nein", "JA", Some(true)),
        ] {
            let found = ByteAutomaton::new(regex);
            match found {
                Ok(automaton) => assert_eq!(run(&automaton, text.as_bytes()), expected, "{regex} {text:?}"),
                Err(error) => assert_eq!(expected, None, "{regex} {error}"),
            }
        }
        // Half of a character is the beginning of a text.
        assert_eq!(run(&ByteAutomaton::new("é").unwrap(), b"\xC3"), Some(false));
        assert_eq!(run(&ByteAutomaton::new("é").unwrap(), b"\xC4"), None);
    }

    #[test]
    fn what_is_refused() {
        for (regex, part) in [
            ("(", "unclosed group"),
            ("a(?=b)", "look-around"),
            (r"\bword", "word boundaries"),
            (r"(a)\1", "backreferences"),
            (r"[^\s\S]", "matches no text"),
            ("a$b", "matches no text"),
            (r"\w{100000}", "too many states"),
            ("(a|b)*a(a|b){60}", "too many states"),
        ] {
            let error = ByteAutomaton::new(regex).unwrap_err().to_string();
            assert!(error.contains(part), "{regex}: {error}");
        }
    }
}
