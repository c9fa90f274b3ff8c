//! `bytes` objects whose size the input determines: without memory a `MemoryError`, where `PyBytes::new` panics.

#![allow(unsafe_code, reason = "pyo3 has no safe form of this call that does not write the bytes twice")]

use pyo3::ffi::{Py_ssize_t, PyBytes_FromStringAndSize};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A copy of `bytes` as a Python object.
pub fn bytes_object<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    // A slice has at most isize::MAX bytes.
    let length = bytes.len() as Py_ssize_t;
    // SAFETY: pointer and length are those of a slice, which is copied; the result is a new reference to a bytes object, or
    // null with an exception set.
    unsafe {
        let object = Bound::from_owned_ptr_or_err(py, PyBytes_FromStringAndSize(bytes.as_ptr().cast(), length))?;
        Ok(object.cast_into_unchecked())
    }
}
