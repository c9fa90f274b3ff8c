//! Units, packings and readers against the plain way of doing the same.

use std::io::Write;

use proptest::prelude::*;

use super::*;
use crate::Error;

/// The units of `data` read as lines: number, first line, bytes.
fn units_of(data: &[u8], size: usize) -> Vec<(u64, u64, Vec<u8>)> {
    let source = std::io::Cursor::new(data.to_vec());
    let reader = Reader::stream(source, "data", Packing::Plain, Kind::Lines, size, Place::START).unwrap();
    let mut found: Vec<(u64, u64, Vec<u8>)> = Vec::new();
    while let Some(documents) = reader.next(&mut refuse).unwrap() {
        let mut text = documents.slices().join(&b'\n');
        text.resize((documents.behind.offset - documents.begin.offset) as usize, b'\n');
        found.push((documents.unit, documents.begin.line, text));
    }
    found
}

/// The same, line by line.
fn plain_units(data: &[u8], size: usize) -> Vec<(u64, u64, Vec<u8>)> {
    let mut found: Vec<(u64, u64, Vec<u8>)> = Vec::new();
    let mut start = 0;
    for (line, text) in (1..).zip(data.split_inclusive(|&byte| byte == b'\n')) {
        let number = (start / size) as u64;
        match found.last_mut() {
            Some(last) if last.0 == number => last.2.extend_from_slice(text),
            _ => found.push((number, line, text.to_vec())),
        }
        start += text.len();
    }
    found
}

proptest! {
    #[test]
    fn units_hold_the_lines_that_begin_in_them(data in "[ab\n]{0,80}", size in 1usize..20) {
        prop_assert_eq!(units_of(data.as_bytes(), size), plain_units(data.as_bytes(), size));
    }
}

fn refuse(line: &[u8], number: u64) -> crate::Result<Option<Vec<u8>>> {
    panic!("line {number} was doubted: {line:?}")
}

fn read(data: &[u8], packing: Packing, kind: Kind) -> crate::Result<Vec<Vec<u8>>> {
    let reader = Reader::stream(std::io::Cursor::new(data.to_vec()), "data", packing, kind, 64, Place::START)?;
    let mut found = Vec::new();
    while let Some(documents) = reader.next(&mut refuse)? {
        assert_eq!(documents.digests, documents.slices().iter().map(|text| sha256(text)).collect::<Vec<_>>());
        found.extend(documents.slices().iter().map(|text| text.to_vec()));
    }
    Ok(found)
}

fn packed(data: &[u8], packing: Packing) -> Vec<u8> {
    match packing {
        Packing::Plain => data.to_vec(),
        Packing::Gz => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap()
        }
        Packing::Zst => zstd::encode_all(data, 1).unwrap(),
        Packing::Xz => {
            let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap()
        }
    }
}

#[test]
fn packed_files_in_one_part_or_two_give_their_lines() {
    let lines: Vec<Vec<u8>> = (0..500_u32).map(|n| n.to_string().repeat(n as usize % 7).into_bytes()).collect();
    let data = lines.join(&b'\n');
    for (name, packing) in PACKINGS {
        assert_eq!(read(&packed(&data, packing), packing, Kind::Lines).unwrap(), lines, "{name}");
        let (front, back) = data.split_at(700);
        let two = [packed(front, packing), packed(back, packing)].concat();
        assert_eq!(read(&two, packing, Kind::Lines).unwrap(), lines, "{name} in two parts");
    }
    let padded = [packed(&data, Packing::Gz), vec![0; 300_000]].concat();
    assert_eq!(read(&padded, Packing::Gz, Kind::Lines).unwrap(), lines);
}

#[test]
fn a_packed_file_that_ends_early_is_an_error_wherever_it_ends() {
    let data: Vec<u8> = (0..2000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    for (name, packing) in PACKINGS.into_iter().skip(1) {
        let whole = packed(&data, packing);
        for end in (1..whole.len()).step_by(97).chain([whole.len() - 1]) {
            match read(&whole[..end], packing, Kind::Lines) {
                Err(Error::Damaged { path, .. }) => assert_eq!(path, "data"),
                other => panic!("{name} cut at {end} of {}: {:?}", whole.len(), other.map(|lines| lines.len())),
            }
        }
        let mut garbage = whole.clone();
        garbage.extend_from_slice(b"not packed at all");
        assert!(matches!(read(&garbage, packing, Kind::Lines), Err(Error::Damaged { .. })), "{name}");
    }
}

#[test]
fn few_bytes_of_xz_cannot_ask_for_all_memory() {
    let mut file = packed(b"text", Packing::Xz);
    // Behind the header of the stream: the block's, of twelve bytes, with one filter, LZMA2, whose one property is the dictionary.
    assert_eq!(file[12..16], [2, 0, 0x21, 1]);
    for (property, fits) in [(22, true), (37, true), (38, false), (40, false)] {
        file[16] = property;
        let mut crc = flate2::Crc::new();
        crc.update(&file[12..20]);
        file[20..24].copy_from_slice(&crc.sum().to_le_bytes());
        match read(&file, Packing::Xz, Kind::Lines) {
            Ok(lines) => assert!(fits && lines == [b"text"]),
            Err(error) => assert!(!fits && error.to_string().contains("memory limit"), "{property}: {error}"),
        }
    }
    let older_format = [&[0x5D, 0, 0, 0, 4][..], &[0xFF; 8], &[0; 20]].concat();
    assert!(matches!(read(&older_format, Packing::Xz, Kind::Lines), Err(Error::Damaged { .. })));
}

#[test]
fn records_give_their_text() {
    let data = concat!(
        "{\"text\": \"a\\n\\u00e9\\ud83d\\ude00\\\\\\\"\\/\\b\\f\\r\\t\"}\n",
        "  \t\n",
        "{\"id\": [1, -2.5e+3, {\"text\": \"no\"}, [], {}], \"text\":\"first\", \"text\" : \"äöü中\" , \"n\": null}\r\n",
        "{\"text\":\"\"}",
    );
    let key = Kind::Records { key: b"text".to_vec() };
    let found = read(data.as_bytes(), Packing::Plain, key).unwrap();
    assert_eq!(found, ["a\né😀\\\"/\u{8}\u{c}\r\t", "äöü中", ""].map(|text| text.as_bytes().to_vec()));
}

#[test]
fn what_is_not_plain_is_judged_with_its_line_and_number() {
    let lines = ["{\"text\": 1}\n", "{\"text\": \"ok\"}\n", "\n", "[]\n", "{\"text\": \"\\ud800\"}"];
    let source = std::io::Cursor::new(lines.concat().into_bytes());
    let kind = Kind::Records { key: b"text".to_vec() };
    let reader = Reader::stream(source, "data", Packing::Plain, kind, 1 << 20, Place::START).unwrap();
    let mut asked = Vec::new();
    let mut judge = |line: &[u8], number: u64| {
        asked.push((String::from_utf8(line.to_vec()).unwrap(), number));
        Ok((number == 4).then(|| b"judged".to_vec()))
    };
    let documents = reader.next(&mut judge).unwrap().unwrap();
    assert_eq!(asked, [(lines[0].to_owned(), 1), (lines[3].to_owned(), 4), (lines[4].to_owned(), 5)]);
    assert_eq!((documents.slices(), documents.numbers.clone()), (vec![&b"ok"[..], b"judged"], vec![2, 4]));
    assert_eq!(documents.skips, [0, 2]);
    assert!(reader.next(&mut refuse).unwrap().is_none());
}

#[test]
fn chosen_documents_keep_what_belongs_to_them() {
    let documents = Documents::of(&[b"a", b"", b"ccc"]);
    assert_eq!(documents.get(2), Some(&b"ccc"[..]));
    assert_eq!(documents.get(3), None);
    let chosen = documents.select(&[2, 0]).unwrap();
    assert_eq!((chosen.slices(), chosen.numbers.clone()), (vec![&b"ccc"[..], b"a"], vec![3, 1]));
    assert_eq!(chosen.digest(), add(&sha256(b"ccc"), &sha256(b"a")));
    assert_eq!(documents.select(&[3]), None);
}
