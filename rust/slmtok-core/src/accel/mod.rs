//! What only saves time or memory traffic.

pub(crate) mod cache_sharing;
pub(crate) mod id_buffer;
pub(crate) mod mixed;
pub(crate) mod output_buffer;
pub(crate) mod portion;
pub mod transcode;
#[cfg(target_arch = "x86_64")]
mod transcode_avx512;
