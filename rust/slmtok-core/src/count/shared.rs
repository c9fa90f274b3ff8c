//! A counter for calls that may overlap: one call at a time has it, and none after an error.

use std::fmt;
use std::sync::Mutex;

use super::Counter;
use crate::Result;
use crate::parallel::lock;

/// A [`Counter`] that can be called through a shared reference.
pub struct SharedCounter(Mutex<State>);

type State = std::result::Result<Box<Counter>, Unusable>;

/// Why a [`SharedCounter`] has no counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// Another call has it.
    InUse,
    /// An error ended a call, so part of its documents is counted.
    Aborted,
    /// [`SharedCounter::take`] was called.
    Finished,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InUse => "in use by another call",
            Self::Aborted => "aborted by an error",
            Self::Finished => "finished",
        })
    }
}

impl SharedCounter {
    /// Shares a counter.
    #[must_use]
    pub fn new(counter: Counter) -> Self {
        Self(Mutex::new(Ok(Box::new(counter))))
    }

    /// Runs `feed` on the counter, or returns why that is impossible. After an error or a panic of `feed` it always is.
    ///
    /// # Errors
    /// Those of `feed`, and [`crate::Error::Poisoned`].
    pub fn feed<T>(&self, feed: impl FnOnce(&mut Counter) -> Result<T>) -> Result<std::result::Result<T, Unusable>> {
        let mut counter = match self.replace(Unusable::InUse)? {
            Ok(counter) => counter,
            Err(reason) => return Ok(Err(reason)),
        };
        let mut returned = ReturnOnDrop { shared: self, state: Err(Unusable::Aborted) };
        let outcome = feed(&mut counter)?;
        returned.state = Ok(counter);
        Ok(Ok(outcome))
    }

    /// Takes the counter for good, or returns why that is impossible.
    ///
    /// # Errors
    /// [`crate::Error::Poisoned`].
    pub fn take(&self) -> Result<std::result::Result<Counter, Unusable>> {
        Ok(self.replace(Unusable::Finished)?.map(|counter| *counter))
    }

    /// The number of documents, or why it is unknown.
    ///
    /// # Errors
    /// [`crate::Error::Poisoned`].
    pub fn documents(&self) -> Result<std::result::Result<u64, Unusable>> {
        Ok(lock(&self.0)?.as_ref().map(|counter| counter.documents()).map_err(|&reason| reason))
    }

    /// Takes the counter out, and leaves `reason` in its place; an earlier reason stays.
    fn replace(&self, reason: Unusable) -> Result<State> {
        let mut state = lock(&self.0)?;
        match &*state {
            Ok(_) => Ok(std::mem::replace(&mut *state, Err(reason))),
            Err(earlier) => Ok(Err(*earlier)),
        }
    }
}

/// Puts the state back at the end of a call, also after a panic.
struct ReturnOnDrop<'a> {
    shared: &'a SharedCounter,
    state: State,
}

impl Drop for ReturnOnDrop<'_> {
    fn drop(&mut self) {
        // A poisoned lock is an error of every later call.
        if let Ok(mut state) = lock(&self.shared.0) {
            *state = std::mem::replace(&mut self.state, Err(Unusable::Aborted));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::count::Limits;
    use crate::parallel::no_progress;
    use crate::pretoken::Pattern;

    fn shared() -> SharedCounter {
        SharedCounter::new(Counter::new(Pattern::new("gpt2").unwrap(), 1, Limits::default()))
    }

    #[test]
    fn one_call_at_a_time_has_the_counter_until_it_is_taken() {
        let shared = shared();
        for documents in 1..=3 {
            let fed = shared.feed(|counter| {
                assert_eq!(shared.feed(|_| Ok(())), Ok(Err(Unusable::InUse)));
                assert_eq!(shared.documents(), Ok(Err(Unusable::InUse)));
                counter.feed(&[b"a b"], &mut no_progress)
            });
            assert_eq!((fed, shared.documents()), (Ok(Ok(true)), Ok(Ok(documents))));
        }
        let counter = shared.take().unwrap().unwrap();
        assert_eq!(counter.documents(), 3);
        assert_eq!(shared.feed(|_| Ok(())), Ok(Err(Unusable::Finished)));
        assert_eq!(shared.take().unwrap().err(), Some(Unusable::Finished));
    }

    #[test]
    fn an_error_and_a_panic_make_it_unusable() {
        let shared = shared();
        assert_eq!(shared.feed(|_| Err::<(), _>(Error::Interrupted)), Err(Error::Interrupted));
        assert_eq!(shared.feed(|_| Ok(())), Ok(Err(Unusable::Aborted)));
        assert_eq!(shared.documents(), Ok(Err(Unusable::Aborted)));
        let shared = self::shared();
        let panic = std::panic::AssertUnwindSafe(|| shared.feed::<()>(|_| panic!("in a call")));
        assert!(std::panic::catch_unwind(panic).is_err());
        assert_eq!(shared.take().unwrap().err(), Some(Unusable::Aborted));
    }
}
