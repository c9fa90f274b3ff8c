//! Resuming from a position against reading from the start, for files of any number of members and frames.

use std::io::Write;

use proptest::prelude::*;
use tempfile::NamedTempFile;

use slmtok_core::Error;
use slmtok_core::corpus::{COMPRESSIONS, Compression, Documents, Format, Position, Reader, SeekPoint};

use crate::temp_file;

fn open(file: &NamedTempFile, compression: Compression, size: usize, start: Position) -> Reader {
    Reader::open(file.path(), compression, Format::Terminated(b"\n".to_vec()), size, start).unwrap()
}

fn rest_of(reader: &Reader) -> Result<Vec<Documents>, Error> {
    std::iter::from_fn(|| reader.next(&mut |_, _| unreachable!("lines need no fallback parser")).transpose()).collect()
}

/// A Zstandard frame or gzip member; `style` selects an encoder setting.
fn member(data: &[u8], compression: Compression, style: u8) -> Vec<u8> {
    match compression {
        Compression::Zst if style % 4 == 3 => {
            // A skippable frame.
            let size = (data.len() as u32 % 100).to_le_bytes();
            [vec![0x50 + style % 16, 0x2a, 0x4d, 0x18], size.to_vec(), vec![7; data.len() % 100]].concat()
        }
        Compression::Zst => {
            let mut encoder = zstd::Encoder::new(Vec::new(), 1 + i32::from(style % 3)).unwrap();
            encoder.include_contentsize(style.is_multiple_of(2)).unwrap();
            encoder.include_checksum(style % 3 == 1).unwrap();
            if style.is_multiple_of(2) {
                encoder.set_pledged_src_size(Some(data.len() as u64)).unwrap();
            }
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Gz => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(u32::from(style % 4)));
            encoder.write_all(data).unwrap();
            [encoder.finish().unwrap(), vec![0; usize::from(style % 5 == 4) * 600]].concat()
        }
        Compression::Xz => {
            let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 0);
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Plain => data.to_vec(),
    }
}

/// Text, and the same compressed in members of these sizes and styles.
fn file(parts: &[(Vec<u8>, u8)], compression: Compression) -> (Vec<u8>, Vec<u8>) {
    let holds = |style: &u8| compression != Compression::Zst || style % 4 != 3;
    let text = parts.iter().filter(|(_, style)| holds(style)).flat_map(|(text, _)| text.clone()).collect();
    (text, parts.iter().flat_map(|(text, style)| member(text, compression, *style)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn reading_resumes_at_any_position(
        parts in proptest::collection::vec(("[ab\n]{0,40}", any::<u8>()), 0..12),
        size in 1usize..60,
        which in 0..COMPRESSIONS.len(),
    ) {
        let compression = COMPRESSIONS[which].1;
        let parts: Vec<_> = parts.into_iter().map(|(text, style)| (text.into_bytes(), style)).collect();
        let (text, compressed) = file(&parts, compression);
        // An xz file has at least one stream.
        prop_assume!(compression != Compression::Xz || !parts.is_empty());
        let path = temp_file(&compressed);
        let whole = rest_of(&open(&path, compression, size, Position::START)).unwrap();
        let (_, plain) = file(&[(text.clone(), 0)], Compression::Plain);
        let plain = temp_file(&plain);
        let expected = rest_of(&open(&plain, Compression::Plain, size, Position::START)).unwrap();
        prop_assert_eq!(whole.iter().map(|chunk| (&chunk.bytes, &chunk.numbers, chunk.chunk)).collect::<Vec<_>>(),
            expected.iter().map(|chunk| (&chunk.bytes, &chunk.numbers, chunk.chunk)).collect::<Vec<_>>());
        for (number, chunk) in whole.iter().enumerate() {
            let later = rest_of(&open(&path, compression, size, Position::START).from_chunk(chunk.chunk)).unwrap();
            prop_assert_eq!(&later[..], &whole[number..]);
            for (start, first) in [(chunk.begin, number), (chunk.end, number + 1), (chunk.begin.without_seek(), number)] {
                let rest = rest_of(&open(&path, compression, size, start)).unwrap();
                // The seek point of a chunk may be the one that this read began at.
                let summary = |chunks: &[Documents]| -> Vec<_> {
                    chunks.iter().map(|chunk| (chunk.bytes.clone(), chunk.numbers.clone(), chunk.chunk, chunk.begin.offset)).collect()
                };
                prop_assert_eq!(summary(&rest), summary(&whole[first..]));
                for later in &rest {
                    let point = later.end.seek_point;
                    prop_assert!(point.uncompressed <= later.end.offset && point.compressed <= compressed.len() as u64);
                }
            }
        }
    }
}

/// 40 members of 10,000 bytes in lines of ten.
fn large(compression: Compression) -> (Vec<u8>, NamedTempFile) {
    let parts: Vec<_> = (0..40_u32)
        .map(|part| ((0..1000).flat_map(|n| format!("{:09}\n", part * 1000 + n).into_bytes()).collect(), 0))
        .collect();
    let (text, compressed) = file(&parts, compression);
    (text, temp_file(&compressed))
}

#[test]
fn bytes_before_the_seek_point_are_not_read() {
    for (name, compression, reach) in
        [("plain", Compression::Plain, 1 << 16), ("gz", Compression::Gz, 10_000), ("zst", Compression::Zst, 10_000)]
    {
        let (text, path) = large(compression);
        let chunks = rest_of(&open(&path, compression, 4096, Position::START)).unwrap();
        let mut compressed = std::fs::read(path.path()).unwrap();
        for chunk in &chunks[1..] {
            let (begin, point) = (chunk.begin, chunk.begin.seek_point);
            assert!(
                point.uncompressed <= begin.offset && begin.offset - point.uncompressed < reach + 4096,
                "{name}: {begin:?}"
            );
        }
        let last = chunks.last().unwrap();
        compressed[..last.begin.seek_point.compressed as usize].fill(0xee);
        std::fs::write(path.path(), &compressed).unwrap();
        let rest = rest_of(&open(&path, compression, 4096, last.begin)).unwrap();
        assert!(rest.iter().eq([last]), "{name}");
        assert!(
            text.ends_with(last.slices().last().unwrap().iter().chain(b"\n").copied().collect::<Vec<_>>().as_slice())
        );
    }
}

#[test]
fn a_file_that_became_shorter_is_damaged_in_every_call() {
    let (_, path) = large(Compression::Zst);
    let chunks = rest_of(&open(&path, Compression::Zst, 4096, Position::START)).unwrap();
    let compressed = std::fs::read(path.path()).unwrap();
    let begin = chunks[50].begin;
    let reader = |data: &[u8], start| {
        std::fs::write(path.path(), data).unwrap();
        open(&path, Compression::Zst, 4096, start)
    };
    for (data, start) in [
        (&compressed[..begin.seek_point.compressed as usize], begin),
        (&compressed[..begin.seek_point.compressed as usize + 50], begin),
        (&compressed[..chunks[20].begin.seek_point.compressed as usize], begin.without_seek()),
    ] {
        let reader = reader(data, start);
        for _ in 0..2 {
            assert!(matches!(rest_of(&reader), Err(Error::Damaged { .. })));
        }
    }
    let not_a_seek_point = SeekPoint { compressed: begin.seek_point.compressed + 3, ..begin.seek_point };
    let shifted = Position { seek_point: not_a_seek_point, ..begin };
    assert!(matches!(rest_of(&reader(&compressed, shifted)), Err(Error::Damaged { .. })));
    assert_eq!(rest_of(&reader(&compressed, chunks.last().unwrap().end)).unwrap(), []);
}
