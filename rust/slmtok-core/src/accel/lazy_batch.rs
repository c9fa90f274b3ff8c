//! Transcoding documents while others are encoded.
//!
//! Only the calling thread may ask Python for code points. It transcodes about 1 MiB of documents at a time, sends this portion
//! to the other threads, and encodes a portion itself when they have enough. So transcoding overlaps with encoding, and a
//! portion's bytes are encoded while they are in the processor's cache. Plain alternative: transcode all documents before the call.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{TrySendError, sync_channel};

use super::transcode::{MixedTexts, Utf8Buffer};
use crate::parallel::{BATCH_BYTES, ReportProgress, lock, run_threads};
use crate::pretoken::Pattern;
use crate::{Error, Result};

/// A longer document in code points is shared among threads, which needs all of its bytes.
const MAX_LAZY_DOCUMENT_POINTS: usize = 4 * BATCH_BYTES;
/// A longer document in bytes would delay the reports: a portion is encoded as one batch.
const MAX_LAZY_DOCUMENT_BYTES: usize = 32 << 20;
/// Output buffers for more code points would take more than 4 GiB of address space.
const MAX_LAZY_POINTS: usize = 1 << 28;

/// A document, or its length before it is transcoded.
#[derive(Clone, Copy, Debug)]
pub enum Document<'a> {
    /// Its bytes.
    Bytes(&'a [u8]),
    /// The number of its code points.
    CodePoints(usize),
}

/// Appends the UTF-8 of the document with this index. Called on the calling thread, in ascending order.
pub type Transcode<'a> = &'a mut (dyn FnMut(usize, &mut Utf8Buffer) -> Result<()> + Send);

impl Document<'_> {
    /// The most bytes that its UTF-8 may have.
    pub(crate) fn max_bytes(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::CodePoints(points) => 4 * points,
        }
    }

    /// Its part of the work, as it is reported.
    #[must_use]
    pub fn weight(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::CodePoints(points) => *points as u64,
        }
    }
}

/// Whether to transcode portion by portion: some document is in code points, and neither the pattern nor a document nor all of
/// them together make it slow or large.
pub(crate) fn is_lazy(pattern: &Pattern, documents: &[Document<'_>]) -> bool {
    let is_short = |document: &Document<'_>| match document {
        Document::Bytes(bytes) => bytes.len() <= MAX_LAZY_DOCUMENT_BYTES,
        Document::CodePoints(points) => *points <= MAX_LAZY_DOCUMENT_POINTS,
    };
    let points = |document: &Document<'_>| if let Document::CodePoints(points) = document { *points } else { 0 };
    !pattern.is_custom()
        && documents.iter().all(is_short)
        && (1..=MAX_LAZY_POINTS).contains(&documents.iter().map(points).sum())
}

/// The plain alternative: all texts, transcoded.
pub(crate) fn transcode_all<'a>(documents: &[Document<'a>], transcode: Transcode<'_>) -> Result<MixedTexts<'a>> {
    let mut texts = MixedTexts::with_capacity(0);
    for (index, document) in documents.iter().enumerate() {
        match *document {
            Document::Bytes(text) => texts.push_bytes(text),
            Document::CodePoints(_) => texts.push_transcoded(|utf8| transcode(index, utf8))?,
        };
    }
    Ok(texts)
}

/// Consecutive documents.
pub(crate) struct Portion<'a> {
    pub number: usize,
    pub texts: MixedTexts<'a>,
    weight: u64,
}

/// The portions of some documents.
pub(crate) struct Portions<'a, 't> {
    documents: &'a [Document<'a>],
    transcode: Transcode<'t>,
    /// Indices of the next document and of the next portion.
    next: usize,
    number: usize,
    /// Weight of the documents from the next one on.
    remaining: u64,
}

impl<'a, 't> Portions<'a, 't> {
    pub fn new(documents: &'a [Document<'a>], transcode: Transcode<'t>) -> Self {
        let remaining = documents.iter().map(Document::weight).sum();
        Self { documents, transcode, next: 0, number: 0, remaining }
    }

    fn produce(&mut self) -> Result<Portion<'a>> {
        let capacity = usize::try_from(self.remaining).unwrap_or(BATCH_BYTES).min(BATCH_BYTES);
        let (mut texts, mut bytes, mut weight) = (MixedTexts::with_capacity(capacity), 0, 0);
        while let Some(document) = self.documents.get(self.next)
            && bytes < BATCH_BYTES
        {
            bytes += match *document {
                Document::Bytes(text) => texts.push_bytes(text),
                Document::CodePoints(_) => texts.push_transcoded(|utf8| (self.transcode)(self.next, utf8))?,
            };
            weight += document.weight();
            self.next += 1;
        }
        self.number += 1;
        self.remaining -= weight;
        Ok(Portion { number: self.number - 1, texts, weight })
    }
}

impl<'a> Iterator for Portions<'a, '_> {
    type Item = Result<Portion<'a>>;

    fn next(&mut self) -> Option<Result<Portion<'a>>> {
        (self.next < self.documents.len()).then(|| self.produce())
    }
}

/// Calls `encode` for each portion, on one thread for each worker, and returns the error of the lowest portion. Only the calling
/// thread produces portions and reports.
pub(crate) fn pipeline<'a, W: Send>(
    workers: &mut [W],
    mut portions: Portions<'a, '_>,
    report: ReportProgress<'_>,
    encode: impl Fn(&mut W, &Portion<'a>) -> Result<()> + Sync,
) -> Result<()> {
    let Some((mine, others)) = workers.split_first_mut() else { return Ok(()) };
    let (sender, receiver) = sync_channel::<Portion<'a>>(2 * others.len());
    let (receiver, failure, done) = (Mutex::new(receiver), Mutex::new(None), AtomicU64::new(0));
    let fail = |number: usize, error: Error| -> Result<()> {
        let mut failure = lock(&failure)?;
        if failure.as_ref().is_none_or(|(first, _)| number < *first) {
            *failure = Some((number, error));
        }
        Ok(())
    };
    // Portions before a failed one are encoded all the same: one of them may fail as well.
    let work = |worker: &mut W, portion: Portion<'a>| match encode(worker, &portion) {
        Ok(()) => {
            done.fetch_add(portion.weight, Ordering::Relaxed);
            Ok(())
        }
        Err(error) => fail(portion.number, error),
    };
    let serve = |worker: &mut W| -> Result<()> {
        loop {
            let received = lock(&receiver)?.recv();
            match received {
                Ok(portion) => work(worker, portion)?,
                Err(_) => return Ok(()),
            }
        }
    };
    let produce = |mine: &mut W| -> Result<()> {
        let sender = sender;
        while lock(&failure)?.is_none() {
            let number = portions.number;
            match portions.next() {
                None => break,
                Some(Err(error)) => fail(number, error)?,
                // Without other threads the channel has no room.
                Some(Ok(portion)) => match sender.try_send(portion) {
                    Ok(()) => {}
                    Err(TrySendError::Full(portion) | TrySendError::Disconnected(portion)) => work(mine, portion)?,
                },
            }
            if let Err(error) = report(done.load(Ordering::Relaxed)) {
                fail(portions.number, error)?;
            }
        }
        Ok(())
    };
    // The sender ends with `produce`, so that the other threads end too, also after a panic.
    let outcomes = run_threads(|| produce(mine).and(serve(mine)), others, serve);
    outcomes.into_iter().collect::<Result<()>>()?;
    if let Some((_, error)) = failure.into_inner().map_err(|_| Error::Poisoned)? {
        return Err(error);
    }
    report(done.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::no_progress;

    #[test]
    fn a_panic_of_another_thread_keeps_its_message() {
        let text = vec![b'a'; BATCH_BYTES];
        let documents = [Document::Bytes(&text); 20];
        let caller = std::thread::current().id();
        let panic = std::panic::catch_unwind(|| {
            let transcode: Transcode<'_> = &mut |_, _| Ok(());
            pipeline(&mut [(), (), ()], Portions::new(&documents, transcode), &mut no_progress, |(), _| {
                assert!(std::thread::current().id() == caller, "the message");
                std::thread::sleep(std::time::Duration::from_millis(5));
                Ok(())
            })
        });
        let panic = panic.unwrap_err();
        assert!(panic.downcast_ref::<&str>().is_some_and(|message| message.contains("the message")));
    }

    #[test]
    fn the_error_of_the_lowest_portion_is_returned() {
        let text = vec![b'a'; BATCH_BYTES];
        let documents = [Document::Bytes(&text); 20];
        for workers in [1, 3] {
            let transcode: Transcode<'_> = &mut |_, _| Ok(());
            let portions = Portions::new(&documents, transcode);
            let outcome = pipeline(&mut vec![(); workers], portions, &mut no_progress, |(), portion| {
                if portion.number < 7 {
                    std::thread::sleep(std::time::Duration::from_millis(2));
                    return Ok(());
                }
                Err(Error::NoMemory { bytes: portion.number as u64 })
            });
            assert_eq!(outcome, Err(Error::NoMemory { bytes: 7 }), "{workers} workers");
        }
    }
}
