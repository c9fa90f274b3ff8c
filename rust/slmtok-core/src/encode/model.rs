//! From a piece to internal ids: by merging, or by looking the piece up as a whole.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::split_points::SplitPoints;
use crate::Result;
use crate::fork_safe_once::get_or_init;
use crate::merge::Merger;
use crate::merges::TokenBytes;

/// A vocabulary.
pub enum Model {
    /// `bpe`: merge by rank.
    Merge { merger: Box<Merger>, split_points: OnceLock<SplitPoints> },
    /// `word`, `char`, `byte`: a piece that is a token, else its bytes.
    Lookup { tokens: TokenBytes, id_of: HashMap<Vec<u8>, u32> },
}

impl Model {
    /// Merging.
    #[must_use]
    pub fn merging(merger: Merger) -> Self {
        Self::Merge { merger: Box::new(merger), split_points: OnceLock::new() }
    }

    /// Looking up whole pieces.
    ///
    /// # Errors
    /// An empty or repeated token.
    pub fn looking_up(tokens: &[&[u8]]) -> Result<Self> {
        let mut table = TokenBytes::bytes_only();
        table.append(tokens)?;
        let id_of = tokens.iter().map(|token| token.to_vec()).zip(256..).collect();
        Ok(Self::Lookup { tokens: table, id_of })
    }

    /// The bytes of every internal id.
    #[must_use]
    pub fn tokens(&self) -> &TokenBytes {
        match self {
            Self::Merge { merger, .. } => merger.merges.tokens(),
            Self::Lookup { tokens, .. } => tokens,
        }
    }

    /// The two internal ids that an internal id was merged from.
    #[must_use]
    pub fn parts(&self, id: u32) -> Option<(u32, u32)> {
        match self {
            Self::Merge { merger, .. } => merger.merges.parts(id),
            Self::Lookup { .. } => None,
        }
    }

    /// Internal ids that encoding never returns.
    #[must_use]
    pub fn unreachable(&self) -> &[u32] {
        match self {
            Self::Merge { merger, .. } => merger.unreachable(),
            Self::Lookup { .. } => &[],
        }
    }

    /// Where pieces may be split before they are merged.
    #[must_use]
    pub fn split_points(&self) -> Option<&SplitPoints> {
        match self {
            Self::Merge { merger, split_points } => {
                Some(get_or_init(split_points, || SplitPoints::new(merger.merges.tokens())))
            }
            Self::Lookup { .. } => None,
        }
    }

    /// Encodes `piece` into `ids`, which are internal ids.
    pub fn encode(&self, piece: &[u8], ids: &mut Vec<u32>) {
        match self {
            Self::Merge { merger, .. } => merger.encode(piece, ids),
            Self::Lookup { id_of, .. } => {
                ids.clear();
                match id_of.get(piece) {
                    Some(&id) => ids.push(id),
                    None => ids.extend(piece.iter().map(|&byte| u32::from(byte))),
                }
            }
        }
    }
}
