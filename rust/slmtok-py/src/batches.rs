//! Batches of documents through the encoder: of bytes, and of strings that are made into UTF-8 on the way.

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use slmtok_core::Error;
use slmtok_core::encode::{Document, Encoder, Frame, Make};

use crate::arrays::read_only;
use crate::bridge::run_reporting;
use crate::lent::{Given, read_only_ids};
use crate::text::{Maker, Texts};

/// Of more code points than these the UTF-8 is made before: places for as many ids as it may have would take four gigabytes of addresses.
const MOST_POINTS: usize = 1 << 28;

/// Ids and offsets.
pub type Batch<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// The ids of documents that are there.
pub fn of_bytes<'py>(
    py: Python<'py>,
    encoder: &Encoder,
    documents: &[&[u8]],
    threads: usize,
    frame: Frame,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Batch<'py>> {
    if encoder.wide() {
        bytes::<u32>(py, encoder, documents, threads, frame, progress)
    } else {
        bytes::<u16>(py, encoder, documents, threads, frame, progress)
    }
}

/// The ids of texts.
pub fn of_texts<'py>(
    py: Python<'py>,
    encoder: &Encoder,
    texts: &Texts<'py>,
    threads: usize,
    frame: Frame,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Batch<'py>> {
    if !(1..=MOST_POINTS).contains(&texts.points_to_make()) {
        return of_bytes(py, encoder, &texts.held()?.slices(), threads, frame, progress);
    }
    let (documents, strings) = (texts.documents()?, texts.to_make());
    let batch = if encoder.wide() {
        made::<u32>(py, encoder, &documents, &strings, threads, frame, progress)
    } else {
        made::<u16>(py, encoder, &documents, &strings, threads, frame, progress)
    };
    match batch {
        // Where addresses are short, those for what it really has in bytes may still be had.
        Err(error) if error.is_instance_of::<PyMemoryError>(py) => {
            of_bytes(py, encoder, &texts.held()?.slices(), threads, frame, progress)
        }
        batch => batch,
    }
}

fn bytes<'py, I: Given>(
    py: Python<'py>,
    encoder: &Encoder,
    documents: &[&[u8]],
    threads: usize,
    frame: Frame,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Batch<'py>> {
    let total = documents.iter().map(|text| text.len() as u64).sum();
    let encoded = run_reporting(py, progress, "encode", |tell| {
        encoder.encode_batch::<I>(documents, threads, frame, &mut |done| tell(done, total))
    })?;
    Ok((read_only_ids(py, encoded.ids)?, read_only(py, encoded.offsets)?))
}

/// As [`bytes`], for documents of which `strings` are made on the way.
fn made<'py, I: Given>(
    py: Python<'py>,
    encoder: &Encoder,
    documents: &[Document<'_>],
    strings: &[(usize, Py<PyString>)],
    threads: usize,
    frame: Frame,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Batch<'py>> {
    let total = documents.iter().map(Document::share).sum();
    let (mut strings, mut maker, mut raised) = (strings.iter(), Maker::default(), None);
    let make: Make<'_> = &mut |_, made| {
        let Some((index, string)) = strings.next() else { return Ok(()) };
        Python::attach(|py| maker.make(string.bind(py), *index, made)).map_err(|error| {
            raised = Some(error);
            Error::Interrupted
        })
    };
    let encoded = run_reporting(py, progress, "encode", |tell| {
        encoder.encode_made::<I>(documents, threads, frame, make, &mut |done| tell(done, total))
    });
    let encoded = raised.map_or(encoded, Err)?;
    Ok((read_only_ids(py, encoded.ids)?, read_only(py, encoded.offsets)?))
}
