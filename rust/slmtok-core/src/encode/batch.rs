//! Encoding documents into flat ids with document offsets, equal for any number of threads.

use std::ops::Range;
use std::sync::Mutex;

use super::worker::buffer_len;
use super::{Encoder, PooledId, Worker};
use crate::accel::lazy_batch::{Document, Portions, Transcode, is_lazy, pipeline, transcode_all};
use crate::interrupt::supervised_if_slow;
use crate::ordered::Reorder;
use crate::parallel::{BATCH_BYTES, ReportProgress, WorkPlan, for_each_batch, lock, no_progress, thread_count};
use crate::{Error, Result};

/// The ids of documents, end to end.
#[derive(Debug, PartialEq, Eq)]
pub struct EncodedDocuments<I> {
    /// All ids.
    pub ids: Vec<I>,
    /// Where each document begins, and the number of ids.
    pub offsets: Vec<i64>,
}

/// Ids around every document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Before it.
    pub bos: Option<u32>,
    /// After it.
    pub eos: Option<u32>,
}

/// Documents, and their division into batches of spans.
#[derive(Clone, Copy)]
struct Job<'a> {
    plan: &'a WorkPlan,
    documents: &'a [&'a [u8]],
    frame: Frame,
}

impl Job<'_> {
    /// Elements needed to encode some spans, with a frame around each document.
    fn buffer_len<I: PooledId>(&self, spans: &Range<usize>) -> usize {
        buffer_len::<I>(self.plan.spans[spans.clone()].iter().map(|span| span.range.len() + 2).sum())
    }
}

/// Encoded spans, end to end.
struct Output<'a, I> {
    ids: &'a mut [I],
    len: usize,
    /// The number of ids up to the end of each document that ends in the spans.
    document_ends: Vec<usize>,
}

impl<'a, I: PooledId> Output<'a, I> {
    fn new(ids: &'a mut [I]) -> Self {
        Self { ids, len: 0, document_ends: Vec::new() }
    }

    fn push(&mut self, id: Option<u32>) {
        if let Some(id) = id {
            self.ids[self.len] = I::from_id(id);
            self.len += 1;
        }
    }

    /// Appends the ids of one batch.
    fn append(&mut self, encoder: &Encoder, worker: &mut Worker<I>, job: Job<'_>, batch: usize) -> Result<()> {
        for span in &job.plan.spans[job.plan.batches[batch].clone()] {
            if span.first {
                self.push(job.frame.bos);
            }
            let out = &mut self.ids[self.len..];
            self.len += worker.encode(encoder, job.documents[span.document], span.range.clone(), out)?;
            if span.last {
                self.push(job.frame.eos);
                self.document_ends.push(self.len);
            }
        }
        Ok(())
    }
}

/// Joins batches that threads finish in any order.
///
/// A batch is encoded into a pooled buffer. Once all batches before it are finished, its position is known, and the finishing
/// thread copies it there, mostly while it is still in that thread's cache. So fresh memory, which is most of the cost, is
/// touched only once, and by all threads.
struct OrderedOutput<'a, I>(Mutex<Joined<'a, I>>);

/// The ids of one batch, in a buffer that is longer.
struct Finished<I> {
    buffer: Vec<I>,
    len: usize,
    document_ends: Vec<usize>,
}

struct Joined<'a, I> {
    /// The part of the result after the joined batches.
    rest: &'a mut [I],
    /// The number of joined ids.
    len: usize,
    /// Finished batches that wait for an earlier one.
    finished: Reorder<Finished<I>>,
    offsets: Vec<i64>,
    /// Buffers of joined batches.
    free_buffers: Vec<Vec<I>>,
}

impl<'a, I: Copy> OrderedOutput<'a, I> {
    /// Joins batches in `result`, which must hold all of them.
    fn new(result: &'a mut [I]) -> Self {
        let joined =
            Joined { rest: result, len: 0, finished: Reorder::default(), offsets: vec![0], free_buffers: Vec::new() };
        Self(Mutex::new(joined))
    }

    /// A free buffer of at least `n` elements with arbitrary contents.
    fn take_buffer(&self, n: usize) -> Result<Option<Vec<I>>> {
        Ok(lock(&self.0)?.free_buffers.pop().filter(|buffer| buffer.len() >= n))
    }

    /// Adds a finished batch, and joins the batches that can be joined now.
    fn put(&self, batch: usize, finished: Finished<I>) -> Result<()> {
        let mut ready = Vec::new();
        {
            let mut joined = lock(&self.0)?;
            joined.finished.insert(batch, finished);
            while let Some(next) = joined.take_next() {
                ready.push(next);
            }
        }
        for (to, Finished { buffer, len, .. }) in &mut ready {
            to.copy_from_slice(&buffer[..*len]);
        }
        lock(&self.0)?.free_buffers.extend(ready.into_iter().map(|(_, finished)| finished.buffer));
        Ok(())
    }

    /// The number of ids, and the offsets of the documents. The workers pool the buffers.
    fn finish(self, workers: &mut [Worker<I>]) -> Result<(usize, Vec<i64>)>
    where
        I: PooledId,
    {
        let joined = self.0.into_inner().map_err(|_| Error::Poisoned)?;
        for (worker, buffer) in (0..workers.len()).cycle().zip(joined.free_buffers) {
            workers[worker].buffers.give_back(buffer);
        }
        Ok((joined.len, joined.offsets))
    }
}

impl<'a, I> Joined<'a, I> {
    /// The next batch in order, if it is finished, and its position in the result.
    fn take_next(&mut self) -> Option<(&'a mut [I], Finished<I>)> {
        let finished = self.finished.pop()?;
        let (to, rest) = std::mem::take(&mut self.rest).split_at_mut(finished.len);
        self.rest = rest;
        self.offsets.extend(finished.document_ends.iter().map(|&end| offset(self.len + end)));
        self.len += finished.len;
        Some((to, finished))
    }
}

#[expect(clippy::cast_possible_wrap, reason = "no array has 2^63 elements")]
pub(super) fn offset(ids: usize) -> i64 {
    ids as i64
}

/// Texts up to this size are encoded in a few microseconds.
const MAX_INSTANT_BYTES: usize = 1 << 10;
/// Texts up to this size are encoded faster than a user expects Ctrl-C to work.
const MAX_SILENT_BYTES: usize = 4 << 20;

impl Encoder {
    /// The ids of one text, on the calling thread.
    ///
    /// # Errors
    /// A custom pattern that exceeds its backtracking limit, and lack of memory.
    pub fn encode<I: PooledId>(&self, text: &[u8]) -> Result<Vec<I>> {
        let mut worker = self.take_worker::<I>();
        let ids = worker.buffers.take(buffer_len::<I>(text.len())).and_then(|mut buffer| {
            let len = worker.encode(self, text, 0..text.len(), &mut buffer)?;
            Ok(worker.buffers.take_result(buffer, len))
        });
        self.return_worker(worker);
        ids
    }

    /// Whether a text of so many bytes is encoded in a few microseconds. Under a custom pattern no text is: a search may take
    /// seconds in 1 kB.
    #[must_use]
    pub fn is_instant(&self, bytes: usize) -> bool {
        bytes <= MAX_INSTANT_BYTES && !self.pattern.is_custom()
    }

    /// As [`Encoder::encode`]; `report` is called while a text of more than 4 MiB is encoded, and while a custom pattern takes
    /// long.
    ///
    /// # Errors
    /// As [`Encoder::encode`], and errors of `report`.
    pub fn encode_reporting<I: PooledId>(&self, text: &[u8], report: ReportProgress<'_>) -> Result<Vec<I>> {
        if text.len() > MAX_SILENT_BYTES || self.pattern.is_slow_for(text.len()) {
            return Ok(self.encode_batch(&[text], 1, Frame::default(), report)?.ids);
        }
        if self.pattern.is_custom() {
            return supervised_if_slow(&mut || report(0), || self.encode(text));
        }
        self.encode(text)
    }

    /// Runs `work` on the documents of `plan`: under a custom pattern here for 20 ms, and if it has not ended then again on another
    /// thread, so that this one can ask `report` whether to stop ([`supervised_if_slow`]).
    pub(super) fn run_plan<T: Send>(
        &self,
        plan: &WorkPlan,
        report: ReportProgress<'_>,
        work: impl Fn(ReportProgress<'_>) -> Result<T> + Sync,
    ) -> Result<T> {
        if plan.is_slow || !self.pattern.is_custom() {
            return work(report);
        }
        let outcome = supervised_if_slow(&mut || report(0), || work(&mut no_progress))?;
        report(plan.bytes as u64)?;
        Ok(outcome)
    }

    /// What `take` makes of the ids of one text, on the calling thread, in a pooled buffer.
    ///
    /// # Errors
    /// See [`Encoder::encode`].
    pub fn encode_and<I: PooledId, T>(&self, text: &[u8], take: impl FnOnce(&[I]) -> T) -> Result<T> {
        let mut worker = self.take_worker::<I>();
        let outcome = worker.encode_and(self, text, take);
        self.return_worker(worker);
        outcome
    }

    /// The ids of `documents` on up to `threads` threads (0: all; small inputs stay on the calling thread).
    ///
    /// # Errors
    /// A frame id that is not in the vocabulary, a custom pattern that exceeds its backtracking limit, lack of memory, or an error of
    /// `report`.
    pub fn encode_batch<I: PooledId>(
        &self,
        documents: &[&[u8]],
        threads: usize,
        frame: Frame,
        report: ReportProgress<'_>,
    ) -> Result<EncodedDocuments<I>> {
        self.check_frame(frame)?;
        let plan = WorkPlan::new(&self.pattern, documents);
        self.run_plan(&plan, report, |report| self.encode_plan(&plan, documents, threads, frame, report))
    }

    pub(super) fn check_frame(&self, frame: Frame) -> Result<()> {
        let unknown = [frame.bos, frame.eos].into_iter().flatten().find(|&id| self.token(id).is_none());
        unknown.map_or(Ok(()), |id| Err(Error::UnknownId { id: i64::from(id), position: 0, n_vocab: self.n_vocab }))
    }

    /// As [`Encoder::encode_batch`], for documents that are divided already.
    pub(super) fn encode_plan<I: PooledId>(
        &self,
        plan: &WorkPlan,
        documents: &[&[u8]],
        threads: usize,
        frame: Frame,
        report: ReportProgress<'_>,
    ) -> Result<EncodedDocuments<I>> {
        let job = Job { plan, documents, frame };
        let mut workers = self.take_workers::<I>(thread_count(threads, plan.batches.len()), plan.bytes);
        let encoded = self.encode_job(job, &mut workers, report);
        self.return_workers(workers);
        encoded
    }

    fn encode_job<I: PooledId>(
        &self,
        job: Job<'_>,
        workers: &mut [Worker<I>],
        report: ReportProgress<'_>,
    ) -> Result<EncodedDocuments<I>> {
        let n: usize = job.plan.batches.iter().map(|spans| job.buffer_len::<I>(spans)).sum();
        let mut buffer = workers[0].buffers.take(n)?;
        let (len, offsets) = match &mut *workers {
            [worker] => self.encode_on_one_thread(job, worker, &mut buffer, report)?,
            workers => self.encode_on_threads(job, workers, &mut buffer, report)?,
        };
        Ok(EncodedDocuments { ids: workers[0].buffers.take_result(buffer, len), offsets })
    }

    /// Writes all ids to `out`, and returns their number and the offsets of the documents.
    fn encode_on_one_thread<I: PooledId>(
        &self,
        job: Job<'_>,
        worker: &mut Worker<I>,
        out: &mut [I],
        report: ReportProgress<'_>,
    ) -> Result<(usize, Vec<i64>)> {
        let output = Mutex::new(Output::new(out));
        for_each_batch(job.plan, std::slice::from_mut(worker), report, |worker, batch| {
            lock(&output)?.append(self, worker, job, batch)
        })?;
        let output = output.into_inner().map_err(|_| Error::Poisoned)?;
        Ok((output.len, std::iter::once(0).chain(output.document_ends.into_iter().map(offset)).collect()))
    }

    /// As [`Encoder::encode_on_one_thread`], with one thread for each worker.
    fn encode_on_threads<I: PooledId>(
        &self,
        job: Job<'_>,
        workers: &mut [Worker<I>],
        out: &mut [I],
        report: ReportProgress<'_>,
    ) -> Result<(usize, Vec<i64>)> {
        let joined = OrderedOutput::new(out);
        for_each_batch(job.plan, workers, report, |worker, batch| {
            self.encode_into(&joined, worker, job, batch, batch)
        })?;
        joined.finish(workers)
    }

    /// Encodes batch `batch_of_plan`, which becomes number `place_in_output` of `joined`.
    fn encode_into<I: PooledId>(
        &self,
        joined: &OrderedOutput<'_, I>,
        worker: &mut Worker<I>,
        job: Job<'_>,
        batch_of_plan: usize,
        place_in_output: usize,
    ) -> Result<()> {
        let n = job.buffer_len::<I>(&job.plan.batches[batch_of_plan]);
        let mut buffer = match joined.take_buffer(n)? {
            Some(buffer) => buffer,
            None => worker.buffers.take(n)?,
        };
        let mut output = Output::new(&mut buffer);
        output.append(self, worker, job, batch_of_plan)?;
        let Output { len, document_ends, .. } = output;
        joined.put(place_in_output, Finished { buffer, len, document_ends })
    }

    /// As [`Encoder::encode_batch`], for documents of which `transcode` makes some. They are transcoded on the calling thread, about
    /// 1 MiB at a time, while other threads encode. `report` receives the bytes or code points of finished
    /// documents.
    ///
    /// # Errors
    /// Those of [`Encoder::encode_batch`], and those of `transcode`.
    pub fn encode_lazily<I: PooledId>(
        &self,
        documents: &[Document<'_>],
        threads: usize,
        frame: Frame,
        transcode: Transcode<'_>,
        report: ReportProgress<'_>,
    ) -> Result<EncodedDocuments<I>> {
        if !is_lazy(&self.pattern, documents) {
            return self.encode_transcoded(documents, threads, frame, transcode, report);
        }
        self.check_frame(frame)?;
        let max_bytes: usize = documents.iter().map(Document::max_bytes).sum();
        // The frame of each document has two ids.
        let n = max_bytes + 2 * documents.len();
        let mut workers = self.take_workers::<I>(thread_count(threads, max_bytes.div_ceil(BATCH_BYTES)), max_bytes);
        let Ok(mut buffer) = workers[0].buffers.take(n) else {
            self.return_workers(workers);
            return self.encode_transcoded(documents, threads, frame, transcode, report);
        };
        let joined = OrderedOutput::new(&mut buffer);
        let outcome = pipeline(&mut workers, Portions::new(documents, transcode), report, |worker, portion| {
            let documents = portion.texts.slices();
            // One batch, however long.
            let plan = WorkPlan::with_batch_bytes(&self.pattern, &documents, usize::MAX / 2);
            let job = Job { plan: &plan, documents: &documents, frame };
            self.encode_into(&joined, worker, job, 0, portion.number)
        });
        let joined = outcome.and_then(|()| joined.finish(&mut workers));
        let encoded =
            joined.map(|(len, offsets)| EncodedDocuments { ids: workers[0].buffers.take_result(buffer, len), offsets });
        self.return_workers(workers);
        encoded
    }

    /// The plain alternative to [`Encoder::encode_lazily`]: all documents are transcoded before the first is encoded.
    fn encode_transcoded<I: PooledId>(
        &self,
        documents: &[Document<'_>],
        threads: usize,
        frame: Frame,
        transcode: Transcode<'_>,
        report: ReportProgress<'_>,
    ) -> Result<EncodedDocuments<I>> {
        // The weight is the progress, in bytes or code points.
        let (texts, weight) = (transcode_all(documents, transcode)?, documents.iter().map(Document::weight).sum());
        let encoded = self.encode_batch(&texts.slices(), threads, frame, &mut |done: u64| report(done.min(weight)))?;
        report(weight)?;
        Ok(encoded)
    }

    /// The number of ids of each document, without keeping the ids.
    ///
    /// # Errors
    /// A custom pattern that exceeds its backtracking limit, lack of memory, or an error of `report`.
    pub fn count_batch<I: PooledId>(
        &self,
        documents: &[&[u8]],
        threads: usize,
        report: ReportProgress<'_>,
    ) -> Result<Vec<i64>> {
        let plan = WorkPlan::new(&self.pattern, documents);
        self.run_plan(&plan, report, |report| self.count_plan::<I>(&plan, documents, threads, report))
    }

    fn count_plan<I: PooledId>(
        &self,
        plan: &WorkPlan,
        documents: &[&[u8]],
        threads: usize,
        report: ReportProgress<'_>,
    ) -> Result<Vec<i64>> {
        let mut workers = self.take_workers::<I>(thread_count(threads, plan.batches.len()), plan.bytes);
        let totals = Mutex::new(vec![0; documents.len()]);
        let outcome = for_each_batch(plan, &mut workers, report, |worker, batch| {
            let mut counts = Vec::new();
            for span in &plan.spans[plan.batches[batch].clone()] {
                let mut buffer = worker.buffers.take(buffer_len::<I>(span.range.len()))?;
                counts.push(offset(worker.encode(self, documents[span.document], span.range.clone(), &mut buffer)?));
                worker.buffers.give_back(buffer);
            }
            let mut totals = lock(&totals)?;
            let documents = plan.spans[plan.batches[batch].clone()].iter().map(|span| span.document);
            documents.zip(counts).for_each(|(document, count)| totals[document] += count);
            Ok(())
        });
        self.return_workers(workers);
        outcome?;
        totals.into_inner().map_err(|_| Error::Poisoned)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::accel::cache_sharing::CacheSharing;
    use crate::accel::transcode::Utf8Buffer;
    use crate::interrupt::Interrupt;
    use crate::merges::Merges;
    use crate::pretoken::{Pattern, names};

    fn encoder(pattern: &Pattern, first: u32) -> Encoder {
        let merges = Merges::new(vec![(97, 97), (256, 98), (32, 257), (0xE4, 0xB8), (49, 50), (10, 32)]).unwrap();
        let public_ids = (0..merges.tokens().len() as u32).map(|id| id + first).collect();
        Encoder::from_merges(pattern.clone(), merges, public_ids, vec![(1, b"<s>".to_vec())], Vec::new()).unwrap()
    }

    /// Documents in batches of `size` bytes on `threads` threads equal documents encoded one by one.
    fn check<I: PooledId>(encoder: &Encoder, documents: &[&[u8]], size: usize, threads: usize) {
        let plan = WorkPlan::with_batch_bytes(encoder.pattern(), documents, size);
        let frame = Frame { bos: Some(1), eos: Some(1) };
        let batch = encoder.encode_plan::<I>(&plan, documents, threads, frame, &mut no_progress).unwrap();
        assert_eq!(batch.offsets.len(), documents.len() + 1);
        for (document, bounds) in documents.iter().zip(batch.offsets.windows(2)) {
            let mut want = vec![I::from_id(1)];
            want.extend(encoder.encode::<I>(document).unwrap());
            want.push(I::from_id(1));
            assert_eq!(batch.ids[bounds[0] as usize..bounds[1] as usize], want);
        }
    }

    #[test]
    fn a_piece_that_one_worker_merged_is_merged_by_no_other_in_the_next_call() {
        let encoder = encoder(&Pattern::new("cl100k").unwrap(), 16);
        // Words with a key, words without, and clauses, which are cached at their second occurrence.
        let text = |word: &str| {
            let words = (0..2000).map(|n| format!(" {word}{} {word}{}", "x".repeat(n % 9), "y".repeat(n / 20)));
            words.chain((0..2000).map(|n| format!("。{}中", "中文".repeat(n % 50)))).collect::<String>()
        };
        let texts = [text("one"), text("other")];
        let mut workers = encoder.take_workers::<u16>(2, usize::MAX);
        let misses = |worker: &mut Worker<u16>, text: usize| {
            let before = worker.misses;
            (worker.encode_and(&encoder, texts[text].as_bytes(), <[u16]>::to_vec).unwrap(), worker.misses - before)
        };
        let (first, second) = (misses(&mut workers[0], 0), misses(&mut workers[1], 1));
        assert!(first.1 > 100 && second.1 > 100, "{} {}", first.1, second.1);
        // As between two calls, with as many idle workers as there are.
        CacheSharing::end_call(workers.iter_mut().map(|worker| &mut worker.sharing));
        CacheSharing::begin_call(workers.iter_mut().map(|worker| &mut worker.sharing), usize::MAX);
        assert!(misses(&mut workers[1], 0) == (first.0, 0) && misses(&mut workers[0], 1) == (second.0, 0));
    }

    #[test]
    fn threads_that_share_cache_entries_give_the_ids_of_one_thread() {
        let fresh = || encoder(&Pattern::new("cl100k").unwrap(), 16);
        // Words with a key, words without, and clauses; each document contains most of them in its own order.
        let document = |times: usize| -> String {
            let words = (0..20_000_usize)
                .map(|n| n * times % 20_011)
                .map(|n| (n, format!("{n:x}").replace(char::is_numeric, "b")));
            words.map(|(n, word)| format!(" {word}a{}。{}中", "ab".repeat(n % 20), "中文".repeat(n % 30))).collect()
        };
        let texts: Vec<String> = (1..9).map(|k| document(k * 37)).collect();
        let documents: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        let encode = |encoder: &Encoder, threads| {
            encoder.encode_batch::<u32>(&documents, threads, Frame::default(), &mut no_progress).unwrap()
        };
        let (want, many) = (encode(&fresh(), 1), fresh());
        assert!([4, 4, 1, 2].into_iter().all(|threads| encode(&many, threads) == want));
    }

    #[test]
    fn batches_finished_in_any_order_are_joined_in_order() {
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]] {
            let mut result = vec![99_u16; 12];
            let joined = OrderedOutput::new(&mut result);
            for batch in order {
                // Batch k has k ids of value k; a document ends after its first id.
                let finished =
                    Finished { buffer: vec![batch as u16; 3], len: batch, document_ends: vec![batch.min(1)] };
                joined.put(batch, finished).unwrap();
            }
            assert!(joined.take_buffer(3).unwrap().is_some() && joined.take_buffer(4).unwrap().is_none());
            assert_eq!(joined.finish(&mut []).unwrap(), (6, vec![0, 0, 1, 2, 4]));
            assert_eq!(result, [1, 2, 2, 3, 3, 3, 99, 99, 99, 99, 99, 99]);
        }
    }

    proptest! {
        #[test]
        fn batches_of_any_size_on_any_threads_give_the_same(
            texts in prop::collection::vec("[ab 12\n'.中Á]{0,200}", 0..6), size in 1usize..300, pattern in 0usize..6, threads in 1usize..8,
        ) {
            let pattern = Pattern::new(names()[pattern]).unwrap();
            let documents: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
            check::<u16>(&encoder(&pattern, 16), &documents, size, threads);
            check::<u32>(&encoder(&pattern, 70_000), &documents, size, threads);
        }
    }

    fn lazy_encoder() -> Encoder {
        let merges = Merges::new(vec![(97, 97), (256, 98), (32, 257), (0xE4, 0xB8)]).unwrap();
        let public_ids = (0..merges.tokens().len() as u32).collect();
        let specials = vec![(900, b"<s>".to_vec())];
        Encoder::from_merges(Pattern::new("gpt2").unwrap(), merges, public_ids, specials, Vec::new()).unwrap()
    }

    /// Documents of which those with these indices are to be transcoded.
    fn describe<'a>(texts: &'a [String], is_transcoded: impl Fn(usize) -> bool) -> Vec<Document<'a>> {
        let describe = |(index, text): (usize, &'a String)| match is_transcoded(index) {
            true => Document::CodePoints(text.chars().count()),
            false => Document::Bytes(text.as_bytes()),
        };
        texts.iter().enumerate().map(describe).collect()
    }

    #[test]
    fn an_interrupt_is_heard_within_a_range_without_a_sync_point() {
        let interrupt = Interrupt::default();
        interrupt.request();
        for text in ["a b", "!a"] {
            let encoded = interrupt.scope(|| lazy_encoder().encode::<u16>(text.as_bytes()));
            assert_eq!(encoded.unwrap_err(), Error::Interrupted);
        }
    }

    fn transcode(text: &str, utf8: &mut Utf8Buffer) -> Result<()> {
        let points: Vec<u32> = text.chars().map(u32::from).collect();
        utf8.push(&points).map_err(|_| Error::Interrupted)
    }

    const FRAME: Frame = Frame { bos: Some(900), eos: Some(900) };

    fn check_lazy(texts: &[String], is_transcoded: impl Fn(usize) -> bool + Copy) {
        let encoder = lazy_encoder();
        let slices: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        let want = encoder.encode_batch::<u16>(&slices, 1, FRAME, &mut no_progress).unwrap();
        let documents = describe(texts, is_transcoded);
        for threads in [1, 2, 5] {
            let (mut reported, mut transcoded) = (Vec::new(), Vec::new());
            let found = encoder
                .encode_lazily::<u16>(
                    &documents,
                    threads,
                    FRAME,
                    &mut |index, utf8| {
                        transcoded.push(index);
                        transcode(&texts[index], utf8)
                    },
                    &mut |done| {
                        reported.push(done);
                        Ok(())
                    },
                )
                .unwrap();
            assert_eq!(found, want, "{threads} threads");
            assert!(
                transcoded.iter().copied().eq((0..texts.len()).filter(|&index| is_transcoded(index))),
                "each once, in order"
            );
            assert!(reported.is_sorted());
            assert_eq!(reported.last().copied().unwrap_or(0), documents.iter().map(Document::weight).sum::<u64>());
        }
    }

    #[test]
    fn many_portions_and_long_documents() {
        let word = |seed: usize| ["aab", " aa", "中", "é", "\n", " 12"][seed * 7919 % 6];
        let text = |words: usize| (0..words).map(word).collect::<String>();
        let sizes = [900_000, 3, 0, 200_000, 2_000_000, 1, 400_000, 0, 700_000];
        let texts: Vec<String> = sizes.map(text).into();
        check_lazy(&texts, |index| index % 2 == 0);
        check_lazy(&texts, |_| true);
        check_lazy(&texts, |_| false);
    }

    /// The last of 40 documents that is transcoded before an error of `check` or `report` ends the call.
    fn last_transcoded(
        threads: usize,
        check: impl Fn(usize) -> Result<()> + Sync,
        report: &mut dyn FnMut(u64) -> Result<()>,
    ) -> usize {
        let texts: Vec<String> = (0..40).map(|_| "aab ".repeat(60_000)).collect();
        let documents = describe(&texts, |_| true);
        let mut last = 0;
        let mut transcode = |index: usize, utf8: &mut Utf8Buffer| {
            last = index;
            check(index)?;
            self::transcode(&texts[index], utf8)
        };
        let failed = lazy_encoder().encode_lazily::<u16>(&documents, threads, FRAME, &mut transcode, report);
        assert!(matches!(failed, Err(Error::Interrupted)));
        last
    }

    #[test]
    fn an_error_of_transcode_ends_the_call() {
        for (threads, bad) in [(1, 0), (1, 39), (2, 0), (2, 20), (4, 39)] {
            let check = |index| if index == bad { Err(Error::Interrupted) } else { Ok(()) };
            assert_eq!(last_transcoded(threads, check, &mut no_progress), bad);
        }
    }

    #[test]
    fn an_error_of_report_ends_the_call() {
        for threads in [1, 2] {
            assert!(last_transcoded(threads, |_| Ok(()), &mut |_| Err(Error::Interrupted)) < 30);
        }
    }

    #[test]
    #[should_panic(expected = "the test panics")]
    fn a_panic_of_transcode_ends_the_call() {
        let check = |index| {
            assert!(index < 20, "the test panics");
            Ok(())
        };
        last_transcoded(3, check, &mut no_progress);
    }

    proptest! {
        #[test]
        fn small_texts_of_both_kinds(texts in prop::collection::vec("[ab 12\n'.中Á]{0,60}", 0..9), kinds in any::<u16>()) {
            check_lazy(&texts, |index| kinds >> index & 1 == 1);
        }
    }
}
