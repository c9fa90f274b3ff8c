//! Output buffers sized for the worst case, one id per byte, and reused from call to call.
//!
//! The number of ids is known only after encoding. Untouched pages of a buffer cost only address space, but fresh pages cost
//! up to a fifth of the time of a warm call on 1 MB, so each worker pools a few buffers. Small results are copied out of a
//! pooled buffer; a large buffer becomes the result itself, because copying it would cost more than fresh pages.

use crate::cache::packed_ids::TokenId;
use crate::mem::zeroed;
use crate::{Error, Result};

/// Larger buffers are not pooled.
const MAX_POOLED_BYTES: usize = 32 << 20;
/// One for a whole call, one for a batch, and one for the next batch while that one waits for earlier ones.
const MAX_POOLED: usize = 3;

/// The buffers of one worker.
#[derive(Default)]
pub struct BufferPool<I>(Vec<Vec<I>>);

impl<I: TokenId> BufferPool<I> {
    /// A buffer of at least `n` elements with arbitrary contents: the shortest pooled one that suffices, or a new one.
    ///
    /// # Errors
    /// [`Error::NoMemory`].
    pub fn take(&mut self, n: usize) -> Result<Vec<I>> {
        let sufficient = (0..self.0.len()).filter(|&k| self.0[k].len() >= n);
        if let Some(k) = sufficient.min_by_key(|&k| self.0[k].len()) {
            return Ok(self.0.swap_remove(k));
        }
        // Rounded up so that the next, slightly longer text finds it long enough.
        let n = if is_pooled::<I>(n) { n.next_power_of_two() } else { n };
        zeroed(n).ok_or(Error::NoMemory { bytes: (n as u64).saturating_mul(size_of::<I>() as u64) })
    }

    /// Returns a buffer to the pool, which drops its shortest one if there are too many.
    pub fn give_back(&mut self, buffer: Vec<I>) {
        if !is_pooled::<I>(buffer.len()) {
            return;
        }
        self.0.push(buffer);
        if self.0.len() > MAX_POOLED {
            let shortest = (0..self.0.len()).min_by_key(|&k| self.0[k].len());
            shortest.map(|k| self.0.swap_remove(k));
        }
    }

    /// The first `len` elements of a buffer as a result of exactly that length.
    pub fn take_result(&mut self, mut buffer: Vec<I>, len: usize) -> Vec<I> {
        if is_pooled::<I>(buffer.len()) {
            let mut ids = Vec::new();
            if ids.try_reserve_exact(len).is_err() {
                // Without memory for a copy the buffer is the result.
                buffer.truncate(len);
                return buffer;
            }
            ids.extend_from_slice(&buffer[..len]);
            self.give_back(buffer);
            return ids;
        }
        // Shrinking returns the untouched pages; the ids stay in place.
        buffer.truncate(len);
        buffer.shrink_to_fit();
        buffer
    }
}

fn is_pooled<I>(len: usize) -> bool {
    len.saturating_mul(size_of::<I>()) <= MAX_POOLED_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(pool: &BufferPool<u16>) -> Vec<usize> {
        let mut lengths: Vec<usize> = pool.0.iter().map(Vec::len).collect();
        lengths.sort_unstable();
        lengths
    }

    #[test]
    fn the_shortest_sufficient_buffer_is_reused() {
        let mut pool = BufferPool::<u16>::default();
        for n in [100, 7, 3000, 60] {
            pool.give_back(vec![1; n]);
        }
        assert_eq!(lengths(&pool), [60, 100, 3000], "the shortest is dropped");
        assert_eq!(pool.take(61).unwrap().len(), 100);
        assert_eq!(pool.take(61).unwrap().len(), 3000);
        assert_eq!(pool.take(61).unwrap().len(), 64, "a new one");
        assert_eq!(lengths(&pool), [60]);
        pool.give_back(vec![1; MAX_POOLED_BYTES / 2]);
        pool.give_back(vec![1; MAX_POOLED_BYTES / 2 + 1]);
        assert_eq!(lengths(&pool), [60, MAX_POOLED_BYTES / 2], "too large to be pooled");
        assert!(matches!(pool.take(isize::MAX as usize / 2), Err(Error::NoMemory { .. })));
        assert!(matches!(pool.take(usize::MAX), Err(Error::NoMemory { .. })));
    }

    #[test]
    fn small_results_are_copied_and_large_ones_keep_the_buffer() {
        let mut pool = BufferPool::<u32>::default();
        for (n, pooled) in [(5, 1), (MAX_POOLED_BYTES / 4, 2), (MAX_POOLED_BYTES / 4 + 1, 2)] {
            let mut buffer = pool.take(n).unwrap();
            assert!(buffer.len() >= n);
            buffer[..5].copy_from_slice(&[5, 4, 3, 2, 1]);
            let ids = pool.take_result(buffer, 4);
            assert_eq!((&ids[..], ids.capacity(), pool.0.len()), (&[5, 4, 3, 2][..], 4, pooled));
        }
    }
}
