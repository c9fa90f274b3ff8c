//! Encoding documents: flat ids and where each document begins, the same for any number of threads.

use std::ops::Range;
use std::sync::Mutex;

use super::warm::Pooled;
use super::{Encoder, Worker};
use crate::work::{Plan, Report, run, thread_count};
use crate::{Error, Result};

/// Ids of documents end to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch<I> {
    /// All ids.
    pub ids: Vec<I>,
    /// Where each document begins, and at the end how many ids there are.
    pub offsets: Vec<i64>,
}

/// Ids put around every document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Before it.
    pub bos: Option<u32>,
    /// After it.
    pub eos: Option<u32>,
}

/// What a run of spans encodes to.
struct Part<I> {
    ids: Vec<I>,
    /// For each document that ends in it, the number of ids up to its end.
    ends: Vec<usize>,
}

impl Encoder {
    /// The ids of one text, on the calling thread.
    ///
    /// # Errors
    /// A custom pattern that gave up.
    pub fn encode<I: Pooled>(&self, text: &[u8]) -> Result<Vec<I>> {
        let mut workers = self.take_workers::<I>(1);
        let mut ids = Vec::new();
        let outcome = workers.iter_mut().try_for_each(|worker| worker.encode(self, text, 0..text.len(), &mut ids));
        self.return_workers(workers);
        outcome.map(|()| ids)
    }

    /// The ids of `documents` on up to `threads` threads (0: all; small inputs stay on the calling thread).
    ///
    /// # Errors
    /// A frame id that is not in the vocabulary, a custom pattern that gave up, or what `report` returns.
    pub fn encode_batch<I: Pooled>(
        &self,
        documents: &[&[u8]],
        threads: usize,
        frame: Frame,
        report: Report<'_>,
    ) -> Result<Batch<I>> {
        self.check_frame(frame)?;
        let plan = Plan::new(&self.pattern, documents);
        self.encode_plan(&plan, documents, threads, frame, report)
    }

    pub(super) fn check_frame(&self, frame: Frame) -> Result<()> {
        let unknown = [frame.bos, frame.eos].into_iter().flatten().find(|&id| self.token(id).is_none());
        unknown.map_or(Ok(()), |id| Err(Error::UnknownId { id: i64::from(id), position: 0, n_vocab: self.n_vocab }))
    }

    pub(super) fn encode_plan<I: Pooled>(
        &self,
        plan: &Plan,
        documents: &[&[u8]],
        threads: usize,
        frame: Frame,
        report: Report<'_>,
    ) -> Result<Batch<I>> {
        let threads = thread_count(threads, plan.batches.len());
        let mut workers = self.take_workers::<I>(threads);
        let parts = if threads == 1 {
            self.encode_alone(plan, documents, frame, &mut workers, report).map(|part| vec![part])
        } else {
            self.encode_shared(plan, documents, frame, &mut workers, report)
        };
        self.return_workers(workers);
        parts.map(|parts| joined(parts, threads))
    }

    /// One thread writes straight into the result.
    fn encode_alone<I: Pooled>(
        &self,
        plan: &Plan,
        documents: &[&[u8]],
        frame: Frame,
        workers: &mut [Worker<I>],
        report: Report<'_>,
    ) -> Result<Part<I>> {
        let part = Mutex::new(Part { ids: Vec::with_capacity(plan.bytes / 4), ends: Vec::new() });
        run(plan, workers, report, |worker, batch| match part.lock() {
            Ok(mut part) => self.encode_spans(worker, plan, plan.batches[batch].clone(), documents, frame, &mut part),
            Err(_) => Err(Error::Interrupted),
        })?;
        part.into_inner().map_err(|_| Error::Interrupted)
    }

    /// Each batch gets a buffer of its own.
    fn encode_shared<I: Pooled>(
        &self,
        plan: &Plan,
        documents: &[&[u8]],
        frame: Frame,
        workers: &mut [Worker<I>],
        report: Report<'_>,
    ) -> Result<Vec<Part<I>>> {
        let done = Mutex::new(Vec::with_capacity(plan.batches.len()));
        run(plan, workers, report, |worker, batch| {
            let mut part = Part { ids: Vec::new(), ends: Vec::new() };
            self.encode_spans(worker, plan, plan.batches[batch].clone(), documents, frame, &mut part)?;
            done.lock().map_err(|_| Error::Interrupted)?.push((batch, part));
            Ok(())
        })?;
        let mut done = done.into_inner().map_err(|_| Error::Interrupted)?;
        done.sort_unstable_by_key(|(batch, _)| *batch);
        Ok(done.into_iter().map(|(_, part)| part).collect())
    }

    fn encode_spans<I: Pooled>(
        &self,
        worker: &mut Worker<I>,
        plan: &Plan,
        spans: Range<usize>,
        documents: &[&[u8]],
        frame: Frame,
        part: &mut Part<I>,
    ) -> Result<()> {
        for span in &plan.spans[spans] {
            if let Some(bos) = frame.bos.filter(|_| span.first()) {
                part.ids.push(I::from_id(bos));
            }
            worker.encode(self, documents[span.document], span.range.clone(), &mut part.ids)?;
            if span.last {
                part.ids.extend(frame.eos.map(I::from_id));
                part.ends.push(part.ids.len());
            }
        }
        Ok(())
    }

    /// Number of ids of each document, without keeping the ids.
    ///
    /// # Errors
    /// A custom pattern that gave up.
    pub fn count_batch<I: Pooled>(&self, documents: &[&[u8]], threads: usize) -> Result<Vec<i64>> {
        let plan = Plan::new(&self.pattern, documents);
        let threads = thread_count(threads, plan.batches.len());
        let mut workers = self.take_workers::<I>(threads);
        let totals = Mutex::new(vec![0; documents.len()]);
        let outcome = run(&plan, &mut workers, &mut crate::work::silent, |worker, batch| {
            let (mut scratch, mut counts) = (Vec::new(), Vec::new());
            for span in &plan.spans[plan.batches[batch].clone()] {
                scratch.clear();
                worker.encode(self, documents[span.document], span.range.clone(), &mut scratch)?;
                counts.push((span.document, scratch.len() as i64));
            }
            let mut totals = totals.lock().map_err(|_| Error::Interrupted)?;
            counts.into_iter().for_each(|(document, count)| totals[document] += count);
            Ok(())
        });
        self.return_workers(workers);
        outcome.and_then(|()| totals.into_inner().map_err(|_| Error::Interrupted))
    }
}

/// Puts parts end to end; several are copied side by side, for first touching fresh memory is what costs.
fn joined<I: Pooled>(mut parts: Vec<Part<I>>, threads: usize) -> Batch<I> {
    let mut offsets = vec![0];
    let mut base = 0;
    for part in &parts {
        offsets.extend(part.ends.iter().map(|&end| (base + end) as i64));
        base += part.ids.len();
    }
    if parts.len() <= 1 {
        return Batch { ids: parts.pop().map_or_else(Vec::new, |part| part.ids), offsets };
    }
    let mut ids = vec![I::default(); base];
    let mut rest = &mut ids[..];
    let mut places = Vec::with_capacity(parts.len());
    for part in parts {
        let (place, more) = rest.split_at_mut(part.ids.len());
        places.push((place, part.ids));
        rest = more;
    }
    let share = places.len().div_ceil(threads);
    std::thread::scope(|scope| {
        for chunk in places.chunks_mut(share) {
            scope.spawn(|| chunk.iter_mut().for_each(|(place, ids)| place.copy_from_slice(ids)));
        }
    });
    Batch { ids, offsets }
}
