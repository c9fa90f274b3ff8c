//! The table against what was put in, while it grows, forgets and moves keys.

use proptest::prelude::*;

use super::*;
use crate::piece::LONG;

fn ids(key: u128) -> Vec<u16> {
    (0..key % 11 + 1).map(|k| (key + k) as u16).collect()
}

/// What the table says of a key, asked as the hot loop asks.
fn asked(table: &mut PieceTable<u16>, key: u128) -> Option<Vec<u16>> {
    let (hash, mut out) = (table.hash().of(key), [0; 8]);
    let (pieces, n) = table.known(&[key], &[hash], &mut out);
    if pieces == 1 {
        return Some(out[..n].to_vec());
    }
    let entry = table.get(key, hash);
    (entry != NO_ENTRY).then(|| table.spilled.ids(entry).to_vec())
}

proptest! {
    #[test]
    fn what_is_remembered_is_what_was_put_in(picks in prop::collection::vec(1u128..3000, 0..4000)) {
        let mut table = PieceTable::<u16>::new(FIRST_SLOTS);
        for key in picks {
            match asked(&mut table, key) {
                Some(found) => prop_assert_eq!(found, ids(key)),
                None => table.insert(key, &ids(key)),
            }
            prop_assert!(table.slots.len() <= FIRST_SLOTS && table.used * 8 <= table.slots.len() * 5 + 8);
        }
    }

    #[test]
    fn keys_that_change_places_are_all_still_there(picks in prop::collection::vec(1u128..600, 0..4000)) {
        let mut table = PieceTable::<u16>::new(FIRST_SLOTS);
        (1..600).for_each(|key| table.insert(key, &ids(key)));
        for key in picks {
            prop_assert_eq!(asked(&mut table, key), Some(ids(key)));
            let home = (table.hash().of(key) >> shift(table.slots.len())) as usize;
            prop_assert!(ids(key).len() > 7 || table.slots[home].key == key, "not at home after it was asked for");
        }
        prop_assert_eq!((table.wipes, table.used), (0, 599));
        prop_assert!((1..600).all(|key| asked(&mut table, key) == Some(ids(key))));
    }
}

#[test]
fn a_full_table_forgets_all_and_a_stale_hash_only_misses() {
    let mut table = PieceTable::<u32>::new(FIRST_SLOTS);
    let stale: Vec<u64> = (1..=FIRST_SLOTS as u128).map(|key| table.hash().of(key)).collect();
    for key in 1..=FIRST_SLOTS as u128 {
        table.insert(key, &[key as u32; 9]);
    }
    assert_eq!(table.wipes, 1);
    assert!(table.spilled.len() < 9 * FIRST_SLOTS, "what was spilled goes with the slots");
    for (key, hash) in (1..=FIRST_SLOTS as u128).zip(stale) {
        let entry = table.get(key, hash);
        assert!(entry == NO_ENTRY || table.spilled.ids(entry) == [key as u32; 9]);
    }
}

#[test]
fn a_copy_holds_the_same_and_goes_its_own_way() {
    let mut table = PieceTable::<u16>::new(1 << 14);
    (1..3000).for_each(|key| table.insert(key, &ids(key)));
    let mut copy = table.copied();
    (3000..6000).for_each(|key| copy.insert(key, &ids(key)));
    assert!((1..3000).all(|key| asked(&mut table, key) == Some(ids(key))));
    assert!((1..6000).all(|key| asked(&mut copy, key) == Some(ids(key))));
    assert!((3000..6000).all(|key| asked(&mut table, key).is_none()));
}

#[test]
fn long_pieces_are_not_there() {
    let mut table = PieceTable::<u32>::new(FIRST_SLOTS);
    for key in 1..=FIRST_SLOTS as u128 / 2 {
        table.insert(key, &[1]);
        assert!((0..1_u64 << 32).step_by(1 << 28).all(|hash| table.get(LONG, hash) == NO_ENTRY));
    }
}

#[test]
fn it_grows_to_its_limit_without_forgetting() {
    let mut table = PieceTable::<u16>::new(1 << 14);
    for key in 1..=10_000u128 {
        table.insert(key, &[key as u16]);
    }
    assert_eq!((table.wipes, table.slots.len()), (0, 1 << 14));
    let mut out = [0; 8];
    assert!(
        (1..=10_000u128)
            .all(|key| { u16::unpack(table.get(key, table.hash().of(key)), &mut out) == 1 && out[0] == key as u16 })
    );
}

#[test]
fn a_large_table_grows_only_if_it_is_asked() {
    for (pieces, slots, wipes) in [(1, MUST_PAY, 3), (8, 4 * MUST_PAY, 0)] {
        let mut table = PieceTable::<u16>::new(MAX_SLOTS);
        for key in 1..=600_000u128 {
            table.note(pieces);
            table.insert(key, &[1]);
        }
        assert_eq!((table.slots.len(), table.wipes), (slots, wipes));
    }
}

#[test]
fn what_is_learned_is_put_in_once_and_wipes_nothing() {
    let mut table = PieceTable::<u16>::new(FIRST_SLOTS);
    for key in (1..=FIRST_SLOTS as u128).chain(1..=FIRST_SLOTS as u128) {
        table.learn(key, &ids(key));
    }
    let room = FIRST_SLOTS * 5 / 8;
    assert_eq!((table.used, table.wipes, table.slots.len()), (room, 0, FIRST_SLOTS));
    let spilled = (1..=room as u128).map(|key| ids(key).len()).filter(|&n| n > u16::LANES).sum::<usize>();
    assert_eq!(table.spilled.len(), spilled);
    assert!((1..=room as u128).all(|key| asked(&mut table, key) == Some(ids(key))));
}

#[test]
fn every_way_to_hash_finds_many_keys_at_once() {
    for hash in KeyHash::of_all_ways() {
        let mut table = PieceTable::<u16>::new(FIRST_SLOTS);
        table.hash = hash;
        let keys: Vec<u128> = (1..200).filter(|&key| ids(key).len() <= u16::LANES).collect();
        keys.iter().for_each(|&key| table.insert(key, &ids(key)));
        let hashes: Vec<u64> = keys.iter().map(|&key| hash.of(key)).collect();
        let expected: Vec<u16> = keys.iter().flat_map(|&key| ids(key)).collect();
        let mut out = vec![0; expected.len() + u16::STORED];
        assert_eq!(table.known(&keys, &hashes, &mut out), (keys.len(), expected.len()), "{hash:?}");
        assert_eq!(out[..expected.len()], expected);
        // What is spilled, and what is not there, ends it.
        table.insert(10, &ids(10));
        for end in [10, 1000] {
            let (some, hashes) = ([1, 2, end, 3], [1, 2, end, 3].map(|key| hash.of(key)));
            assert_eq!(table.known(&some, &hashes, &mut out), (2, ids(1).len() + ids(2).len()), "{hash:?}");
        }
    }
}

#[test]
#[should_panic(expected = "no room for an entry")]
fn an_entry_that_has_no_room_is_not_written() {
    let mut table = PieceTable::<u16>::new(FIRST_SLOTS);
    table.insert(1, &[1, 2, 3, 4]);
    table.insert(2, &[5]);
    let hashes = [table.hash().of(1), table.hash().of(2)];
    table.known(&[1, 2], &hashes, &mut [0; u16::STORED]);
}
