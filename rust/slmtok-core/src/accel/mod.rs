//! Accelerations: each saves only time or memory traffic, and has a plain alternative with the same result.
//!
//! | module | plain alternative |
//! |---|---|
//! | `output_buffer` | allocate zeroed memory for each call |
//! | `cache_sharing` | each worker keeps its own caches |
//! | [`lazy_batch`] | transcode all documents before the call |
//! | [`transcode`] | ask Python for the UTF-8 of a string, which it then keeps |
//!
//! `docs/decisions/0021-measured-mechanisms.md` has the gain of each, also of the removed ones.

pub(crate) mod cache_sharing;
pub mod lazy_batch;
pub(crate) mod output_buffer;
pub mod transcode;
#[cfg(target_arch = "x86_64")]
mod transcode_avx512;
