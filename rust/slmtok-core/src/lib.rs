//! Byte-level BPE: splitting, counting, training, encoding and decoding.
//!
//! Bytes and integers in, bytes and integers out. This crate does not know that Python exists, prints nothing and reads
//! no environment variable. Read downward only:
//!
//! ```text
//! pretoken   text -> pieces                  cache    short pieces as integers, tables of pieces
//! count      pieces -> (piece, how often)    work     documents shared among threads
//! merges     which two tokens make a third   mapped   files as documents
//! corpus     packed files, records -> documents                accel    what only saves time
//! train | encode -> decode
//! ```
//! `train` and `encode` never meet: what one makes, the other gets as a list of merges.

pub mod accel;
pub mod cache;
pub mod corpus;
pub mod count;
pub mod decode;
pub mod encode;
pub mod error;
mod fork_safe_once;
pub mod mapped_file;
mod mem;
pub mod merge;
pub mod merges;
pub mod parallel;
pub mod pretoken;
mod token_set;
pub mod train;
mod utf8;

pub use error::{Error, Result};
