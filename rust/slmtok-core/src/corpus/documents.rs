//! Many documents end to end, with what was seen while they were read.

use super::digest::{Digest, add, sha256};
use super::place::Place;
use crate::mem::with_capacity;

/// Documents in one buffer: no object for each, so that a million of them cost little more than their bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Documents {
    /// Number of the unit of the file that they come from.
    pub unit: u64,
    /// Where that unit begins in its file.
    pub begin: Place,
    /// Where what is behind it begins.
    pub behind: Place,
    /// All of their bytes.
    pub bytes: Vec<u8>,
    /// Where each begins, and at the end how many bytes there are: one more than documents.
    pub offsets: Vec<i64>,
    /// The line, counted from 1, that each comes from.
    pub numbers: Vec<i64>,
    /// sha256 of each.
    pub digests: Vec<Digest>,
    /// For each record that was left out, the number of documents before it.
    pub skips: Vec<usize>,
}

impl Documents {
    /// None yet, with room for `bytes` bytes.
    #[must_use]
    pub fn with_room(unit: u64, bytes: usize) -> Self {
        Self {
            unit,
            begin: Place::START,
            behind: Place::START,
            bytes: with_capacity(bytes),
            offsets: vec![0],
            numbers: Vec::new(),
            digests: Vec::new(),
            skips: Vec::new(),
        }
    }

    /// Copies of `texts`, numbered from 1.
    #[must_use]
    pub fn of(texts: &[&[u8]]) -> Self {
        let mut documents = Self::with_room(0, texts.iter().map(|text| text.len()).sum());
        for (number, text) in (1..).zip(texts) {
            documents.push(text, number);
        }
        documents
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.digests.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// The bytes of one.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let (start, end) = (self.offsets.get(index)?, self.offsets.get(index + 1)?);
        self.bytes.get(*start as usize..*end as usize)
    }

    /// The bytes of each.
    #[must_use]
    pub fn slices(&self) -> Vec<&[u8]> {
        self.offsets.windows(2).map(|bounds| &self.bytes[bounds[0] as usize..bounds[1] as usize]).collect()
    }

    /// The sum of all digests modulo 2^256.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digests.iter().fold([0; 32], |sum, digest| add(&sum, digest))
    }

    /// Those at `indices`, in that order, without what was left out. Nothing where one does not exist.
    #[must_use]
    pub fn select(&self, indices: &[usize]) -> Option<Self> {
        let size = indices.iter().map(|&index| self.get(index).map(<[u8]>::len)).sum::<Option<usize>>()?;
        let mut chosen = Self::with_room(self.unit, size);
        for &index in indices {
            chosen.bytes.extend_from_slice(self.get(index)?);
            chosen.offsets.push(chosen.bytes.len() as i64);
            chosen.numbers.push(self.numbers[index]);
            chosen.digests.push(self.digests[index]);
        }
        (chosen.begin, chosen.behind) = (self.begin, self.behind);
        Some(chosen)
    }

    /// Adds a document.
    pub fn push(&mut self, text: &[u8], number: u64) {
        self.bytes.extend_from_slice(text);
        self.close(number);
    }

    /// Makes a document of all bytes since the last.
    pub(super) fn close(&mut self, number: u64) {
        let start = self.offsets.last().map_or(0, |&start| start as usize);
        self.digests.push(sha256(&self.bytes[start..]));
        self.offsets.push(self.bytes.len() as i64);
        self.numbers.push(number as i64);
    }
}
