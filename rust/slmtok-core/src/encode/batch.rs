//! Encoding documents: flat ids and where each document begins, the same for any number of threads.

use std::ops::Range;
use std::sync::Mutex;

use super::ordered_output::OrderedOutput;
use super::worker::room;
use super::worker_pool::Pooled;
use super::{Encoder, Worker};
use crate::accel::id_buffer::Ids;
use crate::accel::output_buffer::Whole;
use crate::cache::packed_ids::Id;
use crate::parallel::{Report, WorkPlan, run, thread_count};
use crate::{Error, Result};

/// Ids of documents end to end.
#[derive(Debug, PartialEq, Eq)]
pub struct Batch<I: Id> {
    /// All ids.
    pub ids: Ids<I>,
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

/// A batch of `plan`, made for `documents`.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub plan: &'a WorkPlan,
    pub batch: usize,
    pub documents: &'a [&'a [u8]],
    pub frame: Frame,
}

/// Where the ids of some spans are written, and how far that has come.
pub(super) struct Region<'a, I> {
    place: &'a mut [I],
    len: usize,
    /// For each document that ends in it, the number of ids up to its end.
    ends: Vec<usize>,
}

impl<'a, I: Pooled> Region<'a, I> {
    pub fn new(place: &'a mut [I]) -> Self {
        Self { place, len: 0, ends: Vec::new() }
    }

    /// How many ids there are, and where each document begins, with the end of the last.
    pub fn finish(self) -> (usize, Vec<i64>) {
        (self.len, std::iter::once(0).chain(self.ends.into_iter().map(|end| end as i64)).collect())
    }

    fn push(&mut self, id: Option<u32>) {
        if let Some(id) = id {
            self.place[self.len] = I::from_id(id);
            self.len += 1;
        }
    }
}

impl Encoder {
    /// What `write` puts into `n` places, which are the first worker's if they are few; it returns how many ids there are, and where
    /// each document begins, with the end of the last.
    pub(super) fn written<I: Pooled>(
        &self,
        n: usize,
        workers: &mut [Worker<I>],
        write: impl FnOnce(&mut [Worker<I>], &mut [I]) -> Result<(usize, Vec<i64>)>,
    ) -> Result<Batch<I>> {
        let spare = I::spare(&self.warm);
        let mut whole = Whole::new(n, &mut workers[0].places, spare)?;
        let (len, offsets) = write(workers, whole.as_mut_slice())?;
        Ok(Batch { ids: whole.finish(len, &mut workers[0].places, spare), offsets })
    }

    /// The ids of one text, on the calling thread.
    ///
    /// # Errors
    /// A custom pattern that gave up, and memory that is not to be had.
    pub fn encode<I: Pooled>(&self, text: &[u8]) -> Result<Vec<I>> {
        let (mut worker, spare) = (self.take_worker::<I>(), I::spare(&self.warm));
        let ids = Whole::new(room::<I>(text.len()), &mut worker.places, spare).and_then(|mut whole| {
            let len = worker.encode(self, text, 0..text.len(), whole.as_mut_slice())?;
            Ok(whole.finish(len, &mut worker.places, spare).into_vec())
        });
        self.return_worker(worker);
        ids
    }

    /// What `take` makes of the ids of one text, on the calling thread. For short texts: the ids are written where those of
    /// the text before were, so that nothing is asked of the system.
    ///
    /// # Errors
    /// A custom pattern that gave up.
    pub fn encode_and<I: Pooled, T>(&self, text: &[u8], take: impl FnOnce(&[I]) -> T) -> Result<T> {
        let mut worker = self.take_worker::<I>();
        let outcome = worker.encode_and(self, text, take);
        self.return_worker(worker);
        outcome
    }

    /// The ids of `documents` on up to `threads` threads (0: all; small inputs stay on the calling thread).
    ///
    /// # Errors
    /// A frame id that is not in the vocabulary, a custom pattern that gave up, memory that is not to be had, or what `report` returns.
    pub fn encode_batch<I: Pooled>(
        &self,
        documents: &[&[u8]],
        threads: usize,
        frame: Frame,
        report: Report<'_>,
    ) -> Result<Batch<I>> {
        self.check_frame(frame)?;
        let plan = WorkPlan::new(&self.pattern, documents);
        self.encode_plan(&plan, documents, threads, frame, report)
    }

    pub(super) fn check_frame(&self, frame: Frame) -> Result<()> {
        let unknown = [frame.bos, frame.eos].into_iter().flatten().find(|&id| self.token(id).is_none());
        unknown.map_or(Ok(()), |id| Err(Error::UnknownId { id: i64::from(id), position: 0, n_vocab: self.n_vocab }))
    }

    pub(super) fn encode_plan<I: Pooled>(
        &self,
        plan: &WorkPlan,
        documents: &[&[u8]],
        threads: usize,
        frame: Frame,
        report: Report<'_>,
    ) -> Result<Batch<I>> {
        let threads = thread_count(threads, plan.batches.len());
        let mut workers = self.take_workers::<I>(threads, plan.bytes);
        let batch = self.written(number_of_places::<I>(plan), &mut workers, |workers, place| {
            if threads == 1 {
                self.encode_alone(plan, documents, frame, workers, place, report)
            } else {
                self.encode_shared(plan, documents, frame, workers, place, report)
            }
        });
        self.return_workers(workers);
        batch
    }

    /// One thread writes all ids end to end.
    fn encode_alone<I: Pooled>(
        &self,
        plan: &WorkPlan,
        documents: &[&[u8]],
        frame: Frame,
        workers: &mut [Worker<I>],
        place: &mut [I],
        report: Report<'_>,
    ) -> Result<(usize, Vec<i64>)> {
        let region = Mutex::new(Region::new(place));
        run(plan, workers, report, |worker, batch| {
            let mut region = region.lock().map_err(|_| Error::Interrupted)?;
            self.encode_part(worker, Part { plan, batch, documents, frame }, &mut region)
        })?;
        Ok(region.into_inner().map_err(|_| Error::Interrupted)?.finish())
    }

    /// Threads encode batches into buffers, and copy them to their places as these become known.
    fn encode_shared<I: Pooled>(
        &self,
        plan: &WorkPlan,
        documents: &[&[u8]],
        frame: Frame,
        workers: &mut [Worker<I>],
        place: &mut [I],
        report: Report<'_>,
    ) -> Result<(usize, Vec<i64>)> {
        let in_order = OrderedOutput::new(place);
        run(plan, workers, report, |worker, batch| {
            self.encode_in_order(worker, Part { plan, batch, documents, frame }, batch, &in_order)
        })?;
        finish(in_order, workers)
    }

    /// Puts the ids of `part` where those of all parts before number `number` will end.
    pub(super) fn encode_in_order<I: Pooled>(
        &self,
        worker: &mut Worker<I>,
        part: Part<'_>,
        number: usize,
        in_order: &OrderedOutput<'_, I>,
    ) -> Result<()> {
        let places = places::<I>(part.plan, &part.plan.batches[part.batch]);
        let mut buffer = match in_order.used_buffer(places)? {
            Some(used) => used,
            None => worker.places.take(places)?,
        };
        let mut region = Region::new(&mut buffer);
        self.encode_part(worker, part, &mut region)?;
        let Region { len, ends, .. } = region;
        in_order.put(number, buffer, len, ends)
    }

    pub(super) fn encode_part<I: Pooled>(
        &self,
        worker: &mut Worker<I>,
        part: Part<'_>,
        region: &mut Region<'_, I>,
    ) -> Result<()> {
        let Part { plan, batch, documents, frame } = part;
        for span in &plan.spans[plan.batches[batch].clone()] {
            if span.first() {
                region.push(frame.bos);
            }
            let place = &mut region.place[region.len..];
            region.len += worker.encode(self, documents[span.document], span.range.clone(), place)?;
            if span.last {
                region.push(frame.eos);
                region.ends.push(region.len);
            }
        }
        Ok(())
    }

    /// Number of ids of each document, without keeping the ids.
    ///
    /// # Errors
    /// A custom pattern that gave up, or what `report` returns.
    pub fn count_batch<I: Pooled>(&self, documents: &[&[u8]], threads: usize, report: Report<'_>) -> Result<Vec<i64>> {
        let plan = WorkPlan::new(&self.pattern, documents);
        let threads = thread_count(threads, plan.batches.len());
        let mut workers = self.take_workers::<I>(threads, plan.bytes);
        let totals = Mutex::new(vec![0; documents.len()]);
        let outcome = run(&plan, &mut workers, report, |worker, batch| {
            let (mut scratch, mut counts) = (Vec::new(), Vec::new());
            for span in &plan.spans[plan.batches[batch].clone()] {
                scratch.resize(scratch.len().max(room::<I>(span.range.len())), I::default());
                let n = worker.encode(self, documents[span.document], span.range.clone(), &mut scratch)?;
                counts.push((span.document, n as i64));
            }
            let mut totals = totals.lock().map_err(|_| Error::Interrupted)?;
            counts.into_iter().for_each(|(document, count)| totals[document] += count);
            Ok(())
        });
        self.return_workers(workers);
        outcome.and_then(|()| totals.into_inner().map_err(|_| Error::Interrupted))
    }
}

/// How many ids there are, and where each document begins, with the end of the last. The workers keep the buffers.
pub(super) fn finish<I: Pooled>(
    in_order: OrderedOutput<'_, I>,
    workers: &mut [Worker<I>],
) -> Result<(usize, Vec<i64>)> {
    let (len, offsets, buffers) = in_order.finish()?;
    for (worker, buffer) in (0..workers.len()).cycle().zip(buffers) {
        workers[worker].places.give_back(buffer);
    }
    Ok((len, offsets))
}

/// Places that the ids of `spans` may take, with a frame around each document.
fn places<I: Pooled>(plan: &WorkPlan, spans: &Range<usize>) -> usize {
    let spans = &plan.spans[spans.clone()];
    room::<I>(spans.iter().map(|span| span.range.len() + 2).sum())
}

/// For all batches.
fn number_of_places<I: Pooled>(plan: &WorkPlan) -> usize {
    plan.batches.iter().map(|spans| places::<I>(plan, spans)).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::accel::cache_sharing::Post;
    use crate::merges::Merges;
    use crate::parallel::no_progress;
    use crate::pretoken::{Pattern, names};

    fn encoder(pattern: &Pattern, first: u32) -> Encoder {
        let merges = Merges::new(vec![(97, 97), (256, 98), (32, 257), (0xE4, 0xB8), (49, 50), (10, 32)]).unwrap();
        let external = (0..merges.tokens().len() as u32).map(|id| id + first).collect();
        Encoder::from_merges(pattern.clone(), merges, external, vec![(1, b"<s>".to_vec())], Vec::new()).unwrap()
    }

    /// Documents cut into batches of `size`, on `threads` threads, equal documents encoded one by one.
    fn check<I: Pooled>(encoder: &Encoder, documents: &[&[u8]], size: usize, threads: usize) {
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
    fn very_long_pieces_are_remembered_the_second_time() {
        let encoder = encoder(&Pattern::new("gpt2").unwrap(), 16);
        for length in [1 << 10, 1 << 13, 1 << 20] {
            let text = "ab".repeat(length / 2);
            let mut found = Vec::new();
            let before = encoder.stats()[1].1;
            for _ in 0..4 {
                found.push(encoder.encode::<u16>(text.as_bytes()).unwrap());
            }
            assert!(found.windows(2).all(|pair| pair[0] == pair[1]));
            assert_eq!(encoder.stats()[1].1 - before, if length > 4096 { 2 } else { 1 }, "{length}");
        }
    }

    #[test]
    fn a_new_thread_knows_what_one_learned_where_the_text_is_long() {
        let encoder = encoder(&Pattern::new("gpt2").unwrap(), 16);
        let text: String = (0..3000).map(|word| format!(" w{word}")).collect();
        let misses_of_a_joiner = |bytes| {
            let mut workers = encoder.take_workers::<u16>(2, bytes);
            let [_, joiner] = &mut workers[..] else { unreachable!("two were asked for") };
            joiner.encode_and(&encoder, text.as_bytes(), <[u16]>::len).unwrap();
            let misses = joiner.misses;
            // Only the first goes back, so that the next joiner is new.
            encoder.return_workers(workers.into_iter().take(1).collect());
            misses
        };
        assert_eq!(misses_of_a_joiner(usize::MAX), 3001, "there was nothing to know");
        encoder.encode::<u16>(text.as_bytes()).unwrap();
        assert_eq!(misses_of_a_joiner(text.len()), 3001, "copying would take longer than it saves");
        assert_eq!(misses_of_a_joiner(usize::MAX), 0);
    }

    #[test]
    fn what_one_worker_merged_no_other_merges() {
        let encoder = encoder(&Pattern::new("cl100k").unwrap(), 16);
        // Words with a key, words without, and clauses, which are remembered when they come again.
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
        // As when they are put back and taken again, however few may wait on this machine.
        workers.iter_mut().for_each(|worker| worker.post.part());
        Post::join(workers.iter_mut().map(|worker| &mut worker.post), usize::MAX);
        assert!(misses(&mut workers[1], 0) == (first.0, 0) && misses(&mut workers[0], 1) == (second.0, 0));
    }

    #[test]
    fn threads_that_tell_each_other_give_what_one_gives() {
        let fresh = || encoder(&Pattern::new("cl100k").unwrap(), 16);
        // Words with a key, words without, and clauses; each document has most of them, in another order.
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
}
