//! Parallel loops over documents, with results that do not depend on the number of threads.
//!
//! Documents are divided into *spans*: byte ranges whose ends are sync points of the pattern, so that the pieces that start
//! in the range are pieces of the whole document. A worker always gets the whole document and may read beyond the range.
//! Workers claim *batches* of spans from an atomic counter; the encoder joins results by batch index. Threads are scoped to
//! one call, so a fork between calls is safe.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::interrupt::{Interrupt, in_scope_of, supervised};
use crate::pretoken::Pattern;
use crate::threads::spawn;
use crate::{Error, Result, interrupt};

/// Target size of a batch: large enough to amortise the claim, small enough to balance the load.
pub(crate) const BATCH_BYTES: usize = 1 << 20;

/// A byte range of one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Index of the document.
    pub document: usize,
    /// Bytes of the document; both ends are sync points or ends of the document.
    pub range: Range<usize>,
    /// Whether the document begins at the start of the span.
    pub first: bool,
    /// Whether the document ends at the end of the span.
    pub last: bool,
}

/// The spans of some documents, grouped into batches.
#[derive(Debug)]
pub struct WorkPlan {
    /// Sorted by document, then by position.
    pub spans: Vec<Span>,
    /// Ranges of `spans`, of about 1 MiB each.
    pub batches: Vec<Range<usize>>,
    /// Total bytes of the documents.
    pub bytes: usize,
    /// Whether a batch may take long, so that the calling thread must not encode or count but watch.
    pub is_slow: bool,
}

/// A longer span is slow: it has no sync point.
pub(crate) const MAX_QUICK_SPAN_BYTES: usize = 8 << 20;

impl WorkPlan {
    /// Divides `documents` at sync points of `pattern`.
    #[must_use]
    pub fn new(pattern: &Pattern, documents: &[&[u8]]) -> Self {
        Self::with_batch_bytes(pattern, documents, BATCH_BYTES)
    }

    /// As [`WorkPlan::new`], in batches of about `batch_bytes`; tests use small batches to get many spans from short texts.
    #[must_use]
    pub fn with_batch_bytes(pattern: &Pattern, documents: &[&[u8]], batch_bytes: usize) -> Self {
        let end = |text: &[u8], start| span_end(pattern, text, start, batch_bytes);
        Self::divided(pattern, documents, batch_bytes, end)
    }

    /// As [`WorkPlan::new`], with each document in one span, for work that cannot begin inside a document.
    #[must_use]
    pub fn of_whole_documents(pattern: &Pattern, documents: &[&[u8]]) -> Self {
        Self::divided(pattern, documents, BATCH_BYTES, |text, _| text.len())
    }

    /// The plan for a part of a document, in batches of about `batch_bytes`: the pieces that start in the first `length` bytes of
    /// `text`, which end at a sync point or with it. `begins` and `ends` say whether the document begins and ends with the part.
    #[must_use]
    pub fn for_part(
        pattern: &Pattern,
        text: &[u8],
        length: usize,
        begins: bool,
        ends: bool,
        batch_bytes: usize,
    ) -> Self {
        let end = |part: &[u8], start| {
            pattern.next_sync_point(text, start + batch_bytes).filter(|&next| next < length).unwrap_or(part.len())
        };
        let mut plan = Self::divided(pattern, &[&text[..length]], batch_bytes, end);
        if let [first, ..] = &mut plan.spans[..] {
            first.first = begins;
        }
        if let [.., last] = &mut plan.spans[..] {
            last.last = ends;
        }
        plan
    }

    /// Divides `documents` where `end` of (document, start of a span) says.
    fn divided(
        pattern: &Pattern,
        documents: &[&[u8]],
        batch_bytes: usize,
        end: impl Fn(&[u8], usize) -> usize,
    ) -> Self {
        let mut plan =
            Self { spans: Vec::with_capacity(documents.len()), batches: Vec::new(), bytes: 0, is_slow: false };
        let (mut batch_start, mut batch_len) = (0, 0);
        for (document, text) in documents.iter().enumerate() {
            let mut start = 0;
            loop {
                let end = end(text, start);
                batch_len += end - start;
                plan.is_slow |= end - start > MAX_QUICK_SPAN_BYTES;
                let (first, last) = (start == 0, end == text.len());
                plan.spans.push(Span { document, range: start..end, first, last });
                if batch_len >= batch_bytes {
                    plan.batches.push(batch_start..plan.spans.len());
                    (batch_start, batch_len) = (plan.spans.len(), 0);
                }
                start = end;
                if start == text.len() {
                    break;
                }
            }
            plan.bytes += text.len();
        }
        if batch_start < plan.spans.len() {
            plan.batches.push(batch_start..plan.spans.len());
        }
        plan.is_slow |= pattern.is_slow_for(plan.bytes);
        plan
    }
}

/// End of the span that begins at `start`.
fn span_end(pattern: &Pattern, text: &[u8], start: usize, batch_bytes: usize) -> usize {
    if text.len() - start <= 2 * batch_bytes {
        return text.len();
    }
    pattern.next_sync_point(text, start + batch_bytes).unwrap_or(text.len())
}

/// Number of pieces, given by their ascending `ends`, that end at or before `limit`. Because a span ends at the start of a
/// piece, these are the pieces of the span that ends at `limit`.
#[inline]
#[must_use]
pub fn count_ends_up_to(ends: &[usize], limit: usize) -> usize {
    match ends.last() {
        Some(&last) if last > limit => ends.partition_point(|&end| end <= limit),
        _ => ends.len(),
    }
}

/// Number of threads for a call: `requested`, or all hardware threads if that is 0; at most one per batch, at least one.
#[must_use]
pub fn thread_count(requested: usize, batches: usize) -> usize {
    // The system call costs more than encoding a short text, so a single batch skips it.
    let wanted = if requested == 0 && batches > 1 { available_threads() } else { requested };
    wanted.min(batches).max(1)
}

/// Number of hardware threads available to the process; 1 if the system does not say.
#[must_use]
pub fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Progress callback: called between batches with the number of bytes done. An error stops the work.
pub type ReportProgress<'a> = &'a mut dyn FnMut(u64) -> Result<()>;

/// Runs `work(worker, batch index)` over all batches of `plan`, one thread per worker. Only the calling thread calls `report`,
/// between batches, or regularly if the plan is slow.
///
/// # Errors
/// The first error in batch order.
pub fn for_each_batch<W: Send>(
    plan: &WorkPlan,
    workers: &mut [W],
    report: ReportProgress<'_>,
    work: impl Fn(&mut W, usize) -> Result<()> + Sync,
) -> Result<()> {
    if !plan.is_slow {
        return run_batches(plan, workers, report, &work);
    }
    let done = AtomicU64::new(0);
    // The batches run on other threads, while this one polls `report`.
    supervised(&mut || report(done.load(Ordering::Relaxed)), || {
        let mut record = |bytes| {
            done.store(bytes, Ordering::Relaxed);
            Ok(())
        };
        run_batches(plan, workers, &mut record, &work)
    })?;
    report(done.into_inner())
}

fn run_batches<W: Send>(
    plan: &WorkPlan,
    workers: &mut [W],
    report: ReportProgress<'_>,
    work: &(impl Fn(&mut W, usize) -> Result<()> + Sync),
) -> Result<()> {
    let (next, done, stop) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let serve = |worker: &mut W, report: Option<ReportProgress<'_>>| -> std::result::Result<(), (usize, Error)> {
        let mut report = report;
        let _guard = StopOnPanic(&stop);
        while !stop.load(Ordering::Relaxed) {
            let batch = next.fetch_add(1, Ordering::Relaxed);
            let Some(range) = plan.batches.get(batch) else { break };
            let bytes: usize = plan.spans[range.clone()].iter().map(|span| span.range.len()).sum();
            let outcome = interrupt::check().and_then(|()| work(worker, batch)).and_then(|()| {
                let total = done.fetch_add(bytes, Ordering::Relaxed) + bytes;
                report.as_mut().map_or(Ok(()), |report| report(total as u64))
            });
            if let Err(error) = outcome {
                stop.store(true, Ordering::Relaxed);
                return Err((batch, error));
            }
        }
        Ok(())
    };
    let Some((own, others)) = workers.split_first_mut() else { return Ok(()) };
    let outcomes = run_threads(|| serve(own, Some(report)), others, |worker| serve(worker, None));
    let mut failures: Vec<(usize, Error)> = outcomes.into_iter().filter_map(std::result::Result::err).collect();
    failures.sort_by_key(|(batch, _)| *batch);
    failures.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
}

/// Runs `own_work` on this thread, and meanwhile `work` for each worker of `others` on a thread of its own, in the scope of the
/// interrupt of this thread. Returns all outcomes; that of `own_work` is the first. A panic of a thread is raised here.
pub(crate) fn run_threads<W: Send, T: Send>(
    own_work: impl FnOnce() -> T,
    others: &mut [W],
    work: impl Fn(&mut W) -> T + Sync,
) -> Vec<T> {
    let (interrupt, work) = (Interrupt::current(), &work);
    std::thread::scope(|scope| {
        let start = |worker| spawn(scope, || in_scope_of(interrupt.as_ref(), move || work(worker))).ok();
        // The threads that start do the work of one that does not.
        let handles: Vec<_> = others.iter_mut().map_while(start).collect();
        let own = own_work();
        let join = |handle: std::thread::ScopedJoinHandle<'_, T>| {
            handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        std::iter::once(own).chain(handles.into_iter().map(join)).collect()
    })
}

/// Stops the other threads when this one panics.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// A [`ReportProgress`] that ignores progress.
pub fn no_progress(_: u64) -> Result<()> {
    Ok(())
}

/// Locks `mutex`. The one policy for poisoned locks: the data behind them may be half changed, so the call fails.
///
/// # Errors
/// [`Error::Poisoned`] if a thread panicked while it held the lock.
pub fn lock<T>(mutex: &Mutex<T>) -> Result<MutexGuard<'_, T>> {
    mutex.lock().map_err(|_| Error::Poisoned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_up_to_the_limit_are_counted() {
        let ends = [2, 3, 7, 9];
        for limit in 0..12 {
            assert_eq!(count_ends_up_to(&ends, limit), ends.iter().filter(|&&end| end <= limit).count());
        }
        assert_eq!(count_ends_up_to(&[], 5), 0);
    }

    #[test]
    fn a_panic_stops_all_threads() {
        let documents = [&b"a"[..]; 10_000];
        let plan = WorkPlan::with_batch_bytes(&Pattern::new("gpt2").unwrap(), &documents, 1);
        let finished = AtomicUsize::new(0);
        let outcome = std::panic::catch_unwind(|| {
            for_each_batch(&plan, &mut [(), ()], &mut no_progress, |(), batch| {
                assert!(batch > 0, "the first batch panics");
                std::thread::sleep(std::time::Duration::from_millis(1));
                finished.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
        });
        assert!(outcome.is_err() && finished.into_inner() < plan.batches.len() / 2);
    }
    #[test]
    fn a_poisoned_lock_is_an_error() {
        let mutex = Mutex::new(0);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _guard = mutex.lock().unwrap();
            panic!("while the lock is held");
        }));
        assert!(outcome.is_err());
        assert_eq!(lock(&mutex).err(), Some(Error::Poisoned));
    }
}
