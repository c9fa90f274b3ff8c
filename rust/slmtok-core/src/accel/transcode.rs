//! UTF-8 from code points: what Python gives of a string without making UTF-8 of its own, which it would keep as long as the string.
//!
//! A window at a time goes through an array that stays in the first cache, so that no size has to be known before.

pub use super::mixed::Mixed;

#[cfg(target_arch = "x86_64")]
use super::transcode_avx512::Avx512;
use crate::mem::{reserve, with_capacity};

/// Code points that are turned at once.
const WINDOW: usize = 256;
/// The most bytes of a code point.
const MOST: usize = 4;
/// As long as the longest UTF-8 of a window.
pub(super) type Scratch = [u8; MOST * WINDOW];

/// UTF-8 of texts, end to end.
#[derive(Debug, Default)]
pub struct Utf8(Vec<u8>);

impl Utf8 {
    /// Of so many code points, if they are mostly ASCII; more are no harm.
    #[must_use]
    pub fn of_about(points: usize) -> Self {
        Self(with_capacity(points + points / 8))
    }

    /// Forgets all, and keeps the memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// All there is.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Adds the UTF-8 of `points`.
    ///
    /// # Errors
    /// The index of the first that has none: a surrogate, or a number above 0x10FFFF. What is before it in its window may be missing.
    pub fn push(&mut self, points: &[u32]) -> Result<(), usize> {
        let mut scratch = [0; MOST * WINDOW];
        for (begin, window) in (0_usize..).step_by(WINDOW).zip(points.chunks(WINDOW)) {
            let bytes = turned(window, &mut scratch).map_err(|index| begin + index)?;
            reserve(&mut self.0, bytes);
            self.0.extend_from_slice(&scratch[..bytes]);
        }
        Ok(())
    }
}

/// The UTF-8 of at most [`WINDOW`] code points at the begin of `out`, and its length; or the index of the first that has none.
fn turned(points: &[u32], out: &mut Scratch) -> Result<usize, usize> {
    #[cfg(target_arch = "x86_64")]
    if let Some(machine) = Avx512::detect() {
        return machine.turned(points, out);
    }
    turned_one_by_one(points, out)
}

/// The same on every machine.
fn turned_one_by_one(points: &[u32], out: &mut Scratch) -> Result<usize, usize> {
    /// Most runs of so many are ASCII alone, which compilers narrow in vectors.
    const RUN: usize = 32;
    let mut len = 0;
    for (begin, run) in (0_usize..).step_by(RUN).zip(points.chunks(RUN)) {
        if run.iter().fold(0, |all, point| all | point) < 0x80 {
            out[len..].iter_mut().zip(run).for_each(|(byte, &point)| *byte = point as u8);
            len += run.len();
            continue;
        }
        for (index, &point) in (begin..).zip(run) {
            let character = char::from_u32(point).ok_or(index)?;
            len += character.encode_utf8(&mut out[len..]).len();
        }
    }
    Ok(len)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type HashBackend = fn(&[u32], &mut Scratch) -> Result<usize, usize>;
    const WAYS: [HashBackend; 2] = [turned, turned_one_by_one];

    fn check(points: &[u32]) {
        let bad = points.iter().position(|&point| char::from_u32(point).is_none());
        let want: String = points.iter().map_while(|&point| char::from_u32(point)).collect();
        for way in WAYS {
            let mut out = [0xFF; MOST * WINDOW];
            match (way(points, &mut out), bad) {
                (Ok(len), None) => assert_eq!(&out[..len], want.as_bytes(), "{points:x?}"),
                (Err(index), Some(bad)) => assert_eq!(index, bad, "{points:x?}"),
                (found, _) => panic!("{found:?} of {points:x?}"),
            }
        }
        let mut all = Utf8::of_about(0);
        match bad {
            None => assert!(all.push(points).is_ok() && all.bytes() == want.as_bytes()),
            Some(bad) => assert_eq!(all.push(points), Err(bad)),
        }
    }

    #[test]
    fn every_code_point_at_every_place() {
        let all: Vec<u32> = (0..=0x11_0000).chain([u32::MAX, 0x8000_0000, 0x8000_0041]).collect();
        all.chunks(17).for_each(|some| {
            some.iter().for_each(|&point| check(&[point]));
            // Without what has none, which would hide all behind it.
            let good: Vec<u32> = some.iter().copied().filter(|&point| char::from_u32(point).is_some()).collect();
            check(&good);
        });
        for point in [0x41, 0xE9, 0x20AC, 0x1F600, 0xD800, 0xDFFF, 0x11_0000] {
            for length in 0..=WINDOW {
                let mut points = vec![0x61; length];
                for place in [0, length / 2, length.saturating_sub(1)] {
                    if let Some(there) = points.get_mut(place) {
                        *there = point;
                    }
                    check(&points);
                }
            }
        }
    }

    #[test]
    fn a_window_of_the_longest_fits() {
        for point in [0x7F, 0x7FF, 0xFFFF, 0x10_FFFF] {
            check(&[point; WINDOW]);
        }
    }

    proptest! {
        #[test]
        fn windows_come_end_to_end(text in "[a-z ]{0,40}([éß“中😀]{0,9}[a-z ]{0,90}){0,9}", times in 1usize..6) {
            let points: Vec<u32> = text.chars().map(u32::from).collect();
            let mut all = Utf8::of_about(times);
            for _ in 0..times {
                prop_assert_eq!(all.push(&points), Ok(()));
            }
            prop_assert!(all.bytes() == text.repeat(times).as_bytes());
        }

        #[test]
        fn mixtures_and_the_first_that_has_none(points in prop::collection::vec(
            prop_oneof![8 => 0u32..0x80, 2 => 0u32..0x900, 2 => 0u32..0x1_0200, 1 => 0u32..0x11_0100], 0..=WINDOW)) {
            check(&points);
        }
    }
}
