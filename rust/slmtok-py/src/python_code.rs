//! Calls that run code of Python, and attaching to the interpreter.
//!
//! Before 3.14, Python ends a daemon thread that asks for the GIL while the interpreter finalizes. It does so by `pthread_exit`,
//! which unwinds the stack: frames of Rust on it would drop objects without the GIL, and `catch_unwind` would abort the process.
//! Such a thread hangs instead, as in Python 3.14. pyo3 sees to this where it takes the GIL itself; code of Python takes it too.

#![allow(unsafe_code, reason = "pyo3 has no form of this call that expects unwinding")]

use std::hint::black_box;
use std::io::{Write, stderr};
use std::mem::{forget, transmute};
use std::process::abort;
use std::ptr::null_mut;
use std::thread::sleep;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi::{Py_IsInitialized, PyObject, PyObject_Call};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// How long unwinding may be ahead of the flag that the interpreter finalizes: Python sets it right after it ends threads.
const FLAG_DELAY: Duration = Duration::from_secs(1);

/// Blocks the thread for ever.
fn hang() -> ! {
    loop {
        std::thread::park();
    }
}

/// Dropped by unwinding alone: hangs a thread that Python ends.
///
/// An exception of C++ unwinds too, where a binding of Python does not catch it. It aborts the process: it has skipped frames of
/// the interpreter, and the thread holds the GIL, for which every other thread would wait.
struct OnUnwinding;

impl Drop for OnUnwinding {
    fn drop(&mut self) {
        let until = Instant::now() + FLAG_DELAY;
        // SAFETY: always safe to call.
        while unsafe { Py_IsInitialized() } != 0 {
            if Instant::now() > until {
                let _ = writeln!(stderr(), "fatal: a library that Python called threw an exception of C++");
                abort();
            }
            sleep(FLAG_DELAY / 100);
        }
        hang();
    }
}

/// Result of `work`. A thread that Python ends in `work` hangs.
pub fn hang_if_ended<T>(work: impl FnOnce() -> T) -> T {
    let guard = OnUnwinding;
    let result = work();
    forget(guard);
    result
}

/// `callable(*args, **kwargs)`. Otherwise code of Python runs only in `__del__`: callers convert what has `__index__` before.
pub fn call<'py>(
    callable: &Bound<'py, PyAny>,
    args: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error: Into<PyErr>>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    type Object = *mut PyObject;
    type Call = unsafe extern "C" fn(Object, Object, Object) -> Object;
    type CallUnwinding = unsafe extern "C-unwind" fn(Object, Object, Object) -> Object;
    let args = args.into_pyobject(callable.py()).map_err(Into::into)?;
    // SAFETY: the two ABIs differ only in that the caller expects unwinding. `black_box` hides which function it is, because
    // the compiler leaves out the cleanup around a function that pyo3 declares not to unwind.
    let function = black_box(unsafe { transmute::<Call, CallUnwinding>(PyObject_Call) });
    let kwargs = kwargs.map_or(null_mut(), Bound::as_ptr);
    // SAFETY: `Bound` proves that the GIL is held; the arguments are a tuple, and a dict or null. Unwinding stops in this frame,
    // in which nothing is dropped before it. The call returns a new reference, or null with an exception.
    unsafe {
        let result = hang_if_ended(|| function(callable.as_ptr(), args.as_ptr(), kwargs));
        Bound::from_owned_ptr_or_err(callable.py(), result)
    }
}

/// The next object of an iterator.
pub fn next<'py>(iterator: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    // The iterator stands for its end: none yields itself.
    let object = call(&iterator.py().import("builtins")?.getattr("next")?, (iterator, iterator), None)?;
    Ok((!object.is(iterator)).then_some(object))
}

/// The items of an iterable, of no known number: for `collect`, pyo3 would import `operator.length_hint` at first use, and a child
/// that is forked meanwhile would wait for it for ever.
pub fn items<'py>(values: &Bound<'py, PyAny>) -> PyResult<impl Iterator<Item = PyResult<Bound<'py, PyAny>>>> {
    let mut rest = values.try_iter()?;
    Ok(std::iter::from_fn(move || rest.next()))
}

/// The module `name`.
pub fn import<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    call(&py.import("builtins")?.getattr("__import__")?, (name,), None)?;
    // It is loaded, so that this runs no code of Python.
    py.import(name)
}

/// Whether the interpreter finalizes. Only the thread that finalizes it can then hold the GIL.
pub fn is_finalizing(_py: Python<'_>) -> bool {
    // SAFETY: always safe to call.
    unsafe { Py_IsInitialized() == 0 }
}

/// Raises if the interpreter finalizes: for work that waits for another thread, which [`attach`] would hang.
pub fn check_running(py: Python<'_>) -> PyResult<()> {
    let fact = "cannot read documents while the interpreter ends; read them in a function of atexit.register";
    if is_finalizing(py) { Err(PyRuntimeError::new_err(fact)) } else { Ok(()) }
}

/// Runs `work` with the GIL. The thread hangs if the interpreter has ended.
pub fn attach<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    Python::try_attach(work).unwrap_or_else(|| hang())
}
