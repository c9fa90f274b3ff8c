//! Counting in bounded memory: tables that exceed their budget are written to disk as sorted runs and merged at the end.
//!
//! Merging adds the counts of equal pieces, so the result equals that of one large table, whatever the budget. A table grows
//! by copying, and its budget covers both copies; sorting happens in place. A single piece larger than the budget is held in
//! memory nevertheless.
//!
//! A run is a sequence of blocks. A block has a header of 12 bytes, the length of its rows (u32) and their checksum (u64),
//! little-endian, and front-coded rows of one count each. The file is removed when the process ends, so it has no version.

use std::fs::{File, OpenOptions};
use std::io::{Error as IoError, ErrorKind, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::counts::SortedPieces;
use super::front_coding::{BlockReader, BlockWriter};
use super::sorted::{Record, Source, merge};
use super::table::CountTable;
use crate::byte_hash::{hash_bytes, random_seed};
use crate::threads::spawn;
use crate::{Error, Result};

/// A worker merges its runs into one when it has this many; each run needs one block of memory while it is read.
const MAX_RUNS: usize = 256;
/// A block is complete when it reaches this size, so it exceeds it by less than one row.
const BLOCK_BYTES: usize = 16 << 10;
const HEADER_BYTES: usize = 12;

/// Memory budget of the tables, and the folder for spilled runs.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Bytes for all tables together.
    pub bytes: usize,
    /// Distinct pieces per table; tests set a small number.
    pub max_pieces: usize,
    /// Folder for temporary files.
    pub folder: PathBuf,
}

impl Budget {
    /// A budget of `bytes`, with temporary files in `folder`.
    #[must_use]
    pub fn new(bytes: usize, folder: impl Into<PathBuf>) -> Self {
        Self { bytes, max_pieces: usize::MAX, folder: folder.into() }
    }

    /// The budget of one of `workers`.
    pub(super) fn share(&self, workers: usize) -> Self {
        Self { bytes: self.bytes / workers.max(1), ..self.clone() }
    }
}

/// Amount of data written to disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpillStats {
    /// Runs written.
    pub runs: u64,
    /// Bytes written, including runs that were merged again.
    pub bytes: u64,
}

impl std::ops::AddAssign for SpillStats {
    fn add_assign(&mut self, other: Self) {
        *self = Self { runs: self.runs + other.runs, bytes: self.bytes + other.bytes };
    }
}

/// The runs of one worker.
#[derive(Default)]
pub(super) struct SortedRuns {
    file: Option<TempFile>,
    runs: Vec<RunRange>,
    pub stats: SpillStats,
}

impl SortedRuns {
    /// Writes `table` to disk if `pieces` more pieces of `bytes` bytes in total could exceed `budget`.
    #[inline]
    pub fn reserve(&mut self, table: &mut CountTable, budget: &Budget, pieces: usize, bytes: usize) -> Result<()> {
        if table.distinct() < budget.max_pieces && table.bytes_needed(pieces, bytes) <= budget.bytes {
            return Ok(());
        }
        self.write(table, &budget.folder)?;
        if table.bytes_needed(0, 0) > budget.bytes {
            // Rehashing against hostile input can enlarge a table beyond its budget; keeping it would spill at every call.
            *table = CountTable::default();
        }
        Ok(())
    }

    /// Writes the entries of `table` as a run and clears the table.
    #[cold]
    pub fn write(&mut self, table: &mut CountTable, folder: &Path) -> Result<()> {
        if table.distinct() == 0 {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(TempFile::new(folder)?),
        };
        let mut writer = RunWriter::new(file);
        for record in table.sort() {
            writer.push(&record)?;
        }
        self.runs.push(writer.finish()?);
        table.clear();
        self.stats += SpillStats { runs: 1, bytes: self.runs.last().map_or(0, |run| run.end - run.start) };
        if self.runs.len() == MAX_RUNS { self.merge_runs(folder) } else { Ok(()) }
    }

    /// Merges all runs into one in a new file, and frees the old file.
    fn merge_runs(&mut self, folder: &Path) -> Result<()> {
        let mut merged = TempFile::new(folder)?;
        let mut writer = RunWriter::new(&mut merged);
        merge(self.sources().collect(), &mut |record| writer.push(record), &mut |_| Ok(()))?;
        self.runs = vec![writer.finish()?];
        self.stats.bytes += merged.length();
        self.file = Some(merged);
        Ok(())
    }

    fn sources(&self) -> impl Iterator<Item = Box<dyn Source + '_>> {
        let runs = self.file.iter().flat_map(|file| self.runs.iter().map(move |run| (file, run.clone())));
        runs.map(|(file, run)| Box::new(RunReader::new(file, run)) as Box<dyn Source>)
    }

    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
}

/// The sum of the tables and runs of all workers. `report` receives the number of merged records.
///
/// If anything was spilled, all tables are spilled first, so that they are freed before the result is built.
pub(super) fn merge_workers(
    mut workers: Vec<(CountTable, SortedRuns)>,
    folder: Option<&Path>,
    report: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<(SortedPieces, SpillStats)> {
    let folder = folder.filter(|_| workers.iter().any(|(_, runs)| !runs.is_empty()));
    let sort = |(table, runs): &mut (CountTable, SortedRuns)| -> Result<()> {
        match folder {
            Some(folder) => {
                runs.write(table, folder)?;
                *table = CountTable::default();
            }
            None => {
                table.sort();
                table.shrink();
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let (own, others) = workers.split_at_mut(1);
        let handles = others.iter_mut().map(|worker| spawn(scope, || sort(worker))).collect::<Result<Vec<_>>>()?;
        let mut outcomes: Vec<_> = own.iter_mut().map(sort).collect();
        for handle in handles {
            outcomes.push(handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        outcomes.into_iter().collect::<Result<()>>()
    })?;
    let (mut pieces, mut spills) = (SortedPieces::default(), SpillStats::default());
    workers.iter().for_each(|(_, runs)| spills += runs.stats);
    let tables = workers.iter().map(|(table, _)| Box::new(table.sorted()) as Box<dyn Source>);
    let sources = tables.chain(workers.iter().flat_map(|(_, runs)| runs.sources())).collect();
    merge(sources, &mut |record| pieces.push(record), report)?;
    Ok((pieces, spills))
}

/// Byte range of a run in its file.
type RunRange = Range<u64>;

/// Appends one run to a file.
struct RunWriter<'a> {
    file: &'a mut TempFile,
    start: u64,
    block: BlockWriter,
    piece: Vec<u8>,
}

impl<'a> RunWriter<'a> {
    fn new(file: &'a mut TempFile) -> Self {
        let start = file.length();
        Self { file, start, block: BlockWriter::new(HEADER_BYTES), piece: Vec::new() }
    }

    /// Appends a record that is greater than all before it.
    fn push(&mut self, record: &Record) -> Result<()> {
        self.piece.clear();
        record.append_to(&mut self.piece);
        self.block.push(&self.piece, &[record.count]);
        if self.block.bytes.len() >= BLOCK_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<RunRange> {
        self.flush()?;
        Ok(self.start..self.file.length())
    }

    fn flush(&mut self) -> Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let (header, rows) = self.block.bytes.split_at_mut(HEADER_BYTES);
        // Only a piece beyond 4 GiB makes a longer block; the trainer could not address it either.
        let length = u32::try_from(rows.len())
            .map_err(|_| Error::CorpusTooLarge { bytes: rows.len() as u64, limit: u64::from(u32::MAX) })?;
        header[..4].copy_from_slice(&length.to_le_bytes());
        header[4..].copy_from_slice(&hash_bytes(rows, 0).to_le_bytes());
        self.file.append(&self.block.bytes)?;
        self.block.clear();
        Ok(())
    }
}

/// Reads one run, one block in memory at a time.
struct RunReader<'a> {
    file: &'a TempFile,
    /// The blocks that are not read yet.
    rest: RunRange,
    block: BlockReader,
}

impl<'a> RunReader<'a> {
    fn new(file: &'a TempFile, run: RunRange) -> Self {
        Self { file, rest: run, block: BlockReader::default() }
    }

    fn load_block(&mut self) -> Result<()> {
        let mut header = [0; HEADER_BYTES];
        self.file.read(self.rest.start, &mut header)?;
        let length = header.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let checksum = header.last_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let end = self.rest.start + HEADER_BYTES as u64 + u64::from(length);
        if length == 0 || end > self.rest.end {
            return Err(self.corrupt());
        }
        self.block.bytes.resize(length as usize, 0);
        self.file.read(self.rest.start + HEADER_BYTES as u64, &mut self.block.bytes)?;
        if hash_bytes(&self.block.bytes, 0) != checksum {
            return Err(self.corrupt());
        }
        self.rest.start = end;
        self.block.rewind();
        Ok(())
    }

    fn corrupt(&self) -> Error {
        self.file.read_error(&IoError::new(ErrorKind::InvalidData, "the checksum of a block does not match"))
    }
}

impl Source for RunReader<'_> {
    fn next(&mut self) -> Result<Option<Record>> {
        if self.block.is_done() {
            if self.rest.is_empty() {
                return Ok(None);
            }
            self.load_block()?;
        }
        let mut count = [0];
        self.block.next(&mut count).ok_or_else(|| self.corrupt())?;
        Ok(Some(Record::new(&self.block.piece, count[0])))
    }
}

/// An append-only temporary file. On Unix it is unlinked at creation, so that nothing remains however the process ends;
/// elsewhere it is removed on drop.
#[derive(Debug)]
struct TempFile {
    file: File,
    folder: PathBuf,
    length: u64,
    /// Path to remove on drop, where the file could not be unlinked.
    path: Option<PathBuf>,
}

impl TempFile {
    /// Creates a file in `folder` that only the owner can read, because it contains text of the corpus.
    fn new(folder: &Path) -> Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let fail = |error| failure(folder, 0, "create a temporary file in", &error);
        loop {
            let path = folder.join(format!(".slmtok-{}-{:016x}.counts", std::process::id(), random_seed()));
            match options.open(&path) {
                Ok(file) => {
                    let path = std::fs::remove_file(&path).is_err().then_some(path);
                    return Ok(Self { file, folder: folder.to_owned(), length: 0, path });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(fail(error)),
            }
        }
    }

    fn length(&self) -> u64 {
        self.length
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| {
            failure(&self.folder, self.length + bytes.len() as u64, "write a temporary file in", &error)
        })?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        read_exact_at(&self.file, at, into).map_err(|error| self.read_error(&error))
    }

    fn read_error(&self, error: &std::io::Error) -> Error {
        failure(&self.folder, self.length, "read back a temporary file in", error)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // `drop` cannot report a failure.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn failure(folder: &Path, bytes: u64, action: &'static str, error: &std::io::Error) -> Error {
    let folder = folder.to_string_lossy().into_owned();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Error::NoSpace { folder, bytes },
        _ => Error::Io { path: folder, action, reason: error.to_string(), os_error: error.raw_os_error() },
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, at: u64, into: &mut [u8]) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, at)
}

/// Moves the file cursor, which is safe because all writes precede the first read.
#[cfg(not(unix))]
fn read_exact_at(mut file: &File, at: u64, into: &mut [u8]) -> std::io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};

    file.seek(SeekFrom::Start(at))?;
    file.read_exact(into)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(file: &TempFile, run: RunRange) -> Result<Vec<Record>> {
        let mut reader = RunReader::new(file, run);
        let mut all = Vec::new();
        while let Some(record) = reader.next()? {
            all.push(record);
        }
        Ok(all)
    }

    fn write(file: &mut TempFile, records: &[Record]) -> RunRange {
        let mut writer = RunWriter::new(file);
        records.iter().for_each(|record| writer.push(record).unwrap());
        writer.finish().unwrap()
    }

    proptest! {
        #[test]
        fn runs_round_trip(
            pieces in prop::collection::btree_map(prop::collection::vec(0u8..3, 1..300), 0..=u64::MAX, 0..300),
        ) {
            let mut file = TempFile::new(&std::env::temp_dir()).unwrap();
            let records: Vec<_> = pieces.iter().map(|(piece, &count)| Record::new(piece, count)).collect();
            let runs = [write(&mut file, &records), write(&mut file, &records)];
            for run in runs {
                prop_assert_eq!(&read(&file, run).unwrap(), &records);
            }
        }
    }

    #[test]
    fn every_changed_byte_is_detected() {
        let records: Vec<_> = (0..50u64).map(|n| Record::new(format!("piece {n:03}").as_bytes(), n << 30)).collect();
        let mut file = TempFile::new(&std::env::temp_dir()).unwrap();
        let run = write(&mut file, &records);
        let mut bytes = vec![0; run.end as usize];
        file.read(0, &mut bytes).unwrap();
        for at in 0..bytes.len() {
            let mut changed = TempFile::new(&std::env::temp_dir()).unwrap();
            bytes[at] ^= 1 << (at % 8);
            changed.append(&bytes).unwrap();
            bytes[at] ^= 1 << (at % 8);
            let error = read(&changed, run.clone()).unwrap_err();
            assert!(error.to_string().contains("read back"), "byte {at}: {error}");
        }
    }

    #[test]
    fn the_file_has_no_name_and_its_errors_name_the_folder() {
        let folder = std::env::temp_dir().join(format!("slmtok-scratch-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut file = TempFile::new(&folder).unwrap();
        file.append(b"hello ").unwrap();
        file.append(b"world").unwrap();
        let names = || std::fs::read_dir(&folder).unwrap().count();
        // Windows removes the name of an open file at once or when it is closed, depending on its version.
        assert!(names() <= usize::from(cfg!(not(unix))));
        let mut back = [0; 5];
        file.read(4, &mut back).unwrap();
        assert_eq!((&back, file.length()), (b"o wor", 11));
        assert!(file.read(8, &mut back).unwrap_err().to_string().contains("read back"));
        drop(file);
        assert_eq!(names(), 0);
        std::fs::remove_dir(&folder).unwrap();
        let error = TempFile::new(&folder).unwrap_err();
        assert!(matches!(&error, Error::Io { action: "create a temporary file in", .. }), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_reported() {
        let file = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut file = TempFile { file, folder: "/dev".into(), length: 70, path: None };
        let error = file.append(b"0123456789").unwrap_err();
        assert_eq!(error, Error::NoSpace { folder: "/dev".to_owned(), bytes: 80 });
    }
}
