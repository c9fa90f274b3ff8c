//! Any body of a counts file is counts or an error. See `slmtok_fuzz::counts_file`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slmtok_fuzz::counts_file(data));
