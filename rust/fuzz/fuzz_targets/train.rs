//! Counting and training equal recounting. See `slmtok_fuzz::train`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slmtok_fuzz::train(data));
