//! Tables that remember pieces: keys and hashes of short pieces, and the ids that pieces encode to.
//!
//! What a table holds changes the speed, never a result.

pub mod bloom;
pub(crate) mod hash;
#[cfg(target_arch = "x86_64")]
mod hash_aes;
mod hash_mul;
mod hash_table;
#[cfg(target_arch = "x86_64")]
mod hash_vaes;
pub(crate) mod long_cache;
pub mod packed_ids;
pub(crate) mod piece_table;
pub mod short_key;
