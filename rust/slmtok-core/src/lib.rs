//! Byte-level BPE: splitting, counting, training, encoding and decoding.
//!
//! Bytes and integers in, bytes and integers out. This crate does not know that Python exists, prints nothing and reads
//! no environment variable. Read downward only:
//!
//! ```text
//! pretoken   text -> pieces
//! count      pieces -> (piece, how often)
//! merges     which two tokens make a third
//! train | encode | decode
//! ```
//! `train` and `encode` never meet: what one makes, the other gets as a list of merges.

pub mod error;
pub mod pretoken;

pub use error::{Error, Result};
