//! Any vocabulary is a consistent encoder or an error. See `slmtok_fuzz::vocab_file`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slmtok_fuzz::vocab_file(data));
