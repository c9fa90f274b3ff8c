//! Records are read as a plain parser reads them. See `slmtok_fuzz::records`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slmtok_fuzz::records(data));
