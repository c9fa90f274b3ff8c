//! JSONL reading: chunks of any size give the documents that a reference parser finds line by line, in order and with their
//! digests; damaged archives are errors, never a panic.

use std::io::Cursor;

use slmtok_core::corpus::{COMPRESSIONS, Compression, Documents, Format, Parsed, Position, Reader, sha256};

use crate::input::Input;
use crate::json;

/// Each assertion names the property that it checks.
pub fn records(data: &[u8]) {
    let mut input = Input(data);
    let (size, key) = (1 + input.below(64), input.pick(&["text", "", "a"]));
    let whole = input.part(4096);
    let format = Format::Json { key: Some(key.into()) };
    let source = Cursor::new(whole.to_vec());
    let reader =
        Reader::stream(source, "data", Compression::Plain, format, size, Position::START).expect("no decoder is needed");
    // The fallback is the reference parser, so every document must be what the reference finds.
    let mut fallback = |line: &[u8], _: u64| Ok(json::text(line, key).map_or(Parsed::Skipped, Parsed::Document));
    let (mut found, mut skipped) = (Vec::new(), 0);
    while let Some(documents) = reader.next(&mut fallback).expect("an uncompressed stream does not fail") {
        check(&documents);
        skipped += documents.skips.len();
        let texts = documents.slices().into_iter().map(<[u8]>::to_vec);
        found.extend(documents.numbers.iter().map(|&number| number as usize).zip(texts));
    }
    let lines = || (1..).zip(whole.split_inclusive(|&byte| byte == b'\n')).filter(|(_, line)| !blank(line));
    let wanted: Vec<(usize, Vec<u8>)> =
        lines().filter_map(|(number, line)| Some((number, json::text(line, key)?))).collect();
    assert_eq!(found, wanted, "documents differ from the reference parser");
    assert_eq!(skipped, lines().count() - wanted.len(), "records that are neither returned nor skipped");
    for (_, compression) in COMPRESSIONS {
        // A few bytes can decompress to many.
        decompress(&whole[..whole.len().min(256)], compression);
    }
}

fn blank(line: &[u8]) -> bool {
    line.iter().all(|byte| b" \t\n\x0b\x0c\r".contains(byte))
}

fn check(documents: &Documents) {
    let slices = documents.slices();
    assert_eq!(documents.offsets.last().copied(), Some(documents.bytes.len() as i64), "bytes outside of documents");
    assert!(slices.iter().map(|text| sha256(text)).eq(documents.digests().iter().copied()), "a wrong digest");
    assert!(documents.skips.iter().all(|&before| before <= slices.len()), "a skipped record beyond the end");
}

fn decompress(data: &[u8], compression: Compression) {
    let opened = Reader::stream(Cursor::new(data.to_vec()), "data", compression, Format::Terminated(b"\n".to_vec()), 64, Position::START);
    let Ok(reader) = opened else { return };
    let mut fallback = |_: &[u8], _: u64| unreachable!("lines need no fallback parser");
    while let Ok(Some(documents)) = reader.next(&mut fallback) {
        check(&documents);
    }
}
