//! Ids from Python and arrays to numpy. Arrays own their vector without a copy and are read-only.

use std::sync::atomic::{AtomicBool, Ordering};

use numpy::ndarray::Dimension;
use numpy::npyffi::NPY_ARRAY_WRITEABLE;
use numpy::{
    Element, PyArray1, PyArrayMethods, PyReadonlyArray, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyMemoryError, PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyRange, PyTuple};
use slmtok_core::decode::Decoder;

use crate::python_code::{hang_if_ended, import, items};

/// A read-only array that owns `values`.
pub fn read_only<T: Element>(py: Python<'_>, values: Vec<T>) -> PyResult<Bound<'_, PyAny>> {
    prepare_arrays(py)?;
    Ok(lock(PyArray1::from_vec(py, values)))
}

/// Looks up the tables of numpy that the first array looks up: a child forked meanwhile would wait for them for ever.
#[pyfunction]
pub fn prepare_arrays(py: Python<'_>) -> PyResult<()> {
    static ARE_PREPARED: AtomicBool = AtomicBool::new(false);
    if !ARE_PREPARED.load(Ordering::Acquire) {
        import(py, "numpy")?;
        hang_if_ended(|| drop(PyArray1::from_vec(py, Vec::<u32>::new()).readonly()));
        ARE_PREPARED.store(true, Ordering::Release);
    }
    Ok(())
}

/// Numbers of an array or of a sequence of int; the latter does not import numpy.
pub fn numbers(values: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    if is_plain(values) {
        return values.extract();
    }
    copied(&values.extract()?)
}

/// The values of an array in order. One whose strides repeat a value may be larger than all memory.
pub fn copied<T: Element + Copy>(array: &PyReadonlyArray1<'_, T>) -> PyResult<Vec<T>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(array.len()).map_err(|_| {
        PyMemoryError::new_err(format!(
            "cannot allocate {} bytes for the ids",
            array.len().saturating_mul(size_of::<T>())
        ))
    })?;
    match array.as_slice() {
        Ok(values) => copy.extend_from_slice(values),
        Err(_) => copy.extend(rows::<_, _, 1>(array).map(|[value]| value)),
    }
    Ok(copy)
}

/// Each row of N values of an array, whose last dimension is that of rows if it has two. Neither the address nor the strides need
/// be multiples of the size of a value, as those of a field of a packed record are not, which `as_array` divides without a word.
#[allow(unsafe_code, reason = "numpy's crate has no safe way to read an array that is not aligned")]
fn rows<T: Element + Copy, D: Dimension, const N: usize>(
    array: &PyReadonlyArray<'_, T, D>,
) -> impl ExactSizeIterator<Item = [T; N]> {
    let (start, strides) = (array.data().cast::<u8>(), array.strides());
    let (shape, within) = (array.shape(), strides.get(1).copied().unwrap_or(0));
    assert_eq!(shape.get(1).copied().unwrap_or(1), N, "a row of another length");
    let between = strides[0];
    (0..shape[0]).map(move |row| {
        std::array::from_fn(|column| {
            // SAFETY: `row` and `column` are within the shape, so numpy has a value of type T at this distance from the first
            // one, inside of one allocation, which the borrow of the array keeps alive. It may begin at any address.
            unsafe { start.offset(row as isize * between + column as isize * within).cast::<T>().read_unaligned() }
        })
    })
}

/// Pairs of an array of shape (n, 2) or of a sequence of tuples; the latter does not import numpy.
pub fn pairs(values: &Bound<'_, PyAny>) -> PyResult<Vec<(u32, u32)>> {
    if is_plain(values) {
        return values.extract();
    }
    let array = values.extract::<PyReadonlyArray2<'_, u32>>()?;
    let columns = array.shape()[1];
    if columns != 2 {
        return Err(PyTypeError::new_err(format!("pairs must have shape (n, 2), not (n, {columns})")));
    }
    Ok(rows(&array).map(|[left, right]| (left, right)).collect())
}

fn is_plain(values: &Bound<'_, PyAny>) -> bool {
    values.is_instance_of::<PyList>() || values.is_instance_of::<PyTuple>() || values.is_instance_of::<PyRange>()
}

/// A read-only array with a copy of `values`.
pub fn read_only_copy<'py, T: Element>(py: Python<'py>, values: &[T]) -> PyResult<Bound<'py, PyAny>> {
    prepare_arrays(py)?;
    Ok(lock(PyArray1::from_slice(py, values)))
}

/// Makes a new array read-only.
#[allow(
    unsafe_code,
    reason = "the safe method looks up a table of borrowed arrays, which takes longer than encoding a short text"
)]
pub fn lock<T: Element>(array: Bound<'_, PyArray1<T>>) -> Bound<'_, PyAny> {
    // SAFETY: the pointer is to a valid array object, which only this thread references, with the GIL.
    unsafe { (*array.as_array_ptr()).flags &= !NPY_ARRAY_WRITEABLE };
    array.into_any()
}

/// Ids of a Python argument.
pub enum Ids<'py> {
    /// `uint16`.
    Narrow(PyReadonlyArray1<'py, u16>),
    /// `uint32`.
    Wide(PyReadonlyArray1<'py, u32>),
    /// `int64`, or a sequence of `int`.
    Any(Vec<i64>),
}

impl<'py> Ids<'py> {
    /// Accepts arrays of u16, u32 and i64 and sequences of int.
    pub fn new(ids: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = ids.extract() {
            return Ok(Self::Narrow(array));
        }
        if let Ok(array) = ids.extract() {
            return Ok(Self::Wide(array));
        }
        if let Ok(array) = ids.extract::<PyReadonlyArray1<'_, i64>>() {
            return Ok(Self::Any(copied(&array)?));
        }
        let id = |item: PyResult<Bound<'py, PyAny>>| {
            let item = item?;
            item.extract::<i64>().map_err(|error| match error.is_instance_of::<PyOverflowError>(item.py()) {
                true => error,
                false => PyTypeError::new_err(format!("ids must be integers, got {}", item.get_type())),
            })
        };
        Ok(Self::Any(items(ids)?.map(id).collect::<PyResult<_>>()?))
    }

    /// The ids, in order, apart from the array.
    pub fn into_owned(self) -> PyResult<OwnedIds> {
        Ok(match self {
            Self::Narrow(array) => OwnedIds::Narrow(copied(&array)?),
            Self::Wide(array) => OwnedIds::Wide(copied(&array)?),
            Self::Any(ids) => OwnedIds::Any(ids),
        })
    }
}

/// Ids that Python cannot change.
pub enum OwnedIds {
    /// See [`Ids`].
    Narrow(Vec<u16>),
    /// See [`Ids`].
    Wide(Vec<u32>),
    /// See [`Ids`].
    Any(Vec<i64>),
}

impl OwnedIds {
    /// Number of ids.
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(ids) => ids.len(),
            Self::Wide(ids) => ids.len(),
            Self::Any(ids) => ids.len(),
        }
    }

    /// Bytes of each document.
    pub fn decode_documents(
        &self,
        decoder: &Decoder,
        offsets: &[i64],
        threads: usize,
    ) -> slmtok_core::Result<Vec<Vec<u8>>> {
        match self {
            Self::Narrow(ids) => decoder.decode_documents(ids, offsets, threads),
            Self::Wide(ids) => decoder.decode_documents(ids, offsets, threads),
            Self::Any(ids) => decoder.decode_documents(ids, offsets, threads),
        }
    }

    /// Bytes of the ids in `range`.
    pub fn decode(&self, decoder: &Decoder, range: std::ops::Range<usize>) -> slmtok_core::Result<Vec<u8>> {
        match self {
            Self::Narrow(ids) => decoder.decode(&ids[range]),
            Self::Wide(ids) => decoder.decode(&ids[range]),
            Self::Any(ids) => decoder.decode(&ids[range]),
        }
    }
}
