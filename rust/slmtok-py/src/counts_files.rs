//! Bodies of counts files: writing, merging, reading.

use pyo3::prelude::*;
use slmtok_core::count;
use slmtok_core::count::counts_file::{self, Input, Sums};
use slmtok_core::interrupt::supervised;

use crate::bridge::{run, run_polling, run_with_callback};
use crate::counts::Counts;
use crate::pattern::Pattern;

/// (path, first byte of the body, end of the body, column of the result by column of the file).
type InputTuple = (String, u64, u64, Vec<usize>);
/// (distinct, pieces by column, pruned distinct, pruned pieces by column).
type SumsTuple = (u64, Vec<u64>, u64, Vec<u64>);

fn inputs(tuples: Vec<InputTuple>) -> Vec<Input> {
    tuples.into_iter().map(|(path, start, end, columns)| Input { path, body: start..end, columns }).collect()
}

fn to_tuple(sums: Sums) -> SumsTuple {
    (sums.distinct, sums.pieces, sums.pruned_distinct, sums.pruned_pieces)
}

/// Writes the body of counts in memory, one column each.
#[pyfunction]
pub fn write_counts(py: Python<'_>, columns: Vec<PyRef<'_, Counts>>, write: &Bound<'_, PyAny>) -> PyResult<SumsTuple> {
    let columns: Vec<&count::Counts> = columns.iter().map(|counts| &counts.inner).collect();
    run_with_callback(py, write, |write| counts_file::write(&columns, write)).map(to_tuple)
}

/// Merges bodies of files.
#[pyfunction]
pub fn merge_counts(
    py: Python<'_>,
    files: Vec<InputTuple>,
    columns: usize,
    min_count: u64,
    write: &Bound<'_, PyAny>,
) -> PyResult<SumsTuple> {
    let inputs = inputs(files);
    run_with_callback(py, write, |write| counts_file::merge_files(&inputs, columns, min_count, write)).map(to_tuple)
}

/// Reads the sum of bodies of files.
#[pyfunction]
pub fn read_counts(
    py: Python<'_>,
    files: Vec<InputTuple>,
    columns: usize,
    pattern: &Pattern,
    max_bytes: u64,
) -> PyResult<Vec<Counts>> {
    let inputs = inputs(files);
    let read = run_polling(py, |report| {
        supervised(&mut || report(0), || counts_file::read(&inputs, columns, &pattern.inner, max_bytes))
    })?;
    Ok(read.into_iter().map(|inner| Counts { inner }).collect())
}

/// The weighted sum of counts.
#[pyfunction]
pub fn weighted_counts(py: Python<'_>, pattern: &Pattern, parts: Vec<(PyRef<'_, Counts>, u64)>) -> PyResult<Counts> {
    let parts: Vec<(&count::Counts, u64)> = parts.iter().map(|(counts, weight)| (&counts.inner, *weight)).collect();
    let inner = run(py, || counts_file::weighted(&pattern.inner, &parts))?;
    Ok(Counts { inner })
}
