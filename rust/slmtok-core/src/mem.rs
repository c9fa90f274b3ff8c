//! Pages of two megabytes for large arrays, where the system gives them on request: a fault and a translation for 512 small
//! ones. Nothing but the speed depends on it.

#![allow(
    unsafe_code,
    reason = "advice to the system, and zeroed that may fail, have no safe form; each use says why it is sound"
)]

use std::alloc::{Layout, alloc_zeroed};

/// Asks for huge pages behind `place`, which should not have been touched yet. Small arrays keep small pages.
#[inline]
pub fn advise_huge<T>(place: &mut [T]) {
    const SMALLEST: usize = 4 << 20;
    let bytes = size_of_val(place);
    if bytes >= SMALLEST {
        advise(place.as_mut_ptr() as usize, bytes);
    }
}

/// Numbers.
///
/// # Safety
/// All bits zero must be a value.
pub unsafe trait Zeroable: Copy {}

// SAFETY: all bits zero are the number 0.
unsafe impl Zeroable for u16 {}
// SAFETY: as for `u16`.
unsafe impl Zeroable for u32 {}

/// `n` zeroed that no page of memory stands behind until they are touched, then huge ones; nothing where the system has no addresses for
/// them.
#[must_use]
pub fn zeroed<T: Zeroable>(n: usize) -> Option<Vec<T>> {
    let layout = Layout::array::<T>(n).ok()?;
    if layout.size() == 0 {
        return Some(Vec::new());
    }
    // SAFETY: the layout has a size.
    let start = unsafe { alloc_zeroed(layout) };
    if start.is_null() {
        return None;
    }
    // SAFETY: the allocator that vectors use gave this place for the layout of just `n` elements, and zeroed are values of them.
    let mut zeroed = unsafe { Vec::from_raw_parts(start.cast(), n, n) };
    advise_huge(&mut zeroed);
    Some(zeroed)
}

/// Lets the system take the pages behind `place` back whenever it needs some. Until they are written again, what they hold may turn to
/// zeroed at any time. False where no system is known to do so; then nothing has happened.
#[must_use]
pub fn madvise_free<T: Zeroable>(place: &mut [T]) -> bool {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: a question.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let Ok(page @ 1..) = usize::try_from(page) else { return false };
        let start = (place.as_mut_ptr() as usize).next_multiple_of(page);
        let end = (place.as_mut_ptr() as usize + size_of_val(place)) / page * page;
        if start >= end {
            return true;
        }
        // SAFETY: the pages, of the size that the system says, lie whole within memory that is ours alone, and what they may turn to are
        // values of its type. That it may be refused says the result.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_FREE) == 0 }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = place;
        false
    }
}

/// Whether memory may be held that is given up: the system must know such memory, and leave the process as many addresses as it
/// likes (`ulimit -v`).
#[must_use]
pub fn can_retain() -> bool {
    #[cfg(target_os = "linux")]
    {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the place is one for a limit.
        let known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) } == 0;
        known && limit.rlim_cur == libc::RLIM_INFINITY
    }
    #[cfg(not(target_os = "linux"))]
    false
}

/// `n` times `value`, in huge pages where `n` is large.
#[must_use]
pub fn filled<T: Clone>(value: T, n: usize) -> Vec<T> {
    let mut array = with_capacity(n);
    array.resize(n, value);
    array
}

/// An empty array with room for `n`, in huge pages where `n` is large.
#[must_use]
pub fn with_capacity<T>(n: usize) -> Vec<T> {
    let mut array = Vec::with_capacity(n);
    advise_huge(array.spare_capacity_mut());
    array
}

/// Makes room for `extra` more elements, in huge pages where the array is large.
#[inline]
pub fn reserve<T>(array: &mut Vec<T>, extra: usize) {
    if array.capacity() - array.len() < extra {
        array.reserve(extra);
        advise_huge(array.spare_capacity_mut());
    }
}

#[cfg(target_os = "linux")]
fn advise(address: usize, bytes: usize) {
    // Outwards to whole pages: a mapping of which a part is advised falls in two, and cannot grow in place any more.
    const PAGE: usize = 1 << 12;
    let (start, end) = (address / PAGE * PAGE, (address + bytes).next_multiple_of(PAGE));
    // SAFETY: this advice changes no content and no access, whatever the memory is, so it does not matter who else has a part
    // of the first and the last page. That it may be refused, as where pages are larger, is of no concern.
    unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_address: usize, _bytes: usize) {}

/// Asks for the cache line of `slots[at]`. Outside the slice, and on machines without such an instruction, nothing happens.
#[inline(always)]
pub fn prefetch<T>(slots: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of every x86-64, and a prefetch reads nothing that a program can see, wherever it points.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(slots.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slots, at);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_there_or_nothing_is() {
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
    fn what_is_given_up_can_be_written_again() {
        for size in [0, 1, 5_000, (3 << 20) + 1] {
            let mut given: Vec<u32> = (0..size).collect();
            // A system may refuse, as where memory is locked.
            let done = madvise_free(&mut given);
            assert!(!done || cfg!(target_os = "linux"));
            given.iter_mut().zip(7..).for_each(|(place, k)| *place = k);
            assert!(given.iter().zip(7..).all(|(&id, k)| id == k));
        }
    }

    #[test]
    fn advice_changes_nothing() {
        for size in [0, 1, 1 << 12, (1 << 20) + 3, (3 << 20) + 1] {
            let mut fresh = vec![0_u64; size];
            advise_huge(&mut fresh);
            assert!(fresh.iter().all(|&word| word == 0));
            let mut filled: Vec<u64> = (0..size as u64).collect();
            advise_huge(&mut filled[size / 3..]);
            reserve(&mut filled, size);
            filled.extend(size as u64..2 * size as u64);
            assert!(filled.iter().zip(0..).all(|(&word, k)| word == k) && filled.len() == 2 * size);
        }
    }
}
