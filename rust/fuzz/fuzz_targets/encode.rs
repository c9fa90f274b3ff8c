//! Every way to the ids gives those of the definition. See `slmtok_fuzz::encode`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slmtok_fuzz::encode(data));
