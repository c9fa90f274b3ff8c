//! Threads that the system may refuse to start, as it does at a limit on memory or on processes.

use std::thread::{Builder, Scope, ScopedJoinHandle};

use crate::{Error, Result};

/// Starts `work` on a thread of `scope`.
///
/// # Errors
/// [`Error::NoThread`].
pub(crate) fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    Builder::new().spawn_scoped(scope, work).map_err(|error| Error::NoThread { reason: error.to_string() })
}
