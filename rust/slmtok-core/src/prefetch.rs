//! Telling the processor what will be read soon.

#![allow(unsafe_code, reason = "the instruction has no safe form; the one use says why it is sound")]

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
