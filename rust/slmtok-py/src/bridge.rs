//! The one door between Python and the core.
//!
//! The GIL is released here and nowhere else. A failure becomes the class of `slmtok.errors` that its variant names; a panic,
//! which is always our mistake, becomes an `InternalError` instead of a crash that `except Exception` would miss.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict};
use slmtok_core::corpus::{Fallback, Parsed};
use slmtok_core::{Error, Result};

/// Between two looks at signals and two calls of a progress callback.
pub const BEAT: Duration = Duration::from_millis(50);

/// Runs `work` without the GIL.
pub fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    let outcome = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    match outcome {
        Ok(result) => result.map_err(|error| exception(py, &error)),
        Err(panic) => Err(internal_error(py, panic.as_ref())),
    }
}

/// Runs `work` with the GIL. For what takes a microsecond or two once everything is made that it needs: to let the GIL go
/// and take it back would be a good part of that.
pub fn run_at_once<T>(py: Python<'_>, work: impl FnOnce() -> Result<T>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| exception(py, &error)),
        Err(panic) => Err(internal_error(py, panic.as_ref())),
    }
}

/// Runs `work` without the GIL; its report, called on this thread with (done, total), hears Ctrl-C and tells `progress`.
pub fn run_reporting<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    stage: &str,
    work: impl FnOnce(&mut dyn FnMut(u64, u64) -> Result<()>) -> Result<T> + Send,
) -> PyResult<T> {
    let callback = progress.map(|callback| callback.clone().unbind());
    let mut raised = None;
    let outcome = run(py, || {
        let mut last = Instant::now();
        work(&mut |done, total| {
            if last.elapsed() < BEAT && done != total {
                return Ok(());
            }
            last = Instant::now();
            Python::attach(|py| {
                py.check_signals()?;
                callback.as_ref().map_or(Ok(()), |callback| callback.call1(py, (stage, done, total)).map(drop))
            })
            .map_err(|error: PyErr| {
                raised = Some(error);
                Error::Interrupted
            })
        })
    });
    match raised {
        Some(error) => Err(error),
        None => outcome,
    }
}

/// Runs `work` without the GIL; what it gives away, block by block, goes to `visit` as `bytes`. Signals are heard between.
pub fn run_calling<T: Send>(
    py: Python<'_>,
    visit: &Bound<'_, PyAny>,
    work: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<T> + Send,
) -> PyResult<T> {
    let visit = visit.clone().unbind();
    let mut raised = None;
    let outcome = run(py, || {
        work(&mut |block| {
            Python::attach(|py| {
                py.check_signals()?;
                visit.call1(py, (PyBytes::new(py, block),)).map(drop)
            })
            .map_err(|error| {
                raised = Some(error);
                Error::Interrupted
            })
        })
    });
    match raised {
        Some(error) => Err(error),
        None => outcome,
    }
}

/// Runs `work` without the GIL; records that it cannot parse go to `fallback(line, number)`, which
/// returns the document, None for a record to skip, or False for a line that is no record.
pub fn run_with_fallback<T: Send>(
    py: Python<'_>,
    fallback: &Py<PyAny>,
    work: impl FnOnce(Fallback<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let mut raised = None;
    let outcome = run(py, || {
        work(&mut |bytes, number| {
            Python::attach(|py| {
                let parsed = fallback.bind(py).call1((PyBytes::new(py, bytes), number))?;
                if parsed.is_none() {
                    return Ok(Parsed::Skipped);
                }
                let ignored = parsed.is(PyBool::new(py, false));
                Ok(if ignored {
                    Parsed::Ignored
                } else {
                    Parsed::Document(parsed.cast::<PyBytes>()?.as_bytes().to_vec())
                })
            })
            .map_err(|error| {
                raised = Some(error);
                Error::Interrupted
            })
        })
    });
    match raised {
        Some(error) => Err(error),
        None => outcome,
    }
}

/// The exception of `slmtok.errors` for a failure of the core.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    build(py, error).unwrap_or_else(|failure| failure)
}

fn build(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let fields = PyDict::new(py);
    let name = describe(py, error, &fields)?;
    fields.set_item("fact", error.fact())?;
    fields.set_item("where", error.place())?;
    fields.set_item("limit", error.limit())?;
    fields.set_item("fix", error.remedy())?;
    raise(py, name, &fields)
}

fn raise(py: Python<'_>, name: &str, fields: &Bound<'_, PyDict>) -> PyResult<PyErr> {
    let class = py.import("slmtok.errors")?.getattr(name)?;
    Ok(PyErr::from_value(class.call((), Some(fields))?))
}

/// Name of the class, and the values that it keeps. Exhaustive: a new variant does not compile until it is mapped.
fn describe(py: Python<'_>, error: &Error, fields: &Bound<'_, PyDict>) -> PyResult<&'static str> {
    let bytes = |token: &[u8]| PyBytes::new(py, token).unbind();
    Ok(match error {
        Error::InvalidPattern { pattern, reason, position } => {
            fields.set_item("pattern", pattern)?;
            fields.set_item("reason", reason)?;
            fields.set_item("position", position)?;
            "InvalidPattern"
        }
        Error::PatternGaveUp { pattern, offset, reason } => {
            fields.set_item("pattern", pattern)?;
            fields.set_item("offset", offset)?;
            fields.set_item("reason", reason)?;
            "PatternGaveUp"
        }
        Error::InvalidMerges { index, left, right, reason } => {
            fields.set_item("index", index)?;
            fields.set_item("left", left)?;
            fields.set_item("right", right)?;
            fields.set_item("reason", reason)?;
            "InvalidMerges"
        }
        Error::InvalidRanks { rank, token, reason } => {
            fields.set_item("rank", rank)?;
            fields.set_item("token", bytes(token))?;
            fields.set_item("reason", reason)?;
            "InvalidRanks"
        }
        Error::InvalidTokens { index, token, reason } => {
            fields.set_item("index", index)?;
            fields.set_item("token", bytes(token))?;
            fields.set_item("reason", reason)?;
            "InvalidTokens"
        }
        Error::CountOverflow { what } => {
            fields.set_item("what", what)?;
            "CountOverflow"
        }
        Error::CorpusTooLarge { bytes, .. } => {
            fields.set_item("bytes", bytes)?;
            "CorpusTooLarge"
        }
        Error::RequiredToken { token, reason } => {
            fields.set_item("token", bytes(token))?;
            fields.set_item("reason", reason)?;
            "RequiredToken"
        }
        Error::RequiredTooMany { needed, available } => {
            fields.set_item("needed", needed)?;
            fields.set_item("available", available)?;
            "RequiredTooMany"
        }
        Error::Io { path, action, reason, os_error } => {
            fields.set_item("path", path)?;
            fields.set_item("action", action)?;
            fields.set_item("reason", reason)?;
            fields.set_item("os_error", os_error)?;
            "Unreadable"
        }
        Error::Damaged { path, .. } => {
            fields.set_item("path", path)?;
            "Unreadable"
        }
        Error::CorruptCounts { path, reason } => {
            fields.set_item("path", path)?;
            fields.set_item("reason", reason)?;
            "CorruptFile"
        }
        Error::NoSpace { folder, bytes } => {
            fields.set_item("path", folder)?;
            fields.set_item("bytes", bytes)?;
            "DiskFull"
        }
        Error::NoMemory { bytes } => {
            fields.set_item("bytes", bytes)?;
            "NotEnoughMemory"
        }
        Error::UnknownId { id, position, n_vocab } => {
            fields.set_item("id", id)?;
            fields.set_item("position", position)?;
            fields.set_item("n_vocab", n_vocab)?;
            "UnknownId"
        }
        Error::InvalidOption { option, value, .. } => {
            fields.set_item("option", option)?;
            fields.set_item("value", value)?;
            "OptionError"
        }
        Error::Poisoned => "InternalError",
        Error::Interrupted => "Interrupted",
    })
}

fn internal_error(py: Python<'_>, panic: &(dyn std::any::Any + Send)) -> PyErr {
    let message = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "unknown panic".to_owned());
    let fields = PyDict::new(py);
    let built = fields
        .set_item("fact", format!("the engine failed: {message}"))
        .and_then(|()| {
            fields.set_item("fix", "this is a defect of slmtok: please report it with the input that shows it")
        })
        .and_then(|()| raise(py, "InternalError", &fields));
    built.unwrap_or_else(|failure| failure)
}

/// An `InvalidText` for a text that has no UTF-8, with the index of its first lone surrogate.
pub fn invalid_text(py: Python<'_>, document: usize, index: usize) -> PyErr {
    let fields = PyDict::new(py);
    let built = fields
        .set_item("fact", "text holds a lone surrogate, which has no UTF-8")
        .and_then(|()| fields.set_item("where", format!("character {index} of document {document}")))
        .and_then(|()| fields.set_item("fix", "pass bytes, or text.encode('utf-8', 'surrogatepass') or 'replace'"))
        .and_then(|()| fields.set_item("document", document))
        .and_then(|()| fields.set_item("index", index))
        .and_then(|()| raise(py, "InvalidText", &fields));
    built.unwrap_or_else(|failure| failure)
}

/// Panics behind the door, so that a test can see what Python gets of it.
#[pyfunction]
pub fn provoke_panic(py: Python<'_>, message: String) -> PyResult<()> {
    run(py, || panic!("{message}"))
}
