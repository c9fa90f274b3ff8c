//! The documents of one file, for any number of threads.

use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use memchr::memchr_iter;

use super::documents::Documents;
use super::packed::{Packing, failure, open, unpacked};
use super::place::Place;
use super::record;
use super::units::{UNIT_BYTES, Unit, Units};
use crate::Result;

/// What the lines of a file are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Documents, without their line feeds.
    Lines,
    /// JSON objects: the field `key` is the document. Lines of white space alone are no records.
    Records {
        /// Name of the field, in UTF-8.
        key: Vec<u8>,
    },
}

/// Decides about a line that is not plainly a record, given with its line feed and its number: the document in it, nothing
/// to leave it out, or an error.
pub type Judge<'a> = &'a mut dyn FnMut(&[u8], u64) -> Result<Option<Vec<u8>>>;

/// Gives out the documents of a file, unit by unit.
pub struct Reader {
    units: Mutex<Units>,
    kind: Kind,
    /// The first unit that is given out.
    first: u64,
    taken: Arc<AtomicU64>,
    /// Memory of units that are done.
    buffers: Mutex<Vec<Vec<u8>>>,
}

/// Buffers of unusual lines are not kept.
const KEPT_BYTES: usize = 4 * UNIT_BYTES;

impl Reader {
    /// The documents of the file at `path`, in units of about `size` bytes from a place on that a [`Documents`] gave.
    ///
    /// # Errors
    /// A file that cannot be opened.
    pub fn open(path: &str, packing: Packing, kind: Kind, size: usize, start: Place) -> Result<Self> {
        let taken = Arc::default();
        let source = open(path, packing, &taken, start.border)?;
        let units = Units::new(source, path.to_owned(), size, start);
        Ok(Self { units: Mutex::new(units), kind, first: 0, taken, buffers: Mutex::default() })
    }

    /// The same of a stream, which errors call `name` and which stands at its beginning.
    ///
    /// # Errors
    /// Memory that is not to be had.
    pub fn stream(
        source: impl Read + Send + 'static,
        name: &str,
        packing: Packing,
        kind: Kind,
        size: usize,
        start: Place,
    ) -> Result<Self> {
        let taken = Arc::default();
        let start = start.from_the_start();
        let source = unpacked(source, packing, &taken, start.border).map_err(|error| failure(name, "read", &error))?;
        let units = Mutex::new(Units::new(source, name.to_owned(), size, start));
        Ok(Self { units, kind, first: 0, taken, buffers: Mutex::default() })
    }

    /// The same from unit number `first` on: those before are unpacked and passed over, since nobody knows where it begins.
    #[must_use]
    pub fn from_unit(self, first: u64) -> Self {
        Self { first, ..self }
    }

    /// The documents of the next unit; nothing after the last. Threads that call it at the same time get different units.
    ///
    /// # Errors
    /// Bytes that do not come, or what `judge` returns.
    pub fn next(&self, judge: Judge<'_>) -> Result<Option<Documents>> {
        loop {
            let buffer = self.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
            let unit = self.units.lock().unwrap_or_else(PoisonError::into_inner).next(buffer)?;
            let Some(unit) = unit else { return Ok(None) };
            let documents = (unit.number >= self.first).then(|| self.parse(&unit, judge)).transpose()?;
            let buffer = unit.into_buffer();
            if buffer.len() <= KEPT_BYTES {
                self.buffers.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
            }
            if documents.is_some() {
                return Ok(documents);
            }
        }
    }

    /// Bytes of the file that have been read, packed as they are.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    fn parse(&self, unit: &Unit, judge: Judge<'_>) -> Result<Documents> {
        let text = unit.text();
        let mut documents = Documents::with_room(unit.number, text.len());
        (documents.begin, documents.behind) = (unit.begin, unit.behind);
        let mut start = 0;
        let ends = memchr_iter(b'\n', text).map(|at| at + 1);
        let open_end = (!text.ends_with(b"\n")).then_some(text.len());
        for (number, end) in (unit.begin.line..).zip(ends.chain(open_end)) {
            let line = &text[start..end];
            start = end;
            match &self.kind {
                Kind::Lines => documents.push(line.strip_suffix(b"\n").unwrap_or(line), number),
                Kind::Records { key } => add_record(&mut documents, line, number, key, judge)?,
            }
        }
        Ok(documents)
    }
}

fn add_record(documents: &mut Documents, line: &[u8], number: u64, key: &[u8], judge: Judge<'_>) -> Result<()> {
    if line.iter().all(|byte| matches!(byte, b' ' | 9..=13)) {
        return Ok(());
    }
    let before = documents.bytes.len();
    if record::text(line, key, &mut documents.bytes) {
        documents.close(number);
        return Ok(());
    }
    documents.bytes.truncate(before);
    match judge(line, number)? {
        Some(text) => documents.push(&text, number),
        None => documents.skips.push(documents.len()),
    }
    Ok(())
}
