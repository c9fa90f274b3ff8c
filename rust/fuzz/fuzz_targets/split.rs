//! Pieces tile any bytes, at every SIMD level. See `slmtok_fuzz::split`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slmtok_fuzz::split(data));
