//! Sharing documents among threads without changing a result.
//!
//! Work is cut into *spans*: a range of a document whose ends are certain starts of pieces, so that the pieces that start
//! in the range are those of the whole document. A worker always gets the whole document and reads on as far as it must.
//! Spans are handed out in *batches* by an atomic counter; results are put together in span order, so neither the number
//! of threads nor their speed can show. Threads live for one call: nothing outlives it, and a fork is safe.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::pretoken::Pattern;
use crate::{Error, Result};

/// What one call of a worker covers, in bytes: large enough to hide the hand-over, small enough to balance.
pub(crate) const BATCH_BYTES: usize = 1 << 20;

/// A stretch of one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Index of the document.
    pub document: usize,
    /// Bytes of the document; both ends are its ends or certain starts.
    pub range: Range<usize>,
    /// Whether the document ends here.
    pub last: bool,
}

impl Span {
    /// Whether the document begins here.
    #[must_use]
    pub fn first(&self) -> bool {
        self.range.start == 0
    }
}

/// All spans of some documents, and their division into batches.
#[derive(Debug)]
pub struct WorkPlan {
    /// In document order, then by position.
    pub spans: Vec<Span>,
    /// Ranges of `spans` of about a mebibyte.
    pub batches: Vec<Range<usize>>,
    /// Bytes of all documents.
    pub bytes: usize,
}

impl WorkPlan {
    /// SplitPoints `documents` for `pattern`.
    #[must_use]
    pub fn new(pattern: &Pattern, documents: &[&[u8]]) -> Self {
        Self::in_batches(pattern, documents, BATCH_BYTES)
    }

    /// As [`WorkPlan::new`], in batches of about `size` bytes: tests take small ones, so that little texts have many spans.
    #[must_use]
    pub fn in_batches(pattern: &Pattern, documents: &[&[u8]], size: usize) -> Self {
        let mut plan = Self { spans: Vec::with_capacity(documents.len()), batches: Vec::new(), bytes: 0 };
        let (mut first, mut filled) = (0, 0);
        for (document, text) in documents.iter().enumerate() {
            let mut start = 0;
            loop {
                let end = cut(pattern, text, start, size);
                filled += end - start;
                plan.spans.push(Span { document, range: start..end, last: end == text.len() });
                if filled >= size {
                    plan.batches.push(first..plan.spans.len());
                    (first, filled) = (plan.spans.len(), 0);
                }
                start = end;
                if start == text.len() {
                    break;
                }
            }
            plan.bytes += text.len();
        }
        if first < plan.spans.len() {
            plan.batches.push(first..plan.spans.len());
        }
        plan
    }
}

/// Where the span that begins at `start` ends.
fn cut(pattern: &Pattern, text: &[u8], start: usize, size: usize) -> usize {
    if text.len() - start <= 2 * size {
        return text.len();
    }
    pattern.next_sync_point(text, start + size).unwrap_or(text.len())
}

/// How many of the pieces that end at `ends`, in order, end at `limit` or before it: a span ends at the start of a piece, so
/// these are the ones that are its own.
#[inline]
#[must_use]
pub fn pieces_within(ends: &[usize], limit: usize) -> usize {
    // Nearly always all of them.
    match ends.last() {
        Some(&last) if last > limit => ends.partition_point(|&end| end <= limit),
        _ => ends.len(),
    }
}

/// How many threads a call gets: `asked`, or all of the machine's when 0, and no more than there is work for.
#[must_use]
pub fn thread_count(asked: usize, batches: usize) -> usize {
    // Asking the system costs more than a short text.
    let wanted = if asked == 0 && batches > 1 { available_threads() } else { asked };
    wanted.min(batches).max(1)
}

/// What the machine can run at once.
#[must_use]
pub fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Called between batches with the number of bytes done; an error ends the work.
pub type Report<'a> = &'a mut dyn FnMut(u64) -> Result<()>;

/// Runs `work(worker, batch index)` over all batches of `plan`; each worker serves one thread. Only the calling thread
/// reports. Returns the first error in batch order.
pub fn run<W: Send>(
    plan: &WorkPlan,
    workers: &mut [W],
    report: Report<'_>,
    work: impl Fn(&mut W, usize) -> Result<()> + Sync,
) -> Result<()> {
    let (next, done, stop) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let serve = |worker: &mut W, tell: Option<Report<'_>>| -> std::result::Result<(), (usize, Error)> {
        let mut tell = tell;
        let _guard = StopOnPanic(&stop);
        while !stop.load(Ordering::Relaxed) {
            let batch = next.fetch_add(1, Ordering::Relaxed);
            let Some(range) = plan.batches.get(batch) else { break };
            let bytes: usize = plan.spans[range.clone()].iter().map(|span| span.range.len()).sum();
            let outcome = work(worker, batch).and_then(|()| {
                let total = done.fetch_add(bytes, Ordering::Relaxed) + bytes;
                tell.as_mut().map_or(Ok(()), |tell| tell(total as u64))
            });
            if let Err(error) = outcome {
                stop.store(true, Ordering::Relaxed);
                return Err((batch, error));
            }
        }
        Ok(())
    };
    let Some((mine, others)) = workers.split_first_mut() else { return Ok(()) };
    let mut failures: Vec<(usize, Error)> = std::thread::scope(|scope| {
        let handles: Vec<_> = others.iter_mut().map(|worker| scope.spawn(|| serve(worker, None))).collect();
        let mut failures: Vec<_> = serve(mine, Some(report)).err().into_iter().collect();
        for handle in handles {
            match handle.join() {
                Ok(outcome) => failures.extend(outcome.err()),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        failures
    });
    failures.sort_by_key(|(batch, _)| *batch);
    failures.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
}

/// Ends the work of the other threads when this one panics.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// A report that nobody hears.
pub fn no_progress(_: u64) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_within_are_those_that_end_there() {
        let ends = [2, 3, 7, 9];
        for limit in 0..12 {
            assert_eq!(pieces_within(&ends, limit), ends.iter().filter(|&&end| end <= limit).count());
        }
        assert_eq!(pieces_within(&[], 5), 0);
    }

    #[test]
    fn a_panic_ends_the_work_of_all_threads() {
        let documents = [&b"a"[..]; 10_000];
        let plan = WorkPlan::in_batches(&Pattern::new("gpt2").unwrap(), &documents, 1);
        let finished = AtomicUsize::new(0);
        let outcome = std::panic::catch_unwind(|| {
            run(&plan, &mut [(), ()], &mut no_progress, |(), batch| {
                assert!(batch > 0, "the first batch panics");
                std::thread::sleep(std::time::Duration::from_millis(1));
                finished.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
        });
        assert!(outcome.is_err() && finished.into_inner() < plan.batches.len() / 2);
    }
}
