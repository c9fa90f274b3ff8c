//! Reading a body that may be damaged or hostile: every number is checked before it is used, and what is read at the end is
//! what the sums say.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use super::block::BlockReader;
use super::rows::Rows;
use super::writer::{Sums, add};
use crate::{Error, Result};

/// One file: where its body lies in it, and which column of the result each of its columns is.
#[derive(Clone, Debug)]
pub struct Input {
    /// The file.
    pub path: String,
    /// First byte of the first block, and the byte behind the sums.
    pub body: Range<u64>,
    /// Column of the result, by column of the file.
    pub columns: Vec<usize>,
}

struct Entry {
    offset: u64,
    length: u32,
    rows: u32,
}

/// The rows of a file, a block in memory at a time.
pub(super) struct FileRows<'a> {
    input: &'a Input,
    index: Vec<Entry>,
    next_block: usize,
    left: u32,
    block: BlockReader,
    row: Vec<u64>,
    pub sums: Sums,
    seen: Sums,
}

impl<'a> FileRows<'a> {
    pub fn open(input: &'a Input) -> Result<Self> {
        let columns = input.columns.len();
        let body = &input.body;
        let sums_at = body.end.checked_sub(Sums::length(columns)).filter(|at| *at >= body.start);
        let sums_at = sums_at.ok_or_else(|| corrupt(input, "it is too short for its sums"))?;
        let (sums, blocks) = Sums::decoded(&read_at(input, sums_at..body.end)?, columns);
        let bytes = blocks.checked_mul(16).filter(|bytes| *bytes <= sums_at - body.start);
        let index_at = sums_at - bytes.ok_or_else(|| corrupt(input, "it is too short for its index"))?;
        let index = decoded(&read_at(input, index_at..sums_at)?);
        let mut at = 0;
        for entry in &index {
            if entry.offset != at || entry.length == 0 || entry.rows == 0 {
                return Err(corrupt(input, "its index names no block of its own"));
            }
            at += u64::from(entry.length);
        }
        if at != index_at - body.start {
            return Err(corrupt(input, "its blocks do not end where its index begins"));
        }
        let (row, seen) = (vec![0; columns], Sums::new(columns));
        Ok(Self { input, index, next_block: 0, left: 0, block: BlockReader::default(), row, sums, seen })
    }

    fn load(&mut self) -> Result<()> {
        let entry = &self.index[self.next_block];
        let start = self.input.body.start + entry.offset;
        self.block.bytes = read_at(self.input, start..start + u64::from(entry.length))?;
        self.block.begin();
        self.left = entry.rows;
        self.next_block += 1;
        Ok(())
    }

    /// Checks, at the end, that all was seen.
    fn finished(&self) -> Result<bool> {
        if (self.seen.distinct, &self.seen.pieces) == (self.sums.distinct, &self.sums.pieces) {
            return Ok(false);
        }
        Err(corrupt(self.input, "its pieces do not add up to its sums"))
    }
}

impl Rows for FileRows<'_> {
    fn next(&mut self, piece: &mut Vec<u8>, row: &mut [u64]) -> Result<bool> {
        if self.left == 0 {
            if !self.block.done() {
                return Err(corrupt(self.input, "a block holds more rows than its index says"));
            }
            if self.next_block == self.index.len() {
                return self.finished();
            }
            self.load()?;
        }
        self.block.next(&mut self.row).ok_or_else(|| corrupt(self.input, "a block holds no sorted rows"))?;
        self.left -= 1;
        self.seen.distinct += 1;
        for (column, &count) in self.row.iter().enumerate() {
            add(&mut self.seen.pieces[column], count)?;
            add(&mut row[self.input.columns[column]], count)?;
        }
        piece.clear();
        piece.extend_from_slice(&self.block.piece);
        Ok(true)
    }
}

fn decoded(index: &[u8]) -> Vec<Entry> {
    let entries = index.as_chunks::<16>().0.iter();
    let number =
        |bytes: &[u8; 16], at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let entry = |bytes: &[u8; 16]| Entry {
        offset: u64::from(number(bytes, 0)) | u64::from(number(bytes, 4)) << 32,
        length: number(bytes, 8),
        rows: number(bytes, 12),
    };
    entries.map(entry).collect()
}

fn read_at(input: &Input, range: Range<u64>) -> Result<Vec<u8>> {
    let mut bytes = vec![0; (range.end - range.start) as usize];
    let read = File::open(&input.path).and_then(|mut file| {
        file.seek(SeekFrom::Start(range.start))?;
        file.read_exact(&mut bytes)
    });
    read.map_err(|error| Error::Io {
        path: input.path.clone(),
        action: "read",
        reason: error.to_string(),
        os_error: error.raw_os_error(),
    })?;
    Ok(bytes)
}

fn corrupt(input: &Input, reason: &str) -> Error {
    Error::CorruptCounts { path: input.path.clone(), reason: reason.to_owned() }
}
