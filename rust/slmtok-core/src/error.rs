//! Errors of the core, as data.
//!
//! A variant carries values. The four parts of a message (fact with its value, location, limit, remedy) are derived only
//! here, so that callers in any language can show or replace them.

use std::fmt;

/// The result of a fallible operation of the core.
pub type Result<T> = std::result::Result<T, Error>;

/// An error, with the values that explain it.
#[expect(missing_docs, reason = "the description of a variant names its fields")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A split pattern that does not compile.
    InvalidPattern { pattern: String, reason: String, position: Option<usize> },
    /// A split pattern above the limits on its size.
    PatternTooLarge { pattern: String, what: String, limit: String },
    /// A custom pattern exceeded its backtracking limit on a text.
    PatternGaveUp { pattern: String, offset: usize, reason: String },
    /// A merge list that is inconsistent.
    InvalidMerges { index: usize, left: u32, right: u32, reason: String },
    /// An imported rank table that pair merges cannot reproduce.
    InvalidRanks { rank: usize, token: Vec<u8>, reason: String },
    /// A set of tokens with a hole, a duplicate or an id out of range.
    InvalidTokens { index: usize, token: Vec<u8>, reason: String },
    /// A sum of counts exceeds 64 bits.
    CountOverflow { what: &'static str },
    /// The distinct pieces exceed what the trainer can address.
    CorpusTooLarge { bytes: u64, limit: u64 },
    /// A required token that the pattern splits or the limits forbid.
    RequiredToken { token: Vec<u8>, reason: String },
    /// The required tokens need more merges than are available.
    RequiredTooMany { needed: u64, available: u64 },
    /// A file that cannot be opened, mapped, read or written.
    Io { path: String, action: &'static str, reason: String, os_error: Option<i32> },
    /// A compressed file that does not decompress; without a reason it is truncated.
    Damaged { path: String, reason: Option<String> },
    /// A file that became shorter than `size` bytes while it was read.
    Shrunk { path: String, size: u64 },
    /// A document above the limit on its size. `place` is its file and line.
    DocumentTooLarge { place: Option<String>, limit: u64 },
    /// A part of a document that no sync point divides, above the limit on what counting holds. `place` is its file.
    UndividedText { place: Option<String>, limit: u64 },
    /// A counts file whose body is invalid.
    CorruptCounts { path: String, reason: String },
    /// No disk space for a temporary file of `bytes` bytes.
    NoSpace { folder: String, bytes: u64 },
    /// No memory for an array of `bytes` bytes.
    NoMemory { bytes: u64 },
    /// A thread that the system does not start.
    NoThread { reason: String },
    /// An id that is not in the vocabulary.
    UnknownId { id: i64, position: usize, n_vocab: u32 },
    /// An option value outside its limits.
    InvalidOption { option: &'static str, value: String, limit: String },
    /// The caller stopped the work.
    Interrupted,
    /// A thread panicked while it held a lock.
    Poisoned,
}

impl Error {
    /// The failure of an operation (`action`, a verb) on the file at `path`.
    #[must_use]
    pub fn io(path: &str, action: &'static str, error: &std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), action, reason: error.to_string(), os_error: error.raw_os_error() }
    }

    /// The same error with the file at `path` as the place of a document.
    #[must_use]
    pub fn at(self, path: &str) -> Self {
        match self {
            Self::UndividedText { place: None, limit } => Self::UndividedText { place: Some(path.to_owned()), limit },
            other => other,
        }
    }

    /// What happened, with the value.
    #[must_use]
    pub fn fact(&self) -> String {
        match self {
            Self::InvalidPattern { pattern, reason, .. } => format!("pattern {pattern:?} does not compile: {reason}"),
            Self::PatternTooLarge { pattern, what, .. } => format!("pattern {pattern:?} {what}"),
            Self::PatternGaveUp { pattern, reason, .. } => {
                format!("pattern {pattern:?} exceeded its limit on a text: {reason}")
            }
            Self::InvalidMerges { index, left, right, reason } => {
                format!("merge {index} ({left}, {right}) {reason}")
            }
            Self::InvalidRanks { rank, token, reason } => format!("rank {rank} ({}) {reason}", show(token)),
            Self::InvalidTokens { index, token, reason } => format!("token {index} ({}) {reason}", show(token)),
            Self::CountOverflow { what } => format!("{what} exceeds 64 bits"),
            Self::CorpusTooLarge { bytes, .. } => format!("the distinct pieces of the corpus take {bytes} bytes"),
            Self::RequiredToken { token, reason } => format!("required token {} {reason}", show(token)),
            Self::RequiredTooMany { needed, available } => {
                format!("the required tokens need up to {needed} merges, and {available} are available")
            }
            Self::Io { path, action, reason, .. } => format!("cannot {action} {path:?}: {reason}"),
            Self::Damaged { path, reason: Some(reason) } => format!("cannot read '{path}': {reason}"),
            Self::Damaged { path, reason: None } => format!("'{path}' ends in the middle of its compressed data"),
            Self::Shrunk { path, size } => format!("'{path}' became shorter than {size} bytes while it was read"),
            Self::DocumentTooLarge { limit, .. } => format!("a document has more than {limit} bytes"),
            Self::UndividedText { limit, .. } => {
                format!("a document has more than {limit} bytes between two places where it can be divided")
            }
            Self::CorruptCounts { path, reason } => format!("{path} is not a valid counts file: {reason}"),
            Self::NoSpace { bytes, .. } => format!("no space left for a temporary file of {bytes} bytes"),
            Self::NoMemory { bytes } => format!("cannot allocate {bytes} bytes"),
            Self::NoThread { reason } => format!("cannot start a thread: {reason}"),
            Self::UnknownId { id, .. } => format!("id {id} is not in the vocabulary"),
            Self::InvalidOption { option, value, .. } => format!("{option} = {value} is out of range"),
            Self::Interrupted => "interrupted".to_owned(),
            Self::Poisoned => "an earlier call panicked while it held a lock".to_owned(),
        }
    }

    /// Location: index, offset or file.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        match self {
            Self::InvalidPattern { position: Some(at), .. } => Some(format!("character {at} of the pattern")),
            Self::PatternGaveUp { offset, .. } => Some(format!("byte {offset} of the segment")),
            Self::CorruptCounts { path, .. } => Some(path.clone()),
            Self::NoSpace { folder, .. } => Some(format!("{folder:?}; the temporary file was removed")),
            Self::Damaged { path, .. } | Self::Shrunk { path, .. } => Some(path.clone()),
            Self::DocumentTooLarge { place, .. } | Self::UndividedText { place, .. } => place.clone(),
            Self::UnknownId { position, .. } => Some(format!("position {position}")),
            _ => None,
        }
    }

    /// The violated bound.
    #[must_use]
    pub fn limit(&self) -> Option<String> {
        match self {
            Self::CorpusTooLarge { limit, .. } => Some(format!("{limit} bytes of distinct pieces")),
            Self::PatternTooLarge { limit, .. } => Some(limit.clone()),
            Self::UnknownId { n_vocab, .. } => Some(format!("0 <= id < {n_vocab} (n_vocab)")),
            Self::InvalidOption { limit, .. } => Some(limit.clone()),
            _ => None,
        }
    }

    /// What to do.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        let text = match self {
            Self::InvalidPattern { .. } => {
                "use a registered name (slm, gpt2, cl100k, cl100k-hf, o200k, whole) or correct the regex"
            }
            Self::PatternGaveUp { .. } => {
                "write the pattern without nested repetitions or look-around, or use a registered pattern"
            }
            Self::PatternTooLarge { .. } => "shorten the pattern, or use + instead of a large count",
            Self::CorpusTooLarge { .. } => "raise the minimum count, or use a pattern that splits long runs",
            Self::CorruptCounts { .. } => "restore the file from its source, or count again",
            Self::NoSpace { .. } => "free disk space, choose another folder for temporary files, or allow more memory",
            Self::NoMemory { .. } => {
                "end other programs or raise the limit on memory (ulimit -v); encode fewer documents a call, or to a file"
            }
            Self::NoThread { .. } => {
                "raise the limits on memory (ulimit -v) and processes (ulimit -u), or end other programs"
            }
            Self::Damaged { .. } => "fetch the file again, or compress its text again",
            Self::Shrunk { .. } => "run the command again when no other program writes to the file",
            Self::DocumentTooLarge { .. } => "divide the document, or raise the limit",
            Self::UndividedText { .. } => "divide the document",
            Self::Poisoned => "create the object again, and report the panic: it is a defect of slmtok",
            Self::RequiredTooMany { .. } => "raise the vocabulary size or require fewer tokens",
            _ => return None,
        };
        Some(text.to_owned())
    }
}

/// Printable form of bytes, with escapes.
fn show(bytes: &[u8]) -> String {
    format!("b\"{}\"", bytes.escape_ascii())
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fact())?;
        for (name, part) in [("where", self.place()), ("limit", self.limit()), ("fix", self.remedy())] {
            if let Some(part) = part {
                write!(f, "\n  {name}: {part}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
