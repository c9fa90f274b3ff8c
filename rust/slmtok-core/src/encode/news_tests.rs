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

#[test]
fn what_one_tells_all_others_know() {
    let mut all = [Caches::new(), Caches::new(), Caches::new()];
    join(&mut all, 0);
    for n in 0..1000 {
        all[1].post.add_short(n as u128 + 1, &short_ids(n as u128 + 1));
        all[1].post.add_long(&long(n), &long_ids(&long(n)));
        if all[1].post.waits() {
            all[1].exchange();
        }
    }
    assert!(all[0].post.waits(), "before the call ends");
    all[1].post.part();
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
    join(&mut all, 0);
    all[0].post.part();
    join(&mut all[..1], 0);
    (1..=1000).for_each(|key| all[0].post.add_short(key, &short_ids(key)));
    all[0].post.part();
    assert!(!all[0].post.waits() && !all[1].post.waits());
}

#[test]
fn what_comes_late_is_read_before_the_next_call_that_is_long_enough() {
    let mut all = [Caches::new(), Caches::new()];
    join(&mut all, 0);
    let last = EARLY as u128 + 1000;
    for key in 1..=last {
        all[0].post.note(8);
        all[0].post.add_short(key, &short_ids(key));
        if all[0].post.waits() {
            all[0].exchange();
        }
    }
    all.iter_mut().for_each(|caches| caches.post.part());
    all[1].exchange();
    assert!(all[1].knows_short(1) && !all[1].knows_short(last));
    for (bytes, known) in [(1000, false), (BYTES_PER_PIECE * 2000, true)] {
        join(&mut all, bytes);
        all[1].exchange();
        assert_eq!(all[1].knows_short(last), known);
    }
    assert!((1..=last).all(|key| all[1].knows_short(key)));
}

#[test]
fn where_pieces_do_not_come_again_little_is_told() {
    let mut all = [Caches::new(), Caches::new()];
    join(&mut all, 0);
    for key in 1..=100_000 {
        all[0].post.note(1);
        all[0].post.add_short(key, &short_ids(key));
        if all[0].post.waits() {
            all[0].exchange();
        }
    }
    join(&mut all, usize::MAX);
    all[1].exchange();
    let known = (1..=100_000).filter(|&key| all[1].knows_short(key)).count();
    assert_eq!(known, SURE);
}
