//! Texts that come in: `bytes` as they are, `str` as its UTF-8, other buffers copied (they could change without the GIL).
//!
//! Python keeps the UTF-8 that it makes of a `str` as long as the `str` is there, which takes as much memory as the text once more
//! and, in fresh pages, two thirds of the time. So it is asked for it only where it has it already (ASCII), where the text is short, and
//! where the text comes again; of others the UTF-8 is made here, and goes with the call.

use std::ops::Range;
use std::sync::Mutex;

use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};
use slmtok_core::encode::Seen;
use slmtok_core::transcode::Utf8;

use crate::bridge::invalid_text;
use crate::code_points::{code_points, length};

/// Up to so many characters it is quicker to ask Python.
const SHORT: usize = 1 << 10;
/// Code points that are taken at once: they stay in the second cache.
const WINDOW: usize = 1 << 15;

/// Bytes that stay where they are while the GIL is away.
pub struct Texts<'py> {
    owners: Vec<Owner<'py>>,
    made: Utf8,
}

enum Owner<'py> {
    /// An object that has the bytes.
    Object(Bound<'py, PyAny>),
    /// A place in what was made here.
    Made(Range<usize>),
}

impl<'py> Texts<'py> {
    /// One text. `seen` are those that came to the same receiver before.
    pub fn one(text: &Bound<'py, PyAny>, seen: Option<&Mutex<Seen>>) -> PyResult<Self> {
        Self::of(vec![bytes_owner(text, 0)?], seen)
    }

    /// Several.
    pub fn many(documents: &Bound<'py, PyAny>, seen: Option<&Mutex<Seen>>) -> PyResult<Self> {
        if documents.is_instance_of::<PyString>() || documents.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err("expected a sequence of texts, not one text: put it into a list"));
        }
        let objects = documents.try_iter()?.enumerate().map(|(index, text)| bytes_owner(&text?, index));
        Self::of(objects.collect::<PyResult<_>>()?, seen)
    }

    fn of(objects: Vec<Bound<'py, PyAny>>, seen: Option<&Mutex<Seen>>) -> PyResult<Self> {
        let mut to_make = Vec::new();
        for (index, object) in objects.iter().enumerate() {
            if let Ok(text) = object.cast::<PyString>()
                && is_made_here(text, seen)?
            {
                to_make.push((index, length(text)));
            }
        }
        let mut made = Utf8::of_about(to_make.iter().map(|(_, points)| points).sum());
        let mut points = vec![0; to_make.iter().map(|(_, points)| *points).max().unwrap_or(0).min(WINDOW)];
        let mut to_make = to_make.into_iter().map(|(index, _)| index).peekable();
        let mut owners = Vec::with_capacity(objects.len());
        for (index, object) in objects.into_iter().enumerate() {
            owners.push(if to_make.next_if_eq(&index).is_some() {
                Owner::Made(make(object.cast()?, index, &mut points, &mut made)?)
            } else {
                bytes_of(&object, index)?;
                Owner::Object(object)
            });
        }
        Ok(Self { owners, made })
    }

    /// Their bytes, in order.
    pub fn slices(&self) -> PyResult<Vec<&[u8]>> {
        let owners = self.owners.iter().enumerate();
        owners
            .map(|(index, owner)| match owner {
                Owner::Object(object) => bytes_of(object, index),
                Owner::Made(place) => Ok(&self.made.bytes()[place.clone()]),
            })
            .collect()
    }
}

/// `text` itself where its bytes cannot change, else a copy.
fn bytes_owner<'py>(text: &Bound<'py, PyAny>, document: usize) -> PyResult<Bound<'py, PyAny>> {
    if text.is_instance_of::<PyString>() || text.is_instance_of::<PyBytes>() {
        return Ok(text.clone());
    }
    if text.is_instance_of::<PyByteArray>() || text.is_instance_of::<PyMemoryView>() {
        return text.py().get_type::<PyBytes>().call1((text,));
    }
    let kind = text.get_type().name()?;
    let hint = if text.hasattr("__fspath__")? { "; to encode a file, read it or use encode_files" } else { "" };
    Err(PyTypeError::new_err(format!("document {document} is {kind}, expected str or bytes{hint}")))
}

fn is_made_here(text: &Bound<'_, PyString>, seen: Option<&Mutex<Seen>>) -> PyResult<bool> {
    let points = length(text);
    if points <= SHORT || text.call_method0(intern!(text.py(), "isascii"))?.is_truthy()? {
        return Ok(false);
    }
    // Another text may lie later where one was, which only means that Python is asked for it.
    let hash = (text.as_ptr() as u64 ^ (points as u64) << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let before = seen.and_then(|seen| seen.lock().ok()).is_some_and(|mut seen| seen.before(hash));
    Ok(!before)
}

/// Adds the UTF-8 of `text` to `made`, and returns where it is; `points` is for use in between.
fn make(text: &Bound<'_, PyString>, document: usize, points: &mut [u32], made: &mut Utf8) -> PyResult<Range<usize>> {
    let (start, end) = (made.bytes().len(), length(text));
    let mut begin = 0;
    while begin < end {
        let window = &mut points[..(end - begin).min(WINDOW)];
        code_points(text, begin, window)?;
        made.push(window).map_err(|index| invalid_text(text.py(), document, begin + index))?;
        begin += window.len();
    }
    Ok(start..made.bytes().len())
}

fn bytes_of<'a>(object: &'a Bound<'_, PyAny>, document: usize) -> PyResult<&'a [u8]> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(bytes.as_bytes());
    }
    object.cast::<PyString>()?.to_str().map(str::as_bytes).map_err(|error| {
        let py = object.py();
        let index = error.value(py).getattr("start").and_then(|start| start.extract());
        match index {
            Ok(index) if error.is_instance_of::<PyUnicodeEncodeError>(py) => invalid_text(py, document, index),
            _ => error,
        }
    })
}
