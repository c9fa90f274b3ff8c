//! Counting in bounded memory: what one worker has written out as runs, and what all of them give in the end.
//!
//! A table that reaches its share of the memory is written as a sorted run and cleared. Merging adds the counts of equal
//! pieces, so the result is that of one large table, whatever the share. Peak: a table grows by copying, and its share holds
//! both copies; to be sorted it needs nothing. A single piece larger than the share is held all the same.

use std::path::{Path, PathBuf};

use super::merge::merge;
use super::pieces::Pieces;
use super::record::Source;
use super::run::{Place, RunReader, RunWriter};
use super::scratch::Scratch;
use super::table::CountTable;
use crate::Result;

/// As many runs are merged into one, so that a worker never has more: each takes a block of memory while it is read.
const MOST_RUNS: usize = 256;

/// How much memory the tables may take, and where to write what does not fit.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Bytes of all tables together.
    pub bytes: usize,
    /// Pieces in a table after which it is written out even if it fits; tests take few.
    pub pieces: usize,
    /// The folder for temporary files.
    pub folder: PathBuf,
}

impl Budget {
    /// `bytes` of memory, and temporary files in `folder`.
    #[must_use]
    pub fn new(bytes: usize, folder: impl Into<PathBuf>) -> Self {
        Self { bytes, pieces: usize::MAX, folder: folder.into() }
    }

    /// What one of `workers` gets.
    pub(super) fn share(&self, workers: usize) -> Self {
        Self { bytes: self.bytes / workers.max(1), ..self.clone() }
    }
}

/// What went to disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spills {
    /// Tables that were written.
    pub runs: u64,
    /// Bytes that were written, those of runs merged into larger ones included.
    pub bytes: u64,
}

impl std::ops::AddAssign for Spills {
    fn add_assign(&mut self, other: Self) {
        *self = Self { runs: self.runs + other.runs, bytes: self.bytes + other.bytes };
    }
}

/// The runs of one worker.
#[derive(Default)]
pub(super) struct Spilled {
    scratch: Option<Scratch>,
    runs: Vec<Place>,
    pub done: Spills,
}

impl Spilled {
    /// Writes `table` if `pieces` more of `bytes` bytes would take it beyond its share.
    #[inline]
    pub fn make_room(&mut self, table: &mut CountTable, share: &Budget, pieces: usize, bytes: usize) -> Result<()> {
        if table.distinct() < share.pieces && table.needs(pieces, bytes) <= share.bytes {
            return Ok(());
        }
        self.write(table, &share.folder)?;
        if table.needs(0, 0) > share.bytes {
            // Hostile text made it grow out of turn. It would be written over and over from now on.
            *table = CountTable::default();
        }
        Ok(())
    }

    /// Writes what `table` holds as a run, and clears it.
    #[cold]
    pub fn write(&mut self, table: &mut CountTable, folder: &Path) -> Result<()> {
        if table.distinct() == 0 {
            return Ok(());
        }
        let scratch = match &mut self.scratch {
            Some(scratch) => scratch,
            None => self.scratch.insert(Scratch::new(folder)?),
        };
        let mut writer = RunWriter::new(scratch);
        for record in table.sort() {
            writer.push(&record)?;
        }
        self.runs.push(writer.finish()?);
        table.clear();
        self.done += Spills { runs: 1, bytes: self.runs.last().map_or(0, |run| run.end - run.start) };
        if self.runs.len() == MOST_RUNS { self.join(folder) } else { Ok(()) }
    }

    /// Makes one run of all, in a new file; the old one, and the space that it took, are gone then.
    fn join(&mut self, folder: &Path) -> Result<()> {
        let mut joined = Scratch::new(folder)?;
        let mut writer = RunWriter::new(&mut joined);
        merge(self.sources().collect(), &mut |record| writer.push(record), &mut |_| Ok(()))?;
        self.runs = vec![writer.finish()?];
        self.done.bytes += joined.length();
        self.scratch = Some(joined);
        Ok(())
    }

    fn sources(&self) -> impl Iterator<Item = Box<dyn Source + '_>> {
        let runs = self.scratch.iter().flat_map(|scratch| self.runs.iter().map(move |run| (scratch, run.clone())));
        runs.map(|(scratch, run)| Box::new(RunReader::new(scratch, run)) as Box<dyn Source>)
    }

    pub fn any(&self) -> bool {
        !self.runs.is_empty()
    }
}

/// The sum of all tables and runs. `report` is called now and then.
///
/// Once something was spilled everything is: then the tables are gone before the result takes its place.
pub(super) fn gather(
    mut shares: Vec<(CountTable, Spilled)>,
    folder: Option<&Path>,
    report: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<(Pieces, Spills)> {
    let folder = folder.filter(|_| shares.iter().any(|(_, spilled)| spilled.any()));
    let settle = |(table, spilled): &mut (CountTable, Spilled)| -> Result<()> {
        match folder {
            Some(folder) => {
                spilled.write(table, folder)?;
                *table = CountTable::default();
            }
            None => {
                table.sort();
                table.pack();
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let (mine, others) = shares.split_at_mut(1);
        let handles: Vec<_> = others.iter_mut().map(|share| scope.spawn(|| settle(share))).collect();
        let mut outcomes: Vec<_> = mine.iter_mut().map(settle).collect();
        for handle in handles {
            outcomes.push(handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        outcomes.into_iter().collect::<Result<()>>()
    })?;
    let (mut pieces, mut spills) = (Pieces::default(), Spills::default());
    shares.iter().for_each(|(_, spilled)| spills += spilled.done);
    let tables = shares.iter().map(|(table, _)| Box::new(table.sorted()) as Box<dyn Source>);
    let sources = tables.chain(shares.iter().flat_map(|(_, spilled)| spilled.sources())).collect();
    let mut keep = |record: &_| {
        pieces.push(record);
        Ok(())
    };
    merge(sources, &mut keep, report)?;
    Ok((pieces, spills))
}
