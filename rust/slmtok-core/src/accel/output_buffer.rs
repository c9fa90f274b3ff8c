//! Where ids are written before anybody knows how many there will be: a place for each byte of the text.
//!
//! Most of these places are never written, so addresses are what they take. Few of them, and those of one batch, are kept with a
//! worker: memory that is there from call to call, from which the ids are copied. To ask the system for fresh pages takes as long as
//! a third of the encoding. Of many places those that hold ids become the result, for to copy them would take longer; their memory
//! waits for the next such result, once that one is dropped ([`super::results`]).

use std::sync::Arc;

use crate::Result;
use crate::accel::id_buffer::{Ids, Spare, fresh};
use crate::cache::packed_ids::Id;

/// Bytes of places that are few; no stretch of more is kept.
const FEW: usize = 32 << 20;
/// So many are kept: those of a whole call, those of a batch, and those of the next, while that one waits for others.
const KEPT: usize = 3;

/// Places that a worker keeps.
#[derive(Default)]
pub struct Places<I>(Vec<Vec<I>>);

impl<I: Id> Places<I> {
    /// At least `n` of them with anything in them, to be given back.
    ///
    /// # Errors
    /// Memory that is not to be had.
    pub fn take(&mut self, n: usize) -> Result<Vec<I>> {
        let enough = (0..self.0.len()).filter(|&k| self.0[k].len() >= n);
        match enough.min_by_key(|&k| self.0[k].len()) {
            Some(k) => Ok(self.0.swap_remove(k)),
            // With some to spare, of which no memory is asked until they are written, so that the next text, a little longer, finds
            // enough.
            None => fresh(n.next_power_of_two()),
        }
    }

    /// What [`Places::take`] gave, here or elsewhere.
    pub fn give_back(&mut self, places: Vec<I>) {
        if size_of_val(&places[..]) > FEW {
            return;
        }
        self.0.push(places);
        if self.0.len() > KEPT {
            let shortest = (0..self.0.len()).min_by_key(|&k| self.0[k].len());
            shortest.map(|k| self.0.swap_remove(k));
        }
    }
}

/// Places for the ids of a whole call.
pub struct Whole<I> {
    places: Vec<I>,
    kept: bool,
}

impl<I: Id> Whole<I> {
    /// `n` places, which are of `from` if they are few, and else of `spare`.
    ///
    /// # Errors
    /// Memory that is not to be had.
    pub fn new(n: usize, from: &mut Places<I>, spare: &Spare<I>) -> Result<Self> {
        let kept = n.saturating_mul(size_of::<I>()) <= FEW;
        Ok(Self { places: if kept { from.take(n)? } else { spare.take(n)? }, kept })
    }

    /// Where to write.
    pub fn as_mut_slice(&mut self) -> &mut [I] {
        &mut self.places
    }

    /// The ids in the first `len` places.
    pub fn finish(self, len: usize, to: &mut Places<I>, spare: &Arc<Spare<I>>) -> Ids<I> {
        let Self { places, kept } = self;
        if !kept {
            return Ids::new(places, len, spare);
        }
        let ids = places[..len].to_vec();
        to.give_back(places);
        Ids::from(ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn the_shortest_that_is_long_enough_is_given() {
        let mut places = Places::<u16>::default();
        let lengths = |places: &Places<u16>| {
            let mut lengths: Vec<usize> = places.0.iter().map(Vec::len).collect();
            lengths.sort_unstable();
            lengths
        };
        for n in [100, 7, 3000, 60] {
            let taken = vec![1; n];
            places.give_back(taken);
        }
        assert_eq!(lengths(&places), [60, 100, 3000], "the shortest goes");
        assert_eq!(places.take(61).unwrap().len(), 100);
        assert_eq!(places.take(61).unwrap().len(), 3000);
        assert_eq!(places.take(61).unwrap().len(), 64, "new ones");
        assert_eq!(lengths(&places), [60]);
        places.give_back(vec![1; FEW / 2]);
        places.give_back(vec![1; FEW / 2 + 1]);
        assert_eq!(lengths(&places), [60, FEW / 2], "no more than few");
        assert!(matches!(places.take(isize::MAX as usize / 2), Err(Error::NoMemory { .. })));
    }

    #[test]
    fn few_places_are_kept_and_many_become_the_result() {
        let (mut from, spare) = (Places::<u32>::default(), Arc::new(Spare::default()));
        for (n, kept) in [(5, 1), (FEW / 4, 2), (FEW / 4 + 1, 2)] {
            let mut whole = Whole::new(n, &mut from, &spare).unwrap();
            assert!(whole.as_mut_slice().len() >= n);
            whole.as_mut_slice()[..5].copy_from_slice(&[5, 4, 3, 2, 1]);
            let ids = whole.finish(4, &mut from, &spare);
            assert_eq!((&ids[..], from.0.len()), (&[5, 4, 3, 2][..], kept));
        }
        assert!(matches!(Whole::new(usize::MAX, &mut from, &spare), Err(Error::NoMemory { .. })));
    }
}
