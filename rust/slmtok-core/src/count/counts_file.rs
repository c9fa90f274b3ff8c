//! The body of a counts file: sorted blocks of pieces with one count for each domain, their index, and the sums.
//!
//! docs/formats/counts.md specifies it byte for byte. The head before it, the digests behind it and the file as such belong
//! to the caller: bytes go out through a function, block by block, and come in by path and place. All of it is done as
//! streams, so that files of any size are merged in the memory of one block each; nothing stays open between two blocks.

mod block;
mod reader;
mod rows;
mod writer;

pub use reader::Input;
pub use writer::Sums;

use super::Counts;
use super::pieces::Pieces;
use crate::count::Totals;
use crate::pretoken::Pattern;
use crate::{Error, Result};
use reader::FileRows;
use rows::{PieceRows, Rows, merge};
use writer::Writer;

/// Takes the bytes of a body, some at a time.
pub type Sink<'a> = &'a mut dyn FnMut(&[u8]) -> Result<()>;

/// Writes counts that are in memory: one column for each of `domains`.
///
/// # Errors
/// Sums that exceed 64 bits, and what `sink` returns.
pub fn write(domains: &[&Counts], sink: Sink<'_>) -> Result<Sums> {
    let columns = domains.iter().enumerate();
    let sources = columns.map(|(at, counts)| Box::new(PieceRows::new(&counts.pieces, at, 1)) as Box<dyn Rows>);
    let mut writer = Writer::new(domains.len(), 0, sink);
    merge(sources.collect(), domains.len(), &mut |piece, row| writer.push(piece, row))?;
    writer.finish()
}

/// Merges files into one of `domains` columns. Pieces that occur less often than `least` in all domains together are left
/// out, and their number goes into the sums.
///
/// # Errors
/// A file that cannot be read or is not what its sums say, sums that exceed 64 bits, and what `sink` returns.
pub fn merge_files(inputs: &[Input], domains: usize, least: u64, sink: Sink<'_>) -> Result<Sums> {
    let mut writer = Writer::new(domains, least, sink);
    let mut pruned = Sums::new(domains);
    let mut sources: Vec<Box<dyn Rows>> = Vec::with_capacity(inputs.len());
    for input in inputs {
        let rows = FileRows::open(input)?;
        pruned.add_pruned(&rows.sums, &input.columns)?;
        sources.push(Box::new(rows));
    }
    writer.sums = pruned;
    merge(sources, domains, &mut |piece, row| writer.push(piece, row))?;
    writer.finish()
}

/// Reads files into memory, added up: the counts of each of `domains` columns.
///
/// # Errors
/// As [`merge_files`].
pub fn read(inputs: &[Input], domains: usize, pattern: &Pattern) -> Result<Vec<Counts>> {
    let mut sources: Vec<Box<dyn Rows>> = Vec::with_capacity(inputs.len());
    for input in inputs {
        sources.push(Box::new(FileRows::open(input)?));
    }
    let mut columns: Vec<(Pieces, u64)> = (0..domains).map(|_| (Pieces::default(), 0)).collect();
    merge(sources, domains, &mut |piece, row| {
        for (&count, (pieces, sum)) in row.iter().zip(&mut columns) {
            if count > 0 {
                pieces.push_piece(piece, count);
                *sum = sum.checked_add(count).ok_or(TOO_MANY)?;
            }
        }
        Ok(())
    })?;
    let made = |(pieces, sum)| Counts::of_pieces(pattern.clone(), Totals { pieces: sum, ..Totals::default() }, pieces);
    Ok(columns.into_iter().map(made).collect())
}

/// The sum of counts, each times its weight. Totals besides the number of pieces are those of nothing.
///
/// # Errors
/// A sum that exceeds 64 bits.
pub fn weighted(pattern: &Pattern, parts: &[(&Counts, u64)]) -> Result<Counts> {
    let sources = parts.iter().filter(|(_, weight)| *weight > 0);
    let sources = sources.map(|(counts, weight)| Box::new(PieceRows::new(&counts.pieces, 0, *weight)) as Box<dyn Rows>);
    let (mut pieces, mut sum) = (Pieces::default(), 0u64);
    merge(sources.collect(), 1, &mut |piece, row| {
        pieces.push_piece(piece, row[0]);
        sum = sum.checked_add(row[0]).ok_or(TOO_MANY)?;
        Ok(())
    })?;
    Ok(Counts::of_pieces(pattern.clone(), Totals { pieces: sum, ..Totals::default() }, pieces))
}

const TOO_MANY: Error = Error::CountOverflow { what: "the number of pieces" };
