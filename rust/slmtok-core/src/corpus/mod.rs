//! Corpus files as documents: a file, packed or not, is cut into *units* of whole documents, which threads take and parse.
//!
//! ```text
//! packed     a file -> its unpacked bytes      parts    frames and members, with the borders between
//! units      bytes -> units of whole lines     place    where a unit begins, and from where to get there
//! record     a line of JSON -> its text        digest   sha256 of documents, and their sum
//! documents  many documents end to end         reader   all of it behind one lock
//! ```
//! Only cutting is done one after another; whoever takes a unit parses it. So a stream that cannot be cut keeps all threads
//! busy, and memory is that of the units in work. What a unit holds depends on the bytes of the file alone.

mod digest;
mod documents;
mod packed;
mod parts;
mod place;
mod reader;
mod record;
#[cfg(test)]
mod tests;
mod units;

pub use digest::{Digest, add, sha256};
pub use documents::Documents;
pub use packed::{PACKINGS, Packing};
pub use place::{Border, Place};
pub use reader::{Judge, Kind, Reader};
#[cfg(feature = "testing")]
pub use record::text as record_text;
pub use units::UNIT_BYTES;
