//! Ends a command with a message where the system or a library would end it by a signal: a page of a mapped file that
//! cannot be read (SIGBUS), and memory that runs out where Rust or C++ cannot report it (SIGABRT).

#![allow(unsafe_code, reason = "a signal handler has no safe form; each use states why it is sound")]

use pyo3::prelude::*;

#[cfg(unix)]
const UNREADABLE_PAGE: &str = "\
error: a file became shorter, or its disk failed, while it was read
  limit: a file must stay as it is while a command reads it
  fix:   restore the file, then run the same command again
";

#[cfg(unix)]
const ABORTED: &str = "\
error: not enough memory, or a fault of a library: it ended the command (SIGABRT)
  limit: the memory that this process may use
  fix:   free memory, raise its limit (ulimit -v, ulimit -d), or give less at a time
";

#[cfg(unix)]
extern "C" fn end(signal: libc::c_int) {
    let message = if signal == libc::SIGBUS { UNREADABLE_PAGE } else { ABORTED };
    // SAFETY: `write` and `_exit` are allowed in a signal handler, and the message is static.
    unsafe {
        libc::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.len());
        libc::_exit(1);
    }
}

/// From now on the process ends with an error where it would end with signal 6 or 7. For commands, not for libraries.
#[pyfunction]
pub fn report_fatal_signals() {
    #[cfg(unix)]
    for signal in [libc::SIGBUS, libc::SIGABRT] {
        // SAFETY: the handler has the signature that the system calls it with, and only makes calls that handlers may
        // make.
        unsafe {
            libc::signal(signal, end as extern "C" fn(libc::c_int) as libc::sighandler_t);
        }
    }
}
