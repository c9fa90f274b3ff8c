//! Encoding documents of which some have no bytes yet: strings, which one thread alone may turn into UTF-8.
//!
//! The calling thread makes a portion of documents at a time, and encodes whenever the others have enough to do. A portion's bytes are
//! encoded while they are in the cache, and then its memory is that of another: fresh memory for all of them would take longer than
//! making them.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::batch::{Batch, Frame, Region, places, shrunk, untouched};
use super::in_order::InOrder;
use super::warm::Pooled;
use super::worker::room;
use super::{Encoder, Worker};
use crate::transcode::{Mixed, Utf8};
use crate::work::{BATCH_BYTES, Plan, Report, thread_count};
use crate::{Error, Result};

/// A document, or what is known of it before it is made.
#[derive(Clone, Copy, Debug)]
pub enum Document<'a> {
    /// Its bytes.
    Bytes(&'a [u8]),
    /// Will be made from so many code points.
    Points(usize),
}

/// Adds the bytes of the document with this index. Called on the calling thread alone, in order.
pub type Make<'a> = &'a mut (dyn FnMut(usize, &mut Utf8) -> Result<()> + Send);

impl Document<'_> {
    /// The most bytes that it may have.
    fn most(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Points(points) => 4 * points,
        }
    }

    /// What of the work it is, where that is counted.
    #[must_use]
    pub fn share(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Points(points) => *points as u64,
        }
    }
}

/// Some documents, one after another.
struct Portion<'a> {
    documents: Mixed<'a>,
    /// Of all the work.
    share: u64,
}

impl<'a> Portion<'a> {
    /// The documents from `next` on that are about a mebibyte together, and the one that comes after them. `memory` is used again.
    fn new(mut memory: Utf8, documents: &[Document<'a>], mut next: usize, make: Make<'_>) -> Result<(Self, usize)> {
        memory.clear();
        let (mut portion, mut bytes) = (Self { documents: Mixed::new(memory), share: 0 }, 0);
        while let Some(document) = documents.get(next)
            && bytes < BATCH_BYTES
        {
            bytes += match *document {
                Document::Bytes(there) => {
                    portion.documents.add(there);
                    there.len()
                }
                Document::Points(_) => portion.documents.make(|made| make(next, made))?,
            };
            portion.share += document.share();
            next += 1;
        }
        Ok((portion, next))
    }
}

/// A batch of a portion.
struct Task<'a> {
    /// In the order of all.
    number: usize,
    portion: Arc<Portion<'a>>,
    plan: Arc<Plan>,
    batch: usize,
    share: u64,
}

/// The batches of `portion`, numbered from `number` on.
fn tasks<'a>(encoder: &Encoder, portion: Portion<'a>, number: usize) -> Vec<Task<'a>> {
    let plan = Arc::new(Plan::new(encoder.pattern(), &portion.documents.slices()));
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
struct Queue<'a> {
    state: Mutex<State<'a>>,
    wake: Condvar,
}

#[derive(Default)]
struct State<'a> {
    waiting: VecDeque<Task<'a>>,
    /// No more will come.
    closed: bool,
    /// The failure of the lowest number.
    failure: Option<(usize, Error)>,
    /// Memory of portions that are done.
    spare: Vec<Utf8>,
    /// Of the work, what is done.
    done: u64,
}

impl<'a> Queue<'a> {
    fn state(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next task; waits for one if there is none and more may come.
    fn take(&self) -> Option<Task<'a>> {
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

    /// After a failure nobody begins anything.
    fn finish(&self, task: Task<'a>, outcome: Result<()>) {
        let mut state = self.state();
        state.done += task.share;
        if let Some(portion) = Arc::into_inner(task.portion) {
            state.spare.push(portion.documents.into_made());
        }
        if let Err(error) = outcome {
            state.fail(task.number, error);
        }
    }

    fn close(&self) {
        self.state().closed = true;
        self.wake.notify_all();
    }
}

impl State<'_> {
    fn fail(&mut self, number: usize, error: Error) {
        if self.failure.as_ref().is_none_or(|(first, _)| number < *first) {
            self.failure = Some((number, error));
        }
        self.waiting.clear();
        self.closed = true;
    }
}

/// Lets the waiting threads go, also when this one panics.
struct Closed<'q, 'a>(&'q Queue<'a>);

impl Drop for Closed<'_, '_> {
    fn drop(&mut self) {
        self.0.close();
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
        let mut ids = untouched(most + (documents.len() + most / BATCH_BYTES + 1) * room::<I>(0));
        let mut workers = self.take_workers::<I>(threads);
        let encoded = if let [worker] = &mut workers[..] {
            self.made_alone(documents, frame, make, worker, &mut ids, report)
        } else {
            self.made_shared(documents, frame, make, &mut workers, &mut ids, report)
        };
        self.return_workers(workers);
        encoded.map(|(len, offsets)| Batch { ids: shrunk(ids, len), offsets })
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
            let tasks = tasks(self, portion, 0);
            for task in &tasks {
                let spans = task.plan.batches[task.batch].clone();
                self.encode_spans(worker, &task.plan, spans, &task.portion.documents.slices(), frame, &mut region)?;
                done += task.share;
                report(done)?;
            }
            let mut portions = tasks.into_iter().filter_map(|task| Arc::into_inner(task.portion));
            made = portions.next().map(|portion| portion.documents.into_made()).unwrap_or_default();
        }
        let Region { len, ends, .. } = region;
        Ok((len, std::iter::once(0).chain(ends.into_iter().map(|end| end as i64)).collect()))
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
        let queue = Queue { state: Mutex::default(), wake: Condvar::new() };
        let work = |worker: &mut Worker<I>, task: Task<'d>| {
            let outcome = self.encode_task(worker, &task, frame, &in_order);
            queue.finish(task, outcome);
        };
        let Some((mine, others)) = workers.split_first_mut() else { return Err(Error::Interrupted) };
        std::thread::scope(|scope| {
            let closed = Closed(&queue);
            for worker in others {
                scope.spawn(|| {
                    let _closed = Closed(&queue);
                    while let Some(task) = queue.take() {
                        work(worker, task);
                    }
                });
            }
            let (mut next, mut number) = (0, 0);
            loop {
                let mut state = queue.state();
                if state.closed {
                    break;
                }
                if next < documents.len() && state.waiting.len() < threads {
                    let made = state.spare.pop().unwrap_or_default();
                    drop(state);
                    match Portion::new(made, documents, next, make) {
                        Ok((portion, after)) => {
                            let tasks = tasks(self, portion, number);
                            (next, number) = (after, number + tasks.len());
                            queue.state().waiting.extend(tasks);
                            queue.wake.notify_all();
                        }
                        Err(error) => queue.state().fail(number, error),
                    }
                } else if let Some(task) = state.waiting.pop_front() {
                    drop(state);
                    work(mine, task);
                    let done = queue.state().done;
                    if let Err(error) = report(done) {
                        queue.state().fail(number, error);
                    }
                } else {
                    break;
                }
            }
            drop(closed);
        });
        let State { failure, done, .. } = queue.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, error)) = failure {
            return Err(error);
        }
        report(done)?;
        in_order.finish()
    }

    fn encode_task<I: Pooled>(
        &self,
        worker: &mut Worker<I>,
        task: &Task<'_>,
        frame: Frame,
        in_order: &InOrder<'_, I>,
    ) -> Result<()> {
        let spans = task.plan.batches[task.batch].clone();
        let mut buffer = in_order.buffer(places::<I>(&task.plan, &spans))?;
        let mut region = Region::new(&mut buffer);
        self.encode_spans(worker, &task.plan, spans, &task.portion.documents.slices(), frame, &mut region)?;
        let Region { len, ends, .. } = region;
        in_order.put(task.number, buffer, len, ends)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::merges::Merges;
    use crate::pretoken::Pattern;
    use crate::work::silent;

    fn encoder() -> Encoder {
        let merges = Merges::new(vec![(97, 97), (256, 98), (32, 257), (0xE4, 0xB8)]).unwrap();
        let external = (0..merges.tokens().len() as u32).collect();
        Encoder::from_merges(Pattern::new("gpt2").unwrap(), merges, external, vec![(900, b"<s>".to_vec())], Vec::new())
            .unwrap()
    }

    /// Every text whose number `made` holds is made.
    fn described<'a>(texts: &'a [String], made: impl Fn(usize) -> bool) -> Vec<Document<'a>> {
        let describe = |(index, text): (usize, &'a String)| match made(index) {
            true => Document::Points(text.chars().count()),
            false => Document::Bytes(text.as_bytes()),
        };
        texts.iter().enumerate().map(describe).collect()
    }

    fn make(text: &str, made: &mut Utf8) -> Result<()> {
        let points: Vec<u32> = text.chars().map(u32::from).collect();
        made.push(&points).map_err(|_| Error::Interrupted)
    }

    const FRAME: Frame = Frame { bos: Some(900), eos: Some(900) };

    fn check(texts: &[String], made: impl Fn(usize) -> bool + Copy) {
        let encoder = encoder();
        let slices: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        let want = encoder.encode_batch::<u16>(&slices, 1, FRAME, &mut silent).unwrap();
        let documents = described(texts, made);
        for threads in [1, 2, 5] {
            let (mut told, mut asked) = (Vec::new(), Vec::new());
            let found = encoder
                .encode_made::<u16>(
                    &documents,
                    threads,
                    FRAME,
                    &mut |index, made| {
                        asked.push(index);
                        make(&texts[index], made)
                    },
                    &mut |done| {
                        told.push(done);
                        Ok(())
                    },
                )
                .unwrap();
            assert_eq!(found, want, "{threads} threads");
            assert!(asked.iter().copied().eq((0..texts.len()).filter(|&index| made(index))), "each once, in order");
            assert!(told.is_sorted());
            assert_eq!(told.last().copied().unwrap_or(0), documents.iter().map(Document::share).sum::<u64>());
        }
    }

    #[test]
    fn many_portions_and_documents_of_several_batches() {
        let word = |seed: usize| ["aab", " aa", "中", "é", "\n", " 12"][seed * 7919 % 6];
        let text = |words: usize| (0..words).map(word).collect::<String>();
        let sizes = [900_000, 3, 0, 200_000, 2_000_000, 1, 400_000, 0, 700_000];
        let texts: Vec<String> = sizes.map(text).into();
        check(&texts, |index| index % 2 == 0);
        check(&texts, |_| true);
        check(&texts, |_| false);
    }

    #[test]
    fn a_document_that_cannot_be_made_ends_all() {
        let texts: Vec<String> = (0..40).map(|_| "aab ".repeat(60_000)).collect();
        let documents = described(&texts, |_| true);
        for (threads, bad) in [(1, 0), (1, 39), (2, 0), (2, 20), (4, 39)] {
            let mut asked = 0;
            let failed = encoder().encode_made::<u16>(
                &documents,
                threads,
                FRAME,
                &mut |index, made| {
                    asked = index;
                    if index == bad { Err(Error::Interrupted) } else { make(&texts[index], made) }
                },
                &mut silent,
            );
            assert!(matches!(failed, Err(Error::Interrupted)) && asked == bad);
        }
    }

    #[test]
    fn a_report_that_fails_ends_all() {
        let texts: Vec<String> = (0..40).map(|_| "aab ".repeat(60_000)).collect();
        let documents = described(&texts, |_| true);
        for threads in [1, 2] {
            let mut asked = 0;
            let failed = encoder().encode_made::<u16>(
                &documents,
                threads,
                FRAME,
                &mut |index, made| {
                    asked = index;
                    make(&texts[index], made)
                },
                &mut |_| Err(Error::Interrupted),
            );
            assert!(matches!(failed, Err(Error::Interrupted)) && asked < 30);
        }
    }

    #[test]
    #[should_panic(expected = "made to fail")]
    fn a_panic_while_making_ends_all() {
        let texts: Vec<String> = (0..40).map(|_| "aab ".repeat(60_000)).collect();
        let documents = described(&texts, |_| true);
        let _ = encoder().encode_made::<u16>(
            &documents,
            3,
            FRAME,
            &mut |index, made| {
                assert!(index < 20, "made to fail");
                make(&texts[index], made)
            },
            &mut silent,
        );
    }

    proptest! {
        #[test]
        fn small_texts_of_both_kinds(texts in prop::collection::vec("[ab 12\n'.中Á]{0,60}", 0..9), kinds in any::<u16>()) {
            check(&texts, |index| kinds >> index & 1 == 1);
        }
    }
}
