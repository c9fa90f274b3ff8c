//! Ends a command with a message where a page of a mapped file cannot be read, which the system reports by SIGBUS.

#![allow(unsafe_code, reason = "a signal handler has no safe form; each use states why it is sound")]

use pyo3::prelude::*;

#[cfg(unix)]
const MESSAGE: &str = "\
error: a file became shorter, or its disk failed, while it was read
  limit: a file must stay as it is while a command reads it
  fix:   restore the file, then run the same command again
";

#[cfg(unix)]
extern "C" fn end(_: libc::c_int) {
    // SAFETY: `write` and `_exit` are allowed in a signal handler, and the message is static.
    unsafe {
        libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
        libc::_exit(1);
    }
}

/// From now on the process ends with an error where it would end with signal 7. For commands, not for libraries.
#[pyfunction]
pub fn report_bus_errors() {
    #[cfg(unix)]
    // SAFETY: the handler has the signature that the system calls it with, and only makes calls that handlers may make.
    unsafe {
        libc::signal(libc::SIGBUS, end as extern "C" fn(libc::c_int) as libc::sighandler_t);
    }
}
