//! What the workers of one call tell each other: what they merged, so that the others need not.
//!
//! Each worker has caches of its own, since the lines of shared ones would have to travel between processors all the time. What it merges is
//! noted, posted to all others when there is enough of it, and read by each before its next chunk. Of what is merged first, most
//! will be met by the others too; of what is merged later, less: that is left for the next call, of which the whole text may be known
//! then. Nothing is forgotten for what is only heard of, and where pieces seldom come again nothing is told.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::lanes::Id;
use super::long_cache::LongCache;
use super::piece_table::PieceTable;
use crate::keys::CHUNK;
use crate::piece::LONG;

/// So many pieces are posted together.
const ENOUGH: usize = CHUNK;
/// Of longer pieces nobody is told.
const MAX_PIECE: usize = 1 << 7;
/// So many pieces at most a worker tells at once, in one call.
const EARLY: usize = 1 << 16;
/// So many pieces at most are kept for a worker's next call.
const MOST: usize = 1 << 19;
/// So many are told in any case,
const SURE: usize = 1 << 14;
/// then only if so many were asked for, for each that had to be made.
const PAYS: u64 = 4;
/// Of its own share of the text, for which it is worth to read of a piece: reading takes a tenth of the time of encoding them.
const BYTES_PER_PIECE: usize = 128;

/// A piece, and where its bytes and its ids are.
#[derive(Clone, Copy, Debug)]
struct Told {
    /// [`LONG`] for a piece that has none.
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
    /// How many pieces were looked up meanwhile.
    asked: u64,
}

fn part<T>(all: &[T], [begin, length]: [u32; 2]) -> &[T] {
    &all[begin as usize..][..length as usize]
}

impl<I: Id> News<I> {
    fn add(&mut self, key: u128, bytes: &[u8], ids: &[I]) {
        let place = |begin: usize, length: usize| [begin as u32, length as u32];
        let told = Told { key, bytes: place(self.bytes.len(), bytes.len()), ids: place(self.ids.len(), ids.len()) };
        if self.told.capacity() == 0 {
            self.told.reserve(2 * ENOUGH);
            self.ids.reserve(4 * ENOUGH);
        }
        self.told.push(told);
        self.bytes.extend_from_slice(bytes);
        self.ids.extend_from_slice(ids);
    }

    /// Puts into a worker's caches what is new there.
    fn learn(&self, table: &mut PieceTable<I>, long: &mut LongCache<I>) {
        table.note(self.asked as usize);
        let mut hashes = [0; CHUNK];
        for told in self.told.chunks(CHUNK) {
            // First all hashes, so that the waits for the lines fall together.
            for (hash, told) in hashes.iter_mut().zip(told) {
                *hash = match told.key {
                    LONG => long.prepare(part(&self.bytes, told.bytes)),
                    key => table.prepare(key),
                };
            }
            for (&hash, told) in hashes.iter().zip(told) {
                let ids = part(&self.ids, told.ids);
                match told.key {
                    LONG => long.learn(part(&self.bytes, told.bytes), hash, ids),
                    key => table.learn(key, ids),
                }
            }
        }
    }
}

/// News for one worker.
#[derive(Debug)]
struct Inbox<I> {
    news: Mutex<Vec<Arc<News<I>>>>,
    /// Whether there are any to be read now: asked before each chunk.
    any: AtomicBool,
    /// Those that are for the next call on several threads.
    later: Mutex<Vec<Arc<News<I>>>>,
}

impl<I> Default for Inbox<I> {
    fn default() -> Self {
        Self { news: Mutex::default(), any: AtomicBool::new(false), later: Mutex::default() }
    }
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
    asked: u64,
    /// So many pieces are told at once.
    early: usize,
}

impl<I: Id> Post<I> {
    /// From now on these workers, that have so many bytes to encode, tell each other.
    pub fn join<'a>(posts: impl Iterator<Item = &'a mut Self>, bytes: usize) {
        let mut posts: Vec<_> = posts.collect();
        let inboxes: Vec<_> = posts.iter().map(|post| Arc::clone(&post.inbox)).collect();
        // What a worker can read while it encodes its share of the text.
        let readable = bytes / inboxes.len().max(1) / BYTES_PER_PIECE;
        for (mine, post) in posts.iter_mut().enumerate() {
            let others = inboxes.iter().enumerate().filter(|(other, _)| *other != mine);
            post.others = others.map(|(_, inbox)| Arc::clone(inbox)).collect();
            (post.news, post.told, post.asked) = (News::default(), 0, 0);
            post.early = EARLY.min(readable / post.others.len().max(1));
            post.open(readable);
        }
    }

    /// What was left for later is to be read now, if it is no more than so many pieces. Too many are given up.
    fn open(&self, readable: usize) {
        let mut later = locked(&self.inbox.later);
        let pieces: usize = later.iter().map(|news| news.told.len()).sum();
        if pieces <= readable.min(MOST) {
            later.drain(..).for_each(|news| self.inbox.put(news));
        } else if pieces > MOST {
            later.clear();
        }
    }

    /// Tells the last, and from now on nothing. All that was not read is for later, so that a single text does not wait for it.
    pub fn part(&mut self) {
        self.early = 0;
        self.tell();
        self.others.clear();
        locked(&self.inbox.later).extend(self.inbox.take());
    }

    /// Notes that so many pieces are looked up.
    #[inline(always)]
    pub fn note(&mut self, pieces: usize) {
        self.news.asked += pieces as u64;
    }

    /// Notes a piece with a key.
    #[inline]
    pub fn add_short(&mut self, key: u128, ids: &[I]) {
        if !self.others.is_empty() {
            self.news.add(key, &[], ids);
        }
    }

    /// Notes a piece without one.
    #[inline]
    pub fn add_long(&mut self, piece: &[u8], ids: &[I]) {
        if !self.others.is_empty() && piece.len() <= MAX_PIECE {
            self.news.add(LONG, piece, ids);
        }
    }

    /// Whether there is something to tell or to read.
    #[inline(always)]
    pub fn waits(&self) -> bool {
        self.news.told.len() >= ENOUGH || self.inbox.any.load(Ordering::Relaxed)
    }

    /// Tells what there is to tell, and puts into the caches what there is to read.
    #[cold]
    pub fn exchange(&mut self, table: &mut PieceTable<I>, long: &mut LongCache<I>) {
        if self.news.told.len() >= ENOUGH {
            self.tell();
        }
        for news in self.inbox.take() {
            news.learn(table, long);
        }
    }

    fn tell(&mut self) {
        let news = std::mem::take(&mut self.news);
        self.told += news.told.len();
        self.asked += news.asked;
        let now = self.told <= self.early;
        let pays = self.told <= SURE || self.told as u64 <= self.asked / PAYS;
        if news.told.is_empty() || !pays || self.told * self.others.len() > MOST {
            return;
        }
        let news = Arc::new(news);
        for inbox in &self.others {
            if now { inbox.put(Arc::clone(&news)) } else { locked(&inbox.later).push(Arc::clone(&news)) }
        }
    }
}

#[cfg(test)]
#[path = "news_tests.rs"]
mod tests;
