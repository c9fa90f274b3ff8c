//! Texts that come in: `bytes` as they are, `str` as its UTF-8, other buffers copied (they could change without the GIL).
//!
//! Python keeps the UTF-8 that it makes of a `str` as long as the `str` is there, which takes as much memory as the text once more
//! and, in fresh pages, two thirds of the time. So it is asked for it only where it has it already (ASCII), where the text is short, and
//! where the text comes again; of others the UTF-8 is made here, and goes with the call.

use std::sync::Mutex;

use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};
use slmtok_core::accel::transcode::{Mixed, Utf8};
use slmtok_core::encode::{BloomFilter, Document};

use crate::bridge::invalid_text;
use crate::code_points::{code_points, length};

/// Up to so many characters it is quicker to ask Python.
pub const SHORT: usize = 1 << 10;
/// Code points that are taken at once: they stay in the second cache.
const WINDOW: usize = 1 << 15;

/// Texts, of which some are still to be made into bytes.
pub struct Texts<'py>(Vec<Text<'py>>);

enum Text<'py> {
    /// Has its bytes, or Python makes them.
    Object(Bound<'py, PyAny>),
    /// Will be made.
    ToMake(Bound<'py, PyString>),
}

impl<'py> Texts<'py> {
    /// One text. `seen` are those that came to the same receiver before.
    pub fn one(text: &Bound<'py, PyAny>, seen: Option<&Mutex<BloomFilter>>) -> PyResult<Self> {
        Self::of(vec![bytes_owner(text, 0)?], seen)
    }

    /// Several.
    pub fn many(documents: &Bound<'py, PyAny>, seen: Option<&Mutex<BloomFilter>>) -> PyResult<Self> {
        if documents.is_instance_of::<PyString>() || documents.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err("expected a sequence of texts, not one text: put it into a list"));
        }
        let objects = documents.try_iter()?.enumerate().map(|(index, text)| bytes_owner(&text?, index));
        Self::of(objects.collect::<PyResult<_>>()?, seen)
    }

    fn of(objects: Vec<Bound<'py, PyAny>>, seen: Option<&Mutex<BloomFilter>>) -> PyResult<Self> {
        let told = |object: Bound<'py, PyAny>| match object.cast_into::<PyString>() {
            Ok(text) if is_made_here(&text, seen)? => Ok(Text::ToMake(text)),
            Ok(text) => Ok(Text::Object(text.into_any())),
            Err(error) => Ok(Text::Object(error.into_inner())),
        };
        Ok(Self(objects.into_iter().map(told).collect::<PyResult<_>>()?))
    }

    /// All bytes, which stay where they are while the GIL is away; what was to be made is made now.
    pub fn held(&self) -> PyResult<Mixed<'_>> {
        let (mut texts, mut maker) = (Mixed::new(Utf8::of_about(self.points_to_make())), Maker::default());
        for (index, text) in self.0.iter().enumerate() {
            match text {
                Text::Object(object) => texts.add(bytes_of(object, index)?),
                Text::ToMake(text) => drop(texts.make(|made| maker.make(text, index, made))?),
            }
        }
        Ok(texts)
    }

    /// What is there already, and how much is to be made.
    pub fn documents(&self) -> PyResult<Vec<Document<'_>>> {
        let texts = self.0.iter().enumerate();
        texts
            .map(|(index, text)| match text {
                Text::Object(object) => {
                    let bytes = bytes_of(object, index);
                    bytes.map(Document::Bytes).map_err(|error| self.first_error(index).unwrap_or(error))
                }
                Text::ToMake(text) => Ok(Document::Points(length(text))),
            })
            .collect()
    }

    /// The strings that are to be made, with their indices, ascending.
    pub fn to_make(&self) -> Vec<(usize, Py<PyString>)> {
        self.strings().map(|(index, text)| (index, text.clone().unbind())).collect()
    }

    /// How many code points will be made.
    pub fn points_to_make(&self) -> usize {
        self.strings().map(|(_, text)| length(text)).sum()
    }

    fn strings(&self) -> impl Iterator<Item = (usize, &Bound<'py, PyString>)> {
        let texts = self.0.iter().enumerate();
        texts.filter_map(|(index, text)| if let Text::ToMake(text) = text { Some((index, text)) } else { None })
    }

    /// What is wrong with a text before `index` that was to be made later.
    fn first_error(&self, index: usize) -> Option<PyErr> {
        let mut maker = Maker::default();
        let before = self.strings().take_while(|(earlier, _)| *earlier < index);
        before.map(|(earlier, text)| maker.make(text, earlier, &mut Utf8::default())).find_map(Result::err)
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

fn is_made_here(text: &Bound<'_, PyString>, seen: Option<&Mutex<BloomFilter>>) -> PyResult<bool> {
    let points = length(text);
    if points <= SHORT {
        return Ok(false);
    }
    // Another text may lie later where one was, which only means that Python is asked for it.
    let hash = (text.as_ptr() as u64 ^ (points as u64) << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let before = seen.and_then(|seen| seen.lock().ok()).is_some_and(|mut seen| seen.before(hash));
    Ok(!before && !is_ascii(text)?)
}

/// What `str` says, whatever a subclass does.
fn is_ascii(text: &Bound<'_, PyString>) -> PyResult<bool> {
    let (py, name) = (text.py(), intern!(text.py(), "isascii"));
    let said = if text.is_exact_instance_of::<PyString>() {
        text.call_method0(name)?
    } else {
        py.get_type::<PyString>().call_method1(name, (text,))?
    };
    said.is_truthy()
}

/// Makes UTF-8 of strings.
#[derive(Default)]
pub struct Maker {
    /// For use in between.
    points: Vec<u32>,
}

impl Maker {
    /// Adds the UTF-8 of `text` to `made`.
    ///
    /// # Errors
    /// An `InvalidText` that tells the index in `document`.
    pub fn make(&mut self, text: &Bound<'_, PyString>, document: usize, made: &mut Utf8) -> PyResult<()> {
        let (mut begin, end) = (0, length(text));
        self.points.resize(self.points.len().max(end.min(WINDOW)), 0);
        while begin < end {
            let window = &mut self.points[..(end - begin).min(WINDOW)];
            code_points(text, begin, window)?;
            made.push(window).map_err(|index| invalid_text(text.py(), document, begin + index))?;
            begin += window.len();
        }
        Ok(())
    }
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
