//! Byte-level BPE: splitting, counting, training, encoding and decoding.
//!
//! Bytes and integers in, bytes and integers out. This crate does not know that Python exists, prints nothing and reads
//! no environment variable. Read downward only:
//!
//! ```text
//! pretoken   text -> pieces                  piece    short pieces as integers (keys: many at once)
//! count      pieces -> (piece, how often)    work     documents shared among threads
//! merges     which two tokens make a third   mapped   files as documents
//! corpus     packed files, records -> documents                transcode  code points as UTF-8
//! train | encode -> decode
//! ```
//! `train` and `encode` never meet: what one makes, the other gets as a list of merges.

pub mod corpus;
pub mod count;
pub mod decode;
pub mod encode;
pub mod error;
mod fork_safe_once;
mod keys;
pub mod mapped_file;
mod mem;
pub mod merges;
pub mod parallel;
pub mod piece;
pub mod pretoken;
mod token_set;
pub mod train;
pub mod transcode;
mod utf8;

pub use error::{Error, Result};
