//! Corpus files as documents.
//!
//! ```text
//! decompress   file -> bytes, with the seek points from which decompression can start
//! chunks       bytes -> chunks of whole documents, each with its position in the file
//! json_record  one line of JSON -> the text of one field
//! reader       chunks -> batches of documents, on any number of threads
//! documents    one batch: text, offsets, digests, skipped records
//! digest       sha256 of a document, and the order-independent sum of many
//! ```
//! Cutting a file into chunks is sequential and cheap; parsing a chunk is parallel. Chunk borders depend on the bytes of the
//! file alone, so a chunk number names the same documents in every run. Memory is bounded by the chunks in flight.

mod chunks;
mod decompress;
mod digest;
mod documents;
mod json_record;
mod reader;
#[cfg(test)]
mod tests;

pub use chunks::{CHUNK_BYTES, Chunk, Position};
pub use decompress::{COMPRESSIONS, Compression, SeekPoint};
pub use digest::{Digest, add, sha256};
pub use documents::Documents;
#[cfg(feature = "testing")]
pub use json_record::text as record_text;
pub use reader::{Fallback, Format, Parsed, Reader};
