//! How a piece becomes internal ids: by merging, or by being a token as a whole.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::split_points::SplitPoints;
use crate::Result;
use crate::fork_safe_once::get_or_init;
use crate::merge::Merger;
use crate::merges::{Merges, TokenBytes};

/// One of the two ways.
pub enum Model {
    /// `bpe`: merge by rank.
    Merge(Box<Merger>, OnceLock<SplitPoints>),
    /// `word`, `char`, `byte`: a piece that is a token, else its bytes.
    Lookup(Lookup),
}

/// Whole pieces.
pub struct Lookup {
    tokens: TokenBytes,
    id_of: HashMap<Vec<u8>, u32>,
}

impl Model {
    /// Merging by a list.
    #[must_use]
    pub fn merging(merges: Merges) -> Self {
        Self::Merge(Box::new(Merger::new(merges)), OnceLock::new())
    }

    /// Pieces taken whole.
    ///
    /// # Errors
    /// An empty or repeated token.
    pub fn looking_up(tokens: &[&[u8]]) -> Result<Self> {
        let mut table = TokenBytes::bytes_only();
        table.append(tokens)?;
        let id_of = tokens.iter().map(|token| token.to_vec()).zip(256..).collect();
        Ok(Self::Lookup(Lookup { tokens: table, id_of }))
    }

    /// Bytes of every internal id.
    #[must_use]
    pub fn tokens(&self) -> &TokenBytes {
        match self {
            Self::Merge(model, _) => model.merges.tokens(),
            Self::Lookup(lookup) => &lookup.tokens,
        }
    }

    /// The two internal ids that an internal id joins.
    #[must_use]
    pub fn parts(&self, id: u32) -> Option<(u32, u32)> {
        match self {
            Self::Merge(model, _) => model.merges.parts(id),
            Self::Lookup(_) => None,
        }
    }

    /// Internal ids that encoding never reaches.
    #[must_use]
    pub fn unreachable(&self) -> &[u32] {
        match self {
            Self::Merge(model, _) => model.unreachable(),
            Self::Lookup(_) => &[],
        }
    }

    /// Where pieces may be cut, if they are merged.
    #[must_use]
    pub fn cuts(&self) -> Option<&SplitPoints> {
        match self {
            Self::Merge(model, split_points) => {
                Some(get_or_init(split_points, || SplitPoints::new(model.merges.tokens())))
            }
            Self::Lookup(_) => None,
        }
    }

    /// Internal ids of `piece` into `ids`.
    pub fn encode(&self, piece: &[u8], ids: &mut Vec<u32>) {
        match self {
            Self::Merge(model, _) => model.encode(piece, ids),
            Self::Lookup(lookup) => {
                ids.clear();
                match lookup.id_of.get(piece) {
                    Some(&id) => ids.push(id),
                    None => ids.extend(piece.iter().map(|&byte| u32::from(byte))),
                }
            }
        }
    }
}
