//! Custom patterns: any pattern compiles or is refused, and splits any text into pieces that tile it, or gives up; both within
//! bounds, which the timeout of the fuzzer checks.

use slmtok_core::Error;
use slmtok_core::pretoken::Pattern;

use crate::input::Input;

/// Parts of patterns, valid and not: what fuzzing bytes alone would seldom join.
const PARTS: [&str; 24] = [
    "a", "x+", r"\w", r"\p{L}", r"\s*", "[^!]*", ".", "(", ")", "(?:", "(?=", "(?!", "(?<=", "(?>", "|", "*", "+", "?",
    "{2}", "{0,9}", "{999}", r"\1", "++", "[",
];

/// Each assertion names the property that it checks.
pub fn pattern(data: &[u8]) {
    let mut input = Input(data);
    let mut spec: String = (0..input.below(12)).map(|_| input.pick(&PARTS)).collect();
    let literal = input.below(16);
    spec.push_str(&String::from_utf8_lossy(input.part(literal)));
    let text = input.part(512);
    let compiled = match Pattern::new(&spec) {
        Ok(compiled) => compiled,
        Err(Error::InvalidPattern { .. } | Error::PatternTooLarge { .. }) => return,
        Err(error) => panic!("{spec:?}: {error}"),
    };
    match compiled.split(text) {
        Ok((bounds, gaps)) => {
            assert_eq!(bounds.first(), Some(&0));
            assert!(bounds.is_sorted_by(|a, b| a < b), "{spec:?}: an empty piece");
            assert_eq!(bounds.last(), Some(&(text.len() as u64)), "{spec:?}: the pieces do not cover the text");
            assert!(gaps.bytes <= text.len() as u64 && gaps.pieces < bounds.len() as u64);
        }
        Err(Error::PatternGaveUp { offset, .. }) => assert!(offset <= text.len()),
        Err(error) => panic!("{spec:?}: {error}"),
    }
}
