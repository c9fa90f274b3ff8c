//! The CPU time of this thread: limits in it hold on a busy machine too.

#![allow(unsafe_code, reason = "the clock of a thread is a call of the system")]

use std::time::Duration;

/// The CPU time of this thread so far.
#[cfg(target_os = "linux")]
pub(crate) fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec, which outlives the call.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) }, 0);
    Duration::new(u64::try_from(time.tv_sec).unwrap(), u32::try_from(time.tv_nsec).unwrap())
}

/// The wall time since the first call: `libc` is a dependency on Linux only.
#[cfg(not(target_os = "linux"))]
pub(crate) fn thread_time() -> Duration {
    static BEGIN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    BEGIN.get_or_init(std::time::Instant::now).elapsed()
}
