//! Records: units of any size give the documents that a plain parser finds line by line, in order and with their digests;
//! damaged archives are errors, never a panic.

use std::io::Cursor;

use slmtok_core::corpus::{Documents, Kind, PACKINGS, Packing, Place, Reader, sha256};

use crate::input::Input;
use crate::json;

/// What a broken promise would look like stands with each assertion.
pub fn records(data: &[u8]) {
    let mut input = Input(data);
    let (size, key) = (1 + input.below(64), input.pick(&["text", "", "a"]));
    let whole = input.part(4096);
    let kind = Kind::Records { key: key.into() };
    let reader =
        Reader::stream(Cursor::new(whole.to_vec()), "data", Packing::Plain, kind, size, Place::START).expect("plain");
    // A line that is not plain is judged by the twin, so all that comes out must be what the twin says.
    let mut judge = |line: &[u8], _: u64| Ok(json::text(line, key));
    let (mut found, mut skipped) = (Vec::new(), 0);
    while let Some(documents) = reader.next(&mut judge).expect("memory does not fail") {
        check(&documents);
        skipped += documents.skips.len();
        let texts = documents.slices().into_iter().map(<[u8]>::to_vec);
        found.extend(documents.numbers.iter().map(|&number| number as usize).zip(texts));
    }
    let lines = || (1..).zip(whole.split_inclusive(|&byte| byte == b'\n')).filter(|(_, line)| !blank(line));
    let wanted: Vec<(usize, Vec<u8>)> =
        lines().filter_map(|(number, line)| Some((number, json::text(line, key)?))).collect();
    assert_eq!(found, wanted, "other records than those of the plain parser");
    assert_eq!(skipped, lines().count() - wanted.len(), "lines that are neither taken nor left out");
    for (_, packing) in PACKINGS {
        // Few bytes unpack to many.
        unpack(&whole[..whole.len().min(256)], packing);
    }
}

fn blank(line: &[u8]) -> bool {
    line.iter().all(|byte| b" \t\n\x0b\x0c\r".contains(byte))
}

fn check(documents: &Documents) {
    let slices = documents.slices();
    assert_eq!(documents.offsets.last().copied(), Some(documents.bytes.len() as i64), "bytes of no document");
    assert!(slices.iter().map(|text| sha256(text)).eq(documents.digests.iter().copied()), "a wrong digest");
    assert!(documents.skips.iter().all(|&before| before <= slices.len()), "left out beyond the end");
}

fn unpack(data: &[u8], packing: Packing) {
    let opened = Reader::stream(Cursor::new(data.to_vec()), "data", packing, Kind::Lines, 64, Place::START);
    let Ok(reader) = opened else { return };
    let mut judge = |_: &[u8], _: u64| unreachable!("lines are not judged");
    while let Ok(Some(documents)) = reader.next(&mut judge) {
        check(&documents);
    }
}
