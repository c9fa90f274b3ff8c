//! Encoding documents of which some have no bytes yet: strings, which one thread alone may turn into UTF-8.
//!
//! The calling thread makes a portion of documents at a time, and encodes whenever the others have enough to do. A portion's bytes are
//! encoded while they are in the cache, and then its memory is that of another: fresh memory for all of them would take longer than
//! making them.

use super::batch::{Batch, Frame, Region, finish};
use super::ordered_output::OrderedOutput;
use super::work_queue::{Closed, Queue, Task, tasks};
use super::worker::room;
use super::worker_pool::Pooled;
use super::{Encoder, Worker};
use crate::accel::portion::{Document, Make, Portion};
use crate::accel::transcode::Utf8;
use crate::parallel::{BATCH_BYTES, Report, thread_count};
use crate::pretoken::Pattern;
use crate::{Error, Result};

/// What is left of the documents.
struct Producer<'s, 'd> {
    pattern: &'s Pattern,
    documents: &'s [Document<'d>],
    next: usize,
    /// Of the next task.
    number: usize,
}

impl<'d> Producer<'_, 'd> {
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
        let (threads, in_order) = (workers.len(), OrderedOutput::new(ids));
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
            let mut supply = Producer { pattern: &self.pattern, documents, next: 0, number: 0 };
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::merges::Merges;
    use crate::parallel::no_progress;
    use crate::pretoken::Pattern;

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

    fn forty() -> Vec<String> {
        (0..40).map(|_| "aab ".repeat(60_000)).collect()
    }

    const FRAME: Frame = Frame { bos: Some(900), eos: Some(900) };

    fn check(texts: &[String], made: impl Fn(usize) -> bool + Copy) {
        let encoder = encoder();
        let slices: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        let want = encoder.encode_batch::<u16>(&slices, 1, FRAME, &mut no_progress).unwrap();
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
        let texts = forty();
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
                &mut no_progress,
            );
            assert!(matches!(failed, Err(Error::Interrupted)) && asked == bad);
        }
    }

    #[test]
    fn a_report_that_fails_ends_all() {
        let texts = forty();
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
        let texts = forty();
        let documents = described(&texts, |_| true);
        let _ = encoder().encode_made::<u16>(
            &documents,
            3,
            FRAME,
            &mut |index, made| {
                assert!(index < 20, "made to fail");
                make(&texts[index], made)
            },
            &mut no_progress,
        );
    }

    #[test]
    fn a_panic_of_another_thread_keeps_its_words() {
        // No place for the ids of the first batch that is finished, whoever finishes it.
        let (encoder, text) = (encoder(), "aab ".repeat(600_000));
        let documents = [Document::Bytes(text.as_bytes()); 4];
        let mut workers = encoder.take_workers::<u16>(3, 0);
        let made = std::panic::AssertUnwindSafe(|| {
            let (mut make, mut tell) = (|_: usize, _: &mut Utf8| Ok(()), no_progress);
            encoder.made_shared(&documents, FRAME, &mut make, &mut workers, &mut [], &mut tell)
        });
        let panic = std::panic::catch_unwind(made).unwrap_err();
        let words =
            panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        assert!(words.is_some_and(|words| words.contains("mid")), "the words of the first panic");
    }

    proptest! {
        #[test]
        fn small_texts_of_both_kinds(texts in prop::collection::vec("[ab 12\n'.中Á]{0,60}", 0..9), kinds in any::<u16>()) {
            check(&texts, |index| kinds >> index & 1 == 1);
        }
    }
}
