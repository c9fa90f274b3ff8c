//! Scanner = regex on every string over the alphabet, and on every code point in context.

use crate::alphabet::{CELLS, Symbol, WIDTHS, invalid_byte};
use crate::oracle::{Oracle, show, split};

/// Compares on every string of up to `max_len` symbols.
fn exhaust(oracle: &Oracle, symbols: &[Symbol], max_len: u32) {
    let (mut scanner, mut ends) = (oracle.pattern.scanner(), [0; 16]);
    let (mut segment, mut text, mut expected) = (Vec::new(), String::new(), Vec::new());
    for length in 1..=max_len {
        for mut number in 0..symbols.len().pow(length) {
            segment.clear();
            text.clear();
            for _ in 0..length {
                let symbol = &symbols[number % symbols.len()];
                number /= symbols.len();
                segment.extend_from_slice(&symbol.bytes);
                text.push(symbol.text);
            }
            oracle.ends_in_text(&text, &mut expected);
            let filled = scanner.fill(&segment, 0, &mut ends).unwrap();
            if !same(&segment, &ends[..filled], &text, &expected) {
                panic!("{}: {text:?} is split into {}", oracle.name, show(&segment, &ends[..filled]));
            }
        }
    }
}

/// Whether the ends in bytes match those in the oracle's text, where a stand-in is longer than its byte.
fn same(segment: &[u8], ends: &[usize], text: &str, expected: &[usize]) -> bool {
    if segment.len() == text.len() {
        return ends == expected;
    }
    let shrink = |end: usize| {
        let extra = |character: char| if u32::from(character) >= 0x10_FF00 { 3 } else { 0 };
        end - text[..end].chars().map(extra).sum::<usize>()
    };
    ends.len() == expected.len() && ends.iter().zip(expected).all(|(&end, &other)| end == shrink(other))
}

/// Compares on every string of up to `max_len` of these characters and invalid bytes.
fn exhaust_all(characters: &[char], max_len: u32) {
    let symbols: &Vec<Symbol> = &characters.iter().copied().map(Symbol::from).chain([invalid_byte()]).collect();
    std::thread::scope(|scope| {
        for oracle in Oracle::all() {
            scope.spawn(move || exhaust(oracle, symbols, max_len));
        }
    });
}

#[test]
fn every_class_string_to_length_4() {
    exhaust_all(&CELLS, 4);
}

#[test]
fn every_width_string_to_length_3() {
    exhaust_all(&WIDTHS, 3);
}

#[test]
#[ignore = "minutes: at night, in release"]
fn every_class_string_to_length_5() {
    exhaust_all(&CELLS, 5);
}

#[test]
#[ignore = "minutes: at night, in release"]
fn every_width_string_to_length_4() {
    exhaust_all(&WIDTHS, 4);
}

/// Every code point of planes 0 and 1 and of the tags, and every 64th of the uniform planes, in contexts that distinguish the
/// classes. The unit tests of the class table cover all code points.
#[test]
fn code_points_in_context() {
    let varied = |code: u32| code < 0x2_0000 || (0xE_0000..0xE_1000).contains(&code);
    std::thread::scope(|scope| {
        for oracle in Oracle::all() {
            scope.spawn(move || {
                for c in ('\0'..=char::MAX).filter(|&c| varied(c.into()) || u32::from(c) % 64 == 63) {
                    for text in [c.to_string(), format!("a{c} {c}'{c}!{c}a1{c}2A{c}\n{c}")] {
                        let (ends, expected) = (split(&oracle.pattern, text.as_bytes()), oracle.ends(text.as_bytes()));
                        assert!(
                            ends == expected,
                            "{} at U+{:04X}: {}",
                            oracle.name,
                            u32::from(c),
                            show(text.as_bytes(), &ends)
                        );
                    }
                }
            });
        }
    });
}

#[test]
fn digit_groups_of_every_length() {
    for (name, group) in [("slm", 2), ("cl100k", 3), ("cl100k-hf", 3), ("o200k", 3), ("gpt2", 1000)] {
        let oracle = Oracle::new(name);
        for (digit, length) in [("0", 1), ("\u{662}", 2)] {
            for digits in 1..=1000 {
                let ends = split(&oracle.pattern, digit.repeat(digits).as_bytes());
                let expected: Vec<usize> =
                    (1..=digits.div_ceil(group)).map(|k| (k * group).min(digits) * length).collect();
                assert_eq!(ends, expected, "{name}: {digits} digits of {length} bytes");
            }
        }
    }
}
