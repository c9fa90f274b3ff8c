//! Splitting: pieces tile the text; scanning from any piece start or sync point gives the same pieces; every SIMD level gives
//! those of the scalar scanner.

use slmtok_core::pretoken::{Pattern, testing};

use crate::input::Input;
use crate::vocab::pick_pattern;

/// Each assertion names the property that it checks.
pub fn split(data: &[u8]) {
    let mut input = Input(data);
    let pattern = pick_pattern(&mut input);
    let name = pattern.name().expect("a named pattern");
    let (width, capacity) = (4 + input.below(61), input.pick(&[7, 64, 65, 100, 256]));
    let (from, text) = (input.below(256), input.part(4096));
    let ends = scanned(&pattern, text, 0, capacity);
    assert!(ends.is_sorted_by(|a, b| a < b) && ends.first() != Some(&0), "an empty piece: {ends:?}");
    assert_eq!(ends.last().copied().unwrap_or(0), text.len(), "the pieces do not cover the text");
    if let Some(&start) = ends.get(from % ends.len().max(1)) {
        let rest = scanned(&pattern, text, start, 7);
        let after = ends.iter().filter(|&&end| end > start).count();
        assert!(ends.ends_with(&rest) && rest.len() == after, "scanning from {start} differs");
    }
    check_sync_points(&pattern, text, from, &ends);
    if let Some(expected) = testing::scalar_ends(name, text, 0) {
        assert_eq!(ends, expected, "{name}: the scanner differs from the scalar scanner");
        for width in [width, 64] {
            for scanned in testing::scanned(name, text, 0, width, capacity.max(64)) {
                assert_eq!(scanned.ends, expected, "{name}, {} at width {width}", scanned.level);
            }
        }
    }
}

/// A sync point begins a piece of the whole text, and of every text with the same rest: the character before it decides.
fn check_sync_points(pattern: &Pattern, text: &[u8], from: usize, ends: &[usize]) {
    let mut at = from;
    for _ in 0..8 {
        let Some(start) = pattern.next_sync_point(text, at) else { break };
        assert!(start >= at && ends.binary_search(&start).is_ok(), "no piece begins at {start}");
        let rest = scanned(pattern, &text[start..], 0, 64);
        let shifted = rest.iter().map(|end| start + end);
        assert!(
            ends[ends.len() - rest.len()..].iter().copied().eq(shifted),
            "the text from {start} splits differently"
        );
        at = start + 1;
    }
}

/// All ends of pieces from `at` on, up to `capacity` in each call.
fn scanned(pattern: &Pattern, text: &[u8], mut at: usize, capacity: usize) -> Vec<usize> {
    let mut scanner = pattern.scanner();
    let (mut found, mut ends) = (Vec::new(), vec![0; capacity]);
    loop {
        let filled = scanner.fill(text, at, &mut ends).expect("a named pattern");
        found.extend_from_slice(&ends[..filled]);
        match ends[..filled].last() {
            Some(&end) if end < text.len() => at = end,
            _ => return found,
        }
    }
}
