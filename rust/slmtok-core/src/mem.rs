//! Memory hints: huge pages for large arrays, lazily zeroed memory, prefetching. They change speed and memory use, never a
//! result.

#![allow(
    unsafe_code,
    reason = "madvise, fallible zeroed allocation and prefetch have no safe form; each use states why it is sound"
)]

use std::alloc::{Layout, alloc_zeroed};

use crate::{Error, Result};

/// Smallest array that asks for huge pages.
const MIN_HUGE_BYTES: usize = 4 << 20;

/// Requests huge pages for `memory`, which should be untouched. Smaller arrays than [`MIN_HUGE_BYTES`] keep small pages.
#[inline]
pub fn advise_huge<T>(memory: &mut [T]) {
    let bytes = size_of_val(memory);
    if bytes >= MIN_HUGE_BYTES {
        madvise_hugepage(memory.as_mut_ptr() as usize, bytes);
    }
}

/// Types for which zeroed memory is a valid value.
///
/// # Safety
/// The all-zero bit pattern must be a value of the type.
pub unsafe trait Zeroable: Copy {}

// SAFETY: the all-zero bit pattern is the number 0.
unsafe impl Zeroable for u16 {}
// SAFETY: as for `u16`.
unsafe impl Zeroable for u32 {}

/// A vector of `n` zeros whose pages are allocated on first touch, as huge pages where `n` is large. `None` if the address
/// space is exhausted.
#[must_use]
pub fn zeroed<T: Zeroable>(n: usize) -> Option<Vec<T>> {
    let layout = Layout::array::<T>(n).ok()?;
    if layout.size() == 0 {
        return Some(Vec::new());
    }
    // SAFETY: the size of the layout is not 0.
    let start = unsafe { alloc_zeroed(layout) };
    if start.is_null() {
        return None;
    }
    // SAFETY: the global allocator returned this block for the layout of exactly `n` elements, and zeros are values of `T`.
    let mut zeroed = unsafe { Vec::from_raw_parts(start.cast(), n, n) };
    advise_huge(&mut zeroed);
    Some(zeroed)
}

/// A vector of `n` copies of `value`, in huge pages where `n` is large.
#[must_use]
pub fn filled_huge<T: Clone>(value: T, n: usize) -> Vec<T> {
    let mut array = with_capacity_huge(n);
    array.resize(n, value);
    array
}

/// An empty vector with capacity `n`, in huge pages where `n` is large.
#[must_use]
pub fn with_capacity_huge<T>(n: usize) -> Vec<T> {
    let mut array = Vec::with_capacity(n);
    advise_huge(array.spare_capacity_mut());
    array
}

/// As [`with_capacity_huge`], for a size that the input determines.
///
/// # Errors
/// [`Error::NoMemory`].
pub fn try_with_capacity_huge<T>(n: usize) -> Result<Vec<T>> {
    let mut array = Vec::new();
    try_reserve_huge(&mut array, n)?;
    Ok(array)
}

/// As [`reserve_huge`], for a size that the input determines; the capacity grows by half at least.
///
/// # Errors
/// [`Error::NoMemory`].
#[inline]
pub fn try_reserve_huge<T>(array: &mut Vec<T>, extra: usize) -> Result<()> {
    if array.capacity() - array.len() < extra {
        let grown = extra.max(array.len() / 2);
        let reserved = array.try_reserve_exact(grown).or_else(|_| array.try_reserve_exact(extra));
        reserved.map_err(|_| Error::NoMemory { bytes: (array.len().saturating_add(extra) * size_of::<T>()) as u64 })?;
        advise_huge(array.spare_capacity_mut());
    }
    Ok(())
}

/// Reserves capacity for `extra` more elements, in huge pages where the array is large.
#[inline]
pub fn reserve_huge<T>(array: &mut Vec<T>, extra: usize) {
    if array.capacity() - array.len() < extra {
        array.reserve(extra);
        advise_huge(array.spare_capacity_mut());
    }
}

#[cfg(target_os = "linux")]
fn madvise_hugepage(address: usize, bytes: usize) {
    // Rounded outwards: advice on a part of a mapping splits it, and a split mapping cannot grow in place.
    const PAGE: usize = 1 << 12;
    let (start, end) = (address / PAGE * PAGE, (address + bytes).next_multiple_of(PAGE));
    // SAFETY: MADV_HUGEPAGE changes neither contents nor access rights, so neighbours on the first and last page are
    // unaffected. A refusal changes nothing.
    unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn madvise_hugepage(_address: usize, _bytes: usize) {}

/// Prefetches the cache line at the address of `slots[at]`, in bounds or not. Does nothing except on x86-64.
#[inline(always)]
pub fn prefetch<T>(slots: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64, and a prefetch has no architectural effect for any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(slots.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slots, at);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeroed_memory_is_zero_or_refused() {
        for n in [0, 1, 1000, 3 << 20] {
            let mut found = zeroed::<u32>(n).unwrap();
            assert!(found.len() == n && found.iter().all(|&zero| zero == 0));
            found.extend([1, 2]);
            found.truncate(n / 2);
            found.shrink_to_fit();
            assert_eq!(found.len(), n / 2);
        }
        assert_eq!(zeroed::<u16>(usize::MAX), None);
        assert_eq!(zeroed::<u32>(isize::MAX as usize / 4), None);
    }

    #[test]
    fn advice_changes_no_contents() {
        for size in [0, 1, 1 << 12, (1 << 20) + 3, (3 << 20) + 1] {
            let mut fresh = vec![0_u64; size];
            advise_huge(&mut fresh);
            assert!(fresh.iter().all(|&word| word == 0));
            let mut filled: Vec<u64> = (0..size as u64).collect();
            advise_huge(&mut filled[size / 3..]);
            reserve_huge(&mut filled, size);
            filled.extend(size as u64..2 * size as u64);
            assert!(filled.iter().zip(0..).all(|(&word, k)| word == k) && filled.len() == 2 * size);
        }
    }
}
