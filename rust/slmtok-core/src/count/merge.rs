//! Merging any number of sorted sources into one, counts added.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::record::{Record, Source};
use super::table::OVERFLOW;
use crate::{Error, Result};

/// Records between two calls of the report.
const REPORT_EVERY: u64 = 1 << 14;

/// Gives every distinct piece of `sources` to `out`, in order and once, with the sum of its counts. `report` is called with
/// the number of records so far.
///
/// # Errors
/// A sum that exceeds 64 bits, and what a source, `out` and `report` return.
pub(super) fn merge<'a>(
    mut sources: Vec<Box<dyn Source + 'a>>,
    out: &mut dyn FnMut(&Record) -> Result<()>,
    report: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    let mut heap = BinaryHeap::with_capacity(sources.len());
    for (index, source) in sources.iter_mut().enumerate() {
        if let Some(record) = source.next()? {
            heap.push(Reverse((record, index)));
        }
    }
    let (mut current, mut seen) = (None::<Record>, 0);
    while let Some(mut top) = heap.peek_mut() {
        let record = match sources[top.0.1].next()? {
            Some(next) => std::mem::replace(&mut top.0.0, next),
            None => PeekMut::pop(top).0.0,
        };
        match &mut current {
            Some(sum) if sum.same_piece(&record) => {
                sum.count = sum.count.checked_add(record.count).ok_or(OVERFLOW)?;
            }
            _ => {
                if let Some(done) = current.replace(record) {
                    out(&done)?;
                }
            }
        }
        seen += 1;
        if seen % REPORT_EVERY == 0 {
            report(seen)?;
        }
    }
    current.as_ref().map_or(Ok::<(), Error>(()), out)
}
