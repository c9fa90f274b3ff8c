//! Batches of portions, handed from the thread that makes them to all that encode.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::batch::{Frame, Part};
use crate::accel::portion::Portion;
use crate::accel::transcode::Utf8;
use crate::parallel::WorkPlan;
use crate::pretoken::Pattern;
use crate::{Error, Result};

/// A batch of a portion.
pub struct Task<'a> {
    /// In the order of all.
    pub number: usize,
    pub portion: Arc<Portion<'a>>,
    pub plan: Arc<WorkPlan>,
    /// Of the plan.
    pub batch: usize,
    /// Of all the work.
    pub share: u64,
}

impl Task<'_> {
    /// What is to be encoded, of a portion with these documents.
    pub fn part<'p>(&'p self, documents: &'p [&'p [u8]], frame: Frame) -> Part<'p> {
        Part { plan: &self.plan, batch: self.batch, documents, frame }
    }

    /// The memory of its portion, if no other task needs it.
    pub fn into_memory(self) -> Option<Utf8> {
        Arc::into_inner(self.portion).map(|portion| portion.documents.into_made())
    }
}

/// The batches of `portion`, numbered from `number` on.
pub fn tasks<'a>(pattern: &Pattern, portion: Portion<'a>, number: usize) -> Vec<Task<'a>> {
    let plan = Arc::new(WorkPlan::new(pattern, &portion.documents.slices()));
    let portion = Arc::new(portion);
    let mut left = portion.share;
    let batches = plan.batches.iter().enumerate();
    batches
        .map(|(batch, spans)| {
            let bytes: usize = plan.spans[spans.clone()].iter().map(|span| span.range.len()).sum();
            let last = batch + 1 == plan.batches.len();
            let share = if last { left } else { left.min(portion.share * bytes as u64 / plan.bytes as u64) };
            left -= share;
            Task { number: number + batch, portion: Arc::clone(&portion), plan: Arc::clone(&plan), batch, share }
        })
        .collect()
}

/// Tasks that wait, for threads that do.
#[derive(Default)]
pub struct Queue<'a> {
    state: Mutex<State<'a>>,
    wake: Condvar,
}

/// What [`Queue`] holds.
#[derive(Default)]
pub struct State<'a> {
    pub waiting: VecDeque<Task<'a>>,
    /// No more will come.
    pub closed: bool,
    /// The failure of the lowest number.
    pub failure: Option<(usize, Error)>,
    /// Memory of portions that are done.
    pub spare: Vec<Utf8>,
    /// Of the work, what is done.
    pub done: u64,
}

impl<'a> Queue<'a> {
    /// Adds tasks.
    pub fn add(&self, tasks: Vec<Task<'a>>) {
        self.state().waiting.extend(tasks);
        self.wake.notify_all();
    }

    /// Locked.
    pub fn state(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next task; waits for one if there is none and more may come.
    pub fn take(&self) -> Option<Task<'a>> {
        let mut state = self.state();
        loop {
            if let Some(task) = state.waiting.pop_front() {
                return Some(task);
            }
            if state.closed {
                return None;
            }
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The next task, if there is one now.
    pub fn take_at_once(&self) -> Option<Task<'a>> {
        self.state().waiting.pop_front()
    }

    /// How much of the work was done, or the failure of the lowest number.
    pub fn outcome(self) -> Result<u64> {
        let State { failure, done, .. } = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        failure.map_or(Ok(done), |(_, error)| Err(error))
    }

    /// Notes that a task is done. After a failure nobody begins anything.
    pub fn finish(&self, task: Task<'a>, outcome: Result<()>) {
        let mut state = self.state();
        state.done += task.share;
        if let Err(error) = outcome {
            state.fail(task.number, error);
        }
        state.spare.extend(task.into_memory());
    }

    /// No more will come.
    pub fn close(&self) {
        self.state().closed = true;
        self.wake.notify_all();
    }
}

impl State<'_> {
    /// Nothing is begun any more.
    pub fn fail(&mut self, number: usize, error: Error) {
        if self.failure.as_ref().is_none_or(|(first, _)| number < *first) {
            self.failure = Some((number, error));
        }
        self.waiting.clear();
        self.closed = true;
    }
}

/// Lets the waiting threads go, also when this one panics.
pub struct Closed<'q, 'a>(pub &'q Queue<'a>);

impl Drop for Closed<'_, '_> {
    fn drop(&mut self) {
        self.0.close();
    }
}
