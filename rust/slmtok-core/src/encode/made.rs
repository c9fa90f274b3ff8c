//! Encoding documents of which some have no bytes yet: strings, which one thread alone may turn into UTF-8.
//!
//! The calling thread makes a portion of documents at a time, and encodes whenever the others have enough to do. A portion's bytes are
//! encoded while they are in the cache, and then its memory is that of another: fresh memory for all of them would take longer than
//! making them.

use super::batch::{Batch, Frame, Region, finish};
use super::in_order::InOrder;
use super::portion::{Document, Make, Portion};
use super::tasks::{Closed, Queue, Task, tasks};
use super::warm::Pooled;
use super::worker::room;
use super::{Encoder, Worker};
use crate::parallel::{BATCH_BYTES, Report, thread_count};
use crate::pretoken::Pattern;
use crate::transcode::Utf8;
use crate::{Error, Result};

/// What is left of the documents.
struct Supply<'s, 'd> {
    pattern: &'s Pattern,
    documents: &'s [Document<'d>],
    next: usize,
    /// Of the next task.
    number: usize,
}

impl<'d> Supply<'_, 'd> {
    /// Makes a portion.
    fn hand_on(&mut self, queue: &Queue<'d>, make: Make<'_>) {
        let memory = queue.state().spare.pop().unwrap_or_default();
        match Portion::new(memory, self.documents, self.next, make) {
            Ok((portion, after)) => {
                let tasks = tasks(self.pattern, portion, self.number);
                (self.next, self.number) = (after, self.number + tasks.len());
                queue.add(tasks);
            }
            Err(error) => queue.state().fail(self.number, error),
        }
    }
}

impl Encoder {
    /// As [`Encoder::encode_batch`], for documents of which `make` makes some. `report` is told shares of the documents.
    ///
    /// # Errors
    /// What [`Encoder::encode_batch`] reports, and what `make` returns.
    pub fn encode_made<I: Pooled>(
        &self,
        documents: &[Document<'_>],
        threads: usize,
        frame: Frame,
        make: Make<'_>,
        report: Report<'_>,
    ) -> Result<Batch<I>> {
        self.check_frame(frame)?;
        let most: usize = documents.iter().map(|document| document.most() + 2).sum();
        let threads = thread_count(threads, most.div_ceil(BATCH_BYTES));
        // Each batch, and there is at most one that is not full for each document, writes its last entry whole.
        let places = most + (documents.len() + most / BATCH_BYTES + 1) * room::<I>(0);
        let share: u64 = documents.iter().map(Document::share).sum();
        let mut workers = self.take_workers::<I>(threads, share as usize);
        let batch = self.written(places, &mut workers, |workers, ids| match workers {
            [worker] => self.made_alone(documents, frame, make, worker, ids, report),
            workers => self.made_shared(documents, frame, make, workers, ids, report),
        });
        self.return_workers(workers);
        batch
    }

    fn made_alone<I: Pooled>(
        &self,
        documents: &[Document<'_>],
        frame: Frame,
        make: Make<'_>,
        worker: &mut Worker<I>,
        ids: &mut [I],
        report: Report<'_>,
    ) -> Result<(usize, Vec<i64>)> {
        let (mut region, mut next, mut done, mut made) = (Region::new(ids), 0, 0, Utf8::default());
        while next < documents.len() {
            let (portion, after) = Portion::new(made, documents, next, make)?;
            next = after;
            let tasks = tasks(&self.pattern, portion, 0);
            for task in &tasks {
                self.encode_part(worker, task.part(&task.portion.documents.slices(), frame), &mut region)?;
                done += task.share;
                report(done)?;
            }
            made = tasks.into_iter().find_map(Task::into_memory).unwrap_or_default();
        }
        Ok(region.finish())
    }

    fn made_shared<'d, I: Pooled>(
        &self,
        documents: &[Document<'d>],
        frame: Frame,
        make: Make<'_>,
        workers: &mut [Worker<I>],
        ids: &mut [I],
        report: Report<'_>,
    ) -> Result<(usize, Vec<i64>)> {
        let (threads, in_order) = (workers.len(), InOrder::new(ids));
        let queue = Queue::default();
        let work = |worker: &mut Worker<I>, task: Task<'d>| {
            let documents = task.portion.documents.slices();
            let outcome = self.encode_in_order(worker, task.part(&documents, frame), task.number, &in_order);
            queue.finish(task, outcome);
        };
        let Some((mine, others)) = workers.split_first_mut() else { return Err(Error::Interrupted) };
        let serve = |worker: &mut Worker<I>| {
            let _closed = Closed(&queue);
            while let Some(task) = queue.take() {
                work(worker, task);
            }
        };
        std::thread::scope(|scope| {
            let closed = Closed(&queue);
            let handles: Vec<_> = others.iter_mut().map(|worker| scope.spawn(|| serve(worker))).collect();
            let mut supply = Supply { pattern: &self.pattern, documents, next: 0, number: 0 };
            loop {
                let state = queue.state();
                if state.closed {
                    break;
                }
                let wanted = state.waiting.len() < threads;
                drop(state);
                if wanted && supply.next < documents.len() {
                    supply.hand_on(&queue, make);
                } else if let Some(task) = queue.take_at_once() {
                    work(mine, task);
                } else if supply.next == documents.len() {
                    break;
                }
                let done = queue.state().done;
                if let Err(error) = report(done) {
                    queue.state().fail(supply.number, error);
                }
            }
            drop(closed);
            for handle in handles {
                if let Err(panic) = handle.join() {
                    std::panic::resume_unwind(panic);
                }
            }
        });
        report(queue.outcome()?)?;
        finish(in_order, workers)
    }
}

#[cfg(test)]
#[path = "made_tests.rs"]
mod tests;
