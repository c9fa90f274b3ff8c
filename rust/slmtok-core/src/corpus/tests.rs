//! Chunks, compressions and readers against reference implementations.

use std::io::Write;

use proptest::prelude::*;

use super::*;
use crate::Error;

/// The chunks of `data` read as lines: number, first line, bytes.
fn chunks_of(data: &[u8], size: usize) -> Vec<(u64, u64, Vec<u8>)> {
    let source = std::io::Cursor::new(data.to_vec());
    let reader = Reader::stream(source, "data", Compression::Plain, line_format(), size, Position::START).unwrap();
    let mut found: Vec<(u64, u64, Vec<u8>)> = Vec::new();
    while let Some(documents) = reader.next(&mut refuse).unwrap() {
        let mut text = documents.slices().join(&b'\n');
        text.resize((documents.end.offset - documents.begin.offset) as usize, b'\n');
        found.push((documents.chunk, documents.begin.line, text));
    }
    found
}

/// The reference: line by line.
fn reference_chunks(data: &[u8], size: usize) -> Vec<(u64, u64, Vec<u8>)> {
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
    fn chunks_hold_the_lines_that_begin_in_them(data in "[ab\n]{0,80}", size in 1usize..20) {
        prop_assert_eq!(chunks_of(data.as_bytes(), size), reference_chunks(data.as_bytes(), size));
    }
}

#[test]
fn positions_that_contradict_themselves_are_refused() {
    let (largest, at) = (i64::MAX as u64, |uncompressed| SeekPoint { compressed: 9, uncompressed });
    assert_eq!(Position::new(0, 1, SeekPoint::default()), Some(Position::START));
    assert!(Position::new(5, 3, at(5)).is_some() && Position::new(5, 3, at(6)).is_none());
    assert!(Position::new(5, 0, at(5)).is_none());
    assert!(Position::new(largest, largest, at(0)).is_some());
    assert!(Position::new(largest + 1, 1, at(0)).is_none() && Position::new(0, largest + 1, at(0)).is_none());
}

fn line_format() -> Format {
    Format::Terminated(b"\n".to_vec())
}

fn refuse(line: &[u8], number: u64) -> crate::Result<Parsed> {
    panic!("line {number} went to the fallback parser: {line:?}")
}

fn read(data: &[u8], compression: Compression, format: Format) -> crate::Result<Vec<Vec<u8>>> {
    let reader = Reader::stream(std::io::Cursor::new(data.to_vec()), "data", compression, format, 64, Position::START)?;
    let mut found = Vec::new();
    while let Some(documents) = reader.next(&mut refuse)? {
        assert_eq!(documents.digests(), documents.slices().iter().map(|text| sha256(text)).collect::<Vec<_>>());
        found.extend(documents.slices().iter().map(|text| text.to_vec()));
    }
    Ok(found)
}

fn compressed(data: &[u8], compression: Compression) -> Vec<u8> {
    match compression {
        Compression::Plain => data.to_vec(),
        Compression::Gz => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Zst => zstd::encode_all(data, 1).unwrap(),
        Compression::Xz => {
            let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap()
        }
    }
}

#[test]
fn compressed_files_of_one_or_two_members_give_their_lines() {
    let lines: Vec<Vec<u8>> = (0..500_u32).map(|n| n.to_string().repeat(n as usize % 7).into_bytes()).collect();
    let data = lines.join(&b'\n');
    for (name, compression) in COMPRESSIONS {
        assert_eq!(read(&compressed(&data, compression), compression, line_format()).unwrap(), lines, "{name}");
        let (front, back) = data.split_at(700);
        let two = [compressed(front, compression), compressed(back, compression)].concat();
        assert_eq!(read(&two, compression, line_format()).unwrap(), lines, "{name} in two parts");
    }
    let padded = [compressed(&data, Compression::Gz), vec![0; 300_000]].concat();
    assert_eq!(read(&padded, Compression::Gz, line_format()).unwrap(), lines);
}

#[test]
fn a_truncated_file_is_an_error_wherever_it_ends() {
    let data: Vec<u8> = (0..2000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    for (name, compression) in COMPRESSIONS.into_iter().skip(1) {
        let whole = compressed(&data, compression);
        for end in (1..whole.len()).step_by(97).chain([whole.len() - 1]) {
            match read(&whole[..end], compression, line_format()) {
                Err(Error::Damaged { path, .. }) => assert_eq!(path, "data"),
                other => panic!("{name} cut at {end} of {}: {:?}", whole.len(), other.map(|lines| lines.len())),
            }
        }
        let mut garbage = whole.clone();
        garbage.extend_from_slice(b"not compressed at all");
        assert!(matches!(read(&garbage, compression, line_format()), Err(Error::Damaged { .. })), "{name}");
    }
}

#[test]
fn an_error_names_the_end_of_the_last_whole_member() {
    for (name, compression) in COMPRESSIONS.into_iter().skip(1) {
        let whole = compressed(b"text", compression);
        for garbage in [&b"not compressed at all"[..], b"n", b"PK"] {
            match read(&[&whole, garbage].concat(), compression, line_format()) {
                Err(Error::Damaged { reason: Some(reason), .. }) => {
                    assert!(reason.contains(&format!("ends before byte {}, ", whole.len())), "{name}: {reason}");
                }
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}

#[test]
fn xz_headers_cannot_request_unlimited_memory() {
    let mut file = compressed(b"text", Compression::Xz);
    // Behind the stream header stands the block header: 12 bytes, one filter (LZMA2), whose one property is the dictionary size.
    assert_eq!(file[12..16], [2, 0, 0x21, 1]);
    for (property, fits) in [(22, true), (30, true), (31, false), (37, false), (40, false)] {
        file[16] = property;
        let mut crc = flate2::Crc::new();
        crc.update(&file[12..20]);
        file[20..24].copy_from_slice(&crc.sum().to_le_bytes());
        match read(&file, Compression::Xz, line_format()) {
            Ok(lines) => assert!(fits && lines == [b"text"]),
            Err(error) => assert!(!fits && error.to_string().contains("memory limit"), "{property}: {error}"),
        }
    }
    let older_format = [&[0x5D, 0, 0, 0, 4][..], &[0xFF; 8], &[0; 20]].concat();
    assert!(matches!(read(&older_format, Compression::Xz, line_format()), Err(Error::Damaged { .. })));
}

#[test]
fn records_give_their_text() {
    let data = concat!(
        "{\"text\": \"a\\n\\u00e9\\ud83d\\ude00\\\\\\\"\\/\\b\\f\\r\\t\"}\n",
        "  \t\n",
        "{\"id\": [1, -2.5e+3, {\"text\": \"no\"}, [], {}], \"text\":\"first\", \"text\" : \"äöü中\" , \"n\": null}\r\n",
        "{\"text\":\"\"}",
    );
    let format = Format::Json { key: Some(b"text".to_vec()) };
    let found = read(data.as_bytes(), Compression::Plain, format).unwrap();
    assert_eq!(found, ["a\né😀\\\"/\u{8}\u{c}\r\t", "äöü中", ""].map(|text| text.as_bytes().to_vec()));
}

#[test]
fn the_fallback_parser_gets_line_and_number() {
    let lines = ["{\"text\": 1}\n", "{\"text\": \"ok\"}\n", "\n", "[]\n", "{\"text\": \"\\ud800\"}"];
    let source = std::io::Cursor::new(lines.concat().into_bytes());
    let format = Format::Json { key: Some(b"text".to_vec()) };
    let reader = Reader::stream(source, "data", Compression::Plain, format, 1 << 20, Position::START).unwrap();
    let mut requested = Vec::new();
    let mut fallback = |line: &[u8], number: u64| {
        requested.push((String::from_utf8(line.to_vec()).unwrap(), number));
        Ok(if number == 4 { Parsed::Document(b"parsed".to_vec()) } else { Parsed::Skipped })
    };
    let documents = reader.next(&mut fallback).unwrap().unwrap();
    assert_eq!(requested, [(lines[0].to_owned(), 1), (lines[3].to_owned(), 4), (lines[4].to_owned(), 5)]);
    assert_eq!((documents.slices(), documents.numbers.clone()), (vec![&b"ok"[..], b"parsed"], vec![2, 4]));
    assert_eq!(documents.skips, [0, 2]);
    assert!(reader.next(&mut refuse).unwrap().is_none());
}

/// The bytes and offsets of a column.
type Column<'a> = (&'a [u8], &'a [i64]);

/// Cuts of "abcdef" at `offsets`, alone and behind another column.
fn columns_at(offsets: &[i64]) -> Option<Documents> {
    let before: Column<'_> = (b"-x-", &[1, 2]);
    let alone = Documents::of_columns(&[(b"abcdef", offsets)]).unwrap();
    let second = Documents::of_columns(&[before, (b"abcdef", offsets)]).unwrap();
    assert_eq!(alone.as_ref().map(|alone| alone.len() + 1), second.as_ref().map(Documents::len));
    assert!(second.is_none_or(|second| second.slices()[0] == b"x"));
    alone
}

#[test]
fn documents_of_columns_are_those_of_their_texts() {
    let (first, second): (Column<'_>, Column<'_>) = ((b"--abc-", &[2, 3, 3, 5]), (b"xyz", &[0, 3]));
    let joined = Documents::of_columns(&[first, (b"unused", &[4]), second]).unwrap().unwrap();
    assert!(!joined.is_hashed());
    assert_eq!(joined, Documents::of(&[b"a", b"", b"bc", b"xyz"]).unwrap());
    assert_eq!(Documents::of_columns(&[]).unwrap(), Some(Documents::of(&[]).unwrap()));
    for wrong in [&[][..], &[-1, 2], &[0, 7], &[3, 2], &[0, 5, 4, 6], &[7], &[0, i64::MAX], &[i64::MIN, 0]] {
        assert_eq!(columns_at(wrong), None, "{wrong:?}");
    }
}

proptest! {
    #[test]
    fn offsets_of_columns_are_ascending_positions(offsets in prop::collection::vec(-1i64..8, 0..5)) {
        let is_valid = !offsets.is_empty() && offsets.is_sorted() && offsets.iter().all(|at| (0..=6).contains(at));
        let cut = |ends: &[i64]| b"abcdef"[ends[0] as usize..ends[1] as usize].to_vec();
        let wanted = is_valid.then(|| offsets.windows(2).map(cut).collect::<Vec<_>>());
        let found = columns_at(&offsets);
        prop_assert_eq!(found.map(|found| found.slices().iter().map(|text| text.to_vec()).collect::<Vec<_>>()), wanted);
    }
}

#[test]
fn selected_documents_keep_their_digests_and_numbers() {
    let documents = Documents::of(&[b"a", b"", b"ccc"]).unwrap();
    assert_eq!(documents.get(2), Some(&b"ccc"[..]));
    assert_eq!(documents.get(3), None);
    let chosen = documents.select(&[2, 0]).unwrap();
    assert_eq!((chosen.slices(), chosen.numbers.clone()), (vec![&b"ccc"[..], b"a"], vec![3, 1]));
    assert_eq!(chosen.digest(), add(&sha256(b"ccc"), &sha256(b"a")));
    assert_eq!(documents.select(&[3]), None);
}

/// Documents of a whole file, joined from its parts: text, size, digest.
fn whole(data: &[u8], size: usize) -> Vec<(Vec<u8>, i64, Digest)> {
    let source = std::io::Cursor::new(data.to_vec());
    let reader = Reader::stream(source, "data", Compression::Plain, Format::Whole, size, Position::START).unwrap();
    let (mut found, mut text) = (Vec::new(), Vec::new());
    while let Some(part) = reader.next(&mut refuse).unwrap() {
        assert_eq!(part.continued, text.len() as u64);
        text.extend_from_slice(&part.bytes);
        assert_eq!(part.partial, part.is_empty());
        for (size, digest) in part.sizes().into_iter().zip(part.digests()) {
            found.push((std::mem::take(&mut text), size, *digest));
        }
    }
    found
}

/// The pieces of `data` between terminators, found one after another.
fn split(data: &[u8], terminator: &[u8]) -> Vec<Vec<u8>> {
    let (mut found, mut start) = (Vec::new(), 0);
    for at in 0..data.len() {
        if at >= start && data[at..].starts_with(terminator) {
            found.push(data[start..at].to_vec());
            start = at + terminator.len();
        }
    }
    found.extend((start < data.len()).then(|| data[start..].to_vec()));
    found
}

proptest! {
    #[test]
    fn a_whole_file_is_one_document_in_parts_of_any_size(data in "[ab\n]{0,40}", size in 1usize..50) {
        let data = data.as_bytes();
        prop_assert_eq!(whole(data, size), [(data.to_vec(), data.len() as i64, sha256(data))]);
        prop_assert_eq!(whole(data, usize::MAX), whole(data, size));
    }

    #[test]
    fn terminators_of_any_length_split_a_file(data in "[ab]{0,60}", terminator in "[ab]{1,3}", size in 1usize..20) {
        let format = Format::Terminated(terminator.clone().into_bytes());
        let source = std::io::Cursor::new(data.clone().into_bytes());
        let reader = Reader::stream(source, "data", Compression::Plain, format, size, Position::START).unwrap();
        let (mut found, mut numbers) = (Vec::new(), Vec::new());
        while let Some(documents) = reader.next(&mut refuse).unwrap() {
            prop_assert_eq!(documents.begin.offset / size as u64, documents.chunk);
            found.extend(documents.slices().iter().map(|text| text.to_vec()));
            numbers.extend(documents.numbers);
        }
        prop_assert_eq!(&found, &split(data.as_bytes(), terminator.as_bytes()));
        prop_assert!(numbers.into_iter().eq(1..=found.len() as i64));
    }
}

#[test]
fn every_record_without_a_key_goes_to_the_fallback_parser() {
    let data = "a\tb\n\r\n\n \n{}";
    for (format, expected) in [(Format::Records, vec![1, 2, 3, 4, 5]), (Format::Json { key: None }, vec![1, 5])] {
        let source = std::io::Cursor::new(data.as_bytes().to_vec());
        let reader = Reader::stream(source, "data", Compression::Plain, format, 1 << 20, Position::START).unwrap();
        let mut numbers = Vec::new();
        let mut fallback = |_: &[u8], number| {
            numbers.push(number);
            match number {
                5 => Err(Error::Interrupted),
                2 => Ok(Parsed::Ignored),
                _ => Ok(Parsed::Document(b"x".to_vec())),
            }
        };
        let chunk = reader.next_chunk().unwrap().unwrap();
        let mut parsed = Documents::with_capacity(0, 0);
        assert!(reader.parse(chunk, &mut fallback, &mut parsed).is_err());
        let before = expected.iter().filter(|&&number| number != 2 && number != 5).count();
        assert_eq!((parsed.len(), numbers), (before, expected), "the documents before the error are there");
    }
}

#[test]
fn documents_above_the_limit_are_errors_with_file_and_line() {
    let read = |data: &str, format: Format, limit: usize, size: usize| -> crate::Result<usize> {
        let source = std::io::Cursor::new(data.as_bytes().to_vec());
        let reader = Reader::stream(source, "data", Compression::Plain, format, size, Position::START)?;
        let (reader, mut found) = (reader.with_max_doc_bytes(limit)?, 0);
        while let Some(documents) = reader.next(&mut refuse)? {
            found += documents.len();
        }
        Ok(found)
    };
    let json = Format::Json { key: Some(b"text".to_vec()) };
    let records = "{\"text\":\"a\"}\n{\"text\":\"bcdefghij\"}\n";
    let long = format!("a\n\nb\n{}\nc\n", "x".repeat(300_000));
    for size in [7, 100, 1 << 20] {
        assert_eq!(read(&long, line_format(), 300_000, size), Ok(5));
        let error = read(&long, line_format(), 90_000, size).unwrap_err();
        assert_eq!(error, Error::DocumentTooLarge { place: Some("data, line 4".to_owned()), limit: 90_000 }, "{size}");
        assert_eq!(read(records, json.clone(), 20, size), Ok(2));
        let error = read(records, json.clone(), 19, size).unwrap_err();
        assert_eq!(error, Error::DocumentTooLarge { place: Some("data, line 2".to_owned()), limit: 19 }, "{size}");
        assert_eq!(read(&long, Format::Whole, 10, size), Ok(1), "parts of a whole file are not limited");
    }
}

#[test]
fn an_endless_line_is_read_only_up_to_the_limit() {
    let source = std::io::repeat(b'a');
    let reader =
        Reader::stream(source, "/dev/endless", Compression::Plain, line_format(), 64, Position::START).unwrap();
    let reader = reader.with_max_doc_bytes(1 << 20).unwrap();
    match reader.next(&mut refuse) {
        Err(Error::DocumentTooLarge { place, .. }) => assert_eq!(place.as_deref(), Some("/dev/endless, line 1")),
        other => panic!("{:?}", other.map(|documents| documents.map(|documents| documents.len()))),
    }
    assert!(reader.bytes_read() < 2 << 20);
}

#[test]
fn reading_is_interrupted_where_a_compressed_file_holds_nothing_and_goes_on_later() {
    for compression in [Compression::Gz, Compression::Zst, Compression::Xz] {
        let data = [compressed(b"", compression).repeat(1000), compressed(b"text", compression)].concat();
        let source = std::io::Cursor::new(data);
        let reader = Reader::stream(source, "data", compression, Format::Whole, 1 << 20, Position::START).unwrap();
        let interrupt = crate::interrupt::Interrupt::default();
        interrupt.request();
        let stopped = interrupt.scope(|| reader.next_chunk());
        assert_eq!(stopped.err(), Some(Error::Interrupted), "{compression:?}");
        let documents = reader.next(&mut refuse).unwrap().unwrap();
        assert_eq!(documents.bytes, b"text", "{compression:?}");
    }
}

#[test]
fn a_chunk_of_many_documents_comes_in_parts_from_which_reading_resumes() {
    let (size, number) = (100_000, 300_001);
    let mut data = b"\n".repeat(number);
    data.extend_from_slice(b"last");
    for (front, compression) in [(0, Compression::Plain), (150_000, Compression::Gz), (70_000, Compression::Zst)] {
        // Two members: the second one begins inside a chunk.
        let (front, back) = data.split_at(front);
        let file = [compressed(front, compression), compressed(back, compression)].concat();
        let mut named = tempfile::NamedTempFile::new().unwrap();
        named.write_all(&file).unwrap();
        let open = |start| Reader::open(named.path(), compression, line_format(), size, start).unwrap();
        let reader = open(Position::START);
        let (mut lines, mut parts) = (0, Vec::new());
        while let Some(part) = reader.next(&mut refuse).unwrap() {
            assert!(part.len() <= chunks::MAX_PART_DOCUMENTS);
            assert_eq!((part.begin.line, part.begin.offset), (lines + 1, lines));
            assert_eq!(part.chunk, part.begin.offset / size as u64);
            lines += part.len() as u64;
            parts.push(part);
        }
        assert_eq!((lines, parts.last().unwrap().get(0)), (number as u64 + 1, Some(&b""[..])), "{compression:?}");
        assert_eq!(parts.iter().map(|part| part.chunk).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2, 3], "{compression:?}");
        for pair in parts.windows(2) {
            assert_eq!(pair[0].end, pair[1].begin);
            assert!(pair[0].end.seek_point.uncompressed <= pair[0].end.offset);
            assert_eq!(open(pair[0].end).next(&mut refuse).unwrap().as_ref(), Some(&pair[1]), "{compression:?}");
        }
    }
}
