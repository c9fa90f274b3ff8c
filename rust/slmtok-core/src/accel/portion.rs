//! Documents that are made, about a mebibyte at a time.

use crate::Result;
use crate::accel::transcode::{Mixed, Utf8};
use crate::parallel::BATCH_BYTES;

/// A document, or what is known of it before it is made.
#[derive(Clone, Copy, Debug)]
pub enum Document<'a> {
    /// Its bytes.
    Bytes(&'a [u8]),
    /// Will be made from so many code points.
    Points(usize),
}

/// Adds the bytes of the document with this index. Called on the calling thread alone, in order.
pub type Make<'a> = &'a mut (dyn FnMut(usize, &mut Utf8) -> Result<()> + Send);

impl Document<'_> {
    /// The most bytes that it may have.
    pub(crate) fn most(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Points(points) => 4 * points,
        }
    }

    /// What of the work it is, where that is counted.
    #[must_use]
    pub fn share(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Points(points) => *points as u64,
        }
    }
}

/// Some documents, one after another.
pub(crate) struct Portion<'a> {
    pub documents: Mixed<'a>,
    /// Of all the work.
    pub share: u64,
}

impl<'a> Portion<'a> {
    /// The documents from `next` on that are about a mebibyte together, and the one that comes after them. `memory` is used again.
    pub fn new(mut memory: Utf8, documents: &[Document<'a>], mut next: usize, make: Make<'_>) -> Result<(Self, usize)> {
        memory.clear();
        let (mut portion, mut bytes) = (Self { documents: Mixed::new(memory), share: 0 }, 0);
        while let Some(document) = documents.get(next)
            && bytes < BATCH_BYTES
        {
            bytes += match *document {
                Document::Bytes(there) => {
                    portion.documents.add(there);
                    there.len()
                }
                Document::Points(_) => portion.documents.make(|made| make(next, made))?,
            };
            portion.share += document.share();
            next += 1;
        }
        Ok((portion, next))
    }
}
