//! Pages of two megabytes for large arrays, where the system gives them on request: a fault and a translation for 512 small
//! ones. Nothing but the speed depends on it.

#![allow(unsafe_code, reason = "advice to the system has no safe form; the one use says why it is sound")]

/// Asks for huge pages behind `place`, which should not have been touched yet. Small arrays keep small pages.
#[inline]
pub fn advise_huge<T>(place: &mut [T]) {
    const SMALLEST: usize = 4 << 20;
    let bytes = size_of_val(place);
    if bytes >= SMALLEST {
        advise(place.as_mut_ptr() as usize, bytes);
    }
}

#[cfg(target_os = "linux")]
fn advise(address: usize, bytes: usize) {
    const PAGE: usize = 1 << 16;
    let (start, end) = (address.next_multiple_of(PAGE), (address + bytes) / PAGE * PAGE);
    // SAFETY: this advice changes no content and no access, whatever the memory is; the range lies within an array that the
    // caller borrowed, and is a multiple of the largest page size in use. That it may be refused is of no concern.
    unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_address: usize, _bytes: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_changes_nothing() {
        for size in [0, 1, 1 << 12, (1 << 20) + 3, (3 << 20) + 1] {
            let mut fresh = vec![0_u64; size];
            advise_huge(&mut fresh);
            assert!(fresh.iter().all(|&word| word == 0));
            let mut filled: Vec<u64> = (0..size as u64).collect();
            advise_huge(&mut filled[size / 3..]);
            assert!(filled.iter().zip(0..).all(|(&word, k)| word == k));
        }
    }
}
