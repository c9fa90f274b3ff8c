//! The code points of Python strings, in numbers of 32 bits: the one form of its content that Python gives without keeping it.

#![allow(unsafe_code, reason = "pyo3 has no safe form of these calls; each use says why it is sound")]

use pyo3::ffi::{Py_ssize_t, PyUnicode_AsUCS4, PyUnicode_GetLength, PyUnicode_Substring};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// How many code points `text` has, whatever a subclass of `str` says of its length.
pub fn length(text: &Bound<'_, PyString>) -> usize {
    // SAFETY: `text` is a string, for which the call cannot fail.
    unsafe { PyUnicode_GetLength(text.as_ptr()) }.unsigned_abs()
}

/// The code points of `text` from index `begin` on, as many as there are places.
///
/// # Errors
/// Fewer code points than places, and no memory.
pub fn code_points(text: &Bound<'_, PyString>, begin: usize, places: &mut [u32]) -> PyResult<()> {
    let (py, end) = (text.py(), begin + places.len());
    // SAFETY: the GIL is held, since there is a `Bound`; the call gives a new reference or null with an exception, whatever the bounds.
    let part = unsafe {
        let part = PyUnicode_Substring(text.as_ptr(), begin as Py_ssize_t, end as Py_ssize_t);
        Bound::from_owned_ptr_or_err(py, part)?
    };
    // SAFETY: `part` is a string, and of the places no more are written than the call is told that there are: if it has more code
    // points, it fails.
    let written = unsafe { PyUnicode_AsUCS4(part.as_ptr(), places.as_mut_ptr(), places.len() as Py_ssize_t, 0) };
    if written.is_null() { Err(PyErr::fetch(py)) } else { Ok(()) }
}
