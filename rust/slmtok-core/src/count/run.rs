//! Sorted runs: tables of counts in a temporary file, to be merged later.
//!
//! A run is a row of blocks. A block is a head of 12 bytes, the length of the rest (u32) and its checksum (u64), both
//! little-endian, and records: how many bytes the piece shares with the one before it in the block, how many follow, those
//! bytes, the count; numbers as in [`super::varint`]. Pieces ascend within a run and none occurs twice. A block is full when
//! it reaches [`BLOCK`], so it exceeds that by less than a record. These bytes never outlive the process that wrote them, so they carry no version.

use std::io::{Error as IoError, ErrorKind};
use std::ops::Range;

use super::record::{Record, Source};
use super::scratch::Scratch;
use super::varint::{put, take};
use crate::Result;
use crate::cache::short_key::hash_long;

/// Bytes of a block. As many as there are runs are in memory when they are merged.
const BLOCK: usize = 16 << 10;
const HEAD: usize = 12;

/// Where a run lies in its file.
pub(super) type Place = Range<u64>;

/// Appends one run to a file.
pub(super) struct RunWriter<'a> {
    scratch: &'a mut Scratch,
    start: u64,
    block: Vec<u8>,
    last: Vec<u8>,
    piece: Vec<u8>,
}

impl<'a> RunWriter<'a> {
    pub fn new(scratch: &'a mut Scratch) -> Self {
        let start = scratch.length();
        Self { scratch, start, block: vec![0; HEAD], last: Vec::new(), piece: Vec::new() }
    }

    /// Adds a record that comes after all before it.
    pub fn push(&mut self, record: &Record) -> Result<()> {
        self.piece.clear();
        record.append_to(&mut self.piece);
        let shared = self.piece.iter().zip(&self.last).take_while(|(a, b)| a == b).count();
        put(&mut self.block, shared as u64);
        put(&mut self.block, (self.piece.len() - shared) as u64);
        self.block.extend_from_slice(&self.piece[shared..]);
        put(&mut self.block, record.count);
        std::mem::swap(&mut self.piece, &mut self.last);
        if self.block.len() >= BLOCK {
            self.flush()?;
        }
        Ok(())
    }

    pub fn finish(mut self) -> Result<Place> {
        self.flush()?;
        Ok(self.start..self.scratch.length())
    }

    fn flush(&mut self) -> Result<()> {
        let (head, records) = self.block.split_at_mut(HEAD);
        if records.is_empty() {
            return Ok(());
        }
        // A record beyond 4 GiB does not fit the length of a block; the trainer could not address it either.
        let length = u32::try_from(records.len())
            .map_err(|_| crate::Error::CorpusTooLarge { bytes: records.len() as u64, limit: u64::from(u32::MAX) })?;
        head[..4].copy_from_slice(&length.to_le_bytes());
        head[4..].copy_from_slice(&hash_long(records, 0).to_le_bytes());
        self.scratch.append(&self.block)?;
        self.block.truncate(HEAD);
        self.last.clear();
        Ok(())
    }
}

/// Reads one run, a block at a time.
pub(super) struct RunReader<'a> {
    scratch: &'a Scratch,
    place: Place,
    block: Vec<u8>,
    at: usize,
    piece: Vec<u8>,
}

impl<'a> RunReader<'a> {
    pub fn new(scratch: &'a Scratch, place: Place) -> Self {
        Self { scratch, place, block: Vec::new(), at: 0, piece: Vec::new() }
    }

    fn next_block(&mut self) -> Result<()> {
        let mut head = [0; HEAD];
        self.scratch.read(self.place.start, &mut head)?;
        let length = head.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let checksum = head.last_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let end = self.place.start + HEAD as u64 + u64::from(length);
        if length == 0 || end > self.place.end {
            return Err(self.damaged());
        }
        self.block.resize(length as usize, 0);
        self.scratch.read(self.place.start + HEAD as u64, &mut self.block)?;
        if hash_long(&self.block, 0) != checksum {
            return Err(self.damaged());
        }
        self.place.start = end;
        self.at = 0;
        self.piece.clear();
        Ok(())
    }

    fn record(&mut self) -> Option<Record> {
        let (shared, more) = (take(&self.block, &mut self.at)?, take(&self.block, &mut self.at)?);
        let end = self.at.checked_add(usize::try_from(more).ok()?)?;
        self.piece.truncate(usize::try_from(shared).ok()?);
        self.piece.extend_from_slice(self.block.get(self.at..end)?);
        self.at = end;
        let count = take(&self.block, &mut self.at)?;
        (!self.piece.is_empty()).then(|| Record::new(&self.piece, count))
    }

    fn damaged(&self) -> crate::Error {
        self.scratch.unreadable(&IoError::new(ErrorKind::InvalidData, "its bytes are not those that were written"))
    }
}

impl Source for RunReader<'_> {
    fn next(&mut self) -> Result<Option<Record>> {
        if self.at == self.block.len() {
            if self.place.is_empty() {
                return Ok(None);
            }
            self.next_block()?;
        }
        self.record().map(Some).ok_or_else(|| self.damaged())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(scratch: &Scratch, place: Place) -> Result<Vec<Record>> {
        let mut reader = RunReader::new(scratch, place);
        let mut all = Vec::new();
        while let Some(record) = reader.next()? {
            all.push(record);
        }
        Ok(all)
    }

    fn written(scratch: &mut Scratch, records: &[Record]) -> Place {
        let mut writer = RunWriter::new(scratch);
        records.iter().for_each(|record| writer.push(record).unwrap());
        writer.finish().unwrap()
    }

    proptest! {
        #[test]
        fn a_run_is_read_as_it_was_written(
            pieces in prop::collection::btree_map(prop::collection::vec(0u8..3, 1..300), 0..=u64::MAX, 0..300),
        ) {
            let mut scratch = Scratch::new(&std::env::temp_dir()).unwrap();
            let records: Vec<_> = pieces.iter().map(|(piece, &count)| Record::new(piece, count)).collect();
            let places = [written(&mut scratch, &records), written(&mut scratch, &records)];
            for place in places {
                prop_assert_eq!(&read(&scratch, place).unwrap(), &records);
            }
        }
    }

    #[test]
    fn every_changed_byte_is_found() {
        let records: Vec<_> = (0..50u64).map(|n| Record::new(format!("piece {n:03}").as_bytes(), n << 30)).collect();
        let mut scratch = Scratch::new(&std::env::temp_dir()).unwrap();
        let place = written(&mut scratch, &records);
        let mut bytes = vec![0; place.end as usize];
        scratch.read(0, &mut bytes).unwrap();
        for at in 0..bytes.len() {
            let mut changed = Scratch::new(&std::env::temp_dir()).unwrap();
            bytes[at] ^= 1 << (at % 8);
            changed.append(&bytes).unwrap();
            bytes[at] ^= 1 << (at % 8);
            let error = read(&changed, place.clone()).unwrap_err();
            assert!(error.to_string().contains("read back"), "byte {at}: {error}");
        }
    }
}
