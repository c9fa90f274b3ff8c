//! Caches of pieces that were encoded before: keys and hashes of pieces, and tables from pieces to ids.
//!
//! The contents of a cache change the speed and never a result. Counting uses the same keys, hashes and slots.

pub mod bloom;
pub(crate) mod hash;
#[cfg(target_arch = "x86_64")]
mod hash_aes;
pub(crate) mod hash_table;
pub(crate) mod long_cache;
pub mod packed_ids;
pub(crate) mod piece_table;
pub mod short_key;
