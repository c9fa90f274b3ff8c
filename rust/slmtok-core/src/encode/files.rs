//! From files straight to a file of ids, in bounded memory.
//!
//! Files are mapped, taken in portions of documents, and encoded in windows of spans; each window's ids are written before
//! the next begins. Besides the offsets, memory is that of one portion and one window, however large the files are. What
//! fails leaves no file.

use std::fs::File;
use std::io::{BufWriter, Write};

use super::Encoder;
use super::batch::Frame;
use super::worker_pool::Pooled;
use crate::mapped_file::{DocumentUnit, MappedFile};
use crate::parallel::{Report, WorkPlan};
use crate::{Error, Result};

/// Batches of about a mebibyte in one window.
const WINDOW: usize = 64;

impl Encoder {
    /// Encodes the documents of `paths` in order and writes the flat ids, little-endian, to the new file `out`. Returns the
    /// document offsets, n + 1 of them.
    ///
    /// # Errors
    /// A file that cannot be read, an existing or unwritable `out`, and what [`Encoder::encode_batch`] reports.
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
        // Before the sink, so that the file is closed when it is removed.
        let begun = Unfinished(Some(out));
        let mut sink = BufWriter::new(file);
        let (mut offsets, mut written, mut done, mut bytes) = (vec![0], 0, 0, Vec::new());
        for path in paths {
            let file = MappedFile::open(path)?;
            for documents in file.batches(unit) {
                let mut plan = WorkPlan::new(self.pattern(), &documents);
                let batches = std::mem::take(&mut plan.batches);
                for window in batches.chunks(WINDOW) {
                    plan.batches = window.to_vec();
                    let size: usize =
                        window.iter().flat_map(|batch| &plan.spans[batch.clone()]).map(|span| span.range.len()).sum();
                    let encoded =
                        self.encode_plan::<I>(&plan, &documents, threads, frame, &mut |now| report(done + now))?;
                    offsets.extend(encoded.offsets[1..].iter().map(|end| written + end));
                    written += encoded.ids.len() as i64;
                    done += size as u64;
                    bytes.clear();
                    I::write(&encoded.ids, &mut bytes);
                    sink.write_all(&bytes).map_err(fail("write"))?;
                }
            }
        }
        sink.flush().map_err(fail("write"))?;
        sink.into_inner().map_err(|error| fail("write")(error.into_error()))?.sync_all().map_err(fail("write"))?;
        begun.keep();
        Ok(offsets)
    }
}

/// A file that is of no use to anybody until it is whole: removed, unless it is kept.
struct Unfinished<'a>(Option<&'a str>);

impl Unfinished<'_> {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.0 {
            // That it cannot be removed would hide why it was not finished.
            let _ = std::fs::remove_file(path);
        }
    }
}
