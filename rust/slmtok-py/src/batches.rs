//! Batches of documents through the encoder.

use numpy::Element;
use pyo3::prelude::*;
use slmtok_core::Error;
use slmtok_core::encode::{Document, Dropout, EncodedDocuments, Encoder, Frame, Transcode};

use crate::arrays::read_only;
use crate::bridge::{run_reporting, run_with_callback};
use crate::python_code::attach;
use crate::text::{Texts, transcode};

/// Ids and offsets.
pub type Batch<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Evaluates an expression with the type of the ids of an encoder: `u32` where the vocabulary needs it, else `u16`.
macro_rules! by_width {
    ($encoder:expr, $I:ident => $result:expr) => {
        if $encoder.wide() {
            type $I = u32;
            $result
        } else {
            type $I = u16;
            $result
        }
    };
}
pub(crate) use by_width;

fn arrays<I: Element>(py: Python<'_>, encoded: EncodedDocuments<I>) -> PyResult<Batch<'_>> {
    Ok((read_only(py, encoded.ids)?, read_only(py, encoded.offsets)?))
}

/// The ids of documents, in the width of the vocabulary.
pub fn encode<'py>(
    py: Python<'py>,
    encoder: &Encoder,
    documents: &[&[u8]],
    threads: usize,
    frame: Frame,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Batch<'py>> {
    let total = documents.iter().map(|text| text.len() as u64).sum();
    by_width!(encoder, I => arrays(py, run_reporting(py, progress, "encode", |report| {
        encoder.encode_batch::<I>(documents, threads, frame, &mut |done| report(done, total))
    })?))
}

/// As [`encode`], for texts of which some are transcoded meanwhile.
pub fn encode_texts<'py>(
    py: Python<'py>,
    encoder: &Encoder,
    texts: &Texts<'py>,
    threads: usize,
    frame: Frame,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Batch<'py>> {
    let (documents, pending) = (texts.documents()?, texts.pending());
    let total = documents.iter().map(Document::weight).sum();
    let (mut window, mut raised) = (Vec::new(), None);
    let transcode: Transcode<'_> = &mut |index, utf8| {
        let found = pending.binary_search_by_key(&index, |(index, _)| *index);
        let (_, string) = &pending[found.expect("every document in code points is pending")];
        attach(|py| transcode(string.bind(py), index, &mut window, utf8)).map_err(|error| {
            raised = Some(error);
            Error::Interrupted
        })
    };
    let batch = by_width!(encoder, I => run_reporting(py, progress, "encode", |report| {
        encoder.encode_lazily::<I>(&documents, threads, frame, transcode, &mut |done| report(done, total))
    }).and_then(|encoded| arrays(py, encoded)));
    raised.map_or(batch, Err)
}

/// As [`encode`], with the ids as lines of text, which go to `write` in blocks. Returns the number of ids.
pub fn write_lines<'py>(
    encoder: &Encoder,
    texts: &Texts<'py>,
    write: &Bound<'py, PyAny>,
    threads: usize,
    frame: Frame,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<usize> {
    let py = write.py();
    let held = texts.bytes()?;
    let documents = held.slices();
    let total = documents.iter().map(|text| text.len() as u64).sum();
    by_width!(encoder, I => {
        let encoded = run_reporting(py, progress, "encode", |report| {
            encoder.encode_batch::<I>(&documents, threads, frame, &mut |done| report(done, total))
        })?;
        run_with_callback(py, write, |write| encoded.write_lines(write))?;
        Ok(encoded.ids.len())
    })
}

/// The dropout rate of each document, and what decides the random numbers.
#[derive(Clone, Copy)]
pub struct Sampling<'a> {
    /// Probabilities.
    pub rates: &'a [f64],
    /// Seed and epoch.
    pub dropout: Dropout,
}

/// As [`encode`], with BPE-dropout.
pub fn encode_with_dropout<'py>(
    py: Python<'py>,
    encoder: &Encoder,
    documents: &[&[u8]],
    Sampling { rates, dropout }: Sampling<'_>,
    threads: usize,
    frame: Frame,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Batch<'py>> {
    let total = documents.iter().map(|text| text.len() as u64).sum();
    by_width!(encoder, I => arrays(py, run_reporting(py, progress, "encode", |report| {
        encoder.encode_with_dropout::<I>(documents, rates, dropout, threads, frame, &mut |done| report(done, total))
    })?))
}
