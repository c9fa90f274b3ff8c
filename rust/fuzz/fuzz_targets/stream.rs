//! Chunks of any lengths decode to the same text. See `slmtok_fuzz::stream`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slmtok_fuzz::stream(data));
