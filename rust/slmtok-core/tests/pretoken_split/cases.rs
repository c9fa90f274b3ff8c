//! The named cases of `rust/testdata/pretoken/cases.tsv`, which the Python tests read too.

use slmtok_core::pretoken::Pattern;

use crate::oracle::{pieces, split};

const CASES: &str = include_str!("../../../testdata/pretoken/cases.tsv");

/// Undoes the escapes of the file: `\xHH`, `\n`, `\r`, `\t`, `\\`, and `␣` for a space.
fn unescape(field: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), field.chars());
    while let Some(character) = rest.next() {
        match character {
            '␣' => bytes.push(b' '),
            '\\' => match rest.next().unwrap() {
                'n' => bytes.push(b'\n'),
                'r' => bytes.push(b'\r'),
                't' => bytes.push(b'\t'),
                '\\' => bytes.push(b'\\'),
                'x' => bytes.push(u8::from_str_radix(&rest.by_ref().take(2).collect::<String>(), 16).unwrap()),
                other => panic!("unknown escape \\{other} in {field:?}"),
            },
            other => bytes.extend(other.to_string().bytes()),
        }
    }
    bytes
}

#[test]
fn every_case_has_its_pieces() {
    let mut n_cases = 0;
    for line in CASES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let expected: Vec<Vec<u8>> = fields[2..].iter().map(|field| unescape(field)).collect();
        let segment = expected.concat();
        let ends = split(&Pattern::new(fields[1]).unwrap(), &segment);
        assert_eq!(pieces(&segment, &ends), expected, "{}, {}", fields[0], fields[1]);
        n_cases += 1;
    }
    assert!(n_cases > 60, "only {n_cases} cases were read");
}
