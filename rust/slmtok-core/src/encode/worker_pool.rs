//! Workers that wait between calls with their caches full.
//!
//! Behind a mutex that is only ever tried: a child of a fork may inherit it locked, and then makes new workers. Nothing here
//! outlives the encoder.

use std::sync::{Arc, Mutex};

use super::{Encoder, Worker};
use crate::accel::cache_sharing::Post;
use crate::accel::id_buffer::Spare;
use crate::cache::packed_ids::Id;
use crate::parallel::available_threads;

/// Waiting workers of either width.
pub struct WorkerPool {
    narrow: Mutex<Vec<Worker<u16>>>,
    wide: Mutex<Vec<Worker<u32>>>,
    /// No more of them wait than the machine can run at once, so that many calls at the same time do not leave their caches
    /// behind.
    most: usize,
    narrow_spare: Arc<Spare<u16>>,
    wide_spare: Arc<Spare<u32>>,
}

impl Default for WorkerPool {
    fn default() -> Self {
        Self {
            narrow: Mutex::default(),
            wide: Mutex::default(),
            most: available_threads(),
            narrow_spare: Arc::default(),
            wide_spare: Arc::default(),
        }
    }
}

/// Widths that have a place in [`WorkerPool`].
pub trait Pooled: Id {
    /// The workers of this width.
    fn pool(warm: &WorkerPool) -> &Mutex<Vec<Worker<Self>>>;
    /// The memory that waits for results of this width.
    fn spare(warm: &WorkerPool) -> &Arc<Spare<Self>>;
}

impl Pooled for u16 {
    fn pool(warm: &WorkerPool) -> &Mutex<Vec<Worker<Self>>> {
        &warm.narrow
    }

    fn spare(warm: &WorkerPool) -> &Arc<Spare<Self>> {
        &warm.narrow_spare
    }
}

impl Pooled for u32 {
    fn pool(warm: &WorkerPool) -> &Mutex<Vec<Worker<Self>>> {
        &warm.wide
    }

    fn spare(warm: &WorkerPool) -> &Arc<Spare<Self>> {
        &warm.wide_spare
    }
}

impl WorkerPool {
    /// Sums over all waiting workers.
    pub fn stats(&self) -> [(&'static str, u64); 3] {
        fn sums<I: Id>(pool: &Mutex<Vec<Worker<I>>>) -> (u64, u64, u64) {
            let Ok(pool) = pool.try_lock() else { return (0, 0, 0) };
            pool.iter().fold((0, 0, 0), |sum, worker| (sum.0 + 1, sum.1 + worker.misses, sum.2 + worker.wipes()))
        }
        let (narrow, wide) = (sums(&self.narrow), sums(&self.wide));
        [("workers", narrow.0 + wide.0), ("misses", narrow.1 + wide.1), ("wipes", narrow.2 + wide.2)]
    }
}

impl Encoder {
    /// Takes `n` workers for so many bytes of text, warm ones first. Others know as much as the first of these, if copying that for
    /// all of them is little beside the text.
    pub(super) fn take_workers<I: Pooled>(&self, n: usize, bytes: usize) -> Vec<Worker<I>> {
        /// Bytes of text for each byte that is copied.
        const PAYS: usize = 4;
        let mut workers = Vec::with_capacity(n);
        if let Ok(mut pool) = I::pool(&self.warm).try_lock() {
            let keep = pool.len().saturating_sub(n);
            workers.extend(pool.drain(keep..).rev());
        }
        let joiners = n - workers.len();
        let warm = workers.first().filter(|warm| warm.table_bytes().saturating_mul(joiners * PAYS) <= bytes);
        let joined: Vec<_> = (0..joiners)
            .map(|_| warm.map_or_else(|| Worker::new(self), |warm| Worker::as_warm_as(self, warm)))
            .collect();
        workers.extend(joined);
        Post::join(workers.iter_mut().map(|worker| &mut worker.post), bytes);
        workers
    }

    /// As [`Encoder::take_workers`], for one.
    pub(super) fn take_worker<I: Pooled>(&self) -> Worker<I> {
        let warm = I::pool(&self.warm).try_lock().ok().and_then(|mut pool| pool.pop());
        warm.unwrap_or_else(|| Worker::new(self))
    }

    /// As [`Encoder::return_workers`], for one.
    pub(super) fn return_worker<I: Pooled>(&self, worker: Worker<I>) {
        if let Ok(mut pool) = I::pool(&self.warm).try_lock()
            && pool.len() < self.warm.most
        {
            pool.push(worker);
        }
    }

    /// Puts workers back, the best first to be taken again.
    pub(super) fn return_workers<I: Pooled>(&self, mut workers: Vec<Worker<I>>) {
        workers.iter_mut().for_each(|worker| worker.post.part());
        if let Ok(mut pool) = I::pool(&self.warm).try_lock() {
            let room = self.warm.most.saturating_sub(pool.len());
            pool.extend(workers.into_iter().take(room).rev());
        }
    }
}
