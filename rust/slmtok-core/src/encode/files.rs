//! From files straight to a file of ids, in bounded memory.
//!
//! Files are mapped and taken in portions of documents, and each portion is encoded in windows of batches; the ids of a
//! window are written before the next one begins. Besides the offsets, memory is that of one portion and one window, however
//! large the files are. A failed call leaves no file.

use std::fs::File;
use std::io::{BufWriter, Write};

use super::batch::Frame;
use super::{Encoder, Pooled};
use crate::mapped_file::{DocumentUnit, MappedFile};
use crate::parallel::{Report, WorkPlan};
use crate::{Error, Result};

/// Batches of about 1 MiB in one window.
const WINDOW_BATCHES: usize = 64;

impl Encoder {
    /// Encodes the documents of `paths` in order and writes the flat ids, little-endian, to the new file `out`. Returns the
    /// n + 1 document offsets.
    ///
    /// # Errors
    /// A file that cannot be read, an existing or unwritable `out`, and the errors of [`Encoder::encode_batch`].
    pub fn encode_files<I: Pooled>(
        &self,
        paths: &[String],
        out: &str,
        unit: DocumentUnit,
        threads: usize,
        frame: Frame,
        report: Report<'_>,
    ) -> Result<Vec<i64>> {
        self.check_frame(frame)?;
        let fail = |action: &'static str| {
            move |error: std::io::Error| Error::Io {
                path: out.to_owned(),
                action,
                reason: error.to_string(),
                os_error: error.raw_os_error(),
            }
        };
        let file = File::create_new(out).map_err(fail("create"))?;
        // Declared before the sink, so that the file is closed before it is removed.
        let guard = RemoveOnDrop(Some(out));
        let mut sink = BufWriter::new(file);
        let (mut offsets, mut written, mut done, mut bytes) = (vec![0], 0, 0, Vec::new());
        for path in paths {
            let file = MappedFile::open(path)?;
            for documents in file.batches(unit) {
                let mut plan = WorkPlan::new(self.pattern(), &documents);
                let batches = std::mem::take(&mut plan.batches);
                for window in batches.chunks(WINDOW_BATCHES) {
                    plan.batches = window.to_vec();
                    let spans = window.iter().flat_map(|batch| &plan.spans[batch.clone()]);
                    let size: u64 = spans.map(|span| span.range.len() as u64).sum();
                    let batch =
                        self.encode_plan::<I>(&plan, &documents, threads, frame, &mut |now| report(done + now))?;
                    offsets.extend(batch.offsets[1..].iter().map(|end| written + end));
                    written += batch.offsets.last().copied().unwrap_or(0);
                    done += size;
                    bytes.clear();
                    I::write_bytes(&batch.ids, &mut bytes);
                    sink.write_all(&bytes).map_err(fail("write"))?;
                }
            }
        }
        sink.flush().map_err(fail("write"))?;
        sink.into_inner().map_err(|error| fail("write")(error.into_error()))?.sync_all().map_err(fail("write"))?;
        guard.disarm();
        Ok(offsets)
    }
}

/// Removes an incomplete file.
struct RemoveOnDrop<'a>(Option<&'a str>);

impl RemoveOnDrop<'_> {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for RemoveOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.0 {
            // An error here would hide the one that ended the call.
            let _ = std::fs::remove_file(path);
        }
    }
}
