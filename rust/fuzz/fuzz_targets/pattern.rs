//! Any custom pattern on any text. See `slmtok_fuzz::pattern`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slmtok_fuzz::pattern(data));
