//! The body of a counts file: sorted blocks of pieces with one count per domain, an index of the blocks, and sums.
//!
//! docs/formats/counts.md specifies it byte for byte. The caller owns the head, the digests and the file itself: the body is
//! written through a callback and read by path and byte range. All operations stream, so merging needs the memory of one
//! block per file. No file stays open between two blocks.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use super::counts::{PiecesIter, SortedPieces};
use super::front_coding::{BlockReader, BlockWriter};
use super::table::OVERFLOW;
use super::{Counts, Totals};
use crate::pretoken::Pattern;
use crate::{Error, Result, interrupt};

/// A block is complete when it reaches this size, so it exceeds it by less than one row.
const BLOCK_BYTES: usize = 64 << 10;
/// Bytes of an index entry: offset (u64), length (u32), rows (u32).
const INDEX_ENTRY_BYTES: u64 = 16;

const TOO_MANY_PIECES: Error = Error::CountOverflow { what: "the number of pieces" };

/// Receives the bytes of a body, block by block.
pub type Sink<'a> = &'a mut dyn FnMut(&[u8]) -> Result<()>;

/// One input file: where its body lies, and which column of the result each of its columns is.
#[derive(Clone, Debug)]
pub struct Input {
    /// Path of the file.
    pub path: String,
    /// Byte range from the first block to the end of the sums.
    pub body: Range<u64>,
    /// Column of the result, by column of the file.
    pub columns: Vec<usize>,
}

/// Writes in-memory counts, one column for each of `domains`.
///
/// # Errors
/// Sums that exceed 64 bits, and errors of `sink`.
pub fn write(domains: &[&Counts], sink: Sink<'_>) -> Result<Sums> {
    let columns = domains.iter().enumerate();
    let sources = columns.map(|(at, counts)| Box::new(PieceRows::new(&counts.pieces, at, 1)) as Box<dyn Rows>);
    let mut writer = Writer::new(domains.len(), 0, sink);
    merge(sources.collect(), domains.len(), &mut |piece, row| writer.push(piece, row))?;
    writer.finish()
}

/// Merges files into one of `domains` columns. Pieces whose total over all domains is below `min_count` are pruned, and the
/// sums record how many.
///
/// # Errors
/// A file that cannot be read or contradicts its sums, sums that exceed 64 bits, and errors of `sink`.
pub fn merge_files(inputs: &[Input], domains: usize, min_count: u64, sink: Sink<'_>) -> Result<Sums> {
    let mut writer = Writer::new(domains, min_count, sink);
    let mut sources: Vec<Box<dyn Rows>> = Vec::with_capacity(inputs.len());
    for input in inputs {
        let rows = FileRows::open(input)?;
        writer.sums.add_pruned(&rows.sums, &input.columns)?;
        sources.push(Box::new(rows));
    }
    merge(sources, domains, &mut |piece, row| writer.push(piece, row))?;
    writer.finish()
}

/// Reads the sum of files into memory: the counts of each of `domains` columns.
///
/// # Errors
/// As [`merge_files`]; [`Error::NoMemory`] where the pieces take more than `max_bytes`, of which the size of a file says
/// nothing: a row of 8 bytes adds a byte to the piece before it. Interruption.
pub fn read(inputs: &[Input], domains: usize, pattern: &Pattern, max_bytes: u64) -> Result<Vec<Counts>> {
    let mut sources: Vec<Box<dyn Rows>> = Vec::with_capacity(inputs.len());
    for input in inputs {
        sources.push(Box::new(FileRows::open(input)?));
    }
    let mut columns: Vec<(SortedPieces, u64)> = (0..domains).map(|_| (SortedPieces::default(), 0)).collect();
    let mut held = 0;
    merge(sources, domains, &mut |piece, row| {
        interrupt::check()?;
        for (&count, (pieces, sum)) in row.iter().zip(&mut columns) {
            if count > 0 {
                held += SortedPieces::bytes_of(piece);
                if held > max_bytes {
                    return Err(Error::NoMemory { bytes: held });
                }
                pieces.push_piece(piece, count)?;
                add(sum, count)?;
            }
        }
        Ok(())
    })?;
    Ok(columns.into_iter().map(|(pieces, sum)| counts_of(pattern, pieces, sum)).collect())
}

/// The weighted sum of counts. Of its totals only the number of pieces is set.
///
/// # Errors
/// A sum that exceeds 64 bits.
pub fn weighted(pattern: &Pattern, parts: &[(&Counts, u64)]) -> Result<Counts> {
    let sources = parts.iter().filter(|(_, weight)| *weight > 0);
    let sources = sources.map(|(counts, weight)| Box::new(PieceRows::new(&counts.pieces, 0, *weight)) as Box<dyn Rows>);
    let (mut pieces, mut sum) = (SortedPieces::default(), 0);
    merge(sources.collect(), 1, &mut |piece, row| {
        pieces.push_piece(piece, row[0])?;
        add(&mut sum, row[0])
    })?;
    Ok(counts_of(pattern, pieces, sum))
}

fn counts_of(pattern: &Pattern, pieces: SortedPieces, sum: u64) -> Counts {
    Counts::from_sorted(pattern.clone(), Totals { pieces: sum, ..Totals::default() }, pieces)
}

/// Adds piece counts; fails beyond 64 bits.
fn add(sum: &mut u64, more: u64) -> Result<()> {
    *sum = sum.checked_add(more).ok_or(TOO_MANY_PIECES)?;
    Ok(())
}

/// A source of rows with ascending, distinct pieces.
trait Rows {
    /// Reads the next piece and adds its counts to `row`, which is all zeros and indexed by column of the result. Returns
    /// false at the end.
    fn next(&mut self, piece: &mut Vec<u8>, row: &mut [u64]) -> Result<bool>;
}

/// In-memory counts as one column.
struct PieceRows<'a> {
    pieces: PiecesIter<'a>,
    column: usize,
    weight: u64,
}

impl<'a> PieceRows<'a> {
    fn new(pieces: &'a SortedPieces, column: usize, weight: u64) -> Self {
        Self { pieces: pieces.iter(), column, weight }
    }
}

impl Rows for PieceRows<'_> {
    fn next(&mut self, piece: &mut Vec<u8>, row: &mut [u64]) -> Result<bool> {
        let Some(count) = self.pieces.next_into(piece) else { return Ok(false) };
        row[self.column] = count.checked_mul(self.weight).ok_or(OVERFLOW)?;
        Ok(true)
    }
}

/// The current row of one source, ordered by piece.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    piece: Vec<u8>,
    source: usize,
    row: Vec<u64>,
}

/// Receives a piece and its row.
type RowSink<'a> = &'a mut dyn FnMut(&[u8], &[u64]) -> Result<()>;

/// K-way merge: passes every distinct piece of `sources` to `out`, in ascending order, with the sums of its counts.
fn merge(mut sources: Vec<Box<dyn Rows + '_>>, columns: usize, out: RowSink<'_>) -> Result<()> {
    let mut heap = BinaryHeap::with_capacity(sources.len());
    for (source, rows) in sources.iter_mut().enumerate() {
        let mut head = Head { piece: Vec::new(), source, row: vec![0; columns] };
        if rows.next(&mut head.piece, &mut head.row)? {
            heap.push(Reverse(head));
        }
    }
    let (mut piece, mut sum) = (Vec::new(), vec![0_u64; columns]);
    while let Some(mut top) = heap.peek_mut() {
        let Reverse(head) = &mut *top;
        if head.piece == piece {
            for (sum, count) in sum.iter_mut().zip(&head.row) {
                *sum = sum.checked_add(*count).ok_or(OVERFLOW)?;
            }
        } else {
            if !piece.is_empty() {
                out(&piece, &sum)?;
            }
            std::mem::swap(&mut piece, &mut head.piece);
            sum.copy_from_slice(&head.row);
        }
        head.row.fill(0);
        if !sources[head.source].next(&mut head.piece, &mut head.row)? {
            PeekMut::pop(top);
        }
    }
    if piece.is_empty() { Ok(()) } else { out(&piece, &sum) }
}

/// The sums after the index: contents of the file, and what pruning removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Distinct pieces.
    pub distinct: u64,
    /// Occurrences, by column.
    pub pieces: Vec<u64>,
    /// Distinct pieces that pruning removed. A piece that was pruned from several merged files counts once for each.
    pub pruned_distinct: u64,
    /// Their occurrences, by column.
    pub pruned_pieces: Vec<u64>,
}

impl Sums {
    /// Zeros for `columns` columns.
    #[must_use]
    pub fn new(columns: usize) -> Self {
        Self { pieces: vec![0; columns], pruned_pieces: vec![0; columns], ..Self::default() }
    }

    /// Adds the pruned sums of a file whose column i is column `columns[i]` here.
    fn add_pruned(&mut self, other: &Self, columns: &[usize]) -> Result<()> {
        add(&mut self.pruned_distinct, other.pruned_distinct)?;
        for (&column, &pieces) in columns.iter().zip(&other.pruned_pieces) {
            add(&mut self.pruned_pieces[column], pieces)?;
        }
        Ok(())
    }

    /// Little-endian u64 in field order, then the number of blocks.
    fn encode(&self, blocks: u64) -> Vec<u8> {
        let kept = [self.distinct].into_iter().chain(self.pieces.iter().copied());
        let pruned = [self.pruned_distinct].into_iter().chain(self.pruned_pieces.iter().copied());
        kept.chain(pruned).chain([blocks]).flat_map(u64::to_le_bytes).collect()
    }

    /// Inverse of [`Sums::encode`] for [`Sums::encoded_len`] bytes: sums and number of blocks.
    fn decode(bytes: &[u8], columns: usize) -> (Self, u64) {
        let numbers: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|number| u64::from_le_bytes(*number)).collect();
        let pruned = columns + 1;
        let sums = Self {
            distinct: numbers[0],
            pieces: numbers[1..pruned].to_vec(),
            pruned_distinct: numbers[pruned],
            pruned_pieces: numbers[pruned + 1..=pruned + columns].to_vec(),
        };
        (sums, numbers[pruned + columns + 1])
    }

    fn encoded_len(columns: usize) -> u64 {
        8 * (2 * columns as u64 + 3)
    }
}

/// Writes a body: rows in ascending order in, bytes out.
struct Writer<'a> {
    min_count: u64,
    sink: Sink<'a>,
    block: BlockWriter,
    block_rows: u32,
    index: Vec<u8>,
    offset: u64,
    sums: Sums,
}

impl<'a> Writer<'a> {
    fn new(columns: usize, min_count: u64, sink: Sink<'a>) -> Self {
        let block = BlockWriter::new(0);
        Self { min_count, sink, block, block_rows: 0, index: Vec::new(), offset: 0, sums: Sums::new(columns) }
    }

    /// Adds or prunes the row of a piece that is greater than all before it.
    fn push(&mut self, piece: &[u8], row: &[u64]) -> Result<()> {
        let mut total = 0;
        row.iter().try_for_each(|&count| add(&mut total, count))?;
        let kept = total >= self.min_count;
        let (distinct, sums) = if kept {
            (&mut self.sums.distinct, &mut self.sums.pieces)
        } else {
            (&mut self.sums.pruned_distinct, &mut self.sums.pruned_pieces)
        };
        add(distinct, 1)?;
        sums.iter_mut().zip(row).try_for_each(|(sum, &count)| add(sum, count))?;
        if kept {
            self.block.push(piece, row);
            self.block_rows += 1;
            if self.block.bytes.len() >= BLOCK_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let bytes = self.block.bytes.len() as u64;
        // Only a piece beyond 4 GiB makes a longer block; the trainer could not address it either.
        let length = u32::try_from(bytes).map_err(|_| Error::CorpusTooLarge { bytes, limit: u64::from(u32::MAX) })?;
        self.index.extend(self.offset.to_le_bytes());
        self.index.extend(length.to_le_bytes());
        self.index.extend(self.block_rows.to_le_bytes());
        (self.sink)(&self.block.bytes)?;
        self.offset += bytes;
        self.block.clear();
        self.block_rows = 0;
        Ok(())
    }

    /// Writes the last block, the index and the sums.
    fn finish(mut self) -> Result<Sums> {
        self.flush()?;
        (self.sink)(&self.index)?;
        (self.sink)(&self.sums.encode(self.index.len() as u64 / INDEX_ENTRY_BYTES))?;
        Ok(self.sums)
    }
}

struct IndexEntry {
    offset: u64,
    length: u32,
    rows: u32,
}

/// The rows of a file, one block in memory at a time. The file may be damaged or hostile: every number is checked before
/// use, and the rows must add up to the sums.
struct FileRows<'a> {
    input: &'a Input,
    index: Vec<IndexEntry>,
    next_block: usize,
    rows_left: u32,
    block: BlockReader,
    row: Vec<u64>,
    sums: Sums,
    read: Sums,
}

impl<'a> FileRows<'a> {
    fn open(input: &'a Input) -> Result<Self> {
        let columns = input.columns.len();
        let body = &input.body;
        let sums_at = body.end.checked_sub(Sums::encoded_len(columns)).filter(|at| *at >= body.start);
        let sums_at = sums_at.ok_or_else(|| corrupt(input, "it is too short for its sums"))?;
        let (sums, blocks) = Sums::decode(&read_at(input, sums_at..body.end)?, columns);
        let bytes = blocks.checked_mul(INDEX_ENTRY_BYTES).filter(|bytes| *bytes <= sums_at - body.start);
        let index_at = sums_at - bytes.ok_or_else(|| corrupt(input, "it is too short for its index"))?;
        let index = decode_index(&read_at(input, index_at..sums_at)?);
        let mut at = 0;
        for entry in &index {
            if entry.offset != at || entry.length == 0 || entry.rows == 0 {
                return Err(corrupt(input, "its index entries are not consecutive blocks"));
            }
            at += u64::from(entry.length);
        }
        if at != index_at - body.start {
            return Err(corrupt(input, "its blocks do not end where its index begins"));
        }
        let (row, read) = (vec![0; columns], Sums::new(columns));
        Ok(Self { input, index, next_block: 0, rows_left: 0, block: BlockReader::default(), row, sums, read })
    }

    fn load_block(&mut self) -> Result<()> {
        let entry = &self.index[self.next_block];
        let start = self.input.body.start + entry.offset;
        self.block.bytes = read_at(self.input, start..start + u64::from(entry.length))?;
        self.block.rewind();
        self.rows_left = entry.rows;
        self.next_block += 1;
        Ok(())
    }

    fn check_sums(&self) -> Result<()> {
        if (self.read.distinct, &self.read.pieces) == (self.sums.distinct, &self.sums.pieces) {
            return Ok(());
        }
        Err(corrupt(self.input, "its pieces do not add up to its sums"))
    }
}

impl Rows for FileRows<'_> {
    fn next(&mut self, piece: &mut Vec<u8>, row: &mut [u64]) -> Result<bool> {
        if self.rows_left == 0 {
            if !self.block.is_done() {
                return Err(corrupt(self.input, "a block holds more rows than its index entry says"));
            }
            if self.next_block == self.index.len() {
                return self.check_sums().map(|()| false);
            }
            self.load_block()?;
        }
        let valid = self.block.next(&mut self.row).filter(|()| self.row.iter().any(|&count| count > 0));
        valid.ok_or_else(|| corrupt(self.input, "a block does not hold sorted rows"))?;
        self.rows_left -= 1;
        self.read.distinct += 1;
        for (column, &count) in self.row.iter().enumerate() {
            add(&mut self.read.pieces[column], count)?;
            add(&mut row[self.input.columns[column]], count)?;
        }
        piece.clear();
        piece.extend_from_slice(&self.block.piece);
        Ok(true)
    }
}

fn decode_index(index: &[u8]) -> Vec<IndexEntry> {
    let number =
        |bytes: &[u8; 16], at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let entry = |bytes: &[u8; 16]| IndexEntry {
        offset: u64::from(number(bytes, 0)) | u64::from(number(bytes, 4)) << 32,
        length: number(bytes, 8),
        rows: number(bytes, 12),
    };
    index.as_chunks::<16>().0.iter().map(entry).collect()
}

fn read_at(input: &Input, range: Range<u64>) -> Result<Vec<u8>> {
    let length = usize::try_from(range.end - range.start).map_err(|_| corrupt(input, "a block exceeds the memory"))?;
    let mut bytes = vec![0; length];
    let read = File::open(&input.path).and_then(|mut file| {
        file.seek(SeekFrom::Start(range.start))?;
        file.read_exact(&mut bytes)
    });
    read.map_err(|error| Error::io(&input.path, "read", &error))?;
    Ok(bytes)
}

fn corrupt(input: &Input, reason: &str) -> Error {
    Error::CorruptCounts { path: input.path.clone(), reason: reason.to_owned() }
}
