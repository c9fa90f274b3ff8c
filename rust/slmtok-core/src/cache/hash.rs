//! Keys and hashes of many pieces at once: what both tables of pieces do before they look anything up.
//!
//! A loop of its own, without a memory to wait for: it asks for the lines where the keys will be looked for, so that the waits
//! of a whole chunk fall together. There are two hashes, chosen when a table is made: by the AES instructions, where the machine has
//! them (for one key, or for four at once), and by multiplying. Results never depend on the way, nor on the seed; the time does.

#[cfg(target_arch = "x86_64")]
use super::hash_aes::Aes;
use super::hash_mul;
pub use super::hash_table::{Keyed, LineSlots, probe_bounded, search, shift, swap_to_home};
#[cfg(target_arch = "x86_64")]
use super::hash_vaes::Vaes;
use super::short_key::random_seed;

/// The most pieces that are prepared at once.
pub const KEY_BATCH_LEN: usize = 256;

#[derive(Clone, Copy, Debug)]
enum HashBackend {
    #[cfg(target_arch = "x86_64")]
    Vaes(Vaes),
    #[cfg(target_arch = "x86_64")]
    Aes(Aes),
    Fold,
}

impl HashBackend {
    /// All that this machine can do, the fastest first.
    fn all() -> impl Iterator<Item = Self> {
        let ways = [
            #[cfg(target_arch = "x86_64")]
            Vaes::detect().map(Self::Vaes),
            #[cfg(target_arch = "x86_64")]
            Aes::detect().map(Self::Aes),
            Some(Self::Fold),
        ];
        ways.into_iter().flatten()
    }
}

/// The hash of one table's keys, under a seed that nobody knows beforehand: so no text can be made whose pieces all meet in one
/// place.
#[derive(Clone, Copy, Debug)]
pub struct KeyHash {
    way: HashBackend,
    seed: [u64; 2],
}

impl KeyHash {
    /// Under a new seed.
    #[must_use]
    pub fn fresh() -> Self {
        let way = HashBackend::all().next().unwrap_or(HashBackend::Fold);
        Self { way, seed: [random_seed(), random_seed()] }
    }

    /// One for each way of this machine.
    #[cfg(test)]
    pub fn all_backends() -> impl Iterator<Item = Self> {
        HashBackend::all().map(|way| Self { way, seed: [random_seed(), random_seed()] })
    }

    /// The hash of `key`, of which the highest bits are the best.
    #[inline(always)]
    #[must_use]
    pub fn of(self, key: u128) -> u64 {
        match self.way {
            #[cfg(target_arch = "x86_64")]
            HashBackend::Vaes(vaes) => vaes.aes().hash(key, self.seed),
            #[cfg(target_arch = "x86_64")]
            HashBackend::Aes(aes) => aes.hash(key, self.seed),
            HashBackend::Fold => hash_mul::hash(key, self.seed),
        }
    }

    /// What a loop over many keys finds, compiled for this machine. The loop is not inlined, so that all that it needs stays in registers.
    #[inline(always)]
    pub fn run<L: KeyLoop>(self, keys: L) -> L::Found {
        match self.way {
            #[cfg(target_arch = "x86_64")]
            HashBackend::Vaes(vaes) => vaes.aes().run(keys),
            #[cfg(target_arch = "x86_64")]
            HashBackend::Aes(aes) => aes.run(keys),
            HashBackend::Fold => hash_mul::run(keys),
        }
    }
}

/// A loop over many keys. A trait, since a closure cannot be marked `inline(always)`.
pub trait KeyLoop {
    /// What it finds.
    type Found;
    /// To be marked so: it is compiled for the machine where it is inlined.
    fn run(self) -> Self::Found;
}

/// Keys and hashes of up to [`KEY_BATCH_LEN`] pieces. Kept by those who need them, for clearing them costs more than a short document.
pub struct KeyBatch {
    /// What the pieces are looked up by; [`crate::cache::short_key::NO_KEY`] for those that have no key.
    pub keys: Box<[u128; KEY_BATCH_LEN]>,
    /// Their hashes; for those that have no key what the caller made of them.
    pub hashes: Box<[u64; KEY_BATCH_LEN]>,
    /// Which of them have no key, ascending.
    pub longs: Vec<u8>,
}

/// Pieces of a text that follow one another: the first begins at `start`, each other one where the one before ends.
#[derive(Clone, Copy)]
pub(super) struct Chunk<'a> {
    pub text: &'a [u8],
    pub start: usize,
    pub ends: &'a [usize],
}

impl Chunk<'_> {
    /// Where the piece numbered `k` begins.
    #[cfg(target_arch = "x86_64")]
    pub fn begin(&self, k: usize) -> usize {
        if k == 0 { self.start } else { self.ends[k - 1] }
    }
}

impl Default for KeyBatch {
    fn default() -> Self {
        Self {
            keys: Box::new([0; KEY_BATCH_LEN]),
            hashes: Box::new([0; KEY_BATCH_LEN]),
            longs: Vec::with_capacity(KEY_BATCH_LEN),
        }
    }
}

impl KeyBatch {
    /// Takes the pieces of `text` whose starts are `start` and all of `ends` but the last, at most [`KEY_BATCH_LEN`] of them. The hashes of
    /// pieces that have no key are made by `long`. The others will be looked for in `slots`.
    #[inline(always)]
    pub fn fill<S>(
        &mut self,
        text: &[u8],
        start: usize,
        ends: &[usize],
        hash: KeyHash,
        slots: &[S],
        long: impl Fn(&[u8]) -> u64,
    ) {
        self.longs.clear();
        let chunk = Chunk { text, start, ends };
        match hash.way {
            #[cfg(target_arch = "x86_64")]
            HashBackend::Vaes(vaes) => vaes.fill(self, chunk, hash.seed, slots, long),
            #[cfg(target_arch = "x86_64")]
            HashBackend::Aes(aes) => aes.fill(self, 0, chunk, hash.seed, slots, long),
            HashBackend::Fold => hash_mul::fill(self, chunk, hash.seed, slots, long),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::cache::short_key::{NO_KEY, short_key};

    /// Mostly short, some at the edges: of a key, and of a length in one byte.
    fn lengths() -> impl Strategy<Value = Vec<usize>> {
        let length = prop_oneof![20 => 1usize..16, 2 => 15usize..40, 1 => Just(255), 1 => 256usize..272];
        prop::collection::vec(length, 1..=KEY_BATCH_LEN)
    }

    proptest! {
        #[test]
        fn every_way_prepares_what_is_made_one_by_one(
            seed in any::<u64>(), lengths in lengths(), start in 0usize..50, behind in 0usize..40, others in lengths(),
        ) {
            let ends = |lengths: &[usize]| lengths.iter().scan(start, |at, length| { *at += length; Some(*at) }).collect::<Vec<_>>();
            let (ends, others) = (ends(&lengths), ends(&others));
            let text: Vec<u8> = (0..ends[ends.len() - 1].max(others[others.len() - 1]) as u64).map(|k| (seed.wrapping_mul(2 * k + 1) >> 56) as u8).collect();
            // As much as `behind` of what follows the last piece, so that it may be the end of the text or not.
            let text = &text[..text.len().min(ends[ends.len() - 1] + behind)];
            let slots = [0_u64; 8];
            for hash in KeyHash::all_backends() {
                let mut prepared = KeyBatch::default();
                // What is left of other pieces must not matter.
                let others = &others[..others.iter().take_while(|&&end| end <= text.len()).count()];
                for ends in [others, &ends] {
                    prepared.fill(text, start, ends, hash, &slots, |piece| piece.len() as u64);
                }
                let (mut begin, mut longs) = (start, Vec::new());
                for (k, &end) in ends.iter().enumerate() {
                    let key = short_key(text, begin, end);
                    prop_assert_eq!(prepared.keys[k], key);
                    prop_assert_eq!(prepared.hashes[k], if key == NO_KEY { (end - begin) as u64 } else { hash.of(key) });
                    longs.extend((key == NO_KEY).then_some(k as u8));
                    begin = end;
                }
                prop_assert_eq!(&prepared.longs, &longs);
            }
        }
    }

    #[test]
    fn ends_that_descend_or_lie_beyond_the_text_read_nothing_there() {
        for hash in KeyHash::all_backends() {
            for ends in [vec![20, 10, 30, 40], vec![10, 20, 30, 5000, 5010], vec![1, 2, 3, usize::MAX, 4]] {
                let text = [b'a'; 100];
                let prepare =
                    || KeyBatch::default().fill(&text, 5, &ends, hash, &[0_u64; 8], |piece| piece.len() as u64);
                assert!(std::panic::catch_unwind(prepare).is_err(), "{ends:?} by {hash:?}");
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
            // Words of one letter more each time, numbers, and all pairs of bytes: what text is full of.
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
            // At random it would be 4,095 with a deviation of 90; the multiplication spreads numbers in a row more evenly.
            assert!(chi < 4_800.0, "{chi} in {hash:?}");
        }
    }

    #[test]
    fn seeds_change_which_keys_meet() {
        for way in HashBackend::all() {
            // Two keys that meet in a place of 2^10 under one seed seldom meet under the next.
            let place = |key: u128, seed: [u64; 2]| KeyHash { way, seed }.of(key) >> 54;
            let first = [random_seed(), random_seed()];
            let together: Vec<u128> = (0..1_u128 << 18).filter(|&key| place(key, first) == 7).collect();
            let next = [random_seed(), random_seed()];
            let places: HashSet<u64> = together.iter().map(|&key| place(key, next)).collect();
            assert!(places.len() > 150, "{} of {} in {way:?}", places.len(), together.len());
        }
    }
}
