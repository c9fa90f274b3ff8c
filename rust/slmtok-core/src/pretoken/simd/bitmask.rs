//! Words of 64 bits as sets of positions.

/// `seeds` and what of `within` follows them without a gap.
#[inline(always)]
pub(super) const fn spread_up(seeds: u64, within: u64) -> u64 {
    // Adding a seed carries through the ones above it and turns them over.
    let seeds = seeds & within;
    ((within.wrapping_add(seeds) ^ within) | seeds) & within
}

/// `seeds` and what of `within` leads to them without a gap.
#[inline(always)]
pub(super) const fn spread_down(mut seeds: u64, mut within: u64) -> u64 {
    let mut shift = 1;
    while shift < 64 {
        seeds |= (seeds >> shift) & within;
        within &= within >> shift;
        shift *= 2;
    }
    seeds
}

/// Each `SIZE`th bit of every run, from its first on.
#[inline(always)]
pub(super) const fn group_starts<const SIZE: usize>(runs: u64) -> u64 {
    let mut starts = runs & !(runs << 1);
    if runs & (starts << SIZE) == 0 {
        return starts;
    }
    let (mut hop, mut k) = (runs, 1);
    while k <= SIZE {
        hop &= runs << k;
        k += 1;
    }
    let mut shift = SIZE;
    while shift < 64 {
        starts |= (starts << shift) & hop;
        hop &= hop << shift;
        shift *= 2;
    }
    starts
}

/// The bits below `bit`, of which exactly one is set; all of them if none is.
#[inline(always)]
pub(super) const fn below(bit: u64) -> u64 {
    bit.wrapping_sub(1)
}

/// The lowest bit alone, or nothing.
#[inline(always)]
pub(super) const fn lowest(bits: u64) -> u64 {
    bits & bits.wrapping_neg()
}

/// Writes `base` plus the position of each bit, in order; the places after them hold anything.
#[inline(always)]
pub(super) fn positions(mut bits: u64, base: usize, out: &mut [usize; 64]) {
    // Eight at a time, whether there are so many or not: a guess of the processor less for each.
    for eight in out.as_chunks_mut::<8>().0 {
        for place in eight {
            *place = base + bits.trailing_zeros() as usize;
            bits &= bits.wrapping_sub(1);
        }
        if bits == 0 {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same bit by bit, upwards or downwards.
    fn smeared(seeds: u64, within: u64, order: impl Iterator<Item = u32>) -> u64 {
        let (mut out, mut on) = (0, false);
        for k in order {
            on = within >> k & 1 == 1 && (on || seeds >> k & 1 == 1);
            out |= u64::from(on) << k;
        }
        out
    }

    fn grouped(runs: u64, size: u32) -> u64 {
        let (mut out, mut since) = (0, 0);
        for k in 0..64 {
            if runs >> k & 1 == 1 {
                out |= u64::from(since % size == 0) << k;
                since += 1;
            } else {
                since = 0;
            }
        }
        out
    }

    /// Words with long runs as well as short ones.
    fn word() -> impl Strategy<Value = u64> {
        prop_oneof![
            any::<u64>(),
            (any::<u64>(), any::<u64>()).prop_map(|(a, b)| a | b),
            (0..64_u32, 0..64_u32).prop_map(|(shift, length)| ((1_u64 << length) - 1) << shift),
            Just(u64::MAX),
            Just(0)
        ]
    }

    proptest! {
        #[test]
        fn words_agree_with_bits(a in word(), b in word(), c in word()) {
            let (seeds, within) = (a & b & c, b | c);
            prop_assert_eq!(spread_up(seeds, within), smeared(seeds, within, 0..64));
            prop_assert_eq!(spread_down(seeds & within, within), smeared(seeds, within, (0..64).rev()));
            prop_assert_eq!(group_starts::<2>(within), grouped(within, 2));
            prop_assert_eq!(group_starts::<3>(a), grouped(a, 3));
            let mut out = [0; 64];
            positions(a, 1000, &mut out);
            let want: Vec<usize> = (0..64).filter(|k| a >> k & 1 == 1).map(|k| 1000 + k).collect();
            prop_assert_eq!(&out[..want.len()], want);
        }
    }
}
