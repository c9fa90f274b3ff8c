//! All kernels and paths give the ids of the reference implementation. See `slmtok_fuzz::encode`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slmtok_fuzz::encode(data));
