//! What may become a token, and the list of what was refused.

use regex_automata::meta::Regex;

use crate::merges::MAX_TOKEN_BYTES as MAX_TOKEN_LENGTH;
use crate::utf8::count_chars;
use crate::{Error, Result};

/// Bounds on tokens; 0 or `None` is no bound.
#[derive(Clone, Debug, Default)]
pub struct TokenLimits {
    /// Longest token in bytes. Beyond a mebibyte no vocabulary goes, whatever stands here.
    pub max_bytes: u32,
    /// Longest token in characters (bytes that do not continue a character).
    pub max_chars: u32,
    /// Tokens in whose bytes this matches are refused.
    pub forbid: Option<Regex>,
}

/// The option that refused a token, by the name users know.
pub const MAX_TOKEN_BYTES: &str = "max_token_bytes";
/// See [`MAX_TOKEN_BYTES`].
pub const MAX_TOKEN_CHARS: &str = "max_token_chars";
/// See [`MAX_TOKEN_BYTES`].
pub const FORBID_REGEX: &str = "forbid_regex";

impl TokenLimits {
    /// Limits with `forbid` compiled for bytes (`(?-u)` is allowed in it).
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

    /// Whether a length alone decides; then the bytes need not be put together.
    #[inline]
    #[must_use]
    pub fn too_long(&self, bytes: u32) -> bool {
        bytes as usize > self.most_bytes()
    }

    fn most_bytes(&self) -> usize {
        if self.max_bytes == 0 { MAX_TOKEN_LENGTH } else { MAX_TOKEN_LENGTH.min(self.max_bytes as usize) }
    }

    /// The option that refuses `token`, if any.
    #[must_use]
    pub fn refuses(&self, token: &[u8]) -> Option<&'static str> {
        if token.len() > self.most_bytes() {
            return Some(MAX_TOKEN_BYTES);
        }
        if self.max_chars > 0 && count_chars(token) > u64::from(self.max_chars) {
            return Some(MAX_TOKEN_CHARS);
        }
        self.forbid.as_ref().is_some_and(|regex| regex.is_match(token)).then_some(FORBID_REGEX)
    }
}

/// A token that a limit kept out, with the count that its pair had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its bytes.
    pub token: Vec<u8>,
    /// The option that refused it.
    pub option: &'static str,
    /// How often its pair occurred when it came up.
    pub count: u64,
}
