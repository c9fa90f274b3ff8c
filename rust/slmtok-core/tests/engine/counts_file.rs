//! Bodies of counts files against maps; damaged bodies are errors.

use std::collections::BTreeMap;

use proptest::prelude::*;
use slmtok_core::Error;
use slmtok_core::count::Counts;
use slmtok_core::count::counts_file::{Input, Sums, merge_files, read, weighted, write};
use slmtok_core::pretoken::Pattern;
use tempfile::NamedTempFile;

use crate::temp_file;

/// Bytes of the sums of one column and of the number of blocks.
const SUMS: usize = 40;

type Map = BTreeMap<Vec<u8>, u64>;

fn pattern() -> Pattern {
    Pattern::new("whole").unwrap()
}

fn counts(map: &Map) -> Counts {
    Counts::from_items(pattern(), map.iter().map(|(piece, &count)| (&piece[..], count)), 0, 0).unwrap()
}

/// A file with a head and this body.
struct BodyFile(NamedTempFile);

impl BodyFile {
    fn new(body: &[u8]) -> Self {
        Self(temp_file(&[b"head", body].concat()))
    }

    fn input(&self, columns: &[usize]) -> Input {
        let (path, length) = (self.0.path(), self.0.as_file().metadata().unwrap().len());
        Input { path: path.to_string_lossy().into_owned(), body: 4..length, columns: columns.to_vec() }
    }
}

fn body(domains: &[&Map]) -> Vec<u8> {
    let (mut bytes, columns): (_, Vec<Counts>) = (Vec::new(), domains.iter().map(|map| counts(map)).collect());
    let columns: Vec<&Counts> = columns.iter().collect();
    write(&columns, &mut |block| {
        bytes.extend_from_slice(block);
        Ok(())
    })
    .unwrap();
    bytes
}

fn merged(inputs: &[Input], columns: usize, min_count: u64) -> (Vec<u8>, Sums) {
    let mut bytes = Vec::new();
    let sums = merge_files(inputs, columns, min_count, &mut |block| {
        bytes.extend_from_slice(block);
        Ok(())
    });
    (bytes, sums.unwrap())
}

fn maps() -> impl Strategy<Value = Map> {
    prop::collection::btree_map(prop::collection::vec(0u8..3, 1..24), 1u64..1 << 40, 0..60)
}

fn sum(a: &Map, b: &Map) -> Map {
    let mut out = a.clone();
    b.iter().for_each(|(piece, count)| *out.entry(piece.clone()).or_default() += count);
    out
}

proptest! {
    #[test]
    fn reading_inverts_writing(a in maps(), b in maps()) {
        let file = BodyFile::new(&body(&[&a, &b]));
        let back = read(&[file.input(&[0, 1])], 2, &pattern(), u64::MAX).unwrap();
        prop_assert_eq!(back[0].sorted().into_iter().collect::<Map>(), a.clone());
        prop_assert_eq!(back[1].sorted().into_iter().collect::<Map>(), b.clone());
        prop_assert_eq!(back[1].totals.pieces, b.values().sum::<u64>());
        let total = weighted(&pattern(), &[(&back[0], 3), (&back[1], 1), (&back[0], 0)]).unwrap();
        let tripled: Map = a.iter().map(|(piece, count)| (piece.clone(), 3 * count)).collect();
        prop_assert_eq!(total.sorted().into_iter().collect::<Map>(), sum(&tripled, &b));
    }

    #[test]
    fn merging_is_adding_in_any_order(a in maps(), b in maps(), c in maps()) {
        let files: Vec<_> = [&a, &b, &c].iter().map(|map| BodyFile::new(&body(&[map]))).collect();
        let one = body(&[&sum(&sum(&a, &b), &c)]);
        let input = |at: usize| files[at].input(&[0]);
        prop_assert_eq!(&merged(&[input(0), input(1), input(2)], 1, 0).0, &one);
        prop_assert_eq!(&merged(&[input(2), input(0), input(1)], 1, 0).0, &one);
        let first = BodyFile::new(&merged(&[input(1), input(2)], 1, 0).0);
        prop_assert_eq!(&merged(&[first.input(&[0]), input(0)], 1, 0).0, &one);
        let beside = body(&[&sum(&a, &c), &b]);
        prop_assert_eq!(merged(&[input(0), files[1].input(&[1]), input(2)], 2, 0).0, beside);
    }

    #[test]
    fn pruning_reports_what_it_removed(a in maps(), min_count in 1u64..1 << 40) {
        let file = BodyFile::new(&body(&[&a]));
        let (bytes, sums) = merged(&[file.input(&[0])], 1, min_count);
        let (kept, pruned): (Map, Map) = a.into_iter().partition(|(_, count)| *count >= min_count);
        prop_assert_eq!((sums.distinct, sums.pruned_distinct), (kept.len() as u64, pruned.len() as u64));
        prop_assert_eq!((sums.pieces[0], sums.pruned_pieces[0]), (kept.values().sum(), pruned.values().sum()));
        let file = BodyFile::new(&bytes);
        let again = merged(&[file.input(&[0])], 1, 0);
        prop_assert_eq!(again, (bytes.clone(), sums));
        let back = read(&[file.input(&[0])], 1, &pattern(), u64::MAX).unwrap();
        prop_assert_eq!(back[0].sorted().into_iter().collect::<Map>(), kept);
    }

    #[test]
    fn no_bytes_cause_a_panic(noise in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..400, to in any::<u8>()) {
        let _ = read(&[BodyFile::new(&noise).input(&[0])], 1, &pattern(), u64::MAX);
        let map: Map = (0..40u64).map(|n| (format!("piece {n:03}").into_bytes(), n + 1)).collect();
        let mut bytes = body(&[&map]);
        let at = at % bytes.len();
        bytes[at] = to;
        let _ = read(&[BodyFile::new(&bytes).input(&[0])], 1, &pattern(), u64::MAX);
    }
}

#[test]
fn damaged_bodies_are_errors() {
    let map: Map = (0..60_000u64).map(|n| (format!("{:x}", n * n).into_bytes(), n + 1)).collect();
    let whole = body(&[&map]);
    let file = BodyFile::new(&whole);
    let back = read(&[file.input(&[0])], 1, &pattern(), u64::MAX).unwrap();
    assert_eq!(back[0].sorted().into_iter().collect::<Map>(), map);
    let reason = |bytes: &[u8]| match read(&[BodyFile::new(bytes).input(&[0])], 1, &pattern(), u64::MAX) {
        Err(Error::CorruptCounts { reason, .. }) => reason,
        other => panic!("{:?}", other.map(|counts| counts.len())),
    };
    assert!(reason(&whole[..20]).contains("too short for its sums"));
    let sums = whole.len() - SUMS;
    let blocks = u64::from_le_bytes(*whole.last_chunk().unwrap()) as usize;
    assert!(blocks > 5);
    let changed = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] ^= byte;
        bytes
    };
    assert!(reason(&changed(whole.len() - 2, 0xFF)).contains("too short for its index"));
    assert!(reason(&changed(whole.len() - 8, 1)).contains("index"));
    assert!(reason(&changed(sums - 16 * blocks, 1)).contains("are not consecutive blocks"));
    assert!(
        reason(&changed(sums - 4, 1)).contains("sorted rows") || reason(&changed(sums - 4, 1)).contains("more rows")
    );
    assert!(reason(&changed(sums, 1)).contains("do not add up"));
    assert!(reason(&changed(sums + 8, 1)).contains("do not add up"));
    assert!(reason(&changed(1, 0x40)).contains("sorted rows"));
}

#[test]
fn sums_beyond_64_bits_are_an_error() {
    let huge: Map = BTreeMap::from([(b"ab".to_vec(), u64::MAX)]);
    let file = BodyFile::new(&body(&[&huge]));
    let twice = [file.input(&[0]), file.input(&[0])];
    assert!(matches!(read(&twice, 1, &pattern(), u64::MAX), Err(Error::CountOverflow { .. })));
    assert!(matches!(merge_files(&twice, 1, 0, &mut |_| Ok(())), Err(Error::CountOverflow { .. })));
    let apart = [file.input(&[0]), file.input(&[1])];
    assert!(matches!(merge_files(&apart, 2, 0, &mut |_| Ok(())), Err(Error::CountOverflow { .. })));
    assert!(matches!(weighted(&pattern(), &[(&counts(&huge), 2)]), Err(Error::CountOverflow { .. })));
}
