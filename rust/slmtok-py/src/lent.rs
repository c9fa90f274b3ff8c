//! Arrays of ids whose memory serves again when the last of them is gone: large results of encoding.

use numpy::ndarray::ArrayView1;
use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use slmtok_core::encode::{self, Pooled};

use crate::arrays::{lock, read_only};

/// Ids whose memory serves again when the last array of them is gone.
#[pyclass(frozen, module = "slmtok._native")]
pub struct Lent(LentIds);

enum LentIds {
    Narrow(encode::Ids<u16>),
    Wide(encode::Ids<u32>),
}

/// Widths that ids are given out in.
pub trait Given: Pooled + Element {
    /// Keeps ids for an array.
    fn lend(ids: encode::Ids<Self>) -> Lent;
    /// What [`Given::lend`] kept.
    fn lent(lent: &Lent) -> &[Self];
}

impl Given for u16 {
    fn lend(ids: encode::Ids<Self>) -> Lent {
        Lent(LentIds::Narrow(ids))
    }

    fn lent(lent: &Lent) -> &[Self] {
        if let LentIds::Narrow(ids) = &lent.0 { ids } else { &[] }
    }
}

impl Given for u32 {
    fn lend(ids: encode::Ids<Self>) -> Lent {
        Lent(LentIds::Wide(ids))
    }

    fn lent(lent: &Lent) -> &[Self] {
        if let LentIds::Wide(ids) = &lent.0 { ids } else { &[] }
    }
}

/// A read-only array of ids, without a copy.
#[allow(unsafe_code, reason = "numpy cannot see how long the memory stays; the one use says why it stays long enough")]
pub fn read_only_ids<I: Given>(py: Python<'_>, ids: encode::Ids<I>) -> PyResult<Bound<'_, PyAny>> {
    if !ids.are_lent() {
        return read_only(py, ids.into_vec());
    }
    let lent = Bound::new(py, I::lend(ids))?;
    let view = ArrayView1::from(I::lent(lent.get()));
    // SAFETY: the ids are where they are until `lent` is dropped, which the array holds, and which gives nobody the right to change them;
    // nor does the array, from now on.
    Ok(lock(unsafe { PyArray1::borrow_from_array(&view, lent.clone().into_any()) }))
}
