//! The whole encoding path, with caches and threads, against the reference implementation on each piece.

use proptest::prelude::*;
use slmtok_core::Error;
use slmtok_core::decode::Decoder;
use slmtok_core::encode::{Encoder, FileOptions, Frame};
use slmtok_core::file_blocks::DocumentUnit;
use slmtok_core::merge::pair_table::PairTable;
use slmtok_core::merge::reference::merge_by_definition;
use slmtok_core::merges::Merges;
use slmtok_core::parallel::no_progress;
use slmtok_core::pretoken::{Pattern, names};
use slmtok_core::train::{Options, TieBreak, train};

use crate::{count, encoder, pieces};

const FIRST_ID: u32 = 16;

fn learned(pattern: &Pattern, texts: &[&[u8]], n: u32) -> Merges {
    let options = Options::new(n, TieBreak::Rank, 1);
    Merges::new(train(&count(pattern, texts), &options, &mut |_, _| Ok(())).unwrap().merges).unwrap()
}

const SPECIALS: [(u32, &[u8]); 2] = [(1, b"<s>"), (2, b"</s>")];

fn by_definition(pattern: &Pattern, merges: &Merges, text: &[u8]) -> Vec<u16> {
    let pairs = PairTable::new(merges);
    let ids = pieces(pattern, text).into_iter().flat_map(|piece| merge_by_definition(&pairs, piece));
    ids.map(|id| (id + FIRST_ID) as u16).collect()
}

fn texts() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let letters = "[a-c A-B0-9'\n\t.ñ中文😀]{0,120}".prop_map(String::into_bytes);
    let noise = prop::collection::vec(any::<u8>(), 0..60);
    let run = (any::<u8>(), 1usize..400).prop_map(|(byte, n)| vec![byte; n]);
    prop::collection::vec(prop_oneof![letters, noise, run], 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn encoding_equals_the_definition_and_decodes(texts in texts(), n in 0u32..120, pattern in 0usize..6, threads in 1usize..4) {
        let name = names()[pattern];
        let pattern = Pattern::new(name).unwrap();
        let slices: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        let merges = learned(&pattern, &slices, n);
        let encoder = encoder(name, &merges, FIRST_ID, &SPECIALS);
        let decoder = Decoder::new(&encoder).unwrap();
        let batch = encoder.encode_batch::<u16>(&slices, threads, Frame::default(), &mut no_progress).unwrap();
        for (text, bounds) in texts.iter().zip(batch.offsets.windows(2)) {
            let want = by_definition(&pattern, &merges, text);
            prop_assert_eq!(&encoder.encode::<u16>(text).unwrap(), &want);
            prop_assert_eq!(&batch.ids[bounds[0] as usize..bounds[1] as usize], &want[..]);
            prop_assert_eq!(&decoder.decode(&want).unwrap(), text);
        }
        let counts = encoder.count_batch::<u16>(&slices, threads, &mut no_progress).unwrap();
        prop_assert_eq!(counts, batch.offsets.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>());
    }
}

/// Long enough for several spans and batches.
fn long_text() -> Vec<u8> {
    let line =
        "The quick brown fox's 12345 jumps — über den faulen Hund; 速い茶色の狐。\n  indented\t\tcode();\r\n\r\n";
    let prefix = |n: u32| line.chars().take(20 + n as usize % 60).collect::<String>();
    (0..60_000u32).flat_map(|n| format!("{n} {}", prefix(n)).into_bytes()).collect()
}

#[test]
fn ids_of_a_huge_document_do_not_depend_on_threads() {
    let text = long_text();
    assert!(text.len() > 3 << 20);
    for name in names() {
        let pattern = Pattern::new(name).unwrap();
        let encoder = encoder(name, &learned(&pattern, &[&text[..20_000]], 200), FIRST_ID, &SPECIALS);
        let frame = Frame { bos: Some(1), eos: Some(2) };
        let documents: [&[u8]; 3] = [&text, b"", &text[..100]];
        let one = encoder.encode_batch::<u16>(&documents, 1, frame, &mut no_progress).unwrap();
        let three = encoder.encode_batch::<u16>(&documents, 3, frame, &mut no_progress).unwrap();
        assert_eq!(one, three, "{name}");
        let mut alone = vec![1];
        alone.extend(encoder.encode::<u16>(&text).unwrap());
        alone.push(2);
        assert_eq!(one.ids[..one.offsets[1] as usize], alone, "{name}");
        assert_eq!(one.ids[one.offsets[1] as usize..one.offsets[2] as usize], [1, 2], "{name}");
    }
}

#[test]
fn encode_files_writes_the_ids_of_the_documents() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (first, second, out) = (path("a.txt"), path("b.txt"), path("ids.bin"));
    let text = long_text();
    std::fs::write(&first, &text).unwrap();
    std::fs::write(&second, b"short\nlines\n").unwrap();
    let pattern = Pattern::new("slm").unwrap();
    let encoder = encoder("slm", &learned(&pattern, &[&text[..20_000]], 200), FIRST_ID, &SPECIALS);
    let options = FileOptions { threads: 2, ..FileOptions::new(DocumentUnit::File) };
    let paths = [first, second];
    let offsets = encoder.encode_files::<u16>(&paths, &out, options, &mut no_progress).unwrap();
    let batch =
        encoder.encode_batch::<u16>(&[&text, b"short\nlines\n"], 1, Frame::default(), &mut no_progress).unwrap();
    assert_eq!(offsets, batch.offsets);
    let bytes: Vec<u8> = batch.ids.iter().flat_map(|id| id.to_le_bytes()).collect();
    assert!(std::fs::read(&out).unwrap() == bytes);
    let again = encoder.encode_files::<u16>(&paths, &out, options, &mut no_progress);
    assert!(matches!(again, Err(Error::Io { .. })), "an existing file is not overwritten");
    let missing = [paths[0].clone(), path("missing.txt")];
    let failed = encoder.encode_files::<u16>(&missing, &path("no.bin"), options, &mut no_progress);
    assert!(failed.is_err() && !folder.path().join("no.bin").exists(), "a failed run leaves no file");
}

#[test]
fn encode_files_reads_in_blocks_of_any_size() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: String| folder.path().join(name).to_str().unwrap().to_owned();
    let text = [&long_text()[..], "naïve 今天 \n\n  last\nline".as_bytes()].concat();
    let (whole, empty) = (path("a.txt".to_owned()), path("empty.txt".to_owned()));
    std::fs::write(&whole, &text).unwrap();
    std::fs::write(&empty, b"").unwrap();
    let encoder = encoder("slm", &learned(&Pattern::new("slm").unwrap(), &[&text[..20_000]], 200), FIRST_ID, &SPECIALS);
    let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    let frame = Frame { bos: Some(SPECIALS[0].0), eos: Some(SPECIALS[1].0) };
    for (unit, documents) in [(DocumentUnit::File, vec![&b""[..], &text, b""]), (DocumentUnit::Line, lines)] {
        let want = encoder.encode_batch::<u16>(&documents, 1, frame, &mut no_progress).unwrap();
        let bytes: Vec<u8> = want.ids.iter().flat_map(|id| id.to_le_bytes()).collect();
        for block_bytes in [997, 5000, 1 << 20] {
            let options = FileOptions { frame, block_bytes, threads: 2, ..FileOptions::new(unit) };
            let out = path(format!("{unit:?}-{block_bytes}.bin"));
            let files = [empty.clone(), whole.clone(), empty.clone()];
            let offsets = encoder.encode_files::<u16>(&files, &out, options, &mut no_progress).unwrap();
            assert_eq!(offsets, want.offsets, "{unit:?} in blocks of {block_bytes}");
            assert!(std::fs::read(&out).unwrap() == bytes);
        }
        let options = FileOptions { block_bytes: 100, max_doc_bytes: 3, ..FileOptions::new(unit) };
        let failed = encoder.encode_files::<u16>(
            std::slice::from_ref(&whole),
            &path("no.bin".to_owned()),
            options,
            &mut no_progress,
        );
        assert!(matches!(failed, Err(Error::DocumentTooLarge { place: Some(_), limit: 3 })), "{failed:?}");
    }
}

#[test]
fn lookup_returns_a_token_or_bytes() {
    let pattern = Pattern::new("word").unwrap();
    let public_ids = (0..258).map(|id| id + FIRST_ID).collect();
    let encoder = Encoder::from_tokens(pattern, &[b"Hello", b"  "], public_ids, Vec::new()).unwrap();
    assert_eq!(encoder.encode::<u16>(b"Hello  you").unwrap(), [272, 273, 121 + 16, 111 + 16, 117 + 16]);
    assert_eq!(encoder.halves(272), None);
}

#[test]
fn a_non_emitting_merge_is_never_returned() {
    let pattern = Pattern::new("whole").unwrap();
    let merges = Merges::new(vec![(97, 98), (256, 99), (257, 257)]).unwrap();
    // "ab" has the id of a special; "abc" and "abcabc" have their own.
    let public_ids = (0..256).map(|id| id + FIRST_ID).chain([1, 272, 273]).collect();
    let specials = vec![(1, b"ab".to_vec())];
    let encoder = Encoder::from_merges(pattern, merges, public_ids, specials, vec![256]).unwrap();
    assert_eq!(encoder.encode::<u16>(b"abxabcabcabc").unwrap(), [113, 114, 136, 273, 272]);
    assert_eq!((encoder.halves(272), encoder.halves(273)), (None, Some((272, 272))));
}

#[test]
fn invalid_ids_are_errors() {
    let pattern = Pattern::new("whole").unwrap();
    let merges = || Merges::new(vec![(97, 98)]).unwrap();
    let encoder = |public_ids: Vec<u32>, specials| {
        Encoder::from_merges(pattern.clone(), merges(), public_ids, specials, Vec::new())
    };
    let plain: Vec<u32> = (0..257).collect();
    assert!(encoder(plain[..256].to_vec(), Vec::new()).is_err(), "one id is missing");
    assert!(encoder(plain.iter().map(|id| id % 256).collect(), Vec::new()).is_err(), "an id repeats");
    assert!(encoder(plain.clone(), vec![(7, b"<s>".to_vec())]).is_err(), "a special's id is taken");
    assert!(encoder(plain.iter().map(|id| id + (1 << 30)).collect(), Vec::new()).is_err(), "ids are huge");
    assert!(
        encoder(plain.clone(), vec![(900, b"a".to_vec()), (900, b"b".to_vec())]).is_err(),
        "a special's id repeats"
    );
    for id in [97, 257, 99_999] {
        let outcome = Encoder::from_merges(pattern.clone(), merges(), plain.clone(), Vec::new(), vec![id]);
        assert!(outcome.is_err(), "{id} is not the id of a merge");
    }
    let encoder = encoder(plain, Vec::new()).unwrap();
    let frame = Frame { bos: Some(9999), eos: None };
    let refused = encoder.encode_batch::<u16>(&[b"a"], 1, frame, &mut no_progress);
    assert!(matches!(refused, Err(Error::UnknownId { id: 9999, .. })));
    let decoder = Decoder::new(&encoder).unwrap();
    assert!(matches!(decoder.decode(&[97i64, -1]), Err(Error::UnknownId { id: -1, position: 1, .. })));
    assert!(decoder.decode_documents(&[97u16, 98], &[0, 2, 1], 1).is_err());
    assert_eq!(decoder.decode_documents(&[97u16, 98], &[0, 1, 1, 2], 2).unwrap(), [&b"a"[..], b"", b"b"]);
}

#[test]
fn an_error_of_report_ends_the_work() {
    let text = long_text();
    let encoder = encoder("slm", &Merges::new(Vec::new()).unwrap(), FIRST_ID, &SPECIALS);
    for threads in [1, 2] {
        let stopped =
            encoder.encode_batch::<u16>(&[&text], threads, Frame::default(), &mut |_| Err(Error::Interrupted));
        assert_eq!(stopped.unwrap_err(), Error::Interrupted);
    }
    assert_eq!(encoder.encode::<u16>(b"ab").unwrap(), [113, 114], "the encoder is usable after an error");
}
