//! Places in a packed file: where a unit begins, and from where its bytes can be unpacked.

use std::io;

use super::packed::{Source, failure};
use crate::{Error, Result};

/// A place in a file from which unpacking can begin. The start of a file is one; so is the start of each frame of
/// Zstandard and of each member of gzip, and any byte of what is not packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Border {
    /// Bytes of the file before it.
    pub packed: u64,
    /// What they unpack to, in bytes.
    pub unpacked: u64,
}

/// The start of a line, and the way to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Unpacked bytes before it.
    pub offset: u64,
    /// Number of the line that begins here, counted from 1.
    pub line: u64,
    /// A border at or before it: what lies between has to be unpacked to get here.
    pub border: Border,
}

impl Place {
    /// The start of a file.
    pub const START: Self = Self { offset: 0, line: 1, border: Border { packed: 0, unpacked: 0 } };

    /// The same place for those who cannot leap, and begin at the start of the file.
    #[must_use]
    pub fn from_the_start(self) -> Self {
        Self { border: Border::default(), ..self }
    }
}

/// The borders that may be wanted: the last one at or before a place that only moves forward, and all behind that.
pub(super) struct Borders {
    /// Ascending, never empty.
    known: Vec<Border>,
}

impl Borders {
    pub(super) fn new(first: Border) -> Self {
        Self { known: vec![first] }
    }

    /// Adds one. Places before `least` will not be asked for, so of the borders up to there the last is enough.
    pub(super) fn add(&mut self, border: Border, least: u64) {
        match self.known.last_mut() {
            Some(last) if last.packed == border.packed => {}
            Some(last) if border.unpacked <= least => *last = border,
            _ => self.known.push(border),
        }
    }

    /// The last one at or before `offset`; those before it are forgotten.
    pub(super) fn up_to(&mut self, offset: u64) -> Border {
        let behind = self.known.partition_point(|border| border.unpacked <= offset);
        self.known.drain(..behind.saturating_sub(1));
        self.known[0]
    }
}

/// Bytes that are unpacked at once only to be dropped: they stay in the processor's cache.
const DROPPED: usize = 1 << 17;

/// Drops the next bytes of a source; `left` is how many, and tells how many are left where that fails.
///
/// # Errors
/// Bytes that do not come, or are not there.
pub(super) fn drop_bytes(source: &mut dyn Source, path: &str, left: &mut u64) -> Result<()> {
    let mut room = vec![0; DROPPED];
    while *left > 0 {
        let wanted = usize::try_from(*left).map_or(DROPPED, |left| left.min(DROPPED));
        match source.read(&mut room[..wanted]) {
            Ok(0) => {
                let reason = Some("it is shorter than it was before".to_owned());
                return Err(Error::Damaged { path: path.to_owned(), reason });
            }
            Ok(read) => *left -= read as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failure(path, "read", &error)),
        }
    }
    Ok(())
}
