//! Any bytes come back, on any number of threads. See `slmtok_fuzz::encode`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slmtok_fuzz::encode(data));
