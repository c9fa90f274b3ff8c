//! Every way in which the core can fail, as data.
//!
//! A variant carries values, not sentences; the four parts of a message (the fact with its value, the place, the limit,
//! the remedy) are derived here and nowhere else, so that callers in any language can show them or replace them.

use std::fmt;

/// The result of everything that can fail outside the program.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure, with the values that explain it.
#[expect(missing_docs, reason = "the fields of a variant are the values that its description names")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A split pattern that does not compile.
    InvalidPattern { pattern: String, reason: String, position: Option<usize> },
    /// A custom pattern gave up on a text (backtracking limit).
    PatternGaveUp { pattern: String, offset: usize, reason: String },
    /// A merge list that no trainer can have made.
    InvalidMerges { index: usize, left: u32, right: u32, reason: String },
    /// A foreign rank table that pair merges cannot reproduce.
    InvalidRanks { rank: usize, token: Vec<u8>, reason: String },
    /// A set of tokens with a hole, a duplicate or an id out of range.
    InvalidTokens { index: usize, token: Vec<u8>, reason: String },
    /// The sum of two counts does not fit.
    CountOverflow { what: &'static str },
    /// The distinct pieces take more than the trainer can address.
    CorpusTooLarge { bytes: u64, limit: u64 },
    /// A required token that the pattern cuts apart, or that the limits forbid.
    RequiredToken { token: Vec<u8>, reason: String },
    /// Required tokens need more ids than there are.
    RequiredTooMany { needed: u64, available: u64 },
    /// A file that cannot be opened, mapped, read or written.
    Io { path: String, action: &'static str, reason: String, os_error: Option<i32> },
    /// A packed file that does not unpack; without a reason it ends too early.
    Damaged { path: String, reason: Option<String> },
    /// A counts file that no writer of ours has written.
    CorruptCounts { path: String, reason: String },
    /// No room for temporary files of `bytes` bytes.
    NoSpace { folder: String, bytes: u64 },
    /// No addresses for an array of `bytes` bytes.
    NoMemory { bytes: u64 },
    /// An id that the vocabulary does not have.
    UnknownId { id: i64, position: usize, n_vocab: u32 },
    /// An option whose value makes no sense.
    InvalidOption { option: &'static str, value: String, limit: String },
    /// The caller asked to stop.
    Interrupted,
}

impl Error {
    /// What happened, with the value.
    #[must_use]
    pub fn fact(&self) -> String {
        match self {
            Self::InvalidPattern { pattern, reason, .. } => format!("pattern {pattern:?} does not compile: {reason}"),
            Self::PatternGaveUp { pattern, reason, .. } => format!("pattern {pattern:?} gave up on a text: {reason}"),
            Self::InvalidMerges { index, left, right, reason } => {
                format!("merge {index} ({left}, {right}) {reason}")
            }
            Self::InvalidRanks { rank, token, reason } => format!("rank {rank} ({}) {reason}", show(token)),
            Self::InvalidTokens { index, token, reason } => format!("token {index} ({}) {reason}", show(token)),
            Self::CountOverflow { what } => format!("{what} exceeds 64 bits"),
            Self::CorpusTooLarge { bytes, .. } => format!("the distinct pieces of the corpus take {bytes} bytes"),
            Self::RequiredToken { token, reason } => format!("required token {} {reason}", show(token)),
            Self::RequiredTooMany { needed, available } => {
                format!("the required tokens need up to {needed} merges, there are {available}")
            }
            Self::Io { path, action, reason, .. } => format!("cannot {action} {path:?}: {reason}"),
            Self::Damaged { path, reason: Some(reason) } => format!("cannot read '{path}': {reason}"),
            Self::Damaged { path, reason: None } => format!("'{path}' ends in the middle of its compressed data"),
            Self::CorruptCounts { path, reason } => format!("{path} is not a sound counts file: {reason}"),
            Self::NoSpace { bytes, .. } => format!("no space left for a temporary file of {bytes} bytes"),
            Self::NoMemory { bytes } => format!("the system gives no {bytes} bytes of memory for the ids"),
            Self::UnknownId { id, .. } => format!("id {id} is not in the vocabulary"),
            Self::InvalidOption { option, value, .. } => format!("{option} = {value} is out of range"),
            Self::Interrupted => "interrupted".to_owned(),
        }
    }

    /// Where it happened: index, offset, file.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        match self {
            Self::InvalidPattern { position: Some(at), .. } => Some(format!("character {at} of the pattern")),
            Self::PatternGaveUp { offset, .. } => Some(format!("byte {offset} of the segment")),
            Self::CorruptCounts { path, .. } => Some(path.clone()),
            Self::NoSpace { folder, .. } => Some(format!("{folder:?}; nothing was left there")),
            Self::Damaged { path, .. } => Some(path.clone()),
            Self::UnknownId { position, .. } => Some(format!("position {position}")),
            _ => None,
        }
    }

    /// The bound that was broken.
    #[must_use]
    pub fn limit(&self) -> Option<String> {
        match self {
            Self::CorpusTooLarge { limit, .. } => Some(format!("{limit} bytes of distinct pieces")),
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
                "use a registered name (slm, gpt2, cl100k, cl100k-hf, o200k, whole) or repair the regex"
            }
            Self::PatternGaveUp { .. } => {
                "write the pattern without nested repetitions or look-around, or use a registered one"
            }
            Self::CorpusTooLarge { .. } => "raise the minimum count, or use a pattern that cuts long runs apart",
            Self::CorruptCounts { .. } => "restore the file from where it was made, or count again",
            Self::NoSpace { .. } => "free some space, name another folder for temporary files, or allow more memory",
            Self::NoMemory { .. } => "give fewer documents at a time, or encode files into a file (encode_files)",
            Self::Damaged { .. } => "fetch or pack it again",
            Self::RequiredTooMany { .. } => "raise the vocabulary size or require fewer tokens",
            _ => return None,
        };
        Some(text.to_owned())
    }
}

/// Bytes for people: text where it is text, escapes where it is not.
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
