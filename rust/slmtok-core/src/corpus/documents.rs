//! One batch of documents: their bytes end to end, with digests, record numbers and skipped records.

#![expect(clippy::cast_possible_truncation, reason = "offsets are positions in a buffer in memory")]

use std::sync::OnceLock;

use memchr::memmem::Finder;

use super::chunks::Position;
use super::digest::{Digest, add, sha256};
use crate::Result;
use crate::mem::{try_with_capacity_huge, with_capacity_huge};

/// Documents in one buffer, without an allocation for each: a million of them cost little more than their bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Documents {
    /// Number of the chunk of the file that they come from.
    pub chunk: u64,
    /// Where that chunk begins in its file.
    pub begin: Position,
    /// Where the next chunk begins.
    pub end: Position,
    /// The bytes of all documents.
    pub bytes: Vec<u8>,
    /// Start of each document, then the length of `bytes`: one more than documents.
    pub offsets: Vec<i64>,
    /// Line or record number of each document, from 1.
    pub numbers: Vec<i64>,
    /// sha256 of each document that ends in this batch, computed on first use.
    digests: OnceLock<Vec<Digest>>,
    /// For each skipped record, the number of documents before it.
    pub skips: Vec<usize>,
    /// Bytes of the first document that earlier batches hold; 0 unless a file is read in parts.
    pub continued: u64,
    /// Whether the last document continues in the next batch.
    pub partial: bool,
}

impl Documents {
    /// An empty batch with capacity for `bytes` bytes of text.
    #[must_use]
    pub fn with_capacity(chunk: u64, bytes: usize) -> Self {
        Self {
            chunk,
            begin: Position::START,
            end: Position::START,
            bytes: with_capacity_huge(bytes),
            offsets: vec![0],
            numbers: Vec::new(),
            digests: OnceLock::from(Vec::new()),
            skips: Vec::new(),
            continued: 0,
            partial: false,
        }
    }

    /// As [`Self::with_capacity`], for a size that the input determines.
    ///
    /// # Errors
    /// Lack of memory.
    pub fn try_with_capacity(chunk: u64, bytes: usize) -> Result<Self> {
        Ok(Self { bytes: try_with_capacity_huge(bytes)?, ..Self::with_capacity(chunk, 0) })
    }

    /// Copies of `texts`, numbered from 1. They are not hashed yet.
    ///
    /// # Errors
    /// Lack of memory.
    pub fn of(texts: &[&[u8]]) -> Result<Self> {
        let mut documents = Self::try_with_capacity(0, texts.iter().map(|text| text.len()).sum())?;
        for text in texts {
            documents.bytes.extend_from_slice(text);
            documents.offsets.push(documents.bytes.len() as i64);
        }
        documents.numbers = (1..=texts.len() as i64).collect();
        documents.digests = OnceLock::new();
        Ok(documents)
    }

    /// Copies of the documents of columns, as [`Self::of`] makes them. A column is its bytes and the offsets of its documents,
    /// one more than documents. `None` where offsets are not ascending positions in the bytes.
    ///
    /// # Errors
    /// Lack of memory.
    pub fn of_columns(columns: &[(&[u8], &[i64])]) -> Result<Option<Self>> {
        let texts: Option<Vec<&[u8]>> = columns.iter().map(|(bytes, offsets)| text_of_column(bytes, offsets)).collect();
        let Some(texts) = texts else { return Ok(None) };
        let mut documents = Self::try_with_capacity(0, texts.iter().map(|text| text.len()).sum())?;
        for (text, (_, offsets)) in texts.into_iter().zip(columns) {
            let shift = documents.bytes.len() as i64 - offsets[0];
            documents.bytes.extend_from_slice(text);
            documents.offsets.extend(offsets[1..].iter().map(|offset| offset + shift));
        }
        documents.numbers = (1..documents.offsets.len() as i64).collect();
        documents.digests = OnceLock::new();
        Ok(Some(documents))
    }

    /// sha256 of each document that ends in this batch.
    pub fn digests(&self) -> &[Digest] {
        self.digests.get_or_init(|| self.slices().into_iter().map(sha256).collect())
    }

    /// Whether the digests have been computed.
    #[must_use]
    pub fn is_hashed(&self) -> bool {
        self.digests.get().is_some()
    }

    /// Number of documents that end in this batch.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1 - usize::from(self.partial)
    }

    /// Whether no document ends in this batch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of one document.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let (start, end) = (self.offsets.get(index)?, self.offsets.get(index + 1)?);
        self.bytes.get(*start as usize..*end as usize)
    }

    /// The bytes of each document.
    #[must_use]
    pub fn slices(&self) -> Vec<&[u8]> {
        self.offsets.windows(2).map(|bounds| &self.bytes[bounds[0] as usize..bounds[1] as usize]).collect()
    }

    /// Bytes of each document that ends in this batch; what earlier batches hold of the first is included.
    #[must_use]
    pub fn sizes(&self) -> Vec<i64> {
        let mut sizes: Vec<i64> = self.offsets.windows(2).map(|bounds| bounds[1] - bounds[0]).collect();
        sizes.truncate(self.len());
        if let Some(first) = sizes.first_mut() {
            *first += self.continued as i64;
        }
        sizes
    }

    /// How often `needle` occurs in each document.
    #[must_use]
    pub fn occurrences(&self, needle: &[u8]) -> Vec<i64> {
        let finder = Finder::new(needle);
        self.slices().iter().map(|text| finder.find_iter(text).count() as i64).collect()
    }

    /// The sum of all digests modulo 2^256.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digests().iter().fold([0; 32], |sum, digest| add(&sum, digest))
    }

    /// The documents at `indices`, in that order, without skipped records. `None` where an index is out of range.
    #[must_use]
    pub fn select(&self, indices: &[usize]) -> Option<Self> {
        let size = indices.iter().map(|&index| self.get(index).map(<[u8]>::len)).sum::<Option<usize>>()?;
        let mut chosen = Self::with_capacity(self.chunk, size);
        for &index in indices {
            chosen.bytes.extend_from_slice(self.get(index)?);
            chosen.offsets.push(chosen.bytes.len() as i64);
            chosen.numbers.push(self.numbers[index]);
        }
        let digests = self.digests.get().map(|all| indices.iter().map(|&index| all[index]).collect::<Vec<_>>());
        chosen.digests = digests.map_or_else(OnceLock::new, OnceLock::from);
        (chosen.begin, chosen.end) = (self.begin, self.end);
        Some(chosen)
    }

    /// Appends a document.
    pub fn push(&mut self, text: &[u8], number: u64) {
        self.bytes.extend_from_slice(text);
        self.close(number);
    }

    /// Makes one document of all bytes after the last one.
    pub(super) fn close(&mut self, number: u64) {
        let start = self.offsets.last().map_or(0, |&start| start as usize);
        let digest = sha256(&self.bytes[start..]);
        self.close_with(number, Some(digest));
    }

    /// As [`Documents::close`] with a known digest; without one the document continues in the next batch.
    pub(super) fn close_with(&mut self, number: u64, digest: Option<Digest>) {
        self.partial = digest.is_none();
        if let Some(digests) = self.digests.get_mut() {
            digests.extend(digest);
        }
        self.offsets.push(self.bytes.len() as i64);
        self.numbers.push(number as i64);
    }
}

/// The bytes between the first and the last offset, `None` unless all offsets are ascending positions in `bytes`.
fn text_of_column<'a>(bytes: &'a [u8], offsets: &[i64]) -> Option<&'a [u8]> {
    let (first, last) = (*offsets.first()?, *offsets.last()?);
    let text = bytes.get(usize::try_from(first).ok()?..usize::try_from(last).ok()?)?;
    offsets.is_sorted().then_some(text)
}
