//! Bodies of counts files: written, merged, read.

use pyo3::prelude::*;
use slmtok_core::count;
use slmtok_core::count::counts_file::{self, Input, Sums};

use crate::bridge::{run, run_calling};
use crate::counts::Counts;
use crate::pattern::Pattern;

/// (path, first byte of the body, end of the body, column of the result by column of the file).
type Given = (String, u64, u64, Vec<usize>);
/// (distinct, pieces by column, pruned distinct, pruned pieces by column).
type Told = (u64, Vec<u64>, u64, Vec<u64>);

fn inputs(given: Vec<Given>) -> Vec<Input> {
    given.into_iter().map(|(path, start, end, columns)| Input { path, body: start..end, columns }).collect()
}

fn told(sums: Sums) -> Told {
    (sums.distinct, sums.pieces, sums.pruned_distinct, sums.pruned_pieces)
}

/// Writes the body of counts in memory, one column each.
#[pyfunction]
pub fn write_counts(py: Python<'_>, columns: Vec<PyRef<'_, Counts>>, write: &Bound<'_, PyAny>) -> PyResult<Told> {
    let columns: Vec<&count::Counts> = columns.iter().map(|counts| &counts.inner).collect();
    run_calling(py, write, |write| counts_file::write(&columns, write)).map(told)
}

/// Merges bodies of files.
#[pyfunction]
pub fn merge_counts(
    py: Python<'_>,
    files: Vec<Given>,
    columns: usize,
    least: u64,
    write: &Bound<'_, PyAny>,
) -> PyResult<Told> {
    let inputs = inputs(files);
    run_calling(py, write, |write| counts_file::merge_files(&inputs, columns, least, write)).map(told)
}

/// Reads bodies of files, added up.
#[pyfunction]
pub fn read_counts(py: Python<'_>, files: Vec<Given>, columns: usize, pattern: &Pattern) -> PyResult<Vec<Counts>> {
    let inputs = inputs(files);
    let read = run(py, || counts_file::read(&inputs, columns, &pattern.inner))?;
    Ok(read.into_iter().map(|inner| Counts { inner }).collect())
}

/// The sum of counts, each times its weight.
#[pyfunction]
pub fn weighted_counts(py: Python<'_>, pattern: &Pattern, parts: Vec<(PyRef<'_, Counts>, u64)>) -> PyResult<Counts> {
    let parts: Vec<(&count::Counts, u64)> = parts.iter().map(|(counts, weight)| (&counts.inner, *weight)).collect();
    let inner = run(py, || counts_file::weighted(&pattern.inner, &parts))?;
    Ok(Counts { inner })
}
