//! Texts from Python: `bytes` borrowed, `str` as UTF-8, other buffers copied (they could change without the GIL).
//!
//! Python caches the UTF-8 of a `str` as long as the `str` lives. That doubles its memory, and writing to fresh pages takes two
//! thirds of the time. So Python's UTF-8 is used only where it exists already (ASCII), for short strings, and for strings that
//! recur; other strings are transcoded here, for one call.

use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};
use slmtok_core::accel::transcode::{MixedTexts, TranscodePolicy, Utf8Buffer};
use slmtok_core::encode::Document;

use crate::bridge::invalid_text;
use crate::code_points::{code_points, length};
use crate::python_code::{call, items};

/// Most code points that are read together: they stay in the L2 cache.
const MAX_READ_POINTS: usize = 1 << 15;

/// Texts of one call.
pub struct Texts<'py>(Vec<Text<'py>>);

enum Text<'py> {
    /// Has its bytes, or Python has made them.
    Bytes(Bound<'py, PyAny>),
    /// Is transcoded here, or has a lone surrogate.
    Transcode(Bound<'py, PyString>),
}

impl<'py> Texts<'py> {
    /// One text. `policy` is that of the encoder that receives it.
    pub fn one(text: &Bound<'py, PyAny>, policy: &TranscodePolicy) -> PyResult<Self> {
        Self::of(vec![bytes_owner(text, 0)?], policy)
    }

    /// A sequence of texts.
    pub fn many(documents: &Bound<'py, PyAny>, policy: &TranscodePolicy) -> PyResult<Self> {
        if documents.is_instance_of::<PyString>() || documents.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err("expected a sequence of texts, not one text: put it into a list"));
        }
        let objects = items(documents)?.enumerate().map(|(index, text)| bytes_owner(&text?, index));
        Self::of(objects.collect::<PyResult<_>>()?, policy)
    }

    fn of(objects: Vec<Bound<'py, PyAny>>, policy: &TranscodePolicy) -> PyResult<Self> {
        let text = |object: Bound<'py, PyAny>| match object.cast_into::<PyString>() {
            Ok(text) if is_transcoded(&text, policy)? || has_surrogate(&text)? => Ok(Text::Transcode(text)),
            Ok(text) => Ok(Text::Bytes(text.into_any())),
            Err(error) => Ok(Text::Bytes(error.into_inner())),
        };
        Ok(Self(objects.into_iter().map(text).collect::<PyResult<_>>()?))
    }

    /// The bytes of each text, or the number of code points that are to be transcoded.
    pub fn documents(&self) -> PyResult<Vec<Document<'_>>> {
        let texts = self.0.iter();
        texts
            .map(|text| match text {
                Text::Bytes(object) => bytes_of(object).map(Document::Bytes),
                Text::Transcode(text) => Ok(Document::CodePoints(length(text))),
            })
            .collect()
    }

    /// The strings that are to be transcoded, with their indices, ascending.
    pub fn pending(&self) -> Vec<(usize, Py<PyString>)> {
        let texts = self.0.iter().enumerate();
        let pending = texts.filter_map(|(index, text)| match text {
            Text::Bytes(_) => None,
            Text::Transcode(text) => Some((index, text.clone().unbind())),
        });
        pending.collect()
    }

    /// The bytes of all texts, which stay valid without the GIL.
    pub fn bytes(&self) -> PyResult<MixedTexts<'_>> {
        let points = self.0.iter().map(|text| if let Text::Transcode(text) = text { length(text) } else { 0 }).sum();
        let (mut texts, mut window) = (MixedTexts::with_capacity(points), Vec::new());
        for (index, text) in self.0.iter().enumerate() {
            match text {
                Text::Bytes(object) => texts.push_bytes(bytes_of(object)?),
                Text::Transcode(text) => texts.push_transcoded(|utf8| transcode(text, index, &mut window, utf8))?,
            };
        }
        Ok(texts)
    }
}

/// `text` itself where its bytes cannot change, else a copy.
fn bytes_owner<'py>(text: &Bound<'py, PyAny>, document: usize) -> PyResult<Bound<'py, PyAny>> {
    if text.is_instance_of::<PyString>() || text.is_instance_of::<PyBytes>() {
        return Ok(text.clone());
    }
    if text.is_instance_of::<PyByteArray>() || text.is_instance_of::<PyMemoryView>() {
        return call(&text.py().get_type::<PyBytes>(), (text,), None);
    }
    let kind = text.get_type().name()?;
    let hint = if text.hasattr("__fspath__")? { "; to encode a file, read it or use encode_files" } else { "" };
    Err(PyTypeError::new_err(format!("document {document} is {kind}, expected str or bytes{hint}")))
}

fn is_transcoded(text: &Bound<'_, PyString>, policy: &TranscodePolicy) -> PyResult<bool> {
    Ok(policy.transcodes(text.as_ptr() as usize, length(text)) && !is_ascii(text)?)
}

/// Whether the text has no UTF-8. Transcoding then says where, in the order of the documents.
fn has_surrogate(text: &Bound<'_, PyString>) -> PyResult<bool> {
    match text.to_str() {
        Ok(_) => Ok(false),
        Err(error) if error.is_instance_of::<PyUnicodeEncodeError>(text.py()) => Ok(true),
        Err(error) => Err(error),
    }
}

/// `str.isascii`, even for a subclass that overrides it.
fn is_ascii(text: &Bound<'_, PyString>) -> PyResult<bool> {
    let (py, name) = (text.py(), intern!(text.py(), "isascii"));
    let said = if text.is_exact_instance_of::<PyString>() {
        text.call_method0(name)?
    } else {
        py.get_type::<PyString>().call_method1(name, (text,))?
    };
    said.is_truthy()
}

/// Appends the UTF-8 of `text` to `utf8`; `window` is scratch memory.
///
/// # Errors
/// An `InvalidText` with the index of a lone surrogate in `document`.
pub fn transcode(
    text: &Bound<'_, PyString>,
    document: usize,
    window: &mut Vec<u32>,
    utf8: &mut Utf8Buffer,
) -> PyResult<()> {
    let (mut begin, end) = (0, length(text));
    window.resize(window.len().max(end.min(MAX_READ_POINTS)), 0);
    while begin < end {
        let points = &mut window[..(end - begin).min(MAX_READ_POINTS)];
        code_points(text, begin, points)?;
        utf8.push(points).map_err(|index| invalid_text(text, document, begin + index))?;
        begin += points.len();
    }
    Ok(())
}

fn bytes_of<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<&'a [u8]> {
    match object.cast::<PyBytes>() {
        Ok(bytes) => Ok(bytes.as_bytes()),
        Err(_) => object.cast::<PyString>()?.to_str().map(str::as_bytes),
    }
}
