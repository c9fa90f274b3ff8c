//! Putting batches that threads finish in any order into one array in their order, while the threads go on.
//!
//! A batch is encoded into a buffer that is used again and again; as soon as all batches before it are known
//! to be whole, its place is known as well, and it is copied there while it is still in the cache. So fresh memory, which is
//! most of the cost, is touched once only, and by all threads.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::{Error, Result};

/// A batch that waits for those before it.
struct Waiting<I> {
    buffer: Vec<I>,
    len: usize,
    ends: Vec<usize>,
}

/// The array, and what of it is still to be given out.
struct State<'a, I> {
    rest: &'a mut [I],
    /// Places given out.
    taken: usize,
    /// The batch whose place begins at `rest`.
    next: usize,
    waiting: BTreeMap<usize, Waiting<I>>,
    offsets: Vec<i64>,
    buffers: Vec<Vec<I>>,
}

/// Takes batches in any order, from several threads.
pub struct OrderedOutput<'a, I>(Mutex<State<'a, I>>);

impl<'a, I: Copy + Default> OrderedOutput<'a, I> {
    /// Fills `place`, which must have room for all batches together.
    pub fn new(place: &'a mut [I]) -> Self {
        Self(Mutex::new(State {
            rest: place,
            taken: 0,
            next: 0,
            waiting: BTreeMap::new(),
            offsets: vec![0],
            buffers: Vec::new(),
        }))
    }

    /// A buffer of at least `n` places that was used before, with anything in them.
    pub fn used_buffer(&self, n: usize) -> Result<Option<Vec<I>>> {
        let buffer = self.0.lock().map_err(|_| Error::Interrupted)?.buffers.pop();
        Ok(buffer.filter(|buffer| buffer.len() >= n))
    }

    /// The first `len` places of `buffer` are the batch numbered `batch`, whose documents end at `ends` of these places.
    pub fn put(&self, batch: usize, buffer: Vec<I>, len: usize, ends: Vec<usize>) -> Result<()> {
        let mut ready = Vec::new();
        {
            let mut state = self.0.lock().map_err(|_| Error::Interrupted)?;
            state.waiting.insert(batch, Waiting { buffer, len, ends });
            while let Some(found) = state.next_whole() {
                ready.push(found);
            }
        }
        for (place, waiting) in &mut ready {
            place.copy_from_slice(&waiting.buffer[..waiting.len]);
        }
        let mut state = self.0.lock().map_err(|_| Error::Interrupted)?;
        state.buffers.extend(ready.into_iter().map(|(_, waiting)| waiting.buffer));
        Ok(())
    }

    /// How many places were filled, where each document begins, with the end of the last, and the buffers.
    pub fn finish(self) -> Result<(usize, Vec<i64>, Vec<Vec<I>>)> {
        let state = self.0.into_inner().map_err(|_| Error::Interrupted)?;
        Ok((state.taken, state.offsets, state.buffers))
    }
}

impl<'a, I> State<'a, I> {
    /// The next batch in order, if it is whole, and its place.
    fn next_whole(&mut self) -> Option<(&'a mut [I], Waiting<I>)> {
        let waiting = self.waiting.remove(&self.next)?;
        self.next += 1;
        let (place, rest) = std::mem::take(&mut self.rest).split_at_mut(waiting.len);
        self.rest = rest;
        self.offsets.extend(waiting.ends.iter().map(|&end| (self.taken + end) as i64));
        self.taken += waiting.len;
        Some((place, waiting))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_in_any_order_come_out_in_theirs() {
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]] {
            let mut place = vec![99_u16; 12];
            let in_order = OrderedOutput::new(&mut place);
            for batch in order {
                // Batch k is k ids of value k: one document that ends, and then the begin of another.
                let buffer = vec![batch as u16; 3];
                in_order.put(batch, buffer, batch, vec![batch.min(1)]).unwrap();
            }
            let (len, offsets, buffers) = in_order.finish().unwrap();
            assert_eq!((len, offsets, buffers.len()), (6, vec![0, 0, 1, 2, 4], 4));
            assert_eq!(place, [1, 2, 2, 3, 3, 3, 99, 99, 99, 99, 99, 99]);
        }
    }

    #[test]
    fn buffers_are_used_again_where_they_are_long_enough() {
        let mut place = vec![0_u16; 4];
        let in_order = OrderedOutput::new(&mut place);
        assert_eq!(in_order.used_buffer(0).unwrap(), None);
        let buffer = vec![7; 2];
        let address = buffer.as_ptr();
        in_order.put(0, buffer, 2, vec![2]).unwrap();
        let again = in_order.used_buffer(1).unwrap().unwrap();
        assert_eq!((again.as_ptr(), again.len()), (address, 2));
        in_order.put(1, again, 1, vec![1]).unwrap();
        assert_eq!(in_order.used_buffer(50).unwrap(), None);
    }
}
