//! Limits on the size of a pattern, checked before it is compiled.

use crate::{Error, Result};

/// Longest pattern. The longest of the named ones has 400 bytes.
const MAX_PATTERN_BYTES: usize = 4096;
/// Largest count of a repetition, counts of nested repetitions multiplied. `fancy-regex` repeats an empty part that often
/// without counting a step.
const MAX_REPEATS: u64 = 1000;
/// Size of all automata of a pattern together, which bounds the time of compiling to about 0.1 s.
const MAX_AUTOMATA_BYTES: usize = 4 << 20;
/// Size that each automaton may have in any case.
const MIN_AUTOMATON_BYTES: usize = 1 << 18;

/// Checks length and repetitions. Returns the size limit of one automaton: `fancy-regex` compiles one for each part between
/// groups.
///
/// # Errors
/// [`Error::PatternTooLarge`].
pub(super) fn check(regex: &str) -> Result<usize> {
    let fail = |what: String, limit: String| Err(Error::PatternTooLarge { pattern: shorten(regex), what, limit });
    if regex.len() > MAX_PATTERN_BYTES {
        return fail(format!("has {} bytes", regex.len()), format!("{MAX_PATTERN_BYTES} bytes"));
    }
    let repeats = max_repeats(regex);
    if repeats > MAX_REPEATS {
        let limit = format!("{MAX_REPEATS} repetitions, counts of nested ones multiplied");
        return fail(format!("repeats a part {repeats} times"), limit);
    }
    let groups = regex.bytes().filter(|&byte| byte == b'(').count();
    Ok((MAX_AUTOMATA_BYTES / (groups + 1)).max(MIN_AUTOMATON_BYTES))
}

/// The error for an automaton above `limit`.
pub(super) fn automaton_too_large(regex: &str, limit: usize) -> Error {
    let what = format!("compiles to an automaton of more than {limit} bytes");
    let limit = format!("{MAX_AUTOMATA_BYTES} bytes for all parts between groups");
    Error::PatternTooLarge { pattern: shorten(regex), what, limit }
}

/// The first bytes of a long pattern, for the error.
fn shorten(regex: &str) -> String {
    match regex.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &regex[..end]),
        None => regex.to_owned(),
    }
}

/// The largest product of the counts of nested repetitions. Reads only what it needs of the syntax: escapes, classes, groups
/// and counts; an invalid pattern gives any number.
fn max_repeats(regex: &str) -> u64 {
    let bytes = regex.as_bytes();
    // Of each open group, the largest product inside it so far; the first is that of the whole pattern.
    let mut open: Vec<u64> = vec![1];
    // Product of the part that a count at this place repeats.
    let (mut part, mut at) = (1, 0);
    while at < bytes.len() {
        let next = match bytes[at] {
            b'\\' => at + 2,
            b'[' => class_end(bytes, at),
            _ => at + 1,
        };
        match bytes[at] {
            b'(' => {
                open.push(1);
                part = 1;
            }
            b')' => {
                part = if open.len() > 1 { open.pop().unwrap_or(1) } else { 1 };
                record(&mut open, part);
            }
            b'{' => {
                part = count(&bytes[at + 1..]).map_or(1, |count| count.max(1).saturating_mul(part));
                record(&mut open, part);
            }
            // These follow a count or belong to it, and repeat no more often than it does for the engines' loops.
            b'0'..=b'9' | b',' | b'}' | b'?' | b'+' | b'*' => {}
            _ => part = 1,
        }
        at = next;
    }
    open.into_iter().max().unwrap_or(1)
}

fn record(open: &mut [u64], product: u64) {
    if let Some(last) = open.last_mut() {
        *last = product.max(*last);
    }
}

/// The larger number of a count whose `{` precedes `bytes`; `None` if it is no count.
fn count(bytes: &[u8]) -> Option<u64> {
    let end = bytes.iter().position(|&byte| byte == b'}')?;
    let mut numbers = bytes[..end].split(|&byte| byte == b',').map(|number| {
        let digits = str::from_utf8(number).ok()?.trim();
        match digits.is_empty() {
            true => Some(0),
            // A number that does not fit is too large.
            false => digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().unwrap_or(u64::MAX)),
        }
    });
    numbers.try_fold(0, |largest: u64, number| Some(largest.max(number?)))
}

/// The end of the class of characters that begins at `at`, which may hold nested classes.
fn class_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0;
    // A `]` that follows `[` or `[^` belongs to the class.
    let mut first = at;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'[' => {
                depth += 1;
                first = at + 1 + usize::from(bytes.get(at + 1) == Some(&b'^'));
            }
            b']' if at != first => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at.min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_nested_repetitions_multiply() {
        for (regex, repeats) in [
            ("a", 1),
            ("a{3}", 3),
            ("a{2,}b{7,9}", 9),
            ("(?:a{10}b{2}){20}c{3}", 200),
            ("((a{2}){3}|b{50}){4}", 200),
            (r"\{9}[{9}]\(a{2}\){3}", 3),
            ("[]{99}]{4}[^]{99}[a{98}]]{5}", 5),
            ("a{x}(b){ 7 }", 7),
            ("(a){3}{4}", 12),
            ("(a){3}?{4}", 12),
            (r"\p{L}{3}", 3),
            ("(a)(?:\\1{0}){999999999}", 999_999_999),
            ("a{99999999999999999999}", u64::MAX),
            ("a)b{3}", 3),
            ("(((a{2}", 2),
        ] {
            assert_eq!(max_repeats(regex), repeats, "{regex}");
        }
    }

    #[test]
    fn limits_are_errors_with_value_and_limit() {
        let fault = |regex: &str| check(regex).unwrap_err().to_string();
        assert!(fault(&"a".repeat(5000)).contains("has 5000 bytes\n  limit: 4096 bytes"));
        let nested = fault("(?:a{100}){11}");
        assert!(nested.contains("repeats a part 1100 times") && nested.contains("limit: 1000 repetitions"), "{nested}");
        assert_eq!(check("a"), Ok(MAX_AUTOMATA_BYTES));
        assert_eq!(check(&"(".repeat(4000)), Ok(MIN_AUTOMATON_BYTES));
    }
}
