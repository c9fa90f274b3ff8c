//! The ids of a call, and what becomes of their memory.
//!
//! The system clears each fresh page before it gives it, which for a large result is a seventh of all the time that encoding takes. So the
//! memory of a large result that was dropped waits for the next one, of several that with most places. The system is told that it may take it back (`MADV_FREE`):
//! it does so when somebody needs memory, and else the next call finds its pages as they were.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, Weak};

use crate::cache::packed_ids::Id;
use crate::mem::{can_retain, madvise_free, zeroed};
use crate::{Error, Result};

/// Bytes of ids that may wait; the memory of more is freed.
const MOST_IDS: usize = 128 << 20;
/// Bytes of addresses that may wait.
const MOST_PLACES: usize = 512 << 20;
/// Places for each id that stay with a result: there is one for each byte of text, four for each character of a string, and few texts
/// have more bytes to an id.
const PLACES: usize = 6;

/// Memory that waits. Behind a mutex that is only ever tried: a child of a fork may inherit it locked.
pub struct Spare<I>(Mutex<Vec<I>>);

impl<I> Default for Spare<I> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<I: Id> Spare<I> {
    /// At least `n` places with anything in them: those that wait, if they are enough.
    ///
    /// # Errors
    /// Memory that is not to be had.
    pub fn take(&self, n: usize) -> Result<Vec<I>> {
        let waiting = self.0.try_lock().map(|mut places| std::mem::take(&mut *places)).unwrap_or_default();
        if waiting.len() >= n && can_retain() {
            return Ok(waiting);
        }
        drop(waiting);
        // With some to spare for a text that is a little longer: untouched, they take nothing but addresses.
        let more = n.saturating_add(n / 8);
        let some = if may_wait::<I>(more) { zeroed(more) } else { None };
        some.map_or_else(|| fresh(n), Ok)
    }

    /// Lets `places` wait, of which the first `touched` were written, and frees others that are fewer; or the other way round.
    fn put(&self, mut places: Vec<I>, touched: usize) {
        if let Ok(mut waiting) = self.0.try_lock()
            && waiting.len() < places.len()
            && madvise_free(&mut places[..touched])
        {
            *waiting = places;
        }
    }
}

/// So many places that nobody had before.
pub fn fresh<I: Id>(n: usize) -> Result<Vec<I>> {
    zeroed(n).ok_or(Error::NoMemory { bytes: (n as u64).saturating_mul(size_of::<I>() as u64) })
}

/// Whether so many places are few enough to wait.
fn may_wait<I>(places: usize) -> bool {
    places.saturating_mul(size_of::<I>()) <= MOST_PLACES && can_retain()
}

/// Ids. When they are dropped, their memory may be used for those of another call.
pub struct Ids<I: Id> {
    /// The ids, and maybe places behind them.
    places: Vec<I>,
    len: usize,
    /// Where the memory goes.
    home: Weak<Spare<I>>,
}

impl<I: Id> Ids<I> {
    /// The first `len` of `places`, which are of `home`.
    pub(crate) fn new(mut places: Vec<I>, len: usize, home: &Arc<Spare<I>>) -> Self {
        let (few, most) = (len.saturating_mul(size_of::<I>()) <= MOST_IDS, len.saturating_mul(PLACES));
        let waits = few && may_wait::<I>(places.len().min(most));
        places.truncate(if waits { most } else { len });
        // What was not written goes back to the system: the memory stays where it is.
        places.shrink_to_fit();
        if waits { Self { places, len, home: Arc::downgrade(home) } } else { Self::from(places) }
    }

    /// Whether the memory goes back to where it came from.
    #[must_use]
    pub fn are_lent(&self) -> bool {
        self.home.strong_count() > 0
    }

    /// The ids, with no memory behind them.
    #[must_use]
    pub fn into_vec(mut self) -> Vec<I> {
        let mut ids = std::mem::take(&mut self.places);
        ids.truncate(self.len);
        ids.shrink_to_fit();
        ids
    }
}

impl<I: Id> From<Vec<I>> for Ids<I> {
    fn from(ids: Vec<I>) -> Self {
        Self { len: ids.len(), places: ids, home: Weak::new() }
    }
}

impl<I: Id> Drop for Ids<I> {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade()
            && !self.places.is_empty()
        {
            home.put(std::mem::take(&mut self.places), self.len);
        }
    }
}

impl<I: Id> Deref for Ids<I> {
    type Target = [I];

    fn deref(&self) -> &[I] {
        &self.places[..self.len]
    }
}

impl<I: Id> fmt::Debug for Ids<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<I: Id> PartialEq for Ids<I> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<I: Id + Eq> Eq for Ids<I> {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ids in `n` places, the first `len` of which are written.
    fn result(home: &Arc<Spare<u32>>, n: usize, len: usize) -> Ids<u32> {
        let mut places = home.take(n).unwrap();
        assert!(places.len() >= n);
        places[..len].iter_mut().zip(0..).for_each(|(place, k)| *place = k);
        Ids::new(places, len, home)
    }

    #[test]
    fn memory_waits_for_the_next() {
        if !can_retain() {
            return;
        }
        let home = Arc::new(Spare::default());
        let (n, len) = (9 << 20, 3 << 20);
        let first = result(&home, n, len);
        let second = result(&home, n, len);
        let (one, two) = (first.as_ptr(), second.as_ptr());
        assert_ne!(one, two, "what lives is nobody else's");
        drop(first);
        assert_eq!(second[len - 1], len as u32 - 1);
        drop(second);
        let third = result(&home, n + n / 9, len + 7);
        assert_eq!(third.as_ptr(), one, "the one that waited first");
        assert!(third.iter().zip(0..).all(|(&id, k)| id == k) && third.len() == len + 7);
        let copy = Ids::from(third.to_vec());
        assert!(copy == third && !copy.are_lent() && third.are_lent());
        drop(third);
        // What waits is too little for this one, which `result` would tell.
        assert_eq!(result(&home, 2 * n, len).into_vec().capacity(), len);
    }

    #[test]
    fn what_is_large_is_freed() {
        let home = Arc::new(Spare::default());
        let large = result(&home, MOST_IDS / 4 + 9, MOST_IDS / 4 + 1);
        assert!(!large.are_lent() && large.places.capacity() == large.len());
        drop(large);
        assert!(home.0.lock().unwrap().is_empty());
        let wide = result(&home, MOST_PLACES / 4 + 1, 10);
        let kept = if can_retain() { 10 * PLACES } else { 10 };
        assert_eq!((wide.are_lent(), wide.places.capacity()), (can_retain(), kept));
        assert!(matches!(home.take(usize::MAX / 2), Err(Error::NoMemory { .. })));
    }

    #[test]
    fn ids_outlive_where_they_came_from() {
        let home = Arc::new(Spare::default());
        let ids = result(&home, 100, 10);
        drop(home);
        assert!(!ids.are_lent());
        assert_eq!(ids.to_vec(), (0..10).collect::<Vec<u32>>());
    }

    #[test]
    fn a_locked_home_is_passed_by() {
        let home = Arc::new(Spare::default());
        let ids = result(&home, 100, 10);
        let locked = home.0.lock().unwrap();
        drop(ids);
        assert!(home.take(100).unwrap().len() >= 100);
        assert!(locked.is_empty());
    }
}
