//! Cancellation of long work: a flag that all threads of one call share.
//!
//! Matching a custom pattern and merging a piece of megabytes take long between two batches, so such loops call [`check`].
//! The flag is thread-local: the layers that loop do not know the calls that they serve. Without a flag, [`check`] succeeds.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::threads::spawn;
use crate::{Error, Result};

/// Interval of polling, a small part of the second within which a signal must be heard.
pub const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A flag that ends the work of all threads that run in its scope.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    requested: Arc<AtomicBool>,
    /// From this time on the flag counts as set.
    deadline: Option<Instant>,
}

thread_local! {
    static CURRENT: RefCell<Option<Interrupt>> = const { RefCell::new(None) };
    /// Checks of a deadline until the clock is read.
    static CHECKS_LEFT: Cell<u32> = const { Cell::new(0) };
}

/// Checks of a deadline for each reading of the clock, which takes up to half as long as a search by a custom pattern.
const CHECKS_PER_READING: u32 = 16;

/// Makes the next check of a deadline read the clock: after work that may have taken much longer than others.
pub fn read_clock_next() {
    CHECKS_LEFT.set(0);
}

fn is_past(deadline: Instant) -> bool {
    let is_due = CHECKS_LEFT.get() == 0;
    CHECKS_LEFT.set(if is_due { CHECKS_PER_READING } else { CHECKS_LEFT.get() } - 1);
    is_due && Instant::now() >= deadline
}

/// Restores the flag of the outer scope, also after a panic.
struct Restore(Option<Interrupt>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

impl Interrupt {
    /// Makes [`check`] fail in every scope of this flag.
    pub fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed) || self.deadline.is_some_and(is_past)
    }

    /// Runs `work` in the scope of this flag.
    pub fn scope<T>(&self, work: impl FnOnce() -> T) -> T {
        in_scope_of(Some(self), work)
    }

    /// The flag of the current scope.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }
}

/// Runs `work` in the scope of `interrupt`: how a thread enters the scope of the thread that started it.
pub fn in_scope_of<T>(interrupt: Option<&Interrupt>, work: impl FnOnce() -> T) -> T {
    let _restore = Restore(CURRENT.replace(interrupt.cloned()));
    work()
}

/// Fails once the flag of the current scope is set. Takes some nanoseconds.
///
/// # Errors
/// [`Error::Interrupted`].
#[inline]
pub fn check() -> Result<()> {
    let requested = CURRENT.with_borrow(|flag| flag.as_ref().is_some_and(Interrupt::is_requested));
    if requested { Err(Error::Interrupted) } else { Ok(()) }
}

/// Steps of a loop between two checks by [`check_at`].
const CHECK_INTERVAL: usize = 1 << 16;

/// As [`check`], for a loop with short steps: checks only at some of them, by the number of the `step`.
///
/// # Errors
/// As [`check`].
#[inline(always)]
pub fn check_at(step: usize) -> Result<()> {
    if step.is_multiple_of(CHECK_INTERVAL) { check() } else { Ok(()) }
}

/// Runs `work` on another thread, while this one calls `poll` every [`POLL_INTERVAL`]. An error of `poll` interrupts `work`.
///
/// # Errors
/// That of `poll`, else that of `work`; [`Error::NoThread`].
pub fn supervised<T: Send>(poll: &mut dyn FnMut() -> Result<()>, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let interrupt = Interrupt::default();
    std::thread::scope(|scope| {
        let (running, ended) = channel::<()>();
        let handle = spawn(scope, || {
            // Dropped at the end of the thread, also after a panic; this ends the wait below.
            let _running = running;
            interrupt.scope(work)
        })?;
        let mut polled = Ok(());
        while ended.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            if polled.is_ok() {
                polled = check().and_then(|()| poll());
                if polled.is_err() {
                    interrupt.request();
                }
            }
        }
        let outcome = handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        polled.and(outcome)
    })
}

/// As [`supervised`], for work that mostly ends within [`POLL_INTERVAL`]: it runs on this thread for so long, and only if it has
/// not ended then it begins again on another. Starting a thread costs as much as splitting 1 kB by a custom pattern.
///
/// # Errors
/// Those of [`supervised`].
pub fn supervised_if_slow<T: Send>(
    poll: &mut dyn FnMut() -> Result<()>,
    work: impl Fn() -> Result<T> + Sync,
) -> Result<T> {
    let short = Interrupt { deadline: Some(Instant::now() + POLL_INTERVAL), ..Interrupt::default() };
    match short.scope(&work) {
        Err(Error::Interrupted) => supervised(poll, &work),
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loops until it is interrupted.
    fn spin() -> Result<()> {
        loop {
            check()?;
            std::thread::yield_now();
        }
    }

    #[test]
    fn scopes_nest_and_end() {
        let (outer, inner) = (Interrupt::default(), Interrupt::default());
        outer.scope(|| {
            inner.request();
            assert_eq!(inner.scope(check), Err(Error::Interrupted));
            assert_eq!(check(), Ok(()));
            outer.request();
            assert_eq!(check(), Err(Error::Interrupted));
        });
        assert_eq!(check(), Ok(()));
    }

    #[test]
    fn polling_interrupts_work_and_its_error_counts() {
        let mut polls = 0;
        let outcome: Result<()> = supervised(
            &mut || {
                polls += 1;
                if polls < 3 { Ok(()) } else { Err(Error::NoMemory { bytes: polls }) }
            },
            spin,
        );
        assert_eq!((outcome, polls), (Err(Error::NoMemory { bytes: 3 }), 3));
    }

    #[test]
    fn slow_work_begins_again_on_another_thread_and_is_polled() {
        let caller = std::thread::current().id();
        let quick = || Ok(std::thread::current().id());
        assert_eq!(supervised_if_slow(&mut || Err(Error::Poisoned), quick), Ok(caller));
        let slow = || if std::thread::current().id() == caller { spin().map(|()| caller) } else { quick() };
        assert_ne!(supervised_if_slow(&mut || Ok(()), slow), Ok(caller));
        assert_eq!(supervised_if_slow(&mut || Err(Error::Poisoned), spin), Err(Error::Poisoned));
    }

    #[test]
    fn an_outer_interrupt_ends_supervised_work() {
        let outer = Interrupt::default();
        outer.request();
        assert_eq!(outer.scope(|| supervised(&mut || Ok(()), spin)), Err(Error::Interrupted));
    }

    #[test]
    fn a_panic_of_the_work_keeps_its_message() {
        let panic = std::panic::catch_unwind(|| supervised::<()>(&mut || Ok(()), || panic!("the message")));
        assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&"the message"));
    }
}
