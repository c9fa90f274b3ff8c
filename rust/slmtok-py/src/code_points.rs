//! Code points of Python strings, as u32: the only form of its contents that Python converts to without caching it.

#![allow(unsafe_code, reason = "pyo3 has no safe form of these calls; each use states why it is sound")]

use pyo3::ffi::{Py_ssize_t, PyUnicode_AsUCS4, PyUnicode_GetLength, PyUnicode_Substring};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Number of code points of `text`, even if a subclass of `str` overrides its length.
pub fn length(text: &Bound<'_, PyString>) -> usize {
    // SAFETY: `text` is a string, for which the call cannot fail.
    unsafe { PyUnicode_GetLength(text.as_ptr()) }.unsigned_abs()
}

/// Copies the code points of `text` from index `begin` on, filling `out`.
///
/// # Errors
/// `text` is too short, or memory is exhausted.
pub fn code_points(text: &Bound<'_, PyString>, begin: usize, out: &mut [u32]) -> PyResult<()> {
    let (py, end) = (text.py(), begin + out.len());
    // SAFETY: `Bound` proves that the GIL is held. The call returns a new reference, or null with an exception, for any bounds.
    let part = unsafe {
        let part = PyUnicode_Substring(text.as_ptr(), begin as Py_ssize_t, end as Py_ssize_t);
        Bound::from_owned_ptr_or_err(py, part)?
    };
    // SAFETY: `part` is a string, and the call writes at most the given number of code points; it fails if there are more.
    let written = unsafe { PyUnicode_AsUCS4(part.as_ptr(), out.as_mut_ptr(), out.len() as Py_ssize_t, 0) };
    if written.is_null() { Err(PyErr::fetch(py)) } else { Ok(()) }
}
