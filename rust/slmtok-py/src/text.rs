//! Texts that come in: `str` as its UTF-8, `bytes` as they are, other buffers copied (they could change without the GIL).

use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};

use crate::bridge::invalid_text;

/// Objects that own the bytes while the GIL is away.
pub struct Texts<'py> {
    owners: Vec<Bound<'py, PyAny>>,
}

impl<'py> Texts<'py> {
    /// One text.
    pub fn one(text: &Bound<'py, PyAny>) -> PyResult<Self> {
        Ok(Self { owners: vec![owner(text, 0)?] })
    }

    /// Several.
    pub fn many(documents: &Bound<'py, PyAny>) -> PyResult<Self> {
        if documents.is_instance_of::<PyString>() || documents.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err("expected a sequence of texts, not one text: put it into a list"));
        }
        let owners = documents.try_iter()?.enumerate().map(|(index, text)| owner(&text?, index));
        Ok(Self { owners: owners.collect::<PyResult<_>>()? })
    }

    /// Their bytes, in order.
    pub fn slices(&self) -> PyResult<Vec<&[u8]>> {
        self.owners.iter().enumerate().map(|(index, owner)| bytes_of(owner, index)).collect()
    }
}

/// `text` itself where its bytes cannot change, else a copy.
fn owner<'py>(text: &Bound<'py, PyAny>, document: usize) -> PyResult<Bound<'py, PyAny>> {
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

fn bytes_of<'a>(owner: &'a Bound<'_, PyAny>, document: usize) -> PyResult<&'a [u8]> {
    if let Ok(bytes) = owner.cast::<PyBytes>() {
        return Ok(bytes.as_bytes());
    }
    owner.cast::<PyString>()?.to_str().map(str::as_bytes).map_err(|error| {
        let py = owner.py();
        let index = error.value(py).getattr("start").and_then(|start| start.extract());
        match index {
            Ok(index) if error.is_instance_of::<PyUnicodeEncodeError>(py) => invalid_text(py, document, index),
            _ => error,
        }
    })
}
