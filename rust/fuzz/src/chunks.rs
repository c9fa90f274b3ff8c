//! Readers of corpus files under a limit on documents: whatever the bytes, the compression and the size of chunks, the
//! documents are those of a plain split, or an error names the limit.

use std::io::Cursor;

use slmtok_core::Error;
use slmtok_core::corpus::{COMPRESSIONS, Format, Parsed, Position, Reader};

use crate::input::Input;

/// Each assertion names the property that it checks.
pub fn chunks(data: &[u8]) {
    let mut input = Input(data);
    let (_, compression) = input.pick(&COMPRESSIONS);
    let (size, limit) = (1 + input.below(200), 1 + input.below(100));
    let whole = input.below(4) == 0;
    let bytes = input.part(usize::MAX).to_vec();
    let plain = compression == COMPRESSIONS[0].1;
    let format = if whole { Format::Whole } else { Format::Terminated(b"\n".to_vec()) };
    let reader = Reader::stream(Cursor::new(bytes.clone()), "data", compression, format, size, Position::START);
    let reader = reader.and_then(|reader| reader.with_max_doc_bytes(limit)).expect("a decoder");
    let mut found: Vec<Vec<u8>> = Vec::new();
    let outcome = loop {
        match reader.next(&mut |_, _| Ok(Parsed::Ignored)) {
            Ok(Some(documents)) => found.extend(documents.slices().into_iter().map(<[u8]>::to_vec)),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    if !plain {
        return;
    }
    if whole {
        assert!(outcome.is_ok() && found.concat() == bytes, "a file in parts differs from the file");
        return;
    }
    let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    lines.pop_if(|last| last.is_empty());
    match lines.iter().find(|line| line.len() > limit) {
        None => assert_eq!(found, lines, "lines differ"),
        Some(_) => assert!(matches!(outcome, Err(Error::DocumentTooLarge { .. })), "a line above the limit passed"),
    }
}
