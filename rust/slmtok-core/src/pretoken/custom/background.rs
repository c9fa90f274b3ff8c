//! A search on a thread of its own. No regex engine can be interrupted inside a match, which may take minutes in a long
//! text, so an interrupted call leaves the thread behind; it ends with that match, or with the process.
//!
//! The thread lives for one segment at most, so a fork between calls is safe.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};

use super::search::Searcher;
use crate::interrupt::{self, POLL_INTERVAL};
use crate::threads::builder;

/// Matches that are handed over together; 1024 amortise the hand-over.
const BATCH_LEN: usize = 1024;
/// Batches that the thread may be ahead.
const MAX_BATCHES: usize = 2;

type Matches = Vec<(usize, usize)>;

/// Why there are no more matches.
pub(super) enum Stopped {
    Interrupted,
    GaveUp(String),
}

/// All matches of a text from a position on.
pub(super) struct BackgroundSearch {
    batches: Receiver<Result<Matches, String>>,
    received: std::vec::IntoIter<(usize, usize)>,
}

impl BackgroundSearch {
    pub fn start(mut searcher: Box<Searcher>, text: Arc<String>, from: usize) -> Self {
        let (sender, batches) = sync_channel(MAX_BATCHES);
        // Without a thread the sender is dropped with the closure, after this error.
        let failure = sender.clone();
        if let Err(error) = builder().spawn(move || run(&mut searcher, &text, from, &sender)) {
            // The channel is empty, and `self` receives from it.
            let _ = failure.send(Err(format!("no thread can be started for its search: {error}")));
        }
        Self { batches, received: Vec::new().into_iter() }
    }

    /// The next match; `None` at the end.
    pub fn next_match(&mut self) -> Result<Option<(usize, usize)>, Stopped> {
        loop {
            if let Some(found) = self.received.next() {
                return Ok(Some(found));
            }
            match self.batches.recv_timeout(POLL_INTERVAL) {
                Ok(matches) => self.received = matches.map_err(Stopped::GaveUp)?.into_iter(),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => interrupt::check().map_err(|_| Stopped::Interrupted)?,
            }
        }
    }
}

/// Sends all matches; ends early when nobody receives them.
fn run(searcher: &mut Searcher, text: &str, mut from: usize, sender: &SyncSender<Result<Matches, String>>) {
    let mut batch = Vec::new();
    loop {
        match searcher.find(text, from) {
            Ok(Some((start, end))) => {
                batch.push((start, end));
                from = end;
                if batch.len() == BATCH_LEN && sender.send(Ok(std::mem::take(&mut batch))).is_err() {
                    return;
                }
            }
            Ok(None) => break,
            Err(reason) => {
                // The matches before the failed one are pieces; an error of sending ends the thread all the same.
                let _ = sender.send(Ok(batch)).and_then(|()| sender.send(Err(reason)));
                return;
            }
        }
    }
    let _ = sender.send(Ok(batch));
}
