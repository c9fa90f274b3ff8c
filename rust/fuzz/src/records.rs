//! JSONL reading: chunks of any size contain the documents that `serde_json` finds line by line, in order and with their digests;
//! damaged compressed files are errors, never a panic.

use std::io::Cursor;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use slmtok_core::corpus::{COMPRESSIONS, Compression, Documents, Format, Parsed, Position, Reader, sha256};

use crate::input::Input;

/// Each assertion names the property that it checks.
pub fn records(data: &[u8]) {
    let mut input = Input(data);
    let (size, key) = (1 + input.below(64), input.pick(&["text", "", "a"]));
    let whole = input.part(4096);
    let format = Format::Json { key: Some(key.into()) };
    let reader = reader(whole, Compression::Plain, format, size).expect("no decoder is needed");
    // The fallback is the reference parser, so every document must be one that the reference parser finds.
    let mut fallback = |line: &[u8], _: u64| Ok(field(line, key).map_or(Parsed::Skipped, Parsed::Document));
    let (mut found, mut skipped) = (Vec::new(), 0);
    while let Some(documents) = reader.next(&mut fallback).expect("an uncompressed stream does not fail") {
        check(&documents);
        skipped += documents.skips.len();
        let texts = documents.slices().into_iter().map(<[u8]>::to_vec);
        found.extend(documents.numbers.iter().map(|&number| number as usize).zip(texts));
    }
    let lines = || (1..).zip(whole.split_inclusive(|&byte| byte == b'\n')).filter(|(_, line)| !is_blank(line));
    let expected: Vec<(usize, Vec<u8>)> =
        lines().filter_map(|(number, line)| Some((number, field(line, key)?))).collect();
    assert_eq!(found, expected, "documents differ from the reference parser");
    assert_eq!(skipped, lines().count() - expected.len(), "records that are neither returned nor skipped");
    for (_, compression) in COMPRESSIONS {
        // A few bytes can decompress to many.
        decompress(&whole[..whole.len().min(256)], compression);
    }
}

fn reader(data: &[u8], compression: Compression, format: Format, size: usize) -> slmtok_core::Result<Reader> {
    Reader::stream(Cursor::new(data.to_vec()), "data", compression, format, size, Position::START)
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| b" \t\n\x0b\x0c\r".contains(byte))
}

fn check(documents: &Documents) {
    let slices = documents.slices();
    assert_eq!(documents.offsets.last().copied(), Some(documents.bytes.len() as i64), "bytes outside of documents");
    assert!(slices.iter().map(|text| sha256(text)).eq(documents.digests().iter().copied()), "a wrong digest");
    assert!(documents.skips.iter().all(|&before| before <= slices.len()), "a skipped record beyond the end");
}

fn decompress(data: &[u8], compression: Compression) {
    let Ok(reader) = reader(data, compression, Format::Terminated(b"\n".to_vec()), 64) else { return };
    let mut fallback = |_: &[u8], _: u64| unreachable!("lines need no fallback parser");
    while let Ok(Some(documents)) = reader.next(&mut fallback) {
        check(&documents);
    }
}

/// The text in field `key` of a JSON object, the last of several; `None` if `line` is no such object, or if the text contains a
/// lone surrogate. Lone surrogates elsewhere are accepted.
fn field(line: &[u8], key: &str) -> Option<Vec<u8>> {
    let Fields(fields) = serde_json::from_str(str::from_utf8(line).ok()?).ok()?;
    let (_, value) = fields.into_iter().rfind(|(name, _)| name == key.as_bytes())?;
    serde_json::from_str::<String>(value.get()).ok().map(String::into_bytes)
}

/// The fields of an object. Names are bytes, because they may contain lone surrogates.
struct Fields<'a>(Vec<(Vec<u8>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(Name(name)) = map.next_key()? {
            fields.push((name, map.next_value()?));
        }
        Ok(Fields(fields))
    }
}

struct Name(Vec<u8>);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(NameVisitor)
    }
}

struct NameVisitor;

impl Visitor<'_> for NameVisitor {
    type Value = Name;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_bytes<E: serde::de::Error>(self, name: &[u8]) -> Result<Name, E> {
        Ok(Name(name.to_vec()))
    }
}
