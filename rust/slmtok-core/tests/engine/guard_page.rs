//! Texts flush against an unreadable page, so that reading one byte too many crashes the test. Scanners and keys read in blocks;
//! texts that end inside a character are the likeliest to be read too far.

#![allow(unsafe_code, reason = "protecting a page needs mmap; each use states why it is sound")]
use slmtok_core::decode::Decoder;
use slmtok_core::merges::Merges;
use slmtok_core::pretoken::{Pattern, names};

use crate::{count, encoder};

/// A writable page in front of an inaccessible one.
struct Guarded {
    base: *mut u8,
    page: usize,
}

impl Guarded {
    fn new() -> Self {
        // SAFETY: maps fresh memory at an address that the system chooses; the result is checked.
        let (base, page) = unsafe {
            let page = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap();
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let base = libc::mmap(std::ptr::null_mut(), 2 * page, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            (base, page)
        };
        assert_ne!(base, libc::MAP_FAILED);
        // SAFETY: the second page of the new mapping; nothing points into it.
        assert_eq!(unsafe { libc::mprotect(base.byte_add(page), page, libc::PROT_NONE) }, 0);
        Self { base: base.cast(), page }
    }

    /// `text`, which must fit a page, at the end of the page.
    fn at_the_end(&mut self, text: &[u8]) -> &[u8] {
        assert!(text.len() <= self.page);
        // SAFETY: the first page is readable, writable and large enough; `&mut self` ends the slice before the next call
        // writes.
        unsafe {
            let start = self.base.add(self.page - text.len());
            std::ptr::copy_nonoverlapping(text.as_ptr(), start, text.len());
            std::slice::from_raw_parts(start, text.len())
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: both pages are those of `new`, and no slice outlives `self`.
        unsafe { libc::munmap(self.base.cast(), 2 * self.page) };
    }
}

/// Complete ends, and ends after one, two and three bytes of a character.
const ENDS: [&[u8]; 12] =
    [b"a", b" ", b"'", b"'l", b"\n", b"12", b"\xC5", b"'\xC5", b"\xE4", b"\xE4\xB8", b"\xF0\x9F\x98", b"\xFF"];

fn texts() -> impl Iterator<Item = Vec<u8>> {
    let before = "It's a “test”, 中文 1234 — naïve\r\n\t".as_bytes();
    (0..150).flat_map(move |length| {
        ENDS.map(|end| before.iter().copied().cycle().take(length).chain(end.iter().copied()).collect())
    })
}

#[test]
fn no_byte_behind_a_text_is_read() {
    let mut guarded = Guarded::new();
    for name in names() {
        let pattern = Pattern::new(name).unwrap();
        let merges = Merges::new(vec![(0xE4, 0xB8), (256, 0xAD), (97, 32), (97, 98), (259, 99)]).unwrap();
        let encoder = encoder(name, &merges, 0, &[]);
        let decoder = Decoder::new(&encoder).unwrap();
        for text in texts() {
            let flush = guarded.at_the_end(&text);
            let ids = encoder.encode::<u16>(flush).unwrap();
            assert_eq!(ids, encoder.encode::<u16>(&[&text[..], b" after it"].concat()[..text.len()]).unwrap());
            assert_eq!(decoder.decode(&ids).unwrap(), text);
            count(&pattern, &[flush]);
            let _ = (1..text.len()).map(|at| pattern.next_sync_point(flush, at)).max();
        }
    }
}
