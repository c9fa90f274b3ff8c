//! Byte-level BPE: splitting, counting, training, encoding and decoding.
//!
//! Bytes and integers in, bytes and integers out. The crate knows nothing of Python, prints nothing and reads no environment
//! variable. A text is split into pieces by a pattern; training learns merges from how often each piece occurs; encoding
//! applies them:
//!
//! ```
//! use slmtok_core::count::{Counter, Limits};
//! use slmtok_core::decode::Decoder;
//! use slmtok_core::encode::Encoder;
//! use slmtok_core::merges::Merges;
//! use slmtok_core::parallel::no_progress;
//! use slmtok_core::pretoken::Pattern;
//! use slmtok_core::train::{Options, TieBreak, train};
//!
//! # fn main() -> slmtok_core::Result<()> {
//! let pattern = Pattern::new("gpt2")?;
//! let mut counter = Counter::new(pattern.clone(), 1, Limits::default());
//! counter.feed(&[b"low lower lowest"], &mut no_progress)?;
//! let counts = counter.finish(&mut no_progress)?;
//!
//! let outcome = train(&counts, &Options::new(3, TieBreak::Rank, 2), &mut |_, _| Ok(()))?;
//! let merges = Merges::new(outcome.merges)?;
//!
//! let public_ids = (0..merges.tokens().len() as u32).collect();
//! let encoder = Encoder::from_merges(pattern, merges, public_ids, vec![], vec![])?;
//! let ids = encoder.encode::<u16>(b"lower")?;
//! assert_eq!(Decoder::new(&encoder)?.decode(&ids)?, b"lower");
//! # Ok(())
//! # }
//! ```
//!
//! Layers, lowest first; a module imports only from modules above it in this list (`tests/engine/layers.rs` checks it).
//! `pretoken`, `cache` and `merge` do not depend on each other, directly or through other modules. Training and encoding do
//! not depend on each other.
//!
//! | module | content |
//! |---|---|
//! | [`error`], `threads`, [`interrupt`], `mem`, [`fork_safe_once`], `simd_limit`, `utf8`, [`byte_hash`] | errors, starting threads, cancellation, memory hints, lazy initialisation, limit of SIMD in tests, UTF-8, hashing |
//! | [`pretoken`] | text to pieces |
//! | [`byte_automaton`] | a regular expression as an automaton over bytes |
//! | [`cache`] | tables keyed by pieces |
//! | `token_set`, [`merges`], [`merge`] | sets of tokens, the merge list, merging the bytes of one piece |
//! | [`parallel`], [`ordered`], [`file_blocks`] | parallel loops over documents, results in order, files read in blocks |
//! | [`corpus`] | compressed files and records to documents |
//! | [`count`], [`train`] | pieces to counts, counts to merges |
//! | [`accel`], [`encode`], [`decode`] | optimisations of encoding, text to ids, ids to bytes |

#![cfg_attr(test, allow(clippy::cast_possible_truncation, reason = "the numbers of tests are small"))]

pub mod accel;
pub mod byte_automaton;
pub mod byte_hash;
pub mod cache;
pub mod corpus;
pub mod count;
pub mod decode;
pub mod encode;
pub mod error;
pub mod file_blocks;
pub mod fork_safe_once;
pub mod interrupt;
mod mem;
pub mod merge;
pub mod merges;
pub mod ordered;
pub mod parallel;
pub mod pretoken;
mod simd_limit;
mod threads;
mod token_set;
pub mod train;
mod utf8;

pub use error::{Error, Result};
