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
use slmtok_core::encode::{Document, Seen};
use slmtok_core::transcode::{Mixed, Utf8};

use crate::bridge::invalid_text;
use crate::code_points::{code_points, length};

/// Up to so many characters it is quicker to ask Python.
pub const SHORT: usize = 1 << 10;
/// Code points that are taken at once: they stay in the second cache.
const WINDOW: usize = 1 << 15;

/// Texts, of which some are still to be made into bytes.
pub struct Texts<'py> {
    objects: Vec<Bound<'py, PyAny>>,
    /// Their indices, ascending.
    to_make: Vec<usize>,
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
                to_make.push(index);
            }
        }
        Ok(Self { objects, to_make })
    }

    /// All bytes, which stay where they are while the GIL is away; what was to be made is made now.
    pub fn held(&self) -> PyResult<Mixed<'_>> {
        let mut texts = Mixed::new(Utf8::of_about(self.points_to_make()));
        let (mut to_make, mut maker) = (self.to_make.iter().peekable(), Maker::default());
        for (index, object) in self.objects.iter().enumerate() {
            if to_make.next_if_eq(&&index).is_some() {
                let text = object.cast()?;
                texts.make(|made| maker.make(text, index, made))?;
            } else {
                texts.add(bytes_of(object, index)?);
            }
        }
        Ok(texts)
    }

    /// What is there already, and how much is to be made.
    pub fn documents(&self) -> PyResult<Vec<Document<'_>>> {
        let mut to_make = self.to_make.iter().peekable();
        let document = |(index, object)| {
            if to_make.next_if_eq(&&index).is_some() {
                return Ok(Document::Points(self.points(index)));
            }
            bytes_of(object, index).map(Document::Bytes).map_err(|error| self.first_error(index).unwrap_or(error))
        };
        self.objects.iter().enumerate().map(document).collect()
    }

    /// The strings that are to be made, with their indices, ascending.
    pub fn to_make(&self) -> PyResult<Vec<(usize, Py<PyString>)>> {
        let strings =
            self.to_make.iter().map(|&index| Ok((index, self.objects[index].cast::<PyString>()?.clone().unbind())));
        strings.collect()
    }

    /// How many code points will be made.
    pub fn points_to_make(&self) -> usize {
        self.to_make.iter().map(|&index| self.points(index)).sum()
    }

    fn points(&self, index: usize) -> usize {
        self.objects[index].cast::<PyString>().map_or(0, length)
    }

    /// What is wrong with a text before `index` that was to be made later.
    fn first_error(&self, index: usize) -> Option<PyErr> {
        let mut maker = Maker::default();
        let before = self.to_make.iter().take_while(|&&earlier| earlier < index);
        let mut made = before.map(|&earlier| maker.make(self.objects[earlier].cast()?, earlier, &mut Utf8::default()));
        made.find_map(Result::err)
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
