//! Limits on tokens, and the refused tokens.

use regex_automata::meta::Regex;

use crate::merges::MAX_TOKEN_BYTES as MAX_TOKEN_LENGTH;
use crate::utf8::count_chars;
use crate::{Error, Result};

/// Limits on tokens; 0 or `None` means unlimited.
#[derive(Clone, Debug, Default)]
pub struct TokenLimits {
    /// Longest token in bytes. A vocabulary allows at most 1 MiB in any case.
    pub max_bytes: u32,
    /// Longest token in characters.
    pub max_chars: u32,
    /// Tokens that contain a match are refused.
    pub forbid: Option<Regex>,
}

/// Name of the option that refused a token.
pub const MAX_TOKEN_BYTES: &str = "max_token_bytes";
/// See [`MAX_TOKEN_BYTES`].
pub const MAX_TOKEN_CHARS: &str = "max_token_chars";
/// See [`MAX_TOKEN_BYTES`].
pub const FORBID_REGEX: &str = "forbid_regex";

impl TokenLimits {
    /// Compiles `forbid` for byte strings (it may contain `(?-u)`).
    ///
    /// # Errors
    /// A regex that does not compile.
    pub fn new(max_bytes: u32, max_chars: u32, forbid: Option<&str>) -> Result<Self> {
        let compile = |pattern: &str| {
            let syntax = regex_automata::util::syntax::Config::new().utf8(false);
            let config = Regex::config().utf8_empty(false);
            Regex::builder().syntax(syntax).configure(config).build(pattern).map_err(|error| Error::InvalidPattern {
                pattern: pattern.to_owned(),
                reason: error.syntax_error().map_or_else(|| error.to_string(), ToString::to_string),
                position: None,
            })
        };
        Ok(Self { max_bytes, max_chars, forbid: forbid.map(compile).transpose()? })
    }

    /// Whether a token of this length is refused, whatever its bytes.
    #[inline]
    #[must_use]
    pub fn too_long(&self, bytes: u32) -> bool {
        bytes as usize > self.length_limit()
    }

    fn length_limit(&self) -> usize {
        if self.max_bytes == 0 { MAX_TOKEN_LENGTH } else { MAX_TOKEN_LENGTH.min(self.max_bytes as usize) }
    }

    /// The option that refuses `token`.
    #[must_use]
    pub fn refuses(&self, token: &[u8]) -> Option<&'static str> {
        if token.len() > self.length_limit() {
            return Some(MAX_TOKEN_BYTES);
        }
        if self.max_chars > 0 && count_chars(token) > u64::from(self.max_chars) {
            return Some(MAX_TOKEN_CHARS);
        }
        self.forbid.as_ref().is_some_and(|regex| regex.is_match(token)).then_some(FORBID_REGEX)
    }
}

/// Refused tokens that an outcome lists; a hostile corpus has one for each of its bytes.
pub const MAX_REFUSALS: usize = 100_000;

/// A refused token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its bytes.
    pub token: Vec<u8>,
    /// The option that refused it.
    pub option: &'static str,
    /// Count of its pair when it was refused.
    pub count: u64,
}
