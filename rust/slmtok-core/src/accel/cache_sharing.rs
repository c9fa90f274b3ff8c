//! Sharing cache entries between the workers of one call, for the next call.
//!
//! Each worker has its own caches, because the lines of shared ones would travel between processors. A worker records its
//! misses, within bounds; at the end of the call each worker receives the recorded entries of the others, and inserts them into its caches at
//! the start of the next call that has several threads and at least [`BYTES_PER_ENTRY`] bytes of text per entry and worker. The
//! batches of a repeated text are then hits, whichever worker gets them. Insertions of received entries never clear a cache.
//! Calls on one thread neither record nor insert.

use std::sync::Arc;

use crate::cache::hash::KEY_BATCH_LEN;
use crate::cache::long_cache::LongCache;
use crate::cache::packed_ids::TokenId;
use crate::cache::piece_table::{MIN_LOOKUPS_PER_ENTRY, PieceTable};
use crate::cache::short_key::NO_KEY;

/// Longer pieces are not shared.
const MAX_PIECE_BYTES: usize = 1 << 7;
/// Memory of the entries that a worker has received.
const MAX_RECEIVED_BYTES: usize = 32 << 20;
/// On several threads the first insertions are recorded in any case; later ones only while there are
/// [`MIN_LOOKUPS_PER_ENTRY`] lookups per insertion.
const MIN_RECORDED: usize = 1 << 14;
/// A worker inserts its received entries if there is at most one per this many bytes of its own input, which bounds the time
/// that this takes.
const BYTES_PER_ENTRY: usize = 64;

/// A piece, and the ends of its bytes and ids; they begin where those of the entry before it end.
#[derive(Clone, Copy, Debug)]
struct CacheEntry {
    /// [`NO_KEY`] for a piece whose bytes are stored.
    key: u128,
    bytes_end: usize,
    ids_end: usize,
}

/// Pieces and their ids.
#[derive(Debug, Default)]
struct CacheUpdate<I> {
    entries: Vec<CacheEntry>,
    bytes: Vec<u8>,
    ids: Vec<I>,
}

impl<I: TokenId> CacheUpdate<I> {
    fn push(&mut self, key: u128, bytes: &[u8], ids: &[I]) {
        self.bytes.extend_from_slice(bytes);
        self.ids.extend_from_slice(ids);
        self.entries.push(CacheEntry { key, bytes_end: self.bytes.len(), ids_end: self.ids.len() });
    }

    fn size(&self) -> usize {
        size_of_val(&self.entries[..]) + self.bytes.len() + size_of_val(&self.ids[..])
    }

    /// Inserts the entries into a worker's caches, unless they are present or a cache would have to be cleared.
    fn insert_into(&self, table: &mut PieceTable<I>, long: &mut LongCache<I>) {
        // These count as lookups; else the insertions themselves would forbid the table to grow.
        table.record_lookups(MIN_LOOKUPS_PER_ENTRY * self.entries.len());
        let (mut bytes_start, mut ids_start) = (0, 0);
        let mut hashes = [0; KEY_BATCH_LEN];
        for entries in self.entries.chunks(KEY_BATCH_LEN) {
            // All hashes first, so that the memory stalls of their probes overlap.
            let mut start = bytes_start;
            for (hash, entry) in hashes.iter_mut().zip(entries) {
                match entry.key {
                    NO_KEY => *hash = long.hash_and_prefetch(&self.bytes[start..entry.bytes_end]),
                    key => table.prefetch(key),
                }
                start = entry.bytes_end;
            }
            for (&hash, entry) in hashes.iter().zip(entries) {
                let ids = &self.ids[ids_start..entry.ids_end];
                match entry.key {
                    NO_KEY => long.insert_without_clearing(&self.bytes[bytes_start..entry.bytes_end], hash, ids),
                    key => table.insert_without_clearing(key, ids),
                }
                (bytes_start, ids_start) = (entry.bytes_end, entry.ids_end);
            }
        }
    }
}

/// What one worker records and receives.
#[derive(Debug, Default)]
pub struct CacheSharing<I> {
    /// The recorded insertions of this call.
    update: CacheUpdate<I>,
    /// Memory that the update may take; 0 in calls on one thread.
    max_bytes: usize,
    lookups: usize,
    /// Insertions into the caches of this worker that were offered to the others.
    inserted: usize,
    /// Updates received at the ends of earlier calls.
    received: Vec<Arc<CacheUpdate<I>>>,
    inserts_received: bool,
}

impl<I: TokenId> CacheSharing<I> {
    /// Starts a call in which these workers encode `bytes` bytes.
    pub fn begin_call<'a>(workers: impl Iterator<Item = &'a mut Self>, bytes: usize) {
        let mut workers: Vec<_> = workers.collect();
        let n = workers.len();
        for worker in &mut workers {
            worker.max_bytes = if n > 1 { MAX_RECEIVED_BYTES / (n - 1) } else { 0 };
            (worker.lookups, worker.inserted) = (0, 0);
            let entries: usize = worker.received.iter().map(|update| update.entries.len()).sum();
            worker.inserts_received = n > 1 && entries > 0 && entries <= bytes / n / BYTES_PER_ENTRY;
        }
    }

    /// Ends the call: each worker receives the updates of all others.
    pub fn end_call<'a>(workers: impl Iterator<Item = &'a mut Self>) {
        let mut workers: Vec<_> = workers.collect();
        let updates: Vec<_> = workers.iter_mut().map(|worker| Arc::new(std::mem::take(&mut worker.update))).collect();
        for (receiver, worker) in workers.iter_mut().enumerate() {
            (worker.max_bytes, worker.inserts_received) = (0, false);
            let others = updates.iter().enumerate().filter(|(sender, _)| *sender != receiver);
            let received: Vec<_> =
                others.map(|(_, update)| update).filter(|update| !update.entries.is_empty()).collect();
            let bytes = |updates: &[Arc<CacheUpdate<I>>]| updates.iter().map(|update| update.size()).sum::<usize>();
            let new: usize = received.iter().map(|update| update.size()).sum();
            if bytes(&worker.received) + new > MAX_RECEIVED_BYTES {
                worker.received.clear();
            }
            worker.received.extend(received.into_iter().cloned());
        }
    }

    /// Records that `n` pieces are looked up.
    #[inline(always)]
    pub fn record_lookups(&mut self, n: usize) {
        self.lookups += n;
    }

    /// Records an insertion into the piece table.
    #[inline]
    pub fn record_short(&mut self, key: u128, ids: &[I]) {
        self.record(key, &[], ids);
    }

    /// Records an insertion into the long cache.
    #[inline]
    pub fn record_long(&mut self, piece: &[u8], ids: &[I]) {
        if piece.len() <= MAX_PIECE_BYTES {
            self.record(NO_KEY, piece, ids);
        }
    }

    #[inline]
    fn record(&mut self, key: u128, bytes: &[u8], ids: &[I]) {
        self.inserted += 1;
        let reused = self.inserted <= MIN_RECORDED || self.inserted <= self.lookups / MIN_LOOKUPS_PER_ENTRY;
        // An entry takes at most a few hundred bytes, by which the limit may be exceeded.
        if self.max_bytes > 0 && reused && self.update.size() < self.max_bytes {
            self.update.push(key, bytes, ids);
        }
    }

    /// Inserts the received entries into the caches of this worker, once in a call.
    #[inline]
    pub fn insert_received(&mut self, table: &mut PieceTable<I>, long: &mut LongCache<I>) {
        if std::mem::take(&mut self.inserts_received) {
            self.received.drain(..).for_each(|update| update.insert_into(table, long));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::piece_table::MAX_SLOTS;

    struct Caches {
        sharing: CacheSharing<u16>,
        table: PieceTable<u16>,
        long: LongCache<u16>,
    }

    impl Caches {
        fn new() -> Self {
            let (table, long) = (PieceTable::new(MAX_SLOTS), LongCache::default());
            Self { sharing: CacheSharing::default(), table, long }
        }

        fn insert_received(&mut self) {
            self.sharing.insert_received(&mut self.table, &mut self.long);
        }

        fn has_short(&self, key: u128) -> bool {
            let mut out = [0; 8];
            let n = u16::unpack(self.table.get(key, self.table.hash().of(key)), &mut out);
            n > 0 && out[..n] == short_ids(key)
        }

        fn has_long(&self, piece: &[u8]) -> bool {
            let mut out = [0; 60];
            let n = self.long.get(piece, self.long.hash_and_prefetch(piece), &mut out);
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

    fn workers(n: usize) -> Vec<Caches> {
        (0..n).map(|_| Caches::new()).collect()
    }

    fn begin_call(workers: &mut [Caches], bytes: usize) {
        CacheSharing::begin_call(workers.iter_mut().map(|caches| &mut caches.sharing), bytes);
        workers.iter_mut().for_each(Caches::insert_received);
    }

    fn end_call(workers: &mut [Caches]) {
        CacheSharing::end_call(workers.iter_mut().map(|caches| &mut caches.sharing));
    }

    /// Misses of short pieces, with this number of lookups for each.
    fn miss(caches: &mut Caches, keys: impl Iterator<Item = u128>, lookups: usize) {
        for key in keys {
            caches.sharing.record_lookups(lookups);
            caches.sharing.record_short(key, &short_ids(key));
        }
    }

    #[test]
    fn misses_of_one_call_are_in_all_other_caches_in_the_next() {
        for n in [2, 3, 64] {
            let mut all = workers(n);
            begin_call(&mut all, usize::MAX);
            miss(&mut all[1], 1..=2000, 8);
            (0..2000).for_each(|k| all[1].sharing.record_long(&long(k), &long_ids(&long(k))));
            end_call(&mut all);
            begin_call(&mut all, usize::MAX);
            for (number, caches) in all.iter().enumerate() {
                assert_eq!((1..=2000).all(|key| caches.has_short(key)), number != 1);
                assert_eq!((0..2000).all(|k| caches.has_long(&long(k))), number != 1);
            }
        }
    }

    #[test]
    fn calls_on_one_thread_record_and_merge_nothing() {
        let mut all = workers(2);
        begin_call(&mut all[..1], usize::MAX);
        miss(&mut all[0], 1..=1000, 8);
        end_call(&mut all[..1]);
        assert!(all[0].sharing.update.entries.is_empty() && all[1].sharing.received.is_empty());
        begin_call(&mut all, usize::MAX);
        miss(&mut all[0], 1..=1000, 8);
        end_call(&mut all);
        begin_call(&mut all[1..], usize::MAX);
        assert!(!all[1].has_short(1));
        end_call(&mut all[1..]);
        begin_call(&mut all, usize::MAX);
        assert!(all[1].has_short(1));
    }

    #[test]
    fn updates_wait_for_a_text_that_is_long_beside_them() {
        let mut all = workers(2);
        begin_call(&mut all, usize::MAX);
        miss(&mut all[0], 1..=1000, 8);
        end_call(&mut all);
        for (entries, merged) in [(900, false), (1100, true)] {
            begin_call(&mut all, 2 * entries * BYTES_PER_ENTRY);
            assert_eq!(all[1].has_short(1000), merged);
            end_call(&mut all);
        }
        assert!((1..=1000).all(|key| all[1].has_short(key)));
    }

    #[test]
    fn memory_is_bounded() {
        for n in [2, 5] {
            let mut all = workers(n);
            let mut most = 0;
            for call in 0..20 {
                begin_call(&mut all, 0);
                for caches in &mut all {
                    miss(caches, (1..=300_000).map(|key| key + call * 300_000), 8);
                }
                end_call(&mut all);
                let pending = all[1].sharing.received.iter().map(|update| update.size()).sum::<usize>();
                assert!(pending <= MAX_RECEIVED_BYTES + 1024 * n, "{pending}");
                most = most.max(pending);
            }
            assert!(most >= MAX_RECEIVED_BYTES / 2, "{most}");
        }
    }

    #[test]
    fn longer_pieces_are_not_shared() {
        let mut all = workers(2);
        begin_call(&mut all, usize::MAX);
        for length in 16..=MAX_PIECE_BYTES + 1 {
            all[0].sharing.record_long(&vec![b'x'; length], &[7]);
        }
        assert_eq!(all[0].sharing.update.entries.len(), MAX_PIECE_BYTES - 15);
    }

    #[test]
    fn few_misses_are_recorded_where_lookups_seldom_hit() {
        let mut all = workers(2);
        begin_call(&mut all, usize::MAX);
        miss(&mut all[0], 1..=100_000, 1);
        end_call(&mut all);
        begin_call(&mut all, usize::MAX);
        assert_eq!((1..=100_000).filter(|&key| all[1].has_short(key)).count(), MIN_RECORDED);
    }
}
