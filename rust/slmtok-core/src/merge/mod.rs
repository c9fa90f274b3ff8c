//! Merging: the bytes of one piece in, its internal ids out. Pure functions of a merge list.
//!
//! | bytes of the piece | kernel |
//! |---|---|
//! | up to 16 | `scan_avx512`, where the machine has it |
//! | up to 126 | `scan`: repeated search for the minimum |
//! | more, one repeated byte | `run` |
//! | more | `backtrack`, linear; `heap` until the tables of `backtrack` pay, where some token does not encode to itself, and where all tokens together have more than 8 MiB |
//!
//! Building the tables of `backtrack` takes longer than encoding some long pieces by `heap`. They are built when `heap` has
//! taken about as long as that; the number of bytes that it has encoded decides, which changes the time and never a result.
//!
//! `longest` is another inference method, which ignores the order of the merges. BPE-dropout is `heap` with a condition.
//!
//! [`mod@reference`] is the definition; every kernel is tested against it. A new kernel is one file here and one line in
//! [`Merger::encode`].

mod backtrack;
mod heap;
pub mod longest;
pub mod pair_table;
pub mod reference;
mod run;
mod scan;
#[cfg(target_arch = "x86_64")]
mod scan_avx512;
mod trie;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) use backtrack::Backtrack;
pub(crate) use heap::{merge_by_heap, merge_with_dropout};
use pair_table::PairTable;
use run::{is_run, merge_run};
pub(crate) use scan::{MAX_SYMBOLS, merge_by_scan};

use crate::fork_safe_once;
use crate::merges::Merges;
use crate::{Error, Result};

/// Building the tables of `backtrack` costs as much per token as encoding this many bytes by `heap`.
const HEAP_BYTES_PER_TOKEN: usize = 4;
/// Tokens of more bytes than this together get no tables for backtracking, which take 25 times their memory.
const MAX_BACKTRACK_BYTES: usize = 8 << 20;

/// A merge list with the tables for encoding by it.
pub struct Merger {
    /// The list.
    pub merges: Merges,
    /// Merged ids by pair.
    pub pairs: PairTable,
    /// `None` if some token does not encode to itself, or all together have more than [`MAX_BACKTRACK_BYTES`].
    backtrack: OnceLock<Option<Backtrack>>,
    /// Bytes of the pieces that went to the heap kernel, or would have without backtracking.
    heap_bytes: AtomicUsize,
    unreachable: OnceLock<Vec<u32>>,
}

impl Merger {
    /// The tables of a merge list.
    #[must_use]
    pub fn new(merges: Merges) -> Self {
        let pairs = PairTable::new(&merges);
        let heap_bytes = AtomicUsize::new(0);
        Self { merges, pairs, backtrack: OnceLock::new(), heap_bytes, unreachable: OnceLock::new() }
    }

    /// The tables of a merge list in which every token is known to encode to itself.
    #[must_use]
    pub fn reachable(merges: Merges) -> Self {
        Self { unreachable: OnceLock::from(Vec::new()), ..Self::new(merges) }
    }

    /// Encodes `piece` into `ids`, which are internal ids.
    ///
    /// # Errors
    /// Lack of memory and interruption, for a long piece; `ids` then holds anything.
    pub fn encode(&self, piece: &[u8], ids: &mut Vec<u32>) -> Result<()> {
        if piece.len() <= MAX_SYMBOLS {
            merge_by_scan(&self.pairs, piece, ids);
            return Ok(());
        }
        if is_run(piece) {
            merge_run(&self.pairs, piece[0], piece.len(), ids);
            return Ok(());
        }
        if self.backtracking_pays(piece.len())
            && let Some(backtrack) = self.backtrack()?
        {
            return backtrack.encode(&self.merges, &self.pairs, piece, ids);
        }
        merge_by_pairs(&self.pairs, piece, ids)
    }

    /// Whether the tables of `backtrack` exist or are worth building now, before `bytes` more bytes are encoded.
    fn backtracking_pays(&self, bytes: usize) -> bool {
        self.backtrack.get().is_some()
            || self.heap_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes
                > HEAP_BYTES_PER_TOKEN * self.merges.pairs().len()
    }

    fn backtrack(&self) -> Result<Option<&Backtrack>> {
        let backtrack = fork_safe_once::get_or_try_init(&self.backtrack, || {
            let pays = self.merges.tokens().total_bytes() <= MAX_BACKTRACK_BYTES && self.unreachable()?.is_empty();
            Ok(pays.then(|| Backtrack::new(&self.merges)))
        })?;
        Ok(backtrack.as_ref())
    }

    /// Tokens that do not encode to themselves. Training makes none; other lists may have some.
    ///
    /// # Errors
    /// Lack of memory and interruption.
    pub fn unreachable(&self) -> Result<&[u32]> {
        let unreachable = fork_safe_once::get_or_try_init(&self.unreachable, || {
            let (mut found, mut ids) = (Vec::new(), Vec::new());
            for id in self.merges.tokens().ids().skip(256) {
                merge_by_pairs(&self.pairs, self.merges.tokens().get(id), &mut ids)?;
                found.extend((ids != [id]).then_some(id));
            }
            Ok(found)
        })?;
        Ok(unreachable)
    }
}

/// Encodes `piece` by the kernels that need only the pair table: by scan or by heap.
pub(crate) fn merge_by_pairs(pairs: &PairTable, piece: &[u8], ids: &mut Vec<u32>) -> Result<()> {
    if piece.len() <= MAX_SYMBOLS {
        merge_by_scan(pairs, piece, ids);
        return Ok(());
    }
    byte_ids(piece, ids)?;
    merge_by_heap(pairs, ids)
}

/// Encodes `piece` into `ids` without merges: the ids of its bytes.
///
/// # Errors
/// [`Error::NoMemory`].
pub(crate) fn byte_ids(piece: &[u8], ids: &mut Vec<u32>) -> Result<()> {
    ids.clear();
    ids.try_reserve(piece.len()).map_err(|_| Error::NoMemory { bytes: 4 * piece.len() as u64 })?;
    ids.extend(piece.iter().map(|&byte| u32::from(byte)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::reference::merge_by_definition;
    use super::scan::merge_by_scan_portable;
    use super::*;
    use crate::train::reference::train_by_recounting;
    use crate::train::{Options, TieBreak};

    /// Merge lists as training on a few random words gives them.
    fn trained_merges() -> impl Strategy<Value = Merges> {
        let letters = prop::sample::select(vec![&b"ab"[..], b"abc", b"aab", b"abcdefgh", b"a"]);
        let words = letters.prop_flat_map(|letters| {
            let word = prop::collection::vec(prop::sample::select(letters.to_vec()), 1..30);
            prop::collection::vec((word, 1u64..9), 1..12)
        });
        (words, 0u32..60, prop::bool::ANY).prop_map(|(words, n, greatest)| {
            let tie_break = if greatest { TieBreak::BytesGreatest } else { TieBreak::Rank };
            let learned = train_by_recounting(&words, &Options::new(n, tie_break, 1), &|_| true).unwrap();
            Merges::new(learned.merges).unwrap()
        })
    }

    proptest! {
        #[test]
        fn kernels_agree(merges in trained_merges(), letters in prop::collection::vec(0usize..9, 1..300)) {
            let piece: Vec<u8> = letters.iter().map(|&at| b"abcdefghz"[at.min(8)]).collect();
            let merger = Merger::new(merges);
            let want = merge_by_definition(&merger.pairs, &piece);
            let bytes = |piece: &[u8]| piece.iter().map(|&byte| u32::from(byte)).collect::<Vec<_>>();
            let (mut heap, mut long) = (bytes(&piece), Vec::new());
            for length in [0, 1, 2, 3, 7, 13, 14, 15, 16, 17, 29, 30, 31, 125, 126] {
                let some = &piece[..length.min(piece.len())];
                let mut small = Vec::new();
                for merge in [merge_by_scan, merge_by_scan_portable] {
                    merge(&merger.pairs, some, &mut small);
                    prop_assert_eq!(&small, &merge_by_definition(&merger.pairs, some));
                }
            }
            merge_by_heap(&merger.pairs, &mut heap).unwrap();
            Backtrack::new(&merger.merges).encode(&merger.merges, &merger.pairs, &piece, &mut long).unwrap();
            prop_assert_eq!(&heap, &want);
            prop_assert_eq!(&long, &want);
            prop_assert!(merger.unreachable().unwrap().is_empty(), "a trained token does not encode to itself");
        }

        #[test]
        fn kernels_agree_on_joined_tokens(merges in trained_merges(), picks in prop::collection::vec(any::<prop::sample::Index>(), 1..80)) {
            let tokens = merges.tokens().clone();
            let piece: Vec<u8> = picks.iter().flat_map(|pick| {
                let id = if tokens.len() > 256 { 256 + pick.index(tokens.len() - 256) } else { pick.index(256) };
                tokens.get(id as u32).to_vec()
            }).collect();
            let merger = Merger::new(merges);
            let (mut ids, mut long) = (Vec::new(), Vec::new());
            merger.encode(&piece, &mut ids).unwrap();
            Backtrack::new(&merger.merges).encode(&merger.merges, &merger.pairs, &piece, &mut long).unwrap();
            prop_assert_eq!(&ids, &merge_by_definition(&merger.pairs, &piece));
            prop_assert_eq!(&long, &ids);
        }
    }

    /// Merge lists of random pairs, which training would seldom learn; some of their tokens do not encode to themselves.
    fn random_merges() -> impl Strategy<Value = Merges> {
        let picks = prop::collection::vec(any::<[prop::sample::Index; 2]>(), 0..20);
        picks.prop_map(|picks| {
            let (mut pairs, mut tokens) =
                (Vec::new(), vec![(97, b"a".to_vec()), (98, b"b".to_vec()), (99, b"c".to_vec())]);
            for [left, right] in picks {
                let ((left, a), (right, b)) = (&tokens[left.index(tokens.len())], &tokens[right.index(tokens.len())]);
                let joined = [&a[..], b].concat();
                if tokens.iter().all(|(_, token)| *token != joined) {
                    pairs.push((*left, *right));
                    tokens.push((255 + pairs.len() as u32, joined));
                }
            }
            Merges::new(pairs).unwrap()
        })
    }

    proptest! {
        #[test]
        fn kernels_agree_on_random_merges(merges in random_merges(), letters in prop::collection::vec(0usize..3, 1..300)) {
            let piece: Vec<u8> = letters.iter().map(|&at| b"abc"[at]).collect();
            let merger = Merger::new(merges);
            let mut ids: Vec<u32> = piece.iter().map(|&byte| u32::from(byte)).collect();
            merge_by_heap(&merger.pairs, &mut ids).unwrap();
            prop_assert_eq!(&ids, &merge_by_definition(&merger.pairs, &piece));
            if merger.unreachable().unwrap().is_empty() {
                Backtrack::new(&merger.merges).encode(&merger.merges, &merger.pairs, &piece, &mut ids).unwrap();
                prop_assert_eq!(&ids, &merge_by_definition(&merger.pairs, &piece));
            }
            for length in [2, 7, 16, 17, 30, 31, 126] {
                let some = &piece[..length.min(piece.len())];
                for merge in [merge_by_scan, merge_by_scan_portable] {
                    merge(&merger.pairs, some, &mut ids);
                    prop_assert_eq!(&ids, &merge_by_definition(&merger.pairs, some));
                }
            }
        }
    }

    #[test]
    fn an_unreachable_token_switches_backtracking_off() {
        // (a, b) merges first, so "bc" never forms inside "abc", and (a, bc) never merges.
        let merges = Merges::new(vec![(97, 98), (98, 99), (97, 257)]).unwrap();
        let merger = Merger::new(merges);
        assert_eq!(merger.unreachable().unwrap(), [258]);
        let piece = b"abc".repeat(100);
        let mut ids = Vec::new();
        merger.encode(&piece, &mut ids).unwrap();
        assert_eq!(ids, merge_by_definition(&merger.pairs, &piece));
    }
}
