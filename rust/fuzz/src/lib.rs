//! The bodies of the fuzz targets: each takes any bytes and panics if the core violates a property.
//!
//! They are ordinary functions, so that `tests/regressions.rs` replays the findings of a fuzzer on stable Rust. To add a
//! target: a file here, a file of five lines in `fuzz_targets/`, its `[[bin]]`, and a line in [`TARGETS`].

mod chunks;
mod counts_file;
mod encode;
mod input;
mod pattern;
mod rank_file;
mod records;
mod round_trip;
mod split;
mod stream;
mod train;
mod vocab;
mod vocab_file;

pub use chunks::chunks;
pub use counts_file::counts_file;
pub use encode::encode;
pub use pattern::pattern;
pub use records::records;
pub use round_trip::round_trip;
pub use split::split;
pub use stream::stream;
pub use train::train;
pub use vocab_file::vocab_file;

/// A target.
pub type Target = fn(&[u8]);

/// All targets by the names of their binaries.
pub const TARGETS: [(&str, Target); 10] = [
    ("split", split),
    ("stream", stream),
    ("vocab_file", vocab_file),
    ("round_trip", round_trip),
    ("encode", encode),
    ("train", train),
    ("records", records),
    ("counts_file", counts_file),
    ("pattern", pattern),
    ("chunks", chunks),
];
