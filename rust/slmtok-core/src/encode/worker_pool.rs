//! Workers with filled caches, kept between calls.
//!
//! Their mutex is only ever tried: a child of fork() may inherit it locked, and then creates new workers.

use std::sync::Mutex;

use super::{Encoder, Worker};
use crate::accel::cache_sharing::CacheSharing;
use crate::cache::packed_ids::TokenId;
use crate::parallel::available_threads;

/// Idle workers of either width.
pub struct WorkerPool {
    narrow: Mutex<Vec<Worker<u16>>>,
    wide: Mutex<Vec<Worker<u32>>>,
    /// As many as the machine runs at once, so that concurrent calls do not accumulate caches.
    max_idle: usize,
}

impl Default for WorkerPool {
    fn default() -> Self {
        Self { narrow: Mutex::default(), wide: Mutex::default(), max_idle: available_threads() }
    }
}

/// A [`TokenId`] (`u16` or `u32`) for which [`WorkerPool`] has workers.
pub trait PooledId: TokenId {
    /// The idle workers that write this type of id.
    fn idle(pool: &WorkerPool) -> &Mutex<Vec<Worker<Self>>>;
}

impl PooledId for u16 {
    fn idle(pool: &WorkerPool) -> &Mutex<Vec<Worker<Self>>> {
        &pool.narrow
    }
}

impl PooledId for u32 {
    fn idle(pool: &WorkerPool) -> &Mutex<Vec<Worker<Self>>> {
        &pool.wide
    }
}

impl WorkerPool {
    /// Sums over all idle workers.
    pub fn stats(&self) -> [(&'static str, u64); 3] {
        fn sums<I: TokenId>(idle: &Mutex<Vec<Worker<I>>>) -> [u64; 3] {
            let Ok(idle) = idle.try_lock() else { return [0; 3] };
            idle.iter()
                .fold([0; 3], |[n, misses, clears], worker| [n + 1, misses + worker.misses, clears + worker.clears()])
        }
        let (narrow, wide) = (sums(&self.narrow), sums(&self.wide));
        [("workers", narrow[0] + wide[0]), ("misses", narrow[1] + wide[1]), ("clears", narrow[2] + wide[2])]
    }
}

impl Encoder {
    /// Takes `n` workers for a call over `bytes` bytes of text, the most recently returned first.
    pub(super) fn take_workers<I: PooledId>(&self, n: usize, bytes: usize) -> Vec<Worker<I>> {
        let mut workers = Vec::with_capacity(n);
        if let Ok(mut idle) = I::idle(&self.workers).try_lock() {
            let keep = idle.len().saturating_sub(n);
            workers.extend(idle.drain(keep..).rev());
        }
        workers.resize_with(n, || Worker::new(self));
        CacheSharing::begin_call(workers.iter_mut().map(|worker| &mut worker.sharing), bytes);
        workers
    }

    /// Returns the workers of a call to the pool, so that the first one is taken first again.
    pub(super) fn return_workers<I: PooledId>(&self, mut workers: Vec<Worker<I>>) {
        CacheSharing::end_call(workers.iter_mut().map(|worker| &mut worker.sharing));
        if let Ok(mut idle) = I::idle(&self.workers).try_lock() {
            let room = self.workers.max_idle.saturating_sub(idle.len());
            idle.extend(workers.into_iter().take(room).rev());
        }
    }

    /// As [`Encoder::take_workers`], for one.
    pub(super) fn take_worker<I: PooledId>(&self) -> Worker<I> {
        let idle = I::idle(&self.workers).try_lock().ok().and_then(|mut idle| idle.pop());
        idle.unwrap_or_else(|| Worker::new(self))
    }

    /// As [`Encoder::return_workers`], for one.
    pub(super) fn return_worker<I: PooledId>(&self, worker: Worker<I>) {
        if let Ok(mut idle) = I::idle(&self.workers).try_lock()
            && idle.len() < self.workers.max_idle
        {
            idle.push(worker);
        }
    }
}
