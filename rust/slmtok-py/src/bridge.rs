//! The FFI boundary: GIL, signals and errors.
//!
//! Only this module releases the GIL. An error becomes the class of `slmtok.errors` that [`describe`] names; a panic, which is
//! always a defect, becomes an `InternalError`, because pyo3's own `PanicException` is not an `Exception`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyString};
use slmtok_core::corpus::{Fallback, Parsed};
use slmtok_core::parallel::ReportProgress;
use slmtok_core::{Error, Result, parallel};

use crate::bytes_object::bytes_object;
use crate::python_code::{attach, call, import, is_finalizing};

/// Interval between two checks for signals and two calls of a progress callback.
pub const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs `work` without the GIL. The thread that finalizes the interpreter, as in `__del__` of a global, keeps the GIL:
/// [`attach`] would hang it.
pub fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    let work = || catch_unwind(AssertUnwindSafe(work));
    let outcome = if is_finalizing(py) { work() } else { py.detach(work) };
    match outcome {
        Ok(result) => result.map_err(|error| exception(py, &error)),
        Err(panic) => Err(internal_error(py, panic.as_ref())),
    }
}

/// Runs `work` without releasing the GIL, for work of a few microseconds, of which releasing it would be a large part.
pub fn run_holding_gil<T>(py: Python<'_>, work: impl FnOnce() -> Result<T>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| exception(py, &error)),
        Err(panic) => Err(internal_error(py, panic.as_ref())),
    }
}

/// Runs `work` without the GIL. Its report, called on this thread with (done, total), checks for signals and calls `progress`.
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
            if last.elapsed() < POLL_INTERVAL && done != total {
                return Ok(());
            }
            last = Instant::now();
            attach(|py| {
                py.check_signals()?;
                if let Some(callback) = &callback {
                    call(callback.bind(py), (stage, done, total), None)?;
                }
                Ok(())
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

/// As [`run_reporting`], for work without a progress callback: its report only checks for signals.
pub fn run_polling<T: Send>(py: Python<'_>, work: impl FnOnce(ReportProgress<'_>) -> Result<T> + Send) -> PyResult<T> {
    run_reporting(py, None, "", |report| work(&mut |done| report(done, u64::MAX)))
}

/// Runs `work` without the GIL. Its blocks are passed to `visit` as `bytes`; signals are checked between blocks.
pub fn run_with_callback<T: Send>(
    py: Python<'_>,
    visit: &Bound<'_, PyAny>,
    work: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<T> + Send,
) -> PyResult<T> {
    let visit = visit.clone().unbind();
    let mut raised = None;
    let outcome = run(py, || {
        work(&mut |block| {
            attach(|py| {
                py.check_signals()?;
                call(visit.bind(py), (bytes_object(py, block)?,), None).map(drop)
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
            attach(|py| {
                let parsed = call(fallback.bind(py), (bytes_object(py, bytes)?, number), None)?;
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

/// Locks `mutex`, with the policy of [`parallel::lock`].
pub fn lock<'a, T>(py: Python<'_>, mutex: &'a Mutex<T>) -> PyResult<MutexGuard<'a, T>> {
    parallel::lock(mutex).map_err(|error| exception(py, &error))
}

/// The exception of `slmtok.errors` for an error of the core.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    build(py, error).unwrap_or_else(|failure| failure)
}

fn build(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    // Python knows the options that set these limits.
    let limited = match error {
        Error::DocumentTooLarge { place, limit } => Some(("document_too_large", place, limit)),
        Error::UndividedText { place, limit } => Some(("undivided_text", place, limit)),
        _ => None,
    };
    if let Some((function, place, limit)) = limited {
        let function = import(py, "slmtok.document_limits")?.getattr(function)?;
        return Ok(PyErr::from_value(call(&function, (place, limit), None)?));
    }
    let fields = PyDict::new(py);
    let name = describe(py, error, &fields)?;
    fields.set_item("fact", error.fact())?;
    fields.set_item("where", error.place())?;
    fields.set_item("limit", error.limit())?;
    fields.set_item("fix", error.remedy())?;
    raise(py, name, &fields)
}

fn raise(py: Python<'_>, name: &str, fields: &Bound<'_, PyDict>) -> PyResult<PyErr> {
    let class = import(py, "slmtok.errors")?.getattr(name)?;
    Ok(PyErr::from_value(call(&class, (), Some(fields))?))
}

/// Name of the class; sets its fields. The match is exhaustive, so that a new variant does not compile until it is mapped.
fn describe(py: Python<'_>, error: &Error, fields: &Bound<'_, PyDict>) -> PyResult<&'static str> {
    let bytes = |token: &[u8]| PyBytes::new(py, token).unbind();
    Ok(match error {
        Error::InvalidPattern { pattern, reason, position } => {
            fields.set_item("pattern", pattern)?;
            fields.set_item("reason", reason)?;
            fields.set_item("position", position)?;
            "InvalidPattern"
        }
        Error::PatternTooLarge { pattern, what, .. } => {
            fields.set_item("pattern", pattern)?;
            fields.set_item("reason", what)?;
            fields.set_item("position", None::<usize>)?;
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
        Error::Shrunk { path, .. } => {
            fields.set_item("path", path)?;
            "Unreadable"
        }
        Error::DocumentTooLarge { .. } | Error::UndividedText { .. } => "DocumentTooLarge",
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
        Error::NoThread { reason } => {
            fields.set_item("reason", reason)?;
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

/// `InvalidText` for a string with a surrogate at `index`.
pub fn invalid_text(text: &Bound<'_, PyString>, document: usize, index: usize) -> PyErr {
    let py = text.py();
    let built = import(py, "slmtok.surrogates")
        .and_then(|module| module.getattr("invalid_text"))
        .and_then(|function| call(&function, (text, document, index), None));
    built.map_or_else(|failure| failure, PyErr::from_value)
}

/// Panics inside `run`, for the test of the conversion to an exception.
#[pyfunction]
pub fn provoke_panic(py: Python<'_>, message: String) -> PyResult<()> {
    run(py, || panic!("{message}"))
}
