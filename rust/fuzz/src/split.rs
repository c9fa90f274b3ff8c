//! Splitting: pieces tile the text, scanning on from any piece or certain start gives the same ones, and every tier of mask
//! scanner gives those of the walker.

use slmtok_core::pretoken::{Pattern, names, testing};

use crate::input::Input;

/// What a broken promise would look like stands with each assertion.
pub fn split(data: &[u8]) {
    let mut input = Input(data);
    let name = input.pick(&names());
    let (width, room) = (4 + input.below(61), input.pick(&[7, 64, 65, 100, 256]));
    let (from, text) = (input.below(256), input.part(4096));
    let pattern = Pattern::new(name).expect("registered names compile");
    let ends = scanned(&pattern, text, 0, room);
    tile(text, &ends);
    if let Some(&start) = ends.get(from % ends.len().max(1)) {
        let rest = scanned(&pattern, text, start, 7);
        assert!(ends.ends_with(&rest) && rest.len() == after(&ends, start), "scanning on from {start} differs");
    }
    certain_starts_are_starts(&pattern, text, from, &ends);
    if let Some(walked) = testing::scalar_ends(name, text, 0) {
        assert_eq!(ends, walked, "{name}: the scanner is not the walker");
        for width in [width, 64] {
            for scanned in testing::scanned(name, text, 0, width, room.max(64)) {
                assert_eq!(scanned.ends, walked, "{name} in {} at width {width}", scanned.level);
            }
        }
    }
}

fn tile(text: &[u8], ends: &[usize]) {
    let mut start = 0;
    for &end in ends {
        assert!(end > start, "an empty piece at {start}");
        start = end;
    }
    assert_eq!(start, text.len(), "the last piece ends elsewhere than the text");
}

fn after(ends: &[usize], start: usize) -> usize {
    ends.iter().filter(|&&end| end > start).count()
}

/// A certain start begins a piece of the whole text, and of every text that ends alike: the character before it decides.
fn certain_starts_are_starts(pattern: &Pattern, text: &[u8], from: usize, ends: &[usize]) {
    let mut at = from;
    for _ in 0..8 {
        let Some(start) = pattern.next_sync_point(text, at) else { break };
        assert!(start >= at && ends.binary_search(&start).is_ok(), "{start} is no start");
        let shorter = scanned(pattern, &text[start..], 0, 64);
        let same = shorter.iter().map(|end| start + end);
        assert!(ends[ends.len() - shorter.len()..].iter().copied().eq(same), "the text from {start} splits otherwise");
        at = start + 1;
    }
}

/// All ends of pieces from `at` on, `room` at a time.
fn scanned(pattern: &Pattern, text: &[u8], mut at: usize, room: usize) -> Vec<usize> {
    let mut scanner = pattern.scanner();
    let (mut found, mut ends) = (Vec::new(), vec![0; room]);
    loop {
        let filled = scanner.fill(text, at, &mut ends).expect("named patterns do not give up");
        found.extend_from_slice(&ends[..filled]);
        match ends[..filled].last() {
            Some(&end) if end < text.len() => at = end,
            _ => return found,
        }
    }
}
