//! What the workers of one call tell each other: what they merged, so that the others need not.
//!
//! Each worker has caches of its own, since the lines of shared ones would have to travel between processors all the time. What it merges is
//! noted, posted to all others when there is enough of it, and read by each before its next chunk. Of what is merged first, most
//! will be met by the others too; of what is merged later, less: that is left for the next call, of which the whole text may be known
//! then. What is heard of makes caches fuller, but none is wiped to take it; and where pieces seldom come again little is told.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cache::hash::KEY_BATCH_LEN;
use crate::cache::long_cache::LongCache;
use crate::cache::packed_ids::Id;
use crate::cache::piece_table::{PAYS, PieceTable};
use crate::cache::short_key::NO_KEY;

/// So many pieces are posted together.
const ENOUGH: usize = KEY_BATCH_LEN;
/// Of longer pieces nobody is told.
const MAX_PIECE: usize = 1 << 7;
/// So many pieces at most a worker tells at once, in one call.
const EARLY: usize = 1 << 16;
/// Bytes of news that are kept for a worker's next call.
const MOST_LATER: usize = 32 << 20;
/// So many are told in any case, then only if enough were asked for, for each that had to be made.
const SURE: usize = 1 << 14;
/// Of its own share of the text, for which it is worth to read of a piece: reading takes a tenth of the time of encoding them.
const BYTES_PER_PIECE: usize = 128;

/// A piece, and where its bytes and its ids are.
#[derive(Clone, Copy, Debug)]
struct Told {
    /// [`NO_KEY`] for a piece that has none.
    key: u128,
    /// Begin and length; none for a piece with a key.
    bytes: [u32; 2],
    /// Begin and length.
    ids: [u32; 2],
}

/// Pieces and their ids.
#[derive(Debug, Default)]
pub struct News<I> {
    told: Vec<Told>,
    bytes: Vec<u8>,
    ids: Vec<I>,
}

fn stretch<T>(all: &[T], [begin, length]: [u32; 2]) -> &[T] {
    &all[begin as usize..][..length as usize]
}

impl<I: Id> News<I> {
    fn add(&mut self, key: u128, bytes: &[u8], ids: &[I]) {
        let place = |begin: usize, length: usize| [begin as u32, length as u32];
        let told = Told { key, bytes: place(self.bytes.len(), bytes.len()), ids: place(self.ids.len(), ids.len()) };
        if self.told.capacity() == 0 {
            self.told.reserve(ENOUGH);
            self.ids.reserve(4 * ENOUGH);
        }
        self.told.push(told);
        self.bytes.extend_from_slice(bytes);
        self.ids.extend_from_slice(ids);
    }

    fn size(&self) -> usize {
        size_of_val(&self.told[..]) + self.bytes.len() + size_of_val(&self.ids[..])
    }

    fn clear(&mut self) {
        self.told.clear();
        self.bytes.clear();
        self.ids.clear();
    }

    /// Puts into a worker's caches what is new there.
    fn learn(&self, table: &mut PieceTable<I>, long: &mut LongCache<I>) {
        // As if each had been asked for as often as pays, so that hearing of pieces does not decide whether the table grows.
        table.note(PAYS as usize * self.told.len());
        let mut hashes = [0; KEY_BATCH_LEN];
        for told in self.told.chunks(KEY_BATCH_LEN) {
            // First all hashes, so that the waits for the lines fall together.
            for (hash, told) in hashes.iter_mut().zip(told) {
                *hash = match told.key {
                    NO_KEY => long.prepare(stretch(&self.bytes, told.bytes)),
                    key => table.prepare(key),
                };
            }
            for (&hash, told) in hashes.iter().zip(told) {
                let ids = stretch(&self.ids, told.ids);
                match told.key {
                    NO_KEY => long.learn(stretch(&self.bytes, told.bytes), hash, ids),
                    key => table.learn(key, ids),
                }
            }
        }
    }
}

/// What is not to be read before the next call.
#[derive(Debug, Default)]
struct Later<I> {
    news: Vec<Arc<News<I>>>,
    pieces: usize,
    bytes: usize,
}

impl<I: Id> Later<I> {
    /// Keeps it if there is room.
    fn keep(&mut self, news: Arc<News<I>>) {
        if self.bytes + news.size() <= MOST_LATER {
            self.pieces += news.told.len();
            self.bytes += news.size();
            self.news.push(news);
        }
    }
}

/// News for one worker.
#[derive(Debug, Default)]
struct Inbox<I> {
    news: Mutex<Vec<Arc<News<I>>>>,
    /// Whether there are any to be read now: asked before each chunk.
    any: AtomicBool,
    /// Those that are for the next call on several threads.
    later: Mutex<Later<I>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<I> Inbox<I> {
    fn put(&self, news: Arc<News<I>>) {
        locked(&self.news).push(news);
        self.any.store(true, Ordering::Release);
    }

    fn take(&self) -> Vec<Arc<News<I>>> {
        let mut news = locked(&self.news);
        self.any.store(false, Ordering::Relaxed);
        std::mem::take(&mut news)
    }
}

/// One worker's post.
#[derive(Debug, Default)]
pub struct Post<I> {
    inbox: Arc<Inbox<I>>,
    /// Of the other workers of this call; none for a worker that is alone.
    others: Vec<Arc<Inbox<I>>>,
    /// Not yet posted.
    news: News<I>,
    /// In this call.
    told: usize,
    asked: usize,
    /// So many pieces are told at once.
    early: usize,
}

impl<I: Id> Post<I> {
    /// From now on these workers, that have so many bytes to encode, tell each other.
    pub fn join<'a>(posts: impl Iterator<Item = &'a mut Self>, bytes: usize) {
        let mut posts: Vec<_> = posts.collect();
        let inboxes: Vec<_> = posts.iter().map(|post| Arc::clone(&post.inbox)).collect();
        if inboxes.len() < 2 {
            return;
        }
        // What a worker can read while it encodes its share of the text.
        let readable = bytes / inboxes.len() / BYTES_PER_PIECE;
        for (mine, post) in posts.iter_mut().enumerate() {
            let others = inboxes.iter().enumerate().filter(|(other, _)| *other != mine);
            post.others = others.map(|(_, inbox)| Arc::clone(inbox)).collect();
            post.news.clear();
            (post.told, post.asked) = (0, 0);
            post.early = EARLY.min(readable / post.others.len());
            post.open(readable);
        }
    }

    /// What was left for later is to be read now, if it is no more than so many pieces. Much that was left is given up, so that there is room.
    fn open(&self, readable: usize) {
        let mut later = locked(&self.inbox.later);
        if later.pieces <= readable {
            std::mem::take(&mut *later).news.into_iter().for_each(|news| self.inbox.put(news));
        } else if later.bytes > MOST_LATER / 2 {
            *later = Later::default();
        }
    }

    /// Tells the last, and from now on nothing. All that was not read is for later, so that a call on one thread does not wait for it.
    pub fn part(&mut self) {
        self.early = 0;
        self.tell();
        self.others.clear();
        let unread = self.inbox.take();
        let mut later = locked(&self.inbox.later);
        unread.into_iter().for_each(|news| later.keep(news));
    }

    /// Notes that so many pieces are looked up.
    #[inline(always)]
    pub fn note(&mut self, pieces: usize) {
        self.asked += pieces;
    }

    /// Notes a piece with a key.
    #[inline]
    pub fn add_short(&mut self, key: u128, ids: &[I]) {
        self.add(key, &[], ids);
    }

    /// Notes a piece without one.
    #[inline]
    pub fn add_long(&mut self, piece: &[u8], ids: &[I]) {
        if piece.len() <= MAX_PIECE {
            self.add(NO_KEY, piece, ids);
        }
    }

    /// Tells when there is enough, also amid a piece of any length, so that what is noted stays little.
    #[inline]
    fn add(&mut self, key: u128, bytes: &[u8], ids: &[I]) {
        if !self.others.is_empty() {
            self.news.add(key, bytes, ids);
            if self.news.told.len() >= ENOUGH {
                self.tell();
            }
        }
    }

    /// Whether there is something to read.
    #[inline(always)]
    pub fn waits(&self) -> bool {
        self.inbox.any.load(Ordering::Relaxed)
    }

    /// Puts into the caches what there is to read.
    #[cold]
    pub fn read(&mut self, table: &mut PieceTable<I>, long: &mut LongCache<I>) {
        for news in self.inbox.take() {
            news.learn(table, long);
        }
    }

    fn tell(&mut self) {
        self.told += self.news.told.len();
        let pays = self.told <= SURE || self.told <= self.asked / PAYS as usize;
        if self.news.told.is_empty() || !pays {
            return self.news.clear();
        }
        let news = Arc::new(std::mem::take(&mut self.news));
        for inbox in &self.others {
            if self.told <= self.early {
                inbox.put(Arc::clone(&news));
            } else {
                locked(&inbox.later).keep(Arc::clone(&news));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::piece_table::MAX_SLOTS;

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
}
