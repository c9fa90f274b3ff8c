//! Threads that the system may refuse to start, as it does at a limit on memory or on processes.

use std::thread::{Builder, Scope, ScopedJoinHandle};

use crate::{Error, Result};

/// Bytes of the stack of a thread: the default of the standard library, which `RUST_MIN_STACK` in the environment changes.
const STACK: usize = 2 << 20;

/// A thread whose stack does not depend on the environment.
pub(crate) fn builder() -> Builder {
    Builder::new().stack_size(STACK)
}

/// Starts `work` on a thread of `scope`.
///
/// # Errors
/// [`Error::NoThread`].
pub(crate) fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    builder().spawn_scoped(scope, work).map_err(|error| Error::NoThread { reason: error.to_string() })
}
