//! The Python module `slmtok._native`: conversion of types and errors, without logic of its own.
//!
//! `bridge` releases the GIL, checks for signals and converts errors to the exceptions of `slmtok.errors`; `python_code` calls
//! Python.

mod arrays;
mod batches;
mod bridge;
mod bytes_object;
mod code_points;
mod counts;
mod counts_files;
mod documents;
mod encoder;
mod fatal_signals;
mod pattern;
mod python_code;
mod ranks;
mod stream;
mod text;
mod training;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("MAX_REFUSALS", slmtok_core::train::MAX_REFUSALS)?;
    module.add("UNICODE_VERSION", slmtok_core::pretoken::UNICODE_VERSION)?;
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<pattern::Pattern>()?;
    module.add_class::<counts::Counts>()?;
    module.add_class::<counts::Counter>()?;
    module.add_class::<training::TrainResult>()?;
    module.add_class::<documents::Documents>()?;
    module.add_class::<documents::DocumentReader>()?;
    module.add_class::<documents::DocumentPipeline>()?;
    module.add_class::<encoder::Encoder>()?;
    module.add_class::<stream::StreamDecoder>()?;
    module.add_function(wrap_pyfunction!(arrays::prepare_arrays, module)?)?;
    module.add_function(wrap_pyfunction!(bridge::provoke_panic, module)?)?;
    module.add_function(wrap_pyfunction!(fatal_signals::report_fatal_signals, module)?)?;
    module.add_function(wrap_pyfunction!(pattern::pattern_names, module)?)?;
    module.add_function(wrap_pyfunction!(pattern::byte_automaton, module)?)?;
    module.add_function(wrap_pyfunction!(ranks::read_ranks, module)?)?;
    module.add_function(wrap_pyfunction!(counts_files::write_counts, module)?)?;
    module.add_function(wrap_pyfunction!(counts_files::merge_counts, module)?)?;
    module.add_function(wrap_pyfunction!(counts_files::read_counts, module)?)?;
    module.add_function(wrap_pyfunction!(counts_files::weighted_counts, module)?)?;
    module.add_function(wrap_pyfunction!(training::train, module)?)?;
    module.add_function(wrap_pyfunction!(training::frequent_pieces, module)?)
}
