//! Records are read as a reference parser reads them. See `slmtok_fuzz::records`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slmtok_fuzz::records(data));
