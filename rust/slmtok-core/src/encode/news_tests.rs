//! What is told reaches the others, whole, when it should, and nobody else.

use super::*;
use crate::encode::piece_table::MAX_SLOTS;

struct Caches {
    post: Post<u16>,
    table: PieceTable<u16>,
    long: LongCache<u16>,
}

impl Caches {
    fn new() -> Self {
        Self { post: Post::default(), table: PieceTable::new(MAX_SLOTS), long: LongCache::default() }
    }

    fn exchange(&mut self) {
        self.post.exchange(&mut self.table, &mut self.long);
    }

    fn knows_short(&self, key: u128) -> bool {
        let mut out = [0; 8];
        let n = u16::unpack(self.table.get(key, self.table.prepare(key)), &mut out);
        n > 0 && out[..n] == short_ids(key)
    }

    fn knows_long(&self, piece: &[u8]) -> bool {
        let mut out = [0; 60];
        let n = self.long.get(piece, self.long.prepare(piece), &mut out);
        n.is_some_and(|n| out[..n] == long_ids(piece))
    }
}

fn short_ids(key: u128) -> Vec<u16> {
    (0..key % 7 + 1).map(|k| (key + k) as u16).collect()
}

fn long_ids(piece: &[u8]) -> Vec<u16> {
    piece.iter().take(50).map(|&byte| u16::from(byte)).collect()
}

fn long(n: usize) -> Vec<u8> {
    format!("number {n} of the pieces without a key").into_bytes()
}

fn join(all: &mut [Caches], bytes: usize) {
    Post::join(all.iter_mut().map(|caches| &mut caches.post), bytes);
}

/// One caches' worker merges these short pieces, each of which was asked for so often.
fn merges(caches: &mut Caches, keys: impl Iterator<Item = u128>, asked: usize) {
    for key in keys {
        caches.post.note(asked);
        caches.post.add_short(key, &short_ids(key));
        if caches.post.waits() {
            caches.exchange();
        }
    }
}

fn part(all: &mut [Caches]) {
    all.iter_mut().for_each(|caches| caches.post.part());
}

#[test]
fn what_one_tells_all_others_know() {
    let mut all = [Caches::new(), Caches::new(), Caches::new()];
    join(&mut all, usize::MAX);
    for n in 0..1000 {
        all[1].post.add_short(n as u128 + 1, &short_ids(n as u128 + 1));
        all[1].post.add_long(&long(n), &long_ids(&long(n)));
        if all[1].post.waits() {
            all[1].exchange();
        }
    }
    all[0].exchange();
    assert!(all[0].knows_short(1) && all[0].knows_long(&long(0)), "before the call ends");
    part(&mut all);
    assert!(all.iter().all(|caches| !caches.post.waits()), "a single text waits for nothing");
    join(&mut all, usize::MAX);
    for caches in [0, 2] {
        all[caches].exchange();
        assert!(!all[caches].post.waits());
        assert!((0..1000).all(|n| all[caches].knows_short(n as u128 + 1) && all[caches].knows_long(&long(n))));
    }
    assert!(!all[1].post.waits() && !all[1].knows_short(1), "nobody tells it what it told");
}

#[test]
fn one_that_is_alone_tells_nothing() {
    let mut all = [Caches::new(), Caches::new()];
    join(&mut all, usize::MAX);
    part(&mut all);
    join(&mut all[..1], usize::MAX);
    merges(&mut all[0], 1..=1000, 1);
    part(&mut all[..1]);
    join(&mut all, usize::MAX);
    assert!(!all[0].post.waits() && !all[1].post.waits());
}

#[test]
fn no_more_is_told_at_once_than_is_little_beside_the_text() {
    for (pieces, told) in [(0, 0), (1024, 1024), (EARLY + 1024, EARLY)] {
        let mut all = [Caches::new(), Caches::new(), Caches::new()];
        join(&mut all, 2 * 3 * pieces * BYTES_PER_PIECE);
        merges(&mut all[0], 1..=EARLY as u128 + 2048, 8);
        all[1].exchange();
        let known = (1..=EARLY as u128 + 2048).filter(|&key| all[1].knows_short(key)).count();
        assert_eq!(known, told);
    }
}

#[test]
fn what_comes_late_is_read_before_the_next_call_that_is_long_enough() {
    let mut all = [Caches::new(), Caches::new()];
    join(&mut all, usize::MAX);
    let last = EARLY as u128 + 1000;
    merges(&mut all[0], 1..=last, 8);
    all[1].exchange();
    part(&mut all);
    for (pieces, known) in [(900, false), (1100, true)] {
        join(&mut all, 2 * pieces * BYTES_PER_PIECE);
        all[1].exchange();
        assert!(all[1].knows_short(1) && all[1].knows_short(last) == known);
        part(&mut all);
    }
    assert!((1..=last).all(|key| all[1].knows_short(key)));
}

#[test]
fn what_is_never_read_does_not_pile_up() {
    let mut all = [Caches::new(), Caches::new()];
    let mut most = 0;
    for call in 0..20 {
        join(&mut all, 0);
        merges(&mut all[0], (1..=100_000).map(|key| key + call * 100_000), 8);
        part(&mut all);
        most = most.max(locked(&all[1].post.inbox.later).iter().map(|news| news.told.len()).sum());
    }
    assert!((MOST..MOST + 110_000).contains(&most), "{most}");
}

#[test]
fn where_pieces_do_not_come_again_little_is_told() {
    let mut all = [Caches::new(), Caches::new()];
    join(&mut all, usize::MAX);
    merges(&mut all[0], 1..=100_000, 1);
    part(&mut all);
    join(&mut all, usize::MAX);
    all[1].exchange();
    let known = (1..=100_000).filter(|&key| all[1].knows_short(key)).count();
    assert_eq!(known, SURE);
}
