//! Keys and hashes of a batch of pieces: the step before every probe, shared by the encoder and by counting.
//!
//! A loop of its own without memory stalls: it prefetches the lines where the keys will be probed, so that the stalls of a
//! whole batch overlap. A table chooses its hash backend when it is created: AES instructions on x86-64 with AES, AVX and
//! BMI 1 and 2, multiplication elsewhere. Results depend neither on the backend nor on the seed.

#[cfg(target_arch = "x86_64")]
use super::hash_aes::Aes;
use super::hash_table::home_shift;
use super::short_key::{NO_KEY, short_key};
use crate::byte_hash::{MIX_CONSTANTS, multiply_fold, random_seed};
use crate::mem::prefetch;

/// The most pieces of one [`KeyBatch`].
pub const KEY_BATCH_LEN: usize = 256;

#[derive(Clone, Copy, Debug)]
enum HashBackend {
    #[cfg(target_arch = "x86_64")]
    Aes(Aes),
    Multiply,
}

impl HashBackend {
    /// All backends that this machine supports, the fastest first.
    fn all() -> impl Iterator<Item = Self> {
        let backends = [
            #[cfg(target_arch = "x86_64")]
            Aes::detect().map(Self::Aes),
            Some(Self::Multiply),
        ];
        backends.into_iter().flatten()
    }
}

/// The hash function of one table, under an unpredictable seed.
#[derive(Clone, Copy, Debug)]
pub struct KeyHash {
    backend: HashBackend,
    seed: [u64; 2],
}

impl KeyHash {
    /// The fastest backend under a new seed.
    #[must_use]
    pub fn with_random_seed() -> Self {
        let backend = HashBackend::all().next().unwrap_or(HashBackend::Multiply);
        Self { backend, seed: [random_seed(), random_seed()] }
    }

    /// One for each backend of this machine.
    #[cfg(test)]
    pub fn all_backends() -> impl Iterator<Item = Self> {
        HashBackend::all().map(|backend| Self { backend, seed: [random_seed(), random_seed()] })
    }

    /// The hash of `key`. Its top bits are the best.
    #[inline(always)]
    #[must_use]
    pub fn of(self, key: u128) -> u64 {
        match self.backend {
            #[cfg(target_arch = "x86_64")]
            HashBackend::Aes(aes) => aes.hash(key, self.seed),
            HashBackend::Multiply => hash_by_multiplying(key, self.seed),
        }
    }

    /// Runs a loop over many keys, compiled for the backend's instructions. The loop is a function of its own, so that all
    /// its state stays in registers.
    #[inline(always)]
    pub fn dispatch<L: KeyLoop>(self, keys: L) -> L::Output {
        match self.backend {
            #[cfg(target_arch = "x86_64")]
            HashBackend::Aes(aes) => aes.run(keys),
            HashBackend::Multiply => run_portably(keys),
        }
    }
}

/// A loop over many keys, for [`KeyHash::dispatch`]. A trait, because a closure cannot be marked `inline(always)`.
pub trait KeyLoop {
    /// What the loop returns.
    type Output;
    /// The loop. Must be `inline(always)`: it is compiled for the instructions of the function that it is inlined into.
    fn run(self) -> Self::Output;
}

/// Keys and hashes of up to [`KEY_BATCH_LEN`] pieces. Reused, because clearing the arrays costs more than a short document.
pub struct KeyBatch {
    /// The key of each piece, or [`NO_KEY`].
    pub keys: Box<[u128; KEY_BATCH_LEN]>,
    /// The hash of each piece: under the piece table's seed; of a piece without a key, for the long cache.
    pub hashes: Box<[u64; KEY_BATCH_LEN]>,
    /// Indices of the pieces without a key, ascending.
    pub long_indices: Vec<u8>,
}

/// Consecutive pieces of a text: the first begins at `start`, each of the others where the one before it ends.
#[derive(Clone, Copy)]
pub struct Pieces<'a> {
    /// The whole text.
    pub text: &'a [u8],
    /// Where the first piece begins.
    pub start: usize,
    /// Where each piece ends.
    pub ends: &'a [usize],
}

impl Pieces<'_> {
    /// The bytes of the piece with this index.
    #[inline(always)]
    #[must_use]
    pub fn range(&self, index: usize) -> std::ops::Range<usize> {
        (if index == 0 { self.start } else { self.ends[index - 1] })..self.ends[index]
    }
}

impl Default for KeyBatch {
    fn default() -> Self {
        Self {
            keys: Box::new([0; KEY_BATCH_LEN]),
            hashes: Box::new([0; KEY_BATCH_LEN]),
            long_indices: Vec::with_capacity(KEY_BATCH_LEN),
        }
    }
}

impl KeyBatch {
    /// Computes keys and hashes of at most [`KEY_BATCH_LEN`] pieces, and prefetches their home lines in `slots`.
    /// `hash_long` gives the hash of a piece without a key.
    #[inline(always)]
    pub fn fill<S>(&mut self, pieces: Pieces<'_>, hash: KeyHash, slots: &[S], hash_long: impl Fn(&[u8]) -> u64) {
        self.long_indices.clear();
        match hash.backend {
            #[cfg(target_arch = "x86_64")]
            HashBackend::Aes(aes) => aes.fill(self, pieces, hash.seed, slots, hash_long),
            HashBackend::Multiply => self.fill_portably(pieces, hash.seed, slots, hash_long),
        }
    }

    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a batch has at most 256 pieces; a hash fits usize where tables do"
    )]
    fn fill_portably<S>(&mut self, pieces: Pieces<'_>, seed: [u64; 2], slots: &[S], hash_long: impl Fn(&[u8]) -> u64) {
        let (Pieces { text, start: mut begin, ends }, shift) = (pieces, home_shift(slots.len()));
        for (index, ((&end, key), hash)) in ends.iter().zip(&mut self.keys[..]).zip(&mut self.hashes[..]).enumerate() {
            *key = short_key(text, begin, end);
            *hash = if *key == NO_KEY {
                self.long_indices.push(index as u8);
                hash_long(&text[begin..end])
            } else {
                let hash = hash_by_multiplying(*key, seed);
                prefetch(slots, (hash >> shift) as usize);
                hash
            };
            begin = end;
        }
    }
}

/// Two multiplications: under some seeds a single one puts consecutive numbers close together.
#[inline(always)]
fn hash_by_multiplying(key: u128, seed: [u64; 2]) -> u64 {
    let once = multiply_fold(key, seed);
    (once ^ once >> 32).wrapping_mul(MIX_CONSTANTS[0])
}

#[inline(never)]
fn run_portably<L: KeyLoop>(keys: L) -> L::Output {
    keys.run()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    /// Mostly short, some at the edges: of a key, and of a length in one byte.
    fn lengths() -> impl Strategy<Value = Vec<usize>> {
        let length = prop_oneof![20 => 1usize..16, 2 => 15usize..40, 1 => Just(255), 1 => 256usize..272];
        prop::collection::vec(length, 1..=KEY_BATCH_LEN)
    }

    proptest! {
        #[test]
        fn every_backend_gives_the_keys_and_hashes_of_single_pieces(
            seed in any::<u64>(), lengths in lengths(), start in 0usize..50, after in 0usize..40, others in lengths(),
        ) {
            let ends = |lengths: &[usize]| lengths.iter().scan(start, |at, length| { *at += length; Some(*at) }).collect::<Vec<_>>();
            let (ends, others) = (ends(&lengths), ends(&others));
            let text: Vec<u8> = (0..ends[ends.len() - 1].max(others[others.len() - 1]) as u64).map(|k| (seed.wrapping_mul(2 * k + 1) >> 56) as u8).collect();
            // Up to `after` bytes follow the last piece, so that it may end the text or not.
            let text = &text[..text.len().min(ends[ends.len() - 1] + after)];
            let slots = [0_u64; 8];
            for hash in KeyHash::all_backends() {
                let mut batch = KeyBatch::default();
                // Remains of an earlier batch must not matter.
                let others = &others[..others.iter().take_while(|&&end| end <= text.len()).count()];
                for ends in [others, &ends] {
                    batch.fill(Pieces { text, start, ends }, hash, &slots, |piece| piece.len() as u64);
                }
                let (mut begin, mut long) = (start, Vec::new());
                for (k, &end) in ends.iter().enumerate() {
                    let key = short_key(text, begin, end);
                    prop_assert_eq!(batch.keys[k], key);
                    prop_assert_eq!(batch.hashes[k], if key == NO_KEY { (end - begin) as u64 } else { hash.of(key) });
                    long.extend((key == NO_KEY).then_some(k as u8));
                    begin = end;
                }
                prop_assert_eq!(&batch.long_indices, &long);
            }
        }
    }

    #[test]
    fn ends_that_descend_or_lie_beyond_the_text_read_nothing_there() {
        for hash in KeyHash::all_backends() {
            for ends in [vec![20, 10, 30, 40], vec![10, 20, 30, 5000, 5010], vec![1, 2, 3, usize::MAX, 4]] {
                let text = [b'a'; 100];
                let fill = || {
                    KeyBatch::default().fill(
                        Pieces { text: &text, start: 5, ends: &ends },
                        hash,
                        &[0_u64; 8],
                        |piece| piece.len() as u64,
                    )
                };
                assert!(std::panic::catch_unwind(fill).is_err(), "{ends:?}, {hash:?}");
            }
        }
    }

    #[test]
    fn every_bit_of_a_key_moves_the_highest_bits_of_its_hash() {
        for hash in KeyHash::all_backends() {
            for key in [0_u128, 1, u128::MAX, 0x0123_4567_89ab_cdef_u128 << 40] {
                let near: HashSet<u64> = (0..128).map(|bit| hash.of(key ^ 1 << bit) >> 40).collect();
                assert!(near.len() > 120, "{} of 128 differ: {hash:?}", near.len());
            }
        }
    }

    #[test]
    fn hashes_are_spread_evenly() {
        for hash in KeyHash::all_backends() {
            // Numbers in the low and in the high bytes, and all pairs of bytes.
            let texts = (0..1_u128 << 16)
                .chain((0..1_u128 << 16).map(|n| n << 56))
                .chain((0..1_u128 << 16).map(|n| n * 0x1_0001));
            let mut places = vec![0_u32; 1 << 12];
            let mut all = 0_u32;
            for key in texts.map(|bytes| bytes | 7 << 120) {
                places[(hash.of(key) >> 52) as usize] += 1;
                all += 1;
            }
            let mean = f64::from(all) / places.len() as f64;
            let chi: f64 = places.iter().map(|&n| (f64::from(n) - mean).powi(2) / mean).sum();
            // Random hashes give 4,095 with a standard deviation of 90.
            assert!(chi < 4_800.0, "{chi} in {hash:?}");
        }
    }

    #[test]
    fn seeds_change_which_keys_collide() {
        for backend in HashBackend::all() {
            // Two keys that collide in 2^10 buckets under one seed seldom collide under the next.
            let bucket = |key: u128, seed: [u64; 2]| KeyHash { backend, seed }.of(key) >> 54;
            let first = [random_seed(), random_seed()];
            let together: Vec<u128> = (0..1_u128 << 18).filter(|&key| bucket(key, first) == 7).collect();
            let next = [random_seed(), random_seed()];
            let buckets: HashSet<u64> = together.iter().map(|&key| bucket(key, next)).collect();
            assert!(buckets.len() > 150, "{} of {} in {backend:?}", buckets.len(), together.len());
        }
    }
}
