//! Decoding inverts encoding. See `slmtok_fuzz::round_trip`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slmtok_fuzz::round_trip(data));
