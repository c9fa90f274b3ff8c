//! Encoding: text in, ids out. Pieces are looked up whole; the few that are not known go through a merge kernel.
//!
//! [`crate::merge::reference`] is the definition; every kernel and cache is tested against it. To add a merge kernel: one file in
//! `merge/`, and one line in its `mod.rs`.

mod batch;
mod files;
mod lazy_batch;
mod model;
mod ordered_output;
mod pieces;
pub mod rank_file;
mod ranks;
mod split_points;
#[cfg(feature = "testing")]
pub mod testing;
mod work_queue;
mod worker;
mod worker_pool;

use std::collections::HashMap;
use std::sync::OnceLock;

pub use batch::{Batch, Frame};
use model::Model;
use ranks::merges_from_ranks;
pub use worker::Worker;
pub use worker_pool::Pooled;
use worker_pool::WorkerPool;

pub use crate::accel::id_buffer::Ids;
pub use crate::accel::portion::{Document, Make};
pub use crate::cache::bloom::BloomFilter;
pub use crate::cache::packed_ids::Id;
use crate::merge::Merger;
use crate::merges::{MAX_TOKENS, Merges};
use crate::pretoken::Pattern;
use crate::{Error, Result};

/// Public ids of the internal ones that an encoder never gives out.
const HOLE: u32 = u32::MAX;

/// Turns text into ids. Immutable but for caches, which change the speed and never a result.
pub struct Encoder {
    pattern: Pattern,
    model: Model,
    /// Public id of each internal id.
    external: Vec<u32>,
    /// Internal ids that are never given out: their parts stand for them.
    silent: Vec<u32>,
    /// Internal id of each public id; [`HOLE`] for specials and ids without a token.
    internal: Vec<u32>,
    specials: HashMap<u32, Vec<u8>>,
    n_vocab: u32,
    warm: WorkerPool,
}

impl Encoder {
    /// An encoder that merges.
    ///
    /// # Errors
    /// Public ids that repeat or do not fit.
    pub fn from_merges(
        pattern: Pattern,
        merges: Merges,
        external: Vec<u32>,
        specials: Vec<(u32, Vec<u8>)>,
        silent: Vec<u32>,
    ) -> Result<Self> {
        Self::new(pattern, Model::merging(merges), external, specials, silent)
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
        let (merges, places) = merges_from_ranks(tokens)?;
        let external = places.into_iter().map(|place| ids[place]).collect();
        // Each token was taken apart by the merges before it, down to its own pair: all of them encode to themselves.
        let model = Model::Merge(Box::new(Merger::reachable(merges)), OnceLock::new());
        Self::new(pattern, model, external, specials, Vec::new())
    }

    /// An encoder for which a piece is a token or its bytes.
    ///
    /// # Errors
    /// Tokens or public ids that repeat or do not fit.
    pub fn from_tokens(
        pattern: Pattern,
        tokens: &[&[u8]],
        external: Vec<u32>,
        specials: Vec<(u32, Vec<u8>)>,
    ) -> Result<Self> {
        Self::new(pattern, Model::looking_up(tokens)?, external, specials, Vec::new())
    }

    fn new(
        pattern: Pattern,
        model: Model,
        external: Vec<u32>,
        specials: Vec<(u32, Vec<u8>)>,
        mut silent: Vec<u32>,
    ) -> Result<Self> {
        let tokens = model.tokens();
        if external.len() != tokens.len() {
            let limit = format!("{} public ids, one for each internal id", tokens.len());
            return Err(Error::InvalidOption { option: "external", value: external.len().to_string(), limit });
        }
        silent.sort_unstable();
        silent.dedup();
        if let Some(&id) = silent.iter().find(|&&id| model.parts(id).is_none()) {
            let limit = "internal ids of merges: their parts stand for them".to_owned();
            return Err(Error::InvalidOption { option: "silent", value: id.to_string(), limit });
        }
        let taken: HashMap<u32, Vec<u8>> = specials.iter().cloned().collect();
        if taken.len() < specials.len() {
            let limit = format!("{} different ids, one for each special", specials.len());
            return Err(Error::InvalidOption { option: "specials", value: taken.len().to_string(), limit });
        }
        let largest = external.iter().chain(specials.iter().map(|(id, _)| id)).max().copied().unwrap_or(0);
        if largest as usize >= 2 * MAX_TOKENS {
            return Err(Error::InvalidOption {
                option: "id",
                value: largest.to_string(),
                limit: format!("ids below {}", 2 * MAX_TOKENS),
            });
        }
        let mut internal = vec![HOLE; largest as usize + 1];
        for (index, &id) in external.iter().enumerate() {
            if silent.binary_search(&(index as u32)).is_ok() {
                continue;
            }
            if internal[id as usize] != HOLE || taken.contains_key(&id) {
                let token = tokens.get(index as u32).to_vec();
                return Err(Error::InvalidTokens { index, token, reason: format!("has id {id}, which is taken") });
            }
            internal[id as usize] = index as u32;
        }
        let n_vocab = largest + 1;
        Ok(Self { pattern, model, external, silent, internal, specials: taken, n_vocab, warm: WorkerPool::default() })
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

    /// Bytes that a public id stands for; a special's are its spelling. Nothing for a hole.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<&[u8]> {
        match self.internal.get(id as usize) {
            Some(&internal) if internal != HOLE => Some(self.model.tokens().get(internal)),
            _ => self.specials.get(&id).map(Vec::as_slice),
        }
    }

    /// Whether an id is a special.
    #[must_use]
    pub fn is_special(&self, id: u32) -> bool {
        self.specials.contains_key(&id)
    }

    /// Every public id that is no special, with its bytes.
    pub fn ordinary_tokens(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let ids = self.internal.iter().zip(0..).filter(|(internal, _)| **internal != HOLE);
        ids.map(|(&internal, id)| (id, self.model.tokens().get(internal)))
    }

    /// The two public ids that a merge joined. A silent part has none, and then neither has the whole.
    #[must_use]
    pub fn parts(&self, id: u32) -> Option<(u32, u32)> {
        let internal = *self.internal.get(id as usize).filter(|&&internal| internal != HOLE)?;
        let (left, right) = self.model.parts(internal)?;
        let public = |part: u32| self.silent.binary_search(&part).is_err().then(|| self.external[part as usize]);
        Some((public(left)?, public(right)?))
    }

    /// Public ids that encoding never gives.
    #[must_use]
    pub fn unreachable(&self) -> Vec<u32> {
        let mut ids: Vec<u32> = self.model.unreachable().iter().map(|&id| self.external[id as usize]).collect();
        ids.sort_unstable();
        ids
    }

    /// Work that the waiting workers have done: (name, number).
    #[must_use]
    pub fn stats(&self) -> [(&'static str, u64); 3] {
        self.warm.stats()
    }

    /// Appends the public ids of internal ones.
    fn publish<I: Id>(&self, internal: &[u32], out: &mut Vec<I>) {
        if self.silent.is_empty() {
            out.extend(internal.iter().map(|&id| I::from_id(self.external[id as usize])));
            return;
        }
        let mut pending: Vec<u32> = internal.iter().rev().copied().collect();
        while let Some(id) = pending.pop() {
            match self.model.parts(id) {
                Some((left, right)) if self.silent.binary_search(&id).is_ok() => pending.extend([right, left]),
                _ => out.push(I::from_id(self.external[id as usize])),
            }
        }
    }
}
