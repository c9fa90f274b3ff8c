//! Reading from a place on against reading from the start, for files in parts of any size, and what is unpacked for it.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::io::Write;
use std::path::PathBuf;

use proptest::prelude::*;

use slmtok_core::Error;
use slmtok_core::corpus::{Border, Documents, Kind, PACKINGS, Packing, Place, Reader};

/// A file that goes with the value.
struct Temporary(PathBuf);

impl Temporary {
    fn new(data: &[u8]) -> Self {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("slmtok-places-{}-{number}", std::process::id()));
        std::fs::write(&path, data).unwrap();
        Self(path)
    }

    fn open(&self, packing: Packing, size: usize, start: Place) -> Reader {
        Reader::open(self.0.to_str().unwrap(), packing, Kind::Lines, size, start).unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn rest_of(reader: &Reader) -> Result<Vec<Documents>, Error> {
    std::iter::from_fn(|| reader.next(&mut |_, _| unreachable!("lines are not judged")).transpose()).collect()
}

/// A frame of Zstandard or a member of gzip; `style` chooses among what encoders write.
fn part(data: &[u8], packing: Packing, style: u8) -> Vec<u8> {
    match packing {
        Packing::Zst if style % 4 == 3 => {
            // A frame without text, which all decoders skip.
            let size = (data.len() as u32 % 100).to_le_bytes();
            [vec![0x50 + style % 16, 0x2a, 0x4d, 0x18], size.to_vec(), vec![7; data.len() % 100]].concat()
        }
        Packing::Zst => {
            let mut encoder = zstd::Encoder::new(Vec::new(), 1 + i32::from(style % 3)).unwrap();
            encoder.include_contentsize(style.is_multiple_of(2)).unwrap();
            encoder.include_checksum(style % 3 == 1).unwrap();
            if style.is_multiple_of(2) {
                encoder.set_pledged_src_size(Some(data.len() as u64)).unwrap();
            }
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap()
        }
        Packing::Gz => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(u32::from(style % 4)));
            encoder.write_all(data).unwrap();
            [encoder.finish().unwrap(), vec![0; usize::from(style % 5 == 4) * 600]].concat()
        }
        Packing::Xz => {
            let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 0);
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap()
        }
        Packing::Plain => data.to_vec(),
    }
}

/// Text, and the same packed in parts of these sizes and styles.
fn file(parts: &[(Vec<u8>, u8)], packing: Packing) -> (Vec<u8>, Vec<u8>) {
    let holds = |style: &u8| packing != Packing::Zst || style % 4 != 3;
    let text = parts.iter().filter(|(_, style)| holds(style)).flat_map(|(text, _)| text.clone()).collect();
    (text, parts.iter().flat_map(|(text, style)| part(text, packing, *style)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn the_rest_from_any_place_is_the_rest_of_the_whole(
        parts in proptest::collection::vec(("[ab\n]{0,40}", any::<u8>()), 0..12),
        size in 1usize..60,
        which in 0..PACKINGS.len(),
    ) {
        let packing = PACKINGS[which].1;
        let parts: Vec<_> = parts.into_iter().map(|(text, style)| (text.into_bytes(), style)).collect();
        let (text, packed) = file(&parts, packing);
        // A file of xz has a stream, if an empty one.
        prop_assume!(packing != Packing::Xz || !parts.is_empty());
        let place = Temporary::new(&packed);
        let whole = rest_of(&place.open(packing, size, Place::START)).unwrap();
        let (_, plain) = file(&[(text.clone(), 0)], Packing::Plain);
        let plain = Temporary::new(&plain);
        let twin = rest_of(&plain.open(Packing::Plain, size, Place::START)).unwrap();
        prop_assert_eq!(whole.iter().map(|unit| (&unit.bytes, &unit.numbers, unit.unit)).collect::<Vec<_>>(),
            twin.iter().map(|unit| (&unit.bytes, &unit.numbers, unit.unit)).collect::<Vec<_>>());
        for (number, unit) in whole.iter().enumerate() {
            let later = rest_of(&place.open(packing, size, Place::START).from_unit(unit.unit)).unwrap();
            prop_assert_eq!(&later[..], &whole[number..]);
            for (start, first) in [(unit.begin, number), (unit.behind, number + 1), (unit.begin.from_the_start(), number)] {
                let rest = rest_of(&place.open(packing, size, start)).unwrap();
                // The border that a unit comes with may be the one that was leapt to, where no other is known.
                let told = |units: &[Documents]| -> Vec<_> {
                    units.iter().map(|unit| (unit.bytes.clone(), unit.numbers.clone(), unit.unit, unit.begin.offset)).collect()
                };
                prop_assert_eq!(told(&rest), told(&whole[first..]));
                for later in &rest {
                    let border = later.behind.border;
                    prop_assert!(border.unpacked <= later.behind.offset && border.packed <= packed.len() as u64);
                }
            }
        }
    }
}

/// 40 parts of 10,000 bytes in lines of ten.
fn large(packing: Packing) -> (Vec<u8>, Temporary) {
    let parts: Vec<_> = (0..40_u32)
        .map(|part| ((0..1000).flat_map(|n| format!("{:09}\n", part * 1000 + n).into_bytes()).collect(), 0))
        .collect();
    let (text, packed) = file(&parts, packing);
    (text, Temporary::new(&packed))
}

#[test]
fn what_lies_before_the_border_is_not_read() {
    for (name, packing, reach) in
        [("plain", Packing::Plain, 1 << 16), ("gz", Packing::Gz, 10_000), ("zst", Packing::Zst, 10_000)]
    {
        let (text, place) = large(packing);
        let units = rest_of(&place.open(packing, 4096, Place::START)).unwrap();
        let mut packed = std::fs::read(&place.0).unwrap();
        for unit in &units[1..] {
            let (begin, border) = (unit.begin, unit.begin.border);
            assert!(
                border.unpacked <= begin.offset && begin.offset - border.unpacked < reach + 4096,
                "{name}: {begin:?}"
            );
        }
        let last = units.last().unwrap();
        // Nothing of what is before can matter when it is gone.
        packed[..last.begin.border.packed as usize].fill(0xee);
        std::fs::write(&place.0, &packed).unwrap();
        let rest = rest_of(&place.open(packing, 4096, last.begin)).unwrap();
        assert!(rest.iter().eq([last]), "{name}");
        assert!(
            text.ends_with(last.slices().last().unwrap().iter().chain(b"\n").copied().collect::<Vec<_>>().as_slice())
        );
    }
}

#[test]
fn a_file_that_became_shorter_is_damaged_for_all_who_ask() {
    let (_, place) = large(Packing::Zst);
    let units = rest_of(&place.open(Packing::Zst, 4096, Place::START)).unwrap();
    let packed = std::fs::read(&place.0).unwrap();
    let begin = units[50].begin;
    let reader = |data: &[u8], start| {
        std::fs::write(&place.0, data).unwrap();
        place.open(Packing::Zst, 4096, start)
    };
    for (data, start) in [
        (&packed[..begin.border.packed as usize], begin),
        (&packed[..begin.border.packed as usize + 50], begin),
        (&packed[..units[20].begin.border.packed as usize], begin.from_the_start()),
    ] {
        let reader = reader(data, start);
        for _ in 0..2 {
            assert!(matches!(rest_of(&reader), Err(Error::Damaged { .. })));
        }
    }
    // A place that is no border of this file.
    let shifted = Place { border: Border { packed: begin.border.packed + 3, ..begin.border }, ..begin };
    assert!(matches!(rest_of(&reader(&packed, shifted)), Err(Error::Damaged { .. })));
    assert_eq!(rest_of(&reader(&packed, units.last().unwrap().behind)).unwrap(), []);
}
