//! Ordered parallel work: results leave in the order of their tasks, whichever thread finishes first.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use crate::interrupt::Interrupt;
use crate::threads::builder;

/// Values that arrive in any order and leave by ascending index, without gaps.
#[derive(Debug)]
pub struct Reorder<T> {
    next: usize,
    waiting: BTreeMap<usize, T>,
}

impl<T> Default for Reorder<T> {
    fn default() -> Self {
        Self { next: 0, waiting: BTreeMap::new() }
    }
}

impl<T> Reorder<T> {
    /// Adds the value with this index.
    pub fn insert(&mut self, index: usize, value: T) {
        self.waiting.insert(index, value);
    }

    /// The value whose index is next, once it has arrived.
    pub fn pop(&mut self) -> Option<T> {
        let value = self.waiting.remove(&self.next)?;
        self.next += 1;
        Some(value)
    }
}

/// What [`OrderedMap::next`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<R> {
    /// The next result.
    Ready(R),
    /// None within the time limit.
    Pending,
    /// There are no more.
    Ended,
}

/// `work` applied to each task of a producer on several threads. Results come in the order of the tasks, and at most
/// `2 * threads` tasks are in flight, so memory stays bounded however slow the consumer is.
pub struct OrderedMap<T, R> {
    shared: Arc<Shared<T, R>>,
    threads: usize,
}

struct Shared<T, R> {
    producer: Mutex<Producer<T>>,
    work: Box<dyn Fn(T) -> R + Send + Sync>,
    /// Requested when the map is stopped: tasks in progress end early.
    interrupt: Interrupt,
    state: Mutex<State<R>>,
    changed: Condvar,
}

/// The tasks, numbered in their order. Its lock is held while a task is produced.
struct Producer<T> {
    next: Box<dyn FnMut() -> Option<T> + Send>,
    produced: usize,
    ended: bool,
}

struct State<R> {
    results: Reorder<R>,
    /// Tasks that were requested and whose results have not been taken.
    in_flight: usize,
    running: usize,
    /// All that were started, so that [`OrderedMap::stop`] on one of them does not wait for itself.
    threads: Vec<ThreadId>,
    ended: bool,
    stopped: bool,
    panic: Option<Box<dyn Any + Send>>,
}

impl<T: Send + 'static, R: Send + 'static> OrderedMap<T, R> {
    /// Starts the threads. With none, [`OrderedMap::next`] produces and works itself: for a producer that may block for ever.
    pub fn new(
        threads: usize,
        producer: impl FnMut() -> Option<T> + Send + 'static,
        work: impl Fn(T) -> R + Send + Sync + 'static,
    ) -> Self {
        let results = Reorder::default();
        let state = State {
            results,
            in_flight: 0,
            running: threads,
            threads: Vec::new(),
            ended: false,
            stopped: false,
            panic: None,
        };
        let shared = Arc::new(Shared {
            producer: Mutex::new(Producer { next: Box::new(producer), produced: 0, ended: false }),
            work: Box::new(work),
            interrupt: Interrupt::default(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        let start = |_: &usize| {
            let shared = Arc::clone(&shared);
            let run = move || shared.interrupt.scope(|| shared.run(2 * threads));
            builder().spawn(run).is_ok()
        };
        // The threads that start do the work of one that does not.
        let started = (0..threads).take_while(start).count();
        shared.lock().running -= threads - started;
        Self { shared, threads: started }
    }

    /// The next result in order; waits at most `timeout` for it. A panic of a thread is raised here.
    pub fn next(&self, timeout: Duration) -> Next<R> {
        if self.threads == 0 {
            return match self.shared.produce() {
                Some((_, task)) => Next::Ready((self.shared.work)(task)),
                None => Next::Ended,
            };
        }
        let deadline = Instant::now() + timeout;
        let mut state = self.shared.lock();
        loop {
            if let Some(result) = state.results.pop() {
                state.in_flight -= 1;
                self.shared.changed.notify_all();
                return Next::Ready(result);
            }
            if let Some(panic) = state.panic.take() {
                drop(state);
                resume_unwind(panic);
            }
            if state.ended && state.in_flight == 0 {
                return Next::Ended;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Next::Pending;
            }
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Tells the threads to end, interrupts their current tasks, and waits at most `timeout` for that; called by one of
    /// them, it does not wait.
    pub fn stop(&self, timeout: Duration) {
        self.shared.interrupt.request();
        let mut state = self.shared.lock();
        state.stopped = true;
        self.shared.changed.notify_all();
        if state.threads.contains(&thread::current().id()) {
            return;
        }
        let deadline = Instant::now() + timeout;
        while state.running > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl<T, R> Drop for OrderedMap<T, R> {
    fn drop(&mut self) {
        self.shared.interrupt.request();
        self.shared.lock().stopped = true;
        self.shared.changed.notify_all();
    }
}

impl<T, R> Shared<T, R> {
    fn lock(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next task with its index.
    fn produce(&self) -> Option<(usize, T)> {
        let mut producer = self.producer.lock().unwrap_or_else(PoisonError::into_inner);
        if producer.ended {
            return None;
        }
        // Set before the call: a producer that panicked is not called again.
        producer.ended = true;
        let task = (producer.next)()?;
        producer.ended = false;
        producer.produced += 1;
        Some((producer.produced - 1, task))
    }

    /// One thread: requests tasks while fewer than `capacity` are in flight.
    fn run(&self, capacity: usize) {
        self.lock().threads.push(thread::current().id());
        let panic = catch_unwind(AssertUnwindSafe(|| {
            while self.reserve(capacity) {
                let Some((index, task)) = self.produce() else {
                    let mut state = self.lock();
                    state.in_flight -= 1;
                    state.ended = true;
                    break;
                };
                let result = (self.work)(task);
                self.lock().results.insert(index, result);
                self.changed.notify_all();
            }
        }));
        let mut state = self.lock();
        state.running -= 1;
        state.panic = panic.err().or(state.panic.take());
        self.changed.notify_all();
    }

    /// Waits until another task may be requested; false once there are no more or the map was stopped.
    fn reserve(&self, capacity: usize) -> bool {
        let mut state = self.lock();
        while state.in_flight >= capacity && !state.stopped && !state.ended {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let more = !state.stopped && !state.ended;
        state.in_flight += usize::from(more);
        more
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn collect<T: Send + 'static, R: Send + 'static>(map: &OrderedMap<T, R>) -> Vec<R> {
        let mut found = Vec::new();
        while let Next::Ready(result) = map.next(LONG) {
            found.push(result);
        }
        found
    }

    #[test]
    fn reorder_returns_values_by_index() {
        let mut reorder = Reorder::default();
        reorder.insert(1, "b");
        assert_eq!(reorder.pop(), None);
        reorder.insert(0, "a");
        assert_eq!((reorder.pop(), reorder.pop(), reorder.pop()), (Some("a"), Some("b"), None));
    }

    #[test]
    fn results_leave_in_the_order_of_tasks() {
        for threads in [0, 1, 2, 7] {
            let mut tasks = 0..200_u64;
            let map = OrderedMap::new(
                threads,
                move || tasks.next(),
                |task| {
                    thread::sleep(Duration::from_micros((task * 7919) % 300));
                    task * task
                },
            );
            assert!(collect(&map).into_iter().eq((0..200).map(|task| task * task)), "{threads} threads");
            assert_eq!(map.next(LONG), Next::Ended);
        }
    }

    #[test]
    fn tasks_in_flight_are_bounded() {
        let produced = Arc::new(Mutex::new(0));
        let count = Arc::clone(&produced);
        let map = OrderedMap::new(
            2,
            move || {
                *count.lock().unwrap() += 1;
                Some(())
            },
            |()| (),
        );
        assert_eq!(map.next(LONG), Next::Ready(()));
        thread::sleep(Duration::from_millis(50));
        assert!(*produced.lock().unwrap() <= 5);
        map.stop(LONG);
    }

    #[test]
    fn a_slow_task_is_pending() {
        let mut tasks = 0..1;
        let map = OrderedMap::new(1, move || tasks.next(), |_| thread::sleep(Duration::from_millis(100)));
        assert_eq!(map.next(Duration::from_millis(1)), Next::Pending);
        assert_eq!(map.next(LONG), Next::Ready(()));
    }

    #[test]
    fn a_thread_of_the_map_does_not_wait_for_its_own_end() {
        let map: Arc<OnceLock<OrderedMap<(), ()>>> = Arc::default();
        let own = Arc::clone(&map);
        let mut tasks = 0..1;
        let started = OrderedMap::new(1, move || tasks.next().map(|_| ()), move |()| own.wait().stop(LONG));
        assert!(map.set(started).is_ok());
        assert_eq!(map.wait().next(LONG / 2), Next::Ready(()));
    }

    #[test]
    fn panics_reach_the_consumer() {
        for threads in [0, 2] {
            let mut tasks = 0..10;
            let map = OrderedMap::new(threads, move || tasks.next(), |task| assert!(task != 3, "task {task}"));
            assert!(catch_unwind(AssertUnwindSafe(|| collect(&map))).is_err(), "{threads} threads");
        }
    }
}
