//! Any corpus file under a limit on documents. See `slmtok_fuzz::chunks`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slmtok_fuzz::chunks(data));
