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

    fn read(&mut self) {
        self.post.read(&mut self.table, &mut self.long);
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

/// The worker of these caches merges short pieces, each of which was asked for so often.
fn merges(caches: &mut Caches, keys: impl Iterator<Item = u128>, asked: usize) {
    for key in keys {
        caches.post.note(asked);
        caches.post.add_short(key, &short_ids(key));
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
    }
    all[0].read();
    assert!(all[0].knows_short(1) && all[0].knows_long(&long(0)), "before the call ends");
    part(&mut all);
    assert!(all.iter().all(|caches| !caches.post.waits()), "a single text waits for nothing");
    join(&mut all, usize::MAX);
    for caches in [0, 2] {
        all[caches].read();
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
    // Nor does it read what is for a call on several threads.
    merges(&mut all[0], 1..=1000, 1);
    part(&mut all);
    join(&mut all[1..], usize::MAX);
    assert!(!all[1].post.waits());
}

#[test]
fn no_more_is_told_at_once_than_is_little_beside_the_text() {
    for (pieces, told) in [(0, 0), (1024, 1024), (EARLY + 1024, EARLY)] {
        let mut all = [Caches::new(), Caches::new(), Caches::new()];
        join(&mut all, 2 * 3 * pieces * BYTES_PER_PIECE);
        merges(&mut all[0], 1..=EARLY as u128 + 2048, 8);
        all[1].read();
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
    all[1].read();
    part(&mut all);
    for (pieces, known) in [(900, false), (1100, true)] {
        join(&mut all, 2 * pieces * BYTES_PER_PIECE);
        all[1].read();
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
        let later = locked(&all[1].post.inbox.later);
        assert_eq!(later.bytes, later.news.iter().map(|news| news.size()).sum::<usize>());
        assert_eq!(later.pieces, later.news.iter().map(|news| news.told.len()).sum::<usize>());
        most = most.max(later.bytes);
    }
    assert!((MOST_LATER / 2..=MOST_LATER).contains(&most), "{most}");
}

#[test]
fn long_pieces_are_not_told() {
    let mut all = [Caches::new(), Caches::new()];
    join(&mut all, usize::MAX);
    for length in 16..=MAX_PIECE + 1 {
        all[0].post.add_long(&vec![b'x'; length], &[7]);
    }
    part(&mut all);
    let told = locked(&all[1].post.inbox.later).pieces;
    assert_eq!(told, MAX_PIECE - 15);
}

#[test]
fn one_of_many_workers_tells_all_of_them() {
    let mut all: Vec<Caches> = (0..64).map(|_| Caches::new()).collect();
    join(&mut all, usize::MAX);
    merges(&mut all[7], 1..=20_000, 8);
    part(&mut all);
    join(&mut all, usize::MAX);
    for (number, caches) in all.iter_mut().enumerate() {
        caches.read();
        assert_eq!((1..=20_000).all(|key| caches.knows_short(key)), number != 7);
    }
}

#[test]
fn where_pieces_do_not_come_again_little_is_told() {
    let mut all = [Caches::new(), Caches::new()];
    join(&mut all, usize::MAX);
    merges(&mut all[0], 1..=100_000, 1);
    part(&mut all);
    join(&mut all, usize::MAX);
    all[1].read();
    let known = (1..=100_000).filter(|&key| all[1].knows_short(key)).count();
    assert_eq!(known, SURE);
}
