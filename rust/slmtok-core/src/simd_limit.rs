//! A limit on SIMD instructions, for tests: with the feature `testing`, `SLMTOK_SIMD=portable` or `SLMTOK_SIMD=avx2` makes a
//! machine run the code of machines with less. Without the feature no environment variable is read, and nothing is limited.

/// Levels of the limit; each includes the ones before it. Code also asks the machine for the instructions that it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SimdSet {
    /// Only a limit: code that needs nothing does not ask.
    #[cfg(feature = "testing")]
    Portable,
    /// AVX2 and AES on x86-64, NEON on AArch64.
    Avx2AesOrNeon,
    Avx512,
}

/// Whether instructions of `set` may be used where the machine has them; only tests limit them.
#[cfg(not(feature = "testing"))]
#[inline(always)]
pub const fn test_limit_allows(_set: SimdSet) -> bool {
    true
}

/// Whether instructions of `set` may be used where the machine has them; only tests limit them.
#[cfg(feature = "testing")]
#[inline]
pub fn test_limit_allows(set: SimdSet) -> bool {
    static LIMIT: std::sync::OnceLock<SimdSet> = std::sync::OnceLock::new();
    let limit = crate::fork_safe_once::get_or_init(&LIMIT, || match std::env::var("SLMTOK_SIMD").as_deref() {
        Ok("portable") => SimdSet::Portable,
        Ok("avx2" | "neon") => SimdSet::Avx2AesOrNeon,
        Ok(other) => panic!("SLMTOK_SIMD={other}: expected portable, avx2 or neon"),
        Err(_) => SimdSet::Avx512,
    });
    set <= *limit
}
