//! From a piece to internal ids: by merging, by longest match, or by looking the piece up as a whole.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::split_points::SplitPoints;
use crate::Result;
use crate::fork_safe_once;
use crate::merge::longest::LongestMatch;
use crate::merge::{Merger, byte_ids};
use crate::merges::{Merges, TokenBytes};

/// An internal id: the position of a token in merge order. A newtype, because the encoder handles public ids beside it; below
/// the encoder every id is internal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InternalId(pub u32);

impl InternalId {
    /// The position as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A vocabulary, and how it encodes a piece.
pub enum PieceEncoder {
    /// `bpe`: merge by rank.
    Merge { merger: Box<Merger>, split_points: OnceLock<SplitPoints> },
    /// `bpe` with the longest token first.
    Longest(Box<LongestMatch>),
    /// `word`, `char`, `byte`: a piece that is a token, else its bytes.
    Lookup { tokens: TokenBytes, id_of: HashMap<Vec<u8>, u32> },
}

impl PieceEncoder {
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

    /// The merges; `None` where pieces are looked up.
    #[must_use]
    pub fn merges(&self) -> Option<&Merges> {
        match self {
            Self::Merge { merger, .. } => Some(&merger.merges),
            Self::Longest(longest) => Some(&longest.merges),
            Self::Lookup { .. } => None,
        }
    }

    /// All internal ids.
    pub fn internal_ids(&self) -> impl ExactSizeIterator<Item = InternalId> + use<> {
        self.tokens().ids().map(InternalId)
    }

    /// The bytes of a token.
    #[must_use]
    pub fn token(&self, id: InternalId) -> &[u8] {
        self.tokens().get(id.0)
    }

    fn tokens(&self) -> &TokenBytes {
        match self {
            Self::Merge { merger, .. } => merger.merges.tokens(),
            Self::Longest(longest) => longest.merges.tokens(),
            Self::Lookup { tokens, .. } => tokens,
        }
    }

    /// The two tokens that a token was merged from.
    #[must_use]
    pub fn halves(&self, id: InternalId) -> Option<(InternalId, InternalId)> {
        self.merges()?.halves(id.0).map(|(left, right)| (InternalId(left), InternalId(right)))
    }

    /// Tokens that encoding never returns.
    ///
    /// # Errors
    /// Lack of memory and interruption.
    pub fn unreachable(&self) -> Result<impl Iterator<Item = InternalId>> {
        let ids = match self {
            Self::Merge { merger, .. } => merger.unreachable()?,
            Self::Longest(_) | Self::Lookup { .. } => &[],
        };
        Ok(ids.iter().copied().map(InternalId))
    }

    /// Where pieces may be split before they are merged.
    #[must_use]
    pub fn split_points(&self) -> Option<&SplitPoints> {
        match self {
            Self::Merge { merger, split_points } => {
                // In `OnceLock::get_or_init` a child of fork() could wait forever.
                Some(fork_safe_once::get_or_init(split_points, || SplitPoints::new(merger.merges.tokens())))
            }
            Self::Longest(_) | Self::Lookup { .. } => None,
        }
    }

    /// Encodes `piece` into `ids`, which are internal ids.
    ///
    /// # Errors
    /// Lack of memory and interruption, for a long piece; `ids` then holds anything.
    pub fn encode(&self, piece: &[u8], ids: &mut Vec<u32>) -> Result<()> {
        match self {
            Self::Merge { merger, .. } => merger.encode(piece, ids),
            Self::Longest(longest) => longest.encode(piece, ids),
            Self::Lookup { id_of, .. } => match id_of.get(piece) {
                Some(&id) => {
                    ids.clear();
                    ids.push(id);
                    Ok(())
                }
                None => byte_ids(piece, ids),
            },
        }
    }
}
