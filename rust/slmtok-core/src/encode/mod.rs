//! Encoding: text in, ids out. Joins the scanner, the caches and the merge kernels.
//!
//! Read `worker` first: it is the hot loop. `batch` shares documents among threads, `files` goes from files to a file.

mod batch;
mod dropout;
mod files;
mod lines;
mod piece_encoder;
pub mod rank_file;
mod split_points;
#[cfg(feature = "testing")]
pub mod testing;
mod worker;
mod worker_pool;

use std::collections::HashMap;

pub use batch::{EncodedDocuments, Frame};
pub use dropout::Dropout;
pub use files::FileOptions;
use piece_encoder::{InternalId, PieceEncoder};
use rank_file::merges_from_ranks;
pub use worker::Worker;
pub use worker_pool::PooledId;
use worker_pool::WorkerPool;

pub use crate::accel::lazy_batch::{Document, Transcode};
pub use crate::cache::packed_ids::TokenId;
use crate::merge::Merger;
use crate::merge::longest::LongestMatch;
use crate::merges::{MAX_TOKENS, Merges};
use crate::pretoken::Pattern;
use crate::{Error, Result};

/// The internal id of a public id that is a special or has no token.
const NO_INTERNAL_ID: InternalId = InternalId(u32::MAX);

/// Turns text into ids. Immutable but for caches, which change the speed and never a result.
pub struct Encoder {
    pattern: Pattern,
    /// From a piece to internal ids.
    piece_encoder: PieceEncoder,
    /// Public id of each internal id.
    public_ids: Vec<u32>,
    /// Merges that spell a special token: each is replaced by its halves. Ascending.
    non_emitting: Vec<InternalId>,
    /// Internal id of each public id, or [`NO_INTERNAL_ID`].
    internal_ids: Vec<InternalId>,
    specials: HashMap<u32, Vec<u8>>,
    n_vocab: u32,
    workers: WorkerPool,
}

impl Encoder {
    /// An encoder by a merge list. `public_ids` has the public id of each internal id; `non_emitting` has the internal ids of merges
    /// that are never returned, but replaced by their halves.
    ///
    /// # Errors
    /// Public ids that repeat or do not fit.
    pub fn from_merges(
        pattern: Pattern,
        merges: Merges,
        public_ids: Vec<u32>,
        specials: Vec<(u32, Vec<u8>)>,
        non_emitting: Vec<u32>,
    ) -> Result<Self> {
        Self::new(pattern, PieceEncoder::merging(Merger::new(merges)), public_ids, specials, non_emitting)
    }

    /// An encoder by tiktoken's rule: `tokens` in the order of their ranks, `ids` the public id of each.
    ///
    /// # Errors
    /// A table that pair merges cannot reproduce, public ids that repeat or do not fit.
    pub fn from_ranks(pattern: Pattern, tokens: &[&[u8]], ids: &[u32], specials: Vec<(u32, Vec<u8>)>) -> Result<Self> {
        if ids.len() != tokens.len() {
            let limit = format!("{} public ids, one for each token", tokens.len());
            return Err(Error::InvalidOption { option: "ids", value: ids.len().to_string(), limit });
        }
        let (merges, rank_of) = merges_from_ranks(tokens)?;
        let public_ids = rank_of.into_iter().map(|rank| ids[rank]).collect();
        // `merges_from_ranks` has encoded each token up to its own merge: all of them encode to themselves.
        Self::new(pattern, PieceEncoder::merging(Merger::reachable(merges)), public_ids, specials, Vec::new())
    }

    /// An encoder for which a piece is a token or its bytes.
    ///
    /// # Errors
    /// Tokens or public ids that repeat or do not fit.
    pub fn from_tokens(
        pattern: Pattern,
        tokens: &[&[u8]],
        public_ids: Vec<u32>,
        specials: Vec<(u32, Vec<u8>)>,
    ) -> Result<Self> {
        Self::new(pattern, PieceEncoder::looking_up(tokens)?, public_ids, specials, Vec::new())
    }

    fn new(
        pattern: Pattern,
        piece_encoder: PieceEncoder,
        public_ids: Vec<u32>,
        specials: Vec<(u32, Vec<u8>)>,
        non_emitting: Vec<u32>,
    ) -> Result<Self> {
        let invalid = |option, value: String, limit| Err(Error::InvalidOption { option, value, limit });
        let all = piece_encoder.internal_ids();
        if public_ids.len() != all.len() {
            let limit = format!("{} public ids, one for each internal id", all.len());
            return invalid("public_ids", public_ids.len().to_string(), limit);
        }
        let mut non_emitting: Vec<InternalId> = non_emitting.into_iter().map(InternalId).collect();
        non_emitting.sort_unstable();
        non_emitting.dedup();
        if let Some(internal_id) = non_emitting.iter().find(|&&internal_id| piece_encoder.halves(internal_id).is_none())
        {
            return invalid("non_emitting", internal_id.0.to_string(), "internal ids of merges".to_owned());
        }
        let special: HashMap<u32, Vec<u8>> = specials.iter().cloned().collect();
        if special.len() < specials.len() {
            let limit = format!("{} different ids, one for each special", specials.len());
            return invalid("specials", special.len().to_string(), limit);
        }
        let largest = public_ids.iter().chain(special.keys()).max().copied().unwrap_or(0);
        if largest as usize >= 2 * MAX_TOKENS {
            return invalid("id", largest.to_string(), format!("ids below {}", 2 * MAX_TOKENS));
        }
        let mut internal_ids = vec![NO_INTERNAL_ID; largest as usize + 1];
        for (internal_id, &id) in all.zip(&public_ids) {
            if non_emitting.binary_search(&internal_id).is_ok() {
                continue;
            }
            if internal_ids[id as usize] != NO_INTERNAL_ID || special.contains_key(&id) {
                let (token, reason) =
                    (piece_encoder.token(internal_id).to_vec(), format!("has id {id}, which is taken"));
                return Err(Error::InvalidTokens { index: internal_id.index(), token, reason });
            }
            internal_ids[id as usize] = internal_id;
        }
        let workers = WorkerPool::default();
        Ok(Self {
            pattern,
            piece_encoder,
            public_ids,
            non_emitting,
            internal_ids,
            specials: special,
            n_vocab: largest + 1,
            workers,
        })
    }

    /// The encoder of the same vocabulary that takes, from the left, always the longest token that fits. `None` for an encoder
    /// without merges.
    #[must_use]
    pub fn longest_match(&self) -> Option<Self> {
        let contains = |id: u32| self.non_emitting.binary_search(&InternalId(id)).is_err();
        let longest = LongestMatch::new(self.piece_encoder.merges()?.clone(), contains);
        Some(Self {
            pattern: self.pattern.clone(),
            piece_encoder: PieceEncoder::Longest(Box::new(longest)),
            public_ids: self.public_ids.clone(),
            non_emitting: self.non_emitting.clone(),
            internal_ids: self.internal_ids.clone(),
            specials: self.specials.clone(),
            n_vocab: self.n_vocab,
            workers: WorkerPool::default(),
        })
    }

    /// The split pattern.
    #[must_use]
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Largest id + 1.
    #[must_use]
    pub fn n_vocab(&self) -> u32 {
        self.n_vocab
    }

    /// Whether ids need 32 bits.
    #[must_use]
    pub fn wide(&self) -> bool {
        self.n_vocab > 1 << 16
    }

    /// The bytes of a public id; those of a special are its spelling. `None` for an id without a token.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<&[u8]> {
        match self.internal_id(id) {
            Some(internal_id) => Some(self.piece_encoder.token(internal_id)),
            None => self.specials.get(&id).map(Vec::as_slice),
        }
    }

    /// Whether an id is a special.
    #[must_use]
    pub fn is_special(&self, id: u32) -> bool {
        self.specials.contains_key(&id)
    }

    /// Every public id that is no special, with its bytes.
    pub fn ordinary_tokens(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let ids = self.internal_ids.iter().zip(0..).filter(|(internal_id, _)| **internal_id != NO_INTERNAL_ID);
        ids.map(|(&internal_id, id)| (id, self.piece_encoder.token(internal_id)))
    }

    /// The two public ids that a merge joined; `None` for other ids, and where a half is non-emitting.
    #[must_use]
    pub fn halves(&self, id: u32) -> Option<(u32, u32)> {
        let (left, right) = self.piece_encoder.halves(self.internal_id(id)?)?;
        let emitted = |half: InternalId| self.non_emitting.binary_search(&half).is_err().then(|| self.public_id(half));
        Some((emitted(left)?, emitted(right)?))
    }

    /// Public ids that encoding never returns.
    ///
    /// # Errors
    /// Lack of memory and interruption.
    pub fn unreachable(&self) -> Result<Vec<u32>> {
        let mut ids: Vec<u32> =
            self.piece_encoder.unreachable()?.map(|internal_id| self.public_id(internal_id)).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// Statistics of the idle workers: (name, number).
    #[must_use]
    pub fn stats(&self) -> [(&'static str, u64); 3] {
        self.workers.stats()
    }

    fn internal_id(&self, id: u32) -> Option<InternalId> {
        self.internal_ids.get(id as usize).copied().filter(|&internal_id| internal_id != NO_INTERNAL_ID)
    }

    fn public_id(&self, internal_id: InternalId) -> u32 {
        self.public_ids[internal_id.index()]
    }

    /// Passes the public ids of internal ids to `push`, in order.
    fn to_public_ids<I: TokenId>(&self, internal: &[u32], mut push: impl FnMut(I)) {
        if self.non_emitting.is_empty() {
            return internal.iter().for_each(|&id| push(I::from_id(self.public_id(InternalId(id)))));
        }
        let mut stack: Vec<InternalId> = internal.iter().rev().copied().map(InternalId).collect();
        while let Some(internal_id) = stack.pop() {
            match self.piece_encoder.halves(internal_id) {
                Some((left, right)) if self.non_emitting.binary_search(&internal_id).is_ok() => {
                    stack.extend([right, left])
                }
                _ => push(I::from_id(self.public_id(internal_id))),
            }
        }
    }
}
