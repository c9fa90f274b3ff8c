//! Operations on 64-bit masks of positions.

/// `starts` and the bits of `within` above them without a gap.
#[inline(always)]
pub(super) const fn extend_upwards(starts: u64, within: u64) -> u64 {
    // The addition carries from a seed through the adjacent ones above it and flips them.
    let starts = starts & within;
    ((within.wrapping_add(starts) ^ within) | starts) & within
}

/// `starts` and the bits of `within` below them without a gap.
#[inline(always)]
pub(super) const fn extend_downwards(mut starts: u64, mut within: u64) -> u64 {
    let mut shift = 1;
    while shift < 64 {
        starts |= (starts >> shift) & within;
        within &= within >> shift;
        shift *= 2;
    }
    starts
}

/// Every `SIZE`th bit of each run, starting with its first.
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

/// All bits below the single bit `bit`; all bits if `bit` is 0.
#[inline(always)]
pub(super) const fn below(bit: u64) -> u64 {
    bit.wrapping_sub(1)
}

/// The lowest set bit, or 0.
#[inline(always)]
pub(super) const fn lowest(bits: u64) -> u64 {
    bits & bits.wrapping_neg()
}

/// Writes `base` plus the position of each set bit, in order; later slots of `out` are undefined.
#[inline(always)]
pub(super) fn positions(mut bits: u64, base: usize, out: &mut [usize; 64]) {
    // Eight at a time, to have one branch per eight bits.
    for eight in out.as_chunks_mut::<8>().0 {
        for slot in eight {
            *slot = base + bits.trailing_zeros() as usize;
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

    /// Reference: bit by bit, in the given order.
    fn extend(starts: u64, within: u64, order: impl Iterator<Item = u32>) -> u64 {
        let (mut out, mut on) = (0, false);
        for k in order {
            on = within >> k & 1 == 1 && (on || starts >> k & 1 == 1);
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

    /// Masks with long and with short runs.
    fn mask() -> impl Strategy<Value = u64> {
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
        fn masks_equal_bit_by_bit_operations(a in mask(), b in mask(), c in mask()) {
            let (starts, within) = (a & b & c, b | c);
            prop_assert_eq!(extend_upwards(starts, within), extend(starts, within, 0..64));
            prop_assert_eq!(extend_downwards(starts & within, within), extend(starts, within, (0..64).rev()));
            prop_assert_eq!(group_starts::<2>(within), grouped(within, 2));
            prop_assert_eq!(group_starts::<3>(a), grouped(a, 3));
            let mut out = [0; 64];
            positions(a, 1000, &mut out);
            let expected: Vec<usize> = (0..64).filter(|k| a >> k & 1 == 1).map(|k| 1000 + k).collect();
            prop_assert_eq!(&out[..expected.len()], expected);
        }
    }
}
